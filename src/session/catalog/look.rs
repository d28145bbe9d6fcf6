//! One look at one session file: its header, what its two ends tell, or all of it.
//!
//! The ends are enough for a list to be right at once: the first prompt stands at the beginning, the
//! last message and mostly the last name at the end. What may stand anywhere needs the whole file.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::LazyLock;

use memchr::memmem;

use super::Listed;
use crate::ports::FileSystem;
use crate::session::index::{Kind, Role};
use crate::session::line::Shape;
use crate::session::load::{FirstLine, Line, each_line, read_header};
use crate::session::tree::clean_name;
use crate::session::{Header, name, parse};

/// Bytes of a file that are searched for the header; a list passes over what hides it further in.
const MAX_HEADER: usize = 1 << 20;
/// The first look at a file: most headers are shorter.
const HEADER_BLOCK: usize = 4 << 10;
/// Files up to this size are read whole: it costs no more than a look at both ends.
const WHOLE: u64 = 256 << 10;
/// Bytes of either end of a larger file.
const END: usize = 64 << 10;
/// The end grows to this in search of a message: a screenshot as the last result fits.
const END_MAX: usize = 4 << 20;

/// The header within the first [`MAX_HEADER`] bytes.
pub(in crate::session) fn header(files: &dyn FileSystem, path: &Path) -> Option<Header> {
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

/// What a list shows of the session at `path`; its ends are read. `None` when it is no session.
pub fn look(files: &dyn FileSystem, path: &Path) -> Option<Listed> {
    glance(files, path, header(files, path)?)
}

/// What the whole file tells.
pub(super) fn whole(files: &dyn FileSystem, path: &Path, header: Header) -> Option<Listed> {
    let mut told = Told::default();
    each_line(files, path, 0, &mut |line| {
        if let Line::Read { bytes, .. } = line {
            told.take(bytes);
        }
        ControlFlow::Continue(())
    })
    .ok()?;
    Some(told.listed(path, header, true))
}

/// What the two ends of a file tell; all of it when it is small.
pub(super) fn glance(files: &dyn FileSystem, path: &Path, header: Header) -> Option<Listed> {
    let len = files.facts(path).ok()?.len;
    if len <= WHOLE {
        return whole(files, path, header);
    }
    let mut told = Told::default();
    let start = files.read_range(path, 0, END).ok()?;
    told.take_all(whole_lines(&start));
    let end = last_lines(files, path, len, |end| {
        let mut told = Told::default();
        told.take_all(end);
        told.last_ms.is_some().then_some(told)
    });
    if let Some(end) = end {
        told.name = end.name.or(told.name);
        told.last_ms = told.last_ms.max(end.last_ms);
    }
    Some(told.listed(path, header, false))
}

/// Hands over the lines at the end of a file, more and more of them, until `take` is content.
pub(super) fn last_lines<T>(
    files: &dyn FileSystem,
    path: &Path,
    len: u64,
    take: impl Fn(&[u8]) -> Option<T>,
) -> Option<T> {
    let mut size = END;
    loop {
        let from = len.saturating_sub(size as u64);
        let bytes = files.read_range(path, from, size).ok()?;
        let lines = if from == 0 { &bytes } else { after_newline(&bytes) };
        if let Some(taken) = take(lines) {
            return Some(taken);
        }
        if from == 0 || size >= END_MAX {
            return None;
        }
        size *= 8;
    }
}

fn after_newline(bytes: &[u8]) -> &[u8] {
    let start = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |at| at + 1);
    bytes.get(start..).unwrap_or_default()
}

fn whole_lines(bytes: &[u8]) -> &[u8] {
    let end = memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1);
    bytes.get(..end).unwrap_or_default()
}

/// Whether a line can be a message of a person or a model, or a name. Most bytes of a session are
/// results of tools, which need no closer look.
fn is_told(line: &[u8]) -> bool {
    TOLD.iter().any(|word| word.find(line).is_some())
}

/// Made once: making a finder costs as much as looking through a line.
static TOLD: LazyLock<[memmem::Finder<'static>; 3]> =
    LazyLock::new(|| ["\"user\"", "\"assistant\"", "\"session_info\""].map(memmem::Finder::new));

/// What the lines so far told.
#[derive(Debug, Default)]
struct Told {
    /// The last name; `Some("")` when it was taken away.
    name: Option<String>,
    last_ms: Option<i64>,
    count: u64,
    first: Option<String>,
}

impl Told {
    fn take_all(&mut self, bytes: &[u8]) {
        for line in bytes.split(|byte| *byte == b'\n') {
            self.take(line);
        }
    }

    fn take(&mut self, line: &[u8]) {
        if !is_told(line) {
            return;
        }
        match Shape::of(line) {
            Some(shape) => self.take_shape(&shape),
            None => {
                let line = parse::readable(line);
                Shape::of(&line).iter().for_each(|shape| self.take_shape(shape));
            }
        }
    }

    fn take_shape(&mut self, shape: &Shape<'_>) {
        match shape.kind() {
            Kind::SessionInfo => {
                self.name = Some(shape.words.as_deref().map(clean_name).unwrap_or_default());
            }
            Kind::Message if matches!(shape.said.role, Some(Role::User | Role::Assistant)) => {
                self.count += 1;
                let entry_time = || shape.timestamp.as_deref().and_then(name::parse_iso);
                self.last_ms = self.last_ms.max(shape.said.timestamp.or_else(entry_time));
                if self.first.is_none()
                    && shape.said.role == Some(Role::User)
                    && !shape.said.preview.is_empty()
                {
                    self.first = Some(shape.said.preview.clone());
                }
            }
            _ => {}
        }
    }

    fn listed(self, path: &Path, header: Header, is_whole: bool) -> Listed {
        let created_ms = name::parse_iso(&header.timestamp).unwrap_or_default();
        Listed {
            path: path.to_owned(),
            id: header.id,
            cwd: header.cwd,
            name: self.name.filter(|name| !name.is_empty()),
            parent_session: header.parent_session,
            created_ms,
            last_activity_ms: self.last_ms.unwrap_or(created_ms),
            message_count: self.count,
            first_message: self.first,
            is_whole,
        }
    }
}
