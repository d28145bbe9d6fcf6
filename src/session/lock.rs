//! The lock beside a session's file, and who holds it.
//!
//! It is a file of its own, never renamed or removed, because a lock on the session itself would
//! not survive a rewrite. The system drops it with the process that held it, so a dead owner never
//! blocks.

use std::io;
use std::path::Path;

use serde_json::{Value, json};

use super::store::{Access, with_suffix};
use super::{Place, name};
use crate::ports::FileSystem;

/// Longest note of another owner that is shown.
const NOTE_CHARS: usize = 200;

/// Takes the lock, or tells who holds it.
pub(super) fn take(place: &Place, session: &Path) -> io::Result<Access> {
    let path = with_suffix(session, ".lock");
    let note = json!({
        "pid": std::process::id(),
        "host": host(),
        "since": name::iso(place.clock.now_ms()),
    });
    Ok(match place.files.lock(&path, &note.to_string())? {
        Some(lock) => Access::Locked(lock),
        None => Access::ReadOnly(holder(&place.files.read(&path).unwrap_or_default())),
    })
}

/// Who holds a session now, for one who only wants to know. Leaves the lock file as it is.
pub(super) fn holder_of(files: &dyn FileSystem, session: &Path) -> Option<String> {
    let path = with_suffix(session, ".lock");
    let note = files.read(&path).ok()?;
    let text = String::from_utf8_lossy(&note);
    match files.lock(&path, &text) {
        Ok(None) => Some(holder(&note)),
        Ok(Some(_)) | Err(_) => None,
    }
}

fn holder(note: &[u8]) -> String {
    let note = String::from_utf8_lossy(note);
    let Ok(value) = serde_json::from_str::<Value>(&note) else {
        return match plain(&note) {
            note if note.is_empty() => "another process holds it".to_owned(),
            note => format!("another process holds it ({note})"),
        };
    };
    let text = |key: &str| value.get(key).and_then(Value::as_str).map_or("?".to_owned(), plain);
    let pid = value.get("pid").and_then(Value::as_u64).unwrap_or_default();
    format!("process {pid} on {} holds it since {}", text("host"), text("since"))
}

/// A note is another program's text: one line, no control characters.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(NOTE_CHARS).collect()
}

fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    name.or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_else(|| "this machine".to_owned())
}
