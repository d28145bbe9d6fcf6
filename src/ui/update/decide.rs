//! The keys of the approval card, which work only while it has the focus.

use crate::harness::Command;
use crate::policy::Decision;
use crate::ui::action::{Asked, Effect};
use crate::ui::chord::{Chord, Key};
use crate::ui::keymap::{ActionId, Place};
use crate::ui::line_input::LineInput;
use crate::ui::state::State;
use crate::ui::update::keys;

/// A key while the card has the focus. Keys without a meaning here do nothing: none of them may end
/// up in the draft.
pub(super) fn key(state: &mut State, chord: Chord) -> Vec<Effect> {
    if state.approvals.message.is_some() {
        return message_key(state, chord);
    }
    match (chord.key, chord.ctrl || chord.alt) {
        (Key::Up, false) => state.approvals.scroll(-1),
        (Key::Down, false) => state.approvals.scroll(1),
        (Key::PageDown, false) => state.approvals.page(),
        (Key::PageUp, false) => state.approvals.scroll(-8),
        _ => {
            let found = state.keymap.find(Place::Approval, chord);
            let found = found.or_else(|| state.keymap.find(Place::Everywhere, chord));
            return found.map_or_else(Vec::new, |id| keys::perform(state, id));
        }
    }
    Vec::new()
}

/// Writing why not. Only enter confirms; esc goes back to the card.
fn message_key(state: &mut State, chord: Chord) -> Vec<Effect> {
    match chord.key {
        Key::Esc => state.approvals.message = None,
        Key::Char('c') if chord.ctrl => state.approvals.message = None,
        Key::Enter => {
            let message = state.approvals.message.take().unwrap_or_default();
            let text = message.text().trim().to_owned();
            if text.is_empty() {
                state.approvals.message = Some(message);
                return Vec::new();
            }
            return answer(state, Decision::Deny { message: Some(text) });
        }
        _ => {
            if let Some(message) = &mut state.approvals.message {
                message.key(chord);
            }
        }
    }
    Vec::new()
}

/// The actions of the card.
pub(super) fn perform(state: &mut State, id: ActionId) -> Vec<Effect> {
    if id == ActionId::Details {
        state.approvals.page();
        return Vec::new();
    }
    let letter = matches!(
        id,
        ActionId::AllowOnce | ActionId::AllowSession | ActionId::Deny | ActionId::DenyBecause
    );
    if !letter {
        return Vec::new();
    }
    if state.surface.focus != crate::ui::state::Focus::Approval {
        return Vec::new();
    }
    // A yes needs the whole card seen; a no is always possible, once the card was there to read.
    let refuses = matches!(id, ActionId::Deny | ActionId::DenyBecause);
    let answers = state.approvals.armed(state.now) || (refuses && state.approvals.unseen());
    if !answers {
        if state.approvals.too_long() {
            state.tell("too long to be seen here: say no, or x stops the turn");
        } else if state.approvals.unseen() {
            state.tell("see all of it first: tab shows more lines");
        }
        return Vec::new();
    }
    match id {
        ActionId::AllowOnce => answer(state, Decision::Once),
        ActionId::AllowSession => answer(state, Decision::Session),
        ActionId::Deny => answer(state, Decision::Deny { message: None }),
        _ => {
            state.approvals.message = Some(LineInput::default());
            Vec::new()
        }
    }
}

fn answer(state: &mut State, decision: Decision) -> Vec<Effect> {
    let Some(call) = state.approvals.current() else { return Vec::new() };
    let key = call.key.clone();
    state.approvals.mark_sent(&key);
    vec![Effect::Send(Command::Decide { key: key.clone(), decision }, Asked::Decision { key })]
}
