//! What people and programs ask for while a turn runs or not: prompt, queues, abort, decisions.

use crate::message::{Message, Part, ToolCall, UserMessage};
use crate::policy::Decision;
use crate::session::Flush;
use crate::session::journal::{QueueKind, Record};

use super::{Effect, Fresh, Machine, Stage, Turn};
use crate::harness::batch::{Ready, State};
use crate::harness::queue::Item;
use crate::harness::{CallKey, ErrorCode, Event, HarnessError, HeldCall, Queued, Reply};

type Answer = Result<(Reply, Vec<Effect>), HarnessError>;

/// What a turn begins with.
enum Opening {
    Prompt(Vec<Part>),
    /// A message that waited in a queue.
    Queued(Box<Item>),
    /// Nothing new: from where the conversation stands.
    Again,
}

impl Machine {
    /// Starts a turn with a message, or goes on from where the conversation stands without one.
    pub(in crate::harness) fn begin(&mut self, content: Option<Vec<Part>>, fresh: Fresh) -> Answer {
        self.may_begin()?;
        if content.as_ref().is_some_and(|parts| parts.iter().all(is_blank)) {
            return Err(HarnessError::new(ErrorCode::InvalidArgument, "the prompt is empty"));
        }
        let turn = fresh.turn.clone();
        let opening = match content {
            Some(content) => Opening::Prompt(content),
            None => Opening::Again,
        };
        Ok((Reply::Started { turn }, self.open(opening, fresh)))
    }

    /// Starts a turn with a message that waited.
    pub(super) fn begin_with_queued(&mut self, item: Item, fresh: Fresh) -> Vec<Effect> {
        self.open(Opening::Queued(Box::new(item)), fresh)
    }

    fn open(&mut self, opening: Opening, fresh: Fresh) -> Vec<Effect> {
        let turn = fresh.turn.clone();
        self.turn = Some(Turn::new(fresh.turn));
        self.guard.relent();
        let waiting = !self.queue.is_empty() || matches!(opening, Opening::Queued(_));
        let mut bodies = fresh.preface;
        let ahead = self.queue.drain(QueueKind::NextTurn);
        self.deliver(ahead, &mut bodies);
        match opening {
            Opening::Prompt(content) => {
                let message = Message::User(UserMessage { content, timestamp: fresh.now });
                bodies.push(self.message_body(message, None));
            }
            Opening::Queued(item) => self.deliver(vec![*item], &mut bodies),
            Opening::Again => {}
        }
        bodies.push(
            Record::Started {
                turn: turn.clone(),
                session: self.session.clone(),
                idempotency_key: None,
                parent: None,
                depth: 0,
                options: fresh.options,
            }
            .body(),
        );
        let steering = self.queue.drain(QueueKind::Steer);
        self.deliver(steering, &mut bodies);
        let mut effects = vec![
            Effect::Emit(Event::TurnStarted { session: self.session.clone(), turn }),
            Effect::Emit(Event::AgentStart),
            Effect::Append { bodies, flush: Flush::Sync },
        ];
        if waiting {
            effects.push(self.queue_update());
        }
        self.next_step(&mut effects);
        effects
    }

    /// Puts a message into a queue. A follow-up on an idle session starts a turn instead.
    pub(in crate::harness) fn enqueue(
        &mut self,
        kind: QueueKind,
        text: String,
        fresh: Fresh,
    ) -> Answer {
        if text.trim().is_empty() {
            return Err(HarnessError::new(ErrorCode::InvalidArgument, "the message is empty"));
        }
        match (kind, self.turn.is_some() || self.job.is_some()) {
            (QueueKind::Steer, false) => {
                return Err(HarnessError::new(
                    ErrorCode::InvalidState,
                    "nothing is running to steer: send it as a prompt",
                ));
            }
            (QueueKind::FollowUp, false) => return self.begin(Some(vec![Part::text(text)]), fresh),
            _ => {}
        }
        let item = Item {
            id: self.queue.issue_id(fresh.now),
            kind,
            message: Message::user(text, fresh.now),
        };
        let queued = item.shown();
        let record = Record::Queued {
            id: item.id.clone(),
            session: self.session.clone(),
            kind,
            message: item.message.clone(),
        };
        self.queue.push(item);
        let effects = vec![
            Effect::Append { bodies: vec![record.body()], flush: Flush::Sync },
            self.queue_update(),
        ];
        Ok((Reply::Queued { queued }, effects))
    }

    /// Takes one message back.
    pub(in crate::harness) fn dequeue(&mut self, id: &str) -> Answer {
        let Some(item) = self.queue.remove(id) else {
            return Err(HarnessError::new(
                ErrorCode::InvalidArgument,
                format!("no message {id} waits: it was already delivered or taken back"),
            ));
        };
        let effects = vec![
            Effect::Append {
                bodies: vec![Record::Dequeued { id: item.id.clone() }.body()],
                flush: Flush::Sync,
            },
            self.queue_update(),
        ];
        Ok((Reply::Cleared { queued: vec![item.shown()] }, effects))
    }

