//! The sums of a branch from the index alone: what it cost, and how large its context is.
//!
//! Opening must not read a long branch, so what no provider counted is estimated from the lengths of
//! lines.

use std::iter::successors;

use super::RunRecord;
use crate::message::Usage;
use crate::session::{Body, Kind, Node, Position, TreeView};
use crate::text::tokens;

/// Bytes of a line for one token, as with text.
const BYTES: u64 = 4;
/// Most tokens taken for one entry: longer lines hold images, whose size says nothing. Results of
/// tools are cut at 50 KB.
const MAX_TOKENS: u64 = 13_000;

/// The sums of the whole branch, and the size of the context after the last counted answer.
pub(super) fn totals(view: &TreeView) -> RunRecord {
    let index = view.index();
    let parent = |position: &Position| index.node(*position).and_then(|node| node.parent);
    let mut totals = Usage::default();
    let (mut counted, mut tokens) = (None, 0u64);
    for position in successors(view.leaf, parent) {
        let Some(node) = index.node(position) else { break };
        if let Some(spent) = &node.spent {
            totals.input = totals.input.saturating_add(spent.input);
            totals.output = totals.output.saturating_add(spent.output);
            totals.cache_read = totals.cache_read.saturating_add(spent.cache_read);
            totals.cost.total += spent.cost;
        }
        if counted.is_some() {
            continue;
        }
        let is_answer = node.kind == Kind::Message && !node.marks.failed && !node.marks.aborted;
        let context = node.spent.as_ref().map_or(0, |spent| spent.context);
        if is_answer && context > 0 {
            counted = Some(context.saturating_add(tokens));
        } else if node.kind == Kind::Compaction {
            counted = Some(tokens.saturating_add(kept(view, position)));
            tokens = 1;
        } else {
            tokens = tokens.saturating_add(estimate(node));
        }
    }
    let context_tokens = counted.unwrap_or(tokens);
    RunRecord { totals, context_tokens, estimated: tokens > 0, ..RunRecord::default() }
}

/// What the model is told of an entry, in tokens.
fn estimate(node: &Node) -> u64 {
    match node.kind {
        Kind::Message | Kind::CustomMessage | Kind::BranchSummary | Kind::Compaction => {
            (u64::from(node.len) / BYTES).min(MAX_TOKENS)
        }
        _ => 0,
    }
}

/// A compaction's summary and what it kept.
fn kept(view: &TreeView, compaction: Position) -> u64 {
    let index = view.index();
    let entry = view.reader.entries(&[compaction]).ok().and_then(|mut entries| entries.pop());
    let Some(Body::Compaction { summary, first_kept_entry_id, retained_tail: None, .. }) =
        entry.as_ref().map(|entry| &entry.body)
    else {
        return index.node(compaction).map_or(0, estimate);
    };
    let first = first_kept_entry_id.as_ref().and_then(|id| index.position(id));
    let parent = |position: &Position| index.node(*position).and_then(|node| node.parent);
    let above = successors(parent(&compaction), parent)
        .take_while(|position| first.is_some_and(|first| *position >= first));
    let mut tokens = tokens::of_text(summary);
    let mut reached = false;
    let mut of_kept = 0u64;
    for position in above {
        reached = Some(position) == first;
        of_kept = of_kept.saturating_add(index.node(position).map_or(0, estimate));
    }
    if reached {
        tokens = tokens.saturating_add(of_kept);
    }
    tokens
}
