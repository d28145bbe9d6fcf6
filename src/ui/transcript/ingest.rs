//! From entries and events to blocks: every message is shown once, however it arrives.
//!
//! A stored message comes as an entry when a session opens, and as an entry and as an event while it
//! is live, in either order; the entry's id tells that both are the same.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::harness::{CallKey, Event, Failure, TurnStatus};
use crate::message::{AssistantMessage, EntryId, Message, Part, StopReason, TurnId};
use crate::session::{Body, Entry, Origin};

use super::Transcript;
use super::block::{Block, CallState, Card, Kind, OpenCall, Source, Text};

/// Ids remembered to tell a message that comes twice; the second copy follows at once.
const MAX_SEEN: usize = 1024;

/// What is needed to place the next message.
#[derive(Debug, Default)]
pub(super) struct Intake {
    seen: VecDeque<EntryId>,
    pub(super) open: Vec<OpenCall>,
    /// Counts assistant messages.
    pub(super) message: u32,
    /// Counts the calls of that message.
    pub(super) ordinal: u32,
    /// A stored branch comes in, in which nothing comes twice.
    pub(super) loading: bool,
    /// The branch begins in the middle of a conversation.
    pub(super) is_middle: bool,
    turn: Option<TurnId>,
    step: u32,
}

impl Intake {
    /// Remembers an id; false when it was there.
    fn first_time(&mut self, id: &EntryId) -> bool {
        // The copy follows closely, so the newest are looked at first.
        if !self.loading && self.seen.iter().rev().any(|seen| seen == id) {
            return false;
        }
        self.seen.push_back(id.clone());
        if self.seen.len() > MAX_SEEN {
            self.seen.pop_front();
        }
        true
    }

    pub(super) fn next_message(&mut self) {
        self.message = self.message.wrapping_add(1);
        self.ordinal = 0;
    }

    fn origin(&self) -> Origin {
        Origin { turn: self.turn.clone(), step: Some(self.step), ..Origin::default() }
    }
}

fn key_of(origin: &Origin, ordinal: Option<u32>) -> Option<CallKey> {
    Some(CallKey { turn: origin.turn.clone()?, step: origin.step?, ordinal: ordinal? })
}

impl Transcript {
    /// Takes in one stored entry. True when something is shown for it.
    pub(super) fn entry(&mut self, entry: &Arc<Entry>) -> bool {
        let source = Source::Entry(Arc::clone(entry));
        match &entry.body {
            Body::Message { message, harness } => {
                self.intake.first_time(&entry.id) && self.message(message, source, harness.as_ref())
            }
            Body::Compaction { .. } | Body::BranchSummary { .. } => {
                self.push(Kind::Summary(source));
                true
            }
            Body::CustomMessage { display: true, .. } => {
                self.push(Kind::Custom(source));
                true
            }
            // Settings before the first message are the session's own, not news.
            Body::ModelChange { provider, model_id } if self.has_begun() => {
                self.push(Kind::Notice(format!("model {provider}/{model_id}")));
                true
            }
            Body::ThinkingLevelChange { thinking_level } if self.has_begun() => {
                self.push(Kind::Notice(format!("thinking {thinking_level}")));
                true
            }
            _ => false,
        }
    }

    fn has_begun(&self) -> bool {
        self.intake.is_middle || !self.blocks.is_empty()
    }

    fn message(&mut self, message: &Message, source: Source, origin: Option<&Origin>) -> bool {
        match message {
            Message::User(_) => self.push(Kind::Prompt(source)),
            Message::Assistant(answer) => {
                let origin = origin.cloned().unwrap_or_else(|| self.intake.origin());
                self.answer(answer, &source, &origin);
            }
            Message::ToolResult(result) => {
                let key = origin.and_then(|origin| key_of(origin, origin.ordinal));
                self.stored_result(result, source, key.as_ref());
            }
            Message::BashExecution(_) => self.push(Kind::Shell(source)),
            Message::Custom(custom) if custom.display => self.push(Kind::Custom(source)),
            Message::BranchSummary(_) | Message::CompactionSummary(_) => {
                self.push(Kind::Summary(source));
            }
            Message::Custom(_) | Message::Unknown => return false,
        }
        true
    }

