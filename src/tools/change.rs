//! A change of one file, planned from its bytes: shown before it is made, made once, told after.
//!
//! `edit` and `write` differ only in how they plan. Lock, freshness, atomic writing, diff and image
//! hashes are the same for both and stand here.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::files::{self, FileTracker, Freshness};
use super::replace::Splice;
use super::{Images, ToolContext, content, paths, save};
use crate::message::{Display, ToolOutcome};
use crate::text::diff::{self, Replaced, TextDiff};
use crate::text::truncate;

/// The largest file that is changed; it is held in memory twice.
const MAX_BYTES: u64 = 32 * 1024 * 1024;
/// The largest file for which a card shows a preview; the card must not keep anybody waiting.
const MAX_PREVIEW_BYTES: u64 = 4 * 1024 * 1024;
/// Bytes of "what changed" in a refusal.
const MAX_STALE_DIFF_BYTES: usize = 4 * 1024;

/// What a plan wants.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Planned {
    pub(crate) after: Vec<u8>,
    /// Where, when it is known. Without, the two contents are compared as wholes.
    pub(crate) splices: Option<Vec<Splice>>,
    /// What to tell when it is done.
    pub(crate) done: String,
    /// Refused when the file is not as it was seen. An edit proves by its match that it still fits.
    pub(crate) needs_fresh: bool,
}

/// Plans a change from the present content (`None`: no such file).
pub(crate) type Plan = Box<dyn FnOnce(Option<&[u8]>) -> Result<Planned, String> + Send>;

/// The present content of a regular file; `None` when there is no file.
fn present(real: &Path, most: u64) -> Result<Option<Vec<u8>>, String> {
    if !real.exists() {
        return Ok(None);
    }
    let (file, facts) = content::open(real)?;
    let too_large = || {
        let (size, most) = (truncate::size(facts.len()), truncate::size(most));
        format!("{} has {size}, more than {most}. Change it with bash.", paths::shown(real))
    };
    if facts.len() > most {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    file.take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("could not read {}: {error}", paths::shown(real)))?;
    if bytes.len() as u64 > most { Err(too_large()) } else { Ok(Some(bytes)) }
}

/// What the change would look like, for an approval card. `None` when a diff would not show all of
/// it: what a person allows must be what they could read, so the card shows the arguments instead.
pub(crate) fn preview(path: &Path, plan: Plan) -> Option<Display> {
    let real = paths::real(path);
    if real.metadata().is_ok_and(|facts| facts.is_file() && facts.len() > MAX_PREVIEW_BYTES) {
        return None;
    }
    let planned = present(&real, MAX_PREVIEW_BYTES).and_then(|before| {
        let planned = plan(before.as_deref())?;
        Ok(compare(before.as_deref(), &planned, path))
    });
    Some(match planned {
        Ok(diff) if diff.is_cut => return None,
        Ok(diff) if diff.diff.is_empty() => {
            Display::Text("no change: the file already has this content".to_owned())
        }
        Ok(diff) => Display::Diff { diff: diff.diff, first_changed_line: diff.first_changed_line },
        Err(problem) => Display::Text(problem),
    })
}

/// The hashes before and after, without doing it. `None` when it would fail.
pub(crate) fn images(path: &Path, plan: Plan) -> Option<Images> {
    let before = present(&paths::real(path), MAX_BYTES).ok()?;
    let planned = plan(before.as_deref()).ok()?;
    Some(Images {
        before: before.map(|bytes| files::hex(&files::hash(&bytes))),
        after: files::hex(&files::hash(&planned.after)),
    })
}

