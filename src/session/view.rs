//! The messages of one request: a repaired view of a context that every provider accepts.
//!
//! It is the one place where history is put right for sending. Nothing here changes the file, and
//! messages that need no change are shared, not copied. What a view guarantees is what [`check()`]
//! asks for.

mod check;
mod words;

pub use check::check;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::Context;
use crate::message::{
    AssistantMessage, Message, Part, StopReason, ToolCall, ToolResultMessage, plain_text,
};

/// Longest quote of arguments that were no object. A model that sees the beginning knows what it did.
const QUOTE_CHARS: usize = 2_000;
/// Characters by which a quote is recognised in a result.
const TELLTALE_CHARS: usize = 200;
/// Stands for a result that was never recorded.
const NO_RESULT: &str =
    "no result was recorded for this call: its outcome is unknown, look before you repeat it";
/// Stands for a result with nothing in it, which some servers refuse.
const NO_OUTPUT: &str = "(no output)";
/// Stands in front when the history does not begin with the user.
const BEGINNING_MISSING: &str = "(the beginning of this conversation is missing)";

/// The messages to send, in order.
///
/// Only user, assistant and tool result messages are left. Each call has exactly one result
/// directly behind it, in call order; a missing one is made up and says so. Answers that ended in
/// an error or were aborted are left out with their results, and so are results without a call,
/// second results and empty messages. Arguments are objects. The first message is the user's.
pub fn request_view(context: &Context) -> Vec<Arc<Message>> {
    let mut view = View::default();
    for (_, message) in &context.messages {
        view.take(message);
    }
    view.close();
    if view.out.first().is_some_and(|first| !matches!(**first, Message::User(_))) {
        view.out.insert(0, Arc::new(Message::user(BEGINNING_MISSING, 0)));
    }
    view.out
}

/// The view under construction.
#[derive(Default)]
struct View {
    out: Vec<Arc<Message>>,
    /// The calls of the last answer, each with its result once that was seen.
    open: Vec<Open>,
    /// Places in `open` by call id. An id may stand there twice.
    waiting: HashMap<String, VecDeque<usize>>,
    /// What was told between a call and its result; it goes behind the results.
    held: Vec<Arc<Message>>,
    timestamp: i64,
}

struct Open {
    call: ToolCall,
    /// What the model wrote as arguments, when it was no object.
    raw: Option<String>,
    result: Option<Arc<Message>>,
}

impl View {
    fn take(&mut self, message: &Arc<Message>) {
        match &**message {
            Message::User(user) => {
                self.close();
                if let Some(content) = said(&user.content) {
                    self.out.push(match content {
                        Some(content) => Arc::new(words::user(content, user.timestamp)),
                        None => Arc::clone(message),
                    });
                }
            }
            Message::Assistant(answer) => {
                self.close();
                self.answer(message, answer);
            }
            Message::ToolResult(result) => self.result(message, result),
            other => {
                let Some(told) = words::as_user(other) else { return };
                if self.open.is_empty() {
                    self.out.push(Arc::new(told));
                } else {
                    self.held.push(Arc::new(told));
                }
            }
        }
    }

    fn answer(&mut self, message: &Arc<Message>, answer: &AssistantMessage) {
        if matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) {
            return;
        }
        let says = answer.content.iter().any(|part| match part {
            Part::Text { text, .. } => !text.trim().is_empty(),
            Part::ToolCall(_) => true,
            _ => false,
        });
        if !says {
            return;
        }
        self.timestamp = answer.timestamp;
        self.open = answer.tool_calls().map(open).collect();
        for (at, open) in self.open.iter().enumerate() {
            self.waiting.entry(open.call.id.clone()).or_default().push_back(at);
        }
        let is_sendable = |part: &Part| match part {
            Part::Text { text, .. } => !text.trim().is_empty(),
            Part::Thinking { thinking, thinking_signature, redacted } => {
                !thinking.is_empty() || *redacted || thinking_signature.is_some()
            }
            Part::ToolCall(call) => call.arguments.is_object(),
            Part::Image { .. } | Part::Unknown => false,
        };
        if answer.content.iter().all(is_sendable) {
            self.out.push(Arc::clone(message));
            return;
        }
        let mut content = Vec::with_capacity(answer.content.len());
        let mut calls = self.open.iter();
        for part in &answer.content {
            match part {
                Part::ToolCall(_) => {
                    content.extend(calls.next().map(|open| Part::ToolCall(open.call.clone())));
                }
                part if is_sendable(part) => content.push(part.clone()),
                _ => {}
            }
        }
        self.out.push(Arc::new(Message::Assistant(AssistantMessage { content, ..answer.clone() })));
    }

    /// Gives a result to the first open call of its id that has none; drops it otherwise.
    fn result(&mut self, message: &Arc<Message>, result: &ToolResultMessage) {
        let next = self.waiting.get_mut(&result.tool_call_id).and_then(VecDeque::pop_front);
        let Some(open) = next.and_then(|at| self.open.get_mut(at)) else { return };
        let content = said(&result.content);
        // Whoever answered the call may have quoted the arguments already.
        let quote = open.raw.as_deref().filter(|raw| {
            let beginning: String = raw.chars().take(TELLTALE_CHARS).collect();
            !plain_text(&result.content).contains(&beginning)
        });
        if quote.is_none() && matches!(content, Some(None)) {
            open.result = Some(Arc::clone(message));
            return;
        }
        let mut content = match content {
            Some(None) => result.content.clone(),
            Some(Some(content)) => content,
            None => vec![Part::text(NO_OUTPUT)],
        };
        content.extend(quote.map(quoted).map(Part::text));
        let result = ToolResultMessage { content, ..result.clone() };
        open.result = Some(Arc::new(Message::ToolResult(result)));
    }

    /// Ends the group of the last answer: its results in call order, then what was told between.
    fn close(&mut self) {
        self.waiting.clear();
        for Open { call, raw, result } in std::mem::take(&mut self.open) {
            self.out.push(result.unwrap_or_else(|| {
                let mut content = vec![Part::text(NO_RESULT)];
                content.extend(raw.as_deref().map(quoted).map(Part::text));
                Arc::new(Message::ToolResult(ToolResultMessage {
                    tool_call_id: call.id,
                    tool_name: call.name,
                    content,
                    details: None,
                    is_error: true,
                    duration_ms: None,
                    timestamp: self.timestamp,
                }))
            }));
        }
        self.out.append(&mut self.held);
    }
}

fn open(call: &ToolCall) -> Open {
    let mut call = call.clone();
    let mut raw = call.raw_arguments.clone();
    if !call.arguments.is_object() {
        raw = Some(match &call.arguments {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        call.arguments = Value::Object(Map::new());
    }
    Open { call, raw, result: None }
}

fn quoted(raw: &str) -> String {
    let quote: String = raw.chars().take(QUOTE_CHARS).collect();
    format!("the arguments were no JSON object and were read as {{}}; they were: {quote}")
}

/// The parts of a user or result message that can be sent: `None` when there are none,
/// `Some(None)` when that is all of them.
fn said(content: &[Part]) -> Option<Option<Vec<Part>>> {
    let is_sendable = |part: &Part| match part {
        Part::Text { text, .. } => !text.trim().is_empty(),
        Part::Image { data, .. } => !data.is_empty(),
        Part::Thinking { .. } | Part::ToolCall(_) | Part::Unknown => false,
    };
    match content.iter().filter(|part| is_sendable(part)).count() {
        0 => None,
        count if count == content.len() => Some(None),
        _ => Some(Some(content.iter().filter(|part| is_sendable(part)).cloned().collect())),
    }
}
