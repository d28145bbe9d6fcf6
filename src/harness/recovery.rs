//! What a crash left, settled when a session is opened: pure folding of the active branch.
//!
//! A turn is unfinished when its start is on the branch, was written to this very file, no end of it
//! stands there, and nothing after the start belongs to somebody else. Settling closes its open
//! calls, keeps what had streamed, and ends it; nothing is run again.

use std::collections::HashSet;
use std::sync::Arc;

use crate::message::{
    AssistantMessage, Message, Part, SessionId, StopReason, ToolResultMessage, TurnId, Usage,
};
use crate::session::journal::{Record, TurnStatus};
use crate::session::{Body, Entry, Origin};

use super::queue::Item;

/// What the branch says about the past.
#[derive(Debug, Default)]
pub(super) struct Past {
    pub(super) unfinished: Option<Unfinished>,
    /// Messages that were never delivered.
    pub(super) queue: Vec<Item>,
}

/// A turn without an end.
#[derive(Debug, PartialEq)]
pub(super) struct Unfinished {
    pub(super) turn: TurnId,
    /// Steps that have an answer.
    pub(super) steps: u32,
    /// Calls of the last answer without a result: ordinal, id, name, and whether it was started.
    open: Vec<(u32, String, String, bool)>,
    usage: Usage,
}

/// Folds a branch, root first.
pub(super) fn fold(branch: &[Arc<Entry>], session: &SessionId) -> Past {
    let mut past = Past::default();
    let mut current: Option<Unfinished> = None;
    for entry in branch {
        match Record::of(entry) {
            Some(Record::Started { turn, session: of, .. }) => {
                current = (of == *session).then_some(Unfinished {
                    turn,
                    steps: 0,
                    open: Vec::new(),
                    usage: Usage::default(),
                });
            }
            Some(Record::Finished { turn, .. }) => {
                if current.as_ref().is_some_and(|open| open.turn == turn) {
                    current = None;
                }
            }
            Some(Record::Call { turn, step, calls, .. }) => {
                if let Some(open) =
                    current.as_mut().filter(|open| open.turn == turn && open.steps == step)
                {
                    let started: HashSet<u32> = calls.iter().map(|call| call.ordinal).collect();
                    for (ordinal, _, _, ran) in &mut open.open {
                        *ran |= started.contains(ordinal);
                    }
                }
            }
            Some(Record::Queued { id, session: of, kind, message }) if of == *session => {
                // Older files say it again after each move of the leaf.
                past.queue.retain(|item| item.id != id);
                past.queue.push(Item { id, kind, message });
            }
            Some(Record::Dequeued { id }) => past.queue.retain(|item| item.id != id),
            Some(_) => {}
            None => current = current.and_then(|open| open.after(entry)),
        }
    }
    past.unfinished = current;
    past
}

impl Unfinished {
    /// The turn after one more entry, or nothing when the entry shows that somebody went on without it.
    fn after(mut self, entry: &Entry) -> Option<Self> {
        match &entry.body {
            Body::BranchSummary { .. } => return None,
            Body::Message { message, harness } => {
                let ours =
                    harness.as_ref().and_then(|origin| origin.turn.as_ref()) == Some(&self.turn);
                match message {
                    Message::User(_) | Message::Assistant(_) if !ours => return None,
                    Message::Assistant(answer) => self.answered(answer),
                    Message::ToolResult(result) => {
                        let ordinal = harness.as_ref().and_then(|origin| origin.ordinal);
                        self.open.retain(|(at, id, ..)| match ordinal {
                            Some(ordinal) => *at != ordinal,
                            None => *id != result.tool_call_id,
                        });
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        Some(self)
    }

    fn answered(&mut self, answer: &AssistantMessage) {
        self.steps += 1;
        self.usage.add(&answer.usage);
        self.open.clear();
        if matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) {
            return;
        }
        for (ordinal, call) in (0..).zip(answer.tool_calls()) {
            self.open.push((ordinal, call.id.clone(), call.name.clone(), false));
        }
    }

    /// What to append so that the session is usable: results for open calls, the cut answer, the end.
    pub(super) fn settle(self, cut: Option<AssistantMessage>, now: i64) -> Vec<Body> {
        let mut bodies = Vec::new();
        let step = self.steps;
        for (ordinal, id, name, started) in self.open {
            let text = if started {
                "Outcome unknown: the program ended while this call ran. It may have had effects; \
                 check before you repeat it."
            } else {
                "Not run: the program ended before this call started."
            };
            bodies.push(Body::Message {
                message: Message::ToolResult(ToolResultMessage {
                    tool_call_id: id,
                    tool_name: name,
                    content: vec![Part::text(text)],
                    details: None,
                    is_error: true,
                    duration_ms: None,
                    timestamp: now,
                }),
                harness: Some(Origin {
                    turn: Some(self.turn.clone()),
                    step: Some(step),
                    ordinal: Some(ordinal),
                    ..Origin::default()
                }),
            });
        }
        if let Some(answer) = cut {
            bodies.push(Body::Message {
                message: Message::Assistant(answer),
                harness: Some(Origin {
                    turn: Some(self.turn.clone()),
                    step: Some(step + 1),
                    ..Origin::default()
                }),
            });
        }
        let finished = Record::Finished {
            turn: self.turn.clone(),
            status: TurnStatus::Cancelled,
            result: None,
            error: None,
            reason: Some("interrupted".into()),
            usage: self.usage,
        };
        bodies.push(finished.body());
        bodies.push(Record::Notified { turn: self.turn }.body());
        bodies
    }
}
