//! What fills the window, by part: the answer to "where did the tokens go".

use std::collections::BTreeMap;

use super::size::{Counted, of_fixed};
use crate::harness::ContextPart;
use crate::message::{Message, Part, StopReason, ToolSpec};
use crate::session::Context;
use crate::text::tokens;

/// Tools that get a line of their own; names come from models, and there is no end of them.
const MAX_TOOLS: usize = 20;

/// Tokens and how many things they are of.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    tokens: u64,
    count: usize,
}

impl Sum {
    fn add(&mut self, tokens: u64) {
        self.tokens += tokens;
        self.count += 1;
    }
}

/// The parts in the order in which they are sent. Where a provider has counted the whole, the parts
/// are scaled to its count, so that they add up to it.
pub(in crate::harness) fn parts(
    system: &str,
    tools: &[ToolSpec],
    context: &Context,
    counted: &Counted,
) -> Vec<ContextPart> {
    let mut sums: BTreeMap<(u8, String), Sum> = BTreeMap::new();
    let mut add = |order: u8, name: &str, tokens: u64| {
        sums.entry((order, name.to_owned())).or_default().add(tokens);
    };
    add(0, "system prompt", tokens::of_text(system));
    for tool in tools {
        add(1, "tools", of_fixed("", std::slice::from_ref(tool)));
    }
    for (_, message) in &context.messages {
        of_message(message, &mut add);
    }
    let mut parts: Vec<ContextPart> = Vec::new();
    let mut tools_listed = 0;
    for ((order, name), Sum { tokens, count }) in sums {
        tools_listed += usize::from(order == RESULTS);
        match parts.last_mut().filter(|_| order == RESULTS && tools_listed > MAX_TOOLS) {
            Some(others) => {
                others.name = "tool results: others".into();
                others.tokens += tokens;
                others.count += count;
            }
            None => parts.push(ContextPart { name, tokens, count }),
        }
    }
    if !counted.estimated {
        scale(&mut parts, counted.tokens);
    }
    parts
}

const RESULTS: u8 = 8;

fn of_message(message: &Message, add: &mut dyn FnMut(u8, &str, u64)) {
    let whole = tokens::of_message(message);
    match message {
        Message::CompactionSummary(_) | Message::BranchSummary(_) => add(2, "summaries", whole),
        Message::User(_) => add(3, "your messages", whole),
        Message::Custom(_) => add(3, "added messages", whole),
        Message::BashExecution(run) if run.exclude_from_context != Some(true) => {
            add(4, "bash", whole);
        }
        Message::Assistant(answer)
            if !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) =>
        {
            for part in &answer.content {
                match part {
                    Part::Text { text, .. } => add(5, "answers", tokens::of_text(text)),
                    Part::Thinking { thinking, .. } => {
                        add(6, "thinking", tokens::of_text(thinking));
                    }
                    Part::ToolCall(call) => {
                        let text = format!("{}{}", call.name, call.arguments);
                        add(7, "tool calls", tokens::of_text(&text));
                    }
                    Part::Image { .. } | Part::Unknown => {}
                }
            }
        }
        Message::ToolResult(result) => {
            let tool: String = result.tool_name.chars().take(40).collect();
            add(RESULTS, &format!("tool results: {tool}"), whole);
        }
        Message::Assistant(_) | Message::BashExecution(_) | Message::Unknown => {}
    }
}

/// Makes the parts add up to `total`; what rounding leaves goes to the largest.
fn scale(parts: &mut [ContextPart], total: u64) {
    let sum: u64 = parts.iter().map(|part| part.tokens).sum();
    if sum == 0 {
        return;
    }
    let mut rest = total;
    for part in parts.iter_mut() {
        let scaled = u128::from(part.tokens) * u128::from(total) / u128::from(sum);
        part.tokens = u64::try_from(scaled).unwrap_or(u64::MAX);
        rest = rest.saturating_sub(part.tokens);
    }
    if let Some(largest) = parts.iter_mut().max_by_key(|part| part.tokens) {
        largest.tokens += rest;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use pretty_assertions::assert_eq;

    use super::*;
    use crate::message::{AssistantMessage, ToolResultMessage};

    fn result(tool: &str) -> Message {
        Message::ToolResult(ToolResultMessage {
            tool_call_id: "c".into(),
            tool_name: tool.into(),
            content: vec![Part::text("four")],
            details: None,
            is_error: false,
            duration_ms: None,
            timestamp: 0,
        })
    }

    fn context(messages: Vec<Message>) -> Context {
        let messages = messages.into_iter().map(|message| (None, Arc::new(message))).collect();
        Context { messages, ..Context::default() }
    }

    fn shown(parts: &[ContextPart]) -> Vec<String> {
        parts.iter().map(|it| format!("{} {} {}", it.name, it.tokens, it.count)).collect()
    }

    #[test]
    fn parts_stand_in_the_order_of_sending_and_add_up_to_what_was_counted() {
        let answer = Message::Assistant(AssistantMessage {
            content: vec![Part::text("eight ch")],
            ..AssistantMessage::default()
        });
        let context =
            context(vec![Message::user("four", 0), answer, result("read"), result("read")]);
        let estimated = Counted { estimated: true, ..Counted::default() };
        let parts = parts("four four ", &[], &context, &estimated);
        assert_eq!(
            shown(&parts),
            ["system prompt 3 1", "your messages 1 1", "answers 2 1", "tool results: read 2 2"]
        );
        let counted = Counted { tokens: 81, estimated: false, ..Counted::default() };
        let parts = super::parts("four four ", &[], &context, &counted);
        assert_eq!(
            shown(&parts),
            ["system prompt 31 1", "your messages 10 1", "answers 20 1", "tool results: read 20 2"]
        );
    }

    #[test]
    fn however_many_tools_there_are_the_list_is_short() {
        let results = (0..100).map(|n| result(&format!("tool{n}"))).collect();
        let estimated = Counted { estimated: true, ..Counted::default() };
        let parts = parts("", &[], &context(results), &estimated);
        assert_eq!(parts.len(), 1 + MAX_TOOLS);
        assert_eq!(shown(&parts).pop().unwrap(), "tool results: others 81 81");
    }
}
