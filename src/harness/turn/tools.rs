//! The calls of an answer: prepare in order, start together, store results as they come.

use serde_json::Value;

use crate::message::{Message, StopReason, ToolOutcome, ToolResultMessage};
use crate::session::journal::{Record, StartedCall};
use crate::session::{Body, Flush, Origin};

use super::{Effect, Machine, Stage};
use crate::harness::batch::{Batch, Prepared, State};
use crate::harness::owner;
use crate::harness::{CallKey, Event, HeldCall};

/// Equal failing steps after which a person has to look.
const REPEATS_BEFORE_PAUSE: u32 = 3;

impl Batch {
    pub(super) fn held(&self) -> impl Iterator<Item = &HeldCall> {
        self.slots.iter().filter_map(|slot| match &slot.state {
            State::Held(_, held) => Some(&**held),
            _ => None,
        })
    }
}

impl Machine {
    fn batch(&mut self) -> Option<&mut Batch> {
        match self.turn.as_mut().map(|turn| &mut turn.stage) {
            Some(Stage::Calls(batch)) => Some(batch),
            _ => None,
        }
    }

    fn key(&self, ordinal: usize) -> Option<CallKey> {
        let turn = self.turn.as_ref()?;
        let ordinal = u32::try_from(ordinal).ok()?;
        Some(CallKey { turn: turn.id.clone(), step: turn.step, ordinal })
    }

    /// Asks for the next call to be looked at, or starts what may start.
    pub(super) fn prepare_next(&mut self, effects: &mut Vec<Effect>) {
        let Some(batch) = self.batch() else { return };
        if let Some((ordinal, call)) = batch.next_to_prepare() {
            effects.push(Effect::Prepare { ordinal, call: call.clone() });
        } else {
            self.start_calls(effects);
            self.batch_done(effects);
        }
    }

    pub(super) fn prepared(
        &mut self,
        ordinal: usize,
        prepared: Prepared,
        now: i64,
        effects: &mut Vec<Effect>,
    ) {
        let Some(batch) = self.batch() else { return };
        match prepared {
            Prepared::Ready(ready) => {
                if batch.prepared(ordinal, State::Ready(ready)).is_none() {
                    return;
                }
            }
            Prepared::Held(ready, held) => {
                let call = batch.slots.get(ordinal).map(|slot| slot.call.id.clone());
                let card = (*held).clone();
                if batch.prepared(ordinal, State::Held(ready, held)).is_none() {
                    return;
                }
                effects.extend(Self::ask(call.unwrap_or_default(), card));
            }
            Prepared::Refused { outcome, scope } => {
                if !batch.slots.get(ordinal).is_some_and(|slot| slot.state == State::Waiting) {
                    return;
                }
                let reason = outcome.content.first().map(|_| Message::text(&as_message(&outcome)));
                self.close(ordinal, outcome, None, now, scope.map(|word| (word, reason)), effects);
            }
        }
        self.prepare_next(effects);
    }

    /// Starts every call that may start, after one record that announces them all.
    pub(super) fn start_calls(&mut self, effects: &mut Vec<Effect>) {
        let Some(turn) = &mut self.turn else { return };
        let (id, step) = (turn.id.clone(), turn.step);
        let Stage::Calls(batch) = &mut turn.stage else { return };
        let mut started = Vec::new();
        let mut runs = Vec::new();
        for at in batch.startable() {
            let slot = &mut batch.slots[at];
            let State::Ready(ready) = std::mem::replace(&mut slot.state, State::Running) else {
                continue;
            };
            let ordinal = u32::try_from(at).unwrap_or(u32::MAX);
            let key = CallKey { turn: id.clone(), step, ordinal };
            if !ready.idempotent || ready.decision.is_some() {
                started.push(StartedCall {
                    call: slot.call.id.clone(),
                    ordinal,
                    tool: slot.call.name.clone(),
                    hash: ready.hash.clone(),
                    arguments: (ready.arguments != slot.call.arguments)
                        .then(|| ready.arguments.clone()),
                    decision: ready.decision.clone(),
                    pre_image: ready.pre_image.clone(),
                    post_image: ready.post_image.clone(),
                });
            }
            runs.push((key, slot.call.clone(), ready.arguments, ready.summary));
        }
        if !started.is_empty() {
            let record =
                Record::Call { turn: id, step, calls: started, owner: owner::this_process() };
            effects.push(Effect::Append { bodies: vec![record.body()], flush: Flush::Sync });
        }
        for (key, call, arguments, summary) in runs {
            effects.push(Effect::Emit(Event::ToolExecutionStart {
                key: key.clone(),
                tool_call_id: call.id.clone(),
                tool_name: call.name.clone(),
                args: arguments.clone(),
                summary: summary.clone(),
            }));
            effects.push(Effect::Run { key, call, arguments, summary });
        }
    }

