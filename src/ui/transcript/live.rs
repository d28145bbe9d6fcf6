//! The answer that streams: deltas grow their own blocks, and the stored message takes their place
//! without a flicker.

use serde_json::Value;

use crate::message::{AssistantMessage, Delta, Part};
use crate::session::Origin;

use super::Transcript;
use super::block::{CallState, Card, Kind, Source, Text, summary_of};

use crate::harness::CallKey;

/// Which block shows which part of the streaming message.
#[derive(Debug, Default)]
pub(super) struct Live {
    blocks: Vec<usize>,
}

impl Live {
    /// Follows blocks that have moved.
    pub(super) fn rename(&mut self, moved: &dyn Fn(usize) -> Option<usize>) {
        self.blocks = self.blocks.iter().filter_map(|block| moved(*block)).collect();
    }
}

impl Transcript {
    /// An answer begins; what was left of another is void. True when something of it was shown.
    pub(super) fn begin(&mut self) -> bool {
        let gone = self.discard();
        self.intake.next_message();
        self.live = Some(Live::default());
        gone
    }

    /// Shows what had streamed before this reader joined; deltas go on from there.
    pub fn resume_partial(&mut self, parts: &[Part]) {
        if parts.is_empty() {
            return;
        }
        self.begin();
        for part in parts {
            let text = match part {
                Part::Text { text, .. } => text.as_str(),
                Part::Thinking { thinking, .. } => thinking,
                _ => "",
            };
            self.part(part, Text::Live(text.to_owned()));
            let block = self.blocks.len() - 1;
            if let Part::ToolCall(call) = part {
                self.expect(block, &call.id, None);
            }
            self.remember(block);
        }
        self.changed();
    }

    fn remember(&mut self, block: usize) {
        if let Some(live) = &mut self.live {
            live.blocks.push(block);
        }
    }

    fn live_block(&self, index: usize) -> Option<usize> {
        self.live.as_ref()?.blocks.get(index).copied()
    }

    /// Whether this block may still grow.
    pub(super) fn is_live(&self, block: usize) -> bool {
        self.live.as_ref().is_some_and(|live| live.blocks.contains(&block))
    }

    pub(super) fn delta(&mut self, delta: &Delta) -> bool {
        if self.live.is_none() {
            self.begin();
        }
        let message = self.intake.message;
        let live = || Text::Live(String::new());
        match delta {
            Delta::TextStart { .. } => self.grow(Kind::Text { text: live(), message }),
            Delta::ThinkingStart { .. } => {
                self.grow(Kind::Thinking { text: live(), redacted: false });
            }
            Delta::ToolcallStart { id, name, .. } => {
                let card = Card::new(name, "", CallState::Writing(String::new()));
                self.grow(Kind::Tool(Box::new(card)));
                self.expect(self.blocks.len() - 1, id, None);
                return true;
            }
            Delta::TextDelta { index, delta }
            | Delta::ThinkingDelta { index, delta }
            | Delta::ToolcallDelta { index, delta } => return self.append(*index, delta),
            Delta::ThinkingEnd { index, redacted: is_redacted, .. } => {
                if let Some(at) = self.live_block(*index)
                    && let Kind::Thinking { redacted, .. } = &mut self.blocks[at].kind
                {
                    *redacted = *is_redacted;
                    self.blocks[at].touch();
                }
                return *is_redacted;
            }
            Delta::ToolcallEnd { index } => return self.end_call(*index),
            Delta::TextEnd { .. } => {}
        }
        false
    }

    fn grow(&mut self, kind: Kind) {
        self.push(kind);
        self.remember(self.blocks.len() - 1);
    }

    fn append(&mut self, index: usize, more: &str) -> bool {
        let Some(block) = self.live_block(index).and_then(|at| self.blocks.get_mut(at)) else {
            return false;
        };
        match &mut block.kind {
            Kind::Text { text, .. } | Kind::Thinking { text, .. } => text.push(more),
            Kind::Tool(card) => {
                if let CallState::Writing(json) = &mut card.state {
                    json.push_str(more);
                }
                // What is shown of a call changes when it is complete.
                return false;
            }
            _ => return false,
        }
        block.touch();
        !more.is_empty()
    }

