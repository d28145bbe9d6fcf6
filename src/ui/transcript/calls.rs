//! Calls and their results: which card a result belongs to, and what a call is doing.
//!
//! A call is known by turn, step and ordinal where these are stored, else by the provider's id
//! within its own message, since those ids may repeat.

use std::sync::Arc;

use crate::harness::{CallKey, Event, HeldCall, RunningCall};
use crate::message::ToolResultMessage;

use super::Transcript;
use super::block::{CallState, Card, Kind, OpenCall, Outcome, Source};

/// Calls that wait for a result at most; older ones have lost theirs.
const MAX_OPEN: usize = 1024;

impl Transcript {
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

    pub(super) fn stored_result(
        &mut self,
        result: &ToolResultMessage,
        source: Source,
        key: Option<&CallKey>,
    ) {
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

    /// What waits for a person, for a reader that joins in the middle of a turn.
    pub fn resume_held(&mut self, calls: &[Arc<HeldCall>]) {
        for held in calls {
            self.hold(held);
        }
        self.changed();
    }

    fn hold(&mut self, held: &Arc<HeldCall>) {
        let state = CallState::Held(Arc::clone(held));
        self.started(&held.key, "", &held.tool, &held.summary, state);
    }

    /// What runs now, for a reader that joins in the middle of a turn.
    pub fn resume_running(&mut self, calls: &[RunningCall]) {
        for call in calls {
            let state = CallState::Running(Arc::clone(&call.output));
            self.started(&call.key, "", &call.tool, &call.summary, state);
        }
        self.changed();
    }

    pub(super) fn tool_event(&mut self, event: &Event) -> bool {
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
            Event::ApprovalRequested { held } => self.hold(held),
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
}
