//! A session file looked at as it stands, for the check and the repair: every line, whatever it is.
//!
//! Opening passes over what it cannot use; here each line is kept with its number, so that what is
//! wrong can be named and what is readable can be saved.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;

use memchr::memmem;

use super::line::Shape;
use super::load::{self, FirstLine, Line, Tail};
use super::{Body, Header, Kind, SessionError, migrate, parse};
use crate::message::{EntryId, Message, StopReason};
use crate::ports::FileSystem;

/// Bytes of a broken line that are searched for its id and its parent: writers put them in front.
const FRAGMENT: usize = 4 << 10;

/// Every line of a file.
#[derive(Debug, Default)]
pub(super) struct Inspection {
    pub(super) header: Option<Header>,
    /// The version that stands in the file.
    pub(super) version: u32,
    pub(super) items: Vec<Item>,
    pub(super) broken: Vec<Broken>,
    /// Lines of further headers.
    pub(super) more_headers: Vec<u64>,
    pub(super) tail: Tail,
    /// The migrated bytes of an old file; items count by them.
    pub(super) migrated: Option<Vec<u8>>,
}

/// A line that is an entry.
#[derive(Debug)]
pub(super) struct Item {
    /// From 1. In an old file blank lines are not counted.
    pub(super) line: u64,
    pub(super) offset: u64,
    pub(super) len: usize,
    pub(super) id: Option<EntryId>,
    pub(super) parent: Option<EntryId>,
    pub(super) kind: Kind,
    /// What a label, an edit, a leaf line names.
    pub(super) target: Option<EntryId>,
    pub(super) said: Said,
}

/// What an entry says, as far as a check needs it.
#[derive(Debug, Default)]
pub(super) enum Said {
    #[default]
    Nothing,
    /// A type or role that is known with a body that cannot be read.
    Unreadable,
    User,
    /// The ids of the calls that want a result.
    Answer(Vec<String>),
    /// An answer that failed or was stopped: it is left out of requests with its results.
    Stopped,
    Result(String),
    Compaction {
        first_kept: Option<EntryId>,
        has_tail: bool,
    },
}

/// A line that is none, and what can still be made out in it.
#[derive(Debug)]
pub(super) struct Broken {
    pub(super) line: u64,
    pub(super) id: Option<EntryId>,
    pub(super) parent: Option<EntryId>,
}

/// Looks at every line of a file and changes nothing.
pub(super) fn inspect(files: &dyn FileSystem, path: &Path) -> Result<Inspection, SessionError> {
    let mut found = Inspection::default();
    let mut number = 0;
    load::each_line(files, path, 0, &mut |line| {
        number += 1;
        found.take(&line, number);
        ControlFlow::Continue(())
    })?;
    found.version = found.header.as_ref().map_or(migrate::VERSION, |header| header.version);
    if found.version < migrate::VERSION {
        let old = files.read(path).map_err(|error| SessionError::io("read", path, error))?;
        let bytes = migrate::to_v3(&old);
        let mut new =
            Inspection { version: found.version, tail: found.tail, ..Inspection::default() };
        let mut offset = 0;
        for (number, line) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
            let bytes = line.strip_suffix(b"\n").unwrap_or(line);
            new.take(&Line::Read { bytes, offset, ended: true }, number);
            offset += line.len() as u64;
        }
        // Numbers of broken lines are those of the file as it stands.
        new.broken = found.broken;
        new.migrated = Some(bytes);
        return Ok(new);
    }
    Ok(found)
}

impl Inspection {
    fn take(&mut self, line: &Line<'_>, number: u64) {
        let (bytes, offset, ended) = match *line {
            Line::Read { bytes, offset, ended } => (bytes, offset, ended),
            Line::TooLong { offset, ended } => {
                if ended {
                    self.broken.push(Broken { line: number, id: None, parent: None });
                } else {
                    self.tail = Tail::Torn { offset };
                }
                return;
            }
        };
        if bytes.trim_ascii().is_empty() {
            return;
        }
        let header = read_header(bytes);
        let text = parse::readable(bytes);
        let shape = Shape::of(&text);
        if !ended {
            self.tail = if shape.is_some() { Tail::Unterminated } else { Tail::Torn { offset } };
        }
        if let Some(header) = header {
            match self.header {
                None => self.header = Some(header),
                Some(_) => self.more_headers.push(number),
            }
        } else if let Some(shape) = shape {
            let kind = shape.kind();
            let id = |text: Option<&str>| text.filter(|id| !id.is_empty()).map(EntryId::from);
            self.items.push(Item {
                line: number,
                offset,
                len: bytes.len(),
                id: id(shape.id.as_deref()),
                parent: id(shape.parent.as_deref()),
                kind,
                target: id(shape.target.as_deref()),
                said: said(kind, &text),
            });
        } else if ended {
            self.broken.push(broken(number, bytes));
        }
    }
}

