//! Paints popups and the leader menu. Help and menu are made from the key table, so they cannot
//! differ from what the keys do.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};

use crate::text::sanitize::one_line;
use crate::text::width::{swidth, truncate_to, wrap};
use crate::ui::commands::COMMANDS;
use crate::ui::keymap::{Place, TABLE, reached_by};
use crate::ui::line_input::LineInput;
use crate::ui::popup::{Popup, palette_rows};
use crate::ui::state::State;
use crate::ui::update::SEARCH_MAX;
use crate::ui::view::{framed, row};
use crate::ui::{compaction, context, forks, sessions};

/// Help as text: a heading a place, a line an action, then the commands.
pub(super) fn help_lines() -> Vec<String> {
    const KEY_COLUMNS: usize = 34;
    let mut lines = Vec::new();
    for place in Place::ALL {
        lines.push(place.title().to_owned());
        for row in TABLE.iter().filter(|row| row.place == place) {
            lines.push(format!("  {:<KEY_COLUMNS$} {}", reached_by(row), row.title));
        }
        if place == Place::Composer {
            let newline = "\\ then enter";
            lines.push(format!("  {newline:<KEY_COLUMNS$} new line"));
            lines.push(format!("  {:<KEY_COLUMNS$} help, in an empty composer", "?"));
            let tab = "tab, in an empty composer";
            lines.push(format!("  {tab:<KEY_COLUMNS$} go to what needs an answer"));
        }
        lines.push(String::new());
    }
    lines.push("commands".to_owned());
    for spec in COMMANDS {
        let call = format!("/{} {}", spec.name, spec.argument);
        lines.push(format!("  {call:<KEY_COLUMNS$} {}", spec.title));
    }
    lines
}

/// A box in the middle, at most that large, never larger than the screen.
pub(super) fn centred(frame: &Frame<'_>, columns: u16, rows: u16) -> Rect {
    let screen = frame.area();
    let width = columns.min(screen.width);
    let height = rows.min(screen.height);
    Rect::new((screen.width - width) / 2, (screen.height - height) / 2, width, height)
}

/// Clears and frames a box and gives its inside.
pub(super) fn open(
    state: &State,
    frame: &mut Frame<'_>,
    area: Rect,
    title: &str,
    hint: &str,
) -> Rect {
    Clear.render(area, frame.buffer_mut());
    framed(state, frame, area, (title, hint), state.look.theme.border_focused);
    Rect::new(
        area.x.saturating_add(2),
        area.y.saturating_add(1),
        area.width.saturating_sub(4),
        area.height.saturating_sub(2),
    )
}

/// Paints the popup; gives the place of the cursor where there is a field.
pub(super) fn paint(state: &State, popup: &Popup, frame: &mut Frame<'_>) -> Option<Position> {
    match popup {
        Popup::Help { top } => {
            help(state, *top, frame);
            None
        }
        Popup::ConfirmQuit => {
            let area = centred(frame, 50, 5);
            let inner = open(state, frame, area, "leave?", "");
            row(frame, inner, 0, Line::raw("A turn still runs."));
            row(frame, inner, 2, Line::raw("y stop it and leave   n stay"));
            None
        }
        Popup::Ask { what, input } => {
            let area = centred(frame, 60, 3);
            let inner = open(state, frame, area, what.title(), "enter · esc");
            Some(field(frame, inner, input))
        }
        Popup::Sessions => {
            state.surface.picker.as_ref().and_then(|picker| sessions::paint(state, picker, frame))
        }
        Popup::Compaction => {
            let preview = state.surface.compaction.as_ref();
            preview.and_then(|preview| compaction::paint(state, preview, frame))
        }
        Popup::Context { report, top } => {
            context::paint(state, report, *top, frame);
            None
        }
        Popup::Forks { prompts, selected } => {
            forks::paint(state, prompts, *selected, frame);
            None
        }
        Popup::Facts { lines, top } => {
            facts(state, lines, *top, frame);
            None
        }
        Popup::Missing { folder, .. } => {
            sessions::paint_missing(state, folder, frame);
            None
        }
        Popup::Palette { query, selected } => {
            let rows: Vec<(String, String)> = palette_rows(query.text())
                .into_iter()
                .map(|row| (row.title.to_owned(), reached_by(row)))
                .collect();
            Some(list(state, frame, ("actions", "enter · esc"), query, *selected, &rows))
        }
        Popup::Tree(ask) => crate::ui::panes::tree_ask::paint(state, ask, frame),
        Popup::Search { query, selected, .. } => {
            let found = state.composer.history.search(query.text(), SEARCH_MAX);
            let rows: Vec<(String, String)> =
                found.into_iter().map(|text| (one_line(text, 200), String::new())).collect();
            Some(list(state, frame, ("history", "enter · ctrl+r · esc"), query, *selected, &rows))
        }
    }
}

