//! Executing effects in order: appends are collected into one write, events follow their entries.
//!
//! Invariant: an event that speaks of an entry is sent after the entry is in the file.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::message::{AssistantMessage, Message};
use crate::policy::Decision;
use crate::session::{Body, Entry, Flush};
use crate::text::tokens;

use super::Driver;
use crate::harness::turn::{Effect, Input};
use crate::harness::{ErrorCode, Event, Failure, HarnessError};

impl Driver {
    /// Executes the effects.
    ///
    /// # Errors
    /// `session` when the file could not be written; the machine has been told and the turn is over.
    pub(super) fn perform(&mut self, effects: Vec<Effect>) -> Result<(), HarnessError> {
        let mut queue = VecDeque::from(effects);
        let mut outcome = Ok(());
        loop {
            let step = match queue.pop_front() {
                Some(effect) => self.execute(effect, &mut queue),
                None if self.pending.is_empty() => return outcome,
                None => self.flush(Flush::Lazy),
            };
            if let Err(error) = step {
                self.give_up(&error, &mut queue);
                self.unsettled = true;
                let message = error.message.clone();
                queue.extend(self.machine.step(Input::AppendFailed { message }, self.now()));
                outcome = Err(error);
            }
        }
    }

    /// What was planned after a failed write must not happen, but for what stops something: the
    /// machine has forgotten it already, and nobody would stop it later. Compactions that were told
    /// to begin are told to end.
    fn give_up(&mut self, error: &HarnessError, queue: &mut VecDeque<Effect>) {
        let failure = Failure::of_session(&error.message, false);
        let planned = std::mem::take(&mut self.pending).into_iter().chain(queue.drain(..));
        let left = planned.filter_map(|effect| match effect {
            Effect::CancelRequest
            | Effect::CancelWait
            | Effect::CancelTools
            | Effect::CancelJob => Some(effect),
            Effect::EndFold { reason, tokens_before, aborted, .. } => {
                Some(Effect::Emit(Event::CompactionEnd {
                    reason,
                    entry: None,
                    tokens_before,
                    tokens_after: tokens_before,
                    error: (!aborted).then(|| failure.clone()),
                    aborted,
                }))
            }
            _ => None,
        });
        *queue = left.collect();
    }

    fn execute(
        &mut self,
        effect: Effect,
        queue: &mut VecDeque<Effect>,
    ) -> Result<(), HarnessError> {
        match effect {
            Effect::Append { .. } | Effect::Emit(_) | Effect::EndRun | Effect::EndFold { .. } => {
                self.pending.push(effect)
            }
            Effect::EndStep => {
                self.pending.push(Effect::EndStep);
                self.take_settings();
            }
            Effect::Barrier => self.flush(Flush::Lazy)?,
            Effect::Prepare { ordinal, call } => {
                let prepared = self.prepare(ordinal, &call);
                self.answer_at_once(Input::Prepared { ordinal, prepared }, queue);
            }
            Effect::Request { request } => {
                // What the model is about to see must outlive the machine first.
                self.flush(Flush::Sync)?;
                let size = self.size();
                self.answer_at_once(Input::Measured { request, size }, queue);
            }
            Effect::Send { request } => {
                self.flush(Flush::Lazy)?;
                self.request(request)?;
            }
            Effect::Fold { job, reason } => {
                self.flush(Flush::Sync)?;
                if let Some(input) = self.fold(job, reason) {
                    self.answer_at_once(input, queue);
                }
            }
            Effect::Run { key, call, arguments, summary } => {
                self.flush(Flush::Lazy)?;
                self.run_tool(key, &call, arguments, summary);
            }
            Effect::Wait { request, attempt, retry_after, failure } => {
                self.flush(Flush::Lazy)?;
                self.wait(request, attempt, retry_after, failure);
            }
            Effect::CancelRequest => cancel(&mut self.stream),
            Effect::CancelWait => cancel(&mut self.timer),
            Effect::CancelJob => {
                self.flush(Flush::Lazy)?;
                self.cancel_work();
            }
            Effect::CancelTools => {
                self.tools.cancel();
                self.tools = tokio_util::sync::CancellationToken::new();
            }
            Effect::Remember { held } => {
                self.allowed.insert(held.session_rule.clone());
                queue.extend(self.allow_siblings(&held.session_rule));
            }
        }
        Ok(())
    }

    /// What the machine makes of something that needs no waiting comes before what it planned.
    fn answer_at_once(&mut self, input: Input, queue: &mut VecDeque<Effect>) {
        let more = self.machine.step(input, self.now());
        more.into_iter().rev().for_each(|effect| queue.push_front(effect));
    }

    /// Calls that already wait and that the new rule covers need no second yes.
    fn allow_siblings(&mut self, rule: &str) -> Vec<Effect> {
        let now = self.now();
        let covered = self.machine.held().into_iter().filter(|held| held.session_rule == rule);
        covered
            .filter_map(|held| self.machine.decide(&held.key, Decision::Session, now).ok())
            .flat_map(|(_, effects)| effects)
            .filter(|effect| !matches!(effect, Effect::Remember { .. }))
            .collect()
    }

