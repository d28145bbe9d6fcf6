//! Small traits that lower rooms need from the world: files and time.
//!
//! The real ones are here; tests bring a memory file system, a faulty one and a fixed clock. All
//! calls block: the single writer of a session has to wait for the disk before it may act anyway.

use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

mod disk;
mod faulty;
mod memory;

pub use disk::Disk;
pub use faulty::{Fault, FaultyFs};
pub use memory::MemoryFs;

/// What is known of a file without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileFacts {
    pub len: u64,
    pub is_dir: bool,
    /// Unix permission bits (0 where the platform has none).
    pub mode: u32,
}

/// A file that only grows. Owned by the one writer of a session.
pub trait AppendFile: Send + Sync + Debug {
    /// Writes all bytes at the end. On an error any number of them may have been written.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Makes what was appended survive a power cut (`fdatasync`). After an error the file must not
    /// be synced again: the kernel may already have dropped the pages.
    fn sync(&mut self) -> io::Result<()>;
    fn size(&mut self) -> io::Result<u64>;
    /// Cuts the file back to `len` bytes.
    fn truncate(&mut self, len: u64) -> io::Result<()>;
}

/// Held while a lock file is locked; dropping it unlocks.
pub trait FileLock: Send + Sync + Debug {}

/// The files of sessions. Every file created is 0600 and every directory 0700, whatever the umask.
pub trait FileSystem: Send + Sync + Debug {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// At most `len` bytes from `offset`; fewer at the end of the file.
    fn read_range(&self, path: &Path, offset: u64, len: usize) -> io::Result<Vec<u8>>;
    fn facts(&self, path: &Path) -> io::Result<FileFacts>;
    /// When the content last changed, Unix milliseconds; 0 where nobody knows. Good for an order,
    /// never for a truth: copies and clocks lie.
    fn modified_ms(&self, _path: &Path) -> io::Result<i64> {
        Ok(0)
    }
    /// The path with links resolved, so that two names of one file meet at one lock.
    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_owned())
    }
    /// The entries of a directory, full paths, sorted by name.
    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>>;
    /// Creates the directory and its parents.
    fn create_dir(&self, dir: &Path) -> io::Result<()>;
    /// Creates a file that must not exist yet and syncs its directory.
    fn create_new(&self, path: &Path) -> io::Result<Box<dyn AppendFile>>;
    fn open_append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>>;
    /// Replaces the whole content: temporary file beside it, sync, rename, directory sync.
    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Tightens a file to 0600.
    fn make_private(&self, path: &Path) -> io::Result<()>;
    /// Takes an exclusive advisory lock on `path` (created when missing, never removed) and writes
    /// `note` into it. `None` when somebody else holds it; read the file to learn who.
    fn lock(&self, path: &Path, note: &str) -> io::Result<Option<Box<dyn FileLock>>>;
}

/// The time of day.
pub trait Clock: Send + Sync + Debug {
    /// Unix milliseconds.
    fn now_ms(&self) -> i64;
}

/// The clock of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> i64 {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |elapsed| i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX))
    }
}

/// A clock that stands still, in Unix milliseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct FixedClock(pub i64);

impl Clock for FixedClock {
    fn now_ms(&self) -> i64 {
        self.0
    }
}
