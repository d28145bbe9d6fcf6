//! A file system that counts syncs.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use harness_tui::ports::{AppendFile, FileFacts, FileLock, FileSystem};

#[derive(Debug)]
pub(crate) struct SyncCount {
    inner: Arc<dyn FileSystem>,
    count: Arc<AtomicU64>,
}

impl SyncCount {
    pub(crate) fn new(inner: Arc<dyn FileSystem>) -> Arc<Self> {
        Arc::new(Self { inner, count: Arc::default() })
    }

    pub(crate) fn syncs(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    fn file(&self, inner: Box<dyn AppendFile>) -> Box<dyn AppendFile> {
        Box::new(Counted { inner, count: Arc::clone(&self.count) })
    }
}

#[derive(Debug)]
struct Counted {
    inner: Box<dyn AppendFile>,
    count: Arc<AtomicU64>,
}

impl AppendFile for Counted {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.inner.append(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.count.fetch_add(1, Ordering::SeqCst);
        self.inner.sync()
    }

    fn size(&mut self) -> io::Result<u64> {
        self.inner.size()
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.inner.truncate(len)
    }
}

impl FileSystem for SyncCount {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.inner.read(path)
    }

    fn read_range(&self, path: &Path, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        self.inner.read_range(path, offset, len)
    }

    fn facts(&self, path: &Path) -> io::Result<FileFacts> {
        self.inner.facts(path)
    }

    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        self.inner.canonical(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        self.inner.list(dir)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.inner.create_dir(dir)
    }

    fn create_new(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        Ok(self.file(self.inner.create_new(path)?))
    }

    fn open_append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        Ok(self.file(self.inner.open_append(path)?))
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.count.fetch_add(1, Ordering::SeqCst);
        self.inner.replace(path, bytes)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.inner.remove(path)
    }

    fn make_private(&self, path: &Path) -> io::Result<()> {
        self.inner.make_private(path)
    }

    fn lock(&self, path: &Path, note: &str) -> io::Result<Option<Box<dyn FileLock>>> {
        self.inner.lock(path, note)
    }
}
