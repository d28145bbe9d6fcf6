//! What may be asked of an engine, and what comes back.
//!
//! Every command is answered. Those that ask a model first (a summary) are answered when it is
//! stored; [`Command::Abort`] ends them too.

use std::path::PathBuf;

use super::{CallKey, Queued};
use crate::message::{EntryId, Part, ThinkingLevel, TurnId, Usage};
use crate::policy::{Decision, Profile};

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
    /// Labels an entry; an empty label or none takes it away.
    SetLabel {
        target: EntryId,
        label: Option<String>,
    },
    /// Moves the leaf: to the entry, or before it when it is a user message, whose text comes back.
    /// `None`: before the first entry. Needs an idle engine. Answered with [`Reply::Navigated`].
    Navigate {
        target: Option<EntryId>,
        /// What is left behind, told on the new branch.
        summary: Summary,
        /// For the summary when there is one, else for the target.
        label: Option<String>,
    },
    /// Brings what another branch came to here, as a branch summary under the leaf; nothing moves
    /// there. `from` is the end of that branch. Answered with [`Reply::Stored`].
    Merge {
        from: EntryId,
        summary: Summary,
    },
    /// Folds the older part of the branch into a summary and stores it. `up_to`: everything before
    /// this entry, instead of what the settings keep. Answered with [`Reply::Stored`].
    Compact {
        instructions: Option<String>,
        up_to: Option<EntryId>,
    },
    /// The same, but nothing is stored: answered with [`Reply::Draft`].
    DraftCompaction {
        instructions: Option<String>,
        up_to: Option<EntryId>,
    },
    /// Stores a draft as it is now. Refused when the branch has changed since it was made. Answered
    /// with [`Reply::Stored`].
    StoreCompaction {
        draft: Box<CompactionDraft>,
    },
    /// What fills the window: answered with [`Reply::Context`].
    ReportContext,
    /// Writes a part of this session to a new session file: answered with [`Reply::Written`].
    Fork {
        at: ForkPoint,
    },
    /// Writes the session for reading elsewhere: answered with [`Reply::Written`].
    Export {
        format: ExportFormat,
        /// Where to; `None` chooses a name in the working directory. An existing file is refused.
        to: Option<PathBuf>,
    },
}

/// How an abandoned or foreign branch is told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Summary {
    #[default]
    None,
    /// In these words.
    Own(String),
    /// By the model.
    Generated {
        instructions: Option<String>,
        /// The instructions take the place of the built-in prompt instead of being added to it.
        replace: bool,
    },
}

/// What a fork takes along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForkPoint {
    /// The path to just before this user message, whose text comes back.
    Before(EntryId),
    /// The path to this entry, with it.
    At(EntryId),
    /// The path to the leaf.
    Leaf,
    /// Every branch.
    Tree,
}

/// What an export looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// The whole tree as it is.
    Jsonl,
    /// The active branch as a session of its own, with a new id.
    JsonlBranch,
    /// The active branch, for people.
    Markdown,
    /// One self-contained page that shows the tree.
    Html,
}

/// A compaction that is ready and not stored: people may edit the summary first.
#[derive(Debug, Clone, PartialEq)]
pub struct CompactionDraft {
    /// The leaf it was made for.
    pub leaf: EntryId,
    /// The first entry that stays as it is.
    pub first_kept: EntryId,
    pub summary: String,
    /// Messages the summary stands for, and messages that stay.
    pub folded: usize,
    pub kept: usize,
    /// Estimates of the whole context.
    pub tokens_before: u64,
    pub tokens_after: u64,
    /// Files read and changed so far, sorted.
    pub read_files: Vec<String>,
    pub modified_files: Vec<String>,
    /// What writing it cost.
    pub usage: Usage,
}

/// What fills the window of the model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ContextReport {
    /// `provider/id`.
    pub model: String,
    /// Tokens; 0 when nobody knows.
    pub window: u64,
    /// In the order in which they are sent.
    pub parts: Vec<ContextPart>,
    /// Tokens of the whole request: as the provider counted them, plus estimates of what is newer.
    pub used: u64,
    /// No provider has counted them.
    pub estimated: bool,
    /// Kept free for the answer.
    pub reserve: u64,
    /// Recent tokens a compaction leaves as they are.
    pub keep_recent: u64,
    /// Compaction begins above this many tokens; `None` when it is switched off.
    pub compacts_at: Option<u64>,
}

/// One part of a [`ContextReport`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextPart {
    /// `system prompt`, `tools`, `summary`, `your messages`, `answers`, `thinking`, `tool calls`,
    /// `tool results: read`, …
    pub name: String,
    /// Estimated.
    pub tokens: u64,
    /// How many of them.
    pub count: usize,
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
    /// Where the leaf is now, and the text of the message in front of which it stands.
    Navigated {
        leaf: Option<EntryId>,
        editor_text: Option<String>,
        summary_entry: Option<EntryId>,
    },
    /// The entry that was stored.
    Stored {
        entry: EntryId,
    },
    Draft(Box<CompactionDraft>),
    Context(Box<ContextReport>),
    /// A file was written. `editor_text`: the text of the message a fork stopped in front of.
    Written {
        path: PathBuf,
        editor_text: Option<String>,
    },
}
