//! Asking a model for a summary: one request after the other, each bounded to fit, each checked.
//!
//! What comes back is a whole summary or a failure, never half of one. Requests are sequential,
//! because a small local server serves one at a time.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt};
use tokio_util::sync::CancellationToken;

use super::chunks::{chunks, shorten, worst_tokens};
use super::prompt::{self, Focus, Kind};
use crate::harness::event::millis;
use crate::harness::{Event, Failure};
use crate::message::{
    AssistantMessage, Message, SessionId, StopReason, ThinkingLevel, Usage, plain_text,
};
use crate::providers::{
    ErrorKind, ModelSpec, Provider, ProviderError, Request, RetryPolicy, StreamEvent, Timeouts,
};

/// Taken for the window of a model of which nobody knows it: small enough for most.
const SAFE_WINDOW: u64 = 16_384;
/// Tokens of a piece below which a summary makes no sense; a smaller window is a mistake in the
/// catalogue, and the server may say so.
const MIN_PIECE: u64 = 500;
/// How often a piece is made half as large after a server still found it too large.
const HALVINGS: u32 = 3;
/// What a previous summary may take of a piece's room, and at most: no good one is longer.
const PREVIOUS_SHARE: u64 = 2;
const MAX_PREVIOUS: u64 = 8_000;

/// Tells readers of a part or a retry.
pub(in crate::harness) type Tell = Arc<dyn Fn(Event) -> BoxFuture<'static, ()> + Send + Sync>;

/// Who is asked, and how.
#[derive(Clone)]
pub(in crate::harness) struct Asker {
    pub(in crate::harness) provider: Arc<dyn Provider>,
    pub(in crate::harness) spec: ModelSpec,
    pub(in crate::harness) thinking: ThinkingLevel,
    pub(in crate::harness) timeouts: Timeouts,
    pub(in crate::harness) retry: RetryPolicy,
    /// Tokens kept free for the answer.
    pub(in crate::harness) reserve: u64,
    pub(in crate::harness) tell: Tell,
}

/// What is to be summarised.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::harness) struct Task {
    pub(in crate::harness) kind: Kind,
    /// The conversation, one block a message.
    pub(in crate::harness) blocks: Vec<String>,
    pub(in crate::harness) previous: Option<String>,
    pub(in crate::harness) focus: Focus,
}

/// A summary and what it cost.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::harness) struct Written {
    pub(in crate::harness) text: String,
    pub(in crate::harness) usage: Usage,
}

/// Why there is no summary.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::harness) enum Trouble {
    Aborted,
    Provider(ProviderError),
    /// The answer cannot be used; says why.
    Unusable(&'static str),
}

impl Asker {
    /// Writes the summaries of several tasks, one after the other.
    ///
    /// # Errors
    /// The first [`Trouble`]; nothing is left behind then.
    pub(in crate::harness) async fn write_all(
        &self,
        tasks: Vec<Task>,
        cancel: &CancellationToken,
    ) -> Result<Vec<Written>, Trouble> {
        // Whatever breaks in here, somebody waits for an end.
        let caught = AssertUnwindSafe(self.write_each(tasks, cancel)).catch_unwind();
        match cancel.run_until_cancelled(caught).await {
            None => Err(Trouble::Aborted),
            Some(Ok(ended)) => ended,
            Some(Err(_panic)) => Err(Trouble::Provider(broken("failed inside"))),
        }
    }

    async fn write_each(
        &self,
        tasks: Vec<Task>,
        cancel: &CancellationToken,
    ) -> Result<Vec<Written>, Trouble> {
        let mut all = Vec::with_capacity(tasks.len());
        for task in tasks {
            all.push(self.write(task, cancel).await?);
        }
        Ok(all)
    }

    async fn write(&self, task: Task, cancel: &CancellationToken) -> Result<Written, Trouble> {
        let mut written = Written::default();
        let mut last = None;
        for halvings in 0..=HALVINGS {
            match self.write_in(&task, self.room() >> halvings, cancel, &mut written.usage).await {
                Err(Trouble::Provider(error)) if error.kind == ErrorKind::Overflow => {
                    last = Some(error);
                }
                Ok(text) => return Ok(Written { text, ..written }),
                Err(trouble) => return Err(trouble),
            }
        }
        Err(last.map_or(Trouble::Unusable("it was never asked for"), Trouble::Provider))
    }

    /// Tokens of a request that are free for the conversation and a previous summary.
    fn room(&self) -> u64 {
        let window = match self.spec.context_window {
            0 => SAFE_WINDOW,
            window => window,
        };
        // Some servers count the longest possible answer to the request.
        let answer = self.reserve.max(self.spec.max_output).min(window / 2);
        window.saturating_sub(answer)
    }

