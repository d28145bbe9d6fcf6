//! The active branch as Markdown for people: words as they are, tools folded away.
//!
//! Answers are Markdown already and pass through, but for two things: outside code no `<` and no image
//! stays, so that no viewer can be made to run or load what a model or a file said.

use std::io::Write;
use std::path::Path;

use super::failed;
use super::pieces::{Piece, Told, Voice, told};
use crate::session::redact::Redactor;
use crate::session::snapshot::SessionView;
use crate::session::{SessionError, parse};
use crate::text::sanitize::one_line;

/// Shortest fence of Markdown.
const FENCE: usize = 3;
/// Widest title.
const TITLE: usize = 120;

pub(super) fn write(
    view: &SessionView,
    redactor: &Redactor,
    out: &mut dyn Write,
) -> Result<(), SessionError> {
    let folder = Path::new(&view.header.cwd).file_name().map(|name| name.to_string_lossy());
    let name = view.name.as_deref().or(folder.as_deref()).unwrap_or("session");
    let name = prose(&one_line(&redactor.text(name), TITLE));
    let id = prose(&one_line(view.header.id.as_str(), TITLE));
    let started = prose(&one_line(&view.header.timestamp, TITLE));
    writeln!(out, "# {name}\n\nSession {id}, started {started}\n").map_err(failed)?;
    view.each_line(&view.active(), &mut |_, _, line| match parse::entry(line)
        .as_ref()
        .and_then(|entry| told(entry, redactor))
    {
        Some(told) => out.write_all(section(&told).as_bytes()).map_err(failed),
        None => Ok(()),
    })
}

fn section(told: &Told) -> String {
    if let (Voice::Note, [Piece::Text(words)]) = (told.voice, told.pieces.as_slice())
        && !words.contains('\n')
    {
        return format!("{}: {}\n\n", prose(&told.title), prose(words));
    }
    let mut text = format!("## {}\n\n", prose(&told.title));
    if told.is_error {
        text.push_str("*failed*\n\n");
    }
    for piece in &told.pieces {
        match piece {
            Piece::Text(words) => text.push_str(&prose(words)),
            Piece::Thinking(words) => text.push_str(&folded("Thinking", "", words)),
            Piece::Call { name, arguments } => {
                text.push_str(&folded(&format!("Calls {name}"), "json", arguments));
            }
            Piece::Output(output) => text.push_str(&folded("Output", "", output)),
            Piece::Diff(diff) => text.push_str(&fenced("diff", diff)),
            Piece::Image { mime, .. } => text.push_str(&format!("*an image ({mime})*")),
        }
        text.push_str("\n\n");
    }
    text
}

fn folded(summary: &str, language: &str, text: &str) -> String {
    let summary = summary.replace('&', "&amp;").replace('<', "&lt;");
    format!("<details><summary>{summary}</summary>\n\n{}\n\n</details>", fenced(language, text))
}

/// The text between fences longer than any run of backticks in it.
fn fenced(language: &str, text: &str) -> String {
    let mut longest = 0;
    let mut run = 0;
    for byte in text.bytes() {
        run = if byte == b'`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let fence = "`".repeat(FENCE.max(longest + 1));
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

/// Markdown in which no HTML begins: `<` becomes `&lt;` but in fenced code that begins at the left
/// edge and in code spans that end on their line. Where a fence may belong to a list or a quotation,
/// nobody can tell by the line where it ends, and everything from there on is escaped. An open fence
/// is closed at the end, so that it cannot swallow what follows.
pub(super) fn prose(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut fence: Option<(char, usize)> = None;
    // A code span that was left open may end anywhere up to the next blank line.
    let mut is_open = false;
    let mut is_unclear = false;
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            out.push('\n');
        }
        if let Some((mark, length)) = fence {
            out.push_str(line);
            if closes(line, mark, length) {
                fence = None;
            }
            continue;
        }
        fence = opened(line).filter(|_| !is_unclear);
        if fence.is_some() {
            out.push_str(line);
            continue;
        }
        is_unclear |= hides_fence(line);
        if line.trim().is_empty() {
            is_open = false;
        }
        is_open |= !escape_line(line, is_open || is_unclear, &mut out);
    }
    if let Some((mark, length)) = fence {
        out.push('\n');
        out.extend(std::iter::repeat_n(mark, length));
    }
    out
}

fn opened(line: &str) -> Option<(char, usize)> {
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let rest = line.trim_start_matches(mark);
    let length = line.len() - rest.len();
    (length >= FENCE && !(mark == '`' && rest.contains('`'))).then_some((mark, length))
}

/// Up to three blanks, at least as many marks, and then blanks only: as Markdown has it, to the
/// letter, or opening and closing would change places.
fn closes(line: &str, mark: char, length: usize) -> bool {
    let marks = line.trim_start_matches(' ');
    let rest = marks.trim_start_matches(mark);
    line.len() - marks.len() <= 3
        && marks.len() - rest.len() >= length
        && rest.trim_matches([' ', '\t']).is_empty()
}

