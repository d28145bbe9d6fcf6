//! A session at one moment, for everything that only reads it: copies, exports, sums.
//!
//! It is taken from an open session or read from a closed file without its lock, so a session that
//! another instance holds can still be copied. Lines are handed out as they stand in the file: what
//! is copied keeps the fields that nobody here knows.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::line::Shape;
use super::load::{self, Tail};
use super::reader::{Reader, Source};
use super::tree::{Tree, TreeView};
use super::{Header, Kind, Node, Place, Position, Session, SessionError, migrate, parse};
use crate::message::EntryId;
use crate::ports::FileSystem;

/// Longest gap between two wanted lines that is read rather than jumped over.
const GAP: u64 = 64 << 10;
/// Most bytes that are read at once: lines longer than this are read alone.
const BLOCK: u64 = 1 << 20;

/// Takes a line with its place.
pub(super) type Each<'e> = &'e mut dyn FnMut(Position, &Node, &[u8]) -> Result<(), SessionError>;

/// A session at one moment. Clones are cheap; any thread may read.
#[derive(Debug, Clone)]
pub struct SessionView {
    pub header: Header,
    /// The file; `None` for a session in memory.
    pub path: Option<PathBuf>,
    pub name: Option<String>,
    pub tree: TreeView,
    /// What was noticed while reading: bad lines, a torn tail.
    pub notices: Vec<String>,
    /// The file as it stands, old versions unmigrated.
    pub(super) raw: Source,
    /// Bytes of `raw` that are whole lines.
    pub(super) raw_end: u64,
    pub(super) has_newline: bool,
    /// There is no file yet.
    pub(super) is_unborn: bool,
}

impl SessionView {
    /// Reads a file and changes nothing, its lock included. Files of versions 1 and 2 are migrated
    /// in memory.
    ///
    /// # Errors
    /// [`SessionError::NotFound`], [`SessionError::NotASession`], or what the system said.
    pub fn read(files: &Arc<dyn FileSystem>, path: &Path) -> Result<Self, SessionError> {
        let path = real_file(files.as_ref(), path)?;
        let loaded = load::load(files.as_ref(), &path)?;
        let raw = Source::File { files: Arc::clone(files), path: path.clone() };
        let (source, mut tree, tail, size) = if migrate::is_old(&loaded.header) {
            let old = files.read(&path).map_err(|error| SessionError::io("read", &path, error))?;
            let bytes = migrate::to_v3(&old);
            let mut tree = Tree::default();
            migrate::take(&bytes, &mut tree);
            let source = Source::Draft { bytes: Arc::new(bytes), path: path.clone() };
            (source, tree, load::tail_of(&old), old.len() as u64)
        } else {
            (raw.clone(), loaded.tree, loaded.tail, loaded.size)
        };
        let mut notices = tree.take_trouble();
        if matches!(tail, Tail::Torn { .. }) {
            notices.push("the last line is torn and left out".to_owned());
        }
        Ok(Self {
            header: loaded.header,
            path: Some(path),
            name: tree.name.clone(),
            raw,
            raw_end: whole_end(&tail, size),
            has_newline: tail != Tail::Unterminated,
            is_unborn: false,
            tree: TreeView {
                reader: Reader { index: tree.index.clone(), source },
                leaf: tree.leaf,
                labels: Arc::clone(&tree.labels),
            },
            notices,
        })
    }

    /// The raw lines at rising positions, read in few blocks. Stops at the first error.
    pub(super) fn each_line(
        &self,
        positions: &[Position],
        each: Each<'_>,
    ) -> Result<(), SessionError> {
        let index = self.tree.index();
        let source = &self.tree.reader.source;
        let mut rest = positions;
        while let Some((first, more)) = rest.split_first() {
            let Some(node) = index.node(*first) else {
                rest = more;
                continue;
            };
            let start = node.offset;
            let mut end = start + u64::from(node.len);
            let mut count = 1;
            for position in more {
                let Some(next) = index.node(*position) else { break };
                let next_end = next.offset + u64::from(next.len);
                if next.offset > end + GAP || next_end - start > BLOCK {
                    break;
                }
                end = next_end;
                count += 1;
            }
            let bytes = source.read(start, usize::try_from(end - start).unwrap_or(usize::MAX))?;
            let (group, others) = rest.split_at_checked(count).unwrap_or((rest, &[]));
            for position in group {
                let Some(node) = index.node(*position) else { continue };
                let from = usize::try_from(node.offset - start).unwrap_or(usize::MAX);
                let line = bytes.get(from..from.saturating_add(node.len as usize));
                each(*position, node, line.ok_or_else(|| source.changed())?)?;
            }
            rest = others;
        }
        Ok(())
    }

