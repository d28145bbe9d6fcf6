//! Comparing two states of a file: a numbered diff for people, a patch for programs.
//!
//! The one place that instantiates the diff library, because each further one costs seconds of
//! compiling. Work is bounded twice: only the lines around what changed are compared, and the
//! comparison has a deadline after which it says "replaced".

use std::fmt::Write as _;
use std::ops::Range;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp};

use super::truncate;

/// Unchanged lines shown around a change.
const CONTEXT_LINES: usize = 4;
/// Lines compared beyond a replacement; more than the context, so that hunks can slide.
const MARGIN_LINES: usize = 32;
/// After this the rest counts as replaced; a person waits for the card meanwhile.
const DEADLINE: Duration = Duration::from_millis(200);
/// Lines of a diff that is stored and shown; more than anybody reads.
const MAX_DIFF_LINES: usize = 4000;
/// Bytes of a diff or patch that is stored in a session.
const MAX_DIFF_BYTES: usize = 256 * 1024;
/// Lines of one window that are compared; a larger one counts as replaced, and shows its start.
const MAX_COMPARED_LINES: usize = 200_000;
/// Characters of one line in the display diff.
const MAX_DIFF_LINE_CHARS: usize = 1000;

/// What changed between two texts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextDiff {
    /// Lines of sign (`+`, `-`, space), right-aligned line number, space, text; ` ...` for skipped
    /// runs. Removed lines carry their old number, all others the new one. Long lines are cut, and
    /// so is the whole after `MAX_DIFF_LINES`, with a line that says so.
    pub diff: String,
    /// A unified patch with file names, or empty when it would be larger than 256 KB.
    pub patch: String,
    /// In the new text, from 1. `None` when nothing changed.
    pub first_changed_line: Option<u64>,
    /// `diff` leaves out changed lines, or ends of changed lines: nobody can judge the change by it.
    pub is_cut: bool,
}

/// A stretch of bytes that was replaced: where it was, and where its replacement is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    pub old: Range<usize>,
    pub new: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tag {
    Same,
    Removed,
    Added,
}

/// One line; `old` and `new` are 0-based numbers of the next line on either side.
#[derive(Debug, Clone, Copy)]
struct Row<'a> {
    tag: Tag,
    old: usize,
    new: usize,
    text: &'a str,
}

/// Compares two whole texts; what they share at both ends costs one pass.
pub fn whole(old: &str, new: &str, name: &str) -> TextDiff {
    let (a, b) = (old.as_bytes(), new.as_bytes());
    let start = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let most = a.len().min(b.len()) - start;
    let end = a.iter().rev().zip(b.iter().rev()).take(most).take_while(|(x, y)| x == y).count();
    if start + end == a.len() && a.len() == b.len() {
        return TextDiff::default();
    }
    around(old, new, &[Replaced { old: start..a.len() - end, new: start..b.len() - end }], name)
}

/// Compares only around what is known to be replaced. `replaced` is in ascending order and does not
/// overlap; everything outside is equal.
pub fn around(old: &str, new: &str, replaced: &[Replaced], name: &str) -> TextDiff {
    let (old_lines, new_lines) = (Lines::of(old), Lines::of(new));
    let deadline = Instant::now() + DEADLINE;
    let mut hunks = Vec::new();
    let mut is_cut = false;
    for mut window in windows(&old_lines, &new_lines, replaced) {
        if window.old.len() + window.new.len() > MAX_COMPARED_LINES {
            is_cut = true;
            window.old.end = window.old.end.min(window.old.start + MAX_DIFF_LINES / 2);
            window.new.end = window.new.end.min(window.new.start + MAX_DIFF_LINES / 2);
        }
        let rows = compare(&old_lines, &new_lines, &window, deadline);
        hunks.extend(split_hunks(&rows));
    }
    let first = hunks.iter().flatten().find(|row| row.tag != Tag::Same);
    let most_lines = old_lines.count().max(new_lines.count());
    let (mut diff, hides) = display(&hunks, most_lines, new_lines.count());
    if is_cut {
        diff.push_str("\n ... (too many lines changed to show all)");
    }
    TextDiff {
        first_changed_line: first.map(|row| row.new as u64 + 1),
        diff,
        is_cut: is_cut || hides,
        patch: if is_cut { String::new() } else { patch(&hunks, name) },
    }
}

