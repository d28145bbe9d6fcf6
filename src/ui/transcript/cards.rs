//! Tool calls as cards: one line that says what ran and how it ended, and under it what it shows.
//!
//! The body follows the shape of the result ([`Display`]), never the tool, so a new tool needs no
//! code here. State is told in words; colour only repeats it.

use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use crate::message::{BashExecution, Display, ToolResultMessage};
use crate::text::sanitize::{one_line, sanitize};
use crate::text::width::swidth;
use crate::ui::diff;
use crate::ui::runs::{Break, Run, ends, prefix, wrap_runs};
use crate::ui::terminal_text;
use crate::ui::theme::Theme;

use super::ToolFold;
use super::block::{CallState, Card};
use super::rows::{Frame, more_lines, size};

/// Lines of a change or a failure shown without opening the card.
const PREVIEW: usize = 12;
/// Lines of a command's newest output shown without opening the card.
const TAIL: usize = 5;
/// Lines of an open card; the rest is in the file the tool names.
const FULL: usize = 2000;
/// Bytes of a result that are laid out: enough for `FULL` lines of usual length.
const MAX_BYTES: usize = 512 * 1024;
/// Below this width the body is not indented.
const MIN_INDENTED: usize = 12;

/// Lines of running output in an open card: it is laid out anew with every piece that arrives.
const FULL_TAIL: usize = 40;

const OPEN_HINT: &str = " (ctrl+o)";

/// A call as lines of at most the frame's width.
pub(super) fn lines(card: &Card, frame: &Frame<'_>) -> Vec<Line<'static>> {
    let display = match &card.state {
        CallState::Done(outcome) => outcome.get().map(Display::of_result),
        CallState::Held(held) => held.preview.clone(),
        _ => None,
    };
    let result = match &card.state {
        CallState::Done(outcome) => outcome.get(),
        _ => None,
    };
    let body = body(card, display.as_ref(), result, frame);
    let theme = frame.theme;
    let mut right = facts(display.as_ref(), result, theme);
    if let Some((state, style)) = state(&card.state, theme) {
        if !right.is_empty() {
            right.push(Span::raw("  "));
        }
        right.push(Span::styled(state, style));
    }
    let failed = result.is_some_and(|result| result.is_error);
    let mark = mark(&card.state, failed, !body.is_empty(), theme);
    let mut lines = vec![head(mark, &card.name, &card.summary, right, frame)];
    lines.extend(body);
    lines
}

/// A command the person ran.
pub(super) fn shell(run: &BashExecution, frame: &Frame<'_>) -> Vec<Line<'static>> {
    let theme = frame.theme;
    let display =
        Display::Terminal { output: run.output.clone(), exit_code: run.exit_code.map(i64::from) };
    let failed = run.cancelled || run.exit_code.is_some_and(|code| code != 0);
    let room = room(frame);
    let body = indent(shape(&display, failed, frame.folds.tools, room, theme), frame);
    let mut right = facts(Some(&display), None, theme);
    if run.cancelled {
        right.push(Span::styled("  cancelled", theme.warn));
    }
    let mark = if failed {
        Span::styled(theme.marks().failed, theme.bad)
    } else {
        Span::styled(fold(!body.is_empty(), theme), theme.accent)
    };
    let name = if run.exclude_from_context == Some(true) { "!!" } else { "!" };
    let mut lines = vec![head(mark, name, &one_line(&run.command, 200), right, frame)];
    lines.extend(body);
    lines
}

fn head(
    mark: Span<'static>,
    name: &str,
    summary: &str,
    right: Vec<Span<'static>>,
    frame: &Frame<'_>,
) -> Line<'static> {
    let left = vec![
        mark,
        Span::raw(" "),
        Span::styled(name.to_owned(), frame.theme.text.add_modifier(Modifier::BOLD)),
        Span::raw(" "),
        Span::styled(summary.to_owned(), frame.theme.text),
    ];
    ends(left, right, frame.width)
}

fn fold(open: bool, theme: &Theme) -> &'static str {
    if open { theme.marks().open } else { theme.marks().folded }
}

