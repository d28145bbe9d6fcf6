//! The prompts of the active branch, to fork before one of them.
//!
//! Each is known by its entry, so cells of the conversation that are no messages cannot shift it.

use ratatui::Frame;
use ratatui::text::{Line, Span};

use crate::harness::{Command, ForkPoint};
use crate::message::EntryId;
use crate::session::{Role, TreeView};
use crate::text::age::age;
use crate::text::sanitize::one_line;
use crate::text::width::swidth;
use crate::ui::action::{Asked, Effect};
use crate::ui::chord::{Chord, Key};
use crate::ui::popup::Popup;
use crate::ui::popups;
use crate::ui::state::State;
use crate::ui::view::row;

/// Prompts that are offered; older ones are reached through the tree.
const PROMPTS: usize = 1_000;

/// A prompt of the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    pub id: EntryId,
    /// Its first words; not cleaned for a terminal.
    pub words: String,
    /// Unix milliseconds.
    pub time_ms: i64,
}

/// The prompts on the way to the leaf, oldest first.
pub fn prompts(tree: &TreeView) -> Vec<Prompt> {
    let index = tree.index();
    let mut prompts: Vec<Prompt> = Vec::new();
    let mut next = tree.leaf;
    while let Some(node) = next.and_then(|at| index.node(at)) {
        if node.role == Some(Role::User) {
            let (id, words) = (node.id.clone(), node.preview.to_string());
            prompts.push(Prompt { id, words, time_ms: node.time_ms });
            if prompts.len() >= PROMPTS {
                break;
            }
        }
        next = node.parent;
    }
    prompts.reverse();
    prompts
}

/// Opens the list, the newest prompt selected.
pub(super) fn open(state: &mut State) {
    let prompts = state.tree.as_ref().map(prompts).unwrap_or_default();
    if prompts.is_empty() {
        state.tell("no prompt on this branch to fork before");
        return;
    }
    let selected = prompts.len() - 1;
    state.surface.popup = Some(Popup::Forks { prompts, selected });
}

/// A key while the list is open.
pub(super) fn key(state: &mut State, chord: Chord) -> Vec<Effect> {
    let Some(Popup::Forks { prompts, selected }) = &mut state.surface.popup else {
        return Vec::new();
    };
    let last = prompts.len().saturating_sub(1);
    match chord.key {
        Key::Up | Key::Char('k') => *selected = selected.saturating_sub(1),
        Key::Down | Key::Char('j') => *selected = (*selected + 1).min(last),
        Key::PageUp => *selected = selected.saturating_sub(10),
        Key::PageDown => *selected = (*selected + 10).min(last),
        Key::Home | Key::Char('g') => *selected = 0,
        Key::End | Key::Char('G') => *selected = last,
        Key::Enter => {
            let Some(prompt) = prompts.get(*selected) else { return Vec::new() };
            let at = ForkPoint::Before(prompt.id.clone());
            // Gone before the answer, so a second enter forks nothing.
            state.surface.popup = None;
            return vec![Effect::Send(Command::Fork { at }, Asked::Fork)];
        }
        _ => {}
    }
    Vec::new()
}

/// Paints the list.
pub(super) fn paint(state: &State, prompts: &[Prompt], selected: usize, frame: &mut Frame<'_>) {
    const COLUMNS: u16 = 90;
    let theme = &state.look.theme;
    let screen = frame.area();
    let wanted = u16::try_from(prompts.len()).unwrap_or(u16::MAX).saturating_add(2);
    let most = screen.height.saturating_sub(4).clamp(5, 24);
    let area = popups::centred(frame, COLUMNS, wanted.min(most));
    let inner = popups::open(
        state,
        frame,
        area,
        "fork before a prompt of yours",
        "enter · up · down · esc",
    );
    let height = usize::from(inner.height).max(1);
    let top = (selected + 1).saturating_sub(height);
    for (offset, (at, prompt)) in (0..inner.height).zip(prompts.iter().enumerate().skip(top)) {
        let right =
            format!(" {} of {} {:>4}", at + 1, prompts.len(), age(state.now, prompt.time_ms));
        let mark = if at == selected { "> " } else { "  " };
        let room = usize::from(inner.width).saturating_sub(swidth(&right) + 2);
        let words = one_line(&prompt.words, room);
        let gap = " ".repeat(room.saturating_sub(swidth(&words)));
        let style = if at == selected { theme.selection } else { theme.text };
        let line = Line::from(vec![
            Span::styled(format!("{mark}{words}{gap}"), style),
            Span::styled(right, theme.muted),
        ]);
        row(frame, inner, offset, line);
    }
}
