//! Why a session could not be opened, read or written, in variants a caller branches on.
//!
//! The text of each says what was tried, with what, and what to do next.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::message::EntryId;

/// A refusal or failure of the session layer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    #[error("no session at {}; list the sessions or start a new one", path.display())]
    NotFound { path: PathBuf },
    #[error("no session matches {wanted:?}; list the sessions to see what there is")]
    NoMatch { wanted: String },
    #[error("{count} sessions match {wanted:?}; give more characters of the id")]
    Ambiguous { wanted: String, count: usize },
    #[error("{count} entries match {wanted:?}; give more characters of the id")]
    AmbiguousEntry { wanted: String, count: usize },
    #[error("{} is there already and was left as it is; choose another name", path.display())]
    Exists { path: PathBuf },
    /// A session without anything in it.
    #[error("there is nothing to copy yet; send a message first")]
    NothingToCopy,
    #[error(
        "the session lives in memory only, so it has no folder to be copied to; export it instead"
    )]
    InMemory,
    #[error("entry {id} is no message of yours; fork at it instead of before it")]
    NotAUserMessage { id: EntryId },
    #[error("{} is not a session file ({why}); it was left as it is", path.display())]
    NotASession { path: PathBuf, why: &'static str },
    /// Somebody else holds the session, or it cannot be written at all.
    #[error("{} is open for reading only: {holder}; fork it to go on in a copy", path.display())]
    ReadOnly { path: PathBuf, holder: String },
    #[error("could not {what} {}: {source}; nothing was changed, check the file and its folder and try again", path.display())]
    Io { what: &'static str, path: PathBuf, source: io::Error },
    #[error("could not {what} {}: {source}; nothing was changed, free some space and try again", path.display())]
    DiskFull { what: &'static str, path: PathBuf, source: io::Error },
    /// A sync failed. The kernel may have dropped the data, so this writer never tries again.
    #[error("the disk did not confirm a write to {} ({cause}), so nothing more is written to it; save a copy of the session to another place and go on there", path.display())]
    Poisoned { path: PathBuf, cause: String },
    /// Somebody works on the session, so it cannot be moved or renamed.
    #[error("{} is in use: {holder}; close it there first", path.display())]
    InUse { path: PathBuf, holder: String },
    #[error("{} was cut or replaced by another program; open the session again", path.display())]
    Changed { path: PathBuf },
    #[error("the session has no entry {id}; choose one from its tree")]
    UnknownEntry { id: EntryId },
    #[error(
        "{id:?} cannot be a session id; use letters, digits, '.', '_' and '-', begin and end with a letter or digit, at most {} characters",
        super::name::MAX_ID_CHARS
    )]
    BadId { id: String },
    #[error("an entry of type {kind} is never written; {advice}")]
    Unwritable { kind: &'static str, advice: &'static str },
}

impl SessionError {
    /// An error of the system while trying to `what` the file at `path`.
    pub(super) fn io(what: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                Self::DiskFull { what, path, source }
            }
            _ => Self::Io { what, path, source },
        }
    }
}
