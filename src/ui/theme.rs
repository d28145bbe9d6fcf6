//! Every style on screen by its role, so that a theme is a table and no pane knows a colour.
//!
//! Built on the terminal's own 16 colours and its own background, so text stays readable on any
//! palette; the light theme takes two dark indexed colours where the usual palettes are too pale.
//! Colour is never the only sign: every role that carries meaning has a mark or a word beside it.

use std::hash::{DefaultHasher, Hash, Hasher};

use ratatui::style::{Color, Modifier, Style};

/// A table of styles. Two equal themes paint equally.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Theme {
    pub name: &'static str,
    /// Marks from ASCII only, for poor fonts.
    pub ascii: bool,
    pub text: Style,
    pub muted: Style,
    pub accent: Style,
    pub good: Style,
    pub bad: Style,
    pub warn: Style,
    pub heading: Style,
    pub link: Style,
    pub quote: Style,
    /// Code in a line of prose.
    pub code: Style,
    /// The bar beside what the person said.
    pub user: Style,
    pub selection: Style,
    pub border: Style,
    pub border_focused: Style,
    pub status: Style,
    pub banner: Style,
    pub diff: DiffStyles,
    pub syntax: SyntaxStyles,
}

/// The styles of a diff.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DiffStyles {
    pub added: Style,
    pub removed: Style,
    /// The part of a changed line that differs.
    pub added_part: Style,
    pub removed_part: Style,
    pub context: Style,
    pub number: Style,
}

/// The kinds of code that have a style.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Syntax {
    Plain,
    Comment,
    Keyword,
    Text,
    Number,
    Function,
    Type,
    Constant,
    Punctuation,
}

/// The styles of code.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SyntaxStyles {
    pub comment: Style,
    pub keyword: Style,
    pub string: Style,
    pub number: Style,
    pub function: Style,
    pub r#type: Style,
    pub constant: Style,
    pub punctuation: Style,
}

/// The signs that carry state, in two alphabets.
#[derive(Debug, PartialEq, Eq)]
pub struct Marks {
    pub user: &'static str,
    pub folded: &'static str,
    pub open: &'static str,
    pub running: &'static str,
    pub held: &'static str,
    pub failed: &'static str,
    pub notice: &'static str,
    pub bullets: [&'static str; 3],
    pub done: &'static str,
    pub todo: &'static str,
    pub quote: &'static str,
    pub rule: &'static str,
    pub column: &'static str,
    pub cross: &'static str,
    pub minus: &'static str,
    pub dot: &'static str,
    pub ellipsis: &'static str,
}

const UNICODE: Marks = Marks {
    user: "▌",
    folded: "▸",
    open: "▾",
    running: "▶",
    held: "‖",
    failed: "✘",
    notice: "·",
    bullets: ["•", "◦", "▪"],
    done: "☑",
    todo: "☐",
    quote: "▎",
    rule: "─",
    column: "│",
    cross: "┼",
    minus: "−",
    dot: "·",
    ellipsis: "…",
};

const ASCII: Marks = Marks {
    user: "|",
    folded: "+",
    open: "-",
    running: ">",
    held: "=",
    failed: "x",
    notice: "*",
    bullets: ["*", "-", "+"],
    done: "[x]",
    todo: "[ ]",
    quote: "|",
    rule: "-",
    column: "|",
    cross: "+",
    minus: "-",
    dot: "-",
    ellipsis: "...",
};

impl Default for Theme {
    fn default() -> Self {
        Self::dark()
    }
}

impl Theme {
    pub const NAMES: [&'static str; 3] = ["dark", "light", "high-contrast"];

    /// The built-in theme of that name; an unknown name is `dark`.
    pub fn named(name: &str) -> Self {
        match name {
            "light" => Self::light(),
            "high-contrast" => Self::high_contrast(),
            _ => Self::dark(),
        }
    }

    fn dark() -> Self {
        let palette = Palette {
            muted: Style::new().add_modifier(Modifier::DIM),
            accent: Color::Cyan,
            good: Color::Green,
            bad: Color::Red,
            warn: Color::Yellow,
            keyword: Color::Magenta,
            name: Color::Blue,
        };
        palette.theme("dark")
    }

    fn light() -> Self {
        let palette = Palette {
            muted: Style::new().add_modifier(Modifier::DIM),
            accent: Color::Blue,
            // 005f00 and 875f00: 7.9 and 5.6 to 1 on white, where ANSI green and yellow have 2.
            good: Color::Indexed(22),
            bad: Color::Red,
            warn: Color::Indexed(94),
            keyword: Color::Magenta,
            name: Color::Blue,
        };
        palette.theme("light")
    }

    fn high_contrast() -> Self {
        let palette = Palette {
            muted: Style::new(),
            accent: Color::LightCyan,
            good: Color::LightGreen,
            bad: Color::LightRed,
            warn: Color::LightYellow,
            keyword: Color::LightMagenta,
            name: Color::LightBlue,
        };
        let mut theme = palette.theme("high-contrast");
        theme.border = Style::new();
        theme.user = theme.user.add_modifier(Modifier::BOLD);
        theme
    }

    /// The same theme without any colour, for `NO_COLOR`: modifiers and marks remain.
    #[must_use]
    pub fn without_color(mut self) -> Self {
        for style in self.styles_mut() {
            style.fg = None;
            style.bg = None;
            style.underline_color = None;
        }
        self.selection = Style::new().add_modifier(Modifier::REVERSED);
        self.diff.added_part = Style::new().add_modifier(Modifier::BOLD | Modifier::UNDERLINED);
        self.diff.removed_part = self.diff.added_part;
        self
    }

    #[must_use]
    pub fn with_ascii(mut self, ascii: bool) -> Self {
        self.ascii = ascii;
        self
    }

    pub fn marks(&self) -> &'static Marks {
        if self.ascii { &ASCII } else { &UNICODE }
    }