    fn end_call(&mut self, index: usize) -> bool {
        let Some(block) = self.live_block(index).and_then(|at| self.blocks.get_mut(at)) else {
            return false;
        };
        if let Kind::Tool(card) = &mut block.kind
            && let CallState::Writing(json) = &card.state
        {
            let arguments: Value = serde_json::from_str(json).unwrap_or_default();
            card.summarise(summary_of(&arguments));
            card.state = CallState::Waiting;
            block.touch();
        }
        true
    }

    /// Drops what streamed. True when something was shown.
    pub(super) fn discard(&mut self) -> bool {
        let Some(live) = self.live.take() else { return false };
        let Some(first) = live.blocks.first().copied() else { return false };
        let gone = |block: usize| live.blocks.contains(&block);
        self.intake.open.retain(|call| !gone(call.block));
        // Notices may have come in between; they stay.
        let tail = self.blocks.split_off(first);
        let kept = tail.into_iter().enumerate().filter(|(at, _)| !gone(first + at));
        self.blocks.extend(kept.map(|(_, block)| block));
        true
    }

    /// What streamed and was never stored stays as it is: it was said.
    pub(super) fn end_live(&mut self) {
        for at in self.live.take().map(|live| live.blocks).unwrap_or_default() {
            if let Some(block) = self.blocks.get_mut(at) {
                block.touch();
            }
        }
    }

    /// Lets the stored message take the place of what streamed, when it has the same parts.
    pub(super) fn settle(
        &mut self,
        answer: &AssistantMessage,
        source: &Source,
        origin: &Origin,
    ) -> bool {
        let Some(live) = self.live.as_ref() else { return false };
        if !self.matches(&live.blocks, answer) {
            return false;
        }
        let blocks = self.live.take().map(|live| live.blocks).unwrap_or_default();
        let mut ordinal = 0;
        for (index, (at, part)) in blocks.into_iter().zip(&answer.content).enumerate() {
            let Some(block) = self.blocks.get_mut(at) else { continue };
            match (&mut block.kind, part) {
                (Kind::Text { text, .. }, _) => *text = Text::Part(source.clone(), index),
                (Kind::Thinking { text, redacted }, Part::Thinking { redacted: now, .. }) => {
                    *text = Text::Part(source.clone(), index);
                    *redacted = *now;
                }
                (Kind::Tool(card), Part::ToolCall(call)) => {
                    if matches!(card.state, CallState::Writing(_) | CallState::Waiting) {
                        **card = Card::of_call(&call.name, &call.arguments, CallState::Waiting);
                    }
                    let open = self.intake.open.iter_mut().find(|open| open.block == at);
                    if let (Some(open), Some(turn), Some(step)) = (open, &origin.turn, origin.step)
                    {
                        open.key = Some(CallKey { turn: turn.clone(), step, ordinal });
                        open.id.clone_from(&call.id);
                    }
                    ordinal += 1;
                }
                _ => {}
            }
            block.touch();
        }
        true
    }

    /// Whether the blocks show exactly these parts; only then may they stay.
    fn matches(&self, blocks: &[usize], answer: &AssistantMessage) -> bool {
        blocks.len() == answer.content.len()
            && blocks.iter().zip(&answer.content).all(|(at, part)| {
                match (self.blocks.get(*at).map(|block| &block.kind), part) {
                    (Some(Kind::Text { text: shown, .. }), Part::Text { text, .. }) => {
                        shown.as_str() == text
                    }
                    (Some(Kind::Thinking { text, .. }), Part::Thinking { thinking, .. }) => {
                        text.as_str() == thinking
                    }
                    (Some(Kind::Tool(_)), Part::ToolCall(_)) => true,
                    _ => false,
                }
            })
    }
}
