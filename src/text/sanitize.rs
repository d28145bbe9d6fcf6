//! The one gate between foreign text and the screen: nothing that passes can move, hide or restyle.
//!
//! What a terminal would obey or a reader could not see is shown as a mark, so that an attempt is
//! visible; clean text is borrowed, since almost all text is clean.

use std::borrow::Cow;
use std::fmt::Write as _;

use unicode_width::UnicodeWidthChar;

use super::width::{ELLIPSIS, swidth, to_tab_stop, truncate_to};

/// Marks stacked on one character beyond this are dropped: no script needs more than a handful, and
/// a cell of the screen must stay small.
const MAX_STACKED: usize = 8;

/// Bytes read for each cell of a one-line text: enough for the widest encodings, and a bound for
/// names of megabytes.
const BYTES_PER_CELL: usize = 16;

/// Text that may be handed to widgets. `\n` is the only control character left.
///
/// `\r\n` becomes `\n`, tabs become spaces to the next stop, controls become their pictures (`␛`),
/// bidirectional and invisible format characters become `⟨U+202E⟩`, variation selectors and joiners
/// go (the screen measures them differently from terminals). Idempotent.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    match first_unclean(text) {
        None => Cow::Borrowed(text),
        Some(at) => Cow::Owned(rewrite(text, at)),
    }
}

/// Sanitised text on one line, at most `max_width` cells wide: runs of white space become one space,
/// what does not fit ends in `…`. Reads a bounded part of the text.
pub fn one_line(text: &str, max_width: usize) -> String {
    let bound = max_width.saturating_mul(BYTES_PER_CELL).saturating_add(BYTES_PER_CELL);
    let head = &text[..text.floor_char_boundary(bound)];
    let clean = sanitize(head);
    let mut line = String::with_capacity(clean.len().min(bound));
    for word in clean.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    if head.len() < text.len() && swidth(&line) < max_width {
        line.push_str(ELLIPSIS);
    }
    truncate_to(&line, max_width).into_owned()
}

/// What becomes of a character.
enum Fate {
    Keep,
    Drop,
    /// Control pictures sit in one block in the order of the controls.
    Picture(char),
    Code,
}

fn fate(c: char, previous: Option<char>) -> Fate {
    match c {
        '\n' | ' '..='~' => Fate::Keep,
        '\0'..='\u{1f}' => Fate::Picture(char::from_u32(0x2400 + c as u32).unwrap_or('?')),
        '\u{7f}' => Fate::Picture('␡'),
        '\u{80}'..='\u{9f}' => Fate::Code,
        // Variation selectors and the zero-width joiner: the screen and terminals disagree on
        // their width, and neither is needed to read the text.
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' | '\u{200d}' => Fate::Drop,
        // Persian and Indic words need the non-joiner; elsewhere it only hides.
        '\u{200c}' => match previous {
            Some(letter) if !letter.is_ascii() && letter.is_alphanumeric() => Fate::Keep,
            _ => Fate::Code,
        },
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{13430}'..='\u{1343f}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e00ff}'
        | '\u{e01f0}'..='\u{e0fff}' => Fate::Code,
        _ => Fate::Keep,
    }
}

fn stacks(c: char) -> bool {
    !c.is_ascii() && c.width() == Some(0)
}

/// Where the first character stands that may not pass as it is.
fn first_unclean(text: &str) -> Option<usize> {
    let plain = text.bytes().position(|byte| byte != b'\n' && !(b' '..=b'~').contains(&byte))?;
    let mut previous = text[..plain].chars().next_back();
    let mut stacked = 0;
    for (offset, c) in text[plain..].char_indices() {
        stacked = if stacks(c) { stacked + 1 } else { 0 };
        if stacked > MAX_STACKED || !matches!(fate(c, previous), Fate::Keep) {
            return Some(plain + offset);
        }
        previous = Some(c);
    }
    None
}

fn rewrite(text: &str, clean: usize) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    out.push_str(&text[..clean]);
    let mut column = Column::default();
    let mut stacked = out.chars().rev().take_while(|c| stacks(*c)).count();
    let mut rest = text[clean..].chars().peekable();
    while let Some(c) = rest.next() {
        if c == '\r' && rest.peek() == Some(&'\n') {
            continue;
        }
        if c == '\t' {
            let spaces = to_tab_stop(column.advance(&out));
            out.extend(std::iter::repeat_n(' ', spaces));
            stacked = 0;
            continue;
        }
        match fate(c, out.chars().next_back()) {
            Fate::Drop => {}
            Fate::Keep if stacks(c) && stacked >= MAX_STACKED => {}
            Fate::Keep => {
                stacked = if stacks(c) { stacked + 1 } else { 0 };
                out.push(c);
            }
            Fate::Picture(picture) => {
                stacked = 0;
                out.push(picture);
            }
            Fate::Code => {
                stacked = 0;
                let _ = write!(out, "⟨U+{:04X}⟩", c as u32);
            }
        }
    }
    out
}

/// The column of the end of a growing text, measured piece by piece so that many tabs stay cheap.
#[derive(Default)]
struct Column {
    measured: usize,
    cells: usize,
}

impl Column {
    fn advance(&mut self, text: &str) -> usize {
        let fresh = &text[self.measured..];
        match fresh.rfind('\n') {
            Some(at) => self.cells = swidth(&fresh[at + 1..]),
            None => self.cells += swidth(fresh),
        }
        self.measured = text.len();
        self.cells
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn clean_text_is_borrowed() {
        for text in ["", "plain\ntext", "日本語 é ñ", "flag 🇩🇪 thumb 👍🏽"] {
            assert!(matches!(sanitize(text), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn what_a_terminal_would_obey_becomes_visible() {
        assert_eq!(sanitize("\x1b]52;c;aGk=\x07"), "␛]52;c;aGk=␇");
        assert_eq!(sanitize("a\r\nb\rc\x08\0"), "a\nb␍c␈␀");
        assert_eq!(sanitize("\u{9b}31m"), "⟨U+009B⟩31m");
        assert_eq!(sanitize("evil\u{202e}txt.exe"), "evil⟨U+202E⟩txt.exe");
        assert_eq!(sanitize("a\tb\n\tc"), "a   b\n    c");
    }

    #[test]
    fn emoji_sequences_are_split_into_what_the_screen_can_measure() {
        assert_eq!(sanitize("❤\u{fe0f}"), "❤");
        assert_eq!(sanitize("👨\u{200d}👩\u{200d}👧"), "👨👩👧");
        assert_eq!(sanitize(&format!("a{}", "\u{301}".repeat(99))).chars().count(), 9);
    }

    #[test]
    fn a_name_is_one_line_however_long_it_is() {
        assert_eq!(one_line("a\n\n  b\tc", 20), "a b c");
        assert_eq!(one_line(&"x".repeat(5_000_000), 5), "xxxx…");
        assert_eq!(one_line("x", 0), "");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn no_control_passes_and_a_second_pass_changes_nothing(
            text in proptest::collection::vec(any::<char>(), 0..80).prop_map(String::from_iter)
        ) {
            let clean = sanitize(&text).into_owned();
            prop_assert!(!clean.chars().any(|c| c.is_control() && c != '\n'));
            prop_assert!(matches!(sanitize(&clean), Cow::Borrowed(_)));
        }

        #[test]
        fn one_line_is_never_wider_than_asked(
            text in proptest::collection::vec(any::<char>(), 0..80).prop_map(String::from_iter),
            width in 0usize..60,
        ) {
            let line = one_line(&text, width);
            prop_assert!(!line.contains('\n') && swidth(&line) <= width);
        }
    }
}
