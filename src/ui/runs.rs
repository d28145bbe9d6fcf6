//! Styled text on its way to lines: runs of one style each, wrapped at a width that holds.
//!
//! Everything the transcript shows passes here last, so "no line is wider than asked" is kept in
//! one place, down to a width of one cell.

use std::ops::Range;

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

use crate::text::width::{grapheme_width, swidth, truncate_to, wrap, wrap_hard};

/// Stands for a character wider than the whole line.
const TOO_WIDE: &str = "·";

/// Sanitised text in one style. `\n` breaks the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub text: String,
    pub style: Style,
}

impl Run {
    pub fn new(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }
}

/// How lines break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Break {
    /// Between words; white space at a break goes.
    Words,
    /// Wherever the line is full; every space stays.
    Cells,
}

/// Cells of a line, as the screen counts them: run by run.
pub fn line_width(line: &Line<'_>) -> usize {
    line.spans.iter().map(|span| swidth(&span.content)).sum()
}

/// The runs as lines of at most `width` cells (a width of 0 counts as 1). No runs are one empty line.
pub fn wrap_runs(runs: &[Run], width: usize, how: Break) -> Vec<Line<'static>> {
    let width = width.max(1);
    let text: String = runs.iter().map(|run| run.text.as_str()).collect();
    let mut lines = Vec::new();
    let mut cursor = Cursor { runs, run: 0, start: 0 };
    let mut at = 0;
    for row in text.split('\n') {
        let ranges = match how {
            Break::Words => wrap(row, width),
            Break::Cells => wrap_hard(row, width),
        };
        for range in ranges {
            let shown = match how {
                Break::Words => row[range.clone()].trim_end_matches(' ').len(),
                Break::Cells => range.len(),
            };
            let start = at + range.start;
            lines.push(fit(cursor.slice(start..start + shown), width));
        }
        at += row.len() + 1;
    }
    lines
}

/// Walks the runs once, from left to right.
struct Cursor<'a> {
    runs: &'a [Run],
    run: usize,
    /// Where the current run begins in the whole text.
    start: usize,
}

impl Cursor<'_> {
    fn slice(&mut self, range: Range<usize>) -> Line<'static> {
        let mut spans = Vec::new();
        while let Some(run) = self.runs.get(self.run) {
            let end = self.start + run.text.len();
            let from = range.start.max(self.start);
            let to = range.end.min(end);
            if from < to {
                let piece = &run.text[from - self.start..to - self.start];
                spans.push(Span::styled(piece.to_owned(), run.style));
            }
            if end > range.end {
                break;
            }
            self.run += 1;
            self.start = end;
        }
        Line::from(spans)
    }
}

/// The line itself when it fits, else cut: what is too wide for the whole width becomes a dot.
pub fn fit(line: Line<'static>, width: usize) -> Line<'static> {
    if line_width(&line) <= width {
        return line;
    }
    let mut left = width;
    let mut spans = Vec::with_capacity(line.spans.len());
    for span in line.spans {
        let mut kept = String::with_capacity(span.content.len());
        for grapheme in span.content.graphemes(true) {
            let mut piece = grapheme;
            let mut cells = grapheme_width(piece);
            if cells > width {
                (piece, cells) = (TOO_WIDE, 1);
            }
            if cells > left {
                left = 0;
                break;
            }
            left -= cells;
            kept.push_str(piece);
        }
        spans.push(Span::styled(kept, span.style));
        if left == 0 {
            break;
        }
    }
    Line { spans, ..line }
}

/// `left` and `right` at the two ends of one line; when both do not fit `left` is cut with `…`, and
/// when even that leaves nothing of it, `right` goes.
pub fn ends(left: Vec<Span<'static>>, right: Vec<Span<'static>>, width: usize) -> Line<'static> {
    let right_width: usize = right.iter().map(|span| swidth(&span.content)).sum();
    /// Below this the left side says nothing.
    const MIN_LEFT: usize = 12;
    if right_width == 0 || width < right_width + MIN_LEFT {
        return truncated(left, width);
    }
    let room = width - right_width - 1;
    let mut line = truncated(left, room);
    let gap = width - right_width - line_width(&line);
    line.spans.push(Span::raw(" ".repeat(gap)));
    line.spans.extend(right);
    fit(line, width)
}

/// One line of at most `width` cells, cut with `…`.
pub fn truncated(spans: Vec<Span<'static>>, width: usize) -> Line<'static> {
    let mut left = width;
    let mut out = Vec::with_capacity(spans.len());
    let mut rest = spans.into_iter().peekable();
    while let Some(span) = rest.next() {
        let cells = swidth(&span.content);
        let more = rest.peek().is_some_and(|next| !next.content.is_empty());
        if cells < left || (cells == left && !more) {
            left -= cells;
            out.push(span);
            continue;
        }
        // A cut is only honest with its ellipsis, also when the cut falls between two spans.
        let text = if cells == left { format!("{} ", span.content) } else { span.content.into() };
        out.push(Span::styled(truncate_to(&text, left).into_owned(), span.style));
        break;
    }
    Line::from(out)
}

/// Puts `prefix` before every line: `first` on the first, `rest` on the others.
pub fn prefix(lines: &mut [Line<'static>], first: &Span<'static>, rest: &Span<'static>) {
    for (index, line) in lines.iter_mut().enumerate() {
        line.spans.insert(0, if index == 0 { first.clone() } else { rest.clone() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(line: &Line<'_>) -> String {
        line.spans.iter().map(|span| span.content.as_ref()).collect()
    }

    #[test]
    fn a_line_with_two_ends_keeps_the_right_one() {
        let line = ends(vec![Span::raw("a long left side")], vec![Span::raw("+1")], 15);
        assert_eq!(text(&line), "a long left… +1");
        assert_eq!(text(&ends(vec![Span::raw("left")], vec![Span::raw("right")], 6)), "left");
        assert_eq!(text(&truncated(vec![Span::raw("abc"), Span::raw("def")], 3)), "ab…");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn no_line_is_wider_than_asked(
            pieces in proptest::collection::vec("(\\PC|[ \n日👍]){0,20}", 0..5),
            width in 1usize..40,
        ) {
            let runs: Vec<Run> = pieces.iter().map(|text| Run::new(text.as_str(), Style::new())).collect();
            for how in [Break::Words, Break::Cells] {
                for line in wrap_runs(&runs, width, how) {
                    prop_assert!(line_width(&line) <= width);
                }
            }
            let spans: Vec<Span<'static>> = pieces.into_iter().map(Span::raw).collect();
            prop_assert!(line_width(&truncated(spans.clone(), width)) <= width);
            prop_assert!(line_width(&ends(spans.clone(), spans, width)) <= width);
        }
    }
}
