//! Plays a prepared answer in the runtime's time, for the models that are no server.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::stream::{BoxStream, StreamExt, unfold};
use tokio_util::sync::CancellationToken;

use crate::providers::{ErrorKind, ProviderError, StreamEvent};

/// One thing that happens.
#[derive(Debug)]
pub(super) enum Beat {
    Wait(Duration),
    Emit(StreamEvent),
}

/// The events of the beats. Cancelling ends the stream at once with a failure.
pub(super) fn play(beats: Vec<Beat>, cancel: CancellationToken) -> BoxStream<'static, StreamEvent> {
    let start = (VecDeque::from(beats), cancel);
    unfold(start, |(mut beats, cancel)| async move {
        loop {
            let beat = beats.pop_front()?;
            if cancel.is_cancelled() {
                return Some((cancelled(), (VecDeque::new(), cancel)));
            }
            match beat {
                Beat::Emit(event) => return Some((event, (beats, cancel))),
                Beat::Wait(time) if time.is_zero() => {}
                Beat::Wait(time) => tokio::select! {
                    biased;
                    () = cancel.cancelled() => {
                        return Some((cancelled(), (VecDeque::new(), cancel)));
                    }
                    () = tokio::time::sleep(time) => {}
                },
            }
        }
    })
    .boxed()
}

fn cancelled() -> StreamEvent {
    StreamEvent::Failed(ProviderError {
        kind: ErrorKind::Permanent,
        message: "cancelled".into(),
        status: None,
        retry_after: None,
    })
}

/// The text in pieces of `size` characters, the last one shorter. `size` is at least 1.
pub(super) fn pieces(text: &str, size: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.char_indices().nth(size.max(1)).map_or(rest.len(), |(at, _)| at);
        let (piece, left) = rest.split_at(end);
        rest = left;
        Some(piece)
    })
}
