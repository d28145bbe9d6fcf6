//! Opening an engine: choose the model, settle what a crash left, then serve.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex};

use tokio::sync::{broadcast, mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::message::{AssistantMessage, StopReason, ThinkingLevel, TurnId};
use crate::session::journal::{Landmark, Record};
use crate::session::{Body, Flush, Position, Role, Session, Tail, TreeView};
use crate::tools::FileTracker;

use super::inbox::Inside;
use super::totals::totals;
use super::{Driver, INBOX};
use crate::harness::handle::Letter;
use crate::harness::partial::PartialFile;
use crate::harness::queue::Queue;
use crate::harness::recovery::{self, Past, Unfinished};
use crate::harness::setup::{Model, Setup};
use crate::harness::turn::{Limits, Machine};
use crate::harness::{ErrorCode, Handle, HarnessError, Phase};

/// Commands that may wait before a sender has to.
const MAILBOX: usize = 64;
/// Events a reader may lag behind before it loses the oldest and has to join again.
const EVENTS: usize = 4096;

/// The engine's ends of the channels of a [`Handle`].
struct Ends {
    letters: mpsc::Receiver<Letter>,
    tree: watch::Sender<TreeView>,
    opened: watch::Sender<Option<Result<(), HarnessError>>>,
}

fn channels(tail: Option<Tail>) -> (Handle, Ends) {
    let (letters, mailbox) = mpsc::channel(MAILBOX);
    let (events, _) = broadcast::channel(EVENTS);
    let (publish, tree) = watch::channel(TreeView::default());
    let (tell, opened) = watch::channel(None);
    let handle = Handle { letters, events, tree, opened, tail: Arc::new(Mutex::new(tail)) };
    (handle, Ends { letters: mailbox, tree: publish, opened: tell })
}

/// Starts the engine of a session in a task of its own.
///
/// # Errors
/// When no model can be used, or the session cannot be read.
pub fn spawn(setup: Setup) -> Result<Handle, HarnessError> {
    let (handle, ends) = channels(None);
    let (driver, reports) = begin(setup, &handle, ends.tree)?;
    ends.opened.send_replace(Some(Ok(())));
    tokio::spawn(driver.serve(ends.letters, reports));
    Ok(handle)
}

/// Starts the engine of a session that is still being opened. Commands wait until it is; when it
/// cannot be opened, [`Handle::opened`] says why and the engine is closed.
pub fn spawn_after(
    tail: Option<Tail>,
    setup: impl Future<Output = Result<Setup, HarnessError>> + Send + 'static,
) -> Handle {
    let (handle, ends) = channels(tail);
    let engine = handle.clone();
    tokio::spawn(async move {
        match setup.await.and_then(|setup| begin(setup, &engine, ends.tree)) {
            Ok((driver, reports)) => {
                ends.opened.send_replace(Some(Ok(())));
                // The engine ends when nobody holds a handle any more.
                drop(engine);
                driver.serve(ends.letters, reports).await;
            }
            Err(error) => {
                ends.opened.send_replace(Some(Err(error)));
            }
        }
    });
    handle
}

/// Everything that is done before the first command.
fn begin(
    mut setup: Setup,
    handle: &Handle,
    tree: watch::Sender<TreeView>,
) -> Result<(Driver, mpsc::Receiver<Inside>), HarnessError> {
    let mut notices = std::mem::take(&mut setup.notices);
    let settings = setup.session.settings().map_err(|error| session_error(&error))?;
    let model = choose_model(&setup, settings.model.as_ref(), &mut notices)?;
    let thinking = setup.thinking.or(settings.thinking_level).unwrap_or(ThinkingLevel::Off);
    let mut past = past(&setup.session)?;
    end_delivery(&mut setup.session, &mut past)?;
    let specs = setup.tools.iter().map(|tool| tool.spec()).collect();
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
        record: totals(&setup.session.tree()),
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
    Ok((driver, reports))
}

fn session_error(error: &crate::session::SessionError) -> HarnessError {
    HarnessError::new(ErrorCode::Session, error.to_string())
}

/// What the file says about the past. Only what can matter is read: what waits, and the last turn of
/// the path when it has no end. A turn that ended on another branch is not unfinished.
fn past(session: &Session) -> Result<Past, HarnessError> {
    let tree = session.tree();
    let path = tree.index().path(tree.leaf);
    let on_path = |position: &Position| path.binary_search(position).is_ok();
    let landmarks = session.landmarks();
    let starts = |(position, landmark): &&(Position, Landmark)| {
        *landmark == Landmark::Started && on_path(position)
    };
    let start = landmarks.iter().rfind(starts).map_or(Position::MAX, |(position, _)| *position);
    // What waits belongs to no branch: a message that was typed on one is not lost by going to another.
    let is_queue = |landmark: &Landmark| matches!(landmark, Landmark::Queued | Landmark::Dequeued);
    let matters = |(position, landmark): &&(Position, Landmark)| {
        is_queue(landmark) || (*position >= start && on_path(position))
    };
    let mut wanted: Vec<Position> =
        landmarks.iter().filter(matters).map(|(position, _)| *position).collect();
    let fold = |wanted: &[Position]| {
        let entries = tree.reader.entries(wanted).map_err(|error| session_error(&error))?;
        Ok(recovery::fold(&entries, session.id()))
    };
    let mut past: Past = fold(&wanted)?;
    if past.unfinished.is_some() {
        wanted.extend(path.iter().filter(|position| **position >= start));
        wanted.sort_unstable();
        wanted.dedup();
        past = fold(&wanted)?;
    }
    if let Some(open) = &past.unfinished
        && ended_elsewhere(session, &open.turn)?
    {
        past.unfinished = None;
    }
    Ok(past)
}

/// A crash may cut off the record of a delivery, which stands behind the message in the same write.
/// Then the message is the last thing in the file, and it must not be delivered again.
fn end_delivery(session: &mut Session, past: &mut Past) -> Result<(), HarnessError> {
    let index = session.index();
    let last = index.len().checked_sub(1).and_then(|at| Position::try_from(at).ok());
    let is_asked = |at: &Position| index.node(*at).is_some_and(|it| it.role == Some(Role::User));
    let Some(last) = last.filter(is_asked).filter(|_| !past.queue.is_empty()) else {
        return Ok(());
    };
    let entries = session.reader().entries(&[last]).map_err(|error| session_error(&error))?;
    let Some(Body::Message { message, .. }) = entries.first().map(|entry| &entry.body) else {
        return Ok(());
    };
    let Some(at) = past.queue.iter().position(|item| item.message == *message) else {
        return Ok(());
    };
    let id = past.queue.remove(at).id;
    if session.holder().is_none() {
        // On a full disk the message stays the last thing, and the next opening looks again.
        let _ = session.append(vec![Record::Dequeued { id }.body()], Flush::Sync);
    }
    Ok(())
}

/// Whether the end of a turn stands on another branch: somebody walked back into the middle of it,
/// and nothing may be added to it any more.
fn ended_elsewhere(session: &Session, turn: &TurnId) -> Result<bool, HarnessError> {
    each_record(
        session,
        Landmark::Finished,
        &mut |record| matches!(record, Record::Finished { turn: ended, .. } if ended == *turn),
    )
}

/// Shows every record of that kind in the file, the newest chunk first, until one was looked for.
fn each_record(
    session: &Session,
    kind: Landmark,
    found: &mut dyn FnMut(Record) -> bool,
) -> Result<bool, HarnessError> {
    /// Records read at once: what is looked for is most often near the end.
    const CHUNK: usize = 1000;
    let reader = session.reader();
    let ends = session.landmarks().iter().filter(|(_, landmark)| *landmark == kind);
    let ends: Vec<Position> = ends.map(|(position, _)| *position).collect();
    for chunk in ends.rchunks(CHUNK) {
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

impl Driver {
    /// After a failed write: ends in the file what the write cut off, as soon as the disk allows it.
    pub(super) fn settle_cut_turn(&mut self) -> Result<(), HarnessError> {
        if !self.unsettled || self.machine.phase() != Phase::Idle {
            return Ok(());
        }
        let past = past(&self.setup.session)?;
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
