//! The turn as a pure machine: inputs come in, effects go out, nothing waits and nothing is done here.
//!
//! The driver is the only caller. It executes the effects in order and answers with inputs, so both
//! orders of any two concurrent things can be written down as a test.
//!
//! Invariant: a turn ends with every call of its answers closed by exactly one result.
//! Invariant: an effect on the world stands in the list after the record that announces it.

mod answer;
mod command;
mod end;
mod fit;
mod job;
mod tools;

#[cfg(test)]
mod fit_tests;
#[cfg(test)]
mod tests;

pub(super) use fit::{Folded, Size};

use std::time::Duration;

use serde_json::{Map, Value};

use crate::message::{
    AssistantMessage, Delta, Message, Partial, SessionId, ToolCall, ToolOutcome, TurnId, Usage,
};
use crate::providers::{ProviderError, RetryPolicy};
use crate::session::{Body, Flush, Origin};

use super::batch::{Batch, Prepared};
use super::queue::{Item, Queue};
use super::{CallKey, CompactionReason, Event, Failure, HeldCall, Phase};

/// What the machine asks of the driver, in order.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Effect {
    /// Append to the session. Consecutive appends become one write.
    Append {
        bodies: Vec<Body>,
        flush: Flush,
    },
    /// Write what is collected before anything after this.
    Barrier,
    Emit(Event),
    /// A request is due: look at its size and answer with [`Input::Measured`].
    Request {
        request: u64,
    },
    /// Ask the model; the context is built from the session.
    Send {
        request: u64,
    },
    /// Fold the older part of the conversation; answered with [`Input::Compacted`].
    Fold {
        job: u64,
        reason: CompactionReason,
    },
    /// Tell the end of a compaction; its entry is the one appended before it.
    EndFold {
        reason: CompactionReason,
        tokens_before: u64,
        tokens_after: u64,
        error: Option<Failure>,
        aborted: bool,
    },
    CancelRequest,
    /// Wait before the next attempt, then answer with [`Input::RetryDue`].
    Wait {
        request: u64,
        attempt: u32,
        retry_after: Option<Duration>,
        failure: Failure,
    },
    CancelWait,
    /// Look at a call; answered with [`Input::Prepared`].
    Prepare {
        ordinal: usize,
        call: ToolCall,
    },
    Run {
        key: CallKey,
        call: ToolCall,
        arguments: Value,
        summary: String,
    },
    CancelTools,
    /// Remember a person's decision for the rest of the session.
    Remember {
        held: Box<HeldCall>,
    },
    /// The step is over: tell readers, take a save point.
    EndStep,
    /// The run is over: tell readers which messages it made.
    EndRun,
    /// Stop the summary under way and answer who asked for it.
    CancelJob,
}

/// What the driver reports.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Input {
    Delta {
        request: u64,
        delta: Delta,
    },
    Finished {
        request: u64,
        message: Box<AssistantMessage>,
    },
    Failed {
        request: u64,
        error: ProviderError,
    },
    RetryDue {
        request: u64,
    },
    /// The size of the request that is due.
    Measured {
        request: u64,
        size: Size,
    },
    /// A compaction of the turn is ready to be stored, or failed.
    Compacted {
        job: u64,
        outcome: Result<Box<Folded>, Failure>,
    },
    Prepared {
        ordinal: usize,
        prepared: Prepared,
    },
    ToolDone {
        key: CallKey,
        outcome: ToolOutcome,
        duration_ms: u64,
    },
    /// The session could not be written; nothing of the last append is in it.
    AppendFailed {
        message: String,
    },
}

/// What a new turn needs from outside.
#[derive(Debug, Clone, Default)]
pub(super) struct Fresh {
    /// Unix milliseconds.
    pub(super) now: i64,
    pub(super) turn: TurnId,
    /// Entries that must stand before the first user message: model and thinking level.
    pub(super) preface: Vec<Body>,
    /// What the turn froze at its start, for the record.
    pub(super) options: Map<String, Value>,
}

/// The numbers the machine decides by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// Steps a turn; 0 for no cap.
    pub(super) max_turns: u32,
    pub(super) retry: RetryPolicy,
}

/// The machine of one session.
#[derive(Debug, Clone)]
pub(super) struct Machine {
    session: SessionId,
    pub(super) limits: Limits,
    pub(super) queue: Queue,
    /// The queue as the file has it.
    stored_queue: Queue,
    turn: Option<Turn>,
    /// A summary that is written while no turn runs.
    job: Option<job::Job>,
    requests: u64,
    jobs: u64,
    guard: fit::Guard,
    /// Who the answers come from, for entries the machine itself has to write.
    pub(super) signature: Signature,
}

/// The stamp of an assistant message that no provider finished.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Signature {
    pub(super) api: String,
    pub(super) provider: String,
    pub(super) model: String,
}

#[derive(Debug, Clone)]
struct Turn {
    id: TurnId,
    step: u32,
    stage: Stage,
    usage: Usage,
    /// Its start is on disk.
    begun: bool,
    /// Somebody stopped it; it ends when nothing runs any more.
    stopped: Option<String>,
    /// The final text so far.
    result: Option<String>,
    /// What failed in the last step, and how many steps in a row it did.
    failing: Option<(String, u32)>,
    /// Of the last request.
    size: Size,
    /// A request was too large, and the conversation was folded for it.
    overflowed: bool,
    /// It was said that the context is nearly full.
    warned: bool,
}

