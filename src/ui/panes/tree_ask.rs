//! The questions of the tree, over the panes.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;

use crate::ui::line_input::LineInput;
use crate::ui::popups::{centred, field, open};
use crate::ui::state::State;
use crate::ui::tree::Ask;
use crate::ui::tree::ask::{How, Wish};
use crate::ui::view::row;

/// Columns of a question.
const COLUMNS: u16 = 60;

/// Paints the question; gives the place of the cursor where there is a field.
pub(crate) fn paint(state: &State, ask: &Ask, frame: &mut Frame<'_>) -> Option<Position> {
    match ask {
        Ask::How { wish, selected } => {
            choices(state, wish, *selected, frame);
            None
        }
        Ask::Words { what, input, .. } => Some(line(state, what.title(), input, frame)),
        Ask::Label { input, .. } => Some(line(state, "label; empty takes it away", input, frame)),
        Ask::Stop { .. } => {
            let inner = boxed(state, "stop the turn first?", 3, frame);
            row(frame, inner, 0, Line::raw("A turn still runs on this branch."));
            row(frame, inner, 2, Line::raw("y stop it and go on   n stay"));
            None
        }
        Ask::Compare { top, side } => {
            super::compare::paint(state, *top, *side, frame);
            None
        }
    }
}

fn boxed(state: &State, title: &str, rows: u16, frame: &mut Frame<'_>) -> Rect {
    let area = centred(frame, COLUMNS, rows.saturating_add(2));
    open(state, frame, area, title, "esc")
}

fn line(state: &State, title: &str, input: &LineInput, frame: &mut Frame<'_>) -> Position {
    let area = centred(frame, COLUMNS, 3);
    let inner = open(state, frame, area, title, "enter · esc");
    field(frame, inner, input)
}

fn choices(state: &State, wish: &Wish, selected: usize, frame: &mut Frame<'_>) {
    let theme = &state.look.theme;
    let all: &[How] = wish.choices();
    let rows = u16::try_from(all.len()).unwrap_or(u16::MAX).saturating_add(1);
    let inner = boxed(state, wish.title(), rows, frame);
    for (offset, (index, how)) in (0..inner.height).zip(all.iter().enumerate()) {
        let style = if index == selected { theme.selection } else { theme.text };
        let mark = match (index == selected, state.look.ascii) {
            (true, false) => "›",
            (true, true) => ">",
            (false, _) => " ",
        };
        let text = format!("{mark} {} {}", index + 1, how.title(wish));
        row(frame, inner, offset, Line::styled(text, style));
    }
    let last = inner.height.saturating_sub(1);
    row(frame, inner, last, Line::styled("enter choose · esc back", theme.muted));
}
