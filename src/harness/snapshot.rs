//! The state of an engine at one moment: what a reader needs that joins or has missed events.

use std::path::PathBuf;
use std::sync::Arc;

use super::{CallKey, HeldCall, Phase, Queued};
use crate::message::{Part, SessionId, ThinkingLevel, TurnId};
use crate::policy::Profile;
use crate::session::{Entry, Position, TreeView};

/// The state of an engine at one moment, for a reader that joins or has missed events.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub session: SessionId,
    pub path: Option<PathBuf>,
    pub name: Option<String>,
    pub cwd: PathBuf,
    /// Who holds the session instead of us, when it is read-only.
    pub read_only: Option<String>,
    /// The end of the active path, root first, as far as a conversation shows it; what is older is
    /// read through `tree`.
    pub branch: Vec<Arc<Entry>>,
    /// Where the path goes on above `branch`; `None` when `branch` is all of it.
    pub older: Option<Position>,
    pub tree: TreeView,
    pub phase: Phase,
    pub turn: Option<TurnId>,
    pub step: u32,
    pub max_turns: u32,
    /// `provider/id`.
    pub model: String,
    pub model_known: bool,
    pub context_window: u64,
    pub context_tokens: u64,
    /// [`Snapshot::context_tokens`] was estimated, not counted by the provider.
    pub context_estimated: bool,
    /// Sums of the branch: tokens sent (with cache writes), written by the model, read from caches.
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    /// US dollars.
    pub cost: f64,
    pub thinking: ThinkingLevel,
    pub profile: Profile,
    pub queue: Vec<Queued>,
    pub held: Vec<Arc<HeldCall>>,
    /// What has streamed of the answer under way.
    pub partial: Vec<Part>,
    /// Calls that run now: key, tool, summary, output so far, since (Unix milliseconds).
    pub running: Vec<RunningCall>,
    /// What was noticed while opening; only the first snapshot has it.
    pub notices: Vec<String>,
}

/// A call that runs.
#[derive(Debug, Clone, PartialEq)]
pub struct RunningCall {
    pub key: CallKey,
    pub tool: String,
    pub summary: String,
    pub output: Arc<str>,
    pub since: i64,
}
