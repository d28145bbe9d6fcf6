//! What an engine tells: the events every front end reads, and the words they are made of.
//!
//! Screen, print and JSON mode are readers of this one enum. Event names keep the spelling of
//! the harness API they implement: `turn_start` and `turn_end` are per step (one request and its tool
//! batch), `turn_started` and `turn_completed` per turn.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::message::{
    AssistantMessage, Delta, Display, EntryId, Message, SessionId, ThinkingLevel,
    ToolResultMessage, TurnId,
};
use crate::policy::Profile;
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

/// Why a compaction runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CompactionReason {
    /// A person asked.
    Manual,
    /// The context grew over its limit.
    Threshold,
    /// The provider said that it no longer fits.
    Overflow,
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
    /// A compaction runs: nothing else does until it ends.
    CompactionStart {
        reason: CompactionReason,
    },
    /// It is over; `entry` is the compaction that was stored, if one was.
    CompactionEnd {
        reason: CompactionReason,
        entry: Option<EntryId>,
        /// Tokens of the context before and after, estimated.
        tokens_before: u64,
        tokens_after: u64,
        error: Option<Failure>,
        aborted: bool,
    },
    /// A summary of a branch is being written.
    BranchSummaryStart {
        /// What is summarised ends here.
        from: EntryId,
    },
    /// A summary takes several requests, each taking up the one before: this one begins.
    SummaryProgress {
        /// From 1.
        part: u32,
        parts: u32,
    },
    BranchSummaryEnd {
        error: Option<Failure>,
        aborted: bool,
    },
    /// The active branch is another one now: take a new snapshot.
    SessionTree {
        old_leaf: Option<EntryId>,
        new_leaf: Option<EntryId>,
        summary_entry: Option<EntryId>,
    },
    /// Tokens in the context after the last answer, and the sums of the session.
    UsageUpdate {
        context_tokens: u64,
        /// The provider has not counted it: it was estimated, as after a compaction.
        estimated: bool,
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

/// How long something took or will take, in the unit events carry.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
