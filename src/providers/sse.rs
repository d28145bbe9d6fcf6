//! Server-sent events from a byte stream, with the bounds and timers the decoder does not have.
//!
//! The timers see bytes and the caller sees data events, so comments and pings keep a connection
//! alive without ever looking like an answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{BoxStream, StreamExt, unfold};
use sse_stream::SseByteStream;
use tokio::time::Instant;

/// One event may hold a whole file as tool arguments, but no more.
const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;
/// A whole answer; far above any output limit, low enough to keep the process alive.
const MAX_ANSWER_BYTES: usize = 128 * 1024 * 1024;

/// A data event. Never a ping, never without data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) name: Option<String>,
    pub(super) data: String,
}

/// Why a stream of events stopped before its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    #[error("no answer within {} s", .0.as_secs_f64())]
    FirstByte(Duration),
    #[error("the answer stopped: nothing came for {} s", .0.as_secs_f64())]
    Idle(Duration),
    #[error("the connection broke: {0}")]
    Broken(String),
    #[error("the stream is not UTF-8 text")]
    Encoding,
    #[error("one event is larger than {} MiB", MAX_EVENT_BYTES >> 20)]
    EventTooLarge,
    #[error("the answer is larger than {} MiB", MAX_ANSWER_BYTES >> 20)]
    AnswerTooLarge,
}

/// What the reader of bytes and the reader of events share.
#[derive(Debug, Default)]
struct Progress {
    /// The first data event came: the idle timer takes over from the first-byte timer.
    started: AtomicBool,
    since_event: AtomicUsize,
}

/// The events of one response.
pub(super) struct Events {
    inner: BoxStream<'static, Result<sse_stream::Sse, sse_stream::Error>>,
    progress: Arc<Progress>,
    first_byte: Duration,
    deadline: Instant,
}

impl Events {
    /// `deadline` is when the first data event must have come, `first_byte` after the request was
    /// sent. From then on `idle` may pass between any two pieces of data, comments included.
    pub(super) fn new(
        bytes: BoxStream<'static, Result<Bytes, String>>,
        deadline: Instant,
        first_byte: Duration,
        idle: Duration,
    ) -> Self {
        let progress = Arc::new(Progress::default());
        let bytes = guarded(bytes, Arc::clone(&progress), idle);
        Self { inner: SseByteStream::new(bytes).boxed(), progress, first_byte, deadline }
    }

    /// The next data event; `None` at the end of the stream.
    pub(super) async fn next(&mut self) -> Option<Result<Event, Fault>> {
        if self.progress.started.load(Ordering::Relaxed) {
            return self.next_data().await;
        }
        match tokio::time::timeout_at(self.deadline, self.next_data()).await {
            Ok(event) => event,
            Err(_elapsed) => Some(Err(Fault::FirstByte(self.first_byte))),
        }
    }

    async fn next_data(&mut self) -> Option<Result<Event, Fault>> {
        loop {
            let block = match self.inner.next().await? {
                Ok(block) => block,
                Err(error) => return Some(Err(fault_of(error))),
            };
            self.progress.since_event.store(0, Ordering::Relaxed);
            let is_ping = block.event.as_deref() == Some("ping");
            let is_error = block.event.as_deref() == Some("error");
            let data = block.data.unwrap_or_default();
            if is_ping || (data.trim().is_empty() && !is_error) {
                continue;
            }
            self.progress.started.store(true, Ordering::Relaxed);
            return Some(Ok(Event { name: block.event, data }));
        }
    }
}

fn fault_of(error: sse_stream::Error) -> Fault {
    match error {
        sse_stream::Error::Body(body) => match body.downcast::<Fault>() {
            Ok(fault) => *fault,
            Err(other) => Fault::Broken(other.to_string()),
        },
        sse_stream::Error::Utf8Parse(_) => Fault::Encoding,
        other => Fault::Broken(other.to_string()),
    }
}

