//! The tool calls of one answer: prepared in order, then run together unless one must not.
//!
//! Pure bookkeeping: the turn asks what to do next and is told what has become of each call.

use serde_json::Value;

use crate::message::{ToolCall, ToolOutcome};

use super::HeldCall;

/// A call that passed lookup, repair, validation and policy.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ready {
    /// What will be run: after repair, and after hooks once there are any.
    pub(super) arguments: Value,
    pub(super) summary: String,
    /// SHA-256 of tool, arguments, working directory and pre-image.
    pub(super) hash: String,
    pub(super) pre_image: Option<String>,
    /// SHA-256 of the file as the call would leave it, where the tool can tell.
    pub(super) post_image: Option<String>,
    pub(super) idempotent: bool,
    pub(super) sequential: bool,
    /// `once` or `session` when a person allowed it.
    pub(super) decision: Option<String>,
}

/// What preparing a call came to.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Prepared {
    Ready(Box<Ready>),
    /// Waits for a person.
    Held(Box<Ready>, Box<HeldCall>),
    /// Never runs; the model reads the outcome. `scope` is set when somebody refused it.
    Refused {
        outcome: ToolOutcome,
        scope: Option<&'static str>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum State {
    Waiting,
    Held(Box<Ready>, Box<HeldCall>),
    Ready(Box<Ready>),
    Running,
    Done,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Slot {
    pub(super) call: ToolCall,
    pub(super) state: State,
    pub(super) failed: bool,
    pub(super) terminate: bool,
}

/// The calls of one answer, in the model's order.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Batch {
    pub(super) slots: Vec<Slot>,
    sequential: bool,
}

impl Batch {
    pub(super) fn new(calls: Vec<ToolCall>) -> Self {
        let slots = calls
            .into_iter()
            .map(|call| Slot { call, state: State::Waiting, failed: false, terminate: false })
            .collect();
        Self { slots, sequential: false }
    }

    /// The first call that nobody has looked at yet.
    pub(super) fn next_to_prepare(&self) -> Option<(usize, &ToolCall)> {
        let position = self.slots.iter().position(|slot| slot.state == State::Waiting)?;
        Some((position, &self.slots[position].call))
    }

    /// Notes what preparing came to. `None` when the call is not waiting any more.
    pub(super) fn prepared(&mut self, ordinal: usize, state: State) -> Option<()> {
        let slot = self.slots.get_mut(ordinal)?;
        if slot.state != State::Waiting {
            return None;
        }
        if let State::Ready(ready) | State::Held(ready, _) = &state {
            self.sequential |= ready.sequential;
        }
        slot.state = state;
        Some(())
    }

    /// The calls that may start now. In a sequential batch that is at most one, and only when all
    /// before it are done.
    pub(super) fn startable(&self) -> Vec<usize> {
        if self.next_to_prepare().is_some() {
            return Vec::new();
        }
        let ready = |slot: &Slot| matches!(slot.state, State::Ready(_));
        if self.sequential {
            let first_open = self.slots.iter().position(|slot| slot.state != State::Done);
            return first_open.filter(|&at| ready(&self.slots[at])).into_iter().collect();
        }
        (0..self.slots.len()).filter(|&at| ready(&self.slots[at])).collect()
    }

    pub(super) fn all_done(&self) -> bool {
        self.slots.iter().all(|slot| slot.state == State::Done)
    }

    pub(super) fn running(&self) -> bool {
        self.slots.iter().any(|slot| slot.state == State::Running)
    }

    /// Every result asked to end the turn.
    pub(super) fn terminates(&self) -> bool {
        self.slots.iter().all(|slot| slot.terminate)
    }

    /// What was asked and failed, to recognise a model that repeats itself; `None` when any call
    /// succeeded.
    pub(super) fn failing_fingerprint(&self) -> Option<String> {
        if self.slots.iter().any(|slot| !slot.failed) {
            return None;
        }
        let calls: Vec<String> = self
            .slots
            .iter()
            .map(|slot| {
                let raw = slot.call.raw_arguments.as_deref().unwrap_or_default();
                format!("{} {} {raw}", slot.call.name, slot.call.arguments)
            })
            .collect();
        Some(calls.join("\n"))
    }
}
