//! The trash: a session that is removed lies there, with a note of where it came from, until it is
//! restored or purged.
//!
//! It is one flat folder: `<time>_<name>.jsonl`, what a crash set aside beside it, and a note of the
//! same name that ends in `.from`. The note is written before the session moves and goes after it
//! has moved back, so a stop in between loses no session and no way back.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use super::catalog::{self, Listed, Progress};
use super::store::{Access, with_suffix};
use super::{Place, SessionError, lock, name};
use crate::ports::FileSystem;

/// Bytes a copy between two disks holds at a time.
const BLOCK: usize = 1 << 20;
/// Longest note that is read: a path and a number.
const NOTE_BYTES: usize = 64 << 10;
/// Digits of the time in front of a name: any time after 1970 fits, and names sort by it.
const TIME_DIGITS: usize = 13;
/// What a torn last line of a session is kept under.
const TORN: &str = ".torn-";

/// The folder of removed sessions.
#[derive(Debug, Clone)]
pub struct Trash {
    place: Place,
    dir: PathBuf,
}

/// A session in the trash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trashed {
    /// Its path is the one in the trash.
    pub listed: Listed,
    /// Where it was; `None` when nothing says so.
    pub from: Option<PathBuf>,
    /// Unix milliseconds; 0 when nothing says so.
    pub at_ms: i64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Note {
    v: u32,
    from: PathBuf,
    at_ms: i64,
}

impl Trash {
    /// The trash in `dir`, for the sessions of `place`. Nothing is created by looking.
    pub fn new(place: Place, dir: PathBuf) -> Self {
        Self { place, dir }
    }

    fn files(&self) -> &dyn FileSystem {
        self.place.files.as_ref()
    }

    /// Moves a session here; where it lies now.
    ///
    /// # Errors
    /// [`SessionError::InUse`] when this or another process has it open,
    /// [`SessionError::NotASession`], or what the system said; then the session is where it was.
    pub fn put(&self, path: &Path) -> Result<PathBuf, SessionError> {
        let failed = |error| SessionError::io("move to the trash", path, error);
        let path = self.files().canonical(path).map_err(failed)?;
        super::load::probe(self.files(), &path)?;
        let held = self.hold(&path)?;
        self.files().create_dir(&self.dir).map_err(failed)?;
        let at_ms = self.place.clock.now_ms();
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let to = self.free_name(&format!("{at_ms:0TIME_DIGITS$}_{file}"));
        // A path that is no UTF-8 has no JSON form, and then the note says nothing.
        let note =
            serde_json::to_vec(&Note { v: 1, from: path.clone(), at_ms }).unwrap_or_default();
        let note_path = with_suffix(&to, ".from");
        let write = |bytes: &[u8]| {
            let mut file = self.files().create_new(&note_path)?;
            file.append(bytes).and_then(|()| file.sync())
        };
        if let Err(error) = write(&note).and_then(|()| shift(self.files(), &path, &to)) {
            let _ = self.files().remove(&note_path);
            return Err(failed(error));
        }
        self.shift_torn(&path, &to);
        drop(held);
        // Nobody can hold it any more: the session is not there.
        let _ = self.files().remove(&with_suffix(&path, ".lock"));
        Ok(to)
    }

    /// Moves a session back to where it was; where that is. Without a note it goes to the folder its
    /// header names.
    ///
    /// # Errors
    /// [`SessionError::Exists`] when something is there already, [`SessionError::NotASession`], or
    /// what the system said; then it stays in the trash.
    pub fn restore(&self, trashed: &Path) -> Result<PathBuf, SessionError> {
        let failed = |error| SessionError::io("restore", trashed, error);
        super::load::probe(self.files(), trashed)?;
        let to = match self.note(trashed) {
            Some(note) => note.from,
            None => self.home(trashed)?,
        };
        if self.files().facts(&to).is_ok() {
            return Err(SessionError::Exists { path: to });
        }
        if let Some(dir) = to.parent() {
            self.files().create_dir(dir).map_err(failed)?;
        }
        let held = self.hold(&to)?;
        if self.files().facts(&to).is_ok() {
            return Err(SessionError::Exists { path: to });
        }
        shift(self.files(), trashed, &to).map_err(failed)?;
        self.shift_torn(trashed, &to);
        drop(held);
        let _ = self.files().remove(&with_suffix(trashed, ".from"));
        Ok(to)
    }

    /// Tells what lies here, as [`catalog::scan`] does.
    pub fn scan(&self, stop: &AtomicBool, each: &mut dyn FnMut(Progress)) {
        catalog::scan(self.files(), &self.dir, None, stop, each);
    }

