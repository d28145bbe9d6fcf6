//! The keys of the tree pane. What they act on is always the entry of the row that is shown as
//! selected.

use crate::harness::{Command, ForkPoint};
use crate::message::EntryId;
use crate::ui::action::{Asked as Sent, Effect};
use crate::ui::chord::{Chord, Key};
use crate::ui::keymap::Place;
use crate::ui::line_input::LineInput;
use crate::ui::popup::Popup;
use crate::ui::state::{Focus, State, Tab};
use crate::ui::tree::ask::{How, Then, Wish};
use crate::ui::tree::rows::Row;
use crate::ui::tree::{Ask, Filter, Job, TreeKey};
use crate::ui::update::{keys, tree_ask};

/// How long the first esc of "again opens the tree" counts: a later one is a new first.
const AGAIN_MS: i64 = 1_500;

/// Shows the tree and gives it the keys; from inside it hides it.
pub(super) fn toggle(state: &mut State) {
    if state.surface.focus == Focus::Tree {
        state.surface.tree.open = false;
        leave(state);
    } else {
        show(state);
    }
}

/// Shows the tree with the leaf selected.
pub(super) fn show(state: &mut State) {
    state.surface.focus = Focus::Tree;
    if state.size.0 < crate::ui::layout::MEDIUM {
        state.surface.tab = Tab::Tree;
    }
    state.surface.tree.show(state.tree.as_ref());
}

fn leave(state: &mut State) {
    (state.surface.focus, state.surface.tab) = (Focus::Composer, Tab::Conversation);
}

/// Esc in the tree: ends the search, else stops a summary, else leaves.
pub(super) fn escape(state: &mut State) -> Vec<Effect> {
    use crate::harness::Phase;
    let pane = &mut state.surface.tree;
    if pane.search.typing || pane.search.matches().is_some() {
        pane.end_search();
    } else if matches!(state.work.phase, Phase::Compaction | Phase::BranchSummary) {
        return keys::abort(state);
    } else {
        leave(state);
    }
    Vec::new()
}

/// Esc in an empty composer while nothing runs: the second one in time opens the tree.
pub(super) fn arm(state: &mut State) {
    let until = &mut state.surface.tree.armed_until;
    if until.is_some_and(|until| state.now < until) {
        *until = None;
        show(state);
    } else {
        *until = Some(state.now.saturating_add(AGAIN_MS));
    }
}

/// A key while the tree has the focus.
pub(super) fn key(state: &mut State, chord: Chord) -> Vec<Effect> {
    if state.surface.tree.search.typing {
        return typing(state, chord);
    }
    let found = state.keymap.find(Place::Tree, chord);
    let found = found.or_else(|| state.keymap.find(Place::Everywhere, chord));
    found.map_or_else(Vec::new, |id| keys::perform(state, id))
}

/// A key of the query. Moves are moves; everything else that is text is text.
fn typing(state: &mut State, chord: Chord) -> Vec<Effect> {
    let control_c = chord.key == Key::Char('c') && chord.ctrl;
    if control_c {
        state.surface.tree.end_search();
        return Vec::new();
    }
    match chord.key {
        Key::Enter => {
            let pane = &mut state.surface.tree;
            pane.search.typing = false;
            // What is shown as selected stays so when the search ends.
            if let Some(row) = pane.selected_row() {
                pane.go_to_row(row);
            }
        }
        Key::Up => state.surface.tree.step(-1),
        Key::Down => state.surface.tree.step(1),
        Key::PageUp => state.surface.tree.page(-1),
        Key::PageDown => state.surface.tree.page(1),
        _ if state.surface.tree.search.input.key(chord) => searched(state),
        _ => {
            let found = state.keymap.find(Place::Everywhere, chord);
            return found.map_or_else(Vec::new, |id| keys::perform(state, id));
        }
    }
    Vec::new()
}

fn searched(state: &mut State) {
    if let Some(view) = &state.tree {
        state.surface.tree.searched(view);
    }
}

/// A paste while the tree has the focus goes into the query; `false` when none is written.
pub(super) fn paste(state: &mut State, text: &str) -> bool {
    let typing = state.surface.focus == Focus::Tree && state.surface.tree.search.typing;
    if typing {
        state.surface.tree.search.input.insert(text);
        searched(state);
    }
    typing
}

