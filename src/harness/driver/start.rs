//! Opening an engine: choose the model, settle what a crash left, then serve.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::message::{AssistantMessage, Message, StopReason, ThinkingLevel, TurnId};
use crate::session::journal::{self, Record};
use crate::session::{Body, Entry, Flush, Kind, Node, Position, Session};
use crate::text::tokens;
use crate::tools::FileTracker;

use super::{Driver, INBOX, RunRecord, channels};
use crate::harness::partial::PartialFile;
use crate::harness::queue::Queue;
use crate::harness::recovery::{self, Past, Unfinished};
use crate::harness::setup::{Model, Setup};
use crate::harness::turn::{Limits, Machine};
use crate::harness::{ErrorCode, Handle, HarnessError, Phase};

/// Starts the engine of a session in a task of its own.
///
/// # Errors
/// When no model can be used, or the session cannot be read.
pub fn spawn(mut setup: Setup) -> Result<Handle, HarnessError> {
    let mut notices = std::mem::take(&mut setup.notices);
    let context = setup.session.context().map_err(|error| session_error(&error))?;
    let model = choose_model(&setup, context.model.as_ref(), &mut notices)?;
    let thinking = setup.thinking.or(context.thinking_level).unwrap_or(ThinkingLevel::Off);
    let branch = setup.session.branch().map_err(|error| session_error(&error))?;
    let past = past(&setup.session, &branch)?;
    let specs = setup.tools.iter().map(|tool| tool.spec()).collect();
    let (handle, letters, tree) = channels(setup.session.tree());
    let (inbox, reports) = mpsc::channel(INBOX);
    let limits = Limits { max_turns: setup.max_turns, retry: setup.retry };
    let mut queue = Queue::restore(past.queue);
    queue.steering = setup.steering;
    queue.follow_up = setup.follow_up;
    let machine = Machine::new(setup.session.id().clone(), limits, queue);
    let partial = PartialFile::new(&setup.state_dir, setup.session.id());
    let mut driver = Driver {
        profile: setup.profile,
        files: Arc::new(FileTracker::default()),
        events: handle.events.clone(),
        tree,
        record: totals(&branch),
        setup,
        machine,
        specs,
        model,
        thinking,
        allowed: HashSet::new(),
        inbox,
        stream: None,
        timer: None,
        tools: CancellationToken::new(),
        running: BTreeMap::new(),
        pending: Vec::new(),
        settings: Vec::new(),
        partial,
        work: None,
        idle_waiters: Vec::new(),
        unsettled: false,
        notices: Vec::new(),
    };
    driver.sign();
    if let Some(unfinished) = past.unfinished
        && driver.session().holder().is_none()
    {
        match driver.settle(unfinished) {
            Ok(()) => notices.push(
                "the last turn was interrupted; what it had done is kept, nothing was run again"
                    .to_owned(),
            ),
            // Reading must be possible on a full disk; the next prompt settles it first.
            Err(error) => {
                driver.unsettled = true;
                notices.push(format!("the last turn was interrupted and has no end yet: {error}"));
            }
        }
    }
    notices.extend(driver.session().take_notices().into_iter().map(|notice| notice.text));
    driver.notices = notices;
    driver.publish_tree();
    tokio::spawn(driver.serve(letters, reports));
    Ok(handle)
}

fn session_error(error: &crate::session::SessionError) -> HarnessError {
    HarnessError::new(ErrorCode::Session, error.to_string())
}

/// What the branch says about the past; a turn that ended on another branch is not unfinished.
fn past(session: &Session, branch: &[Arc<Entry>]) -> Result<Past, HarnessError> {
    let mut past = recovery::fold(branch, session.id());
    if let Some(open) = &past.unfinished
        && ended_elsewhere(session, &open.turn)?
    {
        past.unfinished = None;
    }
    if !past.queue.is_empty() {
        let gone = gone_elsewhere(session)?;
        past.queue.retain(|item| !gone.contains(&item.id));
    }
    Ok(past)
}

