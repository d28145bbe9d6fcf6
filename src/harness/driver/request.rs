//! Asking the model: the request is a repaired view of the session, sent from a task of its own.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::StreamExt;
use tokio_util::sync::CancellationToken;

use crate::providers::{ErrorKind, ProviderError, Request, StreamEvent};
use crate::session::request_view;

use super::Driver;
use super::inbox::{Inside, coalesce};
use crate::harness::event::millis;
use crate::harness::turn::Input;
use crate::harness::{ErrorCode, Event, Failure, HarnessError, Waiting};

/// Stream events taken together when they have piled up.
const CHUNK: usize = 64;

impl Driver {
    pub(super) fn request(&mut self, request: u64) -> Result<(), HarnessError> {
        let context = self
            .session()
            .context()
            .map_err(|error| HarnessError::new(ErrorCode::Session, error.to_string()))?;
        let tools = self.specs.clone();
        let spec = self.model.spec.clone();
        let body = Request {
            system: self.system_prompt(),
            messages: request_view(&context),
            tools,
            thinking: self.thinking,
            session_id: self.session().id().to_string(),
            timeouts: self.setup.timeouts,
            model: spec,
        };
        self.emit(Event::RequestWaiting {
            waiting: Waiting::Response,
            model: self.model.spec.reference(),
        });
        let cancel = CancellationToken::new();
        self.stream = Some(cancel.clone());
        let stream = self.model.provider.stream(body, cancel.clone());
        let inbox = self.inbox.clone();
        tokio::spawn(async move {
            // A stream that panics or ends without a last word must not leave the turn waiting.
            let caught = AssertUnwindSafe(stream).catch_unwind();
            let caught = caught.map(|event| event.unwrap_or_else(|_panic| broken("failed inside")));
            let last =
                futures_util::stream::once(std::future::ready(broken("ended without an end")));
            let mut chunks = caught.chain(last).ready_chunks(CHUNK);
            loop {
                let events = tokio::select! {
                    biased;
                    () = cancel.cancelled() => return,
                    chunk = chunks.next() => match chunk {
                        Some(events) => coalesce(events),
                        None => return,
                    },
                };
                for event in events {
                    let last = matches!(event, StreamEvent::Finished(_) | StreamEvent::Failed(_));
                    if inbox.send(Inside::Stream(request, event)).await.is_err() || last {
                        return;
                    }
                }
            }
        });
        Ok(())
    }

    /// Waits before the next attempt, visibly.
    pub(super) fn wait(
        &mut self,
        request: u64,
        attempt: u32,
        retry_after: Option<Duration>,
        failure: Failure,
    ) {
        let delay = self.setup.retry.delay(attempt, retry_after, fastrand::f64());
        self.emit(Event::RetryScheduled {
            attempt,
            max_attempts: self.setup.retry.max_retries,
            delay_ms: millis(delay),
            error: failure,
        });
        let cancel = CancellationToken::new();
        self.timer = Some(cancel.clone());
        let inbox = self.inbox.clone();
        tokio::spawn(async move {
            tokio::select! {
                () = cancel.cancelled() => {}
                () = tokio::time::sleep(delay) => {
                    let _ = inbox.send(Inside::Input(Input::RetryDue { request })).await;
                }
            }
        });
    }
}

/// The end of a stream that did not give one.
fn broken(how: &str) -> StreamEvent {
    StreamEvent::Failed(ProviderError {
        kind: ErrorKind::Transient,
        message: format!("bug: the stream of the answer {how}"),
        status: None,
        retry_after: None,
    })
}
