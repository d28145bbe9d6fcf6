//! The tree without its bodies: one small node per entry, in file order.
//!
//! Nodes lie in chunks behind shared pointers, so a snapshot copies only the pointers and an append
//! never copies more than the last chunk, however long the session is. A parent always stands
//! before its children, so no walk can run in a circle; an entry whose parent does not is a root
//! marked as recovered.

use std::sync::{Arc, PoisonError, RwLock};

use super::ids::Ids;
use crate::message::EntryId;

/// Nodes in a chunk: small enough to copy when a snapshot holds the last one.
const CHUNK: usize = 512;

/// The place of an entry in the file, from 0, counting entries only.
pub type Position = u32;

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    Message,
    ModelChange,
    ThinkingLevelChange,
    Compaction,
    BranchSummary,
    /// Its preview is exactly its custom type.
    Custom,
    /// The custom entry that moves the leaf.
    LeafMarker,
    CustomMessage,
    Label,
    SessionInfo,
    Usage,
    ContextEdit,
    ActiveToolsChange,
    Leaf,
    Other,
}

/// Who speaks in a message entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    User,
    Assistant,
    ToolResult,
    BashExecution,
    Other,
}

impl Role {
    pub(super) fn of(name: &str) -> Self {
        match name {
            "user" => Self::User,
            "assistant" => Self::Assistant,
            "toolResult" => Self::ToolResult,
            "bashExecution" => Self::BashExecution,
            _ => Self::Other,
        }
    }
}

/// What a person sees of an entry beside its words.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Marks {
    /// An answer that says nothing and only calls tools.
    pub calls_only: bool,
    /// An answer that ended in an error.
    pub failed: bool,
    /// An answer that somebody stopped.
    pub aborted: bool,
    /// An answer that was cut off at the output limit.
    pub cut: bool,
    /// A tool result that is an error.
    pub is_error: bool,
    /// A tool result that changed a file.
    pub changes_file: bool,
}

/// What an answer or a summary cost.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spent {
    /// Tokens sent that came from no cache, cache writes included.
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    /// Tokens in the context after the answer.
    pub context: u64,
    /// US dollars.
    pub cost: f64,
}

/// One entry without its body.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub id: EntryId,
    /// Always smaller than the node's own position; `None` for a root.
    pub parent: Option<Position>,
    /// Its parent is missing, so it hangs from the recovered root.
    pub recovered: bool,
    pub kind: Kind,
    /// For messages.
    pub role: Option<Role>,
    /// Where the line begins, in bytes.
    pub offset: u64,
    /// Length of the line without its newline.
    pub len: u32,
    /// One line of at most 120 characters; not sanitised for a terminal beyond control characters.
    /// For a tool result what was called: tool and main argument.
    pub preview: Arc<str>,
    /// Unix milliseconds: the message's own time, else the entry's; 0 when neither says.
    pub time_ms: i64,
    pub marks: Marks,
    /// `None` where nothing was spent.
    pub spent: Option<Box<Spent>>,
}

/// An immutable view of the tree. Cloning costs one pointer per 512 entries.
#[derive(Debug, Clone, Default)]
pub struct Index {
    chunks: Vec<Arc<Vec<Node>>>,
    len: usize,
    /// Shared by all snapshots of one session: it only grows, and a snapshot ignores what stands
    /// behind its own end.
    ids: Arc<RwLock<Ids>>,
}

impl Index {
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn node(&self, position: Position) -> Option<&Node> {
        let position = position as usize;
        self.chunks.get(position / CHUNK)?.get(position % CHUNK)
    }

    /// Where the entry with that id stands.
    pub fn position(&self, id: &EntryId) -> Option<Position> {
        self.placed(id.as_str())
    }

    fn placed(&self, id: &str) -> Option<Position> {
        let ids = self.ids.read().unwrap_or_else(PoisonError::into_inner);
        let is_it = |at: Position| self.node(at).is_some_and(|node| node.id.as_str() == id);
        ids.position(id, is_it).filter(|position| (*position as usize) < self.len)
    }

    /// The same for an id as text; the newest entry, which is asked for most, costs no search.
    pub(super) fn position_of(&self, id: &str) -> Option<Position> {
        let newest = Position::try_from(self.len.checked_sub(1)?).ok()?;
        match self.node(newest) {
            Some(node) if node.id.as_str() == id => Some(newest),
            _ => self.placed(id),
        }
    }

    /// All nodes in file order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Node> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }

    /// The way from the root to `leaf`, both included.
    pub fn path(&self, leaf: Option<Position>) -> Vec<Position> {
        let mut path = Vec::new();
        let mut next = leaf;
        while let Some(position) = next {
            let Some(node) = self.node(position) else { break };
            path.push(position);
            next = node.parent;
        }
        path.reverse();
        path
    }

    /// The nearest entry that is no leaf marker, from `position` upwards.
    pub(super) fn above_markers(&self, position: Option<Position>) -> Option<Position> {
        let mut next = position;
        while let Some(node) = next.and_then(|position| self.node(position)) {
            if node.kind != Kind::LeafMarker {
                return next;
            }
            next = node.parent;
        }
        None
    }

    /// Adds a node behind all others. `None`, and nothing added, when its id is taken or the index
    /// is full.
    pub(super) fn push(&mut self, node: Node) -> Option<Position> {
        let position = Position::try_from(self.len).ok()?;
        if self.placed(node.id.as_str()).is_some() {
            return None;
        }
        self.ids.write().unwrap_or_else(PoisonError::into_inner).add(node.id.as_str(), position);
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => Arc::make_mut(chunk).push(node),
            _ => {
                let mut chunk = Vec::with_capacity(CHUNK);
                chunk.push(node);
                self.chunks.push(Arc::new(chunk));
            }
        }
        self.len += 1;
        Some(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(id: &str, parent: Option<Position>) -> Node {
        Node {
            id: id.into(),
            parent,
            recovered: false,
            kind: Kind::Other,
            role: None,
            offset: 0,
            len: 0,
            preview: "".into(),
            time_ms: 0,
            marks: Marks::default(),
            spent: None,
        }
    }

    #[test]
    fn a_snapshot_does_not_see_what_comes_later() {
        let mut index = Index::default();
        index.push(node("a", None));
        let snapshot = index.clone();
        index.push(node("b", Some(0)));
        assert_eq!(snapshot.len(), 1);
        assert_eq!(snapshot.position(&"b".into()), None);
        assert_eq!(snapshot.node(1), None);
        assert_eq!(index.position(&"b".into()), Some(1));
        assert_eq!(index.path(Some(1)), [0, 1]);
    }

    #[test]
    fn a_snapshot_copies_pointers_and_a_later_append_only_the_last_chunk() {
        let mut index = Index::default();
        for n in 0..CHUNK * 3 + 1 {
            index.push(node(&n.to_string(), None));
        }
        let snapshot = index.clone();
        index.push(node("new", None));
        for chunk in 0..3 {
            assert!(Arc::ptr_eq(&index.chunks[chunk], &snapshot.chunks[chunk]));
        }
        assert_eq!((index.len(), snapshot.len()), (CHUNK * 3 + 2, CHUNK * 3 + 1));
        assert_eq!(index.iter().count(), index.len());
    }

    #[test]
    fn an_id_is_taken_once() {
        let mut index = Index::default();
        assert_eq!(index.push(node("a", None)), Some(0));
        assert_eq!(index.push(node("a", Some(0))), None);
        assert_eq!(index.len(), 1);
    }
}
