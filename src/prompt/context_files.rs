//! Context files: rules of a project that people keep beside their code.
//!
//! From the filesystem root down to the working folder, plus the configuration folder; per folder
//! the first of `AGENTS.override.md`, `AGENTS.md`, `CLAUDE.md`; each real file once.

use std::collections::HashSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

const NAMES: [&str; 3] = ["AGENTS.override.md", "AGENTS.md", "CLAUDE.md"];
/// A context file beyond this is cut: it would crowd out the conversation.
const MAX_BYTES: u64 = 64 * 1024;

/// One file, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    pub path: PathBuf,
    pub text: String,
}

impl ContextFile {
    pub(super) fn rendered(&self) -> String {
        format!("# Project instructions from {}\n\n{}", self.path.display(), self.text.trim())
    }
}

/// Reads the files for `cwd`, outermost first. What cannot be read is left out and named in the
/// second list.
pub fn context_files(config_dir: &Path, cwd: &Path) -> (Vec<ContextFile>, Vec<String>) {
    let mut dirs: Vec<&Path> = cwd.ancestors().collect();
    dirs.push(config_dir);
    dirs.reverse();
    let mut seen = HashSet::new();
    let mut files = Vec::new();
    let mut notices = Vec::new();
    for dir in dirs {
        let Some(path) = NAMES.iter().map(|name| dir.join(name)).find(|path| path.is_file()) else {
            continue;
        };
        let real = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        if !seen.insert(real) {
            continue;
        }
        match read(&path) {
            Ok((text, cut)) => {
                if cut {
                    notices.push(format!(
                        "{} is longer than {} KB: only the beginning is used",
                        path.display(),
                        MAX_BYTES / 1024
                    ));
                }
                if !text.trim().is_empty() {
                    files.push(ContextFile { path, text });
                }
            }
            Err(error) => notices.push(format!("cannot read {}: {error}", path.display())),
        }
    }
    (files, notices)
}

fn read(path: &Path) -> std::io::Result<(String, bool)> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    let cut = bytes.len() as u64 > MAX_BYTES;
    if cut {
        bytes.truncate(usize::try_from(MAX_BYTES).unwrap_or(usize::MAX));
    }
    Ok((String::from_utf8_lossy(&bytes).into_owned(), cut))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn outer_files_come_first_and_one_file_a_folder() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("a/b");
        let config = root.path().join("config");
        fs::create_dir_all(&inner).unwrap();
        fs::create_dir_all(&config).unwrap();
        fs::write(config.join("AGENTS.md"), "mine").unwrap();
        fs::write(root.path().join("a/AGENTS.md"), "outer").unwrap();
        fs::write(root.path().join("a/CLAUDE.md"), "not read").unwrap();
        fs::write(inner.join("CLAUDE.md"), "inner").unwrap();
        let (files, notices) = context_files(&config, &inner);
        let texts: Vec<&str> = files.iter().map(|file| file.text.as_str()).collect();
        assert_eq!(texts, ["mine", "outer", "inner"]);
        assert_eq!(notices, Vec::<String>::new());
    }

    #[test]
    fn the_same_real_file_is_used_once() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("a");
        fs::create_dir_all(&inner).unwrap();
        fs::write(root.path().join("AGENTS.md"), "once").unwrap();
        std::os::unix::fs::symlink(root.path().join("AGENTS.md"), inner.join("AGENTS.md")).unwrap();
        let (files, _) = context_files(&root.path().join("none"), &inner);
        assert_eq!(files.len(), 1);
    }

    #[test]
    fn a_giant_file_is_cut_and_named() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("AGENTS.md"), vec![b'x'; 70_000]).unwrap();
        let (files, notices) = context_files(&root.path().join("none"), root.path());
        assert_eq!(files[0].text.len(), 65_536);
        assert!(notices[0].contains("longer than 64 KB"), "{notices:?}");
    }
}
