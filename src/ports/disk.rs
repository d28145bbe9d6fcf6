//! The real file system: private modes, syncs and advisory locks of the standard library.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::{AppendFile, FileFacts, FileLock, FileSystem};

const PRIVATE_FILE: u32 = 0o600;
const PRIVATE_DIR: u32 = 0o700;

/// The disk of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

#[derive(Debug)]
struct DiskFile(File);

impl AppendFile for DiskFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn size(&mut self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }
}

/// The lock goes with the open file.
#[derive(Debug)]
struct DiskLock(#[expect(dead_code, reason = "held open for its lock")] File);

impl FileLock for DiskLock {}

fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => File::open(dir)?.sync_all(),
        _ => Ok(()),
    }
}

impl FileSystem for Disk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        fs::read(path)
    }

    fn read_range(&self, path: &Path, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::new();
        file.take(len as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn facts(&self, path: &Path) -> io::Result<FileFacts> {
        let meta = fs::metadata(path)?;
        Ok(FileFacts {
            len: meta.len(),
            is_dir: meta.is_dir(),
            mode: meta.permissions().mode() & 0o7777,
        })
    }

    fn modified_ms(&self, path: &Path) -> io::Result<i64> {
        let since = fs::metadata(path)?.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        fs::canonicalize(path)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        let mut paths = Vec::new();
        for entry in fs::read_dir(dir)? {
            paths.push(entry?.path());
        }
        paths.sort();
        Ok(paths)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(PRIVATE_DIR).create(dir)
    }

    fn create_new(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let file =
            OpenOptions::new().append(true).create_new(true).mode(PRIVATE_FILE).open(path)?;
        file.set_permissions(Permissions::from_mode(PRIVATE_FILE))?;
        sync_parent(path)?;
        Ok(Box::new(DiskFile(file)))
    }

    fn open_append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        Ok(Box::new(DiskFile(OpenOptions::new().append(true).open(path)?)))
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let dir = path.parent().unwrap_or(Path::new("."));
        let mut temporary = tempfile::NamedTempFile::new_in(dir)?;
        temporary.write_all(bytes)?;
        temporary.as_file().sync_all()?;
        temporary.persist(path).map_err(|error| error.error)?;
        sync_parent(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)?;
        sync_parent(to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn make_private(&self, path: &Path) -> io::Result<()> {
        fs::set_permissions(path, Permissions::from_mode(PRIVATE_FILE))
    }

    fn lock(&self, path: &Path, note: &str) -> io::Result<Option<Box<dyn FileLock>>> {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(PRIVATE_FILE)
            .open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        file.set_len(0)?;
        file.write_all(note.as_bytes())?;
        Ok(Some(Box::new(DiskLock(file))))
    }
}
