//! The only loop that awaits: it owns the session, executes the machine's effects, and reports back.
//!
//! Meaning lives in `turn`; here is only how. Everything that takes time runs as a task of its own
//! and answers through one inbox, so a command is never kept waiting by a stream or a tool.

mod compact;
mod copies;
mod inbox;
mod job;
mod measure;
mod navigate;
mod perform;
mod prepare;
mod request;
mod run_tool;
mod settings;
mod start;
mod totals;
mod view;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::message::{EntryId, Message, ThinkingLevel, ToolResultMessage, ToolSpec, Usage};
use crate::policy::{Decision, Profile};
use crate::session::{Body, Session, TreeView};
use crate::tools::FileTracker;

use super::handle::Letter;
use super::partial::PartialFile;
use super::setup::{Model, Setup};
use super::turn::{Effect, Fresh, Machine};
use super::{CallKey, Command, Event, HarnessError, Phase, Reply, RunningCall};
use inbox::Inside;
pub use start::{spawn, spawn_after};

/// Reports of tasks that may wait before the tasks have to.
const INBOX: usize = 256;

/// One engine. Lives in its task; everybody else has a [`crate::harness::Handle`].
struct Driver {
    setup: Setup,
    machine: Machine,
    /// What the model is told of the tools, in their order; made once, because schemas are generated.
    specs: Vec<ToolSpec>,
    model: Model,
    thinking: ThinkingLevel,
    profile: Profile,
    /// What people allowed until the session ends.
    allowed: HashSet<String>,
    files: Arc<FileTracker>,
    events: broadcast::Sender<Arc<Event>>,
    /// Where readers find the tree.
    tree: watch::Sender<TreeView>,
    inbox: mpsc::Sender<Inside>,
    stream: Option<CancellationToken>,
    timer: Option<CancellationToken>,
    tools: CancellationToken,
    running: BTreeMap<CallKey, RunningCall>,
    /// Appends and events that wait for one write.
    pending: Vec<Effect>,
    /// Entries of setters called while a turn runs; written at the next save point.
    settings: Vec<Body>,
    partial: PartialFile,
    /// The summary under way.
    work: Option<job::Work>,
    record: RunRecord,
    idle_waiters: Vec<oneshot::Sender<()>>,
    /// A failed write cut a turn off in the file; it is settled before anything new begins.
    unsettled: bool,
    /// What was noticed while opening; given with the first snapshot, when somebody is there.
    notices: Vec<String>,
}

/// What readers are told when a step and a run end, and the sums of the session.
#[derive(Debug, Default)]
struct RunRecord {
    messages: Vec<Arc<Message>>,
    answer: Option<Arc<Message>>,
    results: Vec<Arc<ToolResultMessage>>,
    /// Readers were told that an answer begins.
    answer_open: bool,
    totals: Usage,
    context_tokens: u64,
    /// Nobody has counted `context_tokens`.
    estimated: bool,
    /// The compaction that was stored last.
    compacted: Option<EntryId>,
}

impl Driver {
    fn session(&mut self) -> &mut Session {
        &mut self.setup.session
    }

    fn now(&self) -> i64 {
        self.setup.clock.now_ms()
    }

    fn emit(&self, event: Event) {
        // Nobody listening is no error.
        let _ = self.events.send(Arc::new(event));
    }

    async fn serve(
        mut self,
        mut letters: mpsc::Receiver<Letter>,
        mut inbox: mpsc::Receiver<Inside>,
    ) {
        loop {
            tokio::select! {
                biased;
                letter = letters.recv() => match letter {
                    Some(Letter::Close(done)) => {
                        self.close(&mut inbox).await;
                        let _ = done.send(());
                        return;
                    }
                    Some(letter) => self.letter(letter),
                    None => return self.close(&mut inbox).await,
                },
                Some(report) = inbox.recv() => self.report(report),
            }
            self.answer_idle_waiters();
        }
    }