    /// Writes what is collected, then tells it. `Sync` also syncs what rode along earlier.
    pub(super) fn flush(&mut self, at_least: Flush) -> Result<(), HarnessError> {
        let mut bodies = Vec::new();
        let mut flush = at_least;
        for effect in &mut self.pending {
            if let Effect::Append { bodies: more, flush: wish } = effect {
                bodies.push(std::mem::take(more));
                if *wish == Flush::Sync {
                    flush = Flush::Sync;
                }
            }
        }
        let counts: Vec<usize> = bodies.iter().map(Vec::len).collect();
        let all: Vec<Body> = bodies.into_iter().flatten().collect();
        let entries = if all.is_empty() && flush == Flush::Lazy {
            Vec::new()
        } else {
            match self.session().append(all, flush) {
                Ok(entries) => entries,
                Err(error) => {
                    return Err(HarnessError::new(ErrorCode::Session, error.to_string()));
                }
            }
        };
        self.machine.stored();
        self.publish_tree();
        self.tell(entries, counts);
        for notice in self.session().take_notices() {
            self.emit(Event::Notice { text: notice.text });
        }
        Ok(())
    }

    fn tell(&mut self, entries: Vec<Arc<Entry>>, counts: Vec<usize>) {
        let mut entries = entries.into_iter();
        let mut counts = counts.into_iter();
        for effect in std::mem::take(&mut self.pending) {
            match effect {
                Effect::Append { .. } => {
                    for entry in entries.by_ref().take(counts.next().unwrap_or(0)) {
                        self.tell_entry(entry);
                    }
                }
                Effect::Emit(event) => self.tell_event(event),
                Effect::EndStep => self.end_step(),
                Effect::EndFold { reason, tokens_before, tokens_after, error, aborted } => {
                    let stored = error.is_none() && !aborted;
                    let entry = self.record.compacted.clone().filter(|_| stored);
                    self.emit(Event::CompactionEnd {
                        reason,
                        entry,
                        tokens_before,
                        tokens_after,
                        error,
                        aborted,
                    });
                    self.tell_usage();
                }
                Effect::EndRun => {
                    let messages = std::mem::take(&mut self.record.messages);
                    self.emit(Event::AgentEnd { messages });
                }
                _ => {}
            }
        }
    }

    fn tell_event(&mut self, event: Event) {
        match &event {
            Event::MessageUpdate { .. } if !self.record.answer_open => {
                self.record.answer_open = true;
                let empty = Message::Assistant(AssistantMessage {
                    api: self.model.provider.api().to_owned(),
                    provider: self.model.spec.provider.clone(),
                    model: self.model.spec.id.clone(),
                    ..AssistantMessage::default()
                });
                self.emit(Event::MessageStart { message: Arc::new(empty) });
            }
            Event::MessageDiscarded => self.record.answer_open = false,
            Event::TurnStarted { .. } => {
                // What a turn left that ended because the disk refused belongs to no other.
                self.record.answer_open = false;
                self.record.messages.clear();
                self.record.answer = None;
                self.record.results.clear();
            }
            Event::ToolExecutionEnd { key, .. } => {
                self.running.remove(key);
            }
            _ => {}
        }
        self.emit(event);
    }

    fn tell_entry(&mut self, entry: Arc<Entry>) {
        if let Body::Compaction { usage, .. } = &entry.body {
            self.record.compacted = Some(entry.id.clone());
            usage.iter().for_each(|usage| self.record.totals.add(usage));
            self.count_context();
        }
        if let Body::Message { message, .. } = &entry.body {
            let message = Arc::new(message.clone());
            let answer = matches!(&*message, Message::Assistant(_));
            if !(answer && self.record.answer_open) {
                self.emit(Event::MessageStart { message: Arc::clone(&message) });
            }
            if answer {
                self.record.answer_open = false;
            }
            self.emit(Event::MessageEnd { message: Arc::clone(&message), entry: entry.id.clone() });
            self.remember_message(message);
        }
        self.emit(Event::EntryAppended { entry });
    }

    fn remember_message(&mut self, message: Arc<Message>) {
        self.record.messages.push(Arc::clone(&message));
        self.record.context_tokens += tokens::of_message(&message);
        match &*message {
            Message::Assistant(answer) => {
                let usage = answer.usage.clone();
                if usage.context_tokens() > 0 {
                    self.record.context_tokens = usage.context_tokens();
                    self.record.estimated = false;
                } else {
                    self.record.estimated = true;
                }
                self.record.totals.add(&usage);
                self.record.answer = Some(message);
                self.record.results.clear();
                self.tell_usage();
            }
            Message::ToolResult(result) => self.record.results.push(Arc::new(result.clone())),
            _ => {}
        }
    }

    pub(super) fn tell_usage(&self) {
        let totals = &self.record.totals;
        self.emit(Event::UsageUpdate {
            context_tokens: self.record.context_tokens,
            estimated: self.record.estimated,
            input: totals.input + totals.cache_write,
            output: totals.output,
            cache_read: totals.cache_read,
            cost: totals.cost.total,
        });
    }

    fn end_step(&mut self) {
        let Some(answer) = self.record.answer.take() else { return };
        let tool_results = std::mem::take(&mut self.record.results);
        if let Message::Assistant(answer) = &*answer {
            self.emit(Event::TurnEnd { message: Arc::new(answer.clone()), tool_results });
        }
        self.emit(Event::SavePoint);
    }
}

fn cancel(token: &mut Option<tokio_util::sync::CancellationToken>) {
    if let Some(token) = token.take() {
        token.cancel();
    }
}