    /// The style of a kind of code.
    pub fn syntax(&self, kind: Syntax) -> Style {
        let styles = &self.syntax;
        match kind {
            Syntax::Plain => self.text,
            Syntax::Comment => styles.comment,
            Syntax::Keyword => styles.keyword,
            Syntax::Text => styles.string,
            Syntax::Number => styles.number,
            Syntax::Function => styles.function,
            Syntax::Type => styles.r#type,
            Syntax::Constant => styles.constant,
            Syntax::Punctuation => styles.punctuation,
        }
    }

    /// Equal for equal themes; laid-out rows are kept by it.
    pub fn key(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }

    /// Whether text may be coloured at all; tool output follows it.
    pub fn has_color(&self) -> bool {
        self.bad.fg.is_some()
    }

    fn styles_mut(&mut self) -> [&mut Style; 30] {
        let (diff, syntax) = (&mut self.diff, &mut self.syntax);
        [
            &mut self.text,
            &mut self.muted,
            &mut self.accent,
            &mut self.good,
            &mut self.bad,
            &mut self.warn,
            &mut self.heading,
            &mut self.link,
            &mut self.quote,
            &mut self.code,
            &mut self.user,
            &mut self.selection,
            &mut self.border,
            &mut self.border_focused,
            &mut self.status,
            &mut self.banner,
            &mut diff.added,
            &mut diff.removed,
            &mut diff.added_part,
            &mut diff.removed_part,
            &mut diff.context,
            &mut diff.number,
            &mut syntax.comment,
            &mut syntax.keyword,
            &mut syntax.string,
            &mut syntax.number,
            &mut syntax.function,
            &mut syntax.r#type,
            &mut syntax.constant,
            &mut syntax.punctuation,
        ]
    }
}

/// The few choices from which a theme follows.
struct Palette {
    muted: Style,
    accent: Color,
    good: Color,
    bad: Color,
    warn: Color,
    keyword: Color,
    name: Color,
}

impl Palette {
    fn theme(&self, name: &'static str) -> Theme {
        let of = |color: Color| Style::new().fg(color);
        Theme {
            name,
            ascii: false,
            text: Style::new(),
            muted: self.muted,
            accent: of(self.accent),
            good: of(self.good),
            bad: of(self.bad),
            warn: of(self.warn),
            heading: of(self.accent).add_modifier(Modifier::BOLD),
            link: of(self.name).add_modifier(Modifier::UNDERLINED),
            quote: self.muted.add_modifier(Modifier::ITALIC),
            code: of(self.accent),
            user: of(self.accent),
            selection: Style::new().add_modifier(Modifier::REVERSED),
            border: self.muted,
            border_focused: of(self.accent).add_modifier(Modifier::BOLD),
            status: Style::new(),
            banner: of(self.warn).add_modifier(Modifier::BOLD),
            diff: DiffStyles {
                added: of(self.good),
                removed: of(self.bad),
                added_part: of(self.good).add_modifier(Modifier::REVERSED),
                removed_part: of(self.bad).add_modifier(Modifier::REVERSED),
                context: Style::new(),
                number: self.muted,
            },
            syntax: SyntaxStyles {
                comment: self.muted.add_modifier(Modifier::ITALIC),
                keyword: of(self.keyword),
                string: of(self.good),
                number: of(self.warn),
                function: of(self.name),
                r#type: of(self.accent),
                constant: of(self.warn),
                punctuation: Style::new(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_color_no_style_has_one() {
        for name in Theme::NAMES {
            let mut theme = Theme::named(name).without_color();
            assert_eq!(theme.name, name);
            assert!(!theme.has_color());
            for style in theme.styles_mut() {
                assert_eq!((style.fg, style.bg), (None, None));
            }
        }
    }

    #[test]
    fn a_theme_has_its_own_key() {
        let keys: std::collections::HashSet<u64> =
            Theme::NAMES.iter().map(|name| Theme::named(name).key()).collect();
        assert_eq!(keys.len(), 3);
        assert_ne!(Theme::default().key(), Theme::default().with_ascii(true).key());
    }

    #[test]
    fn ascii_marks_are_ascii() {
        let text = format!("{:?}", Theme::default().with_ascii(true).marks());
        assert!(text.is_ascii(), "{text}");
    }
}
