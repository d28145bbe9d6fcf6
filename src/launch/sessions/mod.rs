//! `harness-tui sessions …`: one file a group of commands, all over the session library.
//!
//! Nothing here opens an engine: a session another instance holds can still be listed, shown,
//! checked and exported.

mod check;
mod copies;
mod label;
mod shelf;
mod show;
mod tree;

use std::borrow::Cow;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::PathBuf;
use std::sync::Arc;

use harness_tui::config::Paths;
use harness_tui::harness::Shelf;
use harness_tui::ports::{Disk, SystemClock};
use harness_tui::session::{Durability, Place, SessionError, SessionView};
use harness_tui::text::sanitize::sanitize;
use serde::Serialize;

use super::{Stop, session, working_dir};
use crate::cli::{Cli, Sessions, SessionsCommand};

/// The session is held by another instance.
const HELD: u8 = 75;

/// Runs one command to its exit code.
pub(super) fn run(cli: &Cli, sessions: &Sessions) -> Result<u8, Stop> {
    let desk = Desk::new(cli, sessions.json)?;
    match &sessions.command {
        SessionsCommand::List { all, trash, search } => {
            shelf::print_list(&desk, (*all, *trash), search.as_deref())
        }
        SessionsCommand::Rename { session, name } => shelf::rename(&desk, session, name),
        SessionsCommand::Rm { sessions: ids } => shelf::remove(&desk, ids),
        SessionsCommand::Restore { session } => shelf::restore(&desk, session),
        SessionsCommand::Purge { older_than, yes } => shelf::purge(&desk, *older_than, *yes),
        SessionsCommand::Show { session } => show::show(&desk, session),
        SessionsCommand::Tree { session } => tree::tree(&desk, session),
        SessionsCommand::Stats { session } => show::stats(&desk, session),
        SessionsCommand::Verify { session } => check::verify(&desk, session),
        SessionsCommand::Repair { session, out } => check::repair(&desk, session, out),
        SessionsCommand::Export { session, format, branch, out } => {
            copies::export(&desk, session, (*format, *branch), out.as_deref())
        }
        SessionsCommand::Import { file } => copies::import(&desk, file),
        SessionsCommand::Fork { session, at, tree } => {
            copies::fork(&desk, session, at.as_deref(), *tree)
        }
        SessionsCommand::Label { session, entry, label } => {
            label::label(&desk, session, entry, label.as_deref())
        }
    }
}

/// Where the sessions are and how to answer.
struct Desk<'a> {
    cli: &'a Cli,
    paths: Paths,
    place: Place,
    cwd: PathBuf,
    json: bool,
}

impl<'a> Desk<'a> {
    fn new(cli: &'a Cli, json: bool) -> Result<Self, Stop> {
        let paths = Paths::find(std::env::var_os("HARNESS_TUI_HOME")).map_err(Stop::failed)?;
        let place = Place {
            files: Arc::new(Disk),
            clock: Arc::new(SystemClock),
            root: cli.session_dir.clone().unwrap_or_else(|| paths.sessions()),
            durability: Durability::Commit,
        };
        Ok(Self { cli, cwd: working_dir(cli)?, paths, place, json })
    }

    fn shelf(&self) -> Shelf {
        Shelf::new(self.place.clone(), self.paths.trash(), self.cwd.clone())
    }

    /// A session by path or by the beginning of its id.
    fn find(&self, wanted: &str) -> Result<PathBuf, Stop> {
        session::find(&self.place, &self.cwd, wanted)
    }

    /// The session as it is now, read without its lock. What was noticed goes to the other stream.
    fn read(&self, wanted: &str) -> Result<SessionView, Stop> {
        let path = self.find(wanted)?;
        let view = SessionView::read(&self.place.files, &path)
            .map_err(|error| Stop::of_session(&error))?;
        view.notices.iter().for_each(|text| note(text));
        Ok(view)
    }

    /// Writes an answer to standard output. A reader that went away is no error.
    fn answer(
        &self,
        write: impl FnOnce(&mut dyn Write) -> Result<(), SessionError>,
    ) -> Result<u8, Stop> {
        let mut out = BufWriter::new(io::stdout().lock());
        let written = write(&mut out).and_then(|()| out.flush().map_err(unwritten));
        match written {
            Ok(()) => Ok(0),
            Err(SessionError::Io { source, .. }) if source.kind() == ErrorKind::BrokenPipe => Ok(0),
            Err(error) => Err(Stop::of_session(&error)),
        }
    }

    /// One JSON value, or lines for people: clean, whatever they are made of.
    fn say(&self, value: &impl Serialize, lines: &[String]) -> Result<u8, Stop> {
        self.answer(|out| {
            if self.json {
                let text =
                    serde_json::to_string_pretty(value).map_err(|error| unwritten(error.into()))?;
                return writeln!(out, "{}", inert(&text)).map_err(unwritten);
            }
            lines.iter().try_for_each(|line| writeln!(out, "{}", sanitize(line))).map_err(unwritten)
        })
    }
}

impl Stop {
    fn of_session(error: &SessionError) -> Self {
        match error {
            SessionError::ReadOnly { .. } => Self { code: HELD, message: error.to_string() },
            _ => Self::failed(error.to_string()),
        }
    }
}

/// A line for people beside the answer.
fn note(text: &str) {
    let _ = writeln!(io::stderr(), "harness-tui: {}", sanitize(text));
}

/// JSON that a terminal does not obey either: JSON lets these controls stand in strings.
fn inert(json: &str) -> Cow<'_, str> {
    let is_control = |c: char| matches!(c, '\u{7f}'..='\u{9f}');
    if !json.contains(is_control) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if is_control(c) {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

fn unwritten(error: io::Error) -> SessionError {
    let path = PathBuf::from("standard output");
    SessionError::Io { what: "write to", path, source: error }
}
