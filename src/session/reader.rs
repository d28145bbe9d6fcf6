//! Reading bodies by position, apart from the session that writes.
//!
//! A screen shows and searches old entries while the engine owns the session. It gets a [`Reader`]:
//! the tree as it was when the reader was taken, and the place where the bytes are. Lines never
//! move, so what it reads stays right while the session grows.

use std::path::PathBuf;
use std::sync::Arc;

use super::index::{Index, Node, Position};
use super::{Entry, SessionError, parse};
use crate::message::EntryId;
use crate::ports::FileSystem;

/// Longest gap between two wanted lines that is read rather than jumped over.
const GAP: u64 = 64 << 10;
/// Most bytes that are read at once for lines that lie close together.
const BLOCK: u64 = 4 << 20;

/// The tree at one moment and a way to its bodies. Clones are cheap; any thread may read.
#[derive(Debug, Clone)]
pub struct Reader {
    pub(super) index: Index,
    pub(super) source: Source,
}

impl Reader {
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// The entries at rising positions, in as few reads as their places allow. Nothing is kept.
    ///
    /// # Errors
    /// What stopped the reading, or [`SessionError::Changed`] when the file is another one now or a
    /// position is none of this index.
    pub fn entries(&self, positions: &[Position]) -> Result<Vec<Arc<Entry>>, SessionError> {
        read_many(&self.index, &self.source, positions)
    }

    /// The entry with that id.
    ///
    /// # Errors
    /// [`SessionError::UnknownEntry`], or what stopped the reading.
    pub fn entry(&self, id: &EntryId) -> Result<Arc<Entry>, SessionError> {
        let unknown = || SessionError::UnknownEntry { id: id.clone() };
        let position = self.index.position(id).ok_or_else(unknown)?;
        read_one(&self.index, &self.source, position)
    }
}

/// Where the bytes of a session are.
#[derive(Debug, Clone)]
pub(super) enum Source {
    /// Not on the disk in this form.
    Draft {
        bytes: Arc<Vec<u8>>,
        path: PathBuf,
    },
    File {
        files: Arc<dyn FileSystem>,
        path: PathBuf,
    },
}

impl Source {
    /// At most `len` bytes from `offset`.
    pub(super) fn read(&self, offset: u64, len: usize) -> Result<Vec<u8>, SessionError> {
        match self {
            Self::Draft { bytes, .. } => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
                let end = start.saturating_add(len).min(bytes.len());
                Ok(bytes.get(start..end).unwrap_or_default().to_vec())
            }
            Self::File { files, path } => files
                .read_range(path, offset, len)
                .map_err(|error| SessionError::io("read", path, error)),
        }
    }

    pub(super) fn changed(&self) -> SessionError {
        let (Self::Draft { path, .. } | Self::File { path, .. }) = self;
        SessionError::Changed { path: path.clone() }
    }
}

/// The entry at a position, from where the bytes are.
pub(super) fn read_one(
    index: &Index,
    source: &Source,
    position: Position,
) -> Result<Arc<Entry>, SessionError> {
    let changed = || source.changed();
    read_many(index, source, &[position])?.pop().ok_or_else(changed)
}

/// The entries at rising positions, with as few reads as their places allow.
pub(super) fn read_many(
    index: &Index,
    source: &Source,
    positions: &[Position],
) -> Result<Vec<Arc<Entry>>, SessionError> {
    let changed = || source.changed();
    let nodes: Option<Vec<&Node>> =
        positions.iter().map(|position| index.node(*position)).collect();
    let nodes = nodes.ok_or_else(changed)?;
    let mut entries = Vec::with_capacity(nodes.len());
    let mut rest = nodes.as_slice();
    while let Some(first) = rest.first() {
        let mut end = first.offset + u64::from(first.len);
        let mut count = 1;
        for node in rest.iter().skip(1) {
            let node_end = node.offset + u64::from(node.len);
            if node.offset > end + GAP || node_end - first.offset > BLOCK {
                break;
            }
            end = node_end;
            count += 1;
        }
        let len = usize::try_from(end - first.offset).unwrap_or(usize::MAX);
        let bytes = source.read(first.offset, len)?;
        let (group, others) = rest.split_at_checked(count).unwrap_or((rest, &[]));
        for node in group {
            let start = usize::try_from(node.offset - first.offset).unwrap_or(usize::MAX);
            let line = bytes.get(start..start.saturating_add(node.len as usize));
            let entry = line.and_then(parse::entry).filter(|entry| entry.id == node.id);
            entries.push(Arc::new(entry.ok_or_else(changed)?));
        }
        rest = others;
    }
    Ok(entries)
}
