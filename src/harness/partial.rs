//! The answer under way, kept in a file so that a crash does not lose what was already read.
//!
//! Written without a sync, at most every two seconds; a lost partial costs nothing but the sight of it.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::message::{Part, Partial, SessionId, TurnId};

/// Milliseconds between two writes.
const EVERY_MS: i64 = 2000;

/// What the file holds, and which answer it belongs to.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    turn: TurnId,
    step: u32,
    content: Vec<Part>,
}

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
    pub(super) fn note(&mut self, turn: &TurnId, step: u32, partial: &Partial, now: i64) {
        if self.written.is_some_and(|last| now - last < EVERY_MS) {
            return;
        }
        self.written = Some(now);
        let kept = Kept { turn: turn.clone(), step, content: partial.content_without_calls() };
        let Ok(json) = serde_json::to_vec(&kept) else { return };
        if let Err(error) = self.write(&json) {
            tracing::debug!("cannot keep the partial answer in {}: {error}", self.path.display());
        }
    }

    /// What had come of that very answer; an older one may have been left by a crash.
    pub(super) fn read(&self, turn: &TurnId, step: u32) -> Option<Vec<Part>> {
        let kept: Kept = serde_json::from_slice(&fs::read(&self.path).ok()?).ok()?;
        let is_it = kept.turn == *turn && kept.step == step && !kept.content.is_empty();
        is_it.then_some(kept.content)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Delta;

    #[test]
    fn only_the_answer_it_was_kept_for_gets_it_back() {
        let dir = tempfile::tempdir().unwrap();
        let mut file = PartialFile::new(dir.path(), &"s".into());
        let mut partial = Partial::default();
        partial.apply(&Delta::TextStart { index: 0 });
        partial.apply(&Delta::TextDelta { index: 0, delta: "half".into() });
        file.note(&"t1".into(), 2, &partial, 0);
        assert_eq!(file.read(&"t1".into(), 2), Some(vec![Part::text("half")]));
        assert_eq!(file.read(&"t1".into(), 3), None);
        assert_eq!(file.read(&"t2".into(), 2), None);
        file.clear();
        assert_eq!(file.read(&"t1".into(), 2), None);
    }
}
