//! Time: what ends, what is due, and whether anything that shows the time has changed.

use crate::ui::action::Effect;
use crate::ui::state::{DRAFT_MS, SPINNER_MS, State};

/// The time is `now`. A clock that went back only delays what is due.
pub(super) fn tick(state: &mut State, now: i64) -> Vec<Effect> {
    let before = std::mem::replace(&mut state.now, now);
    let mut effects = Vec::new();
    if state.composer.burst.settle(Some(now)) {
        state.dirty = true;
        effects.extend(super::submit::send(state, false));
    }
    if state.surface.toast.as_ref().is_some_and(|toast| now >= toast.until) {
        state.surface.toast = None;
        state.dirty = true;
    }
    if state.surface.quit_until.is_some_and(|until| now >= until) {
        state.surface.quit_until = None;
        state.dirty = true;
    }
    if state.surface.tree.armed_until.is_some_and(|until| now >= until) {
        state.surface.tree.armed_until = None;
        state.dirty = true;
    }
    if state.approvals.armed_at().is_some_and(|at| before < at && now >= at) {
        state.dirty = true;
    }
    if state.busy() {
        let step = if state.spins() { SPINNER_MS } else { 1_000 };
        let passed = |step: i64| before.div_euclid(step) != now.div_euclid(step);
        state.dirty |= passed(step) || passed(1_000);
    }
    let revision = state.composer.revision();
    if state.draft.saved != revision && now >= state.draft.since.saturating_add(DRAFT_MS) {
        effects.extend(save_draft(state));
    }
    effects
}

/// Keeps the draft now, when it is not kept yet.
pub(in crate::ui) fn save_draft(state: &mut State) -> Option<Effect> {
    let revision = state.composer.revision();
    if state.draft.saved == revision || state.session.id.is_empty() {
        state.draft.saved = revision;
        return None;
    }
    state.draft.saved = revision;
    Some(Effect::SaveDraft { session: state.draft_key(), text: state.composer.text() })
}