fn read_header(line: &[u8]) -> Option<Header> {
    match load::read_header(line) {
        FirstLine::Header(header) => Some(header),
        FirstLine::Blank | FirstLine::Other => None,
    }
}

fn said(kind: Kind, line: &[u8]) -> Said {
    if !matches!(kind, Kind::Message | Kind::Compaction) {
        return Said::Nothing;
    }
    match parse::entry(line).map(|entry| entry.body) {
        Some(Body::Message { message, .. }) => match message {
            Message::User(_) => Said::User,
            Message::Assistant(answer) => match answer.stop_reason {
                StopReason::Error | StopReason::Aborted => Said::Stopped,
                _ => Said::Answer(answer.tool_calls().map(|call| call.id.clone()).collect()),
            },
            Message::ToolResult(result) => Said::Result(result.tool_call_id),
            _ => Said::Nothing,
        },
        Some(Body::Compaction { first_kept_entry_id, retained_tail, .. }) => {
            Said::Compaction { first_kept: first_kept_entry_id, has_tail: retained_tail.is_some() }
        }
        _ => Said::Unreadable,
    }
}

/// What can still be made out in a broken line.
fn broken(line: u64, bytes: &[u8]) -> Broken {
    let front = bytes.get(..FRAGMENT).unwrap_or(bytes);
    Broken { line, id: text_of(front, b"\"id\""), parent: text_of(front, b"\"parentId\"") }
}

/// The text behind a quoted key, when it is whole and plain.
fn text_of(bytes: &[u8], key: &[u8]) -> Option<EntryId> {
    let at = memmem::find(bytes, key)?;
    let rest = bytes.get(at + key.len()..)?.trim_ascii_start().strip_prefix(b":")?;
    let rest = rest.trim_ascii_start().strip_prefix(b"\"")?;
    let text = rest.get(..memchr::memchr(b'"', rest)?)?;
    let text = std::str::from_utf8(text).ok()?;
    (!text.is_empty() && !text.contains('\\')).then(|| EntryId::from(text))
}

/// Where each id stands first.
pub(super) fn places(items: &[Item]) -> HashMap<&EntryId, usize> {
    let mut places = HashMap::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        if let Some(id) = &item.id {
            places.entry(id).or_insert(at);
        }
    }
    places
}

/// Answers whether one entry stands above another, in one step. Parents stand before children.
pub(super) struct Forest {
    /// Each entry and all below it have the numbers from the first to before the second.
    spans: Vec<(usize, usize)>,
}

impl Forest {
    pub(super) fn new(parents: &[Option<usize>]) -> Self {
        let mut sizes = vec![1_usize; parents.len()];
        for (at, parent) in parents.iter().enumerate().rev() {
            let size = sizes.get(at).copied().unwrap_or(1);
            if let Some(slot) = parent.and_then(|parent| sizes.get_mut(parent)) {
                *slot += size;
            }
        }
        let mut spans: Vec<(usize, usize)> = Vec::with_capacity(parents.len());
        let mut next: Vec<usize> = Vec::with_capacity(parents.len());
        let mut next_root = 0;
        for (parent, size) in parents.iter().zip(&sizes) {
            let slot = match parent.and_then(|parent| next.get_mut(parent)) {
                Some(slot) => slot,
                None => &mut next_root,
            };
            let start = *slot;
            *slot += size;
            spans.push((start, start + size));
            next.push(start + 1);
        }
        Self { spans }
    }

    /// Whether `above` is `below` or on the path to it.
    pub(super) fn is_above(&self, above: usize, below: usize) -> bool {
        match (self.spans.get(above), self.spans.get(below)) {
            (Some((start, end)), Some((at, _))) => start <= at && at < end,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forest_knows_who_stands_above_whom() {
        let forest = Forest::new(&[None, Some(0), Some(0), Some(2), None, Some(1)]);
        let above = |below| (0..6).filter(|a| forest.is_above(*a, below)).collect::<Vec<_>>();
        assert_eq!(above(3), [0, 2, 3]);
        assert_eq!(above(5), [0, 1, 5]);
        assert_eq!(above(4), [4]);
    }

    #[test]
    fn a_broken_line_still_tells_its_links() {
        let line = br#"{"type":"message","id":"b","parentId":"a","timest"#;
        let broken = broken(7, line);
        assert_eq!((broken.id, broken.parent), (Some("b".into()), Some("a".into())));
    }
}
