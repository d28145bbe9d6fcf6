//! The rules every request keeps, as a check that tests and the mock server share.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::message::{Message, Part};

/// Checks a request: each call has exactly one result directly behind its answer, in call order; no
/// result without a call; arguments are objects; the first message is the user's; no message is
/// empty; only user, assistant and tool result messages.
///
/// # Errors
/// The first broken rule, with the position of the message.
pub fn check(messages: &[Arc<Message>]) -> Result<(), String> {
    let mut open: VecDeque<&str> = VecDeque::new();
    for (at, message) in messages.iter().enumerate() {
        if at == 0 && !matches!(**message, Message::User(_)) {
            return Err("message 0 is not the user's".to_owned());
        }
        if let Message::ToolResult(result) = &**message {
            if open.pop_front() != Some(result.tool_call_id.as_str()) {
                return Err(format!(
                    "message {at}: result {:?} is out of place",
                    result.tool_call_id
                ));
            }
        } else if let Some(call) = open.front() {
            return Err(format!("message {at}: call {call:?} has no result before it"));
        }
        if is_empty(message) {
            return Err(format!("message {at} is empty"));
        }
        match &**message {
            Message::Assistant(answer) => {
                for call in answer.tool_calls() {
                    if !call.arguments.is_object() {
                        return Err(format!(
                            "message {at}: arguments of {:?} are no object",
                            call.id
                        ));
                    }
                    open.push_back(&call.id);
                }
            }
            Message::User(_) | Message::ToolResult(_) => {}
            _ => return Err(format!("message {at} is of a kind that is never sent")),
        }
    }
    match open.front() {
        Some(call) => Err(format!("call {call:?} has no result at the end")),
        None => Ok(()),
    }
}

fn is_empty(message: &Message) -> bool {
    let content = match message {
        Message::User(message) => &message.content,
        Message::Assistant(message) => &message.content,
        Message::ToolResult(message) => &message.content,
        _ => return false,
    };
    !content.iter().any(|part| match part {
        Part::Text { text, .. } => !text.trim().is_empty(),
        Part::Image { data, .. } => !data.is_empty(),
        Part::ToolCall(_) => matches!(message, Message::Assistant(_)),
        Part::Thinking { .. } | Part::Unknown => false,
    })
}
