//! What lies on a branch that is left behind or told to another one: pure walks over the index.

use std::sync::Arc;

use super::files::{Files, without_lists};
use super::prompt::{Focus, Kind};
use super::serialize::blocks;
use super::summarise::Task;
use crate::message::{EntryId, Message, SummaryMessage, plain_text};
use crate::session::{Body, Entry, Index, Kind as EntryKind, Position};

/// A stretch of a branch that is to be summarised.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::harness) struct Walk {
    /// Where it ends.
    pub(in crate::harness) from: EntryId,
    /// What was said on it, oldest first.
    pub(in crate::harness) entries: Vec<Arc<Entry>>,
    pub(in crate::harness) instructions: Option<String>,
    /// The instructions take the place of the built-in ones.
    pub(in crate::harness) replace: bool,
}

impl Walk {
    /// Where it ends, what a model is asked, and the files that were touched on it. Results of tools
    /// are left out: what became of a branch stands in its answers.
    pub(in crate::harness) fn task(self) -> (EntryId, Task, Files) {
        let mut files = Files::default();
        let mut messages = Vec::new();
        for entry in &self.entries {
            match &entry.body {
                Body::Message { message: Message::ToolResult(_), .. } => {}
                Body::Message { message, .. } => {
                    files.note(message);
                    messages.push(message.clone());
                }
                Body::CustomMessage { content, .. } => {
                    messages.push(Message::user(plain_text(content), 0));
                }
                Body::BranchSummary { summary, .. } => {
                    take_lists(&mut files, entry);
                    let summary = without_lists(summary).to_owned();
                    messages.push(Message::BranchSummary(SummaryMessage { summary, timestamp: 0 }));
                }
                Body::Compaction { summary, .. } => {
                    take_lists(&mut files, entry);
                    let summary = without_lists(summary).to_owned();
                    let summary = SummaryMessage { summary, timestamp: 0 };
                    messages.push(Message::CompactionSummary(summary));
                }
                _ => {}
            }
        }
        let focus = Focus { instructions: self.instructions, replace: self.replace };
        let blocks = blocks(&messages);
        let task = Task { kind: Kind::Branch, blocks, previous: None, focus };
        (self.from, task, files)
    }
}

/// Takes over the lists of a summary's entry.
pub(in crate::harness) fn take_lists(files: &mut Files, entry: &Entry) {
    if let Body::BranchSummary { details, from_hook, .. }
    | Body::Compaction { details, from_hook, .. } = &entry.body
    {
        take(files, details.as_ref(), *from_hook);
    }
}

/// The lists of a summary that we or our like made; what a hook writes there is its own affair.
fn take(files: &mut Files, details: Option<&serde_json::Value>, from_hook: Option<bool>) {
    if let (Some(details), false) = (details, from_hook.unwrap_or(false)) {
        files.take(details);
    }
}

/// The positions from `from` back to where the path to `to` leaves it, oldest first. Nothing when
/// `from` is unknown.
pub(in crate::harness) fn between(
    index: &Index,
    from: &EntryId,
    to: Option<&EntryId>,
) -> Vec<Position> {
    let path = index.path(index.position(from));
    let other = index.path(to.and_then(|to| index.position(to)));
    let shared = path.iter().zip(&other).take_while(|(a, b)| a == b).count();
    path.into_iter().skip(shared).collect()
}

/// The entries that say something a summary can tell.
pub(in crate::harness) fn telling(entries: Vec<Arc<Entry>>) -> Vec<Arc<Entry>> {
    let tells = |entry: &Arc<Entry>| {
        matches!(
            entry.body,
            Body::Message { .. }
                | Body::CustomMessage { .. }
                | Body::BranchSummary { .. }
                | Body::Compaction { .. }
        )
    };
    entries.into_iter().filter(tells).collect()
}

/// Whether only bookkeeping stands between an entry and the leaf below it: then the branch ends here
/// for everybody who looks at it.
pub(in crate::harness) fn is_end(index: &Index, entry: Position, leaf: Option<Position>) -> bool {
    let mut next = leaf;
    while let Some(position) = next {
        if position == entry {
            return true;
        }
        let Some(node) = index.node(position) else { return false };
        let is_bookkeeping = matches!(
            node.kind,
            EntryKind::Custom
                | EntryKind::LeafMarker
                | EntryKind::Label
                | EntryKind::SessionInfo
                | EntryKind::Usage
        );
        if !is_bookkeeping || position < entry {
            return false;
        }
        next = node.parent;
    }
    false
}

/// The nearest entry that is no leaf marker, from `position` upwards.
pub(in crate::harness) fn above_markers(
    index: &Index,
    position: Option<Position>,
) -> Option<Position> {
    let mut next = position;
    while let Some(node) = next.and_then(|position| index.node(position)) {
        if node.kind != EntryKind::LeafMarker {
            return next;
        }
        next = node.parent;
    }
    None
}
