//! Which session a start is about: a new one, the newest of this folder, or one by path or id.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use harness_tui::harness::{ErrorCode, HarnessError, Which};
use harness_tui::ports::{Disk, SystemClock};
use harness_tui::session::{
    CopyPoint, Durability, Place, Session, SessionView, find_by_prefix, most_recent,
};

use super::{Ground, Stop};

fn place(ground: &Ground) -> Place {
    let config = ground.live.get();
    let durability = match config.durability.as_deref() {
        Some("process") => Durability::Process,
        _ => Durability::Commit,
    };
    let root = ground.sessions();
    Place { files: Arc::new(Disk), clock: Arc::new(SystemClock), root, durability }
}

/// The session the command line asks for.
pub(super) fn first(ground: &Ground) -> Result<Session, Stop> {
    let cli = &ground.cli;
    if cli.no_session {
        return Ok(Session::in_memory(Arc::new(SystemClock), &ground.cwd));
    }
    if cli.resume_last {
        return which(ground, Which::Recent).map_err(|error| Stop::failed(error.message));
    }
    if let Some(wanted) = &cli.fork {
        return fork(ground, wanted);
    }
    match &cli.session {
        None => Ok(Session::create(place(ground), &ground.cwd)),
        Some(wanted) => {
            let path = find(&place(ground), &ground.cwd, wanted)?;
            open(ground, &path).map_err(|error| Stop::failed(error.message))
        }
    }
}

/// The whole tree of a session, copied into this folder and opened there.
fn fork(ground: &Ground, wanted: &str) -> Result<Session, Stop> {
    let place = place(ground);
    let path = find(&place, &ground.cwd, wanted)?;
    let copied = SessionView::read(&place.files, &path)
        .and_then(|view| view.copy(&place, &CopyPoint::Tree, &ground.cwd))
        .map_err(|error| Stop::failed(error.to_string()))?;
    open(ground, &copied.path).map_err(|error| Stop::failed(error.message))
}

/// The session a front end asks for.
pub(super) fn which(ground: &Ground, which: Which) -> Result<Session, HarnessError> {
    match which {
        Which::New => Ok(Session::create(place(ground), &ground.cwd)),
        Which::Path(path) => open(ground, &path),
        Which::Recent => {
            let place = place(ground);
            match most_recent(&*place.files, &place.root, &ground.cwd) {
                Some(path) => open(ground, &path),
                None => Err(error_of(&format!(
                    "there is no session for {} yet: start one without --continue",
                    ground.cwd.display()
                ))),
            }
        }
    }
}

fn open(ground: &Ground, path: &Path) -> Result<Session, HarnessError> {
    // An empty file says nothing of a folder: ours is the one the command line names.
    if std::fs::metadata(path).is_ok_and(|facts| facts.is_file() && facts.len() == 0) {
        return Ok(Session::create_at(place(ground), path, &ground.cwd));
    }
    Session::open(place(ground), path).map_err(|error| error_of(&error.to_string()))
}

fn error_of(text: &str) -> HarnessError {
    HarnessError::new(ErrorCode::Session, text)
}

/// A path, or the beginning of an id.
pub(super) fn find(place: &Place, cwd: &Path, wanted: &str) -> Result<PathBuf, Stop> {
    let path = cwd.join(wanted);
    if path.exists() || wanted.contains('/') || wanted.ends_with(".jsonl") {
        return Ok(path);
    }
    find_by_prefix(&*place.files, &place.root, wanted)
        .map_err(|error| Stop::failed(error.to_string()))
}
