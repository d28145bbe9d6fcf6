//! What lies over the panes and takes the keys: help, palette, a question, a line of input, the
//! history search, the session picker.

use std::path::PathBuf;

use crate::harness::ContextReport;
use crate::ui::forks::Prompt;
use crate::ui::keymap::{ActionId, Row, TABLE};
use crate::ui::line_input::LineInput;

/// The popup that is open.
#[derive(Debug, Clone, PartialEq)]
pub enum Popup {
    Help {
        top: usize,
    },
    Palette {
        query: LineInput,
        selected: usize,
    },
    /// Leave while a turn runs?
    ConfirmQuit,
    /// A question of the tree.
    Tree(crate::ui::tree::Ask),
    Ask {
        what: Question,
        input: LineInput,
    },
    /// The session picker; `State::surface` holds it.
    Sessions,
    /// The folder of a session is gone: where does it work on?
    Missing {
        path: PathBuf,
        folder: PathBuf,
    },
    /// The preview of a compaction; `State::surface` holds it.
    Compaction,
    /// What fills the window.
    Context {
        report: Box<ContextReport>,
        top: usize,
    },
    /// The prompts to fork before.
    Forks {
        prompts: Vec<Prompt>,
        selected: usize,
    },
    /// Facts to read: what it is, and what is so.
    Facts {
        lines: Vec<(&'static str, String)>,
        top: usize,
    },
    /// `before` is the draft, back when the search is left.
    Search {
        query: LineInput,
        selected: usize,
        before: String,
    },
}

/// What a line of input is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    Model,
    Name,
}

impl Question {
    pub fn title(self) -> &'static str {
        match self {
            Self::Model => "model: provider/id",
            Self::Name => "name of the session",
        }
    }
}

/// The actions whose title or name contains every word of the query, in the order of the table.
pub fn palette_rows(query: &str) -> Vec<&'static Row> {
    let query = query.to_lowercase();
    let words: Vec<&str> = query.split_whitespace().collect();
    TABLE
        .iter()
        .filter(|row| row.place == crate::ui::keymap::Place::Everywhere || is_composer_verb(row.id))
        .filter(|row| {
            let text = format!("{} {}", row.title.to_lowercase(), row.name);
            words.iter().all(|word| text.contains(word))
        })
        .collect()
}

/// Actions of the composer that make sense when chosen from a list.
fn is_composer_verb(id: ActionId) -> bool {
    matches!(
        id,
        ActionId::Send
            | ActionId::FollowUp
            | ActionId::Newline
            | ActionId::HistorySearch
            | ActionId::ExternalEditor
            | ActionId::Stash
            | ActionId::Undo
            | ActionId::Redo
    )
}