    async fn write_in(
        &self,
        task: &Task,
        room: u64,
        cancel: &CancellationToken,
        usage: &mut Usage,
    ) -> Result<String, Trouble> {
        let words = prompt::request(task.kind, "", Some(""), &task.focus);
        let fixed = worst_tokens(prompt::SYSTEM) + worst_tokens(&words);
        let free = room.saturating_sub(fixed).max(MIN_PIECE);
        let for_previous = (free / PREVIOUS_SHARE).min(MAX_PREVIOUS);
        // Only when a summary is handed on does it take room.
        let whole = chunks(&task.blocks, free);
        let pieces = match (&task.previous, whole.len()) {
            (None, 0 | 1) => whole,
            _ => chunks(&task.blocks, free - for_previous),
        };
        let mut previous = task.previous.clone();
        let parts = u32::try_from(pieces.len()).unwrap_or(u32::MAX);
        for (part, piece) in (1..).zip(pieces) {
            if parts > 1 {
                (self.tell)(Event::SummaryProgress { part, parts }).await;
            }
            let before = previous.as_deref().map(|text| shorten(text, usize::MAX, for_previous));
            let text = prompt::request(task.kind, &piece, before.as_deref(), &task.focus);
            let answer = self.ask(text, cancel).await?;
            usage.add(&answer.usage);
            previous = Some(usable(&answer)?);
        }
        previous.ok_or(Trouble::Unusable("there was nothing to summarise"))
    }

    /// One request, tried again as the retry policy allows.
    async fn ask(
        &self,
        text: String,
        cancel: &CancellationToken,
    ) -> Result<AssistantMessage, Trouble> {
        let mut attempt = 0;
        loop {
            let error = match self.attempt(text.clone(), cancel).await {
                Err(Trouble::Provider(error)) => error,
                other => {
                    if attempt > 0 {
                        (self.tell)(Event::RetryFinished).await;
                    }
                    return other;
                }
            };
            attempt += 1;
            if !self.retry.allows(attempt, &error) {
                return Err(Trouble::Provider(error));
            }
            let delay = self.retry.delay(attempt, error.retry_after, fastrand::f64());
            (self.tell)(Event::RetryScheduled {
                attempt,
                max_attempts: self.retry.max_retries,
                delay_ms: millis(delay),
                error: Failure::of_provider(&error),
            })
            .await;
            tokio::time::sleep(delay).await;
            (self.tell)(Event::RetryAttemptStart { attempt }).await;
        }
    }

    async fn attempt(
        &self,
        text: String,
        cancel: &CancellationToken,
    ) -> Result<AssistantMessage, Trouble> {
        let thinking = if self.spec.reasoning { self.thinking } else { ThinkingLevel::Off };
        let request = Request {
            model: self.spec.clone(),
            system: prompt::SYSTEM.to_owned(),
            messages: vec![Arc::new(Message::user(text, 0))],
            tools: Vec::new(),
            thinking,
            // A route of its own: caches of the conversation are not disturbed.
            session_id: SessionId::new().to_string(),
            timeouts: self.timeouts,
        };
        let mut stream = self.provider.stream(request, cancel.clone());
        let ends = async {
            while let Some(event) = stream.next().await {
                match event {
                    StreamEvent::Finished(message) => return Ok(*message),
                    StreamEvent::Failed(error) => return Err(Trouble::Provider(error)),
                    StreamEvent::Connected { .. } | StreamEvent::Delta(_) => {}
                }
            }
            Err(Trouble::Provider(broken("ended without an end")))
        };
        let caught = AssertUnwindSafe(ends).catch_unwind().await;
        caught.unwrap_or_else(|_panic| Err(Trouble::Provider(broken("failed inside"))))
    }
}

/// The summary in an answer, when there is a whole one.
fn usable(answer: &AssistantMessage) -> Result<String, Trouble> {
    if answer.stop_reason == StopReason::Length {
        if answer.content.is_empty() && answer.usage.output == 0 {
            // Some servers say by this alone that the request filled the window.
            return Err(Trouble::Provider(overflow()));
        }
        return Err(Trouble::Unusable("it was cut off at the model's output limit"));
    }
    if answer.tool_calls().next().is_some() {
        return Err(Trouble::Unusable("the model called a tool instead of writing it"));
    }
    if matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) {
        return Err(Trouble::Unusable("the model stopped before it was complete"));
    }
    let text = plain_text(&answer.content);
    let text = text.trim();
    if text.is_empty() {
        return Err(Trouble::Unusable("the model answered with nothing"));
    }
    Ok(text.to_owned())
}

fn overflow() -> ProviderError {
    ProviderError {
        kind: ErrorKind::Overflow,
        message: "the request for the summary left no room for an answer".to_owned(),
        status: None,
        retry_after: None,
    }
}

fn broken(how: &str) -> ProviderError {
    ProviderError {
        kind: ErrorKind::Transient,
        message: format!("bug: the stream of the summary {how}"),
        status: None,
        retry_after: None,
    }
}
