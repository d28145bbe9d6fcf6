//! The mouse: the wheel scrolls what it is over, a click gives the focus.

use ratatui::layout::{Position, Rect};

use crate::ui::action::Effect;
use crate::ui::popup::Popup;
use crate::ui::state::{Focus, State, Tab};
use crate::ui::update::tree;
use crate::ui::view::{TOOLS_TAB_COLUMN, TREE_TAB_COLUMN};

fn hits(area: Rect, column: u16, row: u16) -> bool {
    area.contains(Position::new(column, row))
}

/// The wheel was turned by `rows` at a place; positive is down.
pub(super) fn wheel(state: &mut State, rows: i32, column: u16, row: u16) -> Vec<Effect> {
    match &mut state.surface.popup {
        Some(Popup::Help { top }) => {
            let last = crate::ui::popups::help_lines().len().saturating_sub(1);
            let step = rows.unsigned_abs() as usize;
            *top = if rows < 0 { top.saturating_sub(step) } else { (*top + step).min(last) };
        }
        Some(_) => {}
        None if hits(state.areas.card, column, row) => state.approvals.scroll(i64::from(rows)),
        None if hits(state.areas.tree, column, row) => state.surface.tree.wheel(rows),
        None if hits(state.areas.tools, column, row) => {
            state.tools.select(i64::from(rows.signum()));
        }
        None => state.transcript.scroll(rows),
    }
    Vec::new()
}

/// A click at a place.
pub(super) fn click(state: &mut State, column: u16, row: u16) -> Vec<Effect> {
    if state.surface.popup.is_some() {
        return Vec::new();
    }
    state.surface.leader = false;
    let areas = state.areas;
    if hits(areas.card, column, row) {
        if state.approvals.open() > 0 {
            state.surface.focus = Focus::Approval;
        }
    } else if hits(areas.tree, column, row) {
        tree::click(state, column, row);
    } else if hits(areas.tools, column, row) {
        state.surface.focus = Focus::Tools;
    } else if hits(areas.tabs, column, row) {
        match column {
            TOOLS_TAB_COLUMN.. => {
                (state.surface.tab, state.surface.focus) = (Tab::Tools, Focus::Tools);
            }
            TREE_TAB_COLUMN.. => tree::show(state),
            _ => (state.surface.tab, state.surface.focus) = (Tab::Conversation, Focus::Composer),
        }
    } else {
        state.surface.focus = Focus::Composer;
        if hits(areas.text, column, row) {
            state.composer.click(column, row);
        }
    }
    Vec::new()
}
