//! The session picker: finding a session again, and what can be done to one that is not open.
//!
//! The picker is a pure model that keys and news change. The desk does its work beside the loop and
//! tells news bit by bit, so thousands of files never hold up a key.

mod desk;
mod keys;
mod list;
mod news;
mod paint;
mod picker;

pub(super) use desk::Desk;
pub(super) use keys::{enter_session as enter, key, missing, open, paste, wheel};
pub(super) use news::heard;
pub(super) use paint::{paint, paint_missing};
pub use picker::{Mode, Picker, Row, Sort};

use std::path::PathBuf;
use std::sync::Arc;

use crate::harness::{Hit, Listed, Quote, Scope};

/// What the picker wants done to files.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// List a scope; replaces the listing before.
    Scan {
        scope: Scope,
        ticket: u64,
    },
    /// Look into these sessions; replaces the search before, and none ends it.
    Search {
        query: String,
        sessions: Vec<Arc<Listed>>,
        ticket: u64,
    },
    Preview {
        path: PathBuf,
    },
    Rename {
        path: PathBuf,
        name: String,
    },
    Remove {
        path: PathBuf,
    },
    Restore {
        path: PathBuf,
    },
    /// Is the folder of the session still there?
    Check {
        path: PathBuf,
    },
    /// Copy the whole session into the current folder.
    ForkHere {
        path: PathBuf,
    },
    Import {
        path: PathBuf,
    },
    /// What is wrong with a file?
    Verify {
        path: PathBuf,
    },
    /// Write a repaired copy.
    Repair {
        path: PathBuf,
        out: PathBuf,
    },
    /// Nobody looks any more.
    Stop,
}

/// What came of it. Failures are texts for people.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    Rows {
        ticket: u64,
        rows: Vec<Listed>,
        done: usize,
        total: usize,
        finished: bool,
    },
    Found {
        ticket: u64,
        hits: Vec<Hit>,
        done: usize,
        total: usize,
    },
    Preview {
        path: PathBuf,
        said: Result<Vec<Quote>, String>,
    },
    /// The row as it is now.
    Renamed {
        path: PathBuf,
        row: Result<Option<Listed>, String>,
    },
    Removed {
        path: PathBuf,
        outcome: Result<(), String>,
    },
    /// Where it is now.
    Restored {
        path: PathBuf,
        outcome: Result<PathBuf, String>,
    },
    /// The folder that is gone, if it is.
    Checked {
        path: PathBuf,
        missing: Option<PathBuf>,
    },
    /// A new session was made from another one; it is opened next.
    Copied {
        outcome: Result<PathBuf, String>,
    },
    Imported {
        outcome: Result<PathBuf, String>,
    },
    /// What a check or a repair found, a line each.
    Inspected {
        outcome: Result<Vec<String>, String>,
    },
}
