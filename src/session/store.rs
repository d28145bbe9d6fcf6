//! The file of one session: the only code that writes to it.
//!
//! The store knows bytes, not entries. An append either adds all its bytes or leaves the file as it
//! was; what it could not undo it undoes before the next one. A draft (a session not yet begun, or
//! an old file migrated in memory) is the same sequence of bytes, only not yet on the disk.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::load::Tail;
use super::reader::Source;
use super::{Durability, Flush, Place, SessionError, lock};
use crate::ports::{AppendFile, FileLock};

/// A session's bytes and where they are.
#[derive(Debug)]
pub(super) struct Store {
    pub(super) place: Place,
    pub(super) path: PathBuf,
    pub(super) access: Access,
    file: Option<Box<dyn AppendFile>>,
    draft: Option<Draft>,
    /// Bytes of the session that are known, in the draft or in the file.
    pub(super) size: u64,
    pub(super) tail: Tail,
    /// A failed append could not be undone: the file may hold up to this many bytes, only
    /// `size` of them good.
    debt: Option<u64>,
    /// A failed creation could not be undone: the file is ours and may be removed.
    residue: bool,
    poison: Option<String>,
}

/// Whether we may write.
#[derive(Debug)]
pub(super) enum Access {
    /// The lock is taken when the file is created.
    Unlocked,
    Locked(#[expect(dead_code, reason = "held for its lock")] Box<dyn FileLock>),
    /// Why not: who holds the lock, or what the system said.
    ReadOnly(String),
}

#[derive(Debug)]
struct Draft {
    bytes: Arc<Vec<u8>>,
    on_disk: OnDisk,
}

/// What stands on the disk in place of a draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OnDisk {
    Nothing,
    /// An empty file.
    Empty,
    /// The unmigrated file, of that size.
    Old(u64),
}

impl Store {
    /// A session that has no file, or an empty one.
    pub(super) fn new(place: Place, path: PathBuf, header: Vec<u8>, has_file: bool) -> Self {
        let on_disk = if has_file { OnDisk::Empty } else { OnDisk::Nothing };
        Self::with(
            place,
            path,
            Access::Unlocked,
            header.len() as u64,
            Some(Draft { bytes: Arc::new(header), on_disk }),
        )
    }

    /// A file that was read, `size` bytes.
    pub(super) fn opened(
        place: Place,
        path: PathBuf,
        access: Access,
        size: u64,
        tail: Tail,
    ) -> Self {
        Self { tail, ..Self::with(place, path, access, size, None) }
    }

    /// An old file of `old` bytes, migrated to `bytes` in memory.
    pub(super) fn migrated(
        place: Place,
        path: PathBuf,
        access: Access,
        bytes: Vec<u8>,
        old: u64,
        tail: Tail,
    ) -> Self {
        let size = bytes.len() as u64;
        let draft = Draft { bytes: Arc::new(bytes), on_disk: OnDisk::Old(old) };
        Self { tail, ..Self::with(place, path, access, size, Some(draft)) }
    }

    fn with(place: Place, path: PathBuf, access: Access, size: u64, draft: Option<Draft>) -> Self {
        Self {
            place,
            path,
            access,
            file: None,
            draft,
            size,
            tail: Tail::Whole,
            debt: None,
            residue: false,
            poison: None,
        }
    }

    /// Whether nothing has been written yet and a lazy beginning may go on waiting.
    pub(super) fn is_unborn(&self) -> bool {
        self.draft.as_ref().is_some_and(|draft| !matches!(draft.on_disk, OnDisk::Old(_)))
    }

    /// Where the bytes are now.
    pub(super) fn source(&self) -> Source {
        let path = self.path.clone();
        match &self.draft {
            Some(draft) => Source::Draft { bytes: Arc::clone(&draft.bytes), path },
            None => Source::File { files: Arc::clone(&self.place.files), path },
        }
    }

    /// Everything that is known, as bytes.
    pub(super) fn bytes(&self) -> Result<Vec<u8>, SessionError> {
        self.source().read(0, usize::try_from(self.known_end()).unwrap_or(usize::MAX))
    }

    /// Bytes of [`Store::source`] that are whole lines.
    pub(super) fn known_end(&self) -> u64 {
        match (&self.draft, &self.tail) {
            (None, Tail::Torn { offset }) => *offset,
            _ => self.size,
        }
    }

