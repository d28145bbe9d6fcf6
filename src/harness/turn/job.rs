//! Jobs beside turns: a summary that is being written while no turn runs.
//!
//! What may start when, and what becomes of messages typed meanwhile, is decided here, so that both
//! orders of any two of them can be tested without a provider.

use super::{Effect, Fresh, Machine};
use crate::harness::{ErrorCode, Event, HarnessError, Phase};
use crate::session::journal::QueueKind;

/// A job under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Job {
    pub(super) id: u64,
    /// `Compaction` or `BranchSummary`.
    pub(super) phase: Phase,
}

impl Machine {
    /// Whether something else may begin.
    ///
    /// # Errors
    /// `busy`, with words that say what runs and what to do.
    pub(in crate::harness) fn may_begin(&self) -> Result<(), HarnessError> {
        let text = match (&self.turn, &self.job) {
            (Some(_), _) => {
                "a turn is running: stop it first, or steer it, or queue a follow-up behind it"
            }
            (None, Some(_)) => {
                "a summary is being written: wait for it, stop it first, or queue a follow-up behind it"
            }
            (None, None) => return Ok(()),
        };
        Err(HarnessError::new(ErrorCode::Busy, text))
    }

    /// Starts a job; its number.
    ///
    /// # Errors
    /// `busy`.
    pub(in crate::harness) fn start_job(&mut self, phase: Phase) -> Result<u64, HarnessError> {
        self.may_begin()?;
        self.jobs += 1;
        self.job = Some(Job { id: self.jobs, phase });
        Ok(self.jobs)
    }

    /// A job is over. When it did what it should, the first message typed meanwhile becomes the next
    /// prompt and the others keep their place and kind; after a failure they all wait, because what
    /// they were meant for has not happened.
    pub(in crate::harness) fn end_job(
        &mut self,
        job: u64,
        succeeded: bool,
        fresh: Fresh,
    ) -> Vec<Effect> {
        if self.job.is_none_or(|current| current.id != job) {
            return Vec::new();
        }
        self.job = None;
        let kinds = [QueueKind::Steer, QueueKind::FollowUp];
        let next = if succeeded { self.queue.take_first(&kinds) } else { None };
        match next {
            Some(item) => self.begin_with_queued(item, fresh),
            None => vec![Effect::Emit(Event::Settled)],
        }
    }

    /// Somebody stops the job: it is over at once, and what it still reports comes too late.
    pub(super) fn cancel_job(&mut self, effects: &mut Vec<Effect>) {
        if self.job.take().is_some() {
            effects.push(Effect::CancelJob);
            effects.push(Effect::Emit(Event::Settled));
        }
    }
}
