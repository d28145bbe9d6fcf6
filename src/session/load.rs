//! Reading a session file in blocks, without ever holding more of it than one line.
//!
//! Reading never mends: what is wrong is noted, and the writer puts it right before its first
//! append.

use std::ops::ControlFlow;
use std::path::Path;

use serde_json::Value;

use super::line::Shape;
use super::tree::Tree;
use super::{Header, SessionError, parse};
use crate::message::SessionId;
use crate::ports::FileSystem;

/// Bytes per read: large enough that opening the file for each does not count.
const BLOCK: usize = 1 << 20;
/// Longest line that is looked at: a message with several large images stays far below.
const MAX_LINE: usize = 256 << 20;

/// How a file ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Tail {
    /// With a newline, or empty.
    #[default]
    Whole,
    /// With a complete line that has no newline.
    Unterminated,
    /// With a piece of a line that begins at `offset`.
    Torn { offset: u64 },
}

/// A file that was read.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) header: Header,
    pub(super) tree: Tree,
    pub(super) tail: Tail,
    /// Bytes read.
    pub(super) size: u64,
}

/// One line of a file.
pub(super) enum Line<'a> {
    /// Without its newline; `ended` tells whether it had one.
    Read { bytes: &'a [u8], offset: u64, ended: bool },
    /// Longer than any line that is looked at.
    TooLong { offset: u64, ended: bool },
}

/// Calls `each` with every line from byte `from` on, in order. Returns the size that was reached.
pub(super) fn each_line(
    files: &dyn FileSystem,
    path: &Path,
    from: u64,
    each: &mut dyn FnMut(Line<'_>) -> ControlFlow<()>,
) -> Result<u64, SessionError> {
    let mut offset = from;
    let mut carry: Vec<u8> = Vec::new();
    let mut carry_offset = from;
    let mut too_long = false;
    loop {
        let block = files
            .read_range(path, offset, BLOCK)
            .map_err(|error| SessionError::io("read", path, error))?;
        if block.is_empty() {
            break;
        }
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', &block) {
            let rest = block.get(start..end).unwrap_or_default();
            let line = if too_long {
                Line::TooLong { offset: carry_offset, ended: true }
            } else if carry.is_empty() {
                Line::Read { bytes: rest, offset: offset + start as u64, ended: true }
            } else {
                carry.extend_from_slice(rest);
                Line::Read { bytes: &carry, offset: carry_offset, ended: true }
            };
            if each(line).is_break() {
                return Ok(offset + end as u64 + 1);
            }
            carry.clear();
            too_long = false;
            start = end + 1;
            carry_offset = offset + start as u64;
        }
        if !too_long {
            carry.extend_from_slice(block.get(start..).unwrap_or_default());
        }
        if carry.len() > MAX_LINE {
            carry = Vec::new();
            too_long = true;
        }
        offset += block.len() as u64;
    }
    if too_long {
        let _ = each(Line::TooLong { offset: carry_offset, ended: false });
    } else if !carry.is_empty() {
        let _ = each(Line::Read { bytes: &carry, offset: carry_offset, ended: false });
    }
    Ok(offset)
}

/// All bytes from `from` on: what another program added since the file was read.
pub(super) fn read_from(
    files: &dyn FileSystem,
    path: &Path,
    from: u64,
) -> Result<Vec<u8>, SessionError> {
    files.read_range(path, from, usize::MAX).map_err(|error| SessionError::io("read", path, error))
}

/// Takes bytes that begin at `from` in the file. It cannot fail half-way, because the index of a
/// session never takes a line back.
pub(super) fn take_bytes(bytes: &[u8], from: u64, tree: &mut Tree) -> Tail {
    let mut tail = Tail::Whole;
    let mut offset = from;
    for raw in bytes.split_inclusive(|byte| *byte == b'\n') {
        let bytes = raw.strip_suffix(b"\n").unwrap_or(raw);
        let ended = bytes.len() < raw.len();
        take_line(&Line::Read { bytes, offset, ended }, tree, &mut tail);
        offset += raw.len() as u64;
    }
    tail
}

