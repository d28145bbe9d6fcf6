//! A one-line text field for popups: small enough to have no scroll state, and moving by grapheme
//! cluster so that an emoji is one press of Backspace.

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

use crate::ui::chord::{Chord, Key};

/// Longer input than this has no use in a popup and only slows drawing.
pub const MAX_CHARS: usize = 2_000;

/// Text and cursor (a byte position on a cluster boundary).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineInput {
    text: String,
    cursor: usize,
}

impl LineInput {
    pub fn new(text: &str) -> Self {
        let mut input = Self::default();
        input.insert(text);
        input
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text before the cursor.
    pub fn before(&self) -> &str {
        &self.text[..self.cursor]
    }

    /// Inserts at the cursor; line ends become blanks, other control characters are dropped.
    pub fn insert(&mut self, text: &str) {
        let room = MAX_CHARS.saturating_sub(self.text.chars().count());
        let clean: String = text
            .chars()
            .map(|c| if matches!(c, '\n' | '\r' | '\t') { ' ' } else { c })
            .filter(|c| !c.is_control())
            .take(room)
            .collect();
        self.text.insert_str(self.cursor, &clean);
        self.cursor += clean.len();
        self.settle();
    }

    /// An insertion may have joined clusters; the cursor moves behind the one it stands in.
    fn settle(&mut self) {
        let whole = GraphemeCursor::new(self.cursor, self.text.len(), true)
            .is_boundary(&self.text, 0)
            .unwrap_or(true);
        if !whole {
            self.cursor = self.next();
        }
    }

    /// Takes an editing key; `false` when the key edits nothing here.
    pub fn key(&mut self, chord: Chord) -> bool {
        if let Some(c) = chord.typed() {
            self.insert(c.encode_utf8(&mut [0; 4]));
            return true;
        }
        match (chord.key, chord.ctrl) {
            (Key::Backspace, _) => self.delete(self.previous(), self.cursor),
            (Key::Delete, _) => self.delete(self.cursor, self.next()),
            (Key::Left, _) | (Key::Char('b'), true) => self.cursor = self.previous(),
            (Key::Right, _) | (Key::Char('f'), true) => self.cursor = self.next(),
            (Key::Home, _) | (Key::Char('a'), true) => self.cursor = 0,
            (Key::End, _) | (Key::Char('e'), true) => self.cursor = self.text.len(),
            (Key::Char('u'), true) => self.delete(0, self.cursor),
            (Key::Char('k'), true) => self.delete(self.cursor, self.text.len()),
            (Key::Char('w'), true) => {
                let kept = self.before().trim_end();
                let start = kept.rfind(' ').map_or(0, |at| at + 1);
                self.delete(start, self.cursor);
            }
            _ => return false,
        }
        true
    }

    fn delete(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = from;
        self.settle();
    }

    fn previous(&self) -> usize {
        self.before().grapheme_indices(true).next_back().map_or(0, |(at, _)| at)
    }

    fn next(&self) -> usize {
        let rest = &self.text[self.cursor..];
        rest.graphemes(true).next().map_or(self.cursor, |cluster| self.cursor + cluster.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backspace_takes_a_whole_cluster_and_nothing_at_the_start() {
        let mut input = LineInput::new("a👨‍👩‍👧‍👦");
        let backspace = Chord::plain(Key::Backspace);
        input.key(backspace);
        assert_eq!(input.text(), "a");
        input.key(backspace);
        input.key(backspace);
        assert_eq!(input.text(), "");
    }

    #[test]
    fn pasted_lines_become_one() {
        assert_eq!(LineInput::new("a\r\nb\u{1b}c").text(), "a  bc");
    }
}
