//! How a turn goes on after a step, and the five ways in which it ends.

use crate::session::Flush;
use crate::session::journal::{QueueKind, Record, TurnStatus};

use super::{Effect, Machine, Stage, fit};
use crate::harness::{Event, Failure};

/// The status, and what goes with it.
struct End {
    status: TurnStatus,
    reason: Option<String>,
    error: Option<Failure>,
}

impl Machine {
    /// After a tool batch: steering, then the next request, unless the cap is reached.
    pub(super) fn go_on(&mut self, effects: &mut Vec<Effect>) {
        let max = self.limits.max_turns;
        if max > 0 && self.step_number() >= max {
            let text = format!("stopped after {max} steps (max_turns); /retry goes on");
            self.pause("max_turns", &text, effects);
            return;
        }
        self.deliver_now(QueueKind::Steer, effects);
        self.next_step(effects);
    }

    /// After an answer without calls: steering first, then a follow-up, else the end.
    pub(super) fn answer_without_calls(
        &mut self,
        reason: Option<&'static str>,
        effects: &mut Vec<Effect>,
    ) {
        if reason == Some("length") {
            effects.push(Effect::Emit(Event::Notice {
                text: "the answer reached the model's output limit and is cut off".into(),
            }));
        }
        if self.deliver_now(QueueKind::Steer, effects)
            || self.deliver_now(QueueKind::FollowUp, effects)
        {
            self.next_step(effects);
            return;
        }
        let reason = reason.map(str::to_owned);
        self.end(End { status: TurnStatus::Completed, reason, error: None }, effects);
    }

    /// Ends as completed, with something for the person to decide.
    pub(super) fn pause(&mut self, reason: &str, text: &str, effects: &mut Vec<Effect>) {
        effects.push(Effect::Emit(Event::Notice { text: text.to_owned() }));
        let reason = Some(reason.to_owned());
        self.end(End { status: TurnStatus::Completed, reason, error: None }, effects);
    }

    pub(super) fn fail(&mut self, failure: Failure, effects: &mut Vec<Effect>) {
        effects.push(Effect::Emit(Event::Error { error: failure.clone() }));
        let reason = Some(failure.kind.to_owned());
        self.end(End { status: TurnStatus::Failed, reason, error: Some(failure) }, effects);
    }

    pub(super) fn finish_stopped(&mut self, effects: &mut Vec<Effect>) {
        let reason = Some("aborted".to_owned());
        self.end(End { status: TurnStatus::Cancelled, reason, error: None }, effects);
    }

    /// The disk refused. Nothing more is written for this turn; whatever runs is cancelled, and the
    /// next opening settles what the file holds.
    pub(super) fn append_failed(&mut self, message: &str, effects: &mut Vec<Effect>) {
        let begun = self.turn.as_ref().is_some_and(|turn| turn.begun);
        let failure = Failure::of_session(message, begun);
        effects.push(Effect::Emit(Event::Error { error: failure.clone() }));
        if self.queue != self.stored_queue {
            // Nobody may lose a message, or send it twice, because its record was refused.
            self.queue.rewind(&self.stored_queue);
            effects.push(self.queue_update());
        }
        let Some(turn) = self.turn.take() else {
            // The last words of a turn that had already ended: readers still wait for the quiet.
            if self.job.is_none() {
                effects.push(Effect::Emit(Event::Settled));
            }
            return;
        };
        effects.push(Effect::CancelRequest);
        effects.push(Effect::CancelWait);
        effects.push(Effect::CancelTools);
        effects.push(Effect::CancelJob);
        if let Stage::Folding(folding) = &turn.stage {
            effects.push(fit::end_of(folding, None, true));
        }
        if turn.begun {
            effects.push(Effect::EndRun);
            effects.push(Effect::Emit(Event::TurnCompleted {
                session: self.session.clone(),
                turn: turn.id,
                status: TurnStatus::Failed,
                result: turn.result,
                error: Some(failure),
                reason: Some("session".into()),
            }));
        }
        effects.push(Effect::Emit(Event::Settled));
    }

    /// Writes what waits in a queue as user messages; false when nothing waits.
    fn deliver_now(&mut self, kind: QueueKind, effects: &mut Vec<Effect>) -> bool {
        let items = self.queue.drain(kind);
        if items.is_empty() {
            return false;
        }
        let mut bodies = Vec::new();
        self.deliver(items, &mut bodies);
        effects.push(Effect::Append { bodies, flush: Flush::Sync });
        effects.push(self.queue_update());
        true
    }

    fn end(&mut self, end: End, effects: &mut Vec<Effect>) {
        let Some(turn) = self.turn.take() else { return };
        let finished = Record::Finished {
            turn: turn.id.clone(),
            status: end.status,
            result: turn.result.clone(),
            error: end.error.as_ref().map(|failure| failure.message.clone()),
            reason: end.reason.clone(),
            usage: turn.usage,
        };
        effects.push(Effect::Append { bodies: vec![finished.body()], flush: Flush::Sync });
        effects.push(Effect::EndRun);
        effects.push(Effect::Emit(Event::TurnCompleted {
            session: self.session.clone(),
            turn: turn.id.clone(),
            status: end.status,
            result: turn.result,
            error: end.error,
            reason: end.reason,
        }));
        // Told first, then noted: after a crash in between, readers are told again.
        effects.push(Effect::Barrier);
        let notified = Record::Notified { turn: turn.id };
        effects.push(Effect::Append { bodies: vec![notified.body()], flush: Flush::Lazy });
        effects.push(Effect::Emit(Event::Settled));
    }
}
