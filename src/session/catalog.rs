//! The sessions on disk: listing them, finding one by its id, and the one used last.
//!
//! A file that cannot be read or is no session is passed over, never an error of the list. Nothing
//! is cached and nothing is trusted over the files: the folder a session lies in says nothing, its
//! header's `cwd` does.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use memchr::memmem;

use super::index::{Kind, Role};
use super::line::Shape;
use super::load::{FirstLine, Line, each_line, read_header};
use super::tree::clean_name;
use super::{Header, SessionError, name, parse};
use crate::message::SessionId;
use crate::ports::FileSystem;

/// Bytes of a file that are searched for the header; a list passes over what hides it further in.
const MAX_HEADER: usize = 1 << 20;
/// The first look at a file: most headers are shorter.
const HEADER_BLOCK: usize = 4 << 10;

/// What a list shows of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub path: PathBuf,
    pub id: SessionId,
    pub cwd: String,
    pub name: Option<String>,
    pub parent_session: Option<String>,
    /// Unix milliseconds, 0 when the header does not say.
    pub created_ms: i64,
    /// Time of the last user or assistant message, else of creation. Unix milliseconds.
    pub last_activity_ms: i64,
    /// User and assistant messages, on all branches.
    pub message_count: u64,
    /// One line of the first user message.
    pub first_message: Option<String>,
}

/// The sessions under `root`, newest activity first; with `cwd` only those of that folder.
pub fn list(files: &dyn FileSystem, root: &Path, cwd: Option<&Path>) -> Vec<Listed> {
    // As it was given and with links resolved: a session may have been started from either.
    let cwd = cwd.map(|cwd| {
        let resolved = files.canonical(cwd).unwrap_or_else(|_| cwd.to_owned());
        [name::path_text(cwd), name::path_text(&resolved)]
    });
    let mut listed: Vec<Listed> = headers(files, root)
        .filter(|(_, header)| cwd.as_ref().is_none_or(|cwd| cwd.contains(&header.cwd)))
        .filter_map(|(path, header)| describe(files, &path, header))
        .collect();
    listed.sort_by(|a, b| {
        b.last_activity_ms.cmp(&a.last_activity_ms).then_with(|| b.path.cmp(&a.path))
    });
    listed
}

/// The session of `cwd` whose last user or assistant message is the newest.
pub fn most_recent(files: &dyn FileSystem, root: &Path, cwd: &Path) -> Option<PathBuf> {
    list(files, root, Some(cwd)).into_iter().next().map(|listed| listed.path)
}

/// The session, of any folder, whose id begins with `prefix`; a whole id wins over longer ones.
///
/// # Errors
/// [`SessionError::NoMatch`] and [`SessionError::Ambiguous`].
pub fn find_by_prefix(
    files: &dyn FileSystem,
    root: &Path,
    prefix: &str,
) -> Result<PathBuf, SessionError> {
    let mut found = Vec::new();
    for (path, header) in headers(files, root) {
        if header.id.as_str() == prefix {
            return Ok(path);
        }
        if !prefix.is_empty() && header.id.as_str().starts_with(prefix) {
            found.push(path);
        }
    }
    let wanted = prefix.to_owned();
    match found.len() {
        0 => Err(SessionError::NoMatch { wanted }),
        1 => found.pop().ok_or(SessionError::NoMatch { wanted }),
        count => Err(SessionError::Ambiguous { wanted, count }),
    }
}

/// The session files right under `root` and in its folders, with their headers.
pub(super) fn headers<'a>(
    files: &'a dyn FileSystem,
    root: &Path,
) -> impl Iterator<Item = (PathBuf, Header)> + 'a {
    let is_session = |path: &PathBuf| path.extension().is_some_and(|end| end == "jsonl");
    let mut paths = Vec::new();
    for path in files.list(root).unwrap_or_default() {
        if is_session(&path) {
            paths.push(path);
        } else if files.facts(&path).is_ok_and(|facts| facts.is_dir) {
            paths.extend(files.list(&path).unwrap_or_default().into_iter().filter(is_session));
        }
    }
    paths.into_iter().filter_map(|path| {
        let header = header(files, &path)?;
        Some((path, header))
    })
}

/// The header within the first [`MAX_HEADER`] bytes.
fn header(files: &dyn FileSystem, path: &Path) -> Option<Header> {
    for len in [HEADER_BLOCK, MAX_HEADER] {
        let bytes = files.read_range(path, 0, len).ok()?;
        let is_all = bytes.len() < len;
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if !is_all && !line.ends_with(b"\n") {
                break;
            }
            match read_header(line) {
                FirstLine::Header(header) => return Some(header),
                FirstLine::Other => return None,
                FirstLine::Blank => {}
            }
        }
        if is_all {
            return None;
        }
    }
    None
}

fn describe(files: &dyn FileSystem, path: &Path, header: Header) -> Option<Listed> {
    let created_ms = name::parse_iso(&header.timestamp).unwrap_or_default();
    let mut listed = Listed {
        path: path.to_owned(),
        id: header.id,
        cwd: header.cwd,
        name: None,
        parent_session: header.parent_session,
        created_ms,
        last_activity_ms: created_ms,
        message_count: 0,
        first_message: None,
    };
    let mut last = None;
    each_line(files, path, 0, &mut |line| {
        if let Line::Read { bytes, .. } = line
            && is_told(bytes)
            && let Some(shape) = Shape::of(&parse::readable(bytes))
        {
            listed.take(&shape, &mut last);
        }
        ControlFlow::Continue(())
    })
    .ok()?;
    listed.last_activity_ms = last.unwrap_or(created_ms);
    Some(listed)
}

/// Whether a line can be a message of a person or a model, or a name. Most bytes of a session are
/// results of tools, which need no closer look.
fn is_told(line: &[u8]) -> bool {
    let has = |word: &[u8]| memmem::find(line, word).is_some();
    has(b"\"user\"") || has(b"\"assistant\"") || has(b"\"session_info\"")
}

impl Listed {
    fn take(&mut self, shape: &Shape<'_>, last: &mut Option<i64>) {
        match shape.kind() {
            Kind::SessionInfo => {
                let words = shape.words.as_deref().map(clean_name);
                self.name = words.filter(|name| !name.is_empty());
            }
            Kind::Message if matches!(shape.said.role, Some(Role::User | Role::Assistant)) => {
                self.message_count += 1;
                let entry_time = || shape.timestamp.as_deref().and_then(name::parse_iso);
                *last = (*last).max(shape.said.timestamp.or_else(entry_time));
                if self.first_message.is_none()
                    && shape.said.role == Some(Role::User)
                    && !shape.said.preview.is_empty()
                {
                    self.first_message = Some(shape.said.preview.clone());
                }
            }
            _ => {}
        }
    }
}
