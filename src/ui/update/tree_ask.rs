//! The questions of the tree, what is sent once they are answered, and what came of it.
//!
//! Nothing moves while a turn runs: it is stopped first, and the command waits until the engine says
//! that it is idle.

use crate::harness::{Command, HarnessError, Reply, Summary};
use crate::session::TreeView;
use crate::ui::action::{Asked as Sent, Effect};
use crate::ui::chord::{Chord, Key};
use crate::ui::line_input::LineInput;
use crate::ui::popup::Popup;
use crate::ui::state::{Focus, State, Tab};
use crate::ui::tree::ask::{Asked, How, Then, Wish, Words};
use crate::ui::tree::{Ask, Done, Job};
use crate::ui::update::{keys, overlay};

/// Begins: asks to stop a running turn, else asks how.
pub(super) fn start(state: &mut State, wish: Wish, then: Then) -> Vec<Effect> {
    if state.busy() {
        open(state, Ask::Stop { wish, then });
        return Vec::new();
    }
    proceed(state, wish, then)
}

fn open(state: &mut State, ask: Ask) {
    state.surface.popup = Some(Popup::Tree(ask));
}

fn proceed(state: &mut State, wish: Wish, then: Then) -> Vec<Effect> {
    match then {
        Then::Choose => open(state, Ask::How { wish, selected: 0 }),
        Then::Instruct => return decide(state, wish, How::Instructed),
        Then::Do(how) => return decide(state, wish, how),
    }
    Vec::new()
}

fn decide(state: &mut State, wish: Wish, how: How) -> Vec<Effect> {
    let what = match how {
        How::Nothing => return send(state, wish, Summary::None),
        How::Model => {
            let summary = Summary::Generated { instructions: None, replace: false };
            return send(state, wish, summary);
        }
        How::Instructed => Words::Instructions,
        How::Own => Words::Summary,
    };
    open(state, Ask::Words { wish, what, input: LineInput::default() });
    Vec::new()
}

fn send(state: &mut State, wish: Wish, summary: Summary) -> Vec<Effect> {
    let asked = match &wish {
        Wish::Go { edit, .. } => Asked::Go { edit: *edit },
        Wish::Merge { .. } => Asked::Merge,
    };
    let command = wish.command(summary);
    if state.busy() {
        state.surface.tree.under_way.pending = Some((command, asked));
        state.tell("goes on as soon as the turn has stopped");
        return Vec::new();
    }
    vec![Effect::Send(command, Sent::Tree(asked))]
}

/// The engine is idle: what waited for that is sent.
pub(super) fn settled(state: &mut State) -> Option<Effect> {
    let (command, asked) = state.surface.tree.under_way.pending.take()?;
    Some(Effect::Send(command, Sent::Tree(asked)))
}

/// The tree is this one now; of another session when `other`.
pub(super) fn joined(state: &mut State, tree: TreeView, other: bool) {
    if other {
        state.surface.tree.forget();
        if state.surface.focus == Focus::Tree {
            (state.surface.focus, state.surface.tab) = (Focus::Composer, Tab::Conversation);
        }
    }
    state.surface.tree.take(&tree);
    state.tree = Some(tree);
}

/// A key while a question is open; esc was taken before.
pub(super) fn key(state: &mut State, ask: Ask, chord: Chord) -> Vec<Effect> {
    match ask {
        Ask::How { wish, selected } => return choose(state, wish, selected, chord),
        Ask::Words { wish, what, mut input } => {
            let text = input.text().trim().to_owned();
            if chord.key == Key::Enter && !text.is_empty() {
                return send(state, wish, what.summary(text));
            }
            input.key(chord);
            open(state, Ask::Words { wish, what, input });
        }
        Ask::Stop { wish, then } => match chord.typed() {
            Some('y') => {
                let mut effects = if state.busy() { keys::abort(state) } else { Vec::new() };
                effects.extend(proceed(state, wish, then));
                return effects;
            }
            Some('n') => {}
            _ => open(state, Ask::Stop { wish, then }),
        },
        Ask::Label { target, mut input } => {
            if chord.key == Key::Enter {
                let label = Some(input.text().trim().to_owned()).filter(|text| !text.is_empty());
                let command = Command::SetLabel { target, label };
                return vec![Effect::Send(command, Sent::Tree(Asked::Label))];
            }
            input.key(chord);
            open(state, Ask::Label { target, input });
        }
        Ask::Compare { top, side } => compare(state, top, side, chord),
    }
    Vec::new()
}