/// A text with the byte offset of each line, the end included.
struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        let mut starts = vec![0];
        starts.extend(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1));
        if starts.last() != Some(&text.len()) {
            starts.push(text.len());
        }
        Self { text, starts }
    }

    fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Newlines before the byte: equal for two texts that are equal up to there.
    fn at(&self, byte: usize) -> usize {
        let sentinel = usize::from(!self.text.is_empty() && !self.text.ends_with('\n'));
        self.starts[1..self.starts.len() - sentinel].partition_point(|start| *start <= byte)
    }

    fn slice(&self, range: &Range<usize>) -> Vec<&'a str> {
        range.clone().map(|line| &self.text[self.starts[line]..self.starts[line + 1]]).collect()
    }
}

/// Line ranges to compare: each replacement with its margin, neighbours joined.
fn windows(old: &Lines<'_>, new: &Lines<'_>, replaced: &[Replaced]) -> Vec<Replaced> {
    let mut windows: Vec<Replaced> = Vec::new();
    for piece in replaced {
        let margin = old.at(piece.old.start).min(MARGIN_LINES);
        let old_end = old.at(piece.old.end) + 1;
        let new_end = new.at(piece.new.end) + 1;
        let after = MARGIN_LINES
            .min(old.count().saturating_sub(old_end))
            .min(new.count().saturating_sub(new_end));
        let next = Replaced {
            old: old.at(piece.old.start) - margin..(old_end + after).min(old.count()),
            new: new.at(piece.new.start).saturating_sub(margin)..(new_end + after).min(new.count()),
        };
        match windows.last_mut() {
            Some(last) if next.old.start <= last.old.end || next.new.start <= last.new.end => {
                last.old.end = last.old.end.max(next.old.end);
                last.new.end = last.new.end.max(next.new.end);
            }
            _ => windows.push(next),
        }
    }
    windows
}

fn compare<'a>(
    old: &Lines<'a>,
    new: &Lines<'a>,
    window: &Replaced,
    deadline: Instant,
) -> Vec<Row<'a>> {
    let (a, b) = (old.slice(&window.old), new.slice(&window.new));
    let ops = similar::capture_diff_slices_deadline(Algorithm::Myers, &a, &b, Some(deadline));
    let mut rows = Vec::new();
    for op in ops {
        let (before, after) = (op.old_range(), op.new_range());
        let (next_old, next_new) = (window.old.start, window.new.start);
        if let DiffOp::Equal { .. } = op {
            rows.extend(before.zip(after).map(|(i, j)| Row {
                tag: Tag::Same,
                old: next_old + i,
                new: next_new + j,
                text: b[j],
            }));
            continue;
        }
        let new_start = next_new + after.start;
        let old_end = next_old + before.end;
        rows.extend(before.map(|i| Row {
            tag: Tag::Removed,
            old: next_old + i,
            new: new_start,
            text: a[i],
        }));
        rows.extend(after.map(|j| Row {
            tag: Tag::Added,
            old: old_end,
            new: next_new + j,
            text: b[j],
        }));
    }
    rows
}

/// Keeps the changed rows with their context, in runs.
fn split_hunks<'a>(rows: &[Row<'a>]) -> Vec<Vec<Row<'a>>> {
    let mut hunks: Vec<Vec<Row<'a>>> = Vec::new();
    let mut shown_to = 0;
    for (at, row) in rows.iter().enumerate() {
        if row.tag == Tag::Same {
            continue;
        }
        let from = at.saturating_sub(CONTEXT_LINES);
        let to = (at + 1 + CONTEXT_LINES).min(rows.len());
        match hunks.last_mut() {
            Some(hunk) if from <= shown_to => {
                hunk.extend_from_slice(&rows[shown_to.min(to)..to]);
            }
            _ => hunks.push(rows[from..to].to_vec()),
        }
        shown_to = to;
    }
    hunks
}

