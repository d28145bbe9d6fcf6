//! The size of a request in tokens: counted by a provider where its count still holds, estimated
//! where not.
//!
//! A count is the anchor only when nothing on the branch has changed the context since: a count from
//! before a compaction would start the next one at once.

use crate::message::{Message, StopReason, ToolSpec};
use crate::session::{Context, Index, Kind, Position};
use crate::text::tokens;

/// Tokens of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::harness) struct Counted {
    /// The whole request.
    pub(in crate::harness) tokens: u64,
    /// No provider has counted any of it.
    pub(in crate::harness) estimated: bool,
    /// What no folding makes smaller: system prompt and tools, as far as one can tell.
    pub(in crate::harness) fixed: u64,
    /// What folding can make smaller: the messages.
    pub(in crate::harness) messages: u64,
}

/// The estimate of system prompt and tools.
pub(in crate::harness) fn of_fixed(system: &str, tools: &[ToolSpec]) -> u64 {
    let of_tool = |tool: &ToolSpec| {
        tokens::of_text(&tool.name)
            + tokens::of_text(&tool.description)
            + tokens::of_text(&tool.parameters.to_string())
    };
    tokens::of_text(system) + tools.iter().map(of_tool).sum::<u64>()
}

/// Counts a context that ends at `leaf`; `fixed` is the estimate of everything beside the messages.
pub(in crate::harness) fn count(
    context: &Context,
    index: &Index,
    leaf: Option<Position>,
    fixed: u64,
) -> Counted {
    let estimates: Vec<u64> =
        context.messages.iter().map(|(_, message)| tokens::of_message(message)).collect();
    let messages: u64 = estimates.iter().sum();
    let changed = changed_at(index, leaf);
    let anchor = context.messages.iter().rposition(|(id, message)| {
        // Positions rise along a path, and `None` is smaller than all of them.
        is_anchor(message) && id.as_ref().and_then(|id| index.position(id)) > changed
    });
    let Some(at) = anchor else {
        return Counted { tokens: fixed + messages, estimated: true, fixed, messages };
    };
    let counted = match context.messages.get(at).map(|(_, message)| &**message) {
        Some(Message::Assistant(answer)) => answer.usage.context_tokens(),
        _ => 0,
    };
    let after: u64 = estimates.iter().skip(at + 1).sum();
    let before: u64 = estimates.iter().take(at + 1).sum();
    // What was counted and is no message is overhead, whatever our estimate of it says; and where
    // less was counted than was estimated, the overhead has its share of that.
    let share = counted.saturating_mul(fixed).checked_div(fixed + before).unwrap_or_default();
    let fixed = fixed.min(share).max(counted.saturating_sub(before));
    Counted { tokens: counted + after, estimated: false, fixed, messages }
}

/// The last entry above the leaf that changed what came before it.
fn changed_at(index: &Index, leaf: Option<Position>) -> Option<Position> {
    let mut next = leaf;
    while let Some((position, node)) =
        next.and_then(|position| Some((position, index.node(position)?)))
    {
        if matches!(node.kind, Kind::Compaction | Kind::ContextEdit) {
            return Some(position);
        }
        next = node.parent;
    }
    None
}

fn is_anchor(message: &Message) -> bool {
    matches!(message, Message::Assistant(answer)
        if !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted)
            && answer.usage.context_tokens() > 0)
}
