//! The tools pane: every execution of the turn, newest last, with a live tail under what runs.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::text::sanitize::one_line;
use crate::ui::state::{Focus, State};
use crate::ui::status::elapsed;
use crate::ui::tools::{Run, RunState};
use crate::ui::view::{ends, framed, row};

/// Paints the pane.
pub(crate) fn paint(state: &State, frame: &mut Frame<'_>) {
    let areas = &state.areas;
    let theme = &state.look.theme;
    if areas.tools.width == 0 || areas.tools.height == 0 {
        return;
    }
    let focused = state.surface.focus == Focus::Tools;
    let style = if focused { theme.border_focused } else { theme.border };
    if areas.tools_inner.height < areas.tools.height {
        let running = state.tools.running();
        let count = if running > 0 { format!("{running} running") } else { String::new() };
        framed(state, frame, areas.tools, ("Tools", &count), style);
    }
    let area = areas.tools_inner;
    if state.tools.runs.is_empty() {
        row(frame, area, 0, Line::styled("nothing has run in this turn", theme.muted));
        return;
    }
    for (offset, line) in (0..area.height).zip(rows(state, focused, area)) {
        row(frame, area, offset, line);
    }
}

/// The rows of the pane so that the selected run is on the screen, its head at the latest when its
/// output is taller than the pane.
fn rows(state: &State, focused: bool, area: Rect) -> Vec<Line<'static>> {
    let height = usize::from(area.height);
    let tall = |run: &Run| 1 + run.rows().len();
    let selected = state.tools.selected;
    let (mut first, mut used) = (selected, 0);
    for (index, run) in state.tools.runs.iter().enumerate().take(selected + 1).rev() {
        used += tall(run);
        if used > height && index < selected {
            break;
        }
        first = index;
    }
    let mut lines = Vec::with_capacity(height);
    for (index, run) in state.tools.runs.iter().enumerate().skip(first) {
        if lines.len() >= height {
            break;
        }
        let mark = focused && index == selected;
        lines.push(head(state, run, mark, area.width));
        let room = height - lines.len();
        for line in run.rows().iter().take(room) {
            let mut spans = vec![Span::raw("  ")];
            spans.extend(line.spans.iter().cloned());
            lines.push(Line::from(spans).style(line.style));
        }
    }
    lines
}

fn head(state: &State, run: &Run, selected: bool, width: u16) -> Line<'static> {
    let theme = &state.look.theme;
    let (mark, ascii, style): (&str, &str, Style) = match run.state {
        RunState::Running => ("▶", ">", theme.accent),
        RunState::Held => ("!", "!", theme.warn),
        RunState::Done { is_error: false, .. } => ("✔", "+", theme.good),
        RunState::Done { is_error: true, .. } => ("✘", "x", theme.bad),
    };
    let end = run.ended.unwrap_or(state.now);
    let took = end.saturating_sub(run.started).max(0);
    let time =
        if run.ended.is_some() && took < 1_000 { format!("{took} ms") } else { elapsed(took) };
    let right = match run.state {
        RunState::Running => time,
        RunState::Held => "held".into(),
        RunState::Done { exit: Some(code), .. } if code != 0 => format!("exit {code} · {time}"),
        RunState::Done { is_error: true, exit: None } => format!("failed · {time}"),
        RunState::Done { .. } => time,
    };
    let room = usize::from(width).saturating_sub(right.chars().count() + 4);
    let what = one_line(&format!("{} {}", run.tool, run.summary), room);
    let mark = if state.look.ascii { ascii } else { mark };
    let text = if selected { theme.selection } else { theme.text };
    ends(
        vec![Span::styled(format!("{mark} "), style), Span::styled(what, text)],
        vec![Span::styled(right, theme.muted)],
        width,
    )
}
