//! Compactions: planned from the session, written by a model, stored as entries.
//!
//! Those of a turn are asked for by the machine; those of a person run as a job of their own. Both
//! take the same way from the cut to the entry.

use super::Driver;
use super::job::{Answer, Outcome, Purpose};
use super::navigate::refused;
use crate::harness::compaction::branch::take_lists;
use crate::harness::compaction::files::Files;
use crate::harness::compaction::prepare::{Cut, Nothing, Plan, Source, cut_of};
use crate::harness::compaction::prompt::Focus;
use crate::harness::compaction::size;
use crate::harness::turn::{Effect, Folded, Input};
use crate::harness::{
    CompactionDraft, CompactionReason, ErrorCode, Event, Failure, HarnessError, Phase, Reply,
};
use crate::message::{EntryId, Message};
use crate::session::{Body, Flush, SessionError, journal};
use crate::text::tokens;

/// After an overflow the window is smaller than was thought: this share of the messages may stay.
const OVERFLOW_SHARE: u64 = 4;

/// Why there is no plan.
enum NoPlan {
    Nothing(Nothing),
    Session(SessionError),
}

impl From<SessionError> for NoPlan {
    fn from(error: SessionError) -> Self {
        Self::Session(error)
    }
}

impl NoPlan {
    fn error(&self) -> HarnessError {
        match self {
            Self::Nothing(Nothing::NotHere) => {
                HarnessError::new(ErrorCode::InvalidArgument, Nothing::NotHere.text())
            }
            Self::Nothing(nothing) => HarnessError::new(ErrorCode::Compaction, nothing.text()),
            Self::Session(error) => refused(error),
        }
    }
}

impl Driver {
    /// Where the branch would be cut now.
    fn cut(&mut self, keep: u64, up_to: Option<&EntryId>) -> Result<Cut, NoPlan> {
        let view = self.session().tree();
        let context = self.session().context()?;
        let index = view.index();
        if let Some(up_to) = up_to {
            let path = index.path(view.leaf);
            let on_path = index.position(up_to).is_some_and(|at| path.binary_search(&at).is_ok());
            if !on_path {
                return Err(NoPlan::Nothing(Nothing::NotHere));
            }
        }
        let most = self.most();
        let source = Source { context: &context, index, leaf: view.leaf, keep, most, up_to };
        cut_of(&source).map_err(NoPlan::Nothing)
    }

    /// Tokens of messages that may stay, however huge one of them is: half of what the limit leaves
    /// beside system prompt and tools, so that the summary and the next steps have room.
    fn most(&self) -> u64 {
        let fixed = size::of_fixed(&self.system_prompt(), &self.specs);
        let room = self.room();
        room.limit.map_or(u64::MAX, |limit| (limit.saturating_sub(fixed) / 2).max(room.keep))
    }

    /// Tokens that folding would replace by a summary.
    pub(super) fn gain(&mut self, keep: u64) -> u64 {
        self.cut(keep, None).map_or(0, |cut| cut.folded_tokens)
    }

    fn plan(&mut self, keep: u64, up_to: Option<&EntryId>, focus: &Focus) -> Result<Plan, NoPlan> {
        let cut = self.cut(keep, up_to)?;
        let leaf = self.session().leaf().cloned().ok_or(NoPlan::Nothing(Nothing::TooSmall))?;
        let mut files = Files::default();
        let summaries = cut.history.iter().chain(&cut.prefix).filter_map(|said| {
            matches!(*said.message, Message::BranchSummary(_)).then_some(&said.id)
        });
        let before = cut.previous.as_ref().map(|(id, _)| id);
        for id in summaries.chain(before) {
            let entry = self.setup.session.entry(id)?;
            take_lists(&mut files, &entry);
        }
        let quote = match &cut.newest_user {
            Some(id) => match &self.session().entry(id)?.body {
                Body::Message { message, .. } => Some(message.text()),
                _ => None,
            },
            None => None,
        };
        let counted = self.measure();
        let mut plan = Plan::new(cut, leaf, quote.as_deref(), files, focus);
        plan.tokens_before = counted.tokens;
        plan.fixed = counted.fixed;
        Ok(plan)
    }

    /// The machine wants the branch folded so that its request fits.
    pub(super) fn fold(&mut self, job: u64, reason: CompactionReason) -> Option<Input> {
        let mut keep = self.room().keep;
        if reason == CompactionReason::Overflow {
            keep = keep.min(self.measure().messages / OVERFLOW_SHARE);
        }
        match self.plan(keep, None, &Focus::default()) {
            Ok(plan) => {
                self.start_work(job, plan.tasks(), Purpose::Fold { plan: Box::new(plan) });
                None
            }
            Err(no_plan) => {
                let failure = Failure::of_overflow(no_plan.error().message);
                Some(Input::Compacted { job, outcome: Err(failure) })
            }
        }
    }

    /// The summary for the machine is there, or is not.
    pub(super) fn fold_written(&mut self, job: u64, plan: &Plan, outcome: Outcome) {
        let outcome = match outcome.and_then(|written| plan.checked_summary(written)) {
            Ok(summary) => Ok(Box::new(folded(plan, &summary))),
            Err(trouble) => Err(Failure::of_summary(&trouble)),
        };
        self.feed(Input::Compacted { job, outcome });
    }

    /// A person wants the branch folded; `draft`: only to see what it would come to.
    pub(super) fn compact(
        &mut self,
        instructions: Option<String>,
        up_to: Option<&EntryId>,
        draft: bool,
        answer: Answer,
    ) {
        match self.start_compaction(instructions, up_to) {
            Err(error) => {
                let _ = answer.send(Err(error));
            }
            Ok((job, plan)) => {
                self.emit(Event::CompactionStart { reason: CompactionReason::Manual });
                let purpose = Purpose::Compact { plan: Box::new(plan.clone()), draft, answer };
                self.start_work(job, plan.tasks(), purpose);
            }
        }
    }

