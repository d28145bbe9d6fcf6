//! The one table of what keys do: dispatch, help, hints, palette and the leader menu all read it, so
//! none of them can promise a key that does nothing.
//!
//! No modifier reaches us in every terminal, so whatever is not plain editing has a letter after the
//! leader `ctrl+x`.

use std::collections::HashMap;

use crate::ui::chord::{Chord, Key};
use crate::ui::tree::TreeKey;

/// Opens the leader menu.
pub const LEADER: &str = "ctrl+x";

/// What a key can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ActionId {
    Send,
    FollowUp,
    Newline,
    Complete,
    Left,
    Right,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
    Up,
    Down,
    DeleteBack,
    DeleteForward,
    DeleteWordBack,
    DeleteWordForward,
    KillToStart,
    KillToEnd,
    Yank,
    YankPop,
    Undo,
    Redo,
    HistorySearch,
    ExternalEditor,
    Stash,
    Escape,
    Interrupt,
    EndOfInput,
    Redraw,
    Suspend,
    FoldTools,
    FoldThinking,
    PageUp,
    PageDown,
    Top,
    Bottom,
    PreviousPrompt,
    NextPrompt,
    Palette,
    Help,
    Conversation,
    Tree,
    Tools,
    NextPane,
    Model,
    ThinkingLevel,
    Approval,
    NewSession,
    Resume,
    Compact,
    Fork,
    Context,
    Rename,
    Copy,
    TakeQueue,
    NeedsAnswer,
    Retry,
    Abort,
    Quit,
    ListUp,
    ListDown,
    ListFirst,
    ListLast,
    ListOpen,
    ListFollow,
    ListCopy,
    ListToComposer,
    AllowOnce,
    AllowSession,
    Deny,
    DenyBecause,
    StopTurn,
    Details,
    InTree(TreeKey),
}

/// Where a key has its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    Composer,
    Everywhere,
    Tree,
    Tools,
    Approval,
}

impl Place {
    pub const ALL: [Self; 5] =
        [Self::Composer, Self::Everywhere, Self::Tree, Self::Tools, Self::Approval];

    pub fn title(self) -> &'static str {
        match self {
            Self::Composer => "composer",
            Self::Everywhere => "everywhere",
            Self::Tree => "tree pane",
            Self::Tools => "tools pane",
            Self::Approval => "approval card, when it has the focus",
        }
    }
}

/// One row of the table.
#[derive(Debug)]
pub struct Row {
    pub id: ActionId,
    pub place: Place,
    /// The stable name, for configuration.
    pub name: &'static str,
    /// What it does, for people.
    pub title: &'static str,
    /// The default keys, blank-separated.
    pub keys: &'static str,
    /// The key after the leader; empty for plain editing and list keys.
    pub leader: &'static str,
}

const fn row(
    id: ActionId,
    place: Place,
    name: &'static str,
    title: &'static str,
    keys: &'static str,
    leader: &'static str,
) -> Row {
    Row { id, place, name, title, keys, leader }
}

use ActionId as A;
use Place::{Approval as Card, Composer as Edit, Everywhere as All, Tools as List, Tree};
use TreeKey as T;