/// Queued messages that were delivered or taken back, on whatever branch.
fn gone_elsewhere(session: &Session) -> Result<HashSet<String>, HarnessError> {
    let mut gone = HashSet::new();
    each_record(session, &mut |record| {
        if let Record::Dequeued { id } = record {
            gone.insert(id);
        }
        false
    })?;
    Ok(gone)
}

/// Whether the end of a turn stands on another branch: somebody walked back into the middle of it,
/// and nothing may be added to it any more.
fn ended_elsewhere(session: &Session, turn: &TurnId) -> Result<bool, HarnessError> {
    each_record(
        session,
        &mut |record| matches!(record, Record::Finished { turn: ended, .. } if ended == *turn),
    )
}

/// Shows every record of the file, the newest chunk first, until one was looked for.
fn each_record(
    session: &Session,
    found: &mut dyn FnMut(Record) -> bool,
) -> Result<bool, HarnessError> {
    /// Records read at once: what is looked for is most often near the end.
    const CHUNK: usize = 1000;
    let reader = session.reader();
    let is_record = |node: &Node| node.kind == Kind::Custom && *node.preview == *journal::TURN;
    let records: Vec<Position> = (0..)
        .zip(reader.index().iter())
        .filter(|(_, node)| is_record(node))
        .map(|(position, _)| position)
        .collect();
    for chunk in records.rchunks(CHUNK) {
        let entries = reader.entries(chunk).map_err(|error| session_error(&error))?;
        if entries.iter().filter_map(|entry| Record::of(entry)).any(&mut *found) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Asked for by name: that or an error. Else the session's own, else the default, said aloud.
fn choose_model(
    setup: &Setup,
    own: Option<&(String, String)>,
    notices: &mut Vec<String>,
) -> Result<Model, HarnessError> {
    if let Some(reference) = &setup.model {
        return (setup.models)(reference);
    }
    if let Some((provider, id)) = own {
        match (setup.models)(&format!("{provider}/{id}")) {
            Ok(model) => return Ok(model),
            Err(error) => notices.push(format!(
                "this session's model {provider}/{id} cannot be used ({error}); using {}",
                setup.default_model
            )),
        }
    }
    (setup.models)(&setup.default_model)
}

/// The sums of the whole branch, and the size of the context after the last counted answer.
pub(super) fn totals(branch: &[Arc<Entry>]) -> RunRecord {
    let mut record = RunRecord::default();
    for entry in branch {
        match &entry.body {
            Body::Message { message, .. } => {
                record.context_tokens += tokens::of_message(message);
                if let Message::Assistant(answer) = message {
                    record.totals.add(&answer.usage);
                    if answer.usage.context_tokens() > 0 {
                        record.context_tokens = answer.usage.context_tokens();
                    }
                }
            }
            Body::Compaction { summary, .. } => record.context_tokens = tokens::of_text(summary),
            _ => {}
        }
    }
    record
}

impl Driver {
    /// After a failed write: ends in the file what the write cut off, as soon as the disk allows it.
    pub(super) fn settle_cut_turn(&mut self) -> Result<(), HarnessError> {
        if !self.unsettled || self.machine.phase() != Phase::Idle {
            return Ok(());
        }
        let branch = self.session().branch().map_err(|error| session_error(&error))?;
        let past = past(&self.setup.session, &branch)?;
        if let Some(unfinished) = past.unfinished {
            self.settle(unfinished)?;
        }
        self.unsettled = false;
        Ok(())
    }

    fn settle(&mut self, unfinished: Unfinished) -> Result<(), HarnessError> {
        let now = self.now();
        let (turn, step) = (&unfinished.turn, unfinished.steps + 1);
        let cut = self.partial.read(turn, step).map(|content| AssistantMessage {
            content,
            api: self.model.provider.api().to_owned(),
            provider: self.model.spec.provider.clone(),
            model: self.model.spec.id.clone(),
            stop_reason: StopReason::Aborted,
            error_message: Some("the program ended before the answer was complete".into()),
            timestamp: now,
            ..AssistantMessage::default()
        });
        let bodies = unfinished.settle(cut, now);
        self.session().append(bodies, Flush::Sync).map_err(|error| session_error(&error))?;
        self.partial.clear();
        Ok(())
    }
}
