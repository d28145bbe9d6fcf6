//! Summaries under way: started here, answered when they are stored, and gone at once when stopped.
//!
//! A task of its own asks the model and reports once. A report of a job that was stopped meanwhile
//! is looked past, so stopping needs no waiting.

use std::sync::Arc;

use futures_util::FutureExt;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::Driver;
use super::inbox::Inside;
use super::navigate::{Goal, Route, Told, refused};
use crate::harness::compaction::branch::Walk;
use crate::harness::compaction::files::Files;
use crate::harness::compaction::prepare::Plan;
use crate::harness::compaction::summarise::{Asker, Task, Tell, Trouble, Written};
use crate::harness::{
    Command, CompactionReason, ErrorCode, Event, Failure, HarnessError, Phase, Reply,
};
use crate::message::EntryId;

/// Where the answer to a command goes.
pub(super) type Answer = oneshot::Sender<Result<Reply, HarnessError>>;

/// A summary under way.
pub(super) struct Work {
    id: u64,
    cancel: CancellationToken,
    purpose: Purpose,
}

/// What it is for.
pub(super) enum Purpose {
    Navigate {
        goal: Goal,
        files: Files,
        answer: Answer,
    },
    Merge {
        from: EntryId,
        files: Files,
        answer: Answer,
    },
    /// A person asked for a compaction.
    Compact {
        plan: Box<Plan>,
        draft: bool,
        answer: Answer,
    },
    /// The turn needs one.
    Fold {
        plan: Box<Plan>,
    },
}

/// What a task reports.
pub(super) type Outcome = Result<Vec<Written>, Trouble>;

impl Driver {
    /// A command that may have to ask a model first; answered when it is done.
    pub(super) fn long_command(&mut self, command: Command, answer: Answer) {
        let reply = match command {
            Command::Navigate { target, summary, label } => {
                match self.navigate(target, summary, label) {
                    Ok((Route::Ask(walk), Some(goal))) => {
                        return self.ask_about_branch(*walk, Some(goal), answer);
                    }
                    Ok((Route::Done(reply), _)) => Ok(reply),
                    Ok((Route::Ask(_), None)) => Err(HarnessError::new(
                        ErrorCode::Unknown,
                        "bug: a navigation without a goal; try again",
                    )),
                    Err(error) => Err(error),
                }
            }
            Command::Merge { from, summary } => match self.merge(from, summary) {
                Ok(Route::Ask(walk)) => return self.ask_about_branch(*walk, None, answer),
                Ok(Route::Done(reply)) => Ok(reply),
                Err(error) => Err(error),
            },
            Command::Compact { instructions, up_to } => {
                return self.compact(instructions, up_to.as_ref(), false, answer);
            }
            Command::DraftCompaction { instructions, up_to } => {
                return self.compact(instructions, up_to.as_ref(), true, answer);
            }
            other => self.command(other),
        };
        // Whoever asked may have gone; what was done is in the session.
        let _ = answer.send(reply);
    }

    fn ask_about_branch(&mut self, walk: Walk, goal: Option<Goal>, answer: Answer) {
        let id = match self.start_job(Phase::BranchSummary) {
            Ok(id) => id,
            Err(error) => {
                let _ = answer.send(Err(error));
                return;
            }
        };
        let (from, task, files) = walk.task();
        self.emit(Event::BranchSummaryStart { from: from.clone() });
        let purpose = match goal {
            Some(goal) => Purpose::Navigate { goal, files, answer },
            None => Purpose::Merge { from, files, answer },
        };
        self.start_work(id, vec![task], purpose);
    }

    /// Starts a job whose result can be stored.
    pub(super) fn start_job(&mut self, phase: Phase) -> Result<u64, HarnessError> {
        self.session().may_write().map_err(|error| refused(&error))?;
        self.machine.start_job(phase)
    }

    /// Starts the task that asks the model.
    pub(super) fn start_work(&mut self, id: u64, tasks: Vec<Task>, purpose: Purpose) {
        let cancel = CancellationToken::new();
        self.work = Some(Work { id, cancel: cancel.clone(), purpose });
        let asker = Asker {
            provider: self.model.provider.clone(),
            spec: self.model.spec.clone(),
            thinking: self.thinking,
            timeouts: self.setup.timeouts,
            retry: self.setup.retry,
            reserve: self.room().reserve,
            tell: self.teller(id),
        };
        let inbox = self.inbox.clone();
        tokio::spawn(async move {
            let outcome = asker.write_all(tasks, &cancel).await;
            let _ = inbox.send(Inside::Summarised(id, outcome)).await;
        });
    }