fn mark(state: &CallState, failed: bool, open: bool, theme: &Theme) -> Span<'static> {
    let marks = theme.marks();
    match state {
        CallState::Writing(_) | CallState::Running(_) => Span::styled(marks.running, theme.accent),
        CallState::Held(_) => Span::styled(marks.held, theme.warn),
        CallState::Denied => Span::styled(marks.failed, theme.warn),
        _ if failed => Span::styled(marks.failed, theme.bad),
        _ => Span::styled(fold(open, theme), theme.accent),
    }
}

fn state(state: &CallState, theme: &Theme) -> Option<(&'static str, ratatui::style::Style)> {
    match state {
        CallState::Writing(_) => Some(("writing", theme.muted)),
        CallState::Waiting => Some(("waiting", theme.muted)),
        CallState::Held(_) => Some(("held", theme.warn)),
        CallState::Denied => Some(("denied", theme.warn)),
        CallState::Running(_) => Some(("running", theme.accent)),
        CallState::Unfinished => Some(("no result", theme.warn)),
        CallState::Done(_) => None,
    }
}

/// `N lines`, with the noun in the right number.
pub(super) fn count(count: usize, noun: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{s}")
}

/// What the right end says: size, exit code, duration.
fn facts(
    display: Option<&Display>,
    result: Option<&ToolResultMessage>,
    theme: &Theme,
) -> Vec<Span<'static>> {
    let mut facts: Vec<Vec<Span<'static>>> = Vec::new();
    let muted = |text: String| vec![Span::styled(text, theme.muted)];
    let failed = result.is_some_and(|result| result.is_error);
    match display {
        Some(Display::Diff { diff, .. }) => {
            let (added, removed) = diff::counts(diff);
            facts.push(vec![
                Span::styled(format!("+{added}"), theme.diff.added),
                Span::raw(" "),
                Span::styled(format!("{}{removed}", theme.marks().minus), theme.diff.removed),
            ]);
        }
        Some(Display::Terminal { output, exit_code }) => {
            facts.push(muted(count(output.lines().count(), "line")));
            if let Some(code) = exit_code.filter(|code| *code != 0) {
                facts.push(vec![Span::styled(format!("exit {code}"), theme.bad)]);
            }
        }
        Some(Display::Text(text) | Display::Listing(text)) if !failed => {
            facts.push(muted(count(text.lines().count(), "line")));
        }
        Some(Display::Image { data, mime_type }) => {
            facts.push(muted(format!("{} {}", one_line(mime_type, 40), size(data.len()))));
        }
        _ => {}
    }
    let exited =
        matches!(display, Some(Display::Terminal { exit_code: Some(code), .. }) if *code != 0);
    if failed && !exited {
        facts.push(vec![Span::styled("failed", theme.bad)]);
    }
    if let Some(millis) = result.and_then(|result| result.duration_ms) {
        facts.push(muted(duration(millis)));
    }
    let dot = Span::styled(format!(" {} ", theme.marks().dot), theme.muted);
    facts.join(&dot)
}

/// `2 ms`, `3.2 s`, `1m 05s`, `2h 05m`.
fn duration(millis: u64) -> String {
    let seconds = millis / 1000;
    match millis {
        0..1000 => format!("{millis} ms"),
        1000..60_000 => format!("{seconds}.{} s", millis % 1000 / 100),
        60_000..3_600_000 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

fn room(frame: &Frame<'_>) -> usize {
    if frame.width < MIN_INDENTED { frame.width } else { frame.width - 2 }
}

fn indent(mut lines: Vec<Line<'static>>, frame: &Frame<'_>) -> Vec<Line<'static>> {
    if frame.width >= MIN_INDENTED {
        prefix(&mut lines, &Span::raw("  "), &Span::raw("  "));
    }
    lines
}

fn body(
    card: &Card,
    display: Option<&Display>,
    result: Option<&ToolResultMessage>,
    frame: &Frame<'_>,
) -> Vec<Line<'static>> {
    let (room, theme, folded) = (room(frame), frame.theme, frame.folds.tools);
    if folded == ToolFold::Collapsed {
        return Vec::new();
    }
    let lines = match (&card.state, display) {
        (CallState::Running(output), _) => {
            let rows = if folded == ToolFold::Full { FULL_TAIL } else { TAIL };
            terminal(output, rows, room, theme)
        }
        (_, Some(display)) => {
            let failed = result.is_some_and(|result| result.is_error);
            shape(display, failed, folded, room, theme)
        }
        _ => Vec::new(),
    };
    indent(lines, frame)
}

