//! The keys of the picker: letters are the query, everything else has ctrl and stands at the foot.

use std::path::PathBuf;

use super::paint::{Parts, parts};
use super::picker::{Mode, Picker};
use super::{Work, news};
use crate::harness::{Command, Scope};
use crate::ui::action::{Asked, Effect};
use crate::ui::chord::{Chord, Key};
use crate::ui::line_input::LineInput;
use crate::ui::popup::Popup;
use crate::ui::state::State;
use crate::ui::update::save_draft;

/// Opens the picker and begins to list.
pub(in crate::ui) fn open(state: &mut State, scope: Scope) -> Vec<Effect> {
    let mut picker = Picker::new(scope, state.session.path.clone());
    let work = picker.load();
    state.surface.picker = Some(Box::new(picker));
    state.surface.popup = Some(Popup::Sessions);
    vec![Effect::Shelf(work)]
}

/// A paste goes into the field that is open.
pub(in crate::ui) fn paste(state: &mut State, text: &str) -> Vec<Effect> {
    let Some(picker) = state.surface.picker.as_deref_mut() else { return Vec::new() };
    match &mut picker.mode {
        Mode::Rename { input, .. } => input.insert(text),
        Mode::Browse => {
            picker.input.insert(text);
            let work = picker.queried();
            return with_preview(state, vec![work]);
        }
        Mode::Remove { .. } | Mode::Leave { .. } => {}
    }
    Vec::new()
}

/// A key while the picker is open.
pub(in crate::ui) fn key(state: &mut State, chord: Chord) -> Vec<Effect> {
    let Parts { list, .. } = parts(state.size);
    let Some(picker) = state.surface.picker.as_deref_mut() else {
        state.surface.popup = None;
        return Vec::new();
    };
    match std::mem::take(&mut picker.mode) {
        Mode::Browse => {}
        Mode::Rename { path, input } => return rename(state, path, input, chord),
        Mode::Remove { path, title } => return remove(state, path, title, chord),
        Mode::Leave { path } => return leave(state, path, chord),
    }
    let height = usize::from(list.height);
    let page = i64::from(list.height.max(2) - 1);
    let control_c = chord.ctrl && chord.key == Key::Char('c');
    if chord.key == Key::Esc || (control_c && picker.input.text().is_empty()) {
        state.surface.popup = None;
        state.surface.picker = None;
        return vec![Effect::Shelf(Work::Stop)];
    }
    let mut work = Vec::new();
    match (chord.key, chord.ctrl) {
        (Key::Enter, _) => return choose(state),
        (Key::Tab, _) => {
            picker.scope = match picker.scope {
                Scope::Folder => Scope::All,
                Scope::All => Scope::Trash,
                Scope::Trash => Scope::Folder,
            };
            work.push(picker.load());
        }
        (Key::Up, _) => picker.select(-1),
        (Key::Down, _) => picker.select(1),
        (Key::PageUp, _) => picker.select(-page),
        (Key::PageDown, _) => picker.select(page),
        (Key::Home, true) => picker.select(i64::MIN),
        (Key::End, true) => picker.select(i64::MAX),
        (Key::Char('s'), true) => picker.next_sort(),
        (Key::Char('n'), true) => picker.toggle_named(),
        (Key::Char('p'), true) => picker.show_path = !picker.show_path,
        (Key::Char('r'), true) => return begin_rename(state),
        (Key::Char('d'), true) => return begin_remove(state),
        _ => {
            let before = picker.input.text().to_owned();
            if control_c {
                picker.input = LineInput::default();
            } else {
                picker.input.key(chord);
            }
            if picker.input.text() != before {
                work.push(picker.queried());
            }
        }
    }
    picker.settle(height);
    with_preview(state, work)
}

fn with_preview(state: &mut State, mut work: Vec<Work>) -> Vec<Effect> {
    work.extend(news::follow(state));
    work.into_iter().map(Effect::Shelf).collect()
}

