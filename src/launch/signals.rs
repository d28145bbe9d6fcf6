//! The signals that end a headless run, and the exit code of each.

use tokio::signal::unix::{SignalKind, signal};

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