/// The diff as text, and whether it hides something that changed.
fn display(hunks: &[Vec<Row<'_>>], most_lines: usize, new_count: usize) -> (String, bool) {
    let width = most_lines.max(1).to_string().len();
    let skipped = format!(" {:width$} ...\n", "");
    let mut out = String::new();
    let mut lines = 0;
    let mut next_line = 0;
    let mut hides = false;
    for hunk in hunks {
        if hunk.first().is_some_and(|row| row.new > next_line) {
            out.push_str(&skipped);
        }
        for (at, row) in hunk.iter().enumerate() {
            if lines >= MAX_DIFF_LINES || out.len() > MAX_DIFF_BYTES {
                let left = hunk.len() - at;
                let _ = writeln!(out, " {:width$} ... ({left} more lines of this change)", "");
                return (out.trim_end_matches('\n').to_owned(), true);
            }
            let (sign, number) = match row.tag {
                Tag::Same => (' ', row.new),
                Tag::Removed => ('-', row.old),
                Tag::Added => ('+', row.new),
            };
            let whole = row.text.trim_end_matches(['\n', '\r']);
            let text = truncate::line(whole, MAX_DIFF_LINE_CHARS);
            hides |= row.tag != Tag::Same && text != whole;
            let _ = writeln!(out, "{sign}{:>width$} {text}", number + 1);
            lines += 1;
            next_line = row.new + usize::from(row.tag != Tag::Removed);
        }
    }
    if !hunks.is_empty() && next_line < new_count {
        out.push_str(&skipped);
    }
    (out.trim_end_matches('\n').to_owned(), hides)
}

fn patch(hunks: &[Vec<Row<'_>>], name: &str) -> String {
    if hunks.is_empty() {
        return String::new();
    }
    let mut out = format!("--- {name}\n+++ {name}\n");
    for hunk in hunks {
        let Some(first) = hunk.first() else { continue };
        let old_count = hunk.iter().filter(|row| row.tag != Tag::Added).count();
        let new_count = hunk.iter().filter(|row| row.tag != Tag::Removed).count();
        let start = |line: usize, count: usize| if count == 0 { line } else { line + 1 };
        let _ = writeln!(
            out,
            "@@ -{},{old_count} +{},{new_count} @@",
            start(first.old, old_count),
            start(first.new, new_count),
        );
        for row in hunk {
            out.push(match row.tag {
                Tag::Same => ' ',
                Tag::Removed => '-',
                Tag::Added => '+',
            });
            out.push_str(row.text);
            if !row.text.ends_with('\n') {
                out.push_str("\n\\ No newline at end of file\n");
            }
            if out.len() > MAX_DIFF_BYTES {
                return String::new();
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(lines: Range<usize>) -> String {
        lines.map(|line| format!("l{line}\n")).collect()
    }

    #[test]
    fn a_change_is_shown_with_four_lines_around_and_dots_for_the_rest() {
        let old = numbered(1..13);
        let changed = whole(&old, &old.replace("l6\n", "six\n"), "f");
        let shown = [
            "    ...", "  2 l2", "  3 l3", "  4 l4", "  5 l5", "- 6 l6", "+ 6 six", "  7 l7",
            "  8 l8", "  9 l9", " 10 l10", "    ...",
        ];
        assert_eq!(changed.diff, shown.join("\n"));
        assert_eq!(changed.first_changed_line, Some(6));
        assert_eq!(
            changed.patch,
            "--- f\n+++ f\n@@ -2,9 +2,9 @@\n l2\n l3\n l4\n l5\n-l6\n+six\n l7\n l8\n l9\n l10\n"
        );
    }

    #[test]
    fn a_new_file_is_all_added_and_an_equal_one_is_nothing() {
        let added = whole("", "a\nb", "f");
        assert_eq!((added.diff.as_str(), added.first_changed_line), ("+1 a\n+2 b", Some(1)));
        assert!(added.patch.contains("@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n"));
        assert_eq!(whole("a", "a", "f"), TextDiff::default());
    }

    #[test]
    fn an_emptied_file_and_a_lost_final_newline_are_changes() {
        assert_eq!(whole("a\n", "", "f").diff, "-1 a");
        assert_eq!(whole("a\nb\n", "a\nb", "f").diff, " 1 a\n-2 b\n+2 b");
    }

    #[test]
    fn one_line_of_megabytes_is_cut() {
        let changed = whole(&"x".repeat(3 << 20), &format!("{}y", "x".repeat(3 << 20)), "f");
        assert!(changed.diff.len() < 3 * MAX_DIFF_LINE_CHARS && changed.patch.is_empty());
    }

    #[test]
    fn millions_of_lines_are_not_compared_but_said_to_be_many() {
        let changed = whole(&"\n".repeat(3 << 20), "a\n", "f");
        assert!(changed.diff.ends_with("(too many lines changed to show all)"));
        assert!(changed.diff.len() < 100_000 && changed.patch.is_empty());
    }
}
