//! What comes into the screen and what it asks for: the two enums between the pure part and the run
//! loop. Time comes in as an action too, so every flow is a list of actions in a test.

use std::sync::Arc;

use crate::harness::{CallKey, Command, Event, HarnessError, Reply, Snapshot, Which};
use crate::message::SessionId;
use crate::session::{Tail, TreeView};
use crate::ui::chord::Chord;
use crate::ui::highlight::Highlighted;
use crate::ui::keymap::ActionId;
use crate::ui::sessions::{News, Work};
use crate::ui::transcript::Paged;

/// Something happened.
#[derive(Debug, Clone)]
pub enum Action {
    /// The time now, Unix milliseconds. Sent before every batch of other actions.
    Clock(i64),
    /// The terminal has this many columns and rows.
    Resize(u16, u16),
    Key(Chord),
    /// A marked paste.
    Paste(String),
    /// Keys without a meaning but text and line ends that came in one read: an unmarked paste.
    Burst(Vec<Chord>),
    /// The wheel, positive is down, at a column and row.
    Wheel {
        rows: i32,
        column: u16,
        row: u16,
    },
    Click {
        column: u16,
        row: u16,
    },
    /// The terminal window has the focus, or lost it.
    Focused(bool),
    /// Does what a key would do.
    Do(ActionId),
    Engine(Arc<Event>),
    /// The tree as it is now; follows the events that changed it.
    Tree(Box<TreeView>),
    /// The state of an engine: at the start, after a change of session, after missed events.
    Joined(Box<Snapshot>),
    /// A session is being opened; this is its end.
    Opening(Box<Tail>),
    /// The session with this id is open, or could not be opened.
    Opened(SessionId, Result<(), HarnessError>),
    /// A command was answered.
    Answered(Asked, Result<Reply, HarnessError>),
    Highlighted(Highlighted),
    /// What the tree pane wanted to read was read.
    Read(crate::ui::tree::Done),
    /// Older entries of the conversation.
    Paged(Box<Paged>),
    /// What earlier runs kept: the draft of this session, the stash, the project's prompts.
    Kept {
        draft: String,
        stash: Option<String>,
        history: Vec<String>,
    },
    /// The external editor closed, with the text or with what went wrong.
    Edited(Result<String, String>),
    /// What came of work on sessions that are not open.
    Shelf(Box<News>),
    /// Something outside the engine is worth a line.
    Told(String),
}

/// Why a command was sent; it decides what a refusal means.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// A prompt with this text. `again` when it is already the second try.
    Prompt {
        text: String,
        again: bool,
    },
    /// Steering, as above.
    Steer {
        text: String,
        again: bool,
    },
    /// Another message that waits.
    Queue {
        text: String,
    },
    /// The decision on a held call.
    Decision {
        key: CallKey,
    },
    /// One message taken out of the queue.
    TakeBack,
    /// The draft of a compaction, to be stored.
    StoreCompaction,
    /// A copy of this session, which is opened next.
    Fork,
    Export,
    /// A command of the tree pane.
    Tree(crate::ui::tree::ask::Asked),
    /// Anything else: what was tried, for the message.
    Change(&'static str),
}

/// Something to do outside.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Send a command; commands reach the engine in the order of their effects.
    Send(Command, Asked),
    /// Open another session and let the current one go.
    Open(Which),
    /// Take a new snapshot: the active branch is another one.
    Rejoin,
    /// Work on sessions that are not open.
    Shelf(Work),
    /// Read bodies for the tree pane, beside the loop.
    Read(crate::ui::tree::Job),
    /// The session could not be opened: go back to the one before, or end.
    GoBack(HarnessError),
    /// Keep the draft of the session; an empty one is removed.
    SaveDraft {
        session: String,
        text: String,
    },
    /// Keep the stash of the project; `None` removes it.
    SaveStash(Option<String>),
    /// Add a prompt to the project's history.
    Remember(String),
    /// Hand the text to the terminal's clipboard.
    Copy(String),
    /// Open the text in `$VISUAL` or `$EDITOR`.
    Edit(String),
    Suspend,
    /// Paint everything anew: a terminal that measures some text in another way shows remains.
    Redraw,
    /// Rings, because the window is not looked at.
    Bell,
    /// Leave with this exit code.
    Quit(i32),
}
