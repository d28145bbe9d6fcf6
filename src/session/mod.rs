//! The session: a tree of entries in one append-only JSONL file, with one writer.
//!
//! `Session` is the only way to write. It owns the store, the index and the leaf, so the three
//! cannot disagree: a failed append leaves all of them as they were.

mod called;
mod catalog;
mod context;
mod copy;
mod entry;
mod error;
mod export;
mod ids;
mod import;
mod index;
mod inspect;
pub mod journal;
mod line;
mod live;
mod load;
mod lock;
mod migrate;
mod name;
mod new_file;
mod page;
mod parse;
mod path;
mod reader;
mod redact;
mod repair;
mod snapshot;
mod splice;
mod stats;
mod store;
mod tail;
mod trash;
mod tree;
mod verify;
pub mod view;
mod write;

pub use catalog::{
    Hit, Listed, Progress, Query, Quote, SETTINGS, Searched, Tier, chosen_folder, find_by_prefix,
    folder_choice, list, look, most_recent, preview, scan, search,
};
pub use context::build as build_context;
pub use copy::{Copied, CopyPoint};
pub use entry::{Body, Entry, Header, Origin};
pub use error::SessionError;
pub use export::Export;
pub use import::{Imported, import};
pub use index::{Index, Kind, Marks, Node, Position, Role, Spent};
pub use live::Session;
pub use name::{check_id, folder_name, path_text};
pub use new_file::NewFile;
pub use page::{Page, Stretch};
pub use reader::Reader;
pub use redact::Redactor;
pub use repair::{Repaired, repair};
pub use snapshot::{EachLine, SessionView};
pub use stats::{Stats, Sums};
pub use tail::{Tail, tail};
pub use trash::{Trash, Trashed};
pub use tree::{Labels, TreeView};
pub use verify::{Problem, Report, verify};
pub use view::request_view;

use std::path::PathBuf;
use std::sync::Arc;

use crate::message::{EntryId, Message, ThinkingLevel};
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
