//! Taking a session file from anywhere into the sessions of its folder.
//!
//! The lines come along byte for byte; only the header changes, and only when it must: an old
//! version, no folder, or an id that another session here has already, because two files of one id
//! would hide each other.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::load::{FirstLine, read_header};
use super::new_file::NewFile;
use super::snapshot::SessionView;
use super::{Place, SessionError, catalog, migrate, name, splice};
use crate::message::SessionId;

/// Bytes that are copied at once.
const BLOCK: u64 = 1 << 20;
/// Names that are tried before giving up: `-1`, `-2`, …
const TRIES: usize = 1000;

/// What an import came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    pub path: PathBuf,
    pub id: SessionId,
    /// The folder the session works in; it may be missing on this machine.
    pub cwd: String,
    /// The file that has the session's own id already, so that the copy got a new one.
    pub taken_by: Option<PathBuf>,
    pub notices: Vec<String>,
}

/// Copies a session file of any version into `place`. A torn last line is left out. `cwd` stands in
/// for a folder that the header does not name.
///
/// # Errors
/// [`SessionError::NotASession`], [`SessionError::NotFound`], or what the system said; nothing is
/// left behind then.
pub fn import(place: &Place, file: &Path, cwd: &Path) -> Result<Imported, SessionError> {
    let view = SessionView::read(&place.files, file)?;
    let own = &view.header.id;
    let files = place.files.as_ref();
    let is_own =
        |path: &PathBuf| catalog::header(files, path).is_some_and(|header| header.id == *own);
    let taken_by = catalog::find_by_prefix(files, &place.root, own.as_str()).ok().filter(is_own);
    let keeps_id = taken_by.is_none() && super::check_id(own.as_str()).is_ok();
    let id = if keeps_id { own.clone() } else { SessionId::new() };
    let folder = match view.header.cwd.as_str() {
        "" => name::path_text(cwd),
        cwd => cwd.to_owned(),
    };
    let created = name::parse_iso(&view.header.timestamp).unwrap_or_else(|| place.clock.now_ms());
    let path = name::file_path(&place.root, Path::new(&folder), created, &id);
    if let Some(dir) = path.parent() {
        let made = place.files.create_dir(dir);
        made.map_err(|error| SessionError::io("create the folder", dir, error))?;
    }
    let mut out = free_name(place, &path)?;
    let mut changes = Vec::new();
    if !keeps_id {
        changes.push(("id", id.as_str()));
    }
    if view.header.cwd.is_empty() {
        changes.push(("cwd", folder.as_str()));
    }
    copy_lines(&view, &changes, &mut out)?;
    let path = out.finish()?;
    Ok(Imported { path, id, cwd: folder, taken_by, notices: view.notices })
}

/// The file under its own name, or with `-1`, `-2`, … when that is taken.
fn free_name(place: &Place, path: &Path) -> Result<NewFile, SessionError> {
    let stem = path.with_extension("");
    let mut tried = path.to_owned();
    for number in 1..=TRIES {
        match NewFile::create(place.files.clone(), &tried) {
            Err(SessionError::Exists { .. }) => {
                let mut next = stem.clone().into_os_string();
                next.push(format!("-{number}.jsonl"));
                tried = PathBuf::from(next);
            }
            other => return other,
        }
    }
    Err(SessionError::Exists { path: path.to_owned() })
}

fn copy_lines(
    view: &SessionView,
    changes: &[(&str, &str)],
    out: &mut NewFile,
) -> Result<(), SessionError> {
    let is_old = migrate::is_old(&view.header);
    let source = if is_old { &view.tree.reader.source } else { &view.raw };
    let end = if is_old { u64::MAX } else { view.raw_end };
    let failed = |error: io::Error| SessionError::io("write", Path::new("the copy"), error);
    let mut offset = 0;
    let mut head: Vec<u8> = Vec::new();
    let mut is_begun = changes.is_empty();
    while offset < end {
        let len = usize::try_from((end - offset).min(BLOCK)).unwrap_or(usize::MAX);
        let bytes = source.read(offset, len)?;
        if bytes.is_empty() {
            break;
        }
        offset += bytes.len() as u64;
        if is_begun {
            out.write_all(&bytes).map_err(failed)?;
            continue;
        }
        head.extend_from_slice(&bytes);
        if let Some(changed) = with_header(&head, changes, offset >= end) {
            out.write_all(&changed).map_err(failed)?;
            is_begun = true;
            head = Vec::new();
        }
    }
    if !is_begun {
        let changed = with_header(&head, changes, true).unwrap_or(head);
        out.write_all(&changed).map_err(failed)?;
    }
    if !is_old && !view.has_newline {
        out.write_all(b"\n").map_err(failed)?;
    }
    Ok(())
}

/// The beginning of a file with its header changed, once the header is wholly in it.
fn with_header(head: &[u8], changes: &[(&str, &str)], is_all: bool) -> Option<Vec<u8>> {
    let mut start = 0;
    for line in head.split_inclusive(|byte| *byte == b'\n') {
        if !is_all && !line.ends_with(b"\n") {
            return None;
        }
        if matches!(read_header(line), FirstLine::Header(_)) {
            let mut header = line.to_vec();
            for (field, value) in changes {
                header = splice::set(&header, field, Some(value))?;
            }
            let rest = head.get(start + line.len()..).unwrap_or_default();
            return Some([head.get(..start).unwrap_or_default(), &header, rest].concat());
        }
        start += line.len();
    }
    None
}
