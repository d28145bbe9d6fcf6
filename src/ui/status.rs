//! The last row: what the program does or waits for, what it costs, and where the keys are.

use ratatui::Frame;
use ratatui::text::{Line, Span};

use crate::harness::Phase;
use crate::text::sanitize::one_line;
use crate::text::width::swidth;
use crate::ui::state::{SPINNER_MS, State, Tokens};
use crate::ui::view::row;

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const ASCII_SPINNER: [&str; 4] = ["|", "/", "-", "\\"];

/// Columns between two parts of the row.
const GAP: usize = 3;

/// Paints the row: on the left the state, then numbers, then hints, as far as they fit.
pub(super) fn paint(state: &State, frame: &mut Frame<'_>) {
    let theme = &state.look.theme;
    let area = state.areas.status;
    let width = usize::from(area.width);
    let (left, style) = match left(state) {
        (text, true) => (text, theme.warn),
        (text, false) => (text, theme.text),
    };
    let left = format!(" {}", one_line(&left, width.saturating_sub(1)));
    let tokens = &state.session.tokens;
    let mut rest = width.saturating_sub(swidth(&left));
    let mut right = String::new();
    let numbers = [numbers(tokens, true), numbers(tokens, false), share(tokens)];
    for choices in [&["ctrl+x menu · ? help ".to_owned()][..], &numbers] {
        let fits = |text: &&String| !text.is_empty() && swidth(text) + GAP <= rest;
        if let Some(text) = choices.iter().find(fits) {
            rest -= swidth(text) + GAP;
            right = if right.is_empty() { text.clone() } else { format!("{text}   {right}") };
        }
    }
    if state.look.ascii {
        right = right.replace('↑', "in ").replace('↓', "out ").replace('·', "-");
    }
    let gap = width.saturating_sub(swidth(&left) + swidth(&right));
    let line = Line::from(vec![
        Span::styled(left, style),
        Span::raw(" ".repeat(gap)),
        Span::styled(right, theme.muted),
    ]);
    row(frame, area, 0, line);
}

/// A stream that is silent for this long is told, so that a person sees it hang before it times out.
const SILENCE_MS: i64 = 3_000;

/// The state in words, and whether it wants attention.
fn left(state: &State) -> (String, bool) {
    let work = &state.work;
    if state.surface.quit_until.is_some() {
        return ("ctrl+c again to quit".into(), true);
    }
    if state.surface.tree.armed_until.is_some() {
        return ("esc again opens the tree".into(), false);
    }
    if let Some(toast) = &state.surface.toast {
        let spinner = if state.busy() { format!("{} ", spinner(state)) } else { String::new() };
        return (format!("{spinner}{}", toast.text), true);
    }
    let alone = work.summary.is_some_and(|summary| !summary.in_turn);
    let step = match (work.step, work.max) {
        (0, _) => String::new(),
        // A summary of its own: the step is that of the turn before.
        _ if alone => String::new(),
        (step, 0) => format!(" · step {step}"),
        (step, max) => format!(" · step {step}/{max}"),
    };
    let since = elapsed(state.now.saturating_sub(work.since));
    if state.approvals.open() > 0 {
        return (format!("held {since}{step}"), true);
    }
    if state.session.opening {
        let waits = if state.work.sent > 0 { "opening… your prompt waits" } else { "opening…" };
        return (waits.into(), false);
    }
    if !state.busy() {
        let failed = if work.failed { "failed: /retry asks again" } else { "" };
        return (failed.into(), work.failed);
    }
    let part = work.summary.and_then(|summary| summary.part);
    let part = part.map(|(part, parts)| format!(" · part {part} of {parts}")).unwrap_or_default();
    let spinner = spinner(state);
    let doing = match (&work.retry, &work.waiting, work.phase) {
        (Some((attempt, attempts, at)), _, _) => {
            let seconds = at.saturating_sub(state.now).max(0) / 1_000;
            format!("retry {attempt}/{attempts} in {seconds}s")
        }
        (_, Some((_, model)), _) => format!("waiting for {} {since}", short_model(model)),
        (_, _, Phase::Compaction) => format!("compacting {since}{part}"),
        (_, _, Phase::BranchSummary) => format!("summarising {since}{part}"),
        _ => match state.tools.running() {
            0 if work.heard > 0 && state.now.saturating_sub(work.heard) >= SILENCE_MS => {
                format!("nothing heard for {}", elapsed(state.now.saturating_sub(work.heard)))
            }
            0 => format!("working {since}"),
            1 => format!("running a tool {since}"),
            many => format!("running {many} tools {since}"),
        },
    };
    (format!("{spinner} {doing}{step}"), false)
}

fn spinner(state: &State) -> &'static str {
    if !state.spins() {
        return "*";
    }
    let turn = usize::try_from(state.now.div_euclid(SPINNER_MS).rem_euclid(1_000)).unwrap_or(0);
    if state.look.ascii {
        ASCII_SPINNER[turn % ASCII_SPINNER.len()]
    } else {
        SPINNER[turn % SPINNER.len()]
    }
}

/// The part of `provider/id` that people say.
fn short_model(model: &str) -> String {
    const COLUMNS: usize = 24;
    one_line(model.rsplit('/').next().unwrap_or(model), COLUMNS)
}

/// Context, tokens and cost; `long` with the sums.
fn numbers(tokens: &Tokens, long: bool) -> String {
    let mut parts = Vec::new();
    let share = share(tokens);
    if !share.is_empty() {
        let (used, window) = (thousands(tokens.context), thousands(tokens.window));
        parts.push(format!("{share} {used}/{window}"));
    }
    if long && tokens.input.saturating_add(tokens.output) > 0 {
        parts.push(format!("↑{} ↓{}", thousands(tokens.input), thousands(tokens.output)));
        let asked = tokens.input.saturating_add(tokens.cache_read);
        if tokens.cache_read > 0 {
            parts.push(format!("cache {}%", tokens.cache_read.saturating_mul(100) / asked));
        }
    }
    if tokens.cost > 0.0 {
        parts.push(format!("${:.2}", tokens.cost));
    }
    parts.join(" · ")
}

/// How much of the context window is used; empty when it is not known.
fn share(tokens: &Tokens) -> String {
    if tokens.window == 0 || tokens.context == 0 {
        return String::new();
    }
    let mark = if tokens.estimated { "~" } else { "" };
    format!("ctx {mark}{}%", tokens.context.saturating_mul(100) / tokens.window)
}

/// 950, 8.4k, 84k, 1.2M.
pub(super) fn thousands(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..10_000 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        10_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

/// `4s` below a minute, then `01:04`, then `1:02:03`.
pub(super) fn elapsed(ms: i64) -> String {
    let seconds = ms.max(0) / 1_000;
    let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{rest}s"),
        (0, _) => format!("{minutes:02}:{rest:02}"),
        _ => format!("{hours}:{minutes:02}:{rest:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_never_negative() {
        assert_eq!([999, 8_421, 84_200, 1_250_000].map(thousands), ["999", "8.4k", "84k", "1.2M"]);
        assert_eq!([-5, 4_900, 64_000, 3_723_000].map(elapsed), ["0s", "4s", "01:04", "1:02:03"]);
    }
}