/// Makes the change: one writer per real path at a time, and once begun it is finished.
pub(crate) async fn perform(path: PathBuf, plan: Plan, context: ToolContext) -> ToolOutcome {
    let aborted = || ToolOutcome::error("aborted before anything was written");
    let real = paths::real(&path);
    let _lock = tokio::select! {
        lock = context.files.lock(&real) => lock,
        () = context.cancel.cancelled() => return aborted(),
    };
    if context.cancel.is_cancelled() {
        return aborted();
    }
    let files = Arc::clone(&context.files);
    let work = move || make(&path, &real, plan, &files).unwrap_or_else(ToolOutcome::error);
    let made = tokio::task::spawn_blocking(work).await;
    made.unwrap_or_else(|error| ToolOutcome::error(format!("the change failed: {error}")))
}

fn make(path: &Path, real: &Path, plan: Plan, files: &FileTracker) -> Result<ToolOutcome, String> {
    let before = present(real, MAX_BYTES)?;
    let before_hash = before.as_deref().map(files::hash);
    let freshness = files.compare(real, before_hash.as_ref());
    let planned = plan(before.as_deref())?;
    let name = paths::shown(path);
    let mut done = planned.done.clone();
    if let (Freshness::Stale(seen), Some(now)) = (&freshness, &before) {
        if planned.needs_fresh && *now != planned.after {
            return Err(stale(&name, seen.as_deref(), now));
        }
        done.push_str(
            " The file had changed on disk since it was last read; read it again to see all of it.",
        );
    }
    let diff = compare(before.as_deref(), &planned, path);
    if present(real, MAX_BYTES)?.as_deref().map(files::hash) != before_hash {
        return Err(format!("{name} was changed by somebody else just now. Nothing was written."));
    }
    if before.as_deref() != Some(&planned.after) {
        save::replace(real, &planned.after)
            .map_err(|error| format!("could not write {name}: {error}. Nothing was changed."))?;
    }
    let after_hash = files::hash(&planned.after);
    if !matches!(freshness, Freshness::Stale(_)) || planned.needs_fresh {
        files.saw(real, after_hash, std::str::from_utf8(&planned.after).ok());
    }
    Ok(ToolOutcome::text(done).with_details(details(&diff, before_hash.as_ref(), &after_hash)))
}

fn details(diff: &TextDiff, before: Option<&files::Hash>, after: &files::Hash) -> Value {
    let mut details = json!({
        "diff": diff.diff,
        "patch": diff.patch,
        "firstChangedLine": diff.first_changed_line,
        "preImage": before.map(files::hex),
        "postImage": files::hex(after),
    });
    if let Value::Object(map) = &mut details {
        map.retain(|_, value| !value.is_null());
    }
    details
}

fn stale(name: &str, seen: Option<&str>, now: &[u8]) -> String {
    let changed = seen.zip(std::str::from_utf8(now).ok()).map(|(seen, now)| {
        let diff = diff::whole(seen, now, name).diff;
        format!(" What changed:\n{}\n", truncate::excerpt(&diff, MAX_STALE_DIFF_BYTES))
    });
    format!(
        "{name} changed on disk since it was last read, so nothing was written.{} Read it again, \
         then decide.",
        changed.unwrap_or_default()
    )
}

fn compare(before: Option<&[u8]>, planned: &Planned, path: &Path) -> TextDiff {
    let name = paths::shown(path);
    let before = before.unwrap_or_default();
    let texts = (std::str::from_utf8(before), std::str::from_utf8(&planned.after));
    if let ((Ok(old), Ok(new)), Some(splices)) = (texts, &planned.splices) {
        let mut shift = 0_usize;
        let mut removed = 0_usize;
        let replaced: Vec<Replaced> = splices
            .iter()
            .map(|splice| {
                let start = splice.range.start - removed + shift;
                shift += splice.text.len();
                removed += splice.range.len();
                Replaced { old: splice.range.clone(), new: start..start + splice.text.len() }
            })
            .collect();
        return diff::around(old, new, &replaced, &name);
    }
    let (old, new) = (String::from_utf8_lossy(before), String::from_utf8_lossy(&planned.after));
    diff::whole(&old, &new, &name)
}
