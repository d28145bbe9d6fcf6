//! The conversation: the transcript's rows, a mark when there is more below, and the greeting of an
//! empty session.

use ratatui::Frame;
use ratatui::text::Line;

use crate::ui::state::{Focus, State};
use crate::ui::view::{framed, row};

/// Paints the pane.
pub(crate) fn paint(state: &State, frame: &mut Frame<'_>) {
    let areas = &state.areas;
    let theme = &state.look.theme;
    if areas.conversation.width == 0 || areas.conversation.height == 0 {
        return;
    }
    if areas.transcript.height < areas.conversation.height {
        let focused = state.surface.focus == Focus::Composer;
        let style = if focused { theme.border_focused } else { theme.border };
        framed(state, frame, areas.conversation, ("Conversation", ""), style);
    }
    let mut lines = if state.greets() { welcome(state) } else { Vec::new() };
    lines.extend(state.transcript.visible().iter().cloned());
    for (offset, line) in (0..).zip(lines) {
        row(frame, areas.transcript, offset, line);
    }
    if state.transcript.new_below() && areas.conversation.height > 0 {
        let mark = if state.look.ascii { "v new below " } else { "↓ new below " };
        let line = Line::styled(mark, theme.accent).right_aligned();
        row(frame, areas.conversation, areas.conversation.height - 1, line);
    }
}

fn welcome(state: &State) -> Vec<Line<'static>> {
    let theme = &state.look.theme;
    let demo = state.session.is_demo();
    let mut lines = vec![Line::styled("Welcome to harness-tui.", theme.accent), Line::default()];
    if demo {
        lines.push(Line::styled(
            "No model is set up: the offline demo answers a few plain requests.",
            theme.warn,
        ));
        lines.push(Line::styled("/model provider/id changes to a real one.", theme.muted));
        lines.push(Line::default());
    }
    lines.push(Line::styled("Try one of these:", theme.text));
    for example in ["read Cargo.toml", "find TODO", "run cargo --version"] {
        lines.push(Line::styled(format!("  {example}"), theme.text));
    }
    lines.push(Line::default());
    lines.push(Line::styled("? shows every key, ctrl+x a menu, / the commands.", theme.muted));
    lines.push(Line::default());
    lines
}
