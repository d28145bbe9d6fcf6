//! Signals: the ones that end the program, the one that brings it back, and a watch over the end.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::harness::Handle;
use crate::ui::terminal::give_back;

/// How long the loop may take to end after a signal: it only has to leave and close the session.
const PATIENCE: Duration = Duration::from_millis(1_200);

/// The signals that end the program or bring it back.
#[derive(Debug)]
pub(super) struct Signals {
    terminate: Signal,
    hang_up: Signal,
    interrupt: Signal,
    resume: Signal,
    /// The exit code, once one is known.
    pub(super) code: Option<i32>,
}

impl Signals {
    /// # Errors
    /// When the system refuses a handler.
    pub(super) fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            resume: signal(SignalKind::from_raw(nix::sys::signal::Signal::SIGCONT as i32))?,
            code: None,
        })
    }

    /// An exit code, or `None` when the program was stopped and goes on.
    pub(super) async fn next(&mut self) -> Option<i32> {
        tokio::select! {
            _ = self.terminate.recv() => Some(143),
            _ = self.hang_up.recv() => Some(129),
            _ = self.interrupt.recv() => Some(130),
            _ = self.resume.recv() => None,
        }
    }
}

/// Ends the program when the loop does not. Reading from a terminal that is gone can hang inside the
/// input library; the session is closed all the same, and no process is left behind.
pub(super) async fn watch_over(mut signals: Signals, handle: Handle) {
    let code = loop {
        if let Some(code) = signals.next().await {
            break code;
        }
    };
    tokio::time::sleep(PATIENCE).await;
    let _ = tokio::time::timeout(PATIENCE, handle.close()).await;
    give_back();
    std::process::exit(code);
}