    fn letter(&mut self, letter: Letter) {
        match letter {
            Letter::Command(Command::Fork { at }, answer) => self.fork(at, answer),
            Letter::Command(Command::Export { format, to }, answer) => {
                self.export(format, to, answer);
            }
            Letter::Command(command, answer) => self.long_command(command, answer),
            Letter::Snapshot(answer) => {
                let _ = answer.send(self.snapshot());
            }
            Letter::WaitForIdle(answer) => self.idle_waiters.push(answer),
            // Handled where the loop can end.
            Letter::Close(answer) => drop(answer),
        }
    }

    fn command(&mut self, command: Command) -> Result<Reply, HarnessError> {
        let now = self.now();
        match command {
            Command::Prompt { content } => {
                self.settle_cut_turn()?;
                let fresh = self.fresh();
                let (reply, effects) = self.machine.begin(Some(content), fresh)?;
                self.perform(effects).map(|()| reply)
            }
            Command::Retry => {
                self.settle_cut_turn()?;
                self.can_go_on()?;
                let fresh = self.fresh();
                let (reply, effects) = self.machine.begin(None, fresh)?;
                self.perform(effects).map(|()| reply)
            }
            Command::Steer { text } => self.enqueue(super::QueueKind::Steer, text),
            Command::FollowUp { text } => self.enqueue(super::QueueKind::FollowUp, text),
            Command::NextTurn { text } => self.enqueue(super::QueueKind::NextTurn, text),
            Command::Dequeue { id } => {
                let (reply, effects) = self.machine.dequeue(&id)?;
                self.perform(effects).map(|()| reply)
            }
            Command::Abort { by } => {
                let (queued, effects) = self.machine.abort(&by, now);
                self.perform(effects).map(|()| Reply::Cleared { queued })
            }
            Command::Decide { key, decision } => {
                if !matches!(decision, Decision::Deny { .. }) {
                    self.check_card(&key)?;
                }
                let (reply, effects) = self.machine.decide(&key, decision, now)?;
                self.perform(effects).map(|()| reply)
            }
            Command::SetModel { reference } => self.set_model(&reference),
            Command::SetThinkingLevel { level } => self.set_thinking(level),
            Command::SetApprovalProfile { profile } => self.set_profile(profile),
            Command::SetName { name } => self.set_name(&name),
            Command::ReportContext => self.report_context(),
            Command::StoreCompaction { draft } => self.store_draft(*draft),
            Command::SetLabel { target, label } => self.set_label(&target, label.as_deref()),
            Command::Navigate { .. }
            | Command::Merge { .. }
            | Command::Compact { .. }
            | Command::DraftCompaction { .. }
            | Command::Fork { .. }
            | Command::Export { .. } => {
                Err(HarnessError::new(super::ErrorCode::InvalidState, "this cannot be done yet"))
            }
        }
    }

    fn enqueue(&mut self, kind: super::QueueKind, text: String) -> Result<Reply, HarnessError> {
        self.settle_cut_turn()?;
        let fresh = self.fresh();
        let (reply, effects) = self.machine.enqueue(kind, text, fresh)?;
        self.perform(effects).map(|()| reply)
    }

    /// Stops what runs, waits until it has ended on disk, and releases the session.
    async fn close(&mut self, inbox: &mut mpsc::Receiver<Inside>) {
        if self.machine.phase() != Phase::Idle {
            let (_, effects) = self.machine.abort("quit", self.now());
            let _ = self.perform(effects);
        }
        while self.machine.phase() != Phase::Idle {
            // Tools end within their grace, so this ends too.
            let Some(report) = inbox.recv().await else { break };
            self.report(report);
        }
        let _ = self.session().append(Vec::new(), crate::session::Flush::Sync);
        self.partial.clear();
        self.answer_idle_waiters();
    }

    fn answer_idle_waiters(&mut self) {
        if self.machine.phase() == Phase::Idle {
            for waiter in self.idle_waiters.drain(..) {
                let _ = waiter.send(());
            }
        }
    }

    /// What a new turn needs from outside the machine.
    fn fresh(&mut self) -> Fresh {
        Fresh {
            now: self.now(),
            turn: crate::message::TurnId::new(),
            preface: self.preface(),
            options: self.options(),
        }
    }
}