    /// What lies here, newest activity first.
    pub fn list(&self) -> Vec<Trashed> {
        catalog::list(self.files(), &self.dir, None)
            .into_iter()
            .map(|listed| {
                let note = self.note(&listed.path);
                let at_ms = note.as_ref().map_or_else(|| time_of(&listed.path), |note| note.at_ms);
                Trashed { listed, from: note.map(|note| note.from), at_ms }
            })
            .collect()
    }

    /// Deletes for good what was put here before `before_ms`; how many sessions that were.
    ///
    /// # Errors
    /// What the system said first; what could be deleted is gone.
    pub fn purge(&self, before_ms: i64) -> Result<usize, SessionError> {
        let mut gone = 0;
        let mut problem = None;
        for path in self.files().list(&self.dir).unwrap_or_default() {
            // Files that nobody put here carry no time and stay.
            let at_ms = time_of(&path);
            if at_ms == 0 || at_ms >= before_ms {
                continue;
            }
            let is_session = path.extension().is_some_and(|end| end == "jsonl");
            match self.files().remove(&path) {
                Ok(()) => gone += usize::from(is_session),
                Err(error) => problem = problem.or(Some((path, error))),
            }
        }
        match problem {
            Some((path, error)) => Err(SessionError::io("delete", &path, error)),
            None => Ok(gone),
        }
    }

    /// The lock of a session, so that nobody opens it while it moves.
    fn hold(&self, path: &Path) -> Result<Access, SessionError> {
        match lock::take(&self.place, path) {
            Ok(Access::ReadOnly(holder)) => {
                Err(SessionError::InUse { path: path.to_owned(), holder })
            }
            Ok(held) => Ok(held),
            Err(error) => Err(SessionError::io("lock", path, error)),
        }
    }

    fn note(&self, trashed: &Path) -> Option<Note> {
        let bytes = self.files().read_range(&with_suffix(trashed, ".from"), 0, NOTE_BYTES).ok()?;
        serde_json::from_slice::<Note>(&bytes).ok().filter(|note| note.from.is_absolute())
    }

    /// Where a session without a note belongs.
    fn home(&self, trashed: &Path) -> Result<PathBuf, SessionError> {
        let why = "it has no session header";
        let header = catalog::header(self.files(), trashed)
            .ok_or_else(|| SessionError::NotASession { path: trashed.to_owned(), why })?;
        let file = trashed.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let file = file.split_once('_').map_or(file.as_str(), |(_, file)| file);
        Ok(self.place.root.join(name::folder_name(Path::new(&header.cwd))).join(file))
    }

    fn free_name(&self, file: &str) -> PathBuf {
        let mut path = self.dir.join(file);
        let mut count = 1_u32;
        while self.files().facts(&path).is_ok() && count < u32::MAX {
            count += 1;
            path = self.dir.join(format!("{}-{count}.jsonl", file.trim_end_matches(".jsonl")));
        }
        path
    }

    /// Takes along what a crash set aside beside the session; what cannot move stays.
    fn shift_torn(&self, from: &Path, to: &Path) {
        let Some(dir) = from.parent() else { return };
        let begin = with_suffix(from, TORN);
        let begin = begin.as_os_str().as_encoded_bytes();
        for path in self.files().list(dir).unwrap_or_default() {
            let bytes = path.as_os_str().as_encoded_bytes();
            if let Some(rest) = bytes.strip_prefix(begin) {
                let suffix = format!("{TORN}{}", String::from_utf8_lossy(rest));
                let _ = shift(self.files(), &path, &with_suffix(to, &suffix));
            }
        }
    }
}

/// The time in front of a name in the trash; 0 when there is none.
fn time_of(path: &Path) -> i64 {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let time = file.split_once('_').map(|(time, _)| time).filter(|time| time.len() >= TIME_DIGITS);
    time.and_then(|time| time.parse().ok()).unwrap_or_default()
}

/// Moves a file to a name that is free, over the edge of a disk too.
fn shift(files: &dyn FileSystem, from: &Path, to: &Path) -> io::Result<()> {
    match files.rename(from, to) {
        Err(error) if error.kind() == ErrorKind::CrossesDevices => {}
        done => return done,
    }
    let copied = copy(files, from, to);
    if copied.is_err() {
        let _ = files.remove(to);
        return copied;
    }
    files.remove(from)
}

fn copy(files: &dyn FileSystem, from: &Path, to: &Path) -> io::Result<()> {
    let mut file = files.create_new(to)?;
    let mut offset = 0;
    loop {
        let bytes = files.read_range(from, offset, BLOCK)?;
        if bytes.is_empty() {
            return file.sync();
        }
        file.append(&bytes)?;
        offset += bytes.len() as u64;
    }
}
