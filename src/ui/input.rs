//! Terminal events as actions.

use crossterm::event::{Event, MouseButton, MouseEventKind};

use crate::ui::action::Action;
use crate::ui::chord::Chord;

/// Rows a notch of the wheel scrolls.
const WHEEL_ROWS: i32 = 3;

/// What an event means; `None` when it means nothing here.
pub fn action(event: &Event) -> Option<Action> {
    match event {
        Event::Key(key) => Chord::of_event(key).map(Action::Key),
        Event::Paste(text) => Some(Action::Paste(text.clone())),
        Event::Resize(columns, rows) => Some(Action::Resize(*columns, *rows)),
        Event::FocusGained => Some(Action::Focused(true)),
        Event::FocusLost => Some(Action::Focused(false)),
        Event::Mouse(mouse) => {
            let (column, row) = (mouse.column, mouse.row);
            match mouse.kind {
                MouseEventKind::ScrollUp => Some(Action::Wheel { rows: -WHEEL_ROWS, column, row }),
                MouseEventKind::ScrollDown => Some(Action::Wheel { rows: WHEEL_ROWS, column, row }),
                MouseEventKind::Down(MouseButton::Left) => Some(Action::Click { column, row }),
                _ => None,
            }
        }
    }
}
