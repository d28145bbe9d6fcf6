//! What stands in the transcript: blocks that point into shared entries and messages, so that
//! opening a long session copies no text.

use std::sync::Arc;

use serde_json::Value;

use crate::harness::{CallKey, Failure, HeldCall};
use crate::message::{BashExecution, Message, Part, ToolResultMessage};
use crate::session::{Body, Entry};
use crate::text::sanitize::one_line;

use super::rows::Rows;

/// Cells of a tool's name and of a call's summary, before the pane cuts further.
const MAX_NAME: usize = 40;
const MAX_SUMMARY: usize = 200;

/// One block, with its rows while it is near the screen.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) kind: Kind,
    /// Grows with every change of the content.
    pub(super) revision: u32,
    pub(super) rows: Option<Box<Rows>>,
}

#[derive(Debug)]
pub(super) enum Kind {
    Prompt(Source),
    /// What an assistant message said. Blocks of one message share `message`.
    Text {
        text: Text,
        message: u32,
    },
    Thinking {
        text: Text,
        redacted: bool,
    },
    Tool(Box<Card>),
    Notice(String),
    /// A notice that the next of its sort replaces.
    Retry(String),
    Error(Box<Failure>),
    /// Entries that are not loaded.
    Gap(Gap),
    Summary(Source),
    Shell(Source),
    Custom(Source),
}

/// What is said of entries that are not loaded.
#[derive(Debug, Default)]
pub(super) struct Gap {
    /// How many there are, where that is known.
    pub(super) left: Option<usize>,
    /// Why they cannot be read.
    pub(super) why: Option<String>,
}

impl Block {
    pub(super) fn new(kind: Kind) -> Self {
        Self { kind, revision: 0, rows: None }
    }

    pub(super) fn touch(&mut self) {
        self.revision = self.revision.wrapping_add(1);
    }

    pub(super) fn is_tool(&self) -> bool {
        matches!(self.kind, Kind::Tool(_))
    }

    /// Shows nothing at all.
    pub(super) fn is_blank(&self) -> bool {
        match &self.kind {
            Kind::Text { text, .. } => text.as_str().trim().is_empty(),
            Kind::Thinking { text, redacted } => !redacted && text.as_str().trim().is_empty(),
            _ => false,
        }
    }
}

/// A shared message, by the entry that stores it or by the event that brought it.
#[derive(Debug, Clone)]
pub(super) enum Source {
    Entry(Arc<Entry>),
    Message(Arc<Message>),
}

impl Source {
    pub(super) fn message(&self) -> Option<&Message> {
        match self {
            Self::Message(message) => Some(message),
            Self::Entry(entry) => match &entry.body {
                Body::Message { message, .. } => Some(message),
                _ => None,
            },
        }
    }

    pub(super) fn result(&self) -> Option<&ToolResultMessage> {
        match self.message() {
            Some(Message::ToolResult(message)) => Some(message),
            _ => None,
        }
    }

    pub(super) fn shell(&self) -> Option<&BashExecution> {
        match self.message() {
            Some(Message::BashExecution(run)) => Some(run),
            _ => None,
        }
    }

    pub(super) fn parts(&self) -> &[Part] {
        if let Self::Entry(entry) = self
            && let Body::CustomMessage { content, .. } = &entry.body
        {
            return content;
        }
        match self.message() {
            Some(Message::User(message)) => &message.content,
            Some(Message::Assistant(message)) => &message.content,
            Some(Message::ToolResult(message)) => &message.content,
            Some(Message::Custom(message)) => &message.content,
            _ => &[],
        }
    }
}

/// Text that still grows, or a part of a shared message.
#[derive(Debug)]
pub(super) enum Text {
    Live(String),
    Part(Source, usize),
}

impl Text {
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Live(text) => text,
            Self::Part(source, index) => match source.parts().get(*index) {
                Some(Part::Text { text, .. }) => text,
                Some(Part::Thinking { thinking, .. }) => thinking,
                _ => "",
            },
        }
    }

    pub(super) fn push(&mut self, more: &str) {
        if let Self::Live(text) = self {
            text.push_str(more);
        }
    }
}

/// A tool call and what became of it.
#[derive(Debug)]
pub(super) struct Card {
    pub(super) name: String,
    pub(super) summary: String,
    pub(super) state: CallState,
}

#[derive(Debug)]
pub(super) enum CallState {
    /// The model still writes the arguments: their JSON so far.
    Writing(String),
    /// Complete, not started.
    Waiting,
    Held(Arc<HeldCall>),
    /// A person said no; the result that tells the model follows.
    Denied,
    /// The newest output.
    Running(Arc<str>),
    /// The turn ended, or the file ends, without a result.
    Unfinished,
    Done(Outcome),
}

/// A result, stored or just arrived.
#[derive(Debug, Clone)]
pub(super) enum Outcome {
    Stored(Source),
    Arrived(Arc<ToolResultMessage>),
}

impl Outcome {
    pub(super) fn get(&self) -> Option<&ToolResultMessage> {
        match self {
            Self::Stored(source) => source.result(),
            Self::Arrived(result) => Some(result),
        }
    }
}

impl Card {
    pub(super) fn new(name: &str, summary: &str, state: CallState) -> Self {
        Self { name: one_line(name, MAX_NAME), summary: one_line(summary, MAX_SUMMARY), state }
    }

    pub(super) fn of_call(name: &str, arguments: &Value, state: CallState) -> Self {
        Self::new(name, summary_of(arguments), state)
    }

    pub(super) fn summarise(&mut self, summary: &str) {
        self.summary = one_line(summary, MAX_SUMMARY);
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, CallState::Done(_) | CallState::Unfinished)
    }
}

/// What a stored call was about, where no tool is there to say it: the argument people look for.
pub(super) fn summary_of(arguments: &Value) -> &str {
    const TELLING: [&str; 9] = [
        "command",
        "path",
        "file_path",
        "pattern",
        "query",
        "url",
        "prompt",
        "description",
        "name",
    ];
    TELLING
        .iter()
        .find_map(|name| arguments.get(name).and_then(Value::as_str))
        .or_else(|| arguments.as_object()?.values().find_map(Value::as_str))
        .unwrap_or_default()
}

/// A call that may still get a result.
#[derive(Debug, Clone)]
pub(super) struct OpenCall {
    pub(super) block: usize,
    pub(super) key: Option<CallKey>,
    pub(super) id: String,
    /// Its position among the calls of its message.
    pub(super) ordinal: u32,
    /// Which assistant message it belongs to; provider ids are only unique within one.
    pub(super) message: u32,
}