/// Every action, in the order of help.
pub static TABLE: &[Row] = &[
    row(A::Send, Edit, "composer.send", "send; while a turn runs: steer", "enter", "enter"),
    row(A::FollowUp, Edit, "composer.follow-up", "queue as a follow-up", "alt+enter", "f"),
    row(A::Newline, Edit, "composer.newline", "new line", "shift+enter ctrl+j", "j"),
    row(A::Complete, Edit, "composer.complete", "complete a command", "tab", ""),
    row(A::HistorySearch, Edit, "composer.search", "search the history", "ctrl+r", "i"),
    row(A::ExternalEditor, Edit, "composer.editor", "write in $EDITOR", "ctrl+g", "e"),
    row(A::Stash, Edit, "composer.stash", "stash the text, or bring it back", "ctrl+s", "s"),
    row(A::Left, Edit, "edit.left", "left", "left ctrl+b", ""),
    row(A::Right, Edit, "edit.right", "right", "right ctrl+f", ""),
    row(A::WordLeft, Edit, "edit.word-left", "word left", "alt+b alt+left ctrl+left", ""),
    row(A::WordRight, Edit, "edit.word-right", "word right", "alt+f alt+right ctrl+right", ""),
    row(A::LineStart, Edit, "edit.line-start", "start of the line", "home ctrl+a", ""),
    row(A::LineEnd, Edit, "edit.line-end", "end of the line", "end ctrl+e", ""),
    row(A::Up, Edit, "edit.up", "up; at the top: earlier prompt", "up", ""),
    row(A::Down, Edit, "edit.down", "down; at the bottom: later prompt", "down", ""),
    row(A::DeleteBack, Edit, "edit.delete-back", "delete back", "backspace shift+backspace", ""),
    row(A::DeleteForward, Edit, "edit.delete-forward", "delete forward", "delete", ""),
    row(
        A::DeleteWordBack,
        Edit,
        "edit.delete-word-back",
        "delete a word back",
        "ctrl+w alt+backspace",
        "",
    ),
    row(
        A::DeleteWordForward,
        Edit,
        "edit.delete-word",
        "delete a word forward",
        "alt+d alt+delete",
        "",
    ),
    row(A::KillToStart, Edit, "edit.kill-to-start", "cut to the start of the line", "ctrl+u", ""),
    row(A::KillToEnd, Edit, "edit.kill-to-end", "cut to the end of the line", "ctrl+k", ""),
    row(A::Yank, Edit, "edit.yank", "put back what was cut", "ctrl+y", ""),
    row(A::YankPop, Edit, "edit.yank-pop", "put back an earlier cut instead", "alt+y", ""),
    row(A::Undo, Edit, "edit.undo", "undo", "ctrl+_", "z"),
    row(A::Redo, Edit, "edit.redo", "redo", "", "Z"),
    row(A::Escape, All, "escape", "close, leave, or stop the turn", "esc", ""),
    row(A::Interrupt, All, "interrupt", "clear the text, stop the turn, quit", "ctrl+c", ""),
    row(A::EndOfInput, All, "end-of-input", "quit when the composer is empty", "ctrl+d", ""),
    row(A::Abort, All, "turn.abort", "stop the turn", "", "."),
    row(A::NeedsAnswer, All, "approval.focus", "go to what needs an answer", "", "g"),
    row(A::TakeQueue, All, "queue.take", "take the queue back", "alt+up", "q"),
    row(A::Retry, All, "turn.retry", "ask again after a failure", "", "y"),
    row(A::Palette, All, "palette", "every action", "ctrl+p", "p"),
    row(A::Help, All, "help", "help", "f1", "?"),
    row(A::Conversation, All, "pane.conversation", "conversation", "alt+1", "1"),
    row(A::Tree, All, "pane.tree", "tree; again: hide", "f2 alt+2", "2"),
    row(A::Tools, All, "pane.tools", "tools; again: hide", "f3 alt+3", "3"),
    row(A::NextPane, All, "pane.next", "next pane", "", "tab"),
    row(A::Model, All, "model", "change the model", "", "m"),
    row(A::ThinkingLevel, All, "thinking", "next thinking level", "", "t"),
    row(A::Approval, All, "approval.profile", "next approval profile", "", "A"),
    row(A::NewSession, All, "session.new", "new session", "", "n"),
    row(A::Resume, All, "session.resume", "find and open another session", "", "r"),
    row(A::Fork, All, "session.fork", "fork before a prompt of yours", "", "b"),
    row(A::Compact, All, "compact", "fold the older part into a summary", "", "k"),
    row(A::Context, All, "context", "what fills the window", "", "w"),
    row(A::Rename, All, "session.name", "name the session", "", "l"),
    row(A::Copy, All, "copy", "copy the last answer", "", "c"),
    row(A::FoldTools, All, "fold.tools", "fold or unfold tools", "ctrl+o", "o"),
    row(A::FoldThinking, All, "fold.thinking", "fold or unfold thinking", "ctrl+t", "v"),
    row(A::PageUp, All, "scroll.page-up", "page up", "pgup", "pgup"),
    row(A::PageDown, All, "scroll.page-down", "page down", "pgdn", "pgdn"),
    row(A::Top, All, "scroll.top", "first message", "ctrl+home", "home"),
    row(A::Bottom, All, "scroll.bottom", "last message", "ctrl+end", "end"),
    row(A::PreviousPrompt, All, "scroll.previous-prompt", "previous prompt", "ctrl+up", "up"),
    row(A::NextPrompt, All, "scroll.next-prompt", "next prompt", "ctrl+down", "down"),
    row(A::Redraw, All, "redraw", "paint the screen anew", "ctrl+l", "R"),
    row(A::Suspend, All, "suspend", "suspend to the shell", "ctrl+z", "d"),
    row(A::Quit, All, "quit", "quit", "", "x"),
    row(A::InTree(T::Go), Tree, "tree.go", "go there", "enter", ""),
    row(A::InTree(T::Edit), Tree, "tree.edit", "edit a message of yours and resend", "e", ""),
    row(A::InTree(T::Summarise), Tree, "tree.summarise", "summarise and go", "s", ""),
    row(A::InTree(T::Instruct), Tree, "tree.instruct", "the same, with instructions", "S", ""),
    row(A::InTree(T::Fork), Tree, "tree.fork", "fork to a new session", "f", ""),
    row(A::InTree(T::Label), Tree, "tree.label", "label", "l", ""),
    row(A::InTree(T::Merge), Tree, "tree.merge", "bring that branch here", "m", ""),
    row(A::InTree(T::Compare), Tree, "tree.compare", "mark, then compare two", "d", ""),
    row(A::InTree(T::Copy), Tree, "tree.copy", "copy the text", "y", ""),
    row(A::InTree(T::Compact), Tree, "tree.compact", "compact up to here", "K", ""),
    row(A::InTree(T::Fold), Tree, "tree.fold", "fold or unfold", "space", ""),
    row(A::InTree(T::Default), Tree, "tree.default", "filter: default", "1", ""),
    row(A::InTree(T::NoTools), Tree, "tree.no-tools", "filter: without tools", "2", ""),
    row(A::InTree(T::User), Tree, "tree.user", "filter: your messages", "3", ""),
    row(A::InTree(T::Labelled), Tree, "tree.labeled", "filter: labeled", "4", ""),
    row(A::InTree(T::All), Tree, "tree.all", "filter: everything", "5", ""),
    row(A::InTree(T::Search), Tree, "tree.search", "search", "/", ""),
    row(A::InTree(T::Times), Tree, "tree.times", "when labels were given", "T", ""),
    row(A::InTree(T::Up), Tree, "tree.up", "up", "k up", ""),
    row(A::InTree(T::Down), Tree, "tree.down", "down", "j down", ""),
    row(A::InTree(T::First), Tree, "tree.first", "first", "g home", ""),
    row(A::InTree(T::Last), Tree, "tree.last", "last", "G end", ""),
    row(A::InTree(T::PageUp), Tree, "tree.page-up", "page up", "pgup", ""),
    row(A::InTree(T::PageDown), Tree, "tree.page-down", "page down", "pgdn", ""),
    row(A::InTree(T::Left), Tree, "tree.left", "fold, or start of the segment", "left [", ""),
    row(A::InTree(T::Right), Tree, "tree.right", "unfold, or next branch", "right ]", ""),
    row(A::ListUp, List, "tools.up", "up", "k up", ""),
    row(A::ListDown, List, "tools.down", "down", "j down", ""),
    row(A::ListFirst, List, "tools.first", "first", "g home", ""),
    row(A::ListLast, List, "tools.last", "last", "G end", ""),
    row(A::ListOpen, List, "tools.open", "open or close the output", "enter", ""),
    row(A::ListFollow, List, "tools.follow", "follow the newest", "f", ""),
    row(A::ListCopy, List, "tools.copy", "copy the output", "y", ""),
    row(A::ListToComposer, List, "tools.composer", "put the command into the composer", "e", ""),
    row(A::AllowOnce, Card, "approval.once", "once", "y", ""),
    row(A::AllowSession, Card, "approval.session", "session", "s", ""),
    row(A::Deny, Card, "approval.no", "no", "n", ""),
    row(A::DenyBecause, Card, "approval.because", "no, because…", "m", ""),
    row(A::StopTurn, Card, "approval.stop", "stop", "x", ""),
    row(A::Details, Card, "approval.details", "more lines", "tab", ""),
];

