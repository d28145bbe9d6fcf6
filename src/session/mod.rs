//! The session: a tree of entries in one append-only JSONL file, with one writer.
//!
//! `Session` is the only way to write. It owns the store, the index and the leaf, so the three
//! cannot disagree: a failed append leaves all of them as they were.

mod entry;
pub mod journal;
pub mod view;

pub use entry::{Body, Entry, Header, Origin};

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::message::{EntryId, Message, SessionId, ThinkingLevel};
use crate::ports::{Clock, FileSystem};

/// Whether an append must be on the disk before it returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flush {
    /// One `fdatasync` after the write: prompts, intents, results, terminal records.
    Sync,
    /// Rides along with the next synced append.
    Lazy,
}

/// How hard a session tries to survive a power cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// `Flush::Sync` syncs.
    #[default]
    Commit,
    /// Nothing syncs: survives the end of the process, not of the machine.
    Process,
}

/// Where and with what a session lives.
#[derive(Debug, Clone)]
pub struct Place {
    pub files: Arc<dyn FileSystem>,
    pub clock: Arc<dyn Clock>,
    /// The root `…/sessions`; the file goes to a sub-folder named after the working directory.
    pub root: PathBuf,
    pub durability: Durability,
}

/// Something worth telling the person about a session: a mended tail, skipped lines, a wide mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub text: String,
}

/// Why a session could not be opened, read or written. The text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error("{0}")]
    Placeholder(String),
}

/// What the model would be told on the active branch, before the request view repairs it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Context {
    /// Each with the entry it came from (the compaction entry for a summary).
    pub messages: Vec<(Option<EntryId>, Arc<Message>)>,
    /// Provider and model id, from the last model change or answer on the whole path.
    pub model: Option<(String, String)>,
    pub thinking_level: Option<ThinkingLevel>,
    pub active_tools: Option<Vec<String>>,
}

/// An open session.
#[derive(Debug)]
pub struct Session {}

impl Session {
    /// A new session for `cwd`. No file exists until the first user message is appended.
    pub fn create(place: Place, cwd: &Path) -> Self {
        let _ = (place, cwd);
        unimplemented!()
    }

    /// A session that lives in memory only, with the same behaviour.
    pub fn in_memory(clock: Arc<dyn Clock>, cwd: &Path) -> Self {
        let _ = (clock, cwd);
        unimplemented!()
    }

    /// Opens a file and takes its lock. When somebody else holds the lock the session is read-only
    /// and [`Session::holder`] says who; appends then fail.
    pub fn open(place: Place, path: &Path) -> Result<Self, SessionError> {
        let _ = (place, path);
        unimplemented!()
    }

    pub fn header(&self) -> &Header {
        unimplemented!()
    }

    pub fn id(&self) -> &SessionId {
        &self.header().id
    }

    /// The file, also when it does not exist yet; `None` in memory.
    pub fn path(&self) -> Option<&Path> {
        unimplemented!()
    }

    /// The logical leaf: where the next entry hangs; never a marker.
    pub fn leaf(&self) -> Option<&EntryId> {
        unimplemented!()
    }

    /// The session's name: the last `session_info` in file order.
    pub fn name(&self) -> Option<&str> {
        unimplemented!()
    }

    /// Who holds the lock instead of us, when the session is read-only.
    pub fn holder(&self) -> Option<&str> {
        unimplemented!()
    }

    /// What was noticed since the last call.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        unimplemented!()
    }

    /// Appends bodies as one chain under the leaf, in one write; the last becomes the leaf. On an
    /// error nothing changed, in memory or in the file.
    pub fn append(
        &mut self,
        bodies: Vec<Body>,
        flush: Flush,
    ) -> Result<Vec<Arc<Entry>>, SessionError> {
        let _ = (bodies, flush);
        unimplemented!()
    }

    /// The entry with that id, read on demand.
    pub fn entry(&self, id: &EntryId) -> Result<Arc<Entry>, SessionError> {
        let _ = id;
        unimplemented!()
    }

    /// The active path, root first.
    pub fn branch(&self) -> Result<Vec<Arc<Entry>>, SessionError> {
        unimplemented!()
    }

    /// The context of the leaf. Cheap to call before every request: only what was appended since
    /// the last call is added.
    pub fn context(&mut self) -> Result<Arc<Context>, SessionError> {
        unimplemented!()
    }
}
