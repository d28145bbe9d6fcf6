//! Terminal events as actions, without the answers of terminals to questions that nobody here asked.
//!
//! The input library passes such an answer (`ESC ] 11;rgb:… BEL`) on as alt+`]` and typed text; left
//! alone it would end up in the draft, and its end would be ctrl+g.

use crossterm::event::{Event, MouseButton, MouseEventKind};

use crate::ui::action::Action;
use crate::ui::chord::{Chord, Key};

/// Rows a notch of the wheel scrolls.
const WHEEL_ROWS: i32 = 3;

/// The pieces of an answer come in one burst; a person who pressed alt+`]` is slower.
const REPLY_GAP_MS: i64 = 30;
/// No answer is longer; whatever follows is typed.
const REPLY_KEYS: usize = 4_096;

/// Turns events into actions and drops terminals' answers.
#[derive(Debug, Default)]
pub struct Reader {
    /// Keys dropped of the answer under way, and when the last one came.
    reply: Option<(usize, i64)>,
}

impl Reader {
    /// What an event means at `now`, Unix milliseconds.
    pub fn action(&mut self, event: &Event, now: i64) -> Option<Action> {
        let action = action(event)?;
        let Action::Key(chord) = action else { return Some(action) };
        let starts =
            chord.alt && !chord.ctrl && matches!(chord.key, Key::Char(']' | 'P' | '_' | '^'));
        match self.reply.take() {
            Some((dropped, last)) if now.saturating_sub(last) <= REPLY_GAP_MS => {
                let bell = chord.ctrl && chord.key == Key::Char('g');
                let terminator = chord.alt && chord.key == Key::Char('\\');
                if !bell && !terminator && dropped < REPLY_KEYS {
                    self.reply = Some((dropped + 1, now));
                }
                None
            }
            _ if starts => {
                self.reply = Some((1, now));
                None
            }
            _ => Some(action),
        }
    }
}

/// Keys that make a burst when they come in one read: nobody types as fast.
const BURST_KEYS: usize = 32;

/// Joins long runs of text keys.
pub fn bursts(actions: Vec<Action>) -> Vec<Action> {
    let mut joined = Vec::with_capacity(actions.len());
    let mut run: Vec<Chord> = Vec::new();
    let end = |run: &mut Vec<Chord>, joined: &mut Vec<Action>| {
        if run.len() >= BURST_KEYS {
            joined.push(Action::Burst(std::mem::take(run)));
        } else {
            joined.extend(run.drain(..).map(Action::Key));
        }
    };
    for action in actions {
        match action {
            Action::Key(chord) if chord.typed().is_some() || chord == Chord::plain(Key::Enter) => {
                run.push(chord);
            }
            other => {
                end(&mut run, &mut joined);
                joined.push(other);
            }
        }
    }
    end(&mut run, &mut joined);
    joined
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

    fn key(c: char, modifiers: KeyModifiers) -> Event {
        Event::Key(KeyEvent::new(KeyCode::Char(c), modifiers))
    }

    fn typed(reader: &mut Reader, text: &str, now: i64) -> usize {
        text.chars().filter(|c| reader.action(&key(*c, KeyModifiers::NONE), now).is_some()).count()
    }

    #[test]
    fn an_answer_that_nobody_asked_for_is_dropped_with_its_end() {
        for end in [key('g', KeyModifiers::CONTROL), key('\\', KeyModifiers::ALT)] {
            let mut reader = Reader::default();
            assert!(reader.action(&key(']', KeyModifiers::ALT), 0).is_none());
            assert_eq!(typed(&mut reader, "11;rgb:1e1e/2020/2a2a", 1), 0);
            assert!(reader.action(&end, 1).is_none());
            assert_eq!(typed(&mut reader, "hello", 1), 5);
            assert!(reader.action(&end, 1).is_some());
        }
    }

    #[test]
    fn a_person_types_on_after_alt_and_a_bracket() {
        let mut reader = Reader::default();
        reader.action(&key(']', KeyModifiers::ALT), 0);
        assert_eq!(typed(&mut reader, "x", 80), 1);
    }
}
