//! A file system that breaks on purpose, around any other one.
//!
//! Operations are counted from 1 over the file system and all its open files together, so that a
//! test can let each one of a run fail in turn.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::{AppendFile, FileFacts, FileLock, FileSystem};

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Operation `nth` fails with `kind` and does nothing; an append first writes half its bytes.
    Fail { nth: u64, kind: ErrorKind },
    /// The operations `from` to `to` fail as `Fail` does, then all is well again.
    Outage { from: u64, to: u64, kind: ErrorKind },
    /// Every sync fails.
    Sync,
    /// Operation `nth` and all after it fail, as if the program had been killed there; an append
    /// that is hit writes half its bytes first.
    Stop { nth: u64 },
    /// Nothing.
    None,
}

/// The wrapper. Clones share the count.
#[derive(Debug, Clone)]
pub struct FaultyFs {
    inner: Arc<dyn FileSystem>,
    faults: Arc<Faults>,
}

#[derive(Debug)]
struct Faults {
    fault: Fault,
    armed: AtomicBool,
    count: AtomicU64,
}

impl Faults {
    /// Counts one operation and says whether it breaks.
    fn next(&self, is_sync: bool) -> io::Result<()> {
        if !self.armed.load(Ordering::SeqCst) {
            return Ok(());
        }
        let count = self.count.fetch_add(1, Ordering::SeqCst) + 1;
        let kind = match self.fault {
            Fault::Fail { nth, kind } if nth == count => kind,
            Fault::Outage { from, to, kind } if (from..=to).contains(&count) => kind,
            Fault::Stop { nth } if count >= nth => ErrorKind::Other,
            Fault::Sync if is_sync => ErrorKind::Other,
            _ => return Ok(()),
        };
        Err(io::Error::new(kind, format!("injected fault at operation {count}")))
    }
}

impl FaultyFs {
    pub fn new(inner: Arc<dyn FileSystem>, fault: Fault) -> Self {
        let faults = Faults { fault, armed: AtomicBool::new(true), count: AtomicU64::new(0) };
        Self { inner, faults: Arc::new(faults) }
    }

    /// How many operations were counted.
    pub fn operations(&self) -> u64 {
        self.faults.count.load(Ordering::SeqCst)
    }

    /// Stops or starts counting and breaking.
    pub fn arm(&self, armed: bool) {
        self.faults.armed.store(armed, Ordering::SeqCst);
    }

    fn file(&self, inner: Box<dyn AppendFile>) -> Box<dyn AppendFile> {
        Box::new(FaultyFile { inner, faults: Arc::clone(&self.faults) })
    }

    fn next(&self) -> io::Result<()> {
        self.faults.next(false)
    }
}

#[derive(Debug)]
struct FaultyFile {
    inner: Box<dyn AppendFile>,
    faults: Arc<Faults>,
}

impl AppendFile for FaultyFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = self.faults.next(false) {
            let half = bytes.get(..bytes.len() / 2).unwrap_or_default();
            self.inner.append(half)?;
            return Err(error);
        }
        self.inner.append(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.faults.next(true)?;
        self.inner.sync()
    }

    fn size(&mut self) -> io::Result<u64> {
        self.faults.next(false)?;
        self.inner.size()
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.faults.next(false)?;
        self.inner.truncate(len)
    }
}

impl FileSystem for FaultyFs {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.next()?;
        self.inner.read(path)
    }

    fn read_range(&self, path: &Path, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        self.next()?;
        self.inner.read_range(path, offset, len)
    }

    fn facts(&self, path: &Path) -> io::Result<FileFacts> {
        self.next()?;
        self.inner.facts(path)
    }

    fn modified_ms(&self, path: &Path) -> io::Result<i64> {
        self.next()?;
        self.inner.modified_ms(path)
    }

    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        self.next()?;
        self.inner.canonical(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        self.next()?;
        self.inner.list(dir)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.next()?;
        self.inner.create_dir(dir)
    }

    fn create_new(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.next()?;
        Ok(self.file(self.inner.create_new(path)?))
    }

    fn open_append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.next()?;
        Ok(self.file(self.inner.open_append(path)?))
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.next()?;
        self.inner.replace(path, bytes)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.next()?;
        self.inner.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.next()?;
        self.inner.remove(path)
    }

    fn make_private(&self, path: &Path) -> io::Result<()> {
        self.next()?;
        self.inner.make_private(path)
    }

    fn lock(&self, path: &Path, note: &str) -> io::Result<Option<Box<dyn FileLock>>> {
        self.next()?;
        self.inner.lock(path, note)
    }
}
