//! The tree pane: rows with their connectors, the query above them, the selected entry's words and
//! the keys below.

use ratatui::Frame;
use ratatui::layout::{Position as Cell, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::session::TreeView;
use crate::text::sanitize::one_line;
use crate::text::width::{swidth, truncate_to};
use crate::ui::state::{Focus, State};
use crate::ui::tree::Pane;
use crate::ui::tree::rows::{Connector, Fold, Row};
use crate::ui::tree::words::{self, Tone};
use crate::ui::view::{framed, row};

/// Cells of the cursor, which never scroll away.
const CURSOR_CELLS: u16 = 2;
/// Words keep at least this many cells before what stands at the right is shown.
const WORD_CELLS: usize = 14;
/// The keys, the most wanted first; as many as fit are shown.
const HINTS: [&str; 12] = [
    "enter go",
    "/ search",
    "space fold",
    "s summarise",
    "e edit",
    "f fork",
    "l label",
    "m merge",
    "d compare",
    "y copy",
    "K compact",
    "1-5 filter",
];

/// Paints the pane.
pub(crate) fn paint(state: &State, frame: &mut Frame<'_>) {
    let areas = &state.areas;
    let theme = &state.look.theme;
    if areas.tree.width == 0 || areas.tree.height == 0 {
        return;
    }
    let pane = &state.surface.tree;
    let focused = state.surface.focus == Focus::Tree;
    let mut count = count(pane);
    if state.look.ascii {
        count = count.replace('·', "-");
    }
    if areas.tree_inner.height < areas.tree.height {
        let style = if focused { theme.border_focused } else { theme.border };
        framed(state, frame, areas.tree, ("Tree", &count), style);
        query(state, frame, "");
    } else {
        query(state, frame, &count);
    }
    list(state, frame, focused);
    preview(state, frame);
    hints(state, frame);
}

/// `7/31`, and the filter that is on.
fn count(pane: &Pane) -> String {
    let at = pane.selected_row().map_or(0, |row| row + 1);
    let times = if pane.times.is_some() { " · label times" } else { "" };
    format!("{}{times} · {at}/{}", pane.filter().name(), pane.rows().len())
}

fn query(state: &State, frame: &mut Frame<'_>, count: &str) {
    let theme = &state.look.theme;
    let pane = &state.surface.tree;
    let area = pane.parts.query;
    let width = usize::from(area.width);
    let searched = pane.search.typing || pane.search.matches().is_some();
    let mut right = count.to_owned();
    if searched {
        let found = pane.rows().total();
        let going = if pane.search.searching() { ", searching…" } else { "" };
        right = format!("{found} found{going}");
    }
    if state.look.ascii {
        right = right.replace('·', "-").replace('…', "...");
    }
    let mut spans = Vec::new();
    let mut used = 0;
    if searched {
        let room = width.saturating_sub(swidth(&right) + 4).max(width / 2);
        let text = crate::ui::popups::tail(pane.search.input.text(), room);
        used = swidth(&text) + 2;
        spans.push(Span::styled("/ ", theme.accent));
        spans.push(Span::raw(text));
    }
    let right = truncate_to(&right, width.saturating_sub(used + 1)).into_owned();
    spans.push(Span::raw(" ".repeat(width.saturating_sub(used + swidth(&right)))));
    spans.push(Span::styled(right, theme.muted));
    row(frame, area, 0, Line::from(spans));
}

/// Where the query is written.
pub(crate) fn cursor(state: &State) -> Option<Cell> {
    let pane = &state.surface.tree;
    let area = pane.parts.query;
    if !pane.search.typing || area.width == 0 || area.height == 0 {
        return None;
    }
    let column = u16::try_from(swidth(pane.search.input.before()) + 2).unwrap_or(u16::MAX);
    Some(Cell::new(area.x + column.min(area.width - 1), area.y))
}

fn list(state: &State, frame: &mut Frame<'_>, focused: bool) {
    let theme = &state.look.theme;
    let pane = &state.surface.tree;
    let area = pane.parts.list;
    let Some(view) = &state.tree else { return };
    if pane.rows().is_empty() {
        let text = match (view.index().is_empty(), pane.search.matches().is_some()) {
            (true, _) => "nothing has been said yet",
            (_, true) => "nothing matches",
            (_, false) => "nothing in this filter",
        };
        row(frame, area, 0, Line::styled(text, theme.muted));
        return;
    }
    let selected = pane.selected_row();
    let leaf = pane.leaf_row();
    let rows = pane.rows().all().iter().enumerate().skip(pane.top());
    for (offset, (index, each)) in (0..area.height).zip(rows) {
        let place = Place { selected: Some(index) == selected, leaf: Some(index) == leaf, focused };
        row(frame, area, offset, line(state, view, each, place, area));
    }
}

/// What is special about a row.
#[derive(Clone, Copy)]
struct Place {
    selected: bool,
    leaf: bool,
    focused: bool,
}

fn line(state: &State, view: &TreeView, each: &Row, place: Place, area: Rect) -> Line<'static> {
    let theme = &state.look.theme;
    let pane = &state.surface.tree;
    let width = usize::from(area.width.saturating_sub(CURSOR_CELLS));
    let Some(node) = view.index().node(each.last) else { return Line::default() };
    let cursor = match (place.selected, state.look.ascii) {
        (false, _) => "  ",
        (true, false) => "› ",
        (true, true) => "> ",
    };
    let mut left = vec![(Tone::Muted, prefix(pane, each, width, state.look.ascii))];
    if pane.entries().on_path(each.position) {
        left.push((Tone::Accent, if state.look.ascii { "o " } else { "• " }.into()));
    }
    if let Some(label) = pane.entries().label(each.position) {
        let time = pane.times.as_ref().and_then(|times| times.get(&each.position));
        left.push(words::label(label, time.map(String::as_str)));
    }
    if pane.mark == Some(each.position) {
        left.push((Tone::Warn, "(marked) ".into()));
    }
    left.extend(words::marks(node, each, state.look.ascii));
    let used: usize = left.iter().map(|(_, text)| swidth(text)).sum();
    let right = beside(state, pane, node, each, place, width.saturating_sub(used));
    let room = width.saturating_sub(used + swidth(&right));
    left.push(words::words(node, each, room));
    let style = |tone: Tone| match (place.selected, tone) {
        (true, _) if place.focused => theme.selection,
        (_, Tone::Plain) => theme.text,
        (_, Tone::Muted) => theme.muted,
        (_, Tone::You) => theme.user,
        (_, Tone::Accent) => theme.accent,
        (_, Tone::Good) => theme.good,
        (_, Tone::Bad) => theme.bad,
        (_, Tone::Warn) => theme.warn,
    };
    let mut spans = vec![Span::styled(cursor, theme.accent)];
    let mut rest = width.saturating_sub(swidth(&right));
    for (tone, text) in left {
        let text = truncate_to(&text, rest).into_owned();
        rest = rest.saturating_sub(swidth(&text));
        spans.push(Span::styled(text, style(tone)));
    }
    let gap: Style = if place.selected && place.focused { theme.selection } else { theme.text };
    spans.push(Span::styled(" ".repeat(rest), gap));
    spans.push(Span::styled(right, style(Tone::Muted)));
    Line::from(spans)
}

