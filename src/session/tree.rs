//! What the lines of a file add up to: the index, the leaf, the labels and the name.
//!
//! Lines read from the file and lines just appended go through the same fold, so the state after an
//! append is by construction the state after opening the file again.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::called::Calls;
use super::index::{Index, Kind, Marks, Node, Position, Role};
use super::journal::Landmark;
use super::line::Shape;
use super::parse;
use super::reader::{Reader, Source};
use crate::message::EntryId;

/// How many bad lines a notice names.
const NAMED_LINES: usize = 10;
/// Longest name or label in characters: what a wide title bar can show.
const MAX_NAME_CHARS: usize = 200;

/// The tree at one moment, for readers that must never ask the engine: cheap to clone and never
/// changing.
#[derive(Debug, Clone)]
pub struct TreeView {
    /// The index and a way to the bodies.
    pub reader: Reader,
    /// The logical leaf, never a marker; `None` before the first entry.
    pub leaf: Option<Position>,
    pub labels: Arc<Labels>,
}

impl Default for TreeView {
    /// The tree of a session that is not open yet.
    fn default() -> Self {
        let source = Source::Draft { bytes: Arc::default(), path: PathBuf::new() };
        let reader = Reader { index: Index::default(), source };
        Self { reader, leaf: None, labels: Arc::default() }
    }
}

impl TreeView {
    pub fn index(&self) -> &Index {
        self.reader.index()
    }
}

/// Labels by entry: the latest in file order.
pub type Labels = BTreeMap<EntryId, Arc<str>>;

/// The fold of all lines so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Tree {
    pub(super) index: Index,
    /// The logical leaf, never a marker.
    pub(super) leaf: Option<Position>,
    pub(super) labels: Arc<Labels>,
    pub(super) name: Option<String>,
    /// Physical lines so far, the header included.
    pub(super) lines: u64,
    /// Records of turns that are looked for, in file order.
    pub(super) landmarks: Vec<(Position, Landmark)>,
    /// For the previews of tool results.
    calls: Calls,
    /// What was wrong, since the last time it was told.
    trouble: Trouble,
}

#[derive(Debug, Clone, Default)]
struct Trouble {
    bad: Counted,
    twice: Counted,
    orphans: Counted,
}

/// Line numbers, as many as a notice names, and how many there were.
#[derive(Debug, Clone, Default)]
struct Counted {
    lines: Vec<u64>,
    count: u64,
}

impl Counted {
    fn add(&mut self, line: u64) {
        self.count += 1;
        if self.lines.len() < NAMED_LINES {
            self.lines.push(line);
        }
    }

    /// `line 3` or `lines 3, 5 and 7 more`.
    fn text(&self) -> String {
        let named: Vec<String> = self.lines.iter().map(ToString::to_string).collect();
        let word = if self.count == 1 { "line" } else { "lines" };
        let more = self.count.saturating_sub(self.lines.len() as u64);
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{word} {}{rest}", named.join(", "))
    }
}

impl Tree {
    /// Takes the next physical line. `offset` is where it begins in the file.
    pub(super) fn take(&mut self, line: &[u8], offset: u64) {
        self.lines += 1;
        if line.trim_ascii().is_empty() {
            return;
        }
        let text;
        let shape = match Shape::of(line) {
            Some(shape) => Some(shape),
            None => {
                text = parse::readable(line);
                Shape::of(&text)
            }
        };
        let len = u32::try_from(line.len());
        match (shape, len) {
            (Some(shape), Ok(len)) if shape.kind.as_deref() != Some("session") => {
                self.take_shape(shape, offset, len);
            }
            _ => self.trouble.bad.add(self.lines),
        }
    }

    /// Counts a line that is too long to be looked at.
    pub(super) fn skip(&mut self) {
        self.lines += 1;
        self.trouble.bad.add(self.lines);
    }

    /// Counts a line that is not part of the tree, the header.
    pub(super) fn pass(&mut self) {
        self.lines += 1;
    }