/// The table, ready for look-ups.
#[derive(Debug, Clone)]
pub struct Keymap {
    keys: HashMap<(Place, Chord), ActionId>,
    after_leader: HashMap<Chord, ActionId>,
    leader: Chord,
}

impl Default for Keymap {
    fn default() -> Self {
        let mut keys = HashMap::new();
        let mut after_leader = HashMap::new();
        for row in TABLE {
            for chord in row.keys.split_whitespace().filter_map(Chord::parse) {
                keys.entry((row.place, chord)).or_insert(row.id);
            }
            if let Some(chord) = Chord::parse(row.leader) {
                after_leader.entry(chord).or_insert(row.id);
            }
        }
        let control_x = Chord { ctrl: true, ..Chord::plain(Key::Char('x')) };
        Self { keys, after_leader, leader: Chord::parse(LEADER).unwrap_or(control_x) }
    }
}

impl Keymap {
    /// What the key does in that place.
    pub fn find(&self, place: Place, chord: Chord) -> Option<ActionId> {
        self.keys.get(&(place, chord)).copied()
    }

    pub fn is_leader(&self, chord: Chord) -> bool {
        chord == self.leader
    }

    /// What the key does after the leader.
    pub fn after_leader(&self, chord: Chord) -> Option<ActionId> {
        self.after_leader.get(&chord).copied()
    }
}

