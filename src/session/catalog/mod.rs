//! The sessions on disk: listing them, finding one by its id, and the one used last.
//!
//! A file that cannot be read or is no session is passed over, never an error of the list. Nothing
//! is cached, written or trusted over the files: the folder a session lies in says nothing, its
//! header's `cwd` does.

mod folder;
mod look;
mod preview;
mod query;
mod scan;
mod search;

pub use folder::{SETTINGS, chosen_folder, folder_choice};
pub use look::look;
pub use preview::{Quote, preview};
pub use query::{Query, Tier};
pub use scan::{Progress, scan};
pub use search::{Hit, Searched, search};

pub(super) use look::header;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use super::{Header, SessionError, name};
use crate::message::SessionId;
use crate::ports::FileSystem;

/// What a list shows of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub path: PathBuf,
    pub id: SessionId,
    pub cwd: String,
    pub name: Option<String>,
    pub parent_session: Option<String>,
    /// Unix milliseconds, 0 when the header does not say.
    pub created_ms: i64,
    /// Time of the last user or assistant message, else of creation. Unix milliseconds.
    pub last_activity_ms: i64,
    /// User and assistant messages, on all branches; at least so many while not `is_whole`.
    pub message_count: u64,
    /// One line of the first user message.
    pub first_message: Option<String>,
    /// The whole file was read. Before that the count and a name deep inside are still to come.
    pub is_whole: bool,
}

/// The sessions under `root`, newest activity first; with `cwd` only those of that folder. Reads
/// every file whole; [`scan()`] tells the same bit by bit.
pub fn list(files: &dyn FileSystem, root: &Path, cwd: Option<&Path>) -> Vec<Listed> {
    let cwd = cwd.map(|cwd| spellings(files, cwd));
    let mut listed = Vec::new();
    let describe = |path: &PathBuf| {
        let header = look::header(files, path)?;
        is_of(&header, cwd.as_ref()).then(|| look::whole(files, path, header)).flatten()
    };
    let paths = scan::session_files(files, root);
    scan::in_parallel(&paths, &AtomicBool::new(false), describe, &mut |found| {
        listed.extend(found.into_iter().flatten());
    });
    newest_first(&mut listed);
    listed
}

/// The session of `cwd` whose last user or assistant message is the newest. Reads the headers of
/// all files and the ends of those of the folder.
pub fn most_recent(files: &dyn FileSystem, root: &Path, cwd: &Path) -> Option<PathBuf> {
    let cwd = Some(spellings(files, cwd));
    let mut listed = Vec::new();
    let describe = |path: &PathBuf| {
        let header = look::header(files, path)?;
        is_of(&header, cwd.as_ref()).then(|| look::glance(files, path, header)).flatten()
    };
    let paths = scan::session_files(files, root);
    scan::in_parallel(&paths, &AtomicBool::new(false), describe, &mut |found| {
        listed.extend(found.into_iter().flatten());
    });
    newest_first(&mut listed);
    listed.into_iter().next().map(|listed| listed.path)
}

/// The session, of any folder, whose id begins with `prefix`; a whole id wins over longer ones.
///
/// # Errors
/// [`SessionError::NoMatch`] and [`SessionError::Ambiguous`].
pub fn find_by_prefix(
    files: &dyn FileSystem,
    root: &Path,
    prefix: &str,
) -> Result<PathBuf, SessionError> {
    let mut paths = scan::session_files(files, root);
    // A file is named after its id, so the right one is usually the first that is looked at.
    paths.sort_by_key(|path| !path.to_string_lossy().contains(prefix));
    let mut found = Vec::new();
    for path in paths {
        let Some(header) = look::header(files, &path) else { continue };
        if header.id.as_str() == prefix {
            return Ok(path);
        }
        if !prefix.is_empty() && header.id.as_str().starts_with(prefix) {
            found.push(path);
        }
    }
    let wanted = prefix.to_owned();
    match found.len() {
        0 => Err(SessionError::NoMatch { wanted }),
        1 => found.pop().ok_or(SessionError::NoMatch { wanted }),
        count => Err(SessionError::Ambiguous { wanted, count }),
    }
}

/// A folder as it was given and with links resolved: a session may have been started from either.
fn spellings(files: &dyn FileSystem, cwd: &Path) -> [String; 2] {
    let resolved = files.canonical(cwd).unwrap_or_else(|_| cwd.to_owned());
    [name::path_text(cwd), name::path_text(&resolved)]
}

fn is_of(header: &Header, cwd: Option<&[String; 2]>) -> bool {
    cwd.is_none_or(|cwd| cwd.contains(&header.cwd))
}

/// Newest activity first; equal ones by path, so that the order never depends on who was read first.
fn newest_first(listed: &mut [Listed]) {
    listed.sort_by(|a, b| {
        b.last_activity_ms.cmp(&a.last_activity_ms).then_with(|| b.path.cmp(&a.path))
    });
}