/// The bytes with the bounds and the idle timer; ended by a blank line, because some servers leave
/// the last event without one and the decoder would drop it.
fn guarded(
    bytes: BoxStream<'static, Result<Bytes, String>>,
    progress: Arc<Progress>,
    idle: Duration,
) -> BoxStream<'static, Result<Bytes, Fault>> {
    let start = (Some(bytes), 0_usize);
    unfold(start, move |(bytes, mut total)| {
        let progress = Arc::clone(&progress);
        async move {
            let mut bytes = bytes?;
            let item = next_bytes(&mut bytes, &progress, idle).await;
            let chunk = match item {
                None => return Some((Ok(Bytes::from_static(b"\n\n")), (None, total))),
                Some(Err(fault)) => return Some((Err(fault), (None, total))),
                Some(Ok(chunk)) => chunk,
            };
            total = total.saturating_add(chunk.len());
            let event = progress.since_event.fetch_add(chunk.len(), Ordering::Relaxed);
            if event.saturating_add(chunk.len()) > MAX_EVENT_BYTES {
                return Some((Err(Fault::EventTooLarge), (None, total)));
            }
            if total > MAX_ANSWER_BYTES {
                return Some((Err(Fault::AnswerTooLarge), (None, total)));
            }
            Some((Ok(chunk), (Some(bytes), total)))
        }
    })
    .boxed()
}

async fn next_bytes(
    bytes: &mut BoxStream<'static, Result<Bytes, String>>,
    progress: &Progress,
    idle: Duration,
) -> Option<Result<Bytes, Fault>> {
    if !progress.started.load(Ordering::Relaxed) {
        return bytes.next().await.map(|item| item.map_err(Fault::Broken));
    }
    match tokio::time::timeout(idle, bytes.next()).await {
        Ok(item) => item.map(|item| item.map_err(Fault::Broken)),
        Err(_elapsed) => Some(Err(Fault::Idle(idle))),
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Chunks with the pause before each.
    fn events(chunks: Vec<(u64, &'static str)>, then: Option<u64>) -> Events {
        let paced = stream::iter(chunks).then(|(pause, text)| async move {
            tokio::time::sleep(SECOND * u32::try_from(pause).unwrap()).await;
            Ok(Bytes::from_static(text.as_bytes()))
        });
        let tail = stream::iter(then).then(|pause| async move {
            tokio::time::sleep(SECOND * u32::try_from(pause).unwrap()).await;
            Ok(Bytes::new())
        });
        let deadline = Instant::now() + SECOND * 30;
        Events::new(paced.chain(tail).boxed(), deadline, SECOND * 30, SECOND * 3)
    }

    async fn all(mut events: Events) -> Vec<Result<String, Fault>> {
        let mut out = Vec::new();
        while let Some(event) = events.next().await {
            out.push(event.map(|event| event.data));
        }
        out
    }

    #[tokio::test(start_paused = true)]
    async fn keep_alives_of_every_kind_are_no_events_and_keep_the_stream_alive() {
        let pings = [":\n\n", ": ping\n\n", "data:\n\n", "event: ping\ndata: {}\n\n", "id: 7\n\n"];
        let mut chunks = vec![(0, "data: a\n\n")];
        chunks.extend((0..20).map(|n| (2, pings[n % pings.len()])));
        chunks.push((2, "data: b\n\n"));
        assert_eq!(all(events(chunks, None)).await, [Ok("a".into()), Ok("b".into())]);
    }

    #[tokio::test(start_paused = true)]
    async fn keep_alives_do_not_put_off_the_first_answer() {
        let chunks = (0..40).map(|_| (1, ": ping\n\n")).collect();
        let got = events(chunks, None).next().await;
        assert_eq!(got, Some(Err(Fault::FirstByte(SECOND * 30))));
    }

    #[tokio::test(start_paused = true)]
    async fn silence_after_the_first_event_is_an_idle_fault() {
        let got = all(events(vec![(29, "data: a\n\n")], Some(4))).await;
        assert_eq!(got, [Ok("a".into()), Err(Fault::Idle(SECOND * 3))]);
        let got = all(events(vec![(0, "data: a\n\n")], Some(2))).await;
        assert_eq!(got, [Ok("a".into())]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_last_event_without_a_blank_line_counts() {
        assert_eq!(all(events(vec![(0, "data: a")], None)).await, [Ok("a".into())]);
    }

    #[tokio::test(start_paused = true)]
    async fn one_endless_event_is_cut_off() {
        let flood = stream::repeat_with(|| Ok(Bytes::from_static(&[b'x'; 1 << 20]))).boxed();
        let mut events = Events::new(flood, Instant::now() + SECOND, SECOND, SECOND);
        assert_eq!(events.next().await, Some(Err(Fault::EventTooLarge)));
    }

    #[tokio::test(start_paused = true)]
    async fn bytes_that_are_no_text_are_a_fault_and_never_replaced() {
        let bytes = vec![Ok(Bytes::from_static(b"data: \xff\n\n"))];
        let mut events =
            Events::new(stream::iter(bytes).boxed(), Instant::now() + SECOND, SECOND, SECOND);
        assert_eq!(events.next().await, Some(Err(Fault::Encoding)));
    }
}
