//! Everything the screen knows. It changes only in `update` and `measure`; `view` only reads it.

use std::collections::VecDeque;
use std::path::PathBuf;

use crate::harness::{Phase, Queued, Waiting};
use crate::message::{ThinkingLevel, TurnId};
use crate::policy::Profile;
use crate::session::TreeView;
use crate::ui::approval::Approvals;
use crate::ui::compaction::Preview;
use crate::ui::composer::Composer;
use crate::ui::keymap::Keymap;
use crate::ui::layout::Areas;
use crate::ui::popup::Popup;
use crate::ui::sessions::Picker;
use crate::ui::theme::Theme;
use crate::ui::tools::Tools;
use crate::ui::transcript::Transcript;

/// How long a toast stays.
pub const TOAST_MS: i64 = 4_000;
/// How long the first ctrl+c of "again to quit" counts.
pub const QUIT_AGAIN_MS: i64 = 2_000;
/// A draft is saved this long after its last change: short enough for a crash, long enough for a
/// typist.
pub const DRAFT_MS: i64 = 400;
/// One picture of the spinner.
pub const SPINNER_MS: i64 = 120;

/// How it looks and behaves, from configuration.
#[derive(Debug, Clone)]
pub struct Look {
    pub theme: Theme,
    /// Only ASCII marks.
    pub ascii: bool,
    /// Whether anything may move on its own.
    pub motion: bool,
    /// The working directory as the header shows it.
    pub project: String,
    /// Whether an empty session greets.
    pub welcome: bool,
}

/// The facts of the session.
#[derive(Debug, Clone, Default)]
pub struct SessionFacts {
    pub id: String,
    pub path: Option<PathBuf>,
    pub name: Option<String>,
    /// Who holds the session instead of us.
    pub read_only: Option<String>,
    pub model: String,
    pub model_known: bool,
    pub thinking: ThinkingLevel,
    pub profile: Profile,
    pub tokens: Tokens,
    /// It is being opened: its end is shown, and commands wait.
    pub opening: bool,
    /// It has entries, so it can be found again.
    pub stored: bool,
    /// Nothing has been said or shown since an empty session was joined.
    pub untouched: bool,
}

impl SessionFacts {
    /// Whether the built-in model answers, which is no model.
    pub fn is_demo(&self) -> bool {
        self.model.split('/').next() == Some("demo")
    }
}

/// Tokens and cost.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tokens {
    pub window: u64,
    pub context: u64,
    /// `context` was estimated, not counted.
    pub estimated: bool,
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    /// US dollars.
    pub cost: f64,
}

/// What the engine is doing.
#[derive(Debug, Clone, Default)]
pub struct Work {
    pub phase: Phase,
    /// The turn that runs or ran last.
    pub turn: Option<TurnId>,
    pub step: u32,
    pub max: u32,
    /// The summary under way.
    pub summary: Option<SummaryUnderWay>,
    /// When this wait, tool batch or answer began, Unix milliseconds.
    pub since: i64,
    /// When the answer last grew, Unix milliseconds.
    pub heard: i64,
    pub waiting: Option<(Waiting, String)>,
    /// Attempt, attempts, when the next one starts.
    pub retry: Option<(u32, u32, i64)>,
    /// Prompts on their way to the engine.
    pub sent: usize,
    /// The last turn failed and may be asked again.
    pub failed: bool,
}

/// A summary that is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SummaryUnderWay {
    pub phase: Phase,
    /// It belongs to a turn, which goes on behind it.
    pub in_turn: bool,
    /// This part of how many, where it takes several.
    pub part: Option<(u32, u32)>,
}

impl Work {
    /// The next attempt runs, of the summary under way or else of the turn.
    pub(crate) fn tries_again(&mut self) {
        self.phase = self.summary.map_or(Phase::Turn, |summary| summary.phase);
    }

    /// A summary is being written, in the middle of a turn or by itself.
    pub(crate) fn summarises(&mut self, phase: Phase, now: i64) {
        let in_turn = matches!(self.phase, Phase::Turn | Phase::Retry);
        self.summary = Some(SummaryUnderWay { phase, in_turn, part: None });
        (self.phase, self.since) = (phase, now);
    }

    /// It is over: a turn goes on.
    pub(crate) fn summarised(&mut self, now: i64) {
        let in_turn = self.summary.take().is_some_and(|summary| summary.in_turn);
        self.phase = if in_turn { Phase::Turn } else { Phase::Idle };
        (self.retry, self.since) = (None, now);
    }
}

/// Which pane takes the keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Focus {
    #[default]
    Composer,
    Tree,
    Tools,
    Approval,
}

/// Which pane a narrow screen shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tab {
    #[default]
    Conversation,
    Tree,
    Tools,
}

