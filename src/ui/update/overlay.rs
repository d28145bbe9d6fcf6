//! The keys of popups. Esc closes any of them; none keeps a key for itself that it does not show.

use crate::harness::Command;
use crate::ui::action::{Asked, Effect};
use crate::ui::chord::{Chord, Key};
use crate::ui::line_input::LineInput;
use crate::ui::popup::{Popup, Question, palette_rows};
use crate::ui::state::State;
use crate::ui::update::{keys, tree_ask};
use crate::ui::{compaction, forks, sessions};

/// Prompts the history search lists.
pub const SEARCH_MAX: usize = 50;

/// Opens the history search over the draft.
pub(super) fn open_search(state: &mut State) {
    let before = state.composer.text();
    state.surface.popup = Some(Popup::Search { query: LineInput::default(), selected: 0, before });
}

/// Closes the popup.
pub(super) fn close(state: &mut State) {
    state.surface.popup = None;
}

/// A paste goes into the popup's field, if it has one.
pub(super) fn paste(state: &mut State, text: &str) -> Vec<Effect> {
    match &mut state.surface.popup {
        Some(Popup::Sessions) => return sessions::paste(state, text),
        Some(Popup::Compaction) => compaction::paste(state, text),
        Some(popup) => paste_line(popup, text),
        None => {}
    }
    Vec::new()
}

fn paste_line(popup: &mut Popup, text: &str) {
    match popup {
        Popup::Palette { query, selected } | Popup::Search { query, selected, .. } => {
            query.insert(text);
            *selected = 0;
        }
        Popup::Ask { input, .. } => input.insert(text),
        Popup::Tree(ask) => tree_ask::paste(ask, text),
        _ => {}
    }
}

/// A key while a popup is open.
pub(super) fn key(state: &mut State, chord: Chord) -> Vec<Effect> {
    match state.surface.popup {
        Some(Popup::Sessions) => return sessions::key(state, chord),
        Some(Popup::Compaction) => return compaction::key(state, chord),
        _ => {}
    }
    let control_c = chord.key == Key::Char('c') && chord.ctrl;
    if chord.key == Key::Esc || control_c {
        close(state);
        return Vec::new();
    }
    match &mut state.surface.popup {
        Some(Popup::Missing { .. }) => return sessions::missing(state, chord),
        Some(Popup::Forks { .. }) => return forks::key(state, chord),
        Some(Popup::Context { top, .. } | Popup::Facts { top, .. }) => {
            *top = scrolled(*top, chord);
            return Vec::new();
        }
        _ => {}
    }
    let Some(popup) = state.surface.popup.take() else { return Vec::new() };
    match popup {
        Popup::Help { top } => help(state, top, chord),
        Popup::ConfirmQuit => return confirm(state, chord),
        Popup::Tree(ask) => return tree_ask::key(state, ask, chord),
        Popup::Palette { query, selected } => return palette(state, query, selected, chord),
        Popup::Ask { what, input } => return ask(state, what, input, chord),
        // Answered above: they keep their place while a key is looked at.
        Popup::Sessions
        | Popup::Missing { .. }
        | Popup::Compaction
        | Popup::Context { .. }
        | Popup::Forks { .. }
        | Popup::Facts { .. } => {}
        Popup::Search { query, selected, before } => search(state, query, selected, before, chord),
    }
    Vec::new()
}

/// Lines of a popup are fewer than this, however they wrap.
pub(super) const LINES: usize = 1_000;

/// Where lines to read begin after a key.
fn scrolled(top: usize, chord: Chord) -> usize {
    match chord.key {
        Key::Up | Key::Char('k') => top.saturating_sub(1),
        Key::Down | Key::Char('j') => (top + 1).min(LINES),
        Key::PageUp => top.saturating_sub(10),
        Key::PageDown | Key::Char(' ') => (top + 10).min(LINES),
        Key::Home | Key::Char('g') => 0,
        _ => top,
    }
}

