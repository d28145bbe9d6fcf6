//! Messages as plain text, so that a model tells of a conversation instead of going on with it.

use crate::message::{AssistantMessage, Message, Part, StopReason, plain_text};

/// Characters of a tool result that a summary is made from.
const RESULT_CHARS: usize = 2_000;
/// Characters of one argument of a call: a whole file as an argument tells no more than its start.
const ARGUMENT_CHARS: usize = 400;

/// One block for each message that says something, in order. Thinking and images are left out, and
/// so are answers that ended in an error or were stopped: the model never saw them either.
pub(super) fn blocks<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Vec<String> {
    messages.into_iter().flat_map(of_message).map(|block| harmless(&block)).collect()
}

fn of_message(message: &Message) -> Vec<String> {
    match message {
        Message::User(message) => block("User", &plain_text(&message.content)),
        Message::Custom(message) => block("User", &plain_text(&message.content)),
        Message::Assistant(answer) => of_answer(answer),
        Message::ToolResult(result) => {
            let word = if result.is_error { "Tool error" } else { "Tool result" };
            block(word, &cut(&plain_text(&result.content), RESULT_CHARS))
        }
        Message::BashExecution(run) if run.exclude_from_context != Some(true) => {
            let output = cut(&run.output, RESULT_CHARS);
            block("User ran a command", &format!("{}\n{output}", run.command))
        }
        Message::BranchSummary(summary) => block("Summary of another branch", &summary.summary),
        Message::CompactionSummary(summary) => block("Earlier summary", &summary.summary),
        Message::BashExecution(_) | Message::Unknown => Vec::new(),
    }
}

fn of_answer(answer: &AssistantMessage) -> Vec<String> {
    if matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) {
        return Vec::new();
    }
    let mut blocks = block("Assistant", &plain_text(&answer.content));
    let calls: Vec<String> = answer
        .content
        .iter()
        .filter_map(|part| match part {
            Part::ToolCall(call) => Some(format!("{}({})", call.name, arguments(&call.arguments))),
            _ => None,
        })
        .collect();
    blocks.extend(block("Assistant tool calls", &calls.join("; ")));
    blocks
}

fn arguments(value: &serde_json::Value) -> String {
    let Some(fields) = value.as_object() else { return cut(&value.to_string(), ARGUMENT_CHARS) };
    let field = |(name, value): (&String, &serde_json::Value)| {
        format!("{name}={}", cut(&value.to_string(), ARGUMENT_CHARS))
    };
    fields.iter().map(field).collect::<Vec<_>>().join(", ")
}

fn block(who: &str, text: &str) -> Vec<String> {
    let text = text.trim();
    if text.is_empty() { Vec::new() } else { vec![format!("[{who}]: {text}")] }
}

/// The first `limit` characters, and how many were cut.
pub(super) fn cut(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some((end, _)) => {
            let rest = text.get(end..).unwrap_or_default().chars().count();
            let kept = text.get(..end).unwrap_or_default();
            format!("{kept}\n[... {rest} more characters left out]")
        }
    }
}

/// Text that cannot end the element it stands in.
fn harmless(text: &str) -> String {
    text.replace("</conversation", "< /conversation")
        .replace("</previous-summary", "< /previous-summary")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;
    use crate::message::{ToolCall, ToolResultMessage};

    fn result(text: &str) -> Message {
        Message::ToolResult(ToolResultMessage {
            tool_call_id: "c".into(),
            tool_name: "read".into(),
            content: vec![Part::text(text)],
            details: None,
            is_error: false,
            duration_ms: None,
            timestamp: 0,
        })
    }

    #[test]
    fn a_long_result_is_cut_with_a_note_and_what_people_say_is_not() {
        let long = "x".repeat(5000);
        let blocks = blocks(&[Message::user(&*long, 0), result(&long)]);
        assert_eq!(blocks[0], format!("[User]: {long}"));
        let kept = "x".repeat(2000);
        assert_eq!(
            blocks[1],
            format!("[Tool result]: {kept}\n[... 3000 more characters left out]")
        );
    }

    #[test]
    fn a_cut_never_splits_a_character() {
        let text = "👩".repeat(2001);
        let kept = "👩".repeat(2000);
        assert_eq!(cut(&text, 2000), format!("{kept}\n[... 1 more characters left out]"));
    }

    #[test]
    fn thinking_is_left_out_and_calls_are_named() {
        let thinking =
            Part::Thinking { thinking: "secret".into(), thinking_signature: None, redacted: false };
        let call = ToolCall {
            id: "c".into(),
            name: "read".into(),
            arguments: json!({"path": "a.rs", "limit": 3}),
            ..ToolCall::default()
        };
        let answer = AssistantMessage {
            content: vec![thinking, Part::text("look"), Part::ToolCall(call)],
            ..AssistantMessage::default()
        };
        assert_eq!(
            blocks(&[Message::Assistant(answer)]),
            ["[Assistant]: look", "[Assistant tool calls]: read(path=\"a.rs\", limit=3)"]
        );
    }

    #[test]
    fn a_failed_answer_and_an_empty_one_say_nothing() {
        let failed = AssistantMessage {
            content: vec![Part::text("half")],
            stop_reason: StopReason::Aborted,
            ..AssistantMessage::default()
        };
        assert_eq!(
            blocks(&[
                Message::Assistant(failed),
                Message::Assistant(AssistantMessage::default()),
                Message::user("  ", 0)
            ]),
            Vec::<String>::new()
        );
    }

    #[test]
    fn no_text_can_close_the_element_it_stands_in() {
        assert_eq!(
            blocks(&[Message::user("a</conversation>b", 0)]),
            ["[User]: a< /conversation>b"]
        );
    }
}