/// A result by its shape.
fn shape(
    display: &Display,
    failed: bool,
    folded: ToolFold,
    width: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let full = folded == ToolFold::Full;
    match (display, folded) {
        (_, ToolFold::Collapsed) => Vec::new(),
        (Display::Diff { diff, .. }, _) => {
            let shown = &diff[..diff.floor_char_boundary(MAX_BYTES)];
            let cells = u16::try_from(width).unwrap_or(u16::MAX);
            head_of(diff::lines(shown, cells, theme), full, width, theme)
        }
        (Display::Terminal { output, .. }, _) => {
            let rows = match (full, failed) {
                (true, _) => FULL,
                (false, true) => PREVIEW,
                (false, false) => TAIL,
            };
            let mut lines = terminal(output, rows, width, theme);
            // Rows above are those the emulator left out; wrapped lines count as they are shown.
            let more = output.trim_end().lines().count().saturating_sub(lines.len());
            if more > 0 {
                let hint = if full { "" } else { OPEN_HINT };
                let how = format!(" above{hint}");
                lines.insert(0, more_lines(more, &how, width, theme));
            }
            lines
        }
        (Display::Text(text) | Display::Listing(text), _) if full || failed => {
            // A failure is a sentence; what a tool gave keeps its columns.
            let how = if failed { Break::Words } else { Break::Cells };
            head_of(text_lines(text, full, how, width, theme), full, width, theme)
        }
        _ => Vec::new(),
    }
}

/// The first lines, and how many more there are.
fn head_of(
    mut lines: Vec<Line<'static>>,
    full: bool,
    width: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let max = if full { FULL } else { PREVIEW };
    let more = lines.len().saturating_sub(max);
    if more > 0 {
        lines.truncate(max);
        lines.push(more_lines(more, if full { "" } else { OPEN_HINT }, width, theme));
    }
    lines
}

fn text_lines(
    text: &str,
    full: bool,
    how: Break,
    width: usize,
    theme: &Theme,
) -> Vec<Line<'static>> {
    let text = text.trim_end();
    if text.is_empty() {
        return Vec::new();
    }
    if text.contains('\x1b') {
        return terminal(text, if full { FULL } else { PREVIEW }, width, theme);
    }
    let shown = &text[..text.floor_char_boundary(MAX_BYTES)];
    let mut lines = wrap_runs(&[Run::new(sanitize(shown), theme.text)], width, how);
    if shown.len() < text.len() {
        let more = text[shown.len()..].lines().count();
        lines.push(more_lines(more, "", width, theme));
    }
    lines
}

fn terminal(output: &str, rows: usize, width: usize, theme: &Theme) -> Vec<Line<'static>> {
    let cells = u16::try_from(width).unwrap_or(u16::MAX);
    let mut lines = terminal_text::lines(output, cells, rows);
    if !theme.has_color() {
        for span in lines.iter_mut().flat_map(|line| &mut line.spans) {
            (span.style.fg, span.style.bg) = (None, None);
        }
    }
    debug_assert!(lines.iter().all(|line| swidth(&line.to_string()) <= width.max(1)));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_like_people_say_them() {
        let said: Vec<String> = [2, 3250, 65_000, 7_500_000].map(duration).into();
        assert_eq!(said, ["2 ms", "3.2 s", "1m 05s", "2h 05m"]);
    }
}
