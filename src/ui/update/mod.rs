//! `update`: an action in, the state changed, effects out; no I/O and no clock of its own.

mod clock;
mod decide;
mod engine;
mod keys;
mod mouse;
mod overlay;
mod session;
mod submit;
mod tree;
mod tree_ask;

pub(super) use clock::save_draft;
pub use overlay::SEARCH_MAX;

use crate::ui::action::{Action, Asked, Effect};
use crate::ui::state::{Focus, State};

/// Applies one action.
pub fn update(state: &mut State, action: Action) -> Vec<Effect> {
    let mut effects = match action {
        Action::Clock(now) => clock::tick(state, now),
        Action::Engine(event) => engine::event(state, &event),
        Action::Tree(tree) => {
            engine::tree(state, *tree);
            Vec::new()
        }
        Action::Highlighted(done) => {
            state.transcript.highlighted(done);
            state.dirty = true;
            Vec::new()
        }
        Action::Paged(paged) => {
            state.transcript.paged(*paged);
            state.dirty = true;
            Vec::new()
        }
        Action::Focused(focused) => {
            state.terminal_focused = focused;
            Vec::new()
        }
        other => {
            state.dirty = true;
            visible(state, other)
        }
    };
    let revision = state.composer.revision();
    if state.draft.seen != revision {
        state.draft.seen = revision;
        state.draft.since = state.now;
    }
    // While the last answer is on its way the card keeps the keys: a second press is no typing.
    if state.approvals.calls.is_empty() && state.surface.focus == Focus::Approval {
        state.surface.focus = Focus::Composer;
        state.dirty = true;
    }
    effects.extend(state.surface.tree.jobs().into_iter().map(Effect::Read));
    if state.surface.leaving {
        effects.retain(|effect| !matches!(effect, Effect::Suspend | Effect::Edit(_)));
    }
    effects
}

/// The actions that always show.
fn visible(state: &mut State, action: Action) -> Vec<Effect> {
    match action {
        Action::Resize(columns, rows) => {
            state.size = (columns, rows);
            Vec::new()
        }
        Action::Key(chord) => keys::key(state, chord),
        Action::Paste(text) => keys::paste(state, &text),
        Action::Burst(chords) => keys::burst(state, &chords),
        Action::Wheel { rows, column, row } => mouse::wheel(state, rows, column, row),
        Action::Click { column, row } => mouse::click(state, column, row),
        Action::Do(id) => keys::perform(state, id),
        Action::Joined(snapshot) => engine::join(state, *snapshot),
        Action::Answered(Asked::Tree(asked), answer) => tree_ask::answered(state, asked, answer),
        Action::Opening(tail) => engine::opening(state, *tail),
        Action::Opened(id, result) => engine::opened(state, &id, result),
        Action::Answered(asked, answer) => submit::answered(state, asked, answer),
        Action::Shelf(news) => crate::ui::sessions::heard(state, *news),
        Action::Read(done) => tree_ask::read(state, done),
        Action::Kept { draft, stash, history } => {
            kept(state, &draft, stash, history);
            Vec::new()
        }
        Action::Edited(Ok(text)) => {
            state.composer.put(text.strip_suffix('\n').unwrap_or(&text));
            Vec::new()
        }
        Action::Edited(Err(text)) | Action::Told(text) => {
            state.tell(text);
            Vec::new()
        }
        Action::Clock(_)
        | Action::Engine(_)
        | Action::Tree(_)
        | Action::Highlighted(_)
        | Action::Paged(_)
        | Action::Focused(_) => Vec::new(),
    }
}

/// What earlier runs kept comes under what was typed meanwhile.
fn kept(state: &mut State, draft: &str, stash: Option<String>, history: Vec<String>) {
    // After a change of session the list in memory is newer than the file.
    if state.composer.history.is_empty() {
        state.composer.history.load(history);
    }
    if state.composer.stashed().is_none() {
        state.composer.set_stash(stash);
    }
    let untouched = state.composer.is_empty();
    if !draft.is_empty() {
        state.composer.put_before(draft);
    }
    if untouched {
        state.draft.saved = state.composer.revision();
    }
}

/// Sends a text as if it had been typed, and leaves the draft alone.
pub fn send_now(state: &mut State, text: &str) -> Vec<Effect> {
    submit::send_text(state, text)
}