    /// Every position, in file order.
    pub(super) fn all(&self) -> Vec<Position> {
        (0..Position::try_from(self.tree.index().len()).unwrap_or(Position::MAX)).collect()
    }

    /// The path from the root to the leaf.
    pub(super) fn active(&self) -> Vec<Position> {
        self.tree.index().path(self.tree.leaf)
    }

    /// The entry that `wanted` names: its id, or the beginning of one that is clear.
    ///
    /// # Errors
    /// [`SessionError::UnknownEntry`] and [`SessionError::Ambiguous`].
    pub fn find_entry(&self, wanted: &str) -> Result<EntryId, SessionError> {
        let index = self.tree.index();
        let id = EntryId::from(wanted);
        if index.position(&id).is_some() {
            return Ok(id);
        }
        let begins = |node: &&Node| !wanted.is_empty() && node.id.as_str().starts_with(wanted);
        let mut found = index.iter().filter(begins);
        match (found.next(), found.count()) {
            (None, _) => Err(SessionError::UnknownEntry { id }),
            (Some(node), 0) => Ok(node.id.clone()),
            (Some(_), more) => {
                Err(SessionError::AmbiguousEntry { wanted: wanted.to_owned(), count: more + 1 })
            }
        }
    }

    /// Labels in the order in which they were last set, with the time they were set at.
    pub(super) fn labels_in_order(&self) -> Result<Vec<(EntryId, String, String)>, SessionError> {
        let index = self.tree.index();
        let is_label = |position: &Position| {
            index.node(*position).is_some_and(|node| node.kind == Kind::Label)
        };
        let positions: Vec<Position> = self.all().into_iter().filter(is_label).collect();
        let mut last = std::collections::HashMap::new();
        self.each_line(&positions, &mut |position, _, line| {
            let text = parse::readable(line);
            if let Some(shape) = Shape::of(&text)
                && let Some(target) = shape.target.as_deref()
            {
                let time = shape.timestamp.as_deref().unwrap_or_default().to_owned();
                last.insert(EntryId::from(target), (position, time));
            }
            Ok(())
        })?;
        let mut set: Vec<(Position, EntryId, String, String)> = Vec::new();
        for (target, label) in self.tree.labels.iter() {
            let (position, time) = last.remove(target).unwrap_or_default();
            set.push((position, target.clone(), label.to_string(), time));
        }
        set.sort_by_key(|(position, ..)| *position);
        Ok(set.into_iter().map(|(_, target, label, time)| (target, label, time)).collect())
    }
}

impl Session {
    /// Where the session lives.
    pub fn place(&self) -> &Place {
        &self.store.place
    }

    /// The session at this moment, apart from what comes later.
    pub fn snapshot(&self) -> SessionView {
        let raw_end = self.store.known_end();
        SessionView {
            header: self.header().clone(),
            path: self.path().map(Path::to_owned),
            name: self.name().map(str::to_owned),
            tree: self.tree(),
            notices: Vec::new(),
            raw: self.store.source(),
            raw_end,
            has_newline: self.store.tail != Tail::Unterminated,
            is_unborn: self.store.is_unborn(),
        }
    }
}

/// The bytes before a torn tail.
fn whole_end(tail: &Tail, size: u64) -> u64 {
    match tail {
        Tail::Torn { offset } => *offset,
        Tail::Whole | Tail::Unterminated => size,
    }
}

/// The path with links resolved, when it is a file with something in it.
pub(super) fn real_file(files: &dyn FileSystem, path: &Path) -> Result<PathBuf, SessionError> {
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => SessionError::NotFound { path: path.to_owned() },
        _ => SessionError::io("open", path, error),
    };
    let real = files.canonical(path).map_err(failed)?;
    let facts = files.facts(&real).map_err(failed)?;
    let why = match (facts.is_dir, facts.len) {
        (true, _) => "it is a folder",
        (false, 0) => "it is empty",
        _ => return Ok(real),
    };
    Err(SessionError::NotASession { path: real, why })
}
