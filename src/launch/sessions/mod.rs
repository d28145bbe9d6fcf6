//! `harness-tui sessions …`: one file a group of commands, all over the session library.
//!
//! Nothing here opens an engine: a session another instance holds can still be listed, shown,
//! checked and exported.

mod shelf;

use super::Stop;
use crate::cli::{Cli, Sessions, SessionsCommand};

/// Runs one command to its exit code.
pub(super) fn run(cli: &Cli, sessions: &Sessions) -> Result<u8, Stop> {
    match &sessions.command {
        SessionsCommand::List { all, trash, search } => {
            shelf::print_list(cli, (*all, *trash), search.as_deref(), sessions.json)
        }
        SessionsCommand::Rename { session, name } => shelf::rename(cli, session, name),
        SessionsCommand::Rm { sessions: ids } => shelf::remove(cli, ids, sessions.json),
        SessionsCommand::Restore { session } => shelf::restore(cli, session, sessions.json),
        SessionsCommand::Purge { older_than, yes } => {
            shelf::purge(cli, *older_than, *yes, sessions.json)
        }
        SessionsCommand::Show { .. }
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