    /// Tells readers what a task says meanwhile, as long as it is the one under way.
    fn teller(&self, id: u64) -> Tell {
        let inbox = self.inbox.clone();
        Arc::new(move |event| {
            let inbox = inbox.clone();
            async move {
                let _ = inbox.send(Inside::Meanwhile(id, event)).await;
            }
            .boxed()
        })
    }

    /// What a task says meanwhile. Late words are looked past.
    pub(super) fn meanwhile(&mut self, id: u64, event: Event) {
        if self.work.as_ref().is_some_and(|work| work.id == id) {
            self.emit(event);
        }
    }

    /// A task has reported. Late ones are looked past.
    pub(super) fn summarised(&mut self, id: u64, outcome: Outcome) {
        let Some(work) = self.work.take_if(|work| work.id == id) else { return };
        match work.purpose {
            Purpose::Navigate { goal, files, answer } => {
                let reply = self.told(outcome, &files).and_then(|told| self.go(goal, Some(told)));
                self.answer_job(id, reply, answer);
            }
            Purpose::Merge { from, files, answer } => {
                let reply =
                    self.told(outcome, &files).and_then(|told| self.store_merge(&from, told));
                self.answer_job(id, reply, answer);
            }
            Purpose::Compact { plan, draft, answer } => {
                let reply = self.compaction_written(&plan, draft, outcome);
                self.answer_job(id, reply, answer);
            }
            Purpose::Fold { plan } => self.fold_written(id, &plan, outcome),
        }
    }

    /// The summary as it will be stored, told as the end of the writing.
    fn told(&mut self, outcome: Outcome, files: &Files) -> Result<Told, HarnessError> {
        match outcome.map(|mut all| all.pop().unwrap_or_default()) {
            Ok(written) => {
                self.emit(Event::BranchSummaryEnd { error: None, aborted: false });
                Ok(Told {
                    summary: files.behind(&written.text),
                    details: Some(files.details()),
                    usage: Some(written.usage),
                })
            }
            Err(trouble) => {
                let failure = Failure::of_summary(&trouble);
                let aborted = trouble == Trouble::Aborted;
                let message = format!("no summary was written: {}", failure.message);
                self.emit(Event::BranchSummaryEnd {
                    error: (!aborted).then_some(failure),
                    aborted,
                });
                Err(HarnessError::new(ErrorCode::BranchSummary, message))
            }
        }
    }

    fn answer_job(&mut self, id: u64, reply: Result<Reply, HarnessError>, answer: Answer) {
        let succeeded = reply.is_ok();
        let _ = answer.send(reply);
        self.end_job(id, succeeded);
    }

    /// The machine decides what comes after a job.
    pub(super) fn end_job(&mut self, id: u64, succeeded: bool) {
        let fresh = self.fresh();
        let effects = self.machine.end_job(id, succeeded, fresh);
        // A refused append has already been told.
        let _ = self.perform(effects);
    }

    /// Stops the summary under way and answers who asked for it.
    pub(super) fn cancel_work(&mut self) {
        let Some(work) = self.work.take() else { return };
        work.cancel.cancel();
        match work.purpose {
            Purpose::Navigate { answer, .. } | Purpose::Merge { answer, .. } => {
                self.emit(Event::BranchSummaryEnd { error: None, aborted: true });
                let text = "the summary was stopped: nothing was changed";
                let _ = answer.send(Err(HarnessError::new(ErrorCode::BranchSummary, text)));
            }
            Purpose::Compact { plan, answer, .. } => {
                self.emit(Event::CompactionEnd {
                    reason: CompactionReason::Manual,
                    entry: None,
                    tokens_before: plan.tokens_before,
                    tokens_after: plan.tokens_before,
                    error: None,
                    aborted: true,
                });
                let text = "the compaction was stopped: nothing was changed";
                let _ = answer.send(Err(HarnessError::new(ErrorCode::Compaction, text)));
            }
            // The machine tells it.
            Purpose::Fold { .. } => {}
        }
    }
}