    fn take_shape(&mut self, mut shape: Shape<'_>, offset: u64, len: u32) {
        let Some(id) = shape.id.as_deref().filter(|id| !id.is_empty()) else {
            self.trouble.bad.add(self.lines);
            return;
        };
        let id = EntryId::from(id);
        let parent_id = shape.parent.as_deref().filter(|parent| *parent != id.as_str());
        let parent = parent_id.and_then(|parent| self.index.position_of(parent));
        let recovered = parent_id.is_some() && parent.is_none();
        let kind = shape.kind();
        let is_message = kind == Kind::Message;
        let node = Node {
            id,
            parent,
            recovered,
            kind,
            role: shape.role(),
            offset,
            len,
            preview: self.preview(&shape, kind, parent),
            time_ms: shape.time_ms(),
            marks: if is_message { shape.said.marks } else { Marks::default() },
            spent: shape.spent().map(Box::new),
        };
        let Some(position) = self.index.push(node) else {
            self.trouble.twice.add(self.lines);
            return;
        };
        if recovered {
            self.trouble.orphans.add(self.lines);
        }
        if is_message {
            self.calls.add(position, std::mem::take(&mut shape.said.calls));
        }
        self.landmarks.extend(shape.landmark().map(|landmark| (position, landmark)));
        self.note(&shape, kind);
        self.leaf = match kind {
            Kind::LeafMarker if recovered => self.leaf,
            Kind::LeafMarker => self.index.above_markers(parent),
            Kind::Leaf => match shape.target.as_deref().map(EntryId::from) {
                None => None,
                Some(target) => match self.index.position(&target) {
                    Some(target) => self.index.above_markers(Some(target)),
                    None => self.leaf,
                },
            },
            _ => Some(position),
        };
    }

    /// What a tree shows of an entry: of a tool result what was called.
    fn preview(&self, shape: &Shape<'_>, kind: Kind, parent: Option<Position>) -> Arc<str> {
        let said = &shape.said;
        if kind != Kind::Message || said.role != Some(Role::ToolResult) {
            return shape.preview().into();
        }
        let call = said.answers.as_deref();
        let called = call.and_then(|id| self.calls.words(&self.index, parent, id));
        called.or(said.tool.as_deref()).unwrap_or(&said.preview).into()
    }

    /// Labels and names belong to the session, not to a branch: the last in the file wins.
    fn note(&mut self, shape: &Shape<'_>, kind: Kind) {
        let words = shape.words.as_deref().map(clean_name).unwrap_or_default();
        match (kind, shape.target.as_deref()) {
            (Kind::Label, Some(target)) if words.is_empty() => {
                Arc::make_mut(&mut self.labels).remove(&EntryId::from(target));
            }
            (Kind::Label, Some(target)) => {
                Arc::make_mut(&mut self.labels).insert(target.into(), words.into());
            }
            (Kind::SessionInfo, _) => self.name = Some(words).filter(|name| !name.is_empty()),
            _ => {}
        }
    }

    /// What was wrong with the lines since the last call, one sentence each.
    pub(super) fn take_trouble(&mut self) -> Vec<String> {
        let Trouble { bad, twice, orphans } = std::mem::take(&mut self.trouble);
        let mut texts = Vec::new();
        if bad.count > 0 {
            texts.push(format!("{} could not be read and stays in the file as it is", bad.text()));
        }
        if twice.count > 0 {
            texts.push(format!(
                "{} repeats the id of an earlier entry and is left out",
                twice.text()
            ));
        }
        if orphans.count > 0 {
            texts.push(format!(
                "the parent of {} is missing: what follows from there is shown as a recovered branch",
                orphans.text()
            ));
        }
        texts
    }

    pub(super) fn leaf_id(&self) -> Option<&EntryId> {
        self.leaf.and_then(|leaf| self.index.node(leaf)).map(|node| &node.id)
    }
}

/// A name or label on one line: line breaks become one space, the ends are trimmed.
pub(super) fn clean_name(text: &str) -> String {
    let mut name = String::new();
    for line in text.split(['\r', '\n']).map(str::trim).filter(|line| !line.is_empty()) {
        if name.len() >= MAX_NAME_CHARS * 4 {
            break;
        }
        name.push_str(if name.is_empty() { "" } else { " " });
        name.extend(line.chars().take(MAX_NAME_CHARS));
    }
    name.chars().take(MAX_NAME_CHARS).collect::<String>().trim_end().to_owned()
}
