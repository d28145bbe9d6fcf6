//! What becomes of news from the desk. News for a picker that is closed end the work behind them.

use std::path::PathBuf;

use super::{News, Picker, Work};
use crate::harness::Which;
use crate::ui::action::Effect;
use crate::ui::popup::Popup;
use crate::ui::state::State;

/// Takes news in.
pub(in crate::ui) fn heard(state: &mut State, news: News) -> Vec<Effect> {
    state.dirty = true;
    match news {
        News::Copied { outcome } => return copied(state, outcome),
        News::Imported { outcome: Ok(path) } => {
            state.tell(format!("imported as {}; ctrl+x r opens it", path.display()));
        }
        News::Imported { outcome: Err(error) } => state.tell(format!("not imported: {error}")),
        News::Inspected { outcome: Ok(lines) } => {
            let lines = lines.into_iter().map(|line| ("", line)).collect();
            state.surface.popup = Some(Popup::Facts { lines, top: 0 });
        }
        News::Inspected { outcome: Err(error) } => state.tell(error),
        News::Renamed { row: Err(error), .. } => state.tell(format!("not renamed: {error}")),
        News::Removed { outcome: Err(error), .. } => state.tell(format!("not removed: {error}")),
        News::Restored { outcome: Err(error), .. } => {
            state.tell(format!("not restored: {error}"));
        }
        other => return listed(state, other),
    }
    Vec::new()
}

/// News that change rows.
fn listed(state: &mut State, news: News) -> Vec<Effect> {
    let is_open = state.surface.popup == Some(Popup::Sessions);
    let Some(picker) = state.surface.picker.as_mut().filter(|_| is_open) else {
        state.surface.picker = None;
        return vec![Effect::Shelf(Work::Stop)];
    };
    let mut work = Vec::new();
    match news {
        News::Rows { ticket, rows, done, total, finished } => {
            work.extend(picker.take_rows(ticket, rows, (done, total), finished));
        }
        News::Found { ticket, hits, done, total } => {
            picker.take_hits(ticket, hits, (done, total));
        }
        News::Preview { path, said }
            if picker.selected().is_some_and(|row| row.listed.path == path) =>
        {
            picker.preview = Some((path, said));
        }
        News::Renamed { row: Ok(row), .. } => {
            if let Some(row) = row {
                picker.put(row);
                picker.refresh();
            }
            state.tell("renamed");
        }
        News::Removed { path, outcome: Ok(()) } => {
            picker.remove(&path);
            state.tell("in the trash; tab goes there, ctrl+r brings it back");
        }
        News::Restored { path, outcome: Ok(to) } => {
            picker.remove(&path);
            state.tell(format!("restored to {}", to.display()));
        }
        News::Checked { path, missing } => return checked(state, path, missing),
        _ => {}
    }
    work.extend(follow(state));
    work.into_iter().map(Effect::Shelf).collect()
}

/// The preview follows the selection.
pub(super) fn follow(state: &mut State) -> Option<Work> {
    state.surface.picker.as_deref_mut().and_then(Picker::wanted_preview)
}

/// The session that was chosen has its folder, or has it not.
fn checked(state: &mut State, path: PathBuf, missing: Option<PathBuf>) -> Vec<Effect> {
    let picker = state.surface.picker.as_mut();
    if picker.is_none_or(|picker| picker.opening.take().as_ref() != Some(&path)) {
        return Vec::new();
    }
    match missing {
        None => super::keys::enter_session(state, path),
        Some(folder) => {
            state.surface.popup = Some(Popup::Missing { path, folder });
            Vec::new()
        }
    }
}

/// A copy was made: on with it, unless a turn began meanwhile.
fn copied(state: &mut State, outcome: Result<PathBuf, String>) -> Vec<Effect> {
    match outcome {
        Ok(path) if state.busy() => {
            state.tell(format!("copied to {}; a turn runs here, so it waits", path.display()));
            Vec::new()
        }
        Ok(path) => super::keys::enter_session(state, path),
        Err(error) => {
            state.tell(format!("not copied: {error}"));
            Vec::new()
        }
    }
}

/// Opens a session in place of the one that is open.
pub(super) fn opens(path: PathBuf) -> Effect {
    Effect::Open(Which::Path(path))
}
