//! A model that plays a scenario file: for tests, demonstrations and bug reports.
//!
//! It is deterministic: the answer depends on the last user text and on how many answers followed
//! it, and time is the runtime's, which tests may pause.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::stream::BoxStream;
use tokio_util::sync::CancellationToken;

use crate::message::{Message, StopReason, Usage};
use crate::providers::answer::Answer;
use crate::providers::playback::{Beat, pieces, play};
use crate::providers::script_format::{Fault, FaultKind, Scenario, Turn};
use crate::providers::sse;
use crate::providers::{Endpoint, ErrorKind, Provider, ProviderError, Request, StreamEvent};
use crate::text::tokens;

/// Characters per delta unless the turn says otherwise.
const CHUNK_SIZE: usize = 24;
/// A scenario file larger than this is some other file.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// The `script` provider.
#[derive(Debug)]
pub struct Script {
    scenario: Scenario,
    /// How often each turn with a fault was asked for.
    asked: Mutex<HashMap<(usize, usize), u64>>,
}

impl Script {
    /// A provider from the text of a scenario.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, ProviderError> {
        let scenario =
            Scenario::parse(text).map_err(|text| permanent(format!("script: {text}")))?;
        Ok(Self { scenario, asked: Mutex::default() })
    }

    pub(super) fn open(endpoint: &Endpoint) -> Result<Self, ProviderError> {
        let Some(path) = &endpoint.script else {
            let name = &endpoint.name;
            return Err(permanent(format!(
                "provider {name:?} has no scenario; set `script` to the path of a file"
            )));
        };
        let shown = path.display();
        let failed = |text: String| permanent(format!("reading scenario {shown}: {text}"));
        let facts = std::fs::metadata(path).map_err(|error| failed(error.to_string()))?;
        if !facts.is_file() || facts.len() > MAX_FILE_BYTES {
            return Err(failed("it is no file of at most 64 MiB".into()));
        }
        let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        Self::parse(&text).map_err(|error| failed(error.message))
    }

    /// The fault that this request meets, if any.
    fn fault(&self, at: (usize, usize), turn: &Turn) -> Option<Fault> {
        let fault = turn.fault.clone()?;
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let count = asked.entry(at).or_insert(0);
        *count += 1;
        turn.fault_times.is_none_or(|times| *count <= times).then_some(fault)
    }
}

fn permanent(message: String) -> ProviderError {
    ProviderError { kind: ErrorKind::Permanent, message, status: None, retry_after: None }
}

impl Provider for Script {
    fn api(&self) -> &'static str {
        "script"
    }

    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxStream<'static, StreamEvent> {
        let (text, step) = position(&request);
        let beats = match self.scenario.turn(&text, step) {
            Some((at, turn)) => beats(&request, turn, self.fault(at, turn).as_ref(), step),
            None => vec![Beat::Emit(StreamEvent::Failed(permanent("script: no turns".into())))],
        };
        play(beats, cancel)
    }
}

/// The last user text, and how many answers followed it.
fn position(request: &Request) -> (String, usize) {
    let mut step = 0;
    for message in request.messages.iter().rev() {
        match &**message {
            Message::Assistant(answer)
                if !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) =>
            {
                step += 1;
            }
            Message::User(_) => {
                let text = message.text();
                if !text.is_empty() {
                    return (text, step);
                }
            }
            _ => {}
        }
    }
    (String::new(), step)
}

/// Everything that one answer does, in order.
fn beats(request: &Request, turn: &Turn, fault: Option<&Fault>, step: usize) -> Vec<Beat> {
    let mut answer = Answer::new(request, "script");
    let mut chunks = content(&mut answer, turn, step);
    let usage = usage(request, turn);
    let stop = match (turn.stop, answer.calls_tools()) {
        (Some(stop), _) => stop,
        (None, true) => StopReason::ToolUse,
        (None, false) => StopReason::Stop,
    };
    let message = answer.finish(stop, usage);
    chunks.push(answer.take().into_iter().map(StreamEvent::Delta).collect());

    let mut beats = vec![Beat::Wait(Duration::from_millis(turn.first_delay_ms))];
    let refusal = fault.filter(|fault| {
        fault.after_chunks == 0 && !matches!(fault.kind, FaultKind::Stall | FaultKind::Close)
    });
    if refusal.is_none() {
        beats.push(Beat::Emit(StreamEvent::Connected { status: 200 }));
    }
    for (n, chunk) in chunks.into_iter().enumerate() {
        if let Some(fault) = fault.filter(|fault| fault.after_chunks == n)
            && happens(fault, request, n, &mut beats)
        {
            return beats;
        }
        if n > 0 {
            beats.push(Beat::Wait(Duration::from_millis(turn.delay_ms)));
        }
        beats.extend(chunk.into_iter().map(Beat::Emit));
    }
    // A fault after more chunks than there are happens at the end.
    let last = usize::MAX;
    if let Some(fault) =
        fault.filter(|fault| fault.kind != FaultKind::Stall || fault.seconds.is_none())
        && happens(fault, request, last, &mut beats)
    {
        return beats;
    }
    beats.push(Beat::Emit(StreamEvent::Finished(Box::new(message))));
    beats
}