fn choose(state: &mut State, wish: Wish, selected: usize, chord: Chord) -> Vec<Effect> {
    let choices = wish.choices();
    let last = choices.len().saturating_sub(1);
    let digit = chord.typed().and_then(|c| c.to_digit(10)).map(|digit| digit as usize);
    let chosen = match (chord.key, digit) {
        (Key::Enter, _) => choices.get(selected),
        (_, Some(digit)) => digit.checked_sub(1).and_then(|at| choices.get(at)),
        _ => None,
    };
    if let Some(how) = chosen {
        return decide(state, wish, *how);
    }
    let selected = match chord.key {
        Key::Up | Key::Char('k') => selected.saturating_sub(1),
        Key::Down | Key::Char('j') => (selected + 1).min(last),
        _ => selected,
    };
    open(state, Ask::How { wish, selected });
    Vec::new()
}

fn compare(state: &mut State, top: usize, side: usize, chord: Chord) {
    let page = usize::from(state.size.1).saturating_sub(6).max(1);
    let last = crate::ui::panes::compare::rows(state, state.size.0).saturating_sub(1);
    let side = if chord.key == Key::Tab { 1 - side.min(1) } else { side };
    open(state, Ask::Compare { top: overlay::read_on(top, page, last, chord), side });
}

/// A paste goes into the question's field, if it has one.
pub(super) fn paste(ask: &mut Ask, text: &str) {
    if let Ask::Words { input, .. } | Ask::Label { input, .. } = ask {
        input.insert(text);
    }
}

/// A command of the tree was answered.
pub(super) fn answered(
    state: &mut State,
    asked: Asked,
    answer: Result<Reply, HarnessError>,
) -> Vec<Effect> {
    let reply = match answer {
        Ok(reply) => reply,
        Err(error) => {
            refused(state, &asked, &error);
            return Vec::new();
        }
    };
    match (asked, reply) {
        (Asked::Go { edit }, Reply::Navigated { editor_text, .. }) => {
            arrived(state, edit, editor_text.as_deref());
        }
        (Asked::Merge, _) => {
            follow(state);
            state.tell("brought here as a branch summary");
        }
        (Asked::Label, _) if state.surface.tree.times.is_some() => {
            return vec![Effect::Read(Job::LabelTimes(state.now))];
        }
        _ => {}
    }
    Vec::new()
}

fn refused(state: &mut State, asked: &Asked, error: &HarnessError) {
    let what = match asked {
        Asked::Go { .. } => "going there",
        Asked::Merge => "bringing the branch here",
        Asked::Label => "the label",
    };
    state.tell(format!("{what}: {error}"));
}

/// The selection goes to the leaf and stays there as it moves on.
fn follow(state: &mut State) {
    if let Some(leaf) = state.surface.tree.entries().leaf() {
        state.surface.tree.select(leaf);
    }
}

/// The leaf was moved. A text already written is neither lost nor mixed with the old message.
fn arrived(state: &mut State, edit: bool, text: Option<&str>) {
    follow(state);
    (state.surface.focus, state.surface.tab) = (Focus::Composer, Tab::Conversation);
    match text {
        Some(text) if state.composer.is_empty() => {
            state.composer.put(text);
            state.tell("the message is in the composer; sending it begins a new branch");
        }
        Some(_) => state.tell("moved; your draft stays, so the old message was not put in"),
        None if edit => state.tell("moved, but the message has no text to edit"),
        None => state.tell("moved there"),
    }
}

/// Something that the pane wanted was read.
pub(super) fn read(state: &mut State, done: Done) -> Vec<Effect> {
    let pane = &mut state.surface.tree;
    match done {
        Done::Preview(position, text) => pane.read(position, &text),
        Done::Found(found) => pane.found(&found),
        Done::Gathered(gathered) => pane.search.gathered(gathered),
        Done::Copy(text) if text.is_empty() => state.tell("this entry has no text"),
        Done::Copy(text) => return vec![Effect::Copy(text)],
        Done::Compared(comparison) => {
            pane.under_way.comparison = Some(comparison);
            open(state, Ask::Compare { top: 0, side: 0 });
        }
        Done::LabelTimes(times) => {
            if let Some(view) = &state.tree {
                pane.timed(view, &times);
            }
        }
        Done::Failed(error) => state.tell(format!("reading the session: {error}")),
    }
    Vec::new()
}
