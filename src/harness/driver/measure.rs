//! How large the next request is: what a provider counted where that still holds, estimates of the
//! rest.

use super::Driver;
use super::navigate::refused;
use crate::harness::compaction::report;
use crate::harness::compaction::room::{Compaction, Room};
use crate::harness::compaction::size::{self, Counted};
use crate::harness::turn::Size;
use crate::harness::{ContextReport, HarnessError, Reply};
use crate::prompt::{Family, assemble};

impl Driver {
    /// The system prompt as it is sent.
    pub(super) fn system_prompt(&self) -> String {
        let spec = &self.model.spec;
        assemble(&self.setup.prompt, Family::of(&spec.provider, &spec.id), &self.specs)
    }

    /// How compaction is set now for the model that is asked.
    pub(super) fn compaction(&self) -> Compaction {
        (self.setup.compaction)(&self.model.spec.reference())
    }

    /// What the window of the model leaves.
    pub(super) fn room(&self) -> Room {
        self.compaction().room(self.model.spec.context_window)
    }

    /// The size of the request that is due.
    pub(super) fn size(&mut self) -> Size {
        let settings = self.compaction();
        let counted = self.measure();
        let room = self.room();
        let is_over = room.limit.is_some_and(|limit| counted.tokens > limit);
        Size {
            tokens: counted.tokens,
            estimated: counted.estimated,
            fixed: counted.fixed,
            window: self.model.spec.context_window,
            guessed: !self.model.spec.known,
            limit: room.limit,
            gain: if is_over && settings.enabled { self.gain(room.keep) } else { 0 },
            enabled: settings.enabled,
            preview: settings.preview,
        }
    }

    /// The size of the context of the leaf.
    pub(super) fn measure(&mut self) -> Counted {
        let fixed = size::of_fixed(&self.system_prompt(), &self.specs);
        let view = self.session().tree();
        match self.session().context() {
            Ok(context) => size::count(&context, view.index(), view.leaf, fixed),
            Err(_) => Counted::default(),
        }
    }

    /// Counts the context again: after a move or a fold nothing that was counted before holds.
    pub(super) fn count_context(&mut self) {
        let counted = self.measure();
        self.record.context_tokens = counted.tokens;
        self.record.estimated = counted.estimated;
    }

    /// What fills the window.
    pub(super) fn report_context(&mut self) -> Result<Reply, HarnessError> {
        let context = self.session().context().map_err(|error| refused(&error))?;
        let counted = self.measure();
        let room = self.room();
        let enabled = self.compaction().enabled;
        Ok(Reply::Context(Box::new(ContextReport {
            model: self.model.spec.reference(),
            window: self.model.spec.context_window,
            parts: report::parts(&self.system_prompt(), &self.specs, &context, &counted),
            used: counted.tokens,
            estimated: counted.estimated,
            reserve: room.reserve,
            keep_recent: room.keep,
            compacts_at: room.limit.filter(|_| enabled),
        })))
    }
}