    pub(super) fn tool_done(
        &mut self,
        key: &CallKey,
        outcome: ToolOutcome,
        duration_ms: u64,
        now: i64,
        effects: &mut Vec<Effect>,
    ) {
        let ordinal = key.ordinal as usize;
        if self.key(ordinal).as_ref() != Some(key) {
            return;
        }
        let Some(batch) = self.batch() else { return };
        if !batch.slots.get(ordinal).is_some_and(|slot| slot.state == State::Running) {
            return;
        }
        self.close(ordinal, outcome, Some(duration_ms), now, None, effects);
        self.start_calls(effects);
        self.batch_done(effects);
    }

    /// A person said no. The others go on; the model reads why.
    pub(super) fn deny(
        &mut self,
        ordinal: usize,
        message: Option<String>,
        now: i64,
        effects: &mut Vec<Effect>,
    ) {
        let text = match &message {
            Some(message) => format!("The user did not allow this call and says: {message}"),
            None => "The user did not allow this call. Do not try it again in another way; \
                     ask or choose another approach."
                .to_owned(),
        };
        self.close(ordinal, ToolOutcome::error(text), None, now, Some(("once", message)), effects);
        self.start_calls(effects);
        self.batch_done(effects);
    }

    /// The output limit cut the answer, so its calls cannot be trusted: none runs.
    pub(super) fn refuse_cut_calls(&mut self, now: i64, effects: &mut Vec<Effect>) {
        let count = self.batch().map_or(0, |batch| batch.slots.len());
        for ordinal in 0..count {
            let outcome = ToolOutcome::error(
                "This call was not run: the answer reached the output limit, so its arguments may \
                 be cut off. Send the call again, in smaller pieces if it is long.",
            );
            self.close(ordinal, outcome, None, now, None, effects);
        }
        effects.push(Effect::Emit(Event::Notice {
            text: "the answer reached the model's output limit; its tool calls were not run".into(),
        }));
        self.batch_done(effects);
    }

    /// Closes a call with its one result: record of a refusal first, then the result.
    pub(super) fn close(
        &mut self,
        ordinal: usize,
        outcome: ToolOutcome,
        duration_ms: Option<u64>,
        now: i64,
        denied: Option<(&str, Option<String>)>,
        effects: &mut Vec<Effect>,
    ) {
        let Some(key) = self.key(ordinal) else { return };
        let Some(slot) = self.batch().and_then(|batch| batch.slots.get_mut(ordinal)) else {
            return;
        };
        let ran = slot.state == State::Running;
        slot.state = State::Done;
        slot.failed = outcome.is_error;
        slot.terminate = outcome.terminate;
        let call = slot.call.clone();
        let mut bodies = Vec::new();
        if let Some((scope, reason)) = denied {
            bodies.push(denial(&key, &call.id, scope, reason));
        }
        let image =
            |name: &str| outcome.details.get(name).and_then(Value::as_str).map(String::from);
        let origin = Origin {
            turn: Some(key.turn.clone()),
            step: Some(key.step),
            ordinal: Some(key.ordinal),
            pre_image: image("preImage"),
            post_image: image("postImage"),
            annotations: None,
        };
        let result = ToolResultMessage {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            content: outcome.content,
            details: (!outcome.details.is_null()).then_some(outcome.details),
            is_error: outcome.is_error,
            duration_ms,
            timestamp: now,
        };
        if !ran {
            effects.push(Effect::Emit(Event::ToolExecutionStart {
                key: key.clone(),
                tool_call_id: call.id.clone(),
                tool_name: call.name.clone(),
                args: call.arguments.clone(),
                summary: String::new(),
            }));
        }
        effects.push(Effect::Emit(Event::ToolExecutionEnd {
            key,
            tool_call_id: call.id,
            tool_name: call.name,
            is_error: result.is_error,
            result: result.clone().into(),
        }));
        bodies.push(self.message_body(Message::ToolResult(result), Some(origin)));
        effects.push(Effect::Append { bodies, flush: Flush::Lazy });
    }