    /// A finished answer: takes the place of what streamed, or stands on its own.
    fn answer(&mut self, answer: &AssistantMessage, source: &Source, origin: &Origin) {
        if !self.settle(answer, source, origin) {
            self.discard();
            self.intake.next_message();
            let mut ordinal = 0;
            for (index, part) in answer.content.iter().enumerate() {
                self.part(part, Text::Part(source.clone(), index));
                if let Part::ToolCall(call) = part {
                    let key = key_of(origin, Some(ordinal));
                    self.expect(self.blocks.len() - 1, &call.id, key);
                    ordinal += 1;
                }
            }
        }
        match answer.stop_reason {
            StopReason::Error => {
                let message = answer.error_message.clone();
                self.trouble(&Failure {
                    // The file does not say which; the live event that follows does.
                    kind: "",
                    message: message.unwrap_or_else(|| "the answer ended early".into()),
                    retryable: false,
                    advice: String::new(),
                });
            }
            StopReason::Aborted => self.notice("stopped"),
            StopReason::Length => self.notice("the answer was cut off at the output limit"),
            _ => {}
        }
    }

    pub(super) fn part(&mut self, part: &Part, text: Text) {
        let message = self.intake.message;
        match part {
            Part::Text { .. } => self.push(Kind::Text { text, message }),
            Part::Thinking { redacted, .. } => {
                self.push(Kind::Thinking { text, redacted: *redacted });
            }
            Part::ToolCall(call) => {
                let card = Card::of_call(&call.name, &call.arguments, CallState::Waiting);
                self.push(Kind::Tool(Box::new(card)));
            }
            Part::Image { mime_type, .. } => self.push(Kind::Notice(format!("image {mime_type}"))),
            Part::Unknown => self.push(Kind::Notice("a part this version cannot show".into())),
        }
    }

    /// Takes in one event. True when what is shown has changed.
    pub fn apply(&mut self, event: &Event) -> bool {
        let changed = self.take_event(event);
        if changed {
            self.changed();
        }
        changed
    }

    fn take_event(&mut self, event: &Event) -> bool {
        match event {
            Event::TurnStarted { turn, .. } => {
                self.intake.turn = Some(turn.clone());
                false
            }
            Event::TurnStart { step, .. } => {
                self.intake.step = *step;
                false
            }
            Event::TurnCompleted { status, error, reason, .. } => {
                self.completed(*status, error.as_ref(), reason.as_deref());
                true
            }
            Event::MessageStart { message } => match message.as_ref() {
                Message::Assistant(_) => self.begin(),
                _ => false,
            },
            Event::MessageUpdate { assistant_message_event } => self.delta(assistant_message_event),
            Event::MessageEnd { message, entry } => {
                self.intake.first_time(entry)
                    && self.message(message, Source::Message(Arc::clone(message)), None)
            }
            Event::MessageDiscarded => self.discard(),
            Event::EntryAppended { entry } => self.entry(entry),
            Event::RetryScheduled { attempt, max_attempts, delay_ms, error } => {
                self.retry(*attempt, *max_attempts, *delay_ms, error);
                true
            }
            Event::Notice { text } => {
                self.notice(text);
                true
            }
            Event::Error { error } => {
                self.trouble(error);
                true
            }
            _ => self.tool_event(event),
        }
    }

    fn completed(&mut self, status: TurnStatus, error: Option<&Failure>, reason: Option<&str>) {
        self.end_live();
        self.give_up_calls();
        match (status, error, reason) {
            (_, Some(error), _) => self.trouble(error),
            (TurnStatus::Cancelled, None, _) => self.notice("stopped"),
            (_, None, Some("max_turns")) => self.notice("stopped at the limit of steps"),
            (_, None, Some("length")) => {
                self.notice("the answer was cut off at the output limit");
            }
            _ => {}
        }
    }

    /// Says it once, also when the message and the end of the turn both do.
    fn notice(&mut self, text: &str) {
        if !matches!(self.blocks.last().map(|block| &block.kind), Some(Kind::Notice(last)) if last == text)
        {
            self.push(Kind::Notice(text.to_owned()));
        }
    }

    fn retry(&mut self, attempt: u32, of: u32, delay_ms: u64, error: &Failure) {
        self.drop_last(|kind| matches!(kind, Kind::Retry(_)));
        let seconds = delay_ms.div_ceil(1000);
        let message = &error.message;
        let text = format!("retry {attempt} of {of} in {seconds} s: {message}");
        self.push(Kind::Retry(text));
    }

    /// A failure told twice (by the message, the turn, the engine) is one card: the fullest.
    fn trouble(&mut self, error: &Failure) {
        self.drop_last(|kind| matches!(kind, Kind::Error(_) | Kind::Retry(_)));
        self.push(Kind::Error(Box::new(error.clone())));
    }

    fn drop_last(&mut self, which: impl Fn(&Kind) -> bool) {
        if self.blocks.last().is_some_and(|block| which(&block.kind)) {
            self.blocks.pop();
        }
    }

    pub(super) fn push(&mut self, kind: Kind) {
        self.blocks.push(Block::new(kind));
    }
}
