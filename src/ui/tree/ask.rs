//! What the tree asks before it acts: a few small questions, one at a time; esc goes back to the
//! tree with the same selection.

use crate::harness::{Command, Summary};
use crate::message::EntryId;
use crate::ui::line_input::LineInput;

/// The question that is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// How to tell what is left behind, or brought over.
    How {
        wish: Wish,
        selected: usize,
    },
    /// Words for it.
    Words {
        wish: Wish,
        what: Words,
        input: LineInput,
    },
    /// A turn runs: stop it first?
    Stop {
        wish: Wish,
        then: Then,
    },
    Label {
        target: EntryId,
        input: LineInput,
    },
    /// Two nodes side by side.
    Compare {
        top: usize,
        side: usize,
    },
}

/// What is to be done once everything is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    Go { target: EntryId, edit: bool },
    Merge { from: EntryId },
}

/// How it goes on after the turn was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    Choose,
    Instruct,
    Do(How),
}

/// One way to tell a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    Nothing,
    Model,
    Instructed,
    Own,
}

/// What a line of words is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Words {
    Instructions,
    Summary,
}

impl Wish {
    /// The ways that make sense for it, in the order of the list.
    pub fn choices(&self) -> &'static [How] {
        match self {
            Self::Go { .. } => &[How::Nothing, How::Model, How::Instructed, How::Own],
            Self::Merge { .. } => &[How::Model, How::Instructed, How::Own],
        }
    }

    pub fn title(&self) -> &'static str {
        match self {
            Self::Go { .. } => "go here; what of the branch you leave?",
            Self::Merge { .. } => "bring that branch here",
        }
    }

    /// The command for it.
    pub fn command(self, summary: Summary) -> Command {
        match self {
            Self::Go { target, .. } => {
                Command::Navigate { target: Some(target), summary, label: None }
            }
            Self::Merge { from } => Command::Merge { from, summary },
        }
    }
}

impl How {
    pub fn title(self, wish: &Wish) -> &'static str {
        match (self, wish) {
            (Self::Nothing, _) => "no summary",
            (Self::Model, Wish::Go { .. }) => "summarise",
            (Self::Model, _) => "by the model",
            (Self::Instructed, Wish::Go { .. }) => "summarise with own instructions",
            (Self::Instructed, _) => "by the model, with own instructions",
            (Self::Own, _) => "in your own words",
        }
    }
}

impl Words {
    pub fn title(self) -> &'static str {
        match self {
            Self::Instructions => "what the summary should look at",
            Self::Summary => "what came of the branch, in your words",
        }
    }

    pub fn summary(self, text: String) -> Summary {
        match self {
            Self::Instructions => Summary::Generated { instructions: Some(text), replace: false },
            Self::Summary => Summary::Own(text),
        }
    }
}

/// What a command of the tree was for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    Go { edit: bool },
    Merge,
    Label,
}
