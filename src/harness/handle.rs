//! The handle on an engine: cheap to clone, the only thing front ends hold.
//!
//! It talks to the actor through a bounded channel. Events go out through a bounded broadcast: a
//! reader that is too slow loses the oldest ones, is told so, and joins again from a snapshot, so
//! nothing ever waits for a slow screen.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use tokio::sync::{broadcast, mpsc, oneshot, watch};

use super::{Command, ErrorCode, Event, HarnessError, Reply, Snapshot};
use crate::session::{Tail, TreeView};

/// What the actor's mailbox holds.
#[derive(Debug)]
pub(super) enum Letter {
    Command(Command, oneshot::Sender<Result<Reply, HarnessError>>),
    Snapshot(oneshot::Sender<Snapshot>),
    /// Answered when no turn runs.
    WaitForIdle(oneshot::Sender<()>),
    /// Stops what runs, finishes it on disk, ends the actor.
    Close(oneshot::Sender<()>),
}

/// A running engine. Clones are the same engine.
#[derive(Debug, Clone)]
pub struct Handle {
    pub(super) letters: mpsc::Sender<Letter>,
    pub(super) events: broadcast::Sender<Arc<Event>>,
    pub(super) tree: watch::Receiver<TreeView>,
    /// How opening ended; `None` while it goes on.
    pub(super) opened: watch::Receiver<Option<Result<(), HarnessError>>>,
    pub(super) tail: Arc<Mutex<Option<Tail>>>,
}

/// A reader of events.
#[derive(Debug)]
pub struct Subscription {
    events: broadcast::Receiver<Arc<Event>>,
}

/// What a [`Subscription`] gives.
#[derive(Debug, Clone)]
pub enum Update {
    Event(Arc<Event>),
    /// This many events were lost; take a new [`Handle::snapshot`].
    Missed(u64),
}

/// Which session to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    New,
    /// The one of this folder that was used last.
    Recent,
    Path(PathBuf),
}

/// Opens engines for a front end that changes sessions.
pub type Open =
    Arc<dyn Fn(Which) -> BoxFuture<'static, Result<Handle, HarnessError>> + Send + Sync>;

impl Handle {
    /// Asks for something and waits for the answer.
    ///
    /// # Errors
    /// What the engine refuses, or `invalid_state` when it is closed.
    pub async fn send(&self, command: Command) -> Result<Reply, HarnessError> {
        let (tx, rx) = oneshot::channel();
        self.letters.send(Letter::Command(command, tx)).await.map_err(|_closed| closed())?;
        rx.await.map_err(|_dropped| closed())?
    }

    /// The state now. Subscribe first, then take the snapshot: events that are already in it can be
    /// recognised by their entry ids.
    ///
    /// # Errors
    /// `invalid_state` when the engine is closed.
    pub async fn snapshot(&self) -> Result<Snapshot, HarnessError> {
        let (tx, rx) = oneshot::channel();
        self.letters.send(Letter::Snapshot(tx)).await.map_err(|_closed| closed())?;
        rx.await.map_err(|_dropped| closed())
    }

    /// The tree as it is now. Never waits for the engine, and costs one pointer per 512 entries; an
    /// event that speaks of an entry is sent after the entry is in here.
    pub fn tree(&self) -> TreeView {
        self.tree.borrow().clone()
    }

    /// The end of a session that is still being opened, to be shown meanwhile; given once. Commands
    /// may be sent already and are done when it is open.
    pub fn take_tail(&self) -> Option<Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether opening has ended well.
    pub fn is_open(&self) -> bool {
        matches!(*self.opened.borrow(), Some(Ok(())))
    }

    /// Returns when the session is open.
    ///
    /// # Errors
    /// Why it could not be opened.
    pub async fn opened(&self) -> Result<(), HarnessError> {
        let mut opened = self.opened.clone();
        match opened.wait_for(Option::is_some).await {
            Ok(opened) => opened.clone().unwrap_or(Ok(())),
            Err(_gone) => Err(closed()),
        }
    }

    /// Follows the engine from now on.
    pub fn subscribe(&self) -> Subscription {
        Subscription { events: self.events.subscribe() }
    }

    /// Tells every reader something that is no part of the conversation.
    pub fn tell(&self, text: impl Into<String>) {
        // Nobody listening is no error.
        let _ = self.events.send(Arc::new(Event::Notice { text: text.into() }));
    }

    /// Returns when no turn runs. Also returns when the engine is closed.
    pub async fn wait_for_idle(&self) {
        let (tx, rx) = oneshot::channel();
        if self.letters.send(Letter::WaitForIdle(tx)).await.is_ok() {
            let _ = rx.await;
        }
    }

    /// Stops a running turn, writes its end, releases the session's lock and ends the engine.
    pub async fn close(&self) {
        let (tx, rx) = oneshot::channel();
        if self.letters.send(Letter::Close(tx)).await.is_ok() {
            let _ = rx.await;
        }
    }
}

impl Subscription {
    /// The next event; `None` when the engine is closed.
    pub async fn next(&mut self) -> Option<Update> {
        match self.events.recv().await {
            Ok(event) => Some(Update::Event(event)),
            Err(broadcast::error::RecvError::Lagged(missed)) => Some(Update::Missed(missed)),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }

    /// An event that has already arrived.
    pub fn try_next(&mut self) -> Option<Update> {
        match self.events.try_recv() {
            Ok(event) => Some(Update::Event(event)),
            Err(broadcast::error::TryRecvError::Lagged(missed)) => Some(Update::Missed(missed)),
            Err(broadcast::error::TryRecvError::Empty | broadcast::error::TryRecvError::Closed) => {
                None
            }
        }
    }
}

fn closed() -> HarnessError {
    HarnessError::new(ErrorCode::InvalidState, "the session is closed")
}
