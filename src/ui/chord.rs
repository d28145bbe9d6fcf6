//! One key press as the key map knows it: terminals spell the same key in several ways, and this is
//! where the spellings meet, so that the table needs one row a key.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// A key without its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Key {
    /// The character itself; an upper-case letter stands for shift and the letter.
    Char(char),
    Enter,
    Tab,
    Backspace,
    Delete,
    Esc,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
    F(u8),
}

/// A key with its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Chord {
    pub key: Key,
    pub ctrl: bool,
    pub alt: bool,
    pub shift: bool,
}

const NAMED: [(&str, Key); 14] = [
    ("enter", Key::Enter),
    ("tab", Key::Tab),
    ("backspace", Key::Backspace),
    ("delete", Key::Delete),
    ("esc", Key::Esc),
    ("up", Key::Up),
    ("down", Key::Down),
    ("left", Key::Left),
    ("right", Key::Right),
    ("home", Key::Home),
    ("end", Key::End),
    ("pgup", Key::PageUp),
    ("pgdn", Key::PageDown),
    ("space", Key::Char(' ')),
];

impl Chord {
    /// A key without modifiers.
    pub const fn plain(key: Key) -> Self {
        Self { key, ctrl: false, alt: false, shift: false }
    }

    /// What a terminal event means. `None` for releases and for keys that have no meaning here.
    ///
    /// `ctrl+h` is Backspace everywhere (many terminals send one byte for both), and the bytes 0x1c,
    /// 0x1d and 0x1f, which arrive as digits, are the punctuation they stand for.
    pub fn of_event(event: &KeyEvent) -> Option<Self> {
        if event.kind == KeyEventKind::Release {
            return None;
        }
        let has = |modifier| event.modifiers.contains(modifier);
        let unsupported = KeyModifiers::SUPER | KeyModifiers::HYPER | KeyModifiers::META;
        if event.modifiers.intersects(unsupported) {
            return None;
        }
        let (ctrl, alt, shift) =
            (has(KeyModifiers::CONTROL), has(KeyModifiers::ALT), has(KeyModifiers::SHIFT));
        let chord = Self { key: key_of(event.code)?, ctrl, alt, shift };
        Some(match event.code {
            KeyCode::BackTab => Self { shift: true, ..chord },
            KeyCode::Null => Self { ctrl: true, ..chord },
            KeyCode::Char(c) => chord.with_char(c),
            _ => chord,
        })
    }

    fn with_char(self, c: char) -> Self {
        if self.ctrl {
            let c = c.to_ascii_lowercase();
            return match c {
                'h' => Self { key: Key::Backspace, ctrl: false, ..self },
                '[' => Self { key: Key::Esc, ctrl: false, ..self },
                '4' => Self { key: Key::Char('\\'), ..self },
                '5' => Self { key: Key::Char(']'), ..self },
                '7' => Self { key: Key::Char('_'), ..self },
                _ => Self { key: Key::Char(c), ..self },
            };
        }
        let c = if self.shift && c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c };
        Self { key: Key::Char(c), shift: false, ..self }
    }

    /// The character this press types, if it types one.
    pub fn typed(self) -> Option<char> {
        match self.key {
            Key::Char(c) if !self.ctrl && !self.alt && !c.is_control() => Some(c),
            _ => None,
        }
    }

    /// Reads the spelling of help and configuration: `ctrl+x`, `alt+enter`, `shift+tab`, `Z`, `f1`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut rest = text;
        let mut chord = Self::plain(Key::Esc);
        loop {
            let (flag, tail) = if let Some(tail) = rest.strip_prefix("ctrl+") {
                (&mut chord.ctrl, tail)
            } else if let Some(tail) = rest.strip_prefix("alt+") {
                (&mut chord.alt, tail)
            } else if let Some(tail) = rest.strip_prefix("shift+") {
                (&mut chord.shift, tail)
            } else {
                break;
            };
            *flag = true;
            rest = tail;
        }
        chord.key = named(rest)?;
        Some(match chord.key {
            Key::Char(c) => chord.with_char(c),
            _ => chord,
        })
    }

    /// The spelling of help and configuration; [`Chord::parse`] reads it back.
    pub fn name(self) -> String {
        let mut out = String::new();
        for (flag, name) in [(self.ctrl, "ctrl+"), (self.alt, "alt+"), (self.shift, "shift+")] {
            if flag {
                out.push_str(name);
            }
        }
        if let Some((name, _)) = NAMED.iter().find(|(_, key)| *key == self.key) {
            out.push_str(name);
        } else if let Key::Char(c) = self.key {
            out.push(c);
        } else if let Key::F(number) = self.key {
            out.push_str(&format!("f{number}"));
        }
        out
    }
}

fn key_of(code: KeyCode) -> Option<Key> {
    Some(match code {
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Null => Key::Char(' '),
        KeyCode::Enter => Key::Enter,
        KeyCode::Tab | KeyCode::BackTab => Key::Tab,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Delete => Key::Delete,
        KeyCode::Esc => Key::Esc,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::F(number @ 1..=12) => Key::F(number),
        _ => return None,
    })
}

fn named(text: &str) -> Option<Key> {
    if let Some((_, key)) = NAMED.iter().find(|(name, _)| *name == text) {
        return Some(*key);
    }
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(c), None) => Some(Key::Char(c)),
        (Some('f'), Some(_)) => text[1..].parse().ok().filter(|n| (1..=12).contains(n)).map(Key::F),
        _ => None,
    }
}
