//! The catalogue of tools: one file per tool, one trait, one table.
//!
//! To add a tool, write a file beside `ls.rs` (the shortest example), implement [`Tool`], and add a
//! line to [`built_in`]. No screen code changes: results are shown by the shape of their
//! [`Display`].

mod bash;
mod change;
mod content;
mod edit;
mod files;
mod find;
mod fuzzy;
mod glob;
mod grep;
mod hits;
mod lines;
mod ls;
mod offload;
mod output;
mod paths;
mod process;
mod read;
mod replace;
mod save;
mod schema;
mod survivors;
mod validate;
mod walk;
mod write;

pub use bash::Bash;
pub use edit::Edit;
pub use files::FileTracker;
pub use find::Find;
pub use grep::Grep;
pub use ls::Ls;
pub use read::Read;
pub use validate::prepare;
pub use write::Write;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::message::{Access, Display, ToolOutcome, ToolSpec};

/// One tool. The driver calls, in this order: `repair`, schema validation, policy, `run`.
pub trait Tool: Send + Sync + fmt::Debug {
    fn spec(&self) -> ToolSpec;
    fn access(&self) -> Access;
    /// May run again after a crash without asking.
    fn idempotent(&self) -> bool {
        self.access() == Access::Read
    }
    /// Forces the whole batch to run one after the other.
    fn sequential(&self) -> bool {
        false
    }
    /// Mends what models commonly get wrong before validation, for instance a list sent as a string.
    fn repair(&self, arguments: Value) -> Value {
        arguments
    }
    /// One line for people: `src/main.rs:10-40`, `cargo test`. At most 200 characters, unsanitised.
    fn summary(&self, arguments: &Value) -> String;
    /// The file it will change, resolved, for serialising writes and for the approval card.
    fn target(&self, arguments: &Value, cwd: &Path) -> Option<PathBuf> {
        let _ = (arguments, cwd);
        None
    }
    /// What it would do, for the approval card, without doing it: the diff of an edit.
    fn preview(&self, arguments: &Value, cwd: &Path) -> Option<Display> {
        let _ = (arguments, cwd);
        None
    }
    /// The state of [`target`](Self::target) before and after, without doing it, so that recovery
    /// can tell whether a change was made before a crash. `None` when it would fail.
    fn images(&self, arguments: &Value, cwd: &Path) -> Option<Images> {
        let _ = (arguments, cwd);
        None
    }
    /// Runs. Never panics, never fails: a failure is an outcome with `is_error`. Must end soon after
    /// `context.cancel` fires, leaving no process behind.
    fn run(&self, arguments: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome>;
}

/// Sha256 (64 hex digits) of a file's content before and after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Images {
    /// `None` when there is no such file yet.
    pub before: Option<String>,
    pub after: String,
}

/// A running tool's news: the output so far, bounded, for live panes. Not stored.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolUpdate {
    /// The newest output (a bounded tail), raw, with colours.
    pub output: Arc<str>,
}

/// What one execution gets.
#[derive(Debug, Clone)]
pub struct ToolContext {
    pub cwd: PathBuf,
    pub cancel: CancellationToken,
    /// Bounded; use `try_send` and drop what does not fit.
    pub updates: mpsc::Sender<ToolUpdate>,
    /// Shared by all calls of a session: what was read (to refuse stale writes) and write locks.
    pub files: Arc<FileTracker>,
    /// Where full outputs are kept: a private directory, created when first needed.
    pub spill_dir: PathBuf,
    /// Environment variables that commands must not see (keys), by name.
    pub hidden_env: Arc<[String]>,
}

/// All tools of this version in the order the model sees them.
pub fn built_in() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(Read),
        Arc::new(Bash::default()),
        Arc::new(Edit),
        Arc::new(Write),
        Arc::new(Grep),
        Arc::new(Find),
        Arc::new(Ls),
    ]
}
