//! A file system in memory, for sessions that leave nothing behind and for tests.
//!
//! It keeps the promises of the port (exclusive creation, locks, private modes) so that code over
//! it behaves as on a disk. Clones share the same files, as two processes share a disk.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{AppendFile, FileFacts, FileLock, FileSystem};

const PRIVATE_FILE: u32 = 0o600;
const PRIVATE_DIR: u32 = 0o700;

/// Files that live as long as the last clone.
#[derive(Debug, Clone, Default)]
pub struct MemoryFs {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    files: BTreeMap<PathBuf, Node>,
    dirs: BTreeSet<PathBuf>,
    locked: BTreeSet<PathBuf>,
}

/// The content is shared with open files, so that a handle outlives a rename or a removal.
#[derive(Debug, Clone)]
struct Node {
    bytes: Arc<Mutex<Vec<u8>>>,
    mode: u32,
}

impl Node {
    fn new(bytes: Vec<u8>) -> Self {
        Self { bytes: Arc::new(Mutex::new(bytes)), mode: PRIVATE_FILE }
    }
}

/// A panic of another thread leaves plain bytes behind, which are still good.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn missing(path: &Path) -> io::Error {
    io::Error::new(ErrorKind::NotFound, format!("no file {}", path.display()))
}

impl MemoryFs {
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a file there, its folders included, as another program would.
    pub fn put(&self, path: &Path, bytes: impl Into<Vec<u8>>) {
        let mut state = held(&self.state);
        if let Some(dir) = path.parent() {
            state.add_dirs(dir);
        }
        state.files.insert(path.to_owned(), Node::new(bytes.into()));
    }

    /// Adds bytes to a file behind the back of whoever has it open.
    pub fn push(&self, path: &Path, bytes: &[u8]) {
        if let Some(node) = held(&self.state).files.get(path) {
            held(&node.bytes).extend_from_slice(bytes);
        }
    }

    /// Every file, sorted by path.
    pub fn paths(&self) -> Vec<PathBuf> {
        held(&self.state).files.keys().cloned().collect()
    }

    fn node(&self, path: &Path) -> io::Result<Node> {
        held(&self.state).files.get(path).cloned().ok_or_else(|| missing(path))
    }
}

impl State {
    fn add_dirs(&mut self, dir: &Path) {
        for ancestor in dir.ancestors() {
            self.dirs.insert(ancestor.to_owned());
        }
    }

    fn needs_parent(&self, path: &Path) -> io::Result<()> {
        match path.parent() {
            Some(dir) if !self.dirs.contains(dir) => Err(missing(dir)),
            _ => Ok(()),
        }
    }
}

#[derive(Debug)]
struct MemoryFile(Arc<Mutex<Vec<u8>>>);

impl AppendFile for MemoryFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        held(&self.0).extend_from_slice(bytes);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn size(&mut self) -> io::Result<u64> {
        Ok(held(&self.0).len() as u64)
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        held(&self.0).truncate(usize::try_from(len).unwrap_or(usize::MAX));
        Ok(())
    }
}

#[derive(Debug)]
struct MemoryLock {
    state: Arc<Mutex<State>>,
    path: PathBuf,
}

impl FileLock for MemoryLock {}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        held(&self.state).locked.remove(&self.path);
    }
}

impl FileSystem for MemoryFs {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        Ok(held(&self.node(path)?.bytes).clone())
    }

    fn read_range(&self, path: &Path, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let node = self.node(path)?;
        let bytes = held(&node.bytes);
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let end = start.saturating_add(len).min(bytes.len());
        Ok(bytes.get(start..end).unwrap_or_default().to_vec())
    }

    fn facts(&self, path: &Path) -> io::Result<FileFacts> {
        let state = held(&self.state);
        if let Some(node) = state.files.get(path) {
            let len = held(&node.bytes).len() as u64;
            return Ok(FileFacts { len, is_dir: false, mode: node.mode });
        }
        if state.dirs.contains(path) {
            return Ok(FileFacts { len: 0, is_dir: true, mode: PRIVATE_DIR });
        }
        Err(missing(path))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        let state = held(&self.state);
        if !state.dirs.contains(dir) {
            return Err(missing(dir));
        }
        let inside = |path: &&PathBuf| path.parent() == Some(dir);
        let mut paths: Vec<PathBuf> = state.files.keys().filter(inside).cloned().collect();
        paths.extend(state.dirs.iter().filter(inside).cloned());
        paths.sort();
        Ok(paths)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        held(&self.state).add_dirs(dir);
        Ok(())
    }

    fn create_new(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let mut state = held(&self.state);
        state.needs_parent(path)?;
        if state.files.contains_key(path) {
            return Err(io::Error::new(ErrorKind::AlreadyExists, "the file exists"));
        }
        let node = Node::new(Vec::new());
        state.files.insert(path.to_owned(), node.clone());
        Ok(Box::new(MemoryFile(node.bytes)))
    }

    fn open_append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        Ok(Box::new(MemoryFile(self.node(path)?.bytes)))
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut state = held(&self.state);
        state.needs_parent(path)?;
        state.files.insert(path.to_owned(), Node::new(bytes.to_vec()));
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = held(&self.state);
        state.needs_parent(to)?;
        let node = state.files.remove(from).ok_or_else(|| missing(from))?;
        state.files.insert(to.to_owned(), node);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        held(&self.state).files.remove(path).map(drop).ok_or_else(|| missing(path))
    }

    fn make_private(&self, path: &Path) -> io::Result<()> {
        match held(&self.state).files.get_mut(path) {
            Some(node) => {
                node.mode = PRIVATE_FILE;
                Ok(())
            }
            None => Err(missing(path)),
        }
    }

    fn lock(&self, path: &Path, note: &str) -> io::Result<Option<Box<dyn FileLock>>> {
        let mut state = held(&self.state);
        state.needs_parent(path)?;
        if !state.locked.insert(path.to_owned()) {
            return Ok(None);
        }
        state.files.insert(path.to_owned(), Node::new(note.as_bytes().to_vec()));
        Ok(Some(Box::new(MemoryLock { state: Arc::clone(&self.state), path: path.to_owned() })))
    }
}