    /// Refuses when nothing may be written.
    pub(super) fn may_write(&self) -> Result<(), SessionError> {
        let path = self.path.clone();
        if let Access::ReadOnly(holder) = &self.access {
            return Err(SessionError::ReadOnly { path, holder: holder.clone() });
        }
        match &self.poison {
            Some(cause) => Err(SessionError::Poisoned { path, cause: cause.clone() }),
            None => Ok(()),
        }
    }

    /// Compares the file with what is known and undoes what an earlier append left. `true` when
    /// another program added bytes behind [`Store::size`].
    pub(super) fn has_grown(&mut self) -> Result<bool, SessionError> {
        let known = match self.draft.as_ref().map(|draft| draft.on_disk) {
            Some(OnDisk::Nothing) => return Ok(false),
            Some(OnDisk::Empty) => 0,
            Some(OnDisk::Old(size)) => size,
            None => self.size,
        };
        let facts = match self.place.files.facts(&self.path) {
            Ok(facts) => facts,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Err(SessionError::Changed { path: self.path.clone() });
            }
            Err(error) => return Err(self.error("look at", error)),
        };
        if let Some(at_most) = self.debt.take()
            && facts.len > known
            && facts.len <= at_most
        {
            let file = self.open()?;
            if let Err(error) = file.truncate(known) {
                self.debt = Some(at_most);
                return Err(self.error("cut a failed write off", error));
            }
            return Ok(false);
        }
        match facts.len.cmp(&known) {
            std::cmp::Ordering::Equal => Ok(false),
            std::cmp::Ordering::Greater if self.draft.is_none() => {
                // The other program may have put a new file in its place.
                self.file = None;
                Ok(true)
            }
            _ => Err(SessionError::Changed { path: self.path.clone() }),
        }
    }

    /// Appends whole lines. `begins` tells whether they bring a new session to the disk; until then
    /// they wait in the draft. Returns where the first line begins; `None` when the lines are
    /// written but another program wrote in the same moment, so that the file has to be read again.
    pub(super) fn append(
        &mut self,
        lines: &[u8],
        flush: Flush,
        begins: bool,
    ) -> Result<Option<u64>, SessionError> {
        self.may_write()?;
        if self.is_unborn() {
            return self.append_draft(lines, flush, begins).map(Some);
        }
        self.rewrite()?;
        self.set_torn_aside()?;
        let newline: &[u8] = if self.tail == Tail::Unterminated { b"\n" } else { b"" };
        let start = self.size + newline.len() as u64;
        let bytes = if newline.is_empty() { lines.to_vec() } else { [newline, lines].concat() };
        let known = self.size;
        let file = self.open()?;
        if let Err(error) = file.append(&bytes) {
            self.undo(known, bytes.len());
            return Err(self.error("write to", error));
        }
        self.sync(flush, |store| store.undo(known, bytes.len()))?;
        self.size = known + bytes.len() as u64;
        self.tail = Tail::Whole;
        // A size that cannot be told is no reason to fail what is written.
        let size = self.file.as_mut().and_then(|file| file.size().ok());
        Ok(if size.is_none_or(|size| size == self.size) { Some(start) } else { None })
    }

    fn append_draft(
        &mut self,
        lines: &[u8],
        flush: Flush,
        begins: bool,
    ) -> Result<u64, SessionError> {
        let start = self.size;
        if begins {
            self.begin(lines, flush)?;
            self.draft = None;
        } else if let Some(draft) = &mut self.draft {
            Arc::make_mut(&mut draft.bytes).extend_from_slice(lines);
        }
        self.size = start + lines.len() as u64;
        Ok(start)
    }

    /// Creates the file with the draft and the lines in one write.
    fn begin(&mut self, lines: &[u8], flush: Flush) -> Result<(), SessionError> {
        let Some(draft) = &self.draft else { return Ok(()) };
        let bytes = [draft.bytes.as_slice(), lines].concat();
        let is_new = draft.on_disk == OnDisk::Nothing;
        self.take_lock()?;
        let files = self.place.files.clone();
        if self.residue {
            match files.remove(&self.path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(self.error("remove a failed beginning of", error));
                }
                _ => self.residue = false,
            }
        }
        let opened =
            if is_new { files.create_new(&self.path) } else { files.open_append(&self.path) };
        let mut file = match opened {
            Ok(file) => file,
            Err(error) => {
                let exists = error.kind() == ErrorKind::AlreadyExists;
                let is_empty = || files.facts(&self.path).is_ok_and(|facts| facts.len == 0);
                if is_new && !exists && is_empty() {
                    // Created, but its folder could not be synced.
                    self.residue = files.remove(&self.path).is_err();
                }
                return Err(self.error("create", error));
            }
        };
        let written = file.append(&bytes);
        self.file = Some(file);
        if let Err(error) = written {
            self.unbegin(is_new, bytes.len());
            return Err(self.error("write to", error));
        }
        self.sync(flush, |store| store.unbegin(is_new, bytes.len()))
    }

    fn unbegin(&mut self, is_new: bool, written: usize) {
        if is_new {
            self.file = None;
            self.residue = self.place.files.remove(&self.path).is_err();
        } else {
            self.undo(0, written);
        }
    }

    /// Cuts a failed append off, now or before the next one.
    fn undo(&mut self, known: u64, written: usize) {
        let cut = self.file.as_mut().is_some_and(|file| file.truncate(known).is_ok());
        self.debt = if cut { None } else { Some(known + written as u64) };
    }

    fn sync(&mut self, flush: Flush, undo: impl FnOnce(&mut Self)) -> Result<(), SessionError> {
        if flush == Flush::Lazy || self.place.durability == Durability::Process {
            return Ok(());
        }
        let synced = self.file.as_mut().map_or(Ok(()), |file| file.sync());
        let Err(error) = synced else { return Ok(()) };
        undo(self);
        let cause = error.to_string();
        self.poison = Some(cause.clone());
        Err(SessionError::Poisoned { path: self.path.clone(), cause })
    }

    /// Puts a migrated file in place of the old one.
    fn rewrite(&mut self) -> Result<(), SessionError> {
        let Some(draft) = &self.draft else { return Ok(()) };
        if let Tail::Torn { offset } = self.tail {
            self.copy_torn(offset)?;
        }
        let replaced = self.place.files.replace(&self.path, &draft.bytes);
        replaced.map_err(|error| self.error("rewrite", error))?;
        self.draft = None;
        self.file = None;
        self.tail = Tail::Whole;
        Ok(())
    }

    /// Moves a torn last line to a file of its own, so that the next line stands alone.
    fn set_torn_aside(&mut self) -> Result<(), SessionError> {
        let Tail::Torn { offset } = self.tail else { return Ok(()) };
        self.copy_torn(offset)?;
        let cut = self.open()?.truncate(offset);
        cut.map_err(|error| self.error("cut the torn line off", error))?;
        self.size = offset;
        self.tail = Tail::Whole;
        Ok(())
    }

    /// The copy is complete on the disk before anything is cut.
    fn copy_torn(&self, offset: u64) -> Result<(), SessionError> {
        let files = &self.place.files;
        let time = super::name::iso(self.place.clock.now_ms()).replace([':', '.'], "-");
        let aside = with_suffix(&self.path, &format!(".torn-{time}"));
        let failed = |error| SessionError::io("set the torn line aside in", &aside, error);
        let torn = files
            .read_range(&self.path, offset, usize::MAX)
            .map_err(|error| self.error("read", error))?;
        let mut file = match files.create_new(&aside) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => files.open_append(&aside),
            other => other,
        }
        .map_err(failed)?;
        file.append(&torn).map_err(failed)?;
        file.sync().map_err(failed)
    }

    fn take_lock(&mut self) -> Result<(), SessionError> {
        if !matches!(self.access, Access::Unlocked) {
            return Ok(());
        }
        if let Some(dir) = self.path.parent() {
            let made = self.place.files.create_dir(dir);
            made.map_err(|error| SessionError::io("create the folder", dir, error))?;
        }
        match lock::take(&self.place, &self.path) {
            Ok(Access::ReadOnly(holder)) => {
                Err(SessionError::ReadOnly { path: self.path.clone(), holder })
            }
            Ok(access) => {
                self.access = access;
                Ok(())
            }
            Err(error) => Err(self.error("lock", error)),
        }
    }

    fn open(&mut self) -> Result<&mut Box<dyn AppendFile>, SessionError> {
        let file = match self.file.take() {
            Some(file) => file,
            None => {
                let opened = self.place.files.open_append(&self.path);
                opened.map_err(|error| self.error("open", error))?
            }
        };
        Ok(self.file.insert(file))
    }

    fn error(&self, what: &'static str, error: std::io::Error) -> SessionError {
        SessionError::io(what, &self.path, error)
    }
}

/// The path with something added to its last name.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
