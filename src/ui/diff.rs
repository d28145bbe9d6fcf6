//! A numbered display diff as coloured lines, with what changed inside a line made to stand out.
//!
//! Signs stay beside the colours, so that a diff reads the same without them.

use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;

use crate::text::sanitize::sanitize;
use crate::text::width::swidth;
use crate::ui::runs::{Break, Run, prefix, wrap_runs};
use crate::ui::theme::Theme;

/// Bytes of a line that are shown; a minified file must not fill the screen.
const MAX_LINE: usize = 4096;

/// Below this many cells beside the numbers, the numbers go.
const MIN_TEXT: usize = 8;

/// Changed lines that are compared with each other at most, in one run of changes.
const MAX_PAIRS: usize = 64;

/// One row of the diff.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row<'a> {
    kind: Kind,
    number: &'a str,
    text: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Added,
    Removed,
    Same,
    Skipped,
}

/// The diff (`-12 old`, `+12 new`, ` 13 same`, `...` for a gap) as lines of at most `width` cells.
pub fn lines(diff: &str, width: u16, theme: &Theme) -> Vec<Line<'static>> {
    let rows: Vec<Row<'_>> = diff.lines().map(row).collect();
    let digits = rows.iter().map(|row| row.number.len()).max().unwrap_or(0);
    let mut out = Vec::with_capacity(rows.len());
    let mut at = 0;
    while at < rows.len() {
        let removed = run_of(&rows[at..], Kind::Removed);
        let added = run_of(&rows[at + removed..], Kind::Added);
        let paired = removed == added && removed > 0 && removed <= MAX_PAIRS;
        let count = (removed + added).max(1);
        for index in at..at + count {
            let partner = match (paired, index < at + removed) {
                (false, _) => None,
                (true, true) => rows.get(index + removed),
                (true, false) => rows.get(index - removed),
            };
            paint(&rows[index], partner, digits, usize::from(width), theme, &mut out);
        }
        at += count;
    }
    out
}

/// How many lines were added and removed.
pub fn counts(diff: &str) -> (usize, usize) {
    diff.lines().fold((0, 0), |(added, removed), line| match row(line).kind {
        Kind::Added => (added + 1, removed),
        Kind::Removed => (added, removed + 1),
        _ => (added, removed),
    })
}

fn run_of(rows: &[Row<'_>], kind: Kind) -> usize {
    rows.iter().take_while(|row| row.kind == kind).count()
}

fn row(line: &str) -> Row<'_> {
    let (kind, rest) = match line.as_bytes().first() {
        Some(b'+') => (Kind::Added, &line[1..]),
        Some(b'-') => (Kind::Removed, &line[1..]),
        Some(b' ') => (Kind::Same, &line[1..]),
        _ => (Kind::Same, line),
    };
    let padded = rest.trim_start_matches(' ');
    let digits = padded.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        let kind = if kind == Kind::Same { Kind::Skipped } else { kind };
        return Row { kind, number: "", text: rest };
    }
    let (number, text) = padded.split_at(digits);
    Row { kind, number, text: text.strip_prefix(' ').unwrap_or(text) }
}

fn paint(
    row: &Row<'_>,
    partner: Option<&Row<'_>>,
    digits: usize,
    width: usize,
    theme: &Theme,
    out: &mut Vec<Line<'static>>,
) {
    let styles = &theme.diff;
    let (sign, base, part) = match row.kind {
        Kind::Added => ("+", styles.added, styles.added_part),
        Kind::Removed => ("-", styles.removed, styles.removed_part),
        Kind::Same => (" ", styles.context, styles.context),
        Kind::Skipped => (" ", theme.muted, theme.muted),
    };
    let shown = clip(row.text);
    let mut runs = match partner.and_then(|partner| differing(shown, clip(partner.text))) {
        Some((from, to)) => [(0..from, base), (from..to, part), (to..shown.len(), base)]
            .into_iter()
            .map(|(range, style)| Run::new(sanitize(&shown[range]), style))
            .collect::<Vec<_>>(),
        None => vec![Run::new(sanitize(shown), base)],
    };
    if shown.len() < row.text.len() {
        let more = row.text.len() - shown.len();
        runs.push(Run::new(format!("{} {more} more bytes", theme.marks().ellipsis), theme.muted));
    }
    let full = digits + 3;
    let margin = if width >= full + MIN_TEXT { full } else { 2.min(width.saturating_sub(1)) };
    let mut lines = wrap_runs(&runs, width.saturating_sub(margin), Break::Cells);
    let (first, rest) = if margin == full {
        (format!("{:>digits$} {sign} ", row.number), " ".repeat(full))
    } else {
        (format!("{sign} ")[..margin].to_owned(), " ".repeat(margin))
    };
    let style = if row.kind == Kind::Same { styles.number } else { base };
    prefix(&mut lines, &Span::styled(first, style), &Span::raw(rest));
    out.append(&mut lines);
}

fn clip(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_LINE)]
}

/// The part of `text` that is not shared with `other` at either end, as byte offsets on cluster
/// borders. `None` when they are equal or share so little that marks would only confuse.
fn differing(text: &str, other: &str) -> Option<(usize, usize)> {
    let head: usize = text
        .graphemes(true)
        .zip(other.graphemes(true))
        .take_while(|(left, right)| left == right)
        .map(|(same, _)| same.len())
        .sum();
    let tail: usize = text[head..]
        .graphemes(true)
        .rev()
        .zip(other[head..].graphemes(true).rev())
        .take_while(|(left, right)| left == right)
        .map(|(same, _)| same.len())
        .sum();
    let (from, to) = (head, text.len() - tail);
    let shared = swidth(text[..from].trim()) + swidth(text[to..].trim());
    (from < to && shared * 3 >= swidth(text.trim())).then_some((from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = " 40 fn same() {\n-41   if a == b {\n+41   if a.ct_eq(b) {\n ...\n 99 }";

    fn text(lines: &[Line<'_>]) -> Vec<String> {
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn numbers_signs_and_text_stand_in_columns() {
        assert_eq!(
            text(&lines(DIFF, 40, &Theme::default())),
            [
                "40   fn same() {",
                "41 -   if a == b {",
                "41 +   if a.ct_eq(b) {",
                "     ...",
                "99   }"
            ]
        );
        assert_eq!(counts(DIFF), (1, 1));
    }

    #[test]
    fn only_what_changed_inside_a_line_is_marked() {
        let theme = Theme::default();
        let marked: Vec<String> = lines(DIFF, 40, &theme)
            .iter()
            .flat_map(|line| &line.spans)
            .filter(|span| [theme.diff.added_part, theme.diff.removed_part].contains(&span.style))
            .map(|span| span.content.to_string())
            .collect();
        assert_eq!(marked, [" == b", ".ct_eq(b)"]);
    }

    #[test]
    fn a_narrow_pane_drops_the_numbers_and_holds_the_width() {
        for width in 1..20u16 {
            for line in lines("+123456 日本語\tx\x1b[31m", width, &Theme::default()) {
                assert!(crate::ui::runs::line_width(&line) <= usize::from(width));
            }
        }
        assert_eq!(text(&lines("+12 ab", 4, &Theme::default())), ["+ ab"]);
    }
}
