//! From entries and events to blocks: every message is shown once, however it arrives.
//!
//! A stored message comes as an entry when a session opens, and as an entry and as an event while it
//! is live, in either order; the entry's id tells that both are the same.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::harness::{CallKey, Event, Failure, RunningCall, TurnStatus};
use crate::message::{
    AssistantMessage, EntryId, Message, Part, StopReason, ToolResultMessage, TurnId,
};
use crate::session::{Body, Entry, Origin};

use super::Transcript;
use super::block::{Block, CallState, Card, Kind, OpenCall, Outcome, Source, Text};

/// Ids remembered to tell a message that comes twice; the second copy follows at once.
const MAX_SEEN: usize = 1024;
/// Calls that wait for a result at most; older ones have lost theirs.
const MAX_OPEN: usize = 1024;

/// What is needed to place the next message.
#[derive(Debug, Default)]
pub(super) struct Intake {
    seen: VecDeque<EntryId>,
    pub(super) open: Vec<OpenCall>,
    /// Counts assistant messages.
    pub(super) message: u32,
    /// Counts the calls of that message.
    ordinal: u32,
    /// A stored branch comes in, in which nothing comes twice.
    pub(super) loading: bool,
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
            Body::ModelChange { provider, model_id } if !self.blocks.is_empty() => {
                self.push(Kind::Notice(format!("model {provider}/{model_id}")));
                true
            }
            Body::ThinkingLevelChange { thinking_level } if !self.blocks.is_empty() => {
                self.push(Kind::Notice(format!("thinking {thinking_level}")));
                true
            }
            _ => false,
        }
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

    /// Remembers that the card in `block` waits for a result.
    pub(super) fn expect(&mut self, block: usize, id: &str, key: Option<CallKey>) {
        if self.intake.open.len() >= MAX_OPEN {
            self.intake.open.remove(0);
        }
        let message = self.intake.message;
        let ordinal = self.intake.ordinal;
        self.intake.ordinal += 1;
        self.intake.open.push(OpenCall { block, key, id: id.to_owned(), ordinal, message });
    }

    /// The open call a result belongs to: by key, else by id, first in the newest message.
    fn find(&self, key: Option<&CallKey>, id: &str) -> Option<usize> {
        let open = &self.intake.open;
        if let Some(key) = key
            && let Some(at) = open.iter().rposition(|call| call.key.as_ref() == Some(key))
        {
            return Some(at);
        }
        let newest = open.iter().rev().find(|call| call.id == id)?.message;
        open.iter().position(|call| call.message == newest && call.id == id)
    }

    fn stored_result(&mut self, result: &ToolResultMessage, source: Source, key: Option<&CallKey>) {
        match self.find(key, &result.tool_call_id) {
            Some(at) => {
                let call = self.intake.open.remove(at);
                self.set_state(call.block, CallState::Done(Outcome::Stored(source)));
            }
            // A result without its call: a branch that begins in the middle.
            None => {
                let state = CallState::Done(Outcome::Stored(source));
                let card = Card::new(&result.tool_name, "", state);
                self.push(Kind::Tool(Box::new(card)));
            }
        }
    }

    fn set_state(&mut self, block: usize, state: CallState) {
        if let Some(block) = self.blocks.get_mut(block)
            && let Kind::Tool(card) = &mut block.kind
        {
            card.state = state;
            block.touch();
        }
    }

    /// The card of a call by its key, when there is one.
    fn card(&self, key: &CallKey) -> Option<usize> {
        let open = &self.intake.open;
        open.iter().rfind(|call| call.key.as_ref() == Some(key)).map(|call| call.block)
    }

    /// The card of a call, also when its key was not known when the message was shown.
    fn claim(&mut self, key: &CallKey, id: &str) -> Option<usize> {
        self.card(key).or_else(|| {
            let newest = self.intake.message;
            let call = self.intake.open.iter_mut().find(|call| {
                let same = call.ordinal == key.ordinal && (id.is_empty() || call.id == id);
                call.message == newest && call.key.is_none() && same
            })?;
            call.key = Some(key.clone());
            Some(call.block)
        })
    }

    fn started(&mut self, key: &CallKey, id: &str, tool: &str, summary: &str, state: CallState) {
        let found = self.claim(key, id);
        let block = found.unwrap_or_else(|| {
            self.push(Kind::Tool(Box::new(Card::new(tool, "", CallState::Waiting))));
            let block = self.blocks.len() - 1;
            self.expect(block, id, Some(key.clone()));
            block
        });
        if let Some(Kind::Tool(card)) = self.blocks.get_mut(block).map(|block| &mut block.kind)
            && !summary.is_empty()
        {
            card.summarise(summary);
        }
        self.set_state(block, state);
    }

    /// What runs now, for a reader that joins in the middle of a turn.
    pub fn resume_running(&mut self, calls: &[RunningCall]) {
        for call in calls {
            let state = CallState::Running(Arc::clone(&call.output));
            self.started(&call.key, "", &call.tool, &call.summary, state);
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
                Message::Assistant(_) => {
                    self.begin();
                    false
                }
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

    fn tool_event(&mut self, event: &Event) -> bool {
        match event {
            Event::ToolExecutionStart { key, tool_call_id, tool_name, summary, .. } => {
                let state = CallState::Running(Arc::from(""));
                self.started(key, tool_call_id, tool_name, summary, state);
            }
            Event::ToolExecutionUpdate { key, partial_result } => match self.card(key) {
                Some(block) => {
                    self.set_state(block, CallState::Running(Arc::clone(partial_result)));
                }
                None => return false,
            },
            // When there is no such call, its stored result came first and has closed it.
            Event::ToolExecutionEnd { key, tool_call_id, result, .. } => {
                match self.claim(key, tool_call_id) {
                    Some(block) => {
                        let outcome = Outcome::Arrived(Arc::clone(result));
                        self.set_state(block, CallState::Done(outcome));
                    }
                    None => return false,
                }
            }
            Event::ApprovalRequested { held } => {
                let state = CallState::Held(Arc::clone(held));
                self.started(&held.key, "", &held.tool, &held.summary, state);
            }
            Event::ApprovalResolved { key, allowed } => match self.card(key) {
                Some(block) => {
                    let state = if *allowed { CallState::Waiting } else { CallState::Denied };
                    self.set_state(block, state);
                }
                None => return false,
            },
            _ => return false,
        }
        true
    }

    fn completed(&mut self, status: TurnStatus, error: Option<&Failure>, reason: Option<&str>) {
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

    /// No result will come for the calls that have none.
    pub(super) fn give_up_calls(&mut self) {
        let blocks: Vec<usize> = self.intake.open.iter().map(|call| call.block).collect();
        for block in blocks {
            if let Some(Kind::Tool(card)) = self.blocks.get(block).map(|block| &block.kind)
                && !card.is_over()
            {
                self.set_state(block, CallState::Unfinished);
            }
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
