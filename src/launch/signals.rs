//! The signals that end a headless run, and the exit code of each.

use std::time::Duration;

use harness_tui::harness::Handle;
use tokio::signal::unix::{SignalKind, signal};

/// How long closing the session may take: a tool has its grace to kill its processes.
const CLOSING: Duration = Duration::from_secs(7);
/// How long the run may take to end by itself once its session is closed.
const LEAVING: Duration = Duration::from_secs(1);

/// Ends the program at a signal when the run does not: writing to a pipe that nobody reads waits for
/// ever, and nothing else happens in that thread meanwhile.
pub(super) async fn watch_over(handle: Handle) {
    let code = ended().await;
    let _ = tokio::time::timeout(CLOSING, handle.close()).await;
    tokio::time::sleep(LEAVING).await;
    std::process::exit(i32::from(code));
}

/// Waits for one of them: SIGINT 130, SIGTERM 143, SIGHUP 129.
pub(super) async fn ended() -> u8 {
    let wait = |kind: SignalKind, code: u8| async move {
        match signal(kind) {
            Ok(mut stream) => {
                stream.recv().await;
            }
            Err(_) => std::future::pending::<()>().await,
        }
        code
    };
    tokio::select! {
        code = wait(SignalKind::interrupt(), 130) => code,
        code = wait(SignalKind::terminate(), 143) => code,
        code = wait(SignalKind::hangup(), 129) => code,
    }
}