/// How an action is reached: its keys, then the leader and its letter.
pub fn reached_by(row: &Row) -> String {
    let mut ways: Vec<String> = row.keys.split_whitespace().map(str::to_owned).collect();
    if !row.leader.is_empty() {
        ways.push(format!("{LEADER} {}", row.leader));
    }
    ways.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_the_table_parses_and_has_one_meaning_a_place() {
        let mut seen = HashMap::new();
        for row in TABLE {
            for key in row.keys.split_whitespace() {
                let chord = Chord::parse(key).unwrap_or_else(|| panic!("{key} does not parse"));
                assert_eq!(chord.name(), key);
                assert_eq!(seen.insert((row.place, chord), row.name), None, "{key} is bound twice");
            }
        }
    }

    #[test]
    fn leader_keys_parse_and_are_distinct() {
        let mut seen = HashMap::new();
        for row in TABLE.iter().filter(|row| !row.leader.is_empty()) {
            let chord = Chord::parse(row.leader).unwrap();
            assert_eq!(seen.insert(chord, row.name), None, "{} is used twice", row.leader);
        }
    }

    #[test]
    fn names_and_ids_are_unique() {
        for (index, row) in TABLE.iter().enumerate() {
            assert!(TABLE[index + 1..].iter().all(|r| r.name != row.name && r.id != row.id));
        }
    }

    #[test]
    fn ctrl_h_is_never_bound_and_the_leader_is_free() {
        let keymap = Keymap::default();
        for place in Place::ALL {
            let control_h = Chord { ctrl: true, ..Chord::plain(Key::Char('h')) };
            assert_eq!(keymap.find(place, control_h), None);
            assert_eq!(keymap.find(place, keymap.leader), None);
        }
    }

    #[test]
    fn what_is_neither_editing_nor_a_list_is_reachable_by_the_leader() {
        let direct = ["escape", "interrupt", "end-of-input"];
        for row in TABLE.iter().filter(|row| row.place == Place::Everywhere) {
            assert!(!row.leader.is_empty() || direct.contains(&row.name), "{}", row.name);
        }
    }
}
