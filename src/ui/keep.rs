//! What outlives the program: drafts per session, stash and prompts per project, in the state
//! directory. Every file is private and replaced as a whole.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::ports::FileSystem;
use crate::ui::composer::HISTORY_MAX;

/// A longer draft is not kept: it came from a paste, and the file is rewritten while typing.
const DRAFT_BYTES: usize = 16 * 1024 * 1024;
/// A longer prompt is not remembered: it came from a paste and would be loaded at every start.
const PROMPT_BYTES: usize = 64 * 1024;
/// A history file beyond this was not written by us; it is left alone.
const HISTORY_BYTES: u64 = 64 * 1024 * 1024;

/// The state directory.
#[derive(Debug, Clone)]
pub struct Keep {
    files: Arc<dyn FileSystem>,
    dir: PathBuf,
    /// The project's folder, which history and stash belong to.
    project: String,
}

/// What was kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    pub draft: String,
    pub stash: Option<String>,
    /// Oldest first, at most [`HISTORY_MAX`].
    pub history: Vec<String>,
}

/// A line of `history.jsonl`.
#[derive(Serialize, Deserialize)]
struct Prompt {
    project: String,
    text: String,
}

impl Keep {
    pub fn new(files: Arc<dyn FileSystem>, dir: PathBuf, project: String) -> Self {
        Self { files, dir, project }
    }

    /// What is kept for a session. What cannot be read counts as not there.
    pub fn load(&self, session: &str) -> Kept {
        let text = |path: &Path| {
            let small = self.files.facts(path).is_ok_and(|facts| facts.len <= DRAFT_BYTES as u64);
            let bytes = small.then(|| self.files.read(path).ok()).flatten();
            bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        };
        Kept {
            draft: text(&self.draft_path(session)).unwrap_or_default(),
            stash: text(&self.stash_path()),
            history: self
                .prompts()
                .unwrap_or_default()
                .into_iter()
                .filter(|prompt| prompt.project == self.project)
                .map(|prompt| prompt.text)
                .collect(),
        }
    }

    /// Keeps the draft of a session; an empty one is removed.
    ///
    /// # Errors
    /// When the state directory cannot be written.
    pub fn save_draft(&self, session: &str, text: &str) -> io::Result<()> {
        self.save(&self.draft_path(session), text)
    }

    /// Keeps the stash of the project; `None` removes it.
    ///
    /// # Errors
    /// When the state directory cannot be written.
    pub fn save_stash(&self, text: Option<&str>) -> io::Result<()> {
        self.save(&self.stash_path(), text.unwrap_or_default())
    }

    fn save(&self, path: &Path, text: &str) -> io::Result<()> {
        if text.is_empty() || text.len() > DRAFT_BYTES {
            return match self.files.remove(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            };
        }
        if let Some(dir) = path.parent() {
            self.files.create_dir(dir)?;
        }
        self.files.replace(path, text.as_bytes())
    }

    /// Adds a prompt to the project's history, unless it repeats the last one.
    ///
    /// # Errors
    /// When the history cannot be read or written; nothing is lost then.
    pub fn remember(&self, text: &str) -> io::Result<()> {
        if text.trim().is_empty() || text.len() > PROMPT_BYTES {
            return Ok(());
        }
        self.files.create_dir(&self.dir)?;
        // Another instance may add at the same time; the lock is waited for by neither, so the later
        // one reads what the earlier one wrote or leaves its prompt out of the file.
        let lock = self.files.lock(&self.dir.join("history.lock"), "history")?;
        if lock.is_none() {
            return Ok(());
        }
        let mut prompts = self.prompts()?;
        let ours = |prompt: &&Prompt| prompt.project == self.project;
        if prompts.iter().rfind(ours).is_some_and(|last| last.text == text) {
            return Ok(());
        }
        prompts.push(Prompt { project: self.project.clone(), text: text.to_owned() });
        let mut surplus = prompts.iter().filter(ours).count().saturating_sub(HISTORY_MAX);
        prompts.retain(|prompt| {
            let drop = surplus > 0 && prompt.project == self.project;
            surplus -= usize::from(drop);
            !drop
        });
        let mut bytes = Vec::new();
        for prompt in &prompts {
            bytes.extend(serde_json::to_vec(prompt)?);
            bytes.push(b'\n');
        }
        self.files.replace(&self.history_path(), &bytes)
    }

    /// Every prompt of every project. Lines that do not parse are left out.
    fn prompts(&self) -> io::Result<Vec<Prompt>> {
        let path = self.history_path();
        match self.files.facts(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
            Ok(facts) if facts.len > HISTORY_BYTES => {
                return Err(io::Error::other("history.jsonl is too large; move it away"));
            }
            Ok(_) => {}
        }
        let bytes = self.files.read(&path)?;
        let lines = bytes.split(|byte| *byte == b'\n');
        Ok(lines.filter_map(|line| serde_json::from_slice(line).ok()).collect())
    }

    fn history_path(&self) -> PathBuf {
        self.dir.join("history.jsonl")
    }

    fn draft_path(&self, session: &str) -> PathBuf {
        self.dir.join("drafts").join(file_name(session))
    }

    fn stash_path(&self) -> PathBuf {
        self.dir.join("stash").join(digest(&self.project))
    }
}

/// A session id as a file name: itself when it is harmless, else its digest.
fn file_name(id: &str) -> String {
    const LONGEST: usize = 100;
    let harmless = !id.is_empty()
        && id.len() <= LONGEST
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    if harmless { id.to_owned() } else { digest(id) }
}

fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::Disk;

    fn keep(dir: &Path, project: &str) -> Keep {
        Keep::new(Arc::new(Disk), dir.to_owned(), project.into())
    }

    #[test]
    fn drafts_come_back_and_an_empty_one_leaves_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let keep = keep(dir.path(), "/p");
        keep.save_draft("s1", "half a\nthought").unwrap();
        assert_eq!(keep.load("s1").draft, "half a\nthought");
        assert_eq!(keep.load("s2"), Kept::default());
        keep.save_draft("s1", "").unwrap();
        keep.save_draft("s1", "").unwrap();
        assert!(!dir.path().join("drafts/s1").exists());
    }

    #[test]
    fn a_hostile_session_id_stays_inside_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        keep(dir.path(), "/p").save_draft("../../evil", "x").unwrap();
        let names: Vec<_> = std::fs::read_dir(dir.path().join("drafts")).unwrap().collect();
        assert_eq!(names.len(), 1);
        assert_eq!(keep(dir.path(), "/p").load("../../evil").draft, "x");
    }

    #[test]
    fn history_is_per_project_bounded_and_without_repetitions() {
        let dir = tempfile::tempdir().unwrap();
        keep(dir.path(), "/q").remember("other").unwrap();
        let keep = keep(dir.path(), "/p");
        std::fs::write(dir.path().join("history.jsonl"), "not json\n").unwrap();
        for number in 0..=HISTORY_MAX {
            keep.remember(&format!("prompt {number}")).unwrap();
            keep.remember(&format!("prompt {number}")).unwrap();
        }
        let history = keep.load("s").history;
        assert_eq!(history.len(), HISTORY_MAX);
        assert_eq!((history[0].as_str(), history[99].as_str()), ("prompt 1", "prompt 100"));
    }
}