/// A line that goes away by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toast {
    pub text: String,
    /// Unix milliseconds.
    pub until: i64,
}

/// What is kept of the draft on the disk.
#[derive(Debug, Clone, Default)]
pub struct DraftMark {
    /// The revision that is saved.
    pub saved: u64,
    /// The revision of the last look, and when it was first seen.
    pub seen: u64,
    pub since: i64,
}

/// The screen's state.
#[derive(Debug)]
pub struct State {
    /// Unix milliseconds.
    pub now: i64,
    /// Columns and rows of the terminal.
    pub size: (u16, u16),
    pub terminal_focused: bool,
    pub look: Look,
    pub keymap: Keymap,
    pub session: SessionFacts,
    pub work: Work,
    pub transcript: Transcript,
    /// The tree as it is now; `None` before the first join.
    pub tree: Option<TreeView>,
    pub composer: Composer,
    pub tools: Tools,
    /// The person's word on the tools dock; `None` shows it when there is something to see.
    pub tools_open: Option<bool>,
    pub approvals: Approvals,
    pub queue: Vec<Queued>,
    /// Ids of queued messages that came back, so that two reports of one bring it back once.
    pub returned: VecDeque<String>,
    pub surface: Surface,
    pub draft: DraftMark,
    /// The areas of the last measure.
    pub areas: Areas,
    /// Whether something visible changed since the last frame.
    pub dirty: bool,
}

/// What lies over or beside the panes.
#[derive(Debug, Default)]
pub struct Surface {
    pub focus: Focus,
    pub tab: Tab,
    pub popup: Option<Popup>,
    /// The session picker, while [`Popup::Sessions`] is open.
    pub picker: Option<Box<Picker>>,
    /// The preview of a compaction, while [`Popup::Compaction`] is open.
    pub compaction: Option<Box<Preview>>,
    /// The text of the message a fork stopped in front of, for when that session is open.
    pub carried: Option<(PathBuf, String)>,
    pub tree: crate::ui::tree::Pane,
    /// The leader was pressed and its menu shows.
    pub leader: bool,
    pub toast: Option<Toast>,
    /// Until when a second ctrl+c quits.
    pub quit_until: Option<i64>,
    /// An exit was asked for.
    pub leaving: bool,
}

impl State {
    pub fn new(look: Look) -> Self {
        Self {
            now: 0,
            size: (80, 24),
            terminal_focused: true,
            look,
            keymap: Keymap::default(),
            session: SessionFacts::default(),
            work: Work::default(),
            transcript: Transcript::new(),
            tree: None,
            composer: Composer::default(),
            tools: Tools { follows: true, ..Tools::default() },
            tools_open: None,
            approvals: Approvals::default(),
            queue: Vec::new(),
            returned: VecDeque::new(),
            surface: Surface::default(),
            draft: DraftMark::default(),
            areas: Areas::default(),
            dirty: true,
        }
    }

    /// What the draft is kept under: the session, or the project while nobody could find the session
    /// again.
    pub fn draft_key(&self) -> String {
        if self.session.stored || self.session.id.is_empty() {
            self.session.id.clone()
        } else {
            format!("new in {}", self.look.project)
        }
    }

    /// Whether a turn runs, or a prompt is on its way to start one.
    pub fn busy(&self) -> bool {
        self.work.phase != Phase::Idle || self.work.sent > 0
    }

    /// Shows a line for [`TOAST_MS`].
    pub fn tell(&mut self, text: impl Into<String>) {
        self.surface.toast =
            Some(Toast { text: text.into(), until: self.now.saturating_add(TOAST_MS) });
        self.dirty = true;
    }

    /// Whether the empty session greets.
    pub fn greets(&self) -> bool {
        self.look.welcome && self.session.untouched
    }

    /// When something will change on its own, Unix milliseconds; `None` while nothing moves, so an
    /// idle program sleeps.
    pub fn next_wake(&self) -> Option<i64> {
        let surface = &self.surface;
        let mut wakes = vec![
            self.composer.burst.due(),
            surface.toast.as_ref().map(|toast| toast.until),
            surface.quit_until,
            surface.tree.armed_until,
            self.approvals.armed_at().filter(|at| *at > self.now),
        ];
        if self.draft.saved != self.composer.revision() {
            wakes.push(Some(self.draft.since.saturating_add(DRAFT_MS)));
        }
        if self.busy() {
            let step = if self.spins() { SPINNER_MS } else { 1_000 };
            wakes.push(Some((self.now.div_euclid(step) + 1).saturating_mul(step)));
        }
        wakes.into_iter().flatten().min().map(|at| at.max(self.now))
    }

    /// Whether the spinner turns: not while a person is awaited, nor where motion is off.
    pub fn spins(&self) -> bool {
        self.look.motion && self.busy() && self.approvals.open() == 0
    }
}
