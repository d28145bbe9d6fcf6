//! What tasks report to the driver, and what the driver does about it.

use std::sync::Arc;

use crate::message::Delta;
use crate::providers::StreamEvent;

use super::Driver;
use super::job::Outcome;
use crate::harness::turn::Input;
use crate::harness::{CallKey, Event, Waiting};

/// A report.
#[derive(Debug)]
pub(super) enum Inside {
    /// From the stream of request number `.0`.
    Stream(u64, StreamEvent),
    /// Something the machine decides about.
    Input(Input),
    /// A running tool's output so far.
    Output(CallKey, Arc<str>),
    /// What job number `.0` has to tell before its end.
    Meanwhile(u64, Event),
    /// Job number `.0` has its summary, or has none.
    Summarised(u64, Outcome),
}

impl Driver {
    pub(super) fn report(&mut self, report: Inside) {
        match report {
            Inside::Stream(request, event) => self.stream_event(request, event),
            Inside::Input(input) => self.feed(input),
            Inside::Meanwhile(job, event) => self.meanwhile(job, event),
            Inside::Summarised(job, outcome) => self.summarised(job, outcome),
            Inside::Output(key, output) => {
                if let Some(call) = self.running.get_mut(&key) {
                    call.output = output.clone();
                    self.emit(Event::ToolExecutionUpdate { key, partial_result: output });
                }
            }
        }
    }

    pub(super) fn feed(&mut self, input: Input) {
        let effects = self.machine.step(input, self.now());
        // A refused append has already been told and has ended the turn.
        let _ = self.perform(effects);
    }

    fn stream_event(&mut self, request: u64, event: StreamEvent) {
        match event {
            StreamEvent::Connected { .. } => self.emit(Event::RequestWaiting {
                waiting: Waiting::FirstByte,
                model: self.model.spec.reference(),
            }),
            StreamEvent::Delta(delta) => {
                self.feed(Input::Delta { request, delta });
                let now = self.now();
                if let (Some(turn), Some(partial)) =
                    (self.machine.turn_id(), self.machine.partial())
                {
                    self.partial.note(turn, self.machine.step_number(), partial, now);
                }
            }
            StreamEvent::Finished(message) => {
                self.feed(Input::Finished { request, message });
                self.partial.clear();
            }
            StreamEvent::Failed(error) => {
                self.feed(Input::Failed { request, error });
                self.partial.clear();
            }
        }
    }
}

/// Joins text pieces that arrived together, so that a fast stream costs fewer events.
pub(super) fn coalesce(events: Vec<StreamEvent>) -> Vec<StreamEvent> {
    let mut joined: Vec<StreamEvent> = Vec::with_capacity(events.len());
    for event in events {
        if let (Some(StreamEvent::Delta(last)), StreamEvent::Delta(next)) =
            (joined.last_mut(), &event)
            && join(last, next)
        {
            continue;
        }
        joined.push(event);
    }
    joined
}

fn join(last: &mut Delta, next: &Delta) -> bool {
    let (at, text, to, more) = match (last, next) {
        (
            Delta::TextDelta { index: at, delta: text },
            Delta::TextDelta { index: to, delta: more },
        )
        | (
            Delta::ThinkingDelta { index: at, delta: text },
            Delta::ThinkingDelta { index: to, delta: more },
        )
        | (
            Delta::ToolcallDelta { index: at, delta: text },
            Delta::ToolcallDelta { index: to, delta: more },
        ) => (at, text, to, more),
        _ => return false,
    };
    if at != to {
        return false;
    }
    text.push_str(more);
    true
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn text(index: usize, delta: &str) -> StreamEvent {
        StreamEvent::Delta(Delta::TextDelta { index, delta: delta.into() })
    }

    #[test]
    fn neighbours_of_one_block_join_and_others_keep_their_order() {
        let start = StreamEvent::Delta(Delta::TextStart { index: 1 });
        let joined = coalesce(vec![
            text(0, "a"),
            text(0, "b"),
            start.clone(),
            text(1, "c"),
            text(0, "d"),
            text(0, "e"),
        ]);
        assert_eq!(joined, vec![text(0, "ab"), start, text(1, "c"), text(0, "de")]);
    }
}
