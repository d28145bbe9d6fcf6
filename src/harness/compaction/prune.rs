//! Old tool outputs are left out of requests: nobody reads them again, and they are most of a long
//! conversation. The file keeps them.
//!
//! What is left out grows in steps, so that the beginning of the requests, which providers cache,
//! stays the same for many of them.

use std::sync::Arc;

use crate::message::{Message, Part, ToolResultMessage};
use crate::session::Context;
use crate::text::tokens;

/// Turns of the person, the newest, in which nothing is left out.
const TURNS: usize = 2;
/// Tokens of the newest outputs that stay.
const KEEP: u64 = 40_000;
/// Nothing is left out for less than this many tokens, and never in smaller steps.
const STEP: u64 = 20_000;

/// The context as it is sent; the same one when nothing is left out.
pub(in crate::harness) fn prune(context: &Arc<Context>) -> Arc<Context> {
    let messages = &context.messages;
    let turns = messages
        .iter()
        .enumerate()
        .rev()
        .filter(|(_, (_, message))| matches!(**message, Message::User(_)));
    let Some(end) = turns.map(|(at, _)| at).nth(TURNS - 1) else { return Arc::clone(context) };
    let mut kept = 0;
    let mut aged: Vec<(usize, u64)> = Vec::new();
    for (at, (_, message)) in messages.iter().enumerate().rev() {
        if !matches!(**message, Message::ToolResult(_)) {
            continue;
        }
        let cost = tokens::of_message(message);
        kept += cost;
        if at < end && kept > KEEP {
            aged.push((at, cost));
        }
    }
    let total: u64 = aged.iter().map(|(_, cost)| cost).sum();
    let wanted = total - total % STEP;
    if wanted == 0 {
        return Arc::clone(context);
    }
    let mut pruned = Context::clone(context);
    let mut won = 0;
    for (at, cost) in aged.into_iter().rev() {
        if won >= wanted {
            break;
        }
        won += cost;
        if let Some((_, message)) = pruned.messages.get_mut(at)
            && let Message::ToolResult(result) = &**message
        {
            *message = Arc::new(Message::ToolResult(without_output(result, cost)));
        }
    }
    Arc::new(pruned)
}

fn without_output(result: &ToolResultMessage, cost: u64) -> ToolResultMessage {
    let text = format!(
        "[an old output of about {cost} tokens is left out here; run the tool again if it is needed]"
    );
    ToolResultMessage {
        tool_call_id: result.tool_call_id.clone(),
        tool_name: result.tool_name.clone(),
        content: vec![Part::text(text)],
        details: None,
        is_error: result.is_error,
        duration_ms: result.duration_ms,
        timestamp: result.timestamp,
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn result(cost: usize) -> Message {
        Message::ToolResult(ToolResultMessage {
            tool_call_id: "c".into(),
            tool_name: "read".into(),
            content: vec![Part::text("x".repeat(cost * 4))],
            details: None,
            is_error: false,
            duration_ms: None,
            timestamp: 0,
        })
    }

    /// Turns of one result each, with its tokens.
    fn context(costs: &[usize]) -> Arc<Context> {
        let turn = |cost: &usize| [Message::user("go", 0), result(*cost)];
        let messages = costs.iter().flat_map(turn).map(|it| (None, Arc::new(it))).collect();
        Arc::new(Context { messages, ..Context::default() })
    }

    /// Which turns lost their output.
    fn lost(costs: &[usize]) -> Vec<usize> {
        let pruned = prune(&context(costs));
        let results =
            pruned.messages.iter().filter(|(_, it)| matches!(**it, Message::ToolResult(_)));
        let gone = |(at, (_, message)): (usize, &(_, Arc<Message>))| {
            message.text().starts_with("[an old output").then_some(at)
        };
        results.enumerate().filter_map(gone).collect()
    }

    #[test]
    fn the_oldest_outputs_go_when_enough_is_won_and_the_newest_turns_never() {
        assert_eq!(lost(&[30_000, 30_000, 20_000, 20_000]), [0, 1]);
        assert_eq!(lost(&[19_000, 20_000, 20_000]), Vec::<usize>::new(), "too little to win");
        assert_eq!(lost(&[500_000, 500_000]), Vec::<usize>::new(), "the last two turns");
        assert_eq!(lost(&[]), Vec::<usize>::new());
    }

    #[test]
    fn what_is_left_out_grows_in_steps() {
        for turns in 12..16 {
            assert_eq!(lost(&vec![5_000; turns]), [0, 1, 2, 3]);
        }
        assert_eq!(lost(&[5_000; 16]), [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}