    /// When no call is open any more: the next step, or the end.
    pub(super) fn batch_done(&mut self, effects: &mut Vec<Effect>) {
        let Some(turn) = &mut self.turn else { return };
        let Stage::Calls(batch) = &turn.stage else { return };
        if !batch.all_done() {
            return;
        }
        let terminates = batch.terminates();
        let fingerprint = batch.failing_fingerprint();
        turn.failing = match (fingerprint, turn.failing.take()) {
            (Some(now), Some((before, times))) if now == before => Some((now, times + 1)),
            (Some(now), _) => Some((now, 1)),
            (None, _) => None,
        };
        let repeats =
            turn.failing.as_ref().is_some_and(|(_, times)| *times >= REPEATS_BEFORE_PAUSE);
        effects.push(Effect::EndStep);
        if turn.stopped.is_some() {
            self.finish_stopped(effects);
        } else if terminates {
            self.answer_without_calls(None, effects);
        } else if repeats {
            self.pause("repeated_failure", "the same call failed three times in a row; the turn was paused: say how to go on, or /retry", effects);
        } else {
            self.go_on(effects);
        }
    }

    /// Cancels whatever the turn is doing. What already runs is waited for.
    pub(super) fn cancel_stage(&mut self, now: i64, effects: &mut Vec<Effect>) {
        let Some(turn) = &mut self.turn else { return };
        match &mut turn.stage {
            Stage::Requesting { partial, .. } => {
                let partial = std::mem::take(partial);
                effects.push(Effect::CancelRequest);
                let why = "stopped before the answer was complete";
                let message = self.unfinished(&partial, StopReason::Aborted, why, now);
                self.store_unfinished(message, effects);
                self.finish_stopped(effects);
            }
            Stage::Waiting { failure, .. } => {
                let why = failure.message.clone();
                effects.push(Effect::CancelWait);
                let message = self.unfinished(&Default::default(), StopReason::Error, &why, now);
                self.store_unfinished(message, effects);
                self.finish_stopped(effects);
            }
            Stage::Calls(_) => self.cancel_calls(now, effects),
            Stage::Folding(folding) => {
                let folding = folding.clone();
                self.cancel_fold(folding, effects);
            }
        }
    }

    fn store_unfinished(
        &mut self,
        message: crate::message::AssistantMessage,
        effects: &mut Vec<Effect>,
    ) {
        let body = self.message_body(Message::Assistant(message), None);
        effects.push(Effect::Append { bodies: vec![body], flush: Flush::Lazy });
        effects.push(Effect::EndStep);
    }

    fn cancel_calls(&mut self, now: i64, effects: &mut Vec<Effect>) {
        let Some(batch) = self.batch() else { return };
        let running = batch.running();
        let open: Vec<(usize, bool)> = batch
            .slots
            .iter()
            .enumerate()
            .filter(|(_, slot)| !matches!(slot.state, State::Running | State::Done))
            .map(|(at, slot)| (at, matches!(slot.state, State::Held(..))))
            .collect();
        for (ordinal, held) in open {
            if held && let Some(key) = self.key(ordinal) {
                effects.push(Effect::Emit(Event::ApprovalResolved { key, allowed: false }));
            }
            let outcome = ToolOutcome::error("Operation aborted: the user stopped the turn.");
            self.close(ordinal, outcome, None, now, None, effects);
        }
        if running {
            effects.push(Effect::CancelTools);
        }
        self.batch_done(effects);
    }
}

fn denial(key: &CallKey, call: &str, scope: &str, reason: Option<String>) -> Body {
    Record::Denied {
        turn: key.turn.clone(),
        step: key.step,
        call: call.to_owned(),
        ordinal: key.ordinal,
        scope: scope.to_owned(),
        reason,
    }
    .body()
}

fn as_message(outcome: &ToolOutcome) -> Message {
    Message::User(crate::message::UserMessage { content: outcome.content.clone(), timestamp: 0 })
}
