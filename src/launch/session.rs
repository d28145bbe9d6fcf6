//! Which session a start is about: a new one, the newest of this folder, or one by path or id.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use harness_tui::harness::{ErrorCode, HarnessError, Which};
use harness_tui::ports::{Disk, SystemClock};
use harness_tui::session::{Durability, Place, Session, Tail, find_by_prefix, most_recent, tail};

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

/// A session that was found.
#[derive(Debug)]
pub(super) enum First {
    New(Box<Session>),
    /// In this file.
    At(PathBuf),
}

/// Files up to this size are opened at once: it takes less time than a frame.
const SMALL: u64 = 1 << 20;

impl First {
    /// The end of a session that takes long to open, to be shown meanwhile.
    pub(super) fn tail(&self) -> Option<Tail> {
        let Self::At(path) = self else { return None };
        let is_large = std::fs::metadata(path).is_ok_and(|facts| facts.len() > SMALL);
        if is_large { tail(&Disk, path) } else { None }
    }

    pub(super) fn session(self, ground: &Ground) -> Result<Session, HarnessError> {
        match self {
            Self::New(session) => Ok(*session),
            Self::At(path) => open(ground, &path),
        }
    }

    pub(super) fn open(self, ground: &Ground) -> Result<Session, Stop> {
        self.session(ground).map_err(|error| Stop::failed(error.message))
    }
}

/// The session the command line asks for.
pub(super) fn first(ground: &Ground) -> Result<First, Stop> {
    let cli = &ground.cli;
    if cli.no_session {
        let session = Session::in_memory(Arc::new(SystemClock), &ground.cwd);
        return Ok(First::New(Box::new(session)));
    }
    if cli.resume_last {
        return which(ground, Which::Recent).map_err(|error| Stop::failed(error.message));
    }
    match &cli.session {
        None => which(ground, Which::New).map_err(|error| Stop::failed(error.message)),
        Some(wanted) => find(ground, wanted).map(First::At),
    }
}

/// The session a front end asks for.
pub(super) fn which(ground: &Ground, which: Which) -> Result<First, HarnessError> {
    match which {
        Which::New => Ok(First::New(Box::new(Session::create(place(ground), &ground.cwd)))),
        Which::Path(path) => Ok(First::At(path)),
        Which::Recent => {
            let place = place(ground);
            match most_recent(&*place.files, &place.root, &ground.cwd) {
                Some(path) => Ok(First::At(path)),
                None => Err(error_of(&format!(
                    "there is no session for {} yet: start one without --continue",
                    ground.cwd.display()
                ))),
            }
        }
    }
}

pub(super) fn open(ground: &Ground, path: &Path) -> Result<Session, HarnessError> {
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
fn find(ground: &Ground, wanted: &str) -> Result<PathBuf, Stop> {
    let path = ground.cwd.join(wanted);
    if path.exists() || wanted.contains('/') || wanted.ends_with(".jsonl") {
        return Ok(path);
    }
    let place = place(ground);
    find_by_prefix(&*place.files, &place.root, wanted)
        .map_err(|error| Stop::failed(error.to_string()))
}