fn take_line(line: &Line<'_>, tree: &mut Tree, tail: &mut Tail) {
    match *line {
        Line::Read { bytes, offset, ended: true } => tree.take(bytes, offset),
        Line::Read { bytes, offset, ended: false } => {
            if is_object(bytes) {
                tree.take(bytes, offset);
                *tail = Tail::Unterminated;
            } else {
                *tail = Tail::Torn { offset };
            }
        }
        Line::TooLong { ended: true, .. } => tree.skip(),
        Line::TooLong { offset, ended: false } => *tail = Tail::Torn { offset },
    }
}

fn is_object(bytes: &[u8]) -> bool {
    Shape::of(bytes).is_some() || Shape::of(&parse::readable(bytes)).is_some()
}

/// Reads a whole session file of version 3, or only the header of an older one: its entries mean
/// something only after migration.
pub(super) fn load(files: &dyn FileSystem, path: &Path) -> Result<Loaded, SessionError> {
    let mut tree = Tree::default();
    let mut tail = Tail::Whole;
    let mut header = None;
    let mut why = "it has no header";
    let size = each_line(files, path, 0, &mut |line| {
        if header.is_some() {
            take_line(&line, &mut tree, &mut tail);
            return ControlFlow::Continue(());
        }
        let Line::Read { bytes, ended, .. } = line else {
            tree.skip();
            return ControlFlow::Continue(());
        };
        match read_header(bytes) {
            FirstLine::Header(found) => {
                tree.pass();
                if !ended {
                    tail = Tail::Unterminated;
                }
                let is_old = found.version < super::migrate::VERSION;
                header = Some(found);
                if is_old { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            }
            FirstLine::Blank => {
                tree.take(bytes, 0);
                ControlFlow::Continue(())
            }
            FirstLine::Other => {
                why = "its first line is no session header";
                ControlFlow::Break(())
            }
        }
    })?;
    match header {
        Some(header) => Ok(Loaded { header, tree, tail, size }),
        None => Err(SessionError::NotASession { path: path.to_owned(), why }),
    }
}

/// Checks that the file begins as a session does.
pub(super) fn probe(files: &dyn FileSystem, path: &Path) -> Result<(), SessionError> {
    let mut found = false;
    each_line(files, path, 0, &mut |line| {
        let Line::Read { bytes, .. } = line else { return ControlFlow::Continue(()) };
        match read_header(bytes) {
            FirstLine::Blank => ControlFlow::Continue(()),
            FirstLine::Header(_) => {
                found = true;
                ControlFlow::Break(())
            }
            FirstLine::Other => ControlFlow::Break(()),
        }
    })?;
    if found {
        return Ok(());
    }
    Err(SessionError::NotASession { path: path.to_owned(), why: "it has no session header" })
}

/// How bytes end, whatever they are.
pub(super) fn tail_of(bytes: &[u8]) -> Tail {
    let start = memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1);
    match bytes.get(start..).unwrap_or_default() {
        [] => Tail::Whole,
        rest if is_object(rest) => Tail::Unterminated,
        _ => Tail::Torn { offset: start as u64 },
    }
}

/// What a line before the header is.
pub(super) enum FirstLine {
    Header(Header),
    /// Blank or no JSON: the header may still come.
    Blank,
    Other,
}

/// Reads a header line. Only a type of `session` and an id are asked for.
pub(super) fn read_header(line: &[u8]) -> FirstLine {
    let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
    let text = parse::readable(line);
    let Ok(value) = serde_json::from_slice::<Value>(&text) else { return FirstLine::Blank };
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    match (text("type").as_deref(), text("id")) {
        (Some("session"), Some(id)) if !id.is_empty() => FirstLine::Header(Header {
            version: match value.get("version") {
                None => 1,
                Some(version) => version
                    .as_u64()
                    .and_then(|v| u32::try_from(v).ok())
                    .unwrap_or(super::migrate::VERSION),
            },
            id: SessionId::from(id),
            timestamp: text("timestamp").unwrap_or_default(),
            cwd: text("cwd").unwrap_or_default(),
            parent_session: text("parentSession"),
            metadata: value.get("metadata").filter(|value| value.is_object()).cloned(),
        }),
        _ => FirstLine::Other,
    }
}