/// A fence that begins behind blanks or the marks of a list or a quotation.
fn hides_fence(line: &str) -> bool {
    let is_mark = |c: char| c.is_whitespace() || c.is_ascii_digit() || ">-*+.)".contains(c);
    let rest = line.trim_start_matches(is_mark);
    rest.len() < line.len() && (rest.starts_with("```") || rest.starts_with("~~~"))
}

/// `false` when a run of backticks had no partner on the line.
fn escape_line(line: &str, is_open: bool, out: &mut String) -> bool {
    let runs = if is_open { Vec::new() } else { runs(line) };
    let mut later = Partners::of(&runs);
    let mut at = 0;
    let mut closed = true;
    for (number, (start, length, is_escaped)) in runs.iter().enumerate() {
        if *start < at {
            continue;
        }
        let partner = if *is_escaped { None } else { later.after(number, *length) };
        let Some(end) = partner.and_then(|partner| runs.get(partner)) else {
            closed = false;
            break;
        };
        escape(line.get(at..*start).unwrap_or_default(), out);
        at = end.0 + end.1;
        let span = line.get(*start..at).unwrap_or_default();
        // Tables are cut into cells before anybody looks for code.
        if span.contains('|') { escape(span, out) } else { out.push_str(span) }
    }
    escape(line.get(at..).unwrap_or_default(), out);
    closed
}

/// Runs of backticks: where, how long, and whether a backslash stands before.
fn runs(line: &str) -> Vec<(usize, usize, bool)> {
    let mut runs: Vec<(usize, usize, bool)> = Vec::new();
    for at in memchr::memchr_iter(b'`', line.as_bytes()) {
        match runs.last_mut() {
            Some((start, length, _)) if *start + *length == at => *length += 1,
            _ => {
                let before = line.get(..at).unwrap_or_default();
                runs.push((at, 1, before.ends_with('\\')));
            }
        }
    }
    runs
}

/// Finds the next run of the same length without looking at any twice.
struct Partners {
    by_length: std::collections::HashMap<usize, std::collections::VecDeque<usize>>,
}

impl Partners {
    fn of(runs: &[(usize, usize, bool)]) -> Self {
        let mut by_length = std::collections::HashMap::new();
        for (number, (_, length, _)) in runs.iter().enumerate() {
            let same: &mut std::collections::VecDeque<usize> =
                by_length.entry(*length).or_default();
            same.push_back(number);
        }
        Self { by_length }
    }

    fn after(&mut self, number: usize, length: usize) -> Option<usize> {
        let same = self.by_length.get_mut(&length)?;
        while same.front().is_some_and(|front| *front <= number) {
            same.pop_front();
        }
        same.front().copied()
    }
}

fn escape(text: &str, out: &mut String) {
    let mut last = ' ';
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            // An image would be fetched by looking at it; a link is a matter of choice.
            '[' if last == '!' => out.push_str("\\["),
            c => out.push(c),
        }
        last = c;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_is_disarmed_outside_code_only() {
        let text = "a <b> `Vec<T>` <i>\n```rust\nfn f<T>() {}\n```\n<script>";
        let want = "a &lt;b> `Vec<T>` &lt;i>\n```rust\nfn f<T>() {}\n```\n&lt;script>";
        assert_eq!(prose(text), want);
    }

    #[test]
    fn an_image_becomes_words_and_a_link_stays() {
        let text = "![a](http://x/?k) [b](http://y) `![c](d)` \\![e][f] !";
        let want = "!\\[a](http://x/?k) [b](http://y) `![c](d)` \\!\\[e][f] !";
        assert_eq!(prose(text), want);
    }

    #[test]
    fn tricks_with_backticks_leave_no_html() {
        for trick in [
            "`a\nx` <script> `y",
            "\\`<script>`",
            "- a\n  ```\n<script>",
            "> ```\n<script>",
            "```a`b\n<script>",
            "    ```\n<script>",
            "`` <script> `",
            "```\nx\n```\n<script>",
            "```\nx\n  ```\n<script>",
            "```\n```\u{a0}\n```\n<script>",
            " ```\n```\n<script>",
            "| `a | <script> ` |",
        ] {
            let out = prose(trick);
            assert!(out.contains("&lt;script>"), "{trick:?} became {out:?}");
        }
    }

    #[test]
    fn a_fence_is_longer_than_any_inside_and_an_open_one_is_closed() {
        assert_eq!(fenced("", "a ```` b"), "`````\na ```` b\n`````");
        assert_eq!(prose("~~~~\n<x>"), "~~~~\n<x>\n~~~~");
    }
}
