//! Why the engine refused or failed: a code for programs, a text for people.

use serde::Serialize;

/// The codes of the harness API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// A turn, compaction or navigation already runs.
    Busy,
    /// The command does not fit the state.
    InvalidState,
    /// An argument is wrong; the text names it.
    InvalidArgument,
    Session,
    Hook,
    Auth,
    Compaction,
    BranchSummary,
    Unknown,
}

/// A refusal or failure of the engine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct HarnessError {
    pub code: ErrorCode,
    /// What was tried, what went wrong, what to do.
    pub message: String,
}

impl HarnessError {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}
