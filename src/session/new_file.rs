//! A file that comes into being whole or not at all, and never over another.
//!
//! The name is taken first with an empty file, which nobody else can take then; the bytes go to a
//! file beside it that replaces the empty one at the end. What is left of a failure is removed.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use uuid::Uuid;

use super::SessionError;
use super::store::with_suffix;
use crate::ports::{AppendFile, FileSystem};

/// Bytes that are collected before they are written.
const BUFFER: usize = 1 << 20;

/// A file under construction. Dropping it without [`NewFile::finish`] leaves nothing behind.
#[derive(Debug)]
pub struct NewFile {
    files: Arc<dyn FileSystem>,
    path: PathBuf,
    part: PathBuf,
    file: Option<Box<dyn AppendFile>>,
    buffer: Vec<u8>,
}

impl NewFile {
    /// Takes the name. The folder must be there.
    ///
    /// # Errors
    /// [`SessionError::Exists`] when something of that name is there, else what the system said.
    pub fn create(files: Arc<dyn FileSystem>, path: &Path) -> Result<Self, SessionError> {
        drop(files.create_new(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => SessionError::Exists { path: path.to_owned() },
            _ => SessionError::io("create", path, error),
        })?);
        let part = with_suffix(path, &format!(".part-{}", Uuid::new_v4().simple()));
        let file = match files.create_new(&part) {
            Ok(file) => file,
            Err(error) => {
                let _ = files.remove(path);
                return Err(SessionError::io("create", &part, error));
            }
        };
        Ok(Self { files, path: path.to_owned(), part, file: Some(file), buffer: Vec::new() })
    }

    /// Makes the file appear with everything that was written, safely on the disk.
    ///
    /// # Errors
    /// What the system said; nothing is left behind then.
    pub fn finish(mut self) -> Result<PathBuf, SessionError> {
        let failed = |error| SessionError::io("write", &self.path, error);
        let mut file = self.file.take();
        let written = match &mut file {
            Some(file) => file.append(&self.buffer).and_then(|()| file.sync()),
            None => Ok(()),
        };
        let renamed = written.and_then(|()| self.files.rename(&self.part, &self.path));
        if let Err(error) = renamed {
            self.file = file;
            return Err(failed(error));
        }
        Ok(self.path.clone())
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(file) = &mut self.file {
            file.append(&self.buffer)?;
        }
        self.buffer.clear();
        Ok(())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            let _ = self.files.remove(&self.part);
            let _ = self.files.remove(&self.path);
        }
    }
}
