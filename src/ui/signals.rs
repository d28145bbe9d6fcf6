//! Signals: the ones that end the program, the one that brings it back, and a watch over the end.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::harness::Handle;
use crate::ui::terminal::give_back;

/// How long the loop may take to end after a signal: it only has to leave and close the session.
const PATIENCE: Duration = Duration::from_millis(1_200);

/// What a signal says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// Leave with this exit code.
    End(i32),
    /// Somebody asks the program to stop, as a shell does; the terminal has to be given back first.
    Stop,
    /// The program was stopped and goes on.
    Resumed,
    /// The terminal may have another size. The input library loses this signal when a key arrives in
    /// the same moment, so it is heard here too.
    Resized,
}

/// The signals that end the program, bring it back, or speak of the terminal.
#[derive(Debug)]
pub(super) struct Signals {
    terminate: Signal,
    hang_up: Signal,
    interrupt: Signal,
    stop: Signal,
    resume: Signal,
    resize: Signal,
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
            stop: signal(SignalKind::from_raw(nix::sys::signal::Signal::SIGTSTP as i32))?,
            resume: signal(SignalKind::from_raw(nix::sys::signal::Signal::SIGCONT as i32))?,
            resize: signal(SignalKind::window_change())?,
            code: None,
        })
    }

    /// The next signal.
    pub(super) async fn next(&mut self) -> Told {
        tokio::select! {
            _ = self.terminate.recv() => Told::End(143),
            _ = self.hang_up.recv() => Told::End(129),
            _ = self.interrupt.recv() => Told::End(130),
            _ = self.stop.recv() => Told::Stop,
            _ = self.resume.recv() => Told::Resumed,
            _ = self.resize.recv() => Told::Resized,
        }
    }
}

/// Ends the program when the loop does not. Reading from a terminal that is gone can hang inside the
/// input library; the session that is open then is closed all the same, and no process is left behind.
pub(super) async fn watch_over(mut signals: Signals, current: watch::Receiver<Handle>) {
    let code = loop {
        if let Told::End(code) = signals.next().await {
            break code;
        }
    };
    tokio::time::sleep(PATIENCE).await;
    let handle = current.borrow().clone();
    let _ = tokio::time::timeout(PATIENCE, handle.close()).await;
    give_back();
    std::process::exit(code);
}
