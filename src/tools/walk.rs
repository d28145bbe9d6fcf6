//! Goes through a tree of files as searches see it: hidden files in, ignored ones out.
//!
//! Rules come from `.gitignore` and `.ignore` files, inside git or not. An own walk instead of the
//! library's, because searches tell what was ignored: such an entry is reported, never entered, so a
//! folder of 200,000 ignored files costs one line.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use ignore::{IncrementalIgnore, WalkBuilder};
use tokio_util::sync::CancellationToken;

/// Entries looked at in one search; at this point the question is too wide.
const MAX_ENTRIES: usize = 2_000_000;
/// Folders inside folders; deeper ones are built by accident.
const MAX_DEPTH: usize = 200;

/// One file or folder below the root.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) path: PathBuf,
    /// From the root.
    pub(crate) relative: PathBuf,
    pub(crate) is_dir: bool,
    /// A regular file; links, pipes and devices are not.
    pub(crate) is_file: bool,
    pub(crate) is_ignored: bool,
}

/// How a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Complete,
    /// By the visitor or a cancel.
    Stopped,
    /// After two million entries.
    TooMany,
}

/// Visits all entries below `root`, folders before their content, names in order. Links are never
/// followed. `.git` is left out altogether.
pub(crate) fn walk(
    root: &Path,
    cancel: &CancellationToken,
    mut visit: impl FnMut(&Entry) -> ControlFlow<()>,
) -> Ended {
    let mut rules = WalkBuilder::new(root)
        .hidden(false)
        .require_git(false)
        .git_ignore(true)
        .ignore(true)
        .parents(true)
        .build_matchers();
    let mut levels = vec![list(root, Path::new(""), rules.first_mut())];
    let mut seen = 0;
    while let Some(level) = levels.last_mut() {
        let Some(entry) = level.next() else {
            levels.pop();
            continue;
        };
        seen += 1;
        if seen > MAX_ENTRIES {
            return Ended::TooMany;
        }
        if cancel.is_cancelled() || visit(&entry).is_break() {
            return Ended::Stopped;
        }
        if entry.is_dir && !entry.is_ignored && levels.len() < MAX_DEPTH {
            levels.push(list(&entry.path, &entry.relative, rules.first_mut()));
        }
    }
    Ended::Complete
}

/// The entries of one folder. One that cannot be read is empty, as in every search tool.
fn list(
    dir: &Path,
    relative: &Path,
    mut rules: Option<&mut IncrementalIgnore>,
) -> std::vec::IntoIter<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for found in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let (name, Ok(kind)) = (found.file_name(), found.file_type()) else { continue };
        if name == ".git" {
            continue;
        }
        let relative = relative.join(&name);
        let is_ignored = rules
            .as_deref_mut()
            .is_some_and(|rules| rules.matched(&relative, kind.is_dir()).is_ignore());
        entries.push(Entry {
            path: dir.join(&name),
            relative,
            is_dir: kind.is_dir(),
            is_file: kind.is_file(),
            is_ignored,
        });
    }
    entries.sort_unstable_by(|a, b| a.relative.cmp(&b.relative));
    entries.into_iter()
}
