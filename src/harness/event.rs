//! The whole surface of the engine: events out, commands in.
//!
//! Screen, print and JSON mode are readers of these same two enums. Event names keep the spelling of
//! the harness API they implement: `turn_start` and `turn_end` are per step (one request and its tool
//! batch), `turn_started` and `turn_completed` per turn.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::message::{
    AssistantMessage, Delta, Display, EntryId, Message, Part, SessionId, ThinkingLevel,
    ToolResultMessage, TurnId,
};
use crate::policy::{Decision, Profile};
use crate::session::Entry;
pub use crate::session::journal::{QueueKind, TurnStatus};

/// The key of a tool call within a session. Provider ids may repeat; this does not.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct CallKey {
    pub turn: TurnId,
    pub step: u32,
    /// Position in the assistant message, from 0.
    pub ordinal: u32,
}

/// A call that waits for a person.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeldCall {
    pub key: CallKey,
    pub tool: String,
    pub arguments: Value,
    /// One line for people.
    pub summary: String,
    /// Why it was held.
    pub reason: String,
    /// Binds the decision to exactly this call: SHA-256 of tool, arguments, cwd and pre-image.
    pub hash: String,
    /// What it would do: the diff of an edit, the text of a command.
    #[serde(skip)]
    pub preview: Option<Display>,
    /// What `Decision::Session` would allow until the session ends, in words.
    pub session_rule: String,
    /// Unix milliseconds.
    pub since: i64,
}

/// A message that waits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Queued {
    pub id: String,
    pub kind: QueueKind,
    pub text: String,
}

/// What the engine is doing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    #[default]
    Idle,
    Turn,
    Retry,
    Compaction,
    BranchSummary,
}

/// What a request waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Waiting {
    /// The head of the response.
    Response,
    /// The first piece of the answer.
    FirstByte,
}

/// A failure of a provider, told so that a person can act.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Failure {
    /// `auth`, `rate_limited`, `overflow`, `transient`, `permanent`, `session`.
    pub kind: &'static str,
    pub message: String,
    /// Whether asking again may help.
    pub retryable: bool,
    /// What to do about it, one sentence.
    pub advice: String,
}

/// What happened. `Arc` payloads are shared with the session, never copied per reader.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Event {
    TurnStarted {
        session: SessionId,
        turn: TurnId,
    },
    /// Arrives at least once for every turn, also over a crash.
    TurnCompleted {
        session: SessionId,
        turn: TurnId,
        status: TurnStatus,
        /// The final text.
        result: Option<String>,
        error: Option<Failure>,
        /// Why it ended early: `max_turns`, `aborted`, `interrupted`, `length`, …
        reason: Option<String>,
    },
    AgentStart,
    AgentEnd {
        messages: Vec<Arc<Message>>,
    },
    /// A step begins. `max` is the cap, 0 for none.
    TurnStart {
        step: u32,
        max: u32,
    },
    TurnEnd {
        message: Arc<AssistantMessage>,
        tool_results: Vec<Arc<ToolResultMessage>>,
    },
    /// A message begins; an assistant message is empty here and grows by `message_update`.
    MessageStart {
        message: Arc<Message>,
    },
    MessageUpdate {
        assistant_message_event: Delta,
    },
    /// The message is complete and stored as `entry`.
    MessageEnd {
        message: Arc<Message>,
        entry: EntryId,
    },
    /// The streamed answer so far is void (a retry follows); drop it from the screen.
    MessageDiscarded,
    /// The request went out and this is what it waits for.
    RequestWaiting {
        waiting: Waiting,
        model: String,
    },
    ToolExecutionStart {
        key: CallKey,
        tool_call_id: String,
        tool_name: String,
        args: Value,
        summary: String,
    },
    ToolExecutionUpdate {
        key: CallKey,
        partial_result: Arc<str>,
    },
    ToolExecutionEnd {
        key: CallKey,
        tool_call_id: String,
        tool_name: String,
        result: Arc<ToolResultMessage>,
        is_error: bool,
    },
    /// A call waits for a person.
    ApprovalRequested {
        held: Arc<HeldCall>,
    },
    /// It was answered, or the turn that asked is over.
    ApprovalResolved {
        key: CallKey,
        allowed: bool,
    },
    QueueUpdate {
        queue: Vec<Queued>,
    },
    RetryScheduled {
        attempt: u32,
        max_attempts: u32,
        delay_ms: u64,
        error: Failure,
    },
    RetryAttemptStart {
        attempt: u32,
    },
    RetryFinished,
    ModelUpdate {
        model: String,
        context_window: u64,
        known: bool,
    },
    ThinkingLevelUpdate {
        level: ThinkingLevel,
    },
    ApprovalProfileUpdate {
        profile: Profile,
    },
    /// Tokens in the context after the last answer, and the sums of the session.
    UsageUpdate {
        context_tokens: u64,
        input: u64,
        output: u64,
        cache_read: u64,
        cost: f64,
    },
    SessionInfoChanged {
        name: String,
    },
    /// An entry was stored on the active branch.
    EntryAppended {
        entry: Arc<Entry>,
    },
    /// Setters made while a turn runs take effect from here.
    SavePoint,
    /// The engine is idle again.
    Settled,
    /// Steering and follow-ups that an abort handed back.
    Abort {
        cleared: Vec<Queued>,
    },
    /// Something to tell the person; nothing is wrong with the conversation.
    Notice {
        text: String,
    },
    /// Something failed outside a turn, or ended the turn.
    Error {
        error: Failure,
    },
}

/// What a front end may ask for. Every command is answered; a refusal is a [`super::HarnessError`].
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Starts a turn; refused with `busy` while one runs.
    Prompt {
        content: Vec<Part>,
    },
    /// While a turn runs: delivered after the tool batch. `invalid_state` when idle.
    Steer {
        text: String,
    },
    /// When the turn would end; starts a turn when idle.
    FollowUp {
        text: String,
    },
    /// In front of the next prompt, at any time.
    NextTurn {
        text: String,
    },
    /// Cancels stream, tools and retry; queued steering and follow-ups come back.
    Abort {
        by: String,
    },
    Decide {
        key: CallKey,
        decision: Decision,
    },
    /// Takes one message back out of its queue.
    Dequeue {
        id: String,
    },
    /// Runs the last request again after a failure.
    Retry,
    SetModel {
        reference: String,
    },
    SetThinkingLevel {
        level: ThinkingLevel,
    },
    SetApprovalProfile {
        profile: Profile,
    },
    SetName {
        name: String,
    },
}

/// What a command gave back.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    Done,
    /// The turn that was started.
    Started {
        turn: TurnId,
    },
    Queued {
        queued: Queued,
    },
    /// What was taken back.
    Cleared {
        queued: Vec<Queued>,
    },
}

/// The state of an engine at one moment, for a reader that joins or has missed events.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub session: SessionId,
    pub path: Option<std::path::PathBuf>,
    pub name: Option<String>,
    pub cwd: std::path::PathBuf,
    /// Who holds the session instead of us, when it is read-only.
    pub read_only: Option<String>,
    /// The active path, root first.
    pub branch: Vec<Arc<Entry>>,
    pub phase: Phase,
    pub turn: Option<TurnId>,
    pub step: u32,
    pub max_turns: u32,
    /// `provider/id`.
    pub model: String,
    pub model_known: bool,
    pub context_window: u64,
    pub context_tokens: u64,
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

/// How long something took or will take, in the unit events carry.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
