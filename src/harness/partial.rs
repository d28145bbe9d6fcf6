//! The answer under way, kept in a file so that a crash does not lose what was already read.
//!
//! Written without a sync, at most every two seconds; a lost partial costs nothing but the sight of it.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::message::{Part, Partial, SessionId};

/// Milliseconds between two writes.
const EVERY_MS: i64 = 2000;

#[derive(Debug)]
pub(super) struct PartialFile {
    path: PathBuf,
    written: Option<i64>,
}

impl PartialFile {
    pub(super) fn new(state_dir: &Path, session: &SessionId) -> Self {
        // A session id may come from a foreign file; only harmless characters reach the path.
        let name: String = session
            .as_str()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
            .take(100)
            .collect();
        Self { path: state_dir.join("partial").join(format!("{name}.json")), written: None }
    }

    /// Takes note of the answer so far. A failure is silent: the file is a courtesy.
    pub(super) fn note(&mut self, partial: &Partial, now: i64) {
        if self.written.is_some_and(|last| now - last < EVERY_MS) {
            return;
        }
        self.written = Some(now);
        let Ok(json) = serde_json::to_vec(&partial.content_without_calls()) else { return };
        if let Err(error) = self.write(&json) {
            tracing::debug!("cannot keep the partial answer in {}: {error}", self.path.display());
        }
    }

    pub(super) fn read(&self) -> Option<Vec<Part>> {
        let parts: Vec<Part> = serde_json::from_slice(&fs::read(&self.path).ok()?).ok()?;
        (!parts.is_empty()).then_some(parts)
    }

    pub(super) fn clear(&mut self) {
        if self.written.take().is_some() || self.path.exists() {
            let _ = fs::remove_file(&self.path);
        }
    }

    fn write(&self, bytes: &[u8]) -> std::io::Result<()> {
        if let Some(dir) = self.path.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        }
        let next = self.path.with_extension("next");
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&next)?;
        std::io::Write::write_all(&mut file, bytes)?;
        fs::rename(next, &self.path)
    }
}
