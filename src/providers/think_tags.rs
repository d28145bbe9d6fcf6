//! Thinking that a model writes into its text between tags, told apart piece by piece.
//!
//! Only tags at the very start of the text count: an answer that quotes the tags later is an answer.

/// Opening and closing forms that models are known to use.
const OPEN: [&str; 2] = ["<think>", "<thinking>"];
const CLOSE: [&str; 2] = ["</think>", "</thinking>"];
/// White space held back at the start while a tag may still follow.
const MAX_HELD: usize = 64;

/// A piece told apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    Thinking(String),
    Text(String),
}

/// Where in the text we are.
#[derive(Debug, Default)]
pub(super) struct ThinkTags {
    state: State,
    held: String,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Start,
    /// After the opening tag, where line ends belong to nobody.
    Opened,
    Thinking,
    /// After the closing tag, where line ends belong to nobody.
    Gap,
    Text,
}

impl ThinkTags {
    /// Adds a piece of text; gives what is certain so far. The tags may be split anywhere.
    pub(super) fn push(&mut self, piece: &str) -> Vec<Piece> {
        let mut out = Vec::new();
        let mut rest = std::mem::take(&mut self.held);
        rest.push_str(piece);
        while let Some(left) = self.step(rest, &mut out) {
            rest = left;
        }
        out
    }

    /// What was held back, when the text ends.
    pub(super) fn end(&mut self) -> Option<Piece> {
        let held = std::mem::take(&mut self.held);
        if held.is_empty() {
            return None;
        }
        Some(match self.state {
            State::Thinking => Piece::Thinking(held),
            _ => Piece::Text(held),
        })
    }

    /// Handles `rest` in the present state; gives what is left for the next state.
    fn step(&mut self, rest: String, out: &mut Vec<Piece>) -> Option<String> {
        match self.state {
            State::Start => self.start(rest),
            State::Thinking => self.thinking(rest, out),
            State::Opened => self.skip_space(&rest, State::Thinking),
            State::Gap => self.skip_space(&rest, State::Text),
            State::Text => {
                if !rest.is_empty() {
                    out.push(Piece::Text(rest));
                }
                None
            }
        }
    }

    fn skip_space(&mut self, rest: &str, then: State) -> Option<String> {
        let text = rest.trim_start();
        if text.is_empty() {
            return None;
        }
        self.state = then;
        Some(text.to_owned())
    }

    fn start(&mut self, rest: String) -> Option<String> {
        let text = rest.trim_start();
        if let Some(tag) = OPEN.iter().find(|tag| text.starts_with(**tag)) {
            self.state = State::Opened;
            return Some(text[tag.len()..].to_owned());
        }
        // Some servers cut off the thinking but leave its closing tag.
        if let Some(tag) = CLOSE.iter().find(|tag| text.starts_with(**tag)) {
            self.state = State::Gap;
            return Some(text[tag.len()..].to_owned());
        }
        let may_follow = OPEN.iter().chain(&CLOSE).any(|tag| tag.starts_with(text));
        if may_follow && rest.len() <= MAX_HELD {
            self.held = rest;
            return None;
        }
        self.state = State::Text;
        Some(rest)
    }

    fn thinking(&mut self, mut rest: String, out: &mut Vec<Piece>) -> Option<String> {
        let found = CLOSE.iter().filter_map(|tag| Some((rest.find(tag)?, tag.len()))).min();
        if let Some((at, len)) = found {
            let after = rest[at + len..].to_owned();
            rest.truncate(at);
            push_thinking(rest, out);
            self.state = State::Gap;
            return Some(after);
        }
        self.held = rest.split_off(rest.len() - possible_tag(&rest));
        push_thinking(rest, out);
        None
    }
}

fn push_thinking(text: String, out: &mut Vec<Piece>) {
    if !text.is_empty() {
        out.push(Piece::Thinking(text));
    }
}

/// How many bytes at the end may be the beginning of a closing tag.
fn possible_tag(text: &str) -> usize {
    let longest = CLOSE.iter().map(|tag| tag.len() - 1).max().unwrap_or(0);
    (1..=longest.min(text.len()))
        .rev()
        .find(|len| CLOSE.iter().any(|tag| tag.as_bytes().starts_with(tail(text, *len))))
        .unwrap_or(0)
}

fn tail(text: &str, len: usize) -> &[u8] {
    &text.as_bytes()[text.len() - len..]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Thinking and text of the whole, each joined.
    fn read(pieces: &[&str]) -> (String, String) {
        let mut tags = ThinkTags::default();
        let mut all: Vec<Piece> = pieces.iter().flat_map(|piece| tags.push(piece)).collect();
        all.extend(tags.end());
        let (mut thinking, mut text) = (String::new(), String::new());
        for piece in all {
            match piece {
                Piece::Thinking(piece) => thinking.push_str(&piece),
                Piece::Text(piece) => text.push_str(&piece),
            }
        }
        (thinking, text)
    }

    #[test]
    fn tags_are_found_wherever_they_are_split() {
        let whole = "\n<think>\nplan é < </thin </b></think>\n\nanswer <think>x</think>";
        let want = ("plan é < </thin </b>".to_owned(), "answer <think>x</think>".to_owned());
        assert_eq!(read(&[whole]), want);
        for (at, _) in whole.char_indices() {
            assert_eq!(read(&[&whole[..at], &whole[at..]]), want, "split at {at}");
        }
        let each: Vec<String> = whole.chars().map(String::from).collect();
        assert_eq!(read(&each.iter().map(String::as_str).collect::<Vec<_>>()), want);
    }

    #[test]
    fn text_without_tags_at_its_start_stays_as_it_is() {
        for text in ["a", "<", "<thinker>x", "  <p>", "use `<think>` tags", "<think", "", " \n"] {
            assert_eq!(read(&[text]), (String::new(), text.to_owned()), "{text:?}");
        }
    }

    #[test]
    fn half_of_a_pair_is_told_apart_as_far_as_it_can_be() {
        assert_eq!(read(&["<thinking>never closed </thi"]).0, "never closed </thi");
        assert_eq!(read(&["</think>\n\nanswer"]), (String::new(), "answer".into()));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]
        #[test]
        fn splitting_never_changes_the_reading(
            parts in prop::collection::vec("(<think>|</think>|<|/|th|ink>|é| |\n|a){0,4}", 0..6)
        ) {
            let whole = parts.concat();
            let split: Vec<&str> = parts.iter().map(String::as_str).collect();
            prop_assert_eq!(read(&split), read(&[&whole]));
        }
    }
}