#[derive(Debug, Clone)]
enum Stage {
    Requesting {
        request: u64,
        attempt: u32,
        partial: Partial,
    },
    Waiting {
        request: u64,
        attempt: u32,
        failure: Failure,
    },
    Calls(Batch),
    /// The older part is being folded so that the next request fits.
    Folding(fit::Folding),
}

impl Turn {
    fn new(id: TurnId) -> Self {
        Self {
            id,
            step: 0,
            stage: Stage::Requesting { request: 0, attempt: 0, partial: Partial::default() },
            usage: Usage::default(),
            begun: false,
            stopped: None,
            result: None,
            failing: None,
            size: Size::default(),
            overflowed: false,
            warned: false,
        }
    }
}

impl Machine {
    pub(super) fn new(session: SessionId, limits: Limits, queue: Queue) -> Self {
        let stored_queue = queue.clone();
        let signature = Signature::default();
        Self {
            session,
            limits,
            queue,
            stored_queue,
            turn: None,
            job: None,
            requests: 0,
            jobs: 0,
            guard: fit::Guard::default(),
            signature,
        }
    }

    /// One step: what is to be done about `input`. Late and repeated inputs are ignored.
    pub(super) fn step(&mut self, input: Input, now: i64) -> Vec<Effect> {
        let mut effects = Vec::new();
        match input {
            Input::Delta { request, delta } => self.delta(request, delta, &mut effects),
            Input::Finished { request, message } => {
                self.finished(request, *message, now, &mut effects);
            }
            Input::Failed { request, error } => self.failed(request, &error, now, &mut effects),
            Input::RetryDue { request } => self.retry_due(request, &mut effects),
            Input::Measured { request, size } => self.measured(request, size, &mut effects),
            Input::Compacted { job, outcome } => self.compacted(job, outcome, &mut effects),
            Input::Prepared { ordinal, prepared } => {
                self.prepared(ordinal, prepared, now, &mut effects);
            }
            Input::ToolDone { key, outcome, duration_ms } => {
                self.tool_done(&key, outcome, duration_ms, now, &mut effects);
            }
            Input::AppendFailed { message } => self.append_failed(&message, &mut effects),
        }
        effects
    }

    /// What was collected so far is on disk.
    pub(super) fn stored(&mut self) {
        self.stored_queue.clone_from(&self.queue);
        if let Some(turn) = &mut self.turn {
            turn.begun = true;
        }
    }

    pub(super) fn phase(&self) -> Phase {
        match self.turn.as_ref().map(|turn| &turn.stage) {
            None => self.job.map_or(Phase::Idle, |job| job.phase),
            Some(Stage::Waiting { .. }) => Phase::Retry,
            Some(Stage::Folding(_)) => Phase::Compaction,
            Some(_) => Phase::Turn,
        }
    }

    pub(super) fn turn_id(&self) -> Option<&TurnId> {
        self.turn.as_ref().map(|turn| &turn.id)
    }

    /// The step under way, 0 when idle.
    pub(super) fn step_number(&self) -> u32 {
        self.turn.as_ref().map_or(0, |turn| turn.step)
    }

    /// What has streamed of the answer under way.
    pub(super) fn partial(&self) -> Option<&Partial> {
        match self.turn.as_ref().map(|turn| &turn.stage) {
            Some(Stage::Requesting { partial, .. }) => Some(partial),
            _ => None,
        }
    }

    /// The calls that wait for a person.
    pub(super) fn held(&self) -> Vec<HeldCall> {
        match self.turn.as_ref().map(|turn| &turn.stage) {
            Some(Stage::Calls(batch)) => batch.held().cloned().collect(),
            _ => Vec::new(),
        }
    }

    /// Asks for the next answer, as a new step.
    fn next_step(&mut self, effects: &mut Vec<Effect>) {
        let max = self.limits.max_turns;
        let Some(turn) = &mut self.turn else { return };
        turn.step += 1;
        self.requests += 1;
        turn.stage =
            Stage::Requesting { request: self.requests, attempt: 0, partial: Partial::default() };
        effects.push(Effect::Emit(Event::TurnStart { step: turn.step, max }));
        effects.push(Effect::Request { request: self.requests });
    }

    /// Writes queued messages as user messages of the turn.
    fn deliver(&self, items: Vec<Item>, bodies: &mut Vec<Body>) {
        for item in items {
            bodies.push(self.message_body(item.message, None));
            bodies.push(crate::session::journal::Record::Dequeued { id: item.id }.body());
        }
    }

    fn message_body(&self, message: Message, origin: Option<Origin>) -> Body {
        let own = || {
            let turn = self.turn.as_ref()?;
            let step = (turn.step > 0).then_some(turn.step);
            Some(Origin { turn: Some(turn.id.clone()), step, ..Origin::default() })
        };
        Body::Message { message, harness: origin.or_else(own) }
    }

    fn queue_update(&self) -> Effect {
        Effect::Emit(Event::QueueUpdate { queue: self.queue.list() })
    }
}
