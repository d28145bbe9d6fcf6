//! The estimate of tokens where no provider has counted them.

use crate::message::{Message, Part};

/// Characters of text that make about one token.
const CHARS_PER_TOKEN: usize = 4;
/// What an image is taken for, in characters (1,200 tokens).
const IMAGE_CHARS: usize = 4800;

/// Tokens of a text, rounded up.
pub fn of_text(text: &str) -> u64 {
    tokens(text.chars().count())
}

/// Tokens of one message, rounded up per message.
pub fn of_message(message: &Message) -> u64 {
    tokens(match message {
        Message::User(message) => content(&message.content),
        Message::Assistant(message) => content(&message.content),
        Message::ToolResult(message) => content(&message.content),
        Message::Custom(message) => content(&message.content),
        Message::BashExecution(run) => run.command.chars().count() + run.output.chars().count(),
        Message::BranchSummary(message) | Message::CompactionSummary(message) => {
            message.summary.chars().count()
        }
        Message::Unknown => 0,
    })
}

fn tokens(chars: usize) -> u64 {
    chars.div_ceil(CHARS_PER_TOKEN) as u64
}

fn content(parts: &[Part]) -> usize {
    parts
        .iter()
        .map(|part| match part {
            Part::Text { text, .. } => text.chars().count(),
            Part::Thinking { thinking, .. } => thinking.chars().count(),
            Part::Image { .. } => IMAGE_CHARS,
            Part::ToolCall(call) => {
                call.name.chars().count() + call.arguments.to_string().chars().count()
            }
            Part::Unknown => 0,
        })
        .sum()
}
#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn an_image_counts_as_much_wherever_it_stands_and_a_text_is_rounded_up() {
        let image = || Part::Image { data: "AAAA".into(), mime_type: "image/png".into() };
        let mut message = Message::user("12345", 0);
        assert_eq!((of_text("12345"), of_message(&message)), (2, 2));
        if let Message::User(said) = &mut message {
            said.content = vec![image(), image()];
        }
        assert_eq!(of_message(&message), 2400);
    }
}
