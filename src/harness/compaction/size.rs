//! The size of a request in tokens: counted by a provider where its count still holds, estimated
//! where not.
//!
//! A count is the anchor only when nothing on the branch has changed the context since: a count from
//! before a compaction would start the next one at once.

use crate::message::{Message, StopReason, ToolSpec};
use crate::session::{Context, Index, Kind, Position};
use crate::text::tokens;

/// A count this many times smaller than the estimate of the same text is none of it: a server that
/// cut the prompt, or a foreign file. Estimates of real text are within a factor of two.
const UNBELIEVABLE: u64 = 3;

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
    if counted.saturating_mul(UNBELIEVABLE) < fixed + before {
        return Counted { tokens: fixed + messages, estimated: true, fixed, messages };
    }
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

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use pretty_assertions::assert_eq;

    use super::*;
    use crate::message::{AssistantMessage, Part, Usage};
    use crate::ports::FixedClock;
    use crate::session::{Body, Flush, Session};

    /// The size where `chars` characters came before an answer that was counted with `tokens`.
    fn size(chars: usize, tokens: u64) -> Counted {
        let answer = AssistantMessage {
            content: vec![Part::text("four")],
            usage: Usage { total_tokens: tokens, ..Usage::default() },
            ..AssistantMessage::default()
        };
        let bodies = [Message::user("x".repeat(chars), 0), Message::Assistant(answer)]
            .map(|message| Body::Message { message, harness: None });
        let mut session = Session::in_memory(Arc::new(FixedClock(0)), Path::new("/"));
        session.append(bodies.into(), Flush::Lazy).unwrap();
        let view = session.tree();
        count(&session.context().unwrap(), view.index(), view.leaf, 1_000)
    }

    #[test]
    fn a_count_that_cannot_be_of_this_text_is_no_anchor() {
        let estimated =
            Counted { tokens: 101_001, estimated: true, fixed: 1_000, messages: 100_001 };
        assert_eq!(size(400_000, 33_000), estimated);
        assert_eq!(size(400_000, 34_000).tokens, 34_000);
    }

    #[test]
    fn what_was_counted_and_is_no_message_is_overhead_and_a_smaller_count_shrinks_it() {
        assert_eq!(size(4_000, 9_000).fixed, 7_999);
        // 1,000 of overhead and 1,001 of messages were counted as 1,000.
        assert_eq!(size(4_000, 1_000).fixed, 499);
    }
}
