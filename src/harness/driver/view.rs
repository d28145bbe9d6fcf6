//! The snapshot: the engine's state at one moment, for readers that join.

use std::sync::Arc;

use super::Driver;
use crate::harness::Snapshot;
use crate::session::Stretch;

impl Driver {
    /// Lets readers see the tree as it is now.
    pub(super) fn publish_tree(&self) {
        self.tree.send_replace(self.setup.session.tree());
    }

    pub(super) fn snapshot(&mut self) -> Snapshot {
        let notices = std::mem::take(&mut self.notices);
        let session = &self.setup.session;
        let tree = session.tree();
        let page = tree.leaf.map(|last| tree.reader.last_page(Stretch { above: None, last }));
        let page = page.and_then(Result::ok).unwrap_or_default();
        Snapshot {
            session: session.id().clone(),
            path: session.path().map(Into::into),
            name: session.name().map(str::to_owned),
            cwd: self.setup.cwd.clone(),
            read_only: session.holder().map(str::to_owned),
            branch: page.entries,
            older: page.above,
            tree,
            phase: self.machine.phase(),
            turn: self.machine.turn_id().cloned(),
            step: self.machine.step_number(),
            max_turns: self.setup.max_turns,
            model: self.model.spec.reference(),
            model_known: self.model.spec.known,
            context_window: self.model.spec.context_window,
            context_tokens: self.record.context_tokens,
            context_estimated: self.record.estimated,
            input: self.record.totals.input + self.record.totals.cache_write,
            output: self.record.totals.output,
            cache_read: self.record.totals.cache_read,
            cost: self.record.totals.cost.total,
            thinking: self.thinking,
            profile: self.profile,
            queue: self.machine.queue.list(),
            held: self.machine.held().into_iter().map(Arc::new).collect(),
            partial: self
                .machine
                .partial()
                .map(crate::message::Partial::content)
                .unwrap_or_default(),
            running: self.running.values().cloned().collect(),
            notices,
        }
    }
}
