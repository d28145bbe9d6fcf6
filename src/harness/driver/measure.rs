//! How large the next request is: what a provider counted where that still holds, estimates of the
//! rest.

use super::Driver;
use crate::harness::compaction::size::{self, Counted};
use crate::prompt::{Family, assemble};

impl Driver {
    /// The system prompt as it is sent.
    pub(super) fn system_prompt(&self) -> String {
        let spec = &self.model.spec;
        assemble(&self.setup.prompt, Family::of(&spec.provider, &spec.id), &self.specs)
    }

    /// Tokens kept free for the answer.
    pub(super) fn reserve(&self) -> u64 {
        16_384
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
}