/// Connector and lines of a row, without the levels that are panned away.
fn prefix(pane: &Pane, each: &Row, width: usize, ascii: bool) -> String {
    let levels = each.indent.saturating_sub(pane.pan());
    let levels = usize::try_from(levels).unwrap_or(usize::MAX).min(width / 3);
    let mut cells = vec!["   "; levels];
    for level in pane.rows().gutters(each, pane.pan()) {
        let at = usize::try_from(level - pane.pan()).unwrap_or(usize::MAX);
        if let Some(cell) = cells.get_mut(at) {
            *cell = if ascii { "|  " } else { "│  " };
        }
    }
    let connector = match (each.connector, each.fold, ascii) {
        (Connector::None, ..) => None,
        (Connector::Root, Fold::Folded, false) => return "⊞ ".into(),
        (Connector::Root, Fold::Folded, true) => return "[+] ".into(),
        (Connector::Root, ..) => return String::new(),
        (Connector::Tee, Fold::Never, false) => Some("├─ "),
        (Connector::Tee, Fold::Open, false) => Some("├⊟ "),
        (Connector::Tee, Fold::Folded, false) => Some("├⊞ "),
        (Connector::Elbow, Fold::Never, false) => Some("└─ "),
        (Connector::Elbow, Fold::Open, false) => Some("└⊟ "),
        (Connector::Elbow, Fold::Folded, false) => Some("└⊞ "),
        (Connector::Tee, Fold::Never, true) => Some("|- "),
        (Connector::Elbow, Fold::Never, true) => Some("`- "),
        (_, Fold::Open, true) => Some("-- "),
        (_, Fold::Folded, true) => Some("+- "),
    };
    if let (Some(connector), Some(last)) = (connector, cells.last_mut()) {
        *last = connector;
    }
    cells.concat()
}

/// What stands at the right end of a row, as much as fits.
fn beside(
    state: &State,
    pane: &Pane,
    node: &crate::session::Node,
    each: &Row,
    place: Place,
    room: usize,
) -> String {
    let leaf = match (place.leaf, state.look.ascii) {
        (false, _) => "",
        (true, false) => " ◀",
        (true, true) => " <",
    };
    let live = place.leaf && state.busy();
    if words::is_unfinished(node, each) && !live {
        let text = format!(" unfinished{leaf}");
        return if swidth(&text) + WORD_CELLS <= room { text } else { leaf.to_owned() };
    }
    if each.connector == Connector::None {
        return leaf.to_owned();
    }
    let total = pane.entries().total(each.position);
    let fits = |text: &String| text.is_empty() || swidth(text) + 1 + WORD_CELLS <= room;
    let text = words::totals(total, state.now).into_iter().find(fits).unwrap_or_default();
    if text.is_empty() { leaf.to_owned() } else { format!(" {text}{leaf}") }
}

fn preview(state: &State, frame: &mut Frame<'_>) {
    let theme = &state.look.theme;
    let pane = &state.surface.tree;
    let area = pane.parts.preview;
    if area.height == 0 {
        return;
    }
    let rule = theme.marks().rule.repeat(usize::from(area.width));
    row(frame, area, 0, Line::styled(rule, theme.border));
    for (offset, text) in (1..area.height).zip(pane.preview_lines()) {
        let text = one_line(text, usize::from(area.width));
        row(frame, area, offset, Line::styled(text, theme.text));
    }
}

fn hints(state: &State, frame: &mut Frame<'_>) {
    let theme = &state.look.theme;
    let pane = &state.surface.tree;
    let area = pane.parts.hint;
    let width = usize::from(area.width);
    let hints: &[&str] =
        if pane.search.typing { &["enter list", "esc end the search"] } else { &HINTS };
    let mut text = String::new();
    for hint in hints {
        let gap = if text.is_empty() { "" } else { "  " };
        if swidth(&text) + gap.len() + swidth(hint) > width {
            break;
        }
        text.push_str(gap);
        text.push_str(hint);
    }
    row(frame, area, 0, Line::styled(text, theme.muted));
}