/// Facts to read; a long one goes on below itself.
fn facts(state: &State, lines: &[(&'static str, String)], top: usize, frame: &mut Frame<'_>) {
    const COLUMNS: u16 = 84;
    const LABEL: usize = 10;
    let is_plain = lines.iter().all(|(label, _)| label.is_empty());
    let columns = if is_plain { 0 } else { LABEL };
    let room = usize::from(COLUMNS.min(frame.area().width)).saturating_sub(4 + columns).max(1);
    let mut rows: Vec<(&str, String)> = Vec::new();
    for (label, value) in lines {
        let value = one_line(value, usize::MAX);
        for (at, piece) in wrap(&value, room).into_iter().enumerate() {
            let label = if at == 0 { *label } else { "" };
            rows.push((label, value.get(piece).unwrap_or_default().to_owned()));
        }
    }
    let height = u16::try_from(rows.len()).unwrap_or(u16::MAX).saturating_add(2);
    let area = centred(frame, COLUMNS, height);
    let inner = open(state, frame, area, "this session", "esc");
    let top = top.min(rows.len().saturating_sub(usize::from(inner.height)));
    for (offset, (label, value)) in (0..inner.height).zip(rows.into_iter().skip(top)) {
        let label = Span::styled(format!("{label:<columns$}"), state.look.theme.muted);
        row(frame, inner, offset, Line::from(vec![label, Span::raw(value)]));
    }
}

fn help(state: &State, top: usize, frame: &mut Frame<'_>) {
    let theme = &state.look.theme;
    let screen = frame.area();
    let area = centred(frame, 90, screen.height.saturating_sub(2).max(5));
    let lines = help_lines();
    let inner = open(state, frame, area, "help", "up · down · pgdn · esc");
    let height = usize::from(inner.height);
    let top = top.min(lines.len().saturating_sub(height));
    for (offset, text) in (0..).zip(lines.iter().skip(top).take(height)) {
        let style = if text.starts_with(' ') { theme.text } else { theme.accent };
        let text = truncate_to(text, usize::from(inner.width));
        row(frame, inner, offset, Line::styled(text, style));
    }
    let below = lines.len().saturating_sub(top + height);
    if below > 0 && area.height > 0 {
        let line = Line::styled(format!(" {below} more lines "), theme.muted).right_aligned();
        let inside = Rect { width: area.width.saturating_sub(2), ..area };
        row(frame, inside, area.height - 1, line);
    }
}

/// A field above a list; gives the cursor.
fn list(
    state: &State,
    frame: &mut Frame<'_>,
    titles: (&str, &str),
    query: &LineInput,
    selected: usize,
    rows: &[(String, String)],
) -> Position {
    let theme = &state.look.theme;
    let screen = frame.area();
    let area = centred(frame, 80, screen.height.saturating_sub(4).clamp(5, 20));
    let inner = open(state, frame, area, titles.0, titles.1);
    let cursor = field(frame, inner, query);
    let height = usize::from(inner.height.saturating_sub(1));
    let top = (selected + 1).saturating_sub(height.max(1));
    if rows.is_empty() {
        row(frame, inner, 1, Line::styled("nothing matches", theme.muted));
    }
    for (offset, (index, (left, right))) in (1..inner.height).zip(rows.iter().enumerate().skip(top))
    {
        let style = if index == selected { theme.selection } else { theme.text };
        let room = usize::from(inner.width).saturating_sub(swidth(right) + 1);
        let left = truncate_to(left, room);
        let gap = usize::from(inner.width).saturating_sub(swidth(&left) + swidth(right));
        let line = Line::from(vec![
            Span::styled(left, style),
            Span::styled(" ".repeat(gap), style),
            Span::styled(right.clone(), theme.muted),
        ]);
        row(frame, inner, offset, line);
    }
    cursor
}

/// A line of input, scrolled so that its cursor is inside; gives the cursor.
pub(super) fn field(frame: &mut Frame<'_>, area: Rect, input: &LineInput) -> Position {
    let room = usize::from(area.width).saturating_sub(3);
    let before = swidth(input.before());
    let text = if before > room { tail(input.before(), room) } else { input.text().to_owned() };
    let column = u16::try_from(before.min(room) + 2).unwrap_or(u16::MAX);
    row(frame, area, 0, Line::raw(format!("> {text}")));
    Position::new(area.x.saturating_add(column), area.y)
}

/// The end of a text that fits into `room` columns.
pub(super) fn tail(text: &str, room: usize) -> String {
    use unicode_segmentation::UnicodeSegmentation;
    let (mut start, mut used) = (text.len(), 0);
    for (at, cluster) in text.grapheme_indices(true).rev() {
        used += swidth(cluster);
        if used > room {
            break;
        }
        start = at;
    }
    text[start..].to_owned()
}

/// The menu that shows after the leader.
pub(super) fn leader(state: &State, frame: &mut Frame<'_>) {
    const COLUMN: u16 = 36;
    let theme = &state.look.theme;
    let rows: Vec<_> = TABLE.iter().filter(|row| !row.leader.is_empty()).collect();
    let screen = frame.area();
    let columns = (screen.width.saturating_sub(4) / COLUMN).clamp(1, 4);
    let needed = rows.len().div_ceil(usize::from(columns));
    let height = u16::try_from(needed).unwrap_or(u16::MAX).saturating_add(2);
    let height = height.min(screen.height.saturating_sub(1));
    let top = screen.height.saturating_sub(height + 1);
    let area = Rect::new(0, top, screen.width, height);
    let inner = open(state, frame, area, "ctrl+x then", "esc");
    let per_column = usize::from(inner.height).max(1);
    for (index, each) in rows.iter().enumerate() {
        let small = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
        let (column, offset) = (small(index / per_column), small(index % per_column));
        let x = inner.x.saturating_add(column.saturating_mul(COLUMN));
        if x >= inner.x + inner.width {
            break;
        }
        let cell = Rect::new(x, inner.y, (inner.x + inner.width - x).min(COLUMN), inner.height);
        let title = truncate_to(each.title, usize::from(COLUMN) - 8);
        let line = Line::from(vec![
            Span::styled(format!("{:>5} ", each.leader), theme.accent),
            Span::styled(title, theme.text),
        ]);
        row(frame, cell, offset, line);
    }
}
