//! Messages that wait for their moment: pure, ordered, and never lost between two places.

use crate::message::Message;
use crate::session::journal::QueueKind;

use super::Queued;

/// How many messages one delivery takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueMode {
    #[default]
    OneAtATime,
    All,
}

/// A message in a queue.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Item {
    pub(super) id: String,
    pub(super) kind: QueueKind,
    pub(super) message: Message,
}

/// The three queues in one list, in the order of typing.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Queue {
    items: Vec<Item>,
    issued: u64,
    pub(super) steering: QueueMode,
    pub(super) follow_up: QueueMode,
}

impl Queue {
    /// Takes up what a session file still holds.
    pub(super) fn restore(items: Vec<Item>) -> Self {
        let issued = items
            .iter()
            .filter_map(|item| item.id.strip_prefix('q')?.parse::<u64>().ok())
            .max()
            .unwrap_or(0);
        Self { items, issued, ..Self::default() }
    }

    /// The id of the next message; ids are never reused within a session's life.
    pub(super) fn issue_id(&mut self, now: i64) -> String {
        // The time keeps ids of an earlier process apart when its messages are already delivered.
        self.issued = (self.issued + 1).max(u64::try_from(now).unwrap_or(0));
        format!("q{}", self.issued)
    }

    pub(super) fn push(&mut self, item: Item) {
        self.items.push(item);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(super) fn list(&self) -> Vec<Queued> {
        self.items.iter().map(Item::shown).collect()
    }

    /// What is delivered now, in order, by the mode of its queue.
    pub(super) fn drain(&mut self, kind: QueueKind) -> Vec<Item> {
        let mode = match kind {
            QueueKind::Steer => self.steering,
            QueueKind::FollowUp => self.follow_up,
            QueueKind::NextTurn => QueueMode::All,
        };
        let limit = if mode == QueueMode::All { usize::MAX } else { 1 };
        let mut taken = Vec::new();
        let mut kept = Vec::with_capacity(self.items.len());
        for item in self.items.drain(..) {
            if item.kind == kind && taken.len() < limit {
                taken.push(item);
            } else {
                kept.push(item);
            }
        }
        self.items = kept;
        taken
    }

    /// Takes the oldest message of these kinds.
    pub(super) fn take_first(&mut self, kinds: &[QueueKind]) -> Option<Item> {
        let position = self.items.iter().position(|item| kinds.contains(&item.kind))?;
        Some(self.items.remove(position))
    }

    /// Everything an abort hands back: steering and follow-ups. Next-turn messages stay.
    pub(super) fn hand_back(&mut self) -> Vec<Item> {
        let (kept, taken) = self.items.drain(..).partition(|item| item.kind == QueueKind::NextTurn);
        self.items = kept;
        taken
    }

    /// Holds what `to` held again; ids that were issued since stay used.
    pub(super) fn rewind(&mut self, to: &Self) {
        self.items.clone_from(&to.items);
    }

    pub(super) fn remove(&mut self, id: &str) -> Option<Item> {
        let position = self.items.iter().position(|item| item.id == id)?;
        Some(self.items.remove(position))
    }
}

impl Item {
    pub(super) fn shown(&self) -> Queued {
        Queued { id: self.id.clone(), kind: self.kind, text: self.message.text() }
    }
}
