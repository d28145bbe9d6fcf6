//! How the screen starts and how it ended, as its caller says and hears it.

use std::path::PathBuf;

use crate::harness::{HarnessError, Scope, Shelf};

/// How the screen starts.
#[derive(Debug, Clone)]
pub struct Options {
    /// Sent at once.
    pub initial_prompt: Option<String>,
    /// Put into the composer, in front of a kept draft.
    pub draft: Option<String>,
    /// Where drafts and history live.
    pub state_dir: PathBuf,
    /// The name of a theme.
    pub theme: String,
    pub ascii: bool,
    pub mouse: bool,
    pub motion: bool,
    /// The working directory, as the header shows it and as history belongs to it.
    pub project: String,
    /// Whether an empty session greets.
    pub welcome: bool,
    /// Where sessions are found by their id.
    pub sessions: PathBuf,
    /// The sessions that are not open.
    pub shelf: Option<Shelf>,
    /// What the screen shows first.
    pub first: First,
}

/// What the screen shows first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum First {
    #[default]
    Conversation,
    /// The session picker, with a line that says why.
    Picker { scope: Scope, why: Option<String> },
    /// The question where this session works on, because its folder is gone. The prompt waits in
    /// the composer of that session.
    Missing { path: PathBuf, folder: PathBuf, prompt: Option<String> },
}

/// How the screen ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// One line that tells how to come back; `None` when nothing was said.
    pub resume_hint: Option<String>,
    /// 0, or 128 and the number of the signal.
    pub code: i32,
    pub last_answer: Option<String>,
    /// Why the session could not be opened.
    pub failed: Option<HarnessError>,
}
