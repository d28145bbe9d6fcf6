//! Which session a start is about: a new one, the newest of this folder, or one by path or id.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use harness_tui::harness::{ErrorCode, HarnessError, Shelf, Which};
use harness_tui::ports::{Disk, SystemClock};
use harness_tui::session::{
    CopyPoint, Durability, Flush, Place, Session, SessionView, Tail, chosen_folder, find_by_prefix,
    folder_choice, most_recent, tail,
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

/// What a screen asks before it goes on.
#[derive(Debug)]
pub(super) enum Ask {
    Nothing,
    /// Which session? Why it is asked, if that is not plain.
    Which(Option<String>),
    /// Where does this session work on, now that its folder is gone?
    Folder {
        path: PathBuf,
        folder: PathBuf,
    },
}

/// A session that was found.
#[derive(Debug)]
pub(super) enum Found {
    New(Box<Session>),
    /// In this file.
    At(PathBuf),
}

/// Files up to this size are opened at once: it takes less time than a frame.
const SMALL: u64 = 1 << 20;

impl Found {
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

/// The session the command line asks for. What only a person can answer is left to the screen, which
/// begins with a new session that is on no disk yet.
pub(super) fn first(ground: &Ground) -> Result<(Found, Ask), Stop> {
    let cli = &ground.cli;
    let failed = |error: HarnessError| Stop::failed(error.message);
    let new = || Found::New(Box::new(Session::create(place(ground), &ground.cwd)));
    if cli.no_session {
        let session = Session::in_memory(Arc::new(SystemClock), &ground.cwd);
        return Ok((Found::New(Box::new(session)), Ask::Nothing));
    }
    if cli.resume {
        return Ok((new(), Ask::Which(None)));
    }
    if cli.resume_last {
        return match which(ground, Which::Recent) {
            Ok(found) => Ok((found, Ask::Nothing)),
            Err(error) if ground.headless || error.code != ErrorCode::InvalidState => {
                Err(failed(error))
            }
            Err(_none) => {
                let why = "there is no session of this folder yet; these are of other folders";
                Ok((new(), Ask::Which(Some(why.to_owned()))))
            }
        };
    }
    if let Some(wanted) = &cli.fork {
        return fork(ground, wanted).map(|path| (Found::At(path), Ask::Nothing));
    }
    let Some(wanted) = &cli.session else { return Ok((new(), Ask::Nothing)) };
    let path = find(&place(ground), &ground.cwd, wanted)?;
    if !ground.headless
        && let Some(folder) = shelf(ground).missing_folder(&path)
    {
        return Ok((new(), Ask::Folder { path, folder }));
    }
    Ok((Found::At(path), Ask::Nothing))
}

/// The sessions that are not open.
pub(super) fn shelf(ground: &Ground) -> Shelf {
    Shelf::new(place(ground), ground.paths.trash(), ground.cwd.clone())
}

/// The folder a session works in: the one it began in, else one that was chosen for it, else the
/// current one, which is then written down as chosen and said.
pub(super) fn folder(ground: &Ground, session: &mut Session, notices: &mut Vec<String>) -> PathBuf {
    let own = PathBuf::from(&session.header().cwd);
    if own.is_dir() {
        return own;
    }
    let here = ground.cwd.clone();
    let Some(path) = session.path().filter(|path| path.exists()) else { return here };
    if let Some(chosen) = chosen_folder(&Disk, path).filter(|chosen| chosen.is_dir()) {
        return chosen;
    }
    let gone = format!("the folder {} of this session is gone", own.display());
    notices.push(format!("{gone}; from now on it works in {}", here.display()));
    if session.holder().is_none()
        && let Err(error) = session.append(vec![folder_choice(&here)], Flush::Sync)
    {
        notices.push(format!("that could not be written down: {error}"));
    }
    here
}

/// The whole tree of a session, copied into this folder.
fn fork(ground: &Ground, wanted: &str) -> Result<PathBuf, Stop> {
    let place = place(ground);
    let path = find(&place, &ground.cwd, wanted)?;
    let copied = SessionView::read(&place.files, &path)
        .and_then(|view| view.copy(&place, &CopyPoint::Tree, &ground.cwd))
        .map_err(|error| Stop::failed(error.to_string()))?;
    Ok(copied.path)
}

/// The session a front end asks for.
pub(super) fn which(ground: &Ground, which: Which) -> Result<Found, HarnessError> {
    match which {
        Which::New => Ok(Found::New(Box::new(Session::create(place(ground), &ground.cwd)))),
        Which::Path(path) => Ok(Found::At(path)),
        Which::Recent => {
            let place = place(ground);
            match most_recent(&*place.files, &place.root, &ground.cwd) {
                Some(path) => Ok(Found::At(path)),
                None => Err(HarnessError::new(
                    ErrorCode::InvalidState,
                    format!(
                        "there is no session of {} yet: start one without --continue, or see harness-tui sessions list --all",
                        ground.cwd.display()
                    ),
                )),
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
pub(super) fn find(place: &Place, cwd: &Path, wanted: &str) -> Result<PathBuf, Stop> {
    let path = cwd.join(wanted);
    if path.exists() || wanted.contains('/') || wanted.ends_with(".jsonl") {
        return Ok(path);
    }
    find_by_prefix(&*place.files, &place.root, wanted)
        .map_err(|error| Stop::failed(error.to_string()))
}
