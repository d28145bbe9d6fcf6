//! Stand-in until the real themes are merged.

use ratatui::style::{Color, Modifier, Style};

/// Named roles.
#[derive(Debug, Clone, PartialEq)]
pub struct Theme {
    pub ascii: bool,
    pub text: Style,
    pub muted: Style,
    pub accent: Style,
    pub good: Style,
    pub bad: Style,
    pub warn: Style,
    pub selection: Style,
    pub border: Style,
    pub border_focused: Style,
    pub status: Style,
}

impl Theme {
    pub fn named(_name: &str) -> Self {
        let plain = Style::new();
        Self {
            ascii: false,
            text: plain,
            muted: plain.add_modifier(Modifier::DIM),
            accent: plain.fg(Color::Cyan),
            good: plain.fg(Color::Green),
            bad: plain.fg(Color::Red),
            warn: plain.fg(Color::Yellow),
            selection: plain.add_modifier(Modifier::REVERSED),
            border: plain.add_modifier(Modifier::DIM),
            border_focused: plain.fg(Color::Cyan),
            status: plain.add_modifier(Modifier::DIM),
        }
    }
}
