//! Where everything stands for a size: plain arithmetic on rectangles, so that it is the same for
//! painting, for measuring and for clicks.

use ratatui::layout::Rect;

use crate::ui::state::{Focus, State, Tab};

/// From this many columns on, docks stand on both sides.
pub const WIDE: u16 = 140;
/// From this many columns on, one dock stands beside the conversation.
pub const MEDIUM: u16 = 90;
/// Smaller screens only ask for room.
pub const MIN_COLUMNS: u16 = 40;
/// See [`MIN_COLUMNS`].
pub const MIN_ROWS: u16 = 10;
/// The header and the frames go where the rows are few.
const FEW_ROWS: u16 = 16;

/// The areas of a frame. An area of no size is not shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Areas {
    pub too_small: bool,
    pub screen: Rect,
    pub header: Rect,
    pub tabs: Rect,
    /// With its frame.
    pub conversation: Rect,
    /// Inside the frame.
    pub transcript: Rect,
    /// With its frame.
    pub tree: Rect,
    pub tree_inner: Rect,
    pub tools: Rect,
    pub tools_inner: Rect,
    pub card: Rect,
    pub card_body: Rect,
    pub queue: Rect,
    pub completions: Rect,
    pub composer: Rect,
    pub text: Rect,
    pub status: Rect,
}

/// Whether the tools dock stands beside the conversation.
fn dock_shows(state: &State) -> bool {
    let (columns, _) = state.size;
    let tree = state.surface.tree.open && columns < WIDE;
    if tree && state.surface.focus != Focus::Tools {
        return false;
    }
    let by_itself =
        columns >= WIDE || state.tools.running() > 0 || state.surface.focus == Focus::Tools;
    columns >= MEDIUM && state.tools_open.unwrap_or(by_itself)
}

/// How many columns the tools dock takes.
fn dock_columns(columns: u16) -> u16 {
    if columns >= WIDE { (columns / 3).min(56) } else { (columns * 2 / 5).min(44) }
}

/// Whether the tree dock stands beside the conversation.
fn tree_shows(state: &State) -> bool {
    state.surface.tree.open && state.size.0 >= MEDIUM
}

/// How many columns the tree dock takes.
fn tree_columns(columns: u16) -> u16 {
    if columns >= WIDE { (columns * 3 / 10).min(60) } else { (columns * 2 / 5).min(52) }
}

/// The inside of a frame; nothing when it has no inside.
fn inside(area: Rect) -> Rect {
    if area.width < 3 || area.height < 3 {
        return Rect::default();
    }
    Rect::new(area.x + 1, area.y + 1, area.width - 2, area.height - 2)
}

/// Takes rows from the bottom of an area.
fn take_bottom(rest: &mut Rect, rows: u16) -> Rect {
    let rows = rows.min(rest.height);
    rest.height -= rows;
    Rect::new(rest.x, rest.y + rest.height, rest.width, rows)
}

fn take_top(rest: &mut Rect, rows: u16) -> Rect {
    let rows = rows.min(rest.height);
    let taken = Rect::new(rest.x, rest.y, rest.width, rows);
    rest.y += rows;
    rest.height -= rows;
    taken
}

/// Measures everything for the current size: lays the transcript, the tools and the card out and
/// notes what of the card can be seen. Call it before every frame.
pub fn measure(state: &mut State) {
    let (columns, rows) = state.size;
    let screen = Rect::new(0, 0, columns, rows);
    let mut areas = Areas { screen, ..Areas::default() };
    if columns < MIN_COLUMNS || rows < MIN_ROWS {
        areas.too_small = true;
        state.areas = areas;
        state.approvals.shown(0, state.now);
        return;
    }
    let mut rest = screen;
    areas.header = take_top(&mut rest, 1);
    if columns < MEDIUM {
        areas.tabs = take_top(&mut rest, 1);
    }
    areas.status = take_bottom(&mut rest, 1);
    let frame = if rows < FEW_ROWS { 0 } else { 2 };
    state.composer.measure(columns.saturating_sub(frame + 2), rows / 3);
    areas.composer = take_bottom(&mut rest, state.composer.rows() + frame);
    let framed = if frame == 0 { areas.composer } else { inside(areas.composer) };
    areas.text = Rect::new(framed.x + 2, framed.y, framed.width.saturating_sub(2), framed.height);
    let completions = crate::ui::commands::completions(&state.composer.shown()).len();
    areas.completions = take_bottom(&mut rest, u16::try_from(completions).unwrap_or(0).min(6));
    if !state.queue.is_empty() {
        areas.queue = take_bottom(&mut rest, 1);
    }
    card(state, &mut areas, &mut rest);
    panes(state, &mut areas, rest);
    state.areas = areas;
}

/// The card takes what it needs and at most two thirds of what is left.
fn card(state: &mut State, areas: &mut Areas, rest: &mut Rect) {
    const FRAME_AND_HINTS: u16 = 4;
    let theme = state.look.theme.clone();
    let lines = state.approvals.lay(rest.width.saturating_sub(4), &theme);
    if lines == 0 {
        state.approvals.shown(0, state.now);
        return;
    }
    let wanted = u16::try_from(lines).unwrap_or(u16::MAX).saturating_add(FRAME_AND_HINTS);
    areas.card = take_bottom(rest, wanted.min((rest.height * 2 / 3).max(FRAME_AND_HINTS + 1)));
    let inner = inside(areas.card);
    let body = inner.height.saturating_sub(2);
    areas.card_body =
        Rect::new(inner.x + 1, inner.y + inner.height.min(1), inner.width.saturating_sub(2), body);
    let covered = state.surface.popup.is_some() || areas.card_body.width == 0;
    state.approvals.shown(if covered { 0 } else { usize::from(body) }, state.now);
}

fn panes(state: &mut State, areas: &mut Areas, mut rest: Rect) {
    let (columns, rows) = state.size;
    let theme = state.look.theme.clone();
    let narrow = columns < MEDIUM;
    if narrow && state.surface.tab == Tab::Tools {
        areas.tools = rest;
    } else if narrow && state.surface.tab == Tab::Tree {
        areas.tree = rest;
    } else {
        let tools = dock_shows(state);
        if tree_shows(state) && (columns >= WIDE || !tools) {
            let width = tree_columns(columns);
            areas.tree = Rect::new(rest.x, rest.y, width, rest.height);
            rest.x += width;
            rest.width -= width;
        }
        if tools {
            let width = dock_columns(columns);
            rest.width -= width;
            areas.tools = Rect::new(rest.x + rest.width, rest.y, width, rest.height);
        }
        areas.conversation = rest;
    }
    let frameless = narrow || rows < FEW_ROWS;
    areas.transcript =
        if frameless { padded(areas.conversation) } else { inside(areas.conversation) };
    areas.tools_inner = if frameless { padded(areas.tools) } else { inside(areas.tools) };
    if !narrow {
        areas.transcript = padded(areas.transcript);
        areas.tools_inner = padded(areas.tools_inner);
    }
    areas.tree_inner = if frameless { padded(areas.tree) } else { inside(areas.tree) };
    let focused = state.surface.focus == Focus::Tree;
    state.surface.tree.measure(areas.tree_inner, focused, !frameless);
    let text = areas.transcript;
    state.transcript.layout(text.width, text.height, &theme);
    state.tools.measure(areas.tools_inner.width.saturating_sub(2), &theme);
}

/// One column free on either side.
fn padded(area: Rect) -> Rect {
    if area.width < 3 {
        return area;
    }
    Rect::new(area.x + 1, area.y, area.width - 2, area.height)
}