/// The pieces of the answer, one group of deltas for each chunk.
fn content(answer: &mut Answer, turn: &Turn, step: usize) -> Vec<Vec<StreamEvent>> {
    let size = turn.chunk_size.unwrap_or(CHUNK_SIZE).max(1);
    let mut chunks = Vec::new();
    let mut push = |answer: &mut Answer| {
        chunks.push(answer.take().into_iter().map(StreamEvent::Delta).collect());
    };
    for piece in pieces(&turn.thinking, size) {
        answer.thinking(piece, None);
        push(answer);
    }
    for piece in pieces(&turn.text, size) {
        answer.text(piece);
        push(answer);
    }
    for (n, call) in turn.tool_calls.iter().enumerate() {
        let id = call.id.clone().unwrap_or_else(|| format!("call_{step}_{n}"));
        let block = answer.start_call(&id, &call.name);
        let arguments = match &call.raw_args {
            Some(raw) => raw.clone(),
            None => serde_json::Value::Object(call.args.clone()).to_string(),
        };
        for piece in pieces(&arguments, size) {
            answer.call_piece(block, piece);
            push(answer);
        }
        answer.end_call(block);
        push(answer);
    }
    chunks
}

/// Adds what a fault does; true when the answer ends with it.
fn happens(fault: &Fault, request: &Request, chunks: usize, beats: &mut Vec<Beat>) -> bool {
    let failed = |message: &str| {
        Beat::Emit(StreamEvent::Failed(ProviderError {
            kind: fault.kind.error_kind(),
            message: fault.message.clone().unwrap_or_else(|| format!("script: {message}")),
            status: fault.status,
            retry_after: fault.retry_after,
        }))
    };
    match (fault.kind, fault.seconds) {
        (FaultKind::Stall, Some(seconds)) => {
            beats.push(Beat::Wait(Duration::from_secs(seconds)));
            return false;
        }
        (FaultKind::Stall, None) => {
            let limits = request.timeouts;
            let silence = if chunks == 0 {
                sse::Fault::FirstByte(limits.first_byte)
            } else {
                sse::Fault::Idle(limits.idle)
            };
            beats.push(Beat::Wait(if chunks == 0 { limits.first_byte } else { limits.idle }));
            beats.push(failed(&silence.to_string()));
        }
        (FaultKind::Close, _) => {
            beats.push(failed("the answer was cut off: the stream ended without a finish reason"));
        }
        (kind, _) => beats.push(failed(&format!("fault {kind:?}").to_lowercase())),
    }
    true
}

/// The counts of the turn, or an estimate, so that meters move.
fn usage(request: &Request, turn: &Turn) -> Usage {
    if let Some(counts) = &turn.usage {
        return Usage {
            input: counts.input,
            output: counts.output,
            cache_read: counts.cache_read,
            cache_write: counts.cache_write,
            reasoning: counts.reasoning,
            ..Usage::default()
        };
    }
    let said: u64 = turn
        .tool_calls
        .iter()
        .map(|call| tokens::of_text(&serde_json::Value::Object(call.args.clone()).to_string()))
        .sum();
    estimate(request, tokens::of_text(&turn.text) + tokens::of_text(&turn.thinking) + said)
}

/// Usage where nobody counted: the request at four characters a token, and `output`.
pub(super) fn estimate(request: &Request, output: u64) -> Usage {
    let history: u64 = request.messages.iter().map(|message| tokens::of_message(message)).sum();
    let input = history + tokens::of_text(&request.system);
    Usage { input, output, ..Usage::default() }
}
