//! How a command, a program's message and a summary read as words of the user.

use crate::message::{BashExecution, Message, Part, UserMessage};

/// What the model is told in front of a summary of older messages.
const COMPACTED: &str = "The conversation before this point was compacted. This is its summary:";
/// What the model is told in front of a summary of another branch.
const BRANCHED: &str =
    "The user came back to this point from another branch. This is a summary of that branch:";

pub(super) fn user(content: Vec<Part>, timestamp: i64) -> Message {
    Message::User(UserMessage { content, timestamp })
}

/// The user message that stands for another kind of message; `None` when it is not sent.
pub(super) fn as_user(message: &Message) -> Option<Message> {
    match message {
        Message::BashExecution(run) if run.exclude_from_context != Some(true) => {
            Some(Message::user(ran(run), run.timestamp))
        }
        Message::Custom(custom) => {
            let content = super::said(&custom.content)?;
            let content = content.unwrap_or_else(|| custom.content.clone());
            Some(user(content, custom.timestamp))
        }
        Message::BranchSummary(summary) => {
            summarised(BRANCHED, &summary.summary, summary.timestamp)
        }
        Message::CompactionSummary(summary) => {
            summarised(COMPACTED, &summary.summary, summary.timestamp)
        }
        _ => None,
    }
}

fn summarised(sentence: &str, summary: &str, timestamp: i64) -> Option<Message> {
    if summary.trim().is_empty() {
        return None;
    }
    let text = format!("{sentence}\n\n<summary>\n{summary}\n</summary>");
    Some(Message::user(text, timestamp))
}

fn ran(run: &BashExecution) -> String {
    let mut text = format!("Ran `{}`\n", run.command);
    if run.output.trim().is_empty() {
        text.push_str("(no output)");
    } else {
        let fence = fence(&run.output);
        text.push_str(&format!("{fence}\n{}\n{fence}", run.output.trim_end_matches('\n')));
    }
    match run.exit_code {
        _ if run.cancelled => text.push_str("\n\n(command cancelled)"),
        Some(code) if code != 0 => text.push_str(&format!("\n\nCommand exited with code {code}")),
        _ => {}
    }
    if let (true, Some(path)) = (run.truncated, &run.full_output_path) {
        text.push_str(&format!("\n\n[Output truncated. Full output: {path}]"));
    }
    text
}

/// A fence longer than any run of backticks in the text, so that output cannot leave its block.
fn fence(text: &str) -> String {
    let mut longest = 2;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    "`".repeat(longest + 1)
}
