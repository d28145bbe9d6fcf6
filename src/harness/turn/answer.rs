//! The model's answer: pieces, the whole, a failure, and trying again.

use crate::message::{AssistantMessage, Delta, Message, Partial, StopReason, plain_text};
use crate::providers::ProviderError;
use crate::session::Flush;

use super::{Effect, Machine, Stage};
use crate::harness::batch::Batch;
use crate::harness::{Event, Failure};

impl Machine {
    pub(super) fn delta(&mut self, request: u64, delta: Delta, effects: &mut Vec<Effect>) {
        let Some(turn) = &mut self.turn else { return };
        match &mut turn.stage {
            Stage::Requesting { request: current, partial, .. } if *current == request => {
                partial.apply(&delta);
            }
            _ => return,
        }
        effects.push(Effect::Emit(Event::MessageUpdate { assistant_message_event: delta }));
    }

    pub(super) fn finished(
        &mut self,
        request: u64,
        message: AssistantMessage,
        now: i64,
        effects: &mut Vec<Effect>,
    ) {
        let attempt = match self.turn.as_ref().map(|turn| &turn.stage) {
            Some(Stage::Requesting { request: current, attempt, .. }) if *current == request => {
                *attempt
            }
            _ => return,
        };
        if let Some(error) = self.silent_overflow(&message) {
            self.failed(request, &error, now, effects);
            return;
        }
        let Some(turn) = &mut self.turn else { return };
        turn.usage.add(&message.usage);
        let text = plain_text(&message.content);
        if !text.is_empty() {
            turn.result = Some(text);
        }
        let calls: Vec<_> = message.tool_calls().cloned().collect();
        let reason = message.stop_reason;
        let body = self.message_body(Message::Assistant(message), None);
        if attempt > 0 {
            effects.push(Effect::Emit(Event::RetryFinished));
        }
        effects.push(Effect::Append { bodies: vec![body], flush: Flush::Lazy });
        if calls.is_empty() {
            effects.push(Effect::EndStep);
            let cut = (reason == StopReason::Length).then_some("length");
            self.answer_without_calls(cut, effects);
            return;
        }
        if let Some(turn) = &mut self.turn {
            turn.stage = Stage::Calls(Batch::new(calls));
        }
        if reason == StopReason::Length {
            self.refuse_cut_calls(now, effects);
        } else {
            self.prepare_next(effects);
        }
    }

    pub(super) fn failed(
        &mut self,
        request: u64,
        error: &ProviderError,
        now: i64,
        effects: &mut Vec<Effect>,
    ) {
        let limits = self.limits;
        let Some(turn) = &mut self.turn else { return };
        let (attempt, partial) = match &turn.stage {
            Stage::Requesting { request: current, attempt, partial } if *current == request => {
                (*attempt, partial.clone())
            }
            _ => return,
        };
        if self.overflowed(error, now, effects) {
            return;
        }
        let Some(turn) = &mut self.turn else { return };
        let failure = Failure::of_provider(error);
        if limits.retry.allows(attempt + 1, error) {
            if !partial.is_empty() {
                effects.push(Effect::Emit(Event::MessageDiscarded));
            }
            let attempt = attempt + 1;
            turn.stage = Stage::Waiting { request, attempt, failure: failure.clone() };
            let retry_after = error.retry_after;
            effects.push(Effect::Wait { request, attempt, retry_after, failure });
            return;
        }
        let message = self.unfinished(&partial, StopReason::Error, &failure.message, now);
        let body = self.message_body(Message::Assistant(message), None);
        effects.push(Effect::Append { bodies: vec![body], flush: Flush::Lazy });
        effects.push(Effect::EndStep);
        self.fail(failure, effects);
    }

    pub(super) fn retry_due(&mut self, request: u64, effects: &mut Vec<Effect>) {
        let Some(turn) = &mut self.turn else { return };
        let attempt = match &turn.stage {
            Stage::Waiting { request: current, attempt, .. } if *current == request => *attempt,
            _ => return,
        };
        self.requests += 1;
        let request = self.requests;
        turn.stage = Stage::Requesting { request, attempt, partial: Partial::default() };
        effects.push(Effect::Emit(Event::RetryAttemptStart { attempt }));
        effects.push(Effect::Request { request });
    }

    /// An answer that no provider finished: what had arrived, without calls.
    pub(super) fn unfinished(
        &self,
        partial: &Partial,
        stop_reason: StopReason,
        why: &str,
        now: i64,
    ) -> AssistantMessage {
        AssistantMessage {
            content: partial.content_without_calls(),
            api: self.signature.api.clone(),
            provider: self.signature.provider.clone(),
            model: self.signature.model.clone(),
            stop_reason,
            error_message: Some(why.to_owned()),
            timestamp: now,
            ..AssistantMessage::default()
        }
    }
}
