//! Two branches side by side where the screen is wide, else one of them at a time.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;

use crate::text::sanitize::{one_line, sanitize};
use crate::text::width::wrap;
use crate::ui::popups::{centred, open};
use crate::ui::state::State;
use crate::ui::tree::compare::{Side, Speaker};
use crate::ui::view::row;

/// From this many columns on both sides fit beside each other.
const TWO_COLUMNS: u16 = 90;
/// Rows laid out of a side: what a person scrolls through.
const ROWS_MAX: usize = 4_000;

/// Paints the comparison from row `top` on; `side` is the one a narrow screen shows.
pub(super) fn paint(state: &State, top: usize, side: usize, frame: &mut Frame<'_>) {
    let theme = &state.look.theme;
    let Some(comparison) = &state.surface.tree.under_way.comparison else { return };
    let screen = frame.area();
    let area = centred(frame, screen.width.saturating_sub(2), screen.height.saturating_sub(2));
    let both = area.width >= TWO_COLUMNS;
    let hint = if both { "up · down · esc" } else { "tab other side · up · down · esc" };
    let inner = open(state, frame, area, "compare", hint);
    let width = usize::from(inner.width);
    let common = match &comparison.common {
        Some(words) => format!("parted after: {words}"),
        None => "nothing in common".to_owned(),
    };
    row(frame, inner, 0, Line::styled(one_line(&common, width), theme.muted));
    let body = Rect { y: inner.y + 1, height: inner.height.saturating_sub(1), ..inner };
    let [left, right] = &comparison.sides;
    if both {
        let half = body.width.saturating_sub(3) / 2;
        let first = Rect { width: half, ..body };
        let second = Rect { x: body.x + half + 3, width: body.width - half - 3, ..body };
        paint_side(state, left, first, top, frame);
        paint_side(state, right, second, top, frame);
        let between = Rect { x: body.x + half + 1, width: 1, ..body };
        for offset in 0..body.height {
            row(frame, between, offset, Line::styled(theme.marks().column, theme.border));
        }
    } else {
        let shown = if side == 0 { left } else { right };
        paint_side(state, shown, body, top, frame);
    }
}

fn paint_side(state: &State, side: &Side, area: Rect, top: usize, frame: &mut Frame<'_>) {
    for (offset, (style, text)) in (0..area.height).zip(lines(state, side, area.width, top)) {
        row(frame, area, offset, Line::styled(text, style));
    }
}

/// The rows of a side from `top` on.
fn lines(
    state: &State,
    side: &Side,
    width: u16,
    top: usize,
) -> impl Iterator<Item = (Style, String)> {
    let theme = &state.look.theme;
    let columns = usize::from(width).max(1);
    let title = if side.is_leaf { format!("here: {}", side.title) } else { side.title.clone() };
    let mut rows = vec![(theme.heading, one_line(&title, columns))];
    if side.files.is_empty() {
        rows.push((theme.muted, one_line("no file changed", columns)));
    }
    for file in &side.files {
        let counts = format!(" +{} -{}", file.added, file.removed);
        let room = columns.saturating_sub(counts.len() + 2);
        rows.push((theme.good, format!("  {}{counts}", one_line(&file.path, room))));
    }
    rows.push((theme.text, String::new()));
    if side.left_out > 0 {
        let text = format!("{} older entries are not shown", side.left_out);
        rows.push((theme.muted, one_line(&text, columns)));
    }
    if side.said.is_empty() {
        rows.push((theme.muted, one_line("nothing said: this is where they part", columns)));
    }
    for said in &side.said {
        if rows.len() >= ROWS_MAX {
            break;
        }
        let (who, style) = match said.who {
            Speaker::You => ("you", theme.user),
            Speaker::Assistant => ("assistant", theme.accent),
            Speaker::Tool => ("tool", theme.muted),
            Speaker::Summary => ("summary", theme.accent),
        };
        rows.push((style, one_line(who, columns)));
        let clean = sanitize(&said.text);
        for text in clean.lines() {
            for range in wrap(text, columns) {
                rows.push((theme.text, text[range].trim_end().to_owned()));
            }
        }
        rows.push((theme.text, String::new()));
    }
    rows.into_iter().skip(top)
}

/// How many rows the longer side has, for scrolling.
pub(crate) fn rows(state: &State, columns: u16) -> usize {
    let Some(comparison) = &state.surface.tree.under_way.comparison else { return 0 };
    let inner = columns.saturating_sub(6);
    let width =
        if columns.saturating_sub(2) >= TWO_COLUMNS { inner.saturating_sub(3) / 2 } else { inner };
    let count = |side: &Side| lines(state, side, width, 0).count();
    comparison.sides.iter().map(count).max().unwrap_or(0)
}
