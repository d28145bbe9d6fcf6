//! The sessions that are not open, for a front end: list, search, look at, rename, remove, bring back.
//!
//! Everything here blocks on the disk and may read a lot of it, so a screen calls it from a thread of
//! its own. Whatever may take long tells what it has bit by bit and can be stopped.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::{ErrorCode, HarnessError};
use crate::session::{
    self, CopyPoint, Listed, Place, Progress, Query, Quote, Searched, Session, SessionError,
    SessionView, Trash, chosen_folder,
};

/// Which sessions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Scope {
    /// Those of the current folder.
    #[default]
    Folder,
    All,
    Trash,
}

/// The kept sessions. Clones are the same shelf.
#[derive(Debug, Clone)]
pub struct Shelf {
    place: Place,
    trash: Trash,
    cwd: PathBuf,
}

impl Shelf {
    /// The sessions of `place` and their trash in `trash`, seen from the folder `cwd`.
    pub fn new(place: Place, trash: PathBuf, cwd: PathBuf) -> Self {
        let trash = Trash::new(place.clone(), trash);
        Self { place, trash, cwd }
    }

    /// The folder the front end works in.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    pub fn trash(&self) -> &Trash {
        &self.trash
    }

    /// Lists sessions bit by bit: see [`session::scan`].
    pub fn scan(&self, scope: Scope, stop: &AtomicBool, each: &mut dyn FnMut(Progress)) {
        let files = self.place.files.as_ref();
        match scope {
            Scope::Folder => session::scan(files, &self.place.root, Some(&self.cwd), stop, each),
            Scope::All => session::scan(files, &self.place.root, None, stop, each),
            Scope::Trash => self.trash.scan(stop, each),
        }
    }

    /// Searches the content of sessions bit by bit: see [`session::search`].
    pub fn search(
        &self,
        sessions: &[Arc<Listed>],
        query: &Query,
        stop: &AtomicBool,
        each: &mut dyn FnMut(Searched),
    ) {
        session::search(self.place.files.as_ref(), sessions, query, stop, each);
    }

    /// The row of one session as it is now; `None` when it is none any more.
    pub fn look(&self, path: &Path) -> Option<Listed> {
        session::look(self.place.files.as_ref(), path)
    }

    /// The last messages of a session.
    ///
    /// # Errors
    /// `session` when it cannot be read.
    pub fn preview(&self, path: &Path) -> Result<Vec<Quote>, HarnessError> {
        session::preview(self.place.files.as_ref(), path).map_err(|error| of_session(&error))
    }

    /// Names a session that nobody has open; an empty name takes it away.
    ///
    /// # Errors
    /// `session` when it is open somewhere or cannot be written.
    pub fn rename(&self, path: &Path, name: &str) -> Result<(), HarnessError> {
        let open = Session::open(self.place.clone(), path);
        let mut session = open.map_err(|error| of_session(&error))?;
        if let Some(holder) = session.holder() {
            let error = SessionError::InUse { path: path.to_owned(), holder: holder.to_owned() };
            return Err(of_session(&error));
        }
        session.set_name(name).map(drop).map_err(|error| of_session(&error))
    }

    /// Moves a session to the trash.
    ///
    /// # Errors
    /// `session` when it is open somewhere or cannot be moved.
    pub fn remove(&self, path: &Path) -> Result<PathBuf, HarnessError> {
        self.trash.put(path).map_err(|error| of_session(&error))
    }

    /// Brings a session back from the trash; where it is now.
    ///
    /// # Errors
    /// `session` when its place is taken or it cannot be moved.
    pub fn restore(&self, path: &Path) -> Result<PathBuf, HarnessError> {
        self.trash.restore(path).map_err(|error| of_session(&error))
    }

    /// The folder a session works in, when it is gone and no other was chosen.
    pub fn missing_folder(&self, path: &Path) -> Option<PathBuf> {
        let files = self.place.files.as_ref();
        let is_dir = |folder: &Path| files.facts(folder).is_ok_and(|facts| facts.is_dir);
        let folder = PathBuf::from(self.look(path)?.cwd);
        let known = is_dir(&folder) || chosen_folder(files, path).is_some_and(|at| is_dir(&at));
        (!known).then_some(folder)
    }

    /// Makes a session out of a file.
    ///
    /// # Errors
    /// What the file is not, or what the system said.
    pub fn import(&self, file: &Path) -> Result<PathBuf, HarnessError> {
        session::import(&self.place, file, &self.cwd)
            .map(|imported| imported.path)
            .map_err(|error| of_session(&error))
    }

    /// What is wrong with a file, a line each for people. Nothing is changed.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn verify(&self, path: &Path) -> Result<Vec<String>, HarnessError> {
        let report = session::verify(self.place.files.as_ref(), path);
        let report = report.map_err(|error| of_session(&error))?;
        let mut lines = report.lines();
        if report.is_repairable() {
            lines.push("/repair FILE writes a repaired copy".to_owned());
        }
        Ok(lines)
    }

    /// Writes a repaired copy of a file to `out`, which must not exist; says what was changed.
    ///
    /// # Errors
    /// What cannot be read or written.
    pub fn repair(&self, path: &Path, out: &Path) -> Result<Vec<String>, HarnessError> {
        session::repair(&self.place, path, &self.cwd.join(out), &self.cwd)
            .map(|repaired| repaired.lines())
            .map_err(|error| of_session(&error))
    }

    /// Copies a whole session into the current folder.
    ///
    /// # Errors
    /// What cannot be read or written.
    pub fn fork_here(&self, path: &Path) -> Result<PathBuf, HarnessError> {
        SessionView::read(&self.place.files, path)
            .and_then(|view| view.copy(&self.place, &CopyPoint::Tree, &self.cwd))
            .map(|copied| copied.path)
            .map_err(|error| of_session(&error))
    }
}

fn of_session(error: &SessionError) -> HarnessError {
    HarnessError::new(ErrorCode::Session, error.to_string())
}
