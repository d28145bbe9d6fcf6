//! `harness-tui sessions …`: one file a group of commands, all over the session library.
//!
//! Nothing here opens an engine: a session another instance holds can still be listed, shown,
//! checked and exported.

use super::Stop;
use crate::cli::{Cli, Sessions, SessionsCommand};

/// Runs one command to its exit code.
pub(super) fn run(_cli: &Cli, sessions: &Sessions) -> Result<u8, Stop> {
    match &sessions.command {
        SessionsCommand::List { .. }
        | SessionsCommand::Rename { .. }
        | SessionsCommand::Rm { .. }
        | SessionsCommand::Restore { .. }
        | SessionsCommand::Purge { .. }
        | SessionsCommand::Show { .. }
        | SessionsCommand::Tree { .. }
        | SessionsCommand::Stats { .. }
        | SessionsCommand::Verify { .. }
        | SessionsCommand::Repair { .. }
        | SessionsCommand::Export { .. }
        | SessionsCommand::Import { .. }
        | SessionsCommand::Fork { .. }
        | SessionsCommand::Label { .. } => Err(Stop::failed("this cannot be done yet")),
    }
}
