//! The paths that models write, made into paths of this machine, and back into text.
//!
//! All file tools read a path the same way: `~`, a leading `@` (a mention), odd spaces copied from
//! prose, and everything relative to the session's folder.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

use crate::text::truncate;

/// Links followed before a path counts as a loop; the kernel's own number.
const MAX_LINKS: usize = 40;
/// Bytes of a path; the kernel takes no longer one.
const MAX_PATH_BYTES: usize = 4096;
/// Characters of a summary line.
const MAX_SUMMARY_CHARS: usize = 200;

/// The path as it is meant. A file that has the very name wins over every rewriting.
pub(crate) fn resolve(raw: &str, cwd: &Path) -> PathBuf {
    let verbatim = cwd.join(raw);
    if raw.is_empty() || raw.len() > MAX_PATH_BYTES || exists(&verbatim) {
        return verbatim;
    }
    let spaced = plain_spaces(raw);
    let is_in_at_folder = || {
        let first = Path::new(raw).components().next();
        first.is_some_and(|first| raw.contains('/') && exists(&cwd.join(first)))
    };
    let plain = match spaced.strip_prefix('@') {
        Some(rest) if !is_in_at_folder() => rest,
        _ => spaced.as_ref(),
    };
    match (plain.strip_prefix('~'), std::env::var_os("HOME")) {
        (Some(""), Some(home)) => PathBuf::from(home),
        (Some(rest), Some(home)) if rest.starts_with('/') => {
            Path::new(&home).join(rest.trim_start_matches('/'))
        }
        _ => cwd.join(plain),
    }
}

/// Like [`resolve`], and when there is no such file the spellings that macOS gives file names: a
/// narrow space before AM and PM, decomposed letters, a curly apostrophe.
pub(crate) fn resolve_existing(raw: &str, cwd: &Path) -> PathBuf {
    let path = resolve(raw, cwd);
    if exists(&path) || path.as_os_str().len() > MAX_PATH_BYTES {
        return path;
    }
    let text = path.to_string_lossy().into_owned();
    let narrow = text.replace(" AM", "\u{202f}AM").replace(" PM", "\u{202f}PM");
    let decomposed: String = text.nfd().collect();
    let curly = text.replace('\'', "\u{2019}");
    let both: String = curly.nfd().collect();
    let spellings = [narrow, decomposed, curly, both].map(PathBuf::from);
    spellings.into_iter().find(|spelling| exists(spelling)).unwrap_or(path)
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn plain_spaces(raw: &str) -> Cow<'_, str> {
    let is_odd = |c: char| {
        matches!(c, '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
    };
    if raw.contains(is_odd) { raw.replace(is_odd, " ").into() } else { raw.into() }
}

/// The real path: links followed, `..` taken away, also when the file or its folders are still to
/// be made. A loop of links, or a path that is too long for any file, stays as it stands.
pub(crate) fn real(path: &Path) -> PathBuf {
    if path.as_os_str().len() > MAX_PATH_BYTES {
        return path.to_owned();
    }
    let mut path = path.to_owned();
    let mut missing: Vec<OsString> = Vec::new();
    let mut links = 0;
    loop {
        if let Ok(found) = path.canonicalize() {
            return missing.iter().rev().fold(found, |path, name| path.join(name));
        }
        if let Ok(target) = path.read_link()
            && links < MAX_LINKS
        {
            links += 1;
            path = path.parent().unwrap_or(Path::new("/")).join(target);
            continue;
        }
        match path.components().next_back() {
            Some(Component::Normal(name)) => {
                missing.push(name.to_owned());
                path.pop();
            }
            Some(Component::ParentDir) => {
                // Below a folder that does not exist: the name before it goes.
                path.pop();
                path.pop();
            }
            _ => return missing.iter().rev().fold(path, |path, name| path.join(name)),
        }
    }
}

/// A path for reading: invalid bytes as U+FFFD, control characters escaped, so that one name is one
/// line. At most about 4096 bytes.
pub(crate) fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    let text = truncate::excerpt(&text, MAX_PATH_BYTES);
    if text.contains(char::is_control) {
        let escape =
            |c: char| if c.is_control() { c.escape_default().to_string() } else { c.into() };
        return text.chars().map(escape).collect();
    }
    text.into_owned()
}

/// The path argument, whatever of the usual names it came under.
pub(crate) fn mend_name(mut arguments: Value) -> Value {
    if let Value::Object(map) = &mut arguments
        && !map.contains_key("path")
    {
        for name in ["file_path", "filePath", "filename"] {
            if let Some(path) = map.shift_remove(name) {
                map.insert("path".to_owned(), path);
                break;
            }
        }
    }
    arguments
}

/// The `path` argument, or the folder itself where a tool allows that.
pub(crate) fn argument(arguments: &Value) -> &str {
    arguments.get("path").and_then(Value::as_str).unwrap_or(".")
}

/// The start of a text as one summary line.
pub(crate) fn summary(text: &str) -> String {
    text.chars().map(|c| if c == '\n' { ' ' } else { c }).take(MAX_SUMMARY_CHARS).collect()
}

/// What a search looks for, and where when it is not the working folder.
pub(crate) fn search_summary(arguments: &Value) -> String {
    let pattern = arguments.get("pattern").and_then(Value::as_str).unwrap_or_default();
    summary(&match argument(arguments) {
        "." => pattern.to_owned(),
        path => format!("{pattern} in {path}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mentions_home_and_odd_spaces_are_understood() {
        let dir = tempfile::tempdir().unwrap();
        let cwd = dir.path();
        assert_eq!(resolve("@a.txt", cwd), cwd.join("a.txt"));
        assert_eq!(resolve("a\u{a0}b", cwd), cwd.join("a b"));
        assert_eq!(resolve("/abs", cwd), Path::new("/abs"));
        let home = std::env::var_os("HOME").unwrap();
        assert_eq!(resolve("~/x", cwd), Path::new(&home).join("x"));
        std::fs::create_dir(cwd.join("@types")).unwrap();
        assert_eq!(resolve("@types/new.ts", cwd), cwd.join("@types/new.ts"));
        std::fs::write(cwd.join("caf\u{65}\u{301}"), "").unwrap();
        assert_eq!(resolve_existing("caf\u{e9}", cwd), cwd.join("caf\u{65}\u{301}"));
    }

    #[test]
    fn the_real_path_of_what_is_not_there_yet_follows_links() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("real")).unwrap();
        std::os::unix::fs::symlink("real", root.join("link")).unwrap();
        std::os::unix::fs::symlink("real/later", root.join("dangling")).unwrap();
        std::os::unix::fs::symlink("loop", root.join("loop")).unwrap();
        assert_eq!(real(&root.join("link/new/f")), root.join("real/new/f"));
        assert_eq!(real(&root.join("dangling")), root.join("real/later"));
        assert_eq!(real(&root.join("gone/../real/x")), root.join("real/x"));
        assert_eq!(real(&root.join("loop")), root.join("loop"));
    }

    #[test]
    fn a_name_is_always_one_line() {
        assert_eq!(shown(Path::new("a\nb\x1b[m")), "a\\nb\\u{1b}[m");
        assert_eq!(
            mend_name(serde_json::json!({"file_path": "x"})),
            serde_json::json!({"path": "x"})
        );
    }
}