fn help(state: &mut State, top: usize, chord: Chord) {
    let page = usize::from(state.size.1).saturating_sub(6).max(1);
    let last = crate::ui::popups::help_lines().len().saturating_sub(1);
    if matches!(chord.key, Key::Char('q' | '?') | Key::Enter | Key::F(1)) {
        return;
    }
    state.surface.popup = Some(Popup::Help { top: read_on(top, page, last, chord) });
}

/// Where a text goes on that is read by pages; `last` is its last row.
pub(super) fn read_on(top: usize, page: usize, last: usize, chord: Chord) -> usize {
    let top = match chord.key {
        Key::Up | Key::Char('k') => top.saturating_sub(1),
        Key::Down | Key::Char('j') => top + 1,
        Key::PageUp => top.saturating_sub(page),
        Key::PageDown | Key::Char(' ') => top + page,
        Key::Home | Key::Char('g') => 0,
        Key::End | Key::Char('G') => last,
        _ => top,
    };
    top.min(last)
}

fn confirm(state: &mut State, chord: Chord) -> Vec<Effect> {
    match chord.typed() {
        Some('y') => {
            let mut effects = keys::abort(state);
            effects.extend(keys::leave(state, 0));
            effects
        }
        Some('n') => Vec::new(),
        _ => {
            state.surface.popup = Some(Popup::ConfirmQuit);
            Vec::new()
        }
    }
}

/// Moves in a list of `count`; `None` when the key is no move.
fn moved(selected: usize, count: usize, chord: Chord) -> Option<usize> {
    let last = count.saturating_sub(1);
    match (chord.key, chord.ctrl) {
        (Key::Up, _) | (Key::Char('p'), true) => Some(selected.saturating_sub(1)),
        (Key::Down, _) | (Key::Char('n'), true) => Some((selected + 1).min(last)),
        (Key::PageUp, _) => Some(selected.saturating_sub(10)),
        (Key::PageDown, _) => Some((selected + 10).min(last)),
        _ => None,
    }
}

fn palette(
    state: &mut State,
    mut query: LineInput,
    mut selected: usize,
    chord: Chord,
) -> Vec<Effect> {
    let rows = palette_rows(query.text());
    if chord.key == Key::Enter {
        return rows.get(selected).map_or_else(Vec::new, |row| keys::perform(state, row.id));
    }
    if let Some(to) = moved(selected, rows.len(), chord) {
        selected = to;
    } else if query.key(chord) {
        selected = 0;
    }
    state.surface.popup = Some(Popup::Palette { query, selected });
    Vec::new()
}

fn ask(state: &mut State, what: Question, mut input: LineInput, chord: Chord) -> Vec<Effect> {
    if chord.key == Key::Enter {
        let text = input.text().trim().to_owned();
        if text.is_empty() {
            return Vec::new();
        }
        return vec![match what {
            Question::Model => {
                Effect::Send(Command::SetModel { reference: text }, Asked::Change("model"))
            }
            Question::Name => Effect::Send(Command::SetName { name: text }, Asked::Change("name")),
        }];
    }
    input.key(chord);
    state.surface.popup = Some(Popup::Ask { what, input });
    Vec::new()
}

fn search(
    state: &mut State,
    mut query: LineInput,
    mut selected: usize,
    before: String,
    chord: Chord,
) {
    let control_r = chord.key == Key::Char('r') && chord.ctrl;
    let count = state.composer.history.search(query.text(), SEARCH_MAX).len();
    if chord.key == Key::Enter {
        let found = state.composer.history.search(query.text(), SEARCH_MAX);
        let found = found.get(selected).map(|text| (*text).to_owned());
        if let Some(text) = found {
            state.composer.history.push(&before);
            state.composer.put(&text);
        }
        return;
    }
    if control_r {
        selected = (selected + 1).min(count.saturating_sub(1));
    } else if let Some(to) = moved(selected, count, chord) {
        selected = to;
    } else if query.key(chord) {
        selected = 0;
    }
    state.surface.popup = Some(Popup::Search { query, selected, before });
}