/// Enter: what is chosen is opened, once it is known where it would work.
fn choose(state: &mut State) -> Vec<Effect> {
    let is_busy = state.busy();
    let Some(picker) = state.surface.picker.as_deref_mut() else { return Vec::new() };
    let Some(row) = picker.selected() else { return Vec::new() };
    let path = row.listed.path.clone();
    if picker.scope == Scope::Trash {
        state.tell("it is in the trash; ctrl+r brings it back");
    } else if picker.current.as_ref() == Some(&path) {
        state.surface.popup = None;
        state.tell("this is the session that is open");
    } else if is_busy {
        picker.mode = Mode::Leave { path };
    } else {
        picker.opening = Some(path.clone());
        return vec![Effect::Shelf(Work::Check { path })];
    }
    Vec::new()
}

fn leave(state: &mut State, path: PathBuf, chord: Chord) -> Vec<Effect> {
    let Some(picker) = state.surface.picker.as_deref_mut() else { return Vec::new() };
    match chord.typed() {
        Some('y') => {
            picker.opening = Some(path.clone());
            vec![Effect::Shelf(Work::Check { path })]
        }
        Some('n') => Vec::new(),
        _ if chord.key == Key::Esc => Vec::new(),
        _ => {
            picker.mode = Mode::Leave { path };
            Vec::new()
        }
    }
}

/// Opens a session in place of the one that is open, and keeps the draft of that.
pub(in crate::ui) fn enter_session(state: &mut State, path: PathBuf) -> Vec<Effect> {
    state.surface.popup = None;
    state.surface.picker = None;
    let mut effects = vec![Effect::Shelf(Work::Stop)];
    effects.extend(save_draft(state));
    effects.push(news::opens(path));
    effects
}

fn begin_rename(state: &mut State) -> Vec<Effect> {
    let Some(picker) = state.surface.picker.as_deref_mut() else { return Vec::new() };
    let Some(row) = picker.selected() else { return Vec::new() };
    let path = row.listed.path.clone();
    if picker.scope == Scope::Trash {
        return vec![Effect::Shelf(Work::Restore { path })];
    }
    let input = LineInput::new(row.listed.name.as_deref().unwrap_or_default());
    picker.mode = Mode::Rename { path, input };
    Vec::new()
}

fn rename(state: &mut State, path: PathBuf, mut input: LineInput, chord: Chord) -> Vec<Effect> {
    let Some(picker) = state.surface.picker.as_deref_mut() else { return Vec::new() };
    if chord.key == Key::Esc {
        return Vec::new();
    }
    if chord.key != Key::Enter {
        input.key(chord);
        picker.mode = Mode::Rename { path, input };
        return Vec::new();
    }
    let name = input.text().trim().to_owned();
    if picker.current.as_ref() == Some(&path) {
        // The engine holds this one, and it is the one who may write.
        state.surface.popup = None;
        return vec![Effect::Send(Command::SetName { name }, Asked::Change("name"))];
    }
    vec![Effect::Shelf(Work::Rename { path, name })]
}

fn begin_remove(state: &mut State) -> Vec<Effect> {
    let Some(picker) = state.surface.picker.as_deref_mut() else { return Vec::new() };
    let Some(row) = picker.selected() else { return Vec::new() };
    let (path, title) = (row.listed.path.clone(), row.title().to_owned());
    if picker.scope == Scope::Trash {
        state.tell("it is in the trash already; harness-tui sessions purge deletes for good");
    } else if picker.current.as_ref() == Some(&path) {
        state.tell("this session is open; open another one first");
    } else {
        picker.mode = Mode::Remove { path, title };
    }
    Vec::new()
}

fn remove(state: &mut State, path: PathBuf, title: String, chord: Chord) -> Vec<Effect> {
    let Some(picker) = state.surface.picker.as_deref_mut() else { return Vec::new() };
    match chord.typed() {
        Some('y') => vec![Effect::Shelf(Work::Remove { path })],
        Some('n') => Vec::new(),
        _ if chord.key == Key::Esc => Vec::new(),
        _ => {
            picker.mode = Mode::Remove { path, title };
            Vec::new()
        }
    }
}

/// A key while it is asked where a session without its folder works on.
pub(in crate::ui) fn missing(state: &mut State, chord: Chord) -> Vec<Effect> {
    let Some(Popup::Missing { path, .. }) = &state.surface.popup else { return Vec::new() };
    let path = path.clone();
    match chord.typed() {
        Some('c') => enter_session(state, path),
        Some('f') => {
            state.surface.popup = None;
            vec![Effect::Shelf(Work::ForkHere { path })]
        }
        _ => Vec::new(),
    }
}
