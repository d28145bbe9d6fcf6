//! Work that blocks, done beside the runtime and left alone when it is cancelled.

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::message::ToolOutcome;

/// Runs `work` on a blocking thread. A cancel answers at once; the work sees the same token and
/// stops at its next look, or when the kernel lets it.
pub(crate) fn offload(
    cancel: CancellationToken,
    work: impl FnOnce(&CancellationToken) -> Result<ToolOutcome, String> + Send + 'static,
) -> BoxFuture<'static, ToolOutcome> {
    Box::pin(async move {
        let token = cancel.clone();
        let job = tokio::task::spawn_blocking(move || work(&token));
        tokio::select! {
            biased;
            () = cancel.cancelled() => ToolOutcome::error("aborted"),
            done = job => match done {
                Ok(result) => result.unwrap_or_else(ToolOutcome::error),
                Err(error) => ToolOutcome::error(format!("the tool broke off: {error}")),
            },
        }
    })
}