    /// Stops the turn: the record first, then the cancelling. When idle only the queue comes back.
    pub(in crate::harness) fn abort(&mut self, by: &str, now: i64) -> (Vec<Queued>, Vec<Effect>) {
        let mut effects = Vec::new();
        let mut bodies = Vec::new();
        if let Some(turn) = self.turn.as_mut().filter(|turn| turn.stopped.is_none()) {
            turn.stopped = Some(by.to_owned());
            bodies.push(Record::Stop { turn: turn.id.clone(), by: by.to_owned() }.body());
        }
        let cleared = self.queue.hand_back();
        bodies.extend(cleared.iter().map(|item| Record::Dequeued { id: item.id.clone() }.body()));
        if !bodies.is_empty() {
            effects.push(Effect::Append { bodies, flush: Flush::Sync });
        }
        let cleared: Vec<Queued> = cleared.iter().map(Item::shown).collect();
        if !cleared.is_empty() {
            effects.push(self.queue_update());
        }
        effects.push(Effect::Emit(Event::Abort { cleared: cleared.clone() }));
        effects.push(Effect::Barrier);
        self.cancel_stage(now, &mut effects);
        self.cancel_job(&mut effects);
        (cleared, effects)
    }

    /// A call that waits for a person, and the hash of what its card shows.
    pub(in crate::harness) fn asked(&self, key: &CallKey) -> Option<(ToolCall, String)> {
        let turn = self.turn.as_ref().filter(|it| it.id == key.turn && it.step == key.step)?;
        let Stage::Calls(batch) = &turn.stage else { return None };
        let slot = batch.slots.get(key.ordinal as usize)?;
        let State::Held(ready, _) = &slot.state else { return None };
        Some((slot.call.clone(), ready.hash.clone()))
    }

    /// The world has changed under a card: a fresh one takes its place, and the call still waits.
    pub(in crate::harness) fn ask_again(
        &mut self,
        ready: Box<Ready>,
        held: Box<HeldCall>,
    ) -> Vec<Effect> {
        let Some(Stage::Calls(batch)) = self.turn.as_mut().map(|turn| &mut turn.stage) else {
            return Vec::new();
        };
        let Some(slot) = batch.slots.get_mut(held.key.ordinal as usize) else { return Vec::new() };
        if !matches!(slot.state, State::Held(..)) {
            return Vec::new();
        }
        let id = slot.call.id.clone();
        slot.state = State::Held(ready, held.clone());
        Self::ask(id, *held)
    }

    /// The record of a question, then the question.
    pub(super) fn ask(call: String, held: HeldCall) -> Vec<Effect> {
        let record = Record::Held {
            turn: held.key.turn.clone(),
            step: held.key.step,
            call,
            ordinal: held.key.ordinal,
            reason: held.reason.clone(),
            hash: held.hash.clone(),
        };
        vec![
            Effect::Append { bodies: vec![record.body()], flush: Flush::Sync },
            Effect::Emit(Event::ApprovalRequested { held: held.into() }),
        ]
    }

    /// A person's answer to a held call.
    pub(in crate::harness) fn decide(
        &mut self,
        key: &CallKey,
        decision: Decision,
        now: i64,
    ) -> Answer {
        let gone = || {
            HarnessError::new(
                ErrorCode::InvalidState,
                "this call no longer waits: it was answered or its turn is over",
            )
        };
        if self.turn.as_ref().is_none_or(|turn| turn.id != key.turn || turn.step != key.step) {
            return Err(gone());
        }
        let ordinal = key.ordinal as usize;
        let Some(Stage::Calls(batch)) = self.turn.as_mut().map(|turn| &mut turn.stage) else {
            return Err(gone());
        };
        let Some(slot) = batch.slots.get_mut(ordinal) else { return Err(gone()) };
        let State::Held(ready, held) = &slot.state else { return Err(gone()) };
        let (mut ready, held) = (ready.clone(), held.clone());
        let mut effects = Vec::new();
        let allowed = !matches!(decision, Decision::Deny { .. });
        effects.push(Effect::Emit(Event::ApprovalResolved { key: key.clone(), allowed }));
        match decision {
            Decision::Once | Decision::Session => {
                let word = if decision == Decision::Session { "session" } else { "once" };
                ready.decision = Some(word.to_owned());
                slot.state = State::Ready(ready);
                if decision == Decision::Session {
                    effects.push(Effect::Remember { held });
                }
                self.start_calls(&mut effects);
            }
            Decision::Deny { message } => self.deny(ordinal, message, now, &mut effects),
        }
        Ok((Reply::Done, effects))
    }
}

fn is_blank(part: &Part) -> bool {
    matches!(part, Part::Text { text, .. } if text.trim().is_empty())
}