    fn start_compaction(
        &mut self,
        instructions: Option<String>,
        up_to: Option<&EntryId>,
    ) -> Result<(u64, Plan), HarnessError> {
        self.machine.may_begin()?;
        self.settle_cut_turn()?;
        let focus = Focus { instructions, replace: false };
        let keep = self.room().keep;
        let plan = self.plan(keep, up_to, &focus).map_err(|no_plan| no_plan.error())?;
        Ok((self.start_job(Phase::Compaction)?, plan))
    }

    /// The summary a person asked for is there, or is not.
    pub(super) fn compaction_written(
        &mut self,
        plan: &Plan,
        draft: bool,
        outcome: Outcome,
    ) -> Result<Reply, HarnessError> {
        match outcome.and_then(|written| plan.checked_summary(written)) {
            Err(trouble) => {
                let failure = Failure::of_summary(&trouble);
                let text = format!("the compaction failed: {}", failure.message);
                let notice = journal::notice("compaction", &text);
                let end = end_of(plan.tokens_before, plan.tokens_before, Some(failure));
                self.perform(vec![
                    Effect::Append { bodies: vec![notice], flush: Flush::Lazy },
                    end,
                ])?;
                Err(HarnessError::new(ErrorCode::Compaction, text))
            }
            Ok((summary, usage)) if draft => {
                let (read_files, modified_files) = plan.files.lists();
                let tokens_after = plan.tokens_after(&summary);
                self.perform(vec![end_of(plan.tokens_before, tokens_after, None)])?;
                Ok(Reply::Draft(Box::new(CompactionDraft {
                    leaf: plan.leaf.clone(),
                    first_kept: plan.first_kept.clone(),
                    folded: plan.folded,
                    kept: plan.kept,
                    tokens_before: plan.tokens_before,
                    tokens_after,
                    read_files,
                    modified_files,
                    summary,
                    usage,
                })))
            }
            Ok(summary) => self.store_folded(folded(plan, &summary)),
        }
    }

    fn store_folded(&mut self, folded: Folded) -> Result<Reply, HarnessError> {
        let Folded { body, tokens_before, tokens_after } = folded;
        self.perform(vec![
            Effect::Append { bodies: vec![body], flush: Flush::Sync },
            end_of(tokens_before, tokens_after, None),
        ])?;
        self.machine.forgive();
        self.record.compacted.clone().map(|entry| Reply::Stored { entry }).ok_or_else(|| {
            HarnessError::new(ErrorCode::Session, "the compaction was not stored: try again")
        })
    }

    /// Stores a draft, edited or not.
    pub(super) fn store_draft(&mut self, draft: CompactionDraft) -> Result<Reply, HarnessError> {
        self.machine.may_begin()?;
        self.settle_cut_turn()?;
        if draft.summary.trim().is_empty() {
            let text = "the summary is empty: write what should be remembered";
            return Err(HarnessError::new(ErrorCode::InvalidArgument, text));
        }
        self.check_draft(&draft)?;
        let details = serde_json::json!({
            "readFiles": draft.read_files,
            "modifiedFiles": draft.modified_files,
        });
        let kept = draft.tokens_after.saturating_sub(tokens::of_text(&draft.summary));
        self.emit(Event::CompactionStart { reason: CompactionReason::Manual });
        self.store_folded(Folded {
            tokens_before: draft.tokens_before,
            tokens_after: kept + tokens::of_text(&draft.summary),
            body: Body::Compaction {
                summary: draft.summary,
                first_kept_entry_id: Some(draft.first_kept),
                tokens_before: draft.tokens_before,
                details: Some(details),
                usage: Some(draft.usage),
                from_hook: None,
                retained_tail: None,
            },
        })
    }

    /// What a draft stands for must still be what the branch has: new messages behind it change
    /// nothing, another branch or another compaction does.
    fn check_draft(&mut self, draft: &CompactionDraft) -> Result<(), HarnessError> {
        let view = self.session().tree();
        let index = view.index();
        let path = index.path(view.leaf);
        let place = |id: &EntryId| index.position(id).and_then(|at| path.binary_search(&at).ok());
        let changed = || {
            HarnessError::new(
                ErrorCode::InvalidState,
                "the branch has changed since the draft was made: make a new one",
            )
        };
        let leaf = place(&draft.leaf).ok_or_else(changed)?;
        let first = place(&draft.first_kept).ok_or_else(changed)?;
        let compacted = path.iter().skip(leaf + 1).any(|at| {
            index.node(*at).is_some_and(|node| node.kind == crate::session::Kind::Compaction)
        });
        if compacted || first > leaf {
            return Err(changed());
        }
        Ok(())
    }
}

/// A summary as the entry it becomes.
fn folded(plan: &Plan, (summary, usage): &(String, crate::message::Usage)) -> Folded {
    let tokens_after = plan.tokens_after(summary);
    Folded {
        tokens_before: plan.tokens_before,
        tokens_after,
        body: Body::Compaction {
            summary: summary.clone(),
            first_kept_entry_id: Some(plan.first_kept.clone()),
            tokens_before: plan.tokens_before,
            details: Some(plan.files.details()),
            usage: Some(usage.clone()),
            from_hook: None,
            retained_tail: None,
        },
    }
}

fn end_of(tokens_before: u64, tokens_after: u64, error: Option<Failure>) -> Effect {
    Effect::EndFold {
        reason: CompactionReason::Manual,
        tokens_before,
        tokens_after,
        error,
        aborted: false,
    }
}
