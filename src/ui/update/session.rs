//! The commands on a whole session: fork, copy, export, import, facts, and what is answered to them.

use std::path::PathBuf;

use crate::harness::{Command, ExportFormat, ForkPoint, HarnessError, Reply, Scope};
use crate::ui::action::{Asked, Effect};
use crate::ui::commands::Slash;
use crate::ui::keymap::{ActionId, TABLE};
use crate::ui::popup::Popup;
use crate::ui::sessions::Work;
use crate::ui::state::State;
use crate::ui::update::keys;
use crate::ui::{compaction, facts, sessions};

/// Runs a slash command that is about the session.
pub(super) fn command(state: &mut State, slash: Slash, argument: &str) -> Vec<Effect> {
    match slash {
        Slash::Resume => sessions::open(state, Scope::Folder),
        Slash::Session => {
            let lines = facts::lines(state);
            state.surface.popup = Some(Popup::Facts { lines, top: 0 });
            Vec::new()
        }
        Slash::Tree => match TABLE.iter().find(|row| row.name == "pane.tree") {
            Some(row) => keys::perform(state, row.id),
            None => {
                state.tell("this screen has no tree");
                Vec::new()
            }
        },
        Slash::Fork => keys::perform(state, ActionId::Fork),
        Slash::Clone => vec![Effect::Send(Command::Fork { at: ForkPoint::Leaf }, Asked::Fork)],
        Slash::Compact => {
            let instructions = (!argument.is_empty()).then(|| argument.to_owned());
            keys::draft_compaction(state, instructions)
        }
        Slash::Context => keys::perform(state, ActionId::Context),
        Slash::Export => {
            let (format, to) = export(argument);
            vec![Effect::Send(Command::Export { format, to }, Asked::Export)]
        }
        Slash::Verify => inspect(state, |path| Work::Verify { path }),
        Slash::Repair => inspect(state, |path| Work::Repair { path, out: argument.into() }),
        Slash::Import => vec![Effect::Shelf(Work::Import { path: PathBuf::from(argument) })],
        _ => Vec::new(),
    }
}

/// Looks at the file of the session, which may be open here: nothing of it is changed.
fn inspect(state: &mut State, work: impl FnOnce(PathBuf) -> Work) -> Vec<Effect> {
    match state.session.path.clone().filter(|_| state.session.stored) {
        Some(path) => vec![Effect::Shelf(work(path))],
        None => {
            state.tell("this session has no file yet");
            Vec::new()
        }
    }
}

/// A kind of export by its name, or a path that ends in one. The page is what people show around.
fn export(argument: &str) -> (ExportFormat, Option<PathBuf>) {
    let path = Some(PathBuf::from(argument));
    match argument {
        "" | "html" => (ExportFormat::Html, None),
        "md" | "markdown" => (ExportFormat::Markdown, None),
        "jsonl" => (ExportFormat::Jsonl, None),
        "branch" => (ExportFormat::JsonlBranch, None),
        _ if argument.ends_with(".md") => (ExportFormat::Markdown, path),
        _ if argument.ends_with(".jsonl") => (ExportFormat::Jsonl, path),
        _ => (ExportFormat::Html, path),
    }
}

/// What came of it.
pub(super) fn answered(
    state: &mut State,
    asked: &Asked,
    answer: Result<Reply, HarnessError>,
) -> Vec<Effect> {
    match (asked, answer) {
        (Asked::StoreCompaction, answer) => {
            compaction::stored(state, answer.map(drop).map_err(|error| error.message));
        }
        (Asked::Fork, Ok(Reply::Written { path, .. })) if state.busy() => {
            state.tell(format!("forked to {}; ctrl+x r opens it", path.display()));
        }
        (Asked::Fork, Ok(Reply::Written { path, editor_text })) => {
            state.surface.carried = editor_text.map(|text| (path.clone(), text));
            state.tell("this is the copy now; ctrl+x r leads back to where it came from");
            return sessions::enter(state, path);
        }
        (Asked::Export, Ok(Reply::Written { path, .. })) => {
            state.tell(format!("written to {}", path.display()));
        }
        (Asked::Fork, Err(error)) => state.tell(format!("fork: {error}")),
        (Asked::Export, Err(error)) => state.tell(format!("export: {error}")),
        _ => {}
    }
    Vec::new()
}