/// Does what a key of the tree does.
pub(super) fn perform(state: &mut State, key: TreeKey) -> Vec<Effect> {
    let pane = &mut state.surface.tree;
    match key {
        TreeKey::Up => pane.step(-1),
        TreeKey::Down => pane.step(1),
        TreeKey::First => pane.first(),
        TreeKey::Last => pane.last(),
        TreeKey::PageUp => pane.page(-1),
        TreeKey::PageDown => pane.page(1),
        TreeKey::Left => pane.left(),
        TreeKey::Right => pane.right(),
        TreeKey::Fold => pane.toggle_fold(),
        TreeKey::Default => pane.choose(Filter::Default),
        TreeKey::NoTools => pane.choose(Filter::NoTools),
        TreeKey::User => pane.choose(Filter::User),
        TreeKey::Labelled => pane.choose(Filter::Labelled),
        TreeKey::All => pane.choose(Filter::All),
        TreeKey::Search => pane.search.typing = true,
        TreeKey::Times => return times(state),
        _ => {
            let Some((row, id)) = selected(state) else {
                state.tell("nothing is selected");
                return Vec::new();
            };
            return act(state, key, row, id);
        }
    }
    Vec::new()
}

/// The selected row and the entry it stands for.
fn selected(state: &State) -> Option<(Row, EntryId)> {
    let row = *state.surface.tree.selected()?;
    let node = state.tree.as_ref()?.index().node(row.last)?;
    Some((row, node.id.clone()))
}

fn act(state: &mut State, key: TreeKey, row: Row, id: EntryId) -> Vec<Effect> {
    let pane = &state.surface.tree;
    let (here, active) = (pane.is_here(&row), pane.entries().on_path(row.last));
    let user = pane.entries().class(row.last).is_user();
    let go = Wish::Go { target: id.clone(), edit: false };
    match key {
        TreeKey::Go | TreeKey::Summarise | TreeKey::Instruct if here => {
            state.tell("already here");
        }
        TreeKey::Go => return tree_ask::start(state, go, Then::Choose),
        TreeKey::Summarise => return tree_ask::start(state, go, Then::Do(How::Model)),
        TreeKey::Instruct => return tree_ask::start(state, go, Then::Instruct),
        TreeKey::Edit if !user => state.tell("only a message of yours can be edited"),
        TreeKey::Edit if !state.composer.is_empty() => {
            state.tell("your draft stays: send it or stash it (ctrl+s), then edit");
        }
        TreeKey::Edit => {
            let wish = Wish::Go { target: id, edit: true };
            return tree_ask::start(state, wish, Then::Do(How::Nothing));
        }
        TreeKey::Fork => {
            let at = if user { ForkPoint::Before(id) } else { ForkPoint::At(id) };
            return vec![Effect::Send(Command::Fork { at }, Sent::Fork)];
        }
        TreeKey::Merge if active => {
            state.tell("this is on the active branch; choose a node of another one");
        }
        TreeKey::Merge => {
            return tree_ask::start(state, Wish::Merge { from: id }, Then::Choose);
        }
        TreeKey::Label => {
            let label = pane.entries().label(row.last).map_or("", |label| label);
            let input = LineInput::new(label);
            state.surface.popup = Some(Popup::Tree(Ask::Label { target: id, input }));
        }
        TreeKey::Copy => return vec![Effect::Read(Job::Copy(row.last))],
        TreeKey::Compare => return compare(state, &row),
        TreeKey::Compact if !active => {
            state.tell("only the active branch can be compacted; go there first");
        }
        TreeKey::Compact if state.busy() => state.tell("a turn runs; esc stops it"),
        TreeKey::Compact => {
            let command = Command::DraftCompaction { instructions: None, up_to: Some(id) };
            return vec![Effect::Send(command, Sent::Change("compaction"))];
        }
        _ => {}
    }
    Vec::new()
}

/// The first press marks; the second on the same node compares it with the leaf, on another the two.
fn compare(state: &mut State, row: &Row) -> Vec<Effect> {
    let pane = &mut state.surface.tree;
    let leaf = pane.entries().here();
    let (left, right) = match pane.mark.take() {
        None => {
            pane.mark = Some(row.last);
            state.tell("marked: d again compares with the leaf, d on another the two");
            return Vec::new();
        }
        Some(marked) if marked == row.last => (marked, leaf.unwrap_or(marked)),
        Some(marked) => (marked, row.last),
    };
    if left == right {
        state.tell("this is the leaf itself; mark it, then press d on another node");
        return Vec::new();
    }
    vec![Effect::Read(Job::Compare(left, right))]
}

fn times(state: &mut State) -> Vec<Effect> {
    let times = &mut state.surface.tree.times;
    *times = if times.is_some() { None } else { Some(std::collections::HashMap::new()) };
    let wanted = times.is_some();
    wanted.then_some(Effect::Read(Job::LabelTimes(state.now))).into_iter().collect()
}

/// A click at a row of the list selects what stands there; on the selected row it opens a fold.
pub(super) fn click(state: &mut State, column: u16, row: u16) {
    state.surface.focus = Focus::Tree;
    let pane = &mut state.surface.tree;
    let list = pane.parts.list;
    if !list.contains(ratatui::layout::Position::new(column, row)) {
        return;
    }
    let at = pane.top() + usize::from(row - list.y);
    if pane.selected_row() == Some(at) {
        pane.toggle_fold();
    } else if at < pane.rows().len() {
        pane.go_to_row(at);
    }
}
