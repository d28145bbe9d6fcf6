//! The end of a session file, read backwards: what a screen shows while the file is being opened.
//!
//! It is a look ahead, never the truth: the session that is opened behind it says what holds.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::index::Kind;
use super::line::Shape;
use super::load::{FirstLine, Line, each_line, read_header};
use super::page::{Cut, is_shown};
use super::{Entry, Header, migrate, parse};
use crate::ports::FileSystem;

/// Bytes read at first, from the end; more when the path leaves them.
const FIRST: u64 = 256 << 10;
/// Most bytes read: some milliseconds of parsing.
const MOST: u64 = 4 << 20;

/// The end of the active path of a session that is not open yet.
#[derive(Debug, Clone)]
pub struct Tail {
    pub header: Header,
    pub path: PathBuf,
    /// Root first, as far as a conversation shows them. None when the path goes on too far away.
    pub entries: Vec<Arc<Entry>>,
    /// The path begins with `entries`.
    pub is_whole: bool,
}

/// Reads the end of a session file. `None` when it is no file of the version that we write; whoever
/// opens it says why.
pub fn tail(files: &dyn FileSystem, path: &Path) -> Option<Tail> {
    let path = files.canonical(path).ok()?;
    let header = header(files, &path).filter(|header| header.version == migrate::VERSION)?;
    let size = files.facts(&path).ok()?.len;
    let mut wanted = FIRST;
    loop {
        let start = size.saturating_sub(wanted);
        let bytes = files.read_range(&path, start, usize::try_from(wanted).ok()?).ok()?;
        let lines = match start {
            0 => &*bytes,
            // The first line is most likely the end of one.
            _ => memchr::memchr(b'\n', &bytes).and_then(|end| bytes.get(end + 1..)).unwrap_or(&[]),
        };
        let walk = Walk::of(lines);
        if walk.is_done || start == 0 || wanted >= MOST {
            let is_whole = walk.is_whole;
            return Some(Tail { header, path, entries: walk.entries(), is_whole });
        }
        wanted *= 4;
    }
}

fn header(files: &dyn FileSystem, path: &Path) -> Option<Header> {
    let mut header = None;
    each_line(files, path, 0, &mut |line| {
        let Line::Read { bytes, .. } = line else { return ControlFlow::Break(()) };
        match read_header(bytes) {
            FirstLine::Blank => ControlFlow::Continue(()),
            FirstLine::Other => ControlFlow::Break(()),
            FirstLine::Header(found) => {
                header = Some(found);
                ControlFlow::Break(())
            }
        }
    })
    .ok()?;
    header
}

/// The way up from the leaf through lines read backwards: a parent always stands before its child.
#[derive(Debug, Default)]
struct Walk<'a> {
    /// Leaf first.
    shown: Vec<&'a [u8]>,
    is_whole: bool,
    /// The path is whole or long enough.
    is_done: bool,
}

/// What the walk looks for.
enum Wanted {
    /// The last entry, which is the leaf or names it.
    Last,
    Id(String),
}

impl<'a> Walk<'a> {
    fn of(lines: &'a [u8]) -> Self {
        let mut walk = Self::default();
        let mut cut = Cut::default();
        let mut wanted = Wanted::Last;
        let mut rest = lines;
        while !walk.is_done && !rest.is_empty() {
            let whole = rest.strip_suffix(b"\n").unwrap_or(rest);
            let start = memchr::memrchr(b'\n', whole).map_or(0, |at| at + 1);
            let line = whole.get(start..).unwrap_or_default();
            rest = rest.get(..start).unwrap_or_default();
            let text = parse::readable(line);
            let Some(shape) = Shape::of(&text) else { continue };
            let Some(id) = shape.id.as_deref().filter(|id| !id.is_empty()) else { continue };
            let kind = shape.kind();
            let next = match (&wanted, kind) {
                _ if shape.kind.as_deref() == Some("session") => continue,
                (Wanted::Id(wanted), _) if wanted != id => continue,
                (Wanted::Last, Kind::Leaf) => shape.target.as_deref(),
                _ => shape.parent.as_deref().filter(|parent| *parent != id),
            };
            let is_on_path = !matches!((&wanted, kind), (Wanted::Last, Kind::Leaf));
            if is_on_path && is_shown(kind) {
                walk.shown.push(line);
            }
            match next {
                None => (walk.is_done, walk.is_whole) = (true, true),
                Some(next) => {
                    let len = line.len() as u64;
                    walk.is_done = is_on_path && cut.add(kind, shape.role(), len);
                    wanted = Wanted::Id(next.to_owned());
                }
            }
        }
        walk
    }

    fn entries(self) -> Vec<Arc<Entry>> {
        self.shown.into_iter().rev().filter_map(parse::entry).map(Arc::new).collect()
    }
}
