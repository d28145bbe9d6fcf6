//! How many cells text takes and where it may break: by grapheme cluster, as the screen measures.
//!
//! Breaks follow UAX#14 and never cut a cluster. Expects text that went through
//! [`crate::text::sanitize`]; other text is measured without a panic, control characters as nothing.

use std::borrow::Cow;
use std::ops::Range;

use unicode_linebreak::{BreakOpportunity, linebreaks};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// The distance between tab stops, in cells.
pub const TAB_STOP: usize = 4;

/// Ends text that was cut.
pub const ELLIPSIS: &str = "…";

/// Cells of one grapheme cluster. Halfwidth sound marks take a cell of their own on terminals,
/// though Unicode lists them as extending; the screen library counts them the same way.
pub fn grapheme_width(grapheme: &str) -> usize {
    if let [byte] = grapheme.as_bytes() {
        return usize::from(!byte.is_ascii_control());
    }
    if grapheme.chars().any(char::is_control) {
        return 0;
    }
    let marks = grapheme.chars().filter(|c| matches!(c, '\u{ff9e}' | '\u{ff9f}')).count();
    grapheme.width() + marks
}

/// Cells of a text: the sum over its clusters.
pub fn swidth(text: &str) -> usize {
    if text.is_ascii() {
        return text.bytes().filter(|byte| !byte.is_ascii_control()).count();
    }
    text.graphemes(true).map(grapheme_width).sum()
}

/// Byte ranges of the visual lines of one paragraph, in order, covering all of it.
///
/// A range is at most `width` cells wide once its trailing white space is trimmed (spaces hang at
/// a break), or holds a single visible cluster, which is wider than `width`. An empty text is one empty line; a width
/// of 0 counts as 1.
pub fn wrap(text: &str, width: usize) -> Vec<Range<usize>> {
    let width = width.max(1);
    if text.is_ascii() && text.len() <= width && !text.contains('\n') {
        return vec![Range { start: 0, end: text.len() }];
    }
    let mut breaks = linebreaks(text).peekable();
    let mut lines = Vec::new();
    let mut line = Open::default();
    for (at, grapheme) in text.grapheme_indices(true) {
        while let Some((offset, kind)) = breaks.next_if(|(offset, _)| *offset <= at) {
            if offset == at && at > line.start {
                line.may_break(at, kind == BreakOpportunity::Mandatory, &mut lines);
            }
        }
        let cells = grapheme_width(grapheme);
        if !is_space(grapheme) {
            while line.cells > 0 && line.cells + cells > width {
                line.cut(at, &mut lines);
            }
        }
        line.cells += cells;
    }
    if line.start < text.len() || lines.is_empty() {
        lines.push(line.start..text.len());
    }
    lines
}

/// The visual line that is being filled.
#[derive(Default)]
struct Open {
    start: usize,
    cells: usize,
    /// The newest place where it may end, and its width up to there.
    last_break: Option<(usize, usize)>,
}

impl Open {
    fn may_break(&mut self, at: usize, must: bool, lines: &mut Vec<Range<usize>>) {
        if must {
            lines.push(self.start..at);
            *self = Self { start: at, ..Self::default() };
        } else {
            self.last_break = Some((at, self.cells));
        }
    }

    fn cut(&mut self, at: usize, lines: &mut Vec<Range<usize>>) {
        let (end, before) =
            self.last_break.filter(|(end, _)| *end > self.start).unwrap_or((at, self.cells));
        lines.push(self.start..end);
        *self = Self { start: end, cells: self.cells - before, last_break: None };
    }
}

fn is_space(grapheme: &str) -> bool {
    grapheme.trim().is_empty()
}

/// Byte ranges of at most `width` cells each, cut wherever the line is full: for code and terminal
/// output, where every space counts. A cluster wider than `width` stands alone.
pub fn wrap_hard(text: &str, width: usize) -> Vec<Range<usize>> {
    let width = width.max(1);
    let mut lines = Vec::new();
    let (mut start, mut cells) = (0, 0);
    for (at, grapheme) in text.grapheme_indices(true) {
        let wide = grapheme_width(grapheme);
        if cells > 0 && cells + wide > width {
            lines.push(start..at);
            (start, cells) = (at, 0);
        }
        cells += wide;
    }
    lines.push(start..text.len());
    lines
}

/// The text itself when it fits into `width` cells, else its beginning and `…`, together at most
/// `width` cells. Reads no further than it shows.
pub fn truncate_to(text: &str, width: usize) -> Cow<'_, str> {
    let mut cells = 0;
    let mut keep = 0;
    for (at, grapheme) in text.grapheme_indices(true) {
        cells += grapheme_width(grapheme);
        if cells > width {
            if width == 0 {
                return Cow::Borrowed("");
            }
            return Cow::Owned(format!("{}{ELLIPSIS}", &text[..keep]));
        }
        if cells < width {
            keep = at + grapheme.len();
        }
    }
    Cow::Borrowed(text)
}

/// Spaces from a column to the next tab stop.
pub fn to_tab_stop(column: usize) -> usize {
    TAB_STOP - column % TAB_STOP
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(text: &str, width: usize) -> Vec<&str> {
        wrap(text, width).into_iter().map(|range| text[range].trim_end()).collect()
    }

    #[test]
    fn words_wrap_at_spaces_and_long_words_are_cut() {
        assert_eq!(lines("one two three", 7), ["one two", "three"]);
        assert_eq!(lines("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(lines("", 3), [""]);
        assert_eq!(lines("日本語", 4), ["日本", "語"]);
    }

    #[test]
    fn a_cut_text_ends_in_an_ellipsis_and_keeps_whole_clusters() {
        assert_eq!(truncate_to("hello", 5), "hello");
        assert_eq!(truncate_to("hello", 4), "hel…");
        assert_eq!(truncate_to("日本語", 4), "日…");
        assert_eq!(truncate_to("e\u{301}e\u{301}", 1), "…");
        assert_eq!(truncate_to("x", 0), "");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn wrapped_lines_fit_and_lose_nothing(text in "(\\PC|[ \n]){0,60}", width in 1usize..30) {
            for cut in [wrap(&text, width), wrap_hard(&text, width)] {
                let joined: String = cut.iter().map(|range| &text[range.clone()]).collect();
                prop_assert_eq!(&joined, &text);
                for range in cut {
                    let line = text[range].trim_end();
                    let visible = line.graphemes(true).filter(|g| grapheme_width(g) > 0).count();
                    prop_assert!(swidth(line) <= width || visible == 1);
                }
            }
        }

        #[test]
        fn truncated_text_fits(text in "\\PC{0,40}", width in 0usize..30) {
            let cut = truncate_to(&text, width);
            prop_assert!(swidth(&cut) <= width);
            prop_assert_eq!(swidth(&text) <= width, cut == text);
        }
    }
}
