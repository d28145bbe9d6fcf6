//! `sessions export`, `import` and `fork`: the same session in another place or shape.

use std::path::{Path, PathBuf};

use harness_tui::config;
use harness_tui::message::EntryId;
use harness_tui::session::{
    self, CopyPoint, Export, Kind, NewFile, Redactor, Role, SessionError, SessionView,
};
use serde_json::json;

use super::{Desk, Stop, note};
use crate::cli::Format;
use crate::launch::models;

/// Writes a session to a file or to standard output.
pub(super) fn export(
    desk: &Desk<'_>,
    wanted: &str,
    (format, branch): (Format, bool),
    out: Option<&Path>,
) -> Result<u8, Stop> {
    let what = match (format, branch) {
        (Format::Jsonl, false) => Export::Whole,
        (Format::Jsonl, true) => Export::Branch,
        (Format::Md, _) => Export::Markdown,
        (Format::Html, false) => Export::Html,
        (Format::Html, true) => {
            return Err(Stop::usage("a page shows the whole tree: leave --branch out, or use md"));
        }
    };
    let view = desk.read(wanted)?;
    let redactor = Redactor::new(secrets(desk));
    let now = desk.place.clock.now_ms();
    let Some(out) = out else {
        return desk.answer(|out| view.export(what, &redactor, now, out));
    };
    let write = |path: &Path| {
        let mut file = NewFile::create(desk.place.files.clone(), path)?;
        view.export(what, &redactor, now, &mut file)?;
        file.finish()
    };
    let path = write(&desk.cwd.join(out)).map_err(|error| Stop::of_session(&error))?;
    let path = path.display().to_string();
    desk.say(&json!({ "path": path }), &[format!("wrote {path}")])
}

/// What no export may tell.
fn secrets(desk: &Desk<'_>) -> Vec<String> {
    let file = desk.cli.config.clone().unwrap_or_else(|| desk.paths.config_file());
    let config = config::load(&file).map(|loaded| loaded.config).unwrap_or_default();
    models::secrets(&config, desk.cli, &desk.paths.auth_file())
}

/// Copies a session file into the sessions of its folder.
pub(super) fn import(desk: &Desk<'_>, file: &Path) -> Result<u8, Stop> {
    let imported = session::import(&desk.place, &desk.cwd.join(file), &desk.cwd)
        .map_err(|error| Stop::of_session(&error))?;
    imported.notices.iter().for_each(|text| note(text));
    if let Some(taken_by) = &imported.taken_by {
        note(&format!(
            "{} has this session's id already, so the copy got the new id {}",
            taken_by.display(),
            imported.id
        ));
    }
    if !Path::new(&imported.cwd).is_dir() {
        note(&format!("its folder {} is not on this machine", imported.cwd));
    }
    let path = imported.path.display().to_string();
    let value = json!({
        "path": path,
        "id": imported.id,
        "cwd": imported.cwd,
        "taken_by": imported.taken_by.as_ref().map(|path| path.display().to_string()),
    });
    desk.say(&value, &[format!("{} {path}", imported.id)])
}

/// Copies a path or the whole tree into a new session.
pub(super) fn fork(
    desk: &Desk<'_>,
    wanted: &str,
    at: Option<&str>,
    tree: bool,
) -> Result<u8, Stop> {
    let view = desk.read(wanted)?;
    let (what, cwd) = match at {
        _ if tree => (CopyPoint::Tree, desk.cwd.clone()),
        None => (CopyPoint::Leaf, PathBuf::from(&view.header.cwd)),
        Some(at) => {
            let point = point(&view, at).map_err(|error| Stop::of_session(&error))?;
            (point, PathBuf::from(&view.header.cwd))
        }
    };
    let copied = view.copy(&desk.place, &what, &cwd).map_err(|error| Stop::of_session(&error))?;
    let path = copied.path.display().to_string();
    let mut lines = vec![format!("{} {path}", copied.id)];
    lines.extend(copied.editor_text.clone());
    let value = json!({ "path": path, "id": copied.id, "editor_text": copied.editor_text });
    desk.say(&value, &lines)
}

/// Before a message of the user, at every other entry.
fn point(view: &SessionView, wanted: &str) -> Result<CopyPoint, SessionError> {
    let id: EntryId = view.find_entry(wanted)?;
    let index = view.tree.index();
    let node = index.position(&id).and_then(|position| index.node(position));
    let is_user =
        node.is_some_and(|node| node.kind == Kind::Message && node.role == Some(Role::User));
    Ok(if is_user { CopyPoint::Before(id) } else { CopyPoint::At(id) })
}
