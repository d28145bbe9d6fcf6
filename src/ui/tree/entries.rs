//! What the tree pane knows of every entry, in columns: filters, folds and searches walk all entries
//! on a key, and small columns keep such a walk within a frame.

use std::collections::HashMap;
use std::sync::Arc;

use crate::message::EntryId;
use crate::session::{Kind, Labels, Node, Position, Role, TreeView};

/// No entry: a root's parent, the leaf of an empty tree.
pub const NONE: Position = Position::MAX;

/// Which filters show an entry, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Class(u8);

impl Class {
    const TALK: u8 = 1;
    const RESULT: u8 = 2;
    const USER: u8 = 4;
    const ALL: u8 = 8;
    const CALLS: u8 = 16;
    const RECORD: u8 = 32;
    /// A label stands on it; a walk over all entries must not hash.
    const LABELLED: u8 = 64;
    const LEAF: u8 = 128;

    /// Usage and leaf markers are in no filter; an answer of calls only, unless it went wrong, shows
    /// only at the leaf.
    pub fn of(node: &Node) -> Self {
        let marks = node.marks;
        let calls = marks.calls_only && !(marks.failed || marks.aborted || marks.cut);
        Self(match (node.kind, node.role) {
            (Kind::LeafMarker | Kind::Usage, _) => Self::RECORD,
            (Kind::Message, Some(Role::User)) => Self::ALL | Self::TALK | Self::USER,
            (Kind::Message, Some(Role::ToolResult)) => Self::ALL | Self::TALK | Self::RESULT,
            (Kind::Message, Some(Role::Assistant)) if calls => Self::ALL | Self::TALK | Self::CALLS,
            (Kind::Message | Kind::Compaction | Kind::BranchSummary | Kind::CustomMessage, _) => {
                Self::ALL | Self::TALK
            }
            _ => Self::ALL | Self::RECORD,
        })
    }

    fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }

    pub fn is_result(self) -> bool {
        self.has(Self::RESULT)
    }

    pub fn is_user(self) -> bool {
        self.has(Self::USER)
    }

    /// Whether the entry is no part of the talk: settings, labels, records.
    pub fn is_record(self) -> bool {
        self.has(Self::RECORD)
    }

    fn set(&mut self, bit: u8, on: bool) {
        self.0 = if on { self.0 | bit } else { self.0 & !bit };
    }

    fn shows(self, filter: Filter) -> bool {
        let labelled = self.has(Self::LABELLED);
        let named = labelled && filter == Filter::Labelled;
        if self.has(Self::CALLS) && !self.has(Self::LEAF) && !named {
            return false;
        }
        match filter {
            Filter::Default => self.has(Self::TALK),
            Filter::NoTools => self.has(Self::TALK) && !self.has(Self::RESULT),
            Filter::User => self.has(Self::USER),
            Filter::Labelled => labelled && self.has(Self::ALL),
            Filter::All => self.has(Self::ALL),
        }
    }
}

/// Which entries the pane lists.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Filter {
    #[default]
    Default,
    NoTools,
    User,
    Labelled,
    All,
}

impl Filter {
    /// In the order of their keys.
    pub const ALL: [Self; 5] =
        [Self::Default, Self::NoTools, Self::User, Self::Labelled, Self::All];

    /// What it shows, by class: one look into a table for each entry of a walk.
    fn table(self) -> [bool; 256] {
        std::array::from_fn(|bits| Class(u8::try_from(bits).unwrap_or(0)).shows(self))
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::NoTools => "no-tools",
            Self::User => "user",
            Self::Labelled => "labeled",
            Self::All => "all",
        }
    }
}

/// What a sub-tree cost.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Total {
    /// Tokens sent past the cache and written.
    pub tokens: u64,
    /// US dollars.
    pub cost: f64,
    /// Its newest entry, Unix milliseconds.
    pub newest: i64,
}

impl Total {
    fn of(node: &Node) -> Self {
        let spent = node.spent.as_deref().copied().unwrap_or_default();
        Self {
            tokens: spent.input.saturating_add(spent.output),
            cost: spent.cost,
            newest: node.time_ms,
        }
    }

    fn add(&mut self, other: Self) {
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.cost += other.cost;
        self.newest = self.newest.max(other.newest);
    }
}

/// How the entries changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Same,
    /// Another session: positions mean other entries.
    Other,
    /// The leaf grew by the entries from this position on, each the child of the one before.
    Grown(Position),
    Anew,
}

/// The columns. All are as long as the index was at the last [`Entries::sync`].
#[derive(Debug, Default)]
pub struct Entries {
    parents: Vec<Position>,
    classes: Vec<Class>,
    times: Vec<i64>,
    on_path: Vec<bool>,
    totals: Vec<Total>,
    labels: HashMap<Position, Arc<str>>,
    known_labels: Arc<Labels>,
    newest: Option<EntryId>,
    leaf: Option<Position>,
}

impl Entries {
    pub fn len(&self) -> usize {
        self.parents.len()
    }

    pub fn is_empty(&self) -> bool {
        self.parents.is_empty()
    }

    /// [`NONE`] for a root.
    pub fn parent(&self, position: Position) -> Position {
        self.parents.get(position as usize).copied().unwrap_or(NONE)
    }

    pub fn class(&self, position: Position) -> Class {
        self.classes.get(position as usize).copied().unwrap_or(Class(0))
    }

    /// Unix milliseconds.
    pub fn time(&self, position: Position) -> i64 {
        self.times.get(position as usize).copied().unwrap_or_default()
    }

    /// Whether it stands on the way from a root to the leaf.
    pub fn on_path(&self, position: Position) -> bool {
        self.on_path.get(position as usize).copied().unwrap_or_default()
    }

    /// Of the entry and everything below it.
    pub fn total(&self, position: Position) -> Total {
        self.totals.get(position as usize).copied().unwrap_or_default()
    }

    pub fn label(&self, position: Position) -> Option<&Arc<str>> {
        self.labels.get(&position)
    }

    pub fn is_labelled(&self, position: Position) -> bool {
        self.class(position).has(Class::LABELLED)
    }

    pub fn labels(&self) -> &HashMap<Position, Arc<str>> {
        &self.labels
    }

    pub fn leaf(&self) -> Option<Position> {
        self.leaf
    }

    /// The last entry of the talk on the active path; records behind it do not count.
    pub fn here(&self) -> Option<Position> {
        let mut next = self.leaf?;
        while self.class(next).is_record() {
            next = self.parent(next);
            if next == NONE {
                return None;
            }
        }
        Some(next)
    }

    pub fn shows(&self, position: Position, filter: Filter) -> bool {
        self.class(position).shows(filter)
    }

    /// Parent and whether the filter shows it, of all entries in file order.
    pub(super) fn hung(&self, filter: Filter) -> impl Iterator<Item = (Position, bool)> {
        let shown = filter.table();
        let shows = move |class: &Class| shown.get(usize::from(class.0)) == Some(&true);
        self.parents.iter().zip(&self.classes).map(move |(parent, class)| (*parent, shows(class)))
    }

    /// Takes over the tree as it is now. Costs what is new, plus the way to the root when the path or
    /// the sums above it change.
    pub fn sync(&mut self, view: &TreeView) -> Change {
        let index = view.index();
        let last = self.len().checked_sub(1).and_then(|last| Position::try_from(last).ok());
        let same = last.is_none_or(|last| {
            index.node(last).is_some_and(|node| Some(&node.id) == self.newest.as_ref())
        });
        if !same {
            *self = Self::default();
        }
        let from = self.len();
        self.reserve(index.len().saturating_sub(from));
        for position in from..index.len() {
            let Some(node) = Position::try_from(position).ok().and_then(|at| index.node(at)) else {
                break;
            };
            self.parents.push(node.parent.unwrap_or(NONE));
            self.classes.push(Class::of(node));
            self.times.push(node.time_ms);
            self.totals.push(Total::of(node));
            self.on_path.push(false);
        }
        let newest = self.len().checked_sub(1).and_then(|last| Position::try_from(last).ok());
        self.newest = newest.and_then(|last| index.node(last)).map(|node| node.id.clone());
        let grown = same && self.grew(from, view.leaf);
        let moved = self.leaf != view.leaf;
        self.mark(self.leaf, Class::LEAF, false);
        self.mark(view.leaf, Class::LEAF, true);
        self.leaf = view.leaf;
        if !grown {
            self.mark_path();
        }
        self.sum(from, grown);
        let relabelled = !Arc::ptr_eq(&self.known_labels, &view.labels);
        if relabelled {
            self.relabel(view);
        }
        if !same {
            return Change::Other;
        }
        match Position::try_from(from) {
            Ok(from) if grown && !relabelled => Change::Grown(from),
            _ if !moved && !relabelled && from == self.len() => Change::Same,
            _ => Change::Anew,
        }
    }

    fn reserve(&mut self, more: usize) {
        self.parents.reserve(more);
        self.classes.reserve(more);
        self.times.reserve(more);
        self.totals.reserve(more);
        self.on_path.reserve(more);
    }

    fn mark(&mut self, position: Option<Position>, bit: u8, on: bool) {
        let class = position.and_then(|position| self.classes.get_mut(position as usize));
        if let Some(class) = class {
            class.set(bit, on);
        }
    }

    /// Whether the entries from `from` on are one chain below the old leaf, ending at the new one.
    fn grew(&mut self, from: usize, leaf: Option<Position>) -> bool {
        let mut above = self.leaf.unwrap_or(NONE);
        if from == self.len() {
            return false;
        }
        for position in from..self.len() {
            if self.parents.get(position) != Some(&above) {
                return false;
            }
            above = Position::try_from(position).unwrap_or(NONE);
        }
        if leaf != Some(above) {
            return false;
        }
        if let Some(fresh) = self.on_path.get_mut(from..) {
            fresh.fill(true);
        }
        true
    }

    fn mark_path(&mut self) {
        self.on_path.fill(false);
        let mut next = self.leaf.unwrap_or(NONE);
        while let Some(mark) = self.on_path.get_mut(next as usize) {
            *mark = true;
            next = self.parent(next);
        }
    }

    /// Adds the entries from `from` on to the sums of everything above them.
    fn sum(&mut self, from: usize, grown: bool) {
        let mut rest = Total::default();
        for position in (from..self.len()).rev() {
            let total = self.totals.get(position).copied().unwrap_or_default();
            let parent = self.parents.get(position).copied().unwrap_or(NONE) as usize;
            if parent >= from || !grown {
                if let Some(above) = self.totals.get_mut(parent) {
                    above.add(total);
                }
            } else {
                rest = total;
            }
            // What hangs from old entries away from a growing leaf goes all the way up, each by
            // itself: such appends are rare and short.
            if !grown && parent < from {
                let mut next = self.parents.get(parent).copied().unwrap_or(NONE);
                while let Some(above) = self.totals.get_mut(next as usize) {
                    above.add(total);
                    next = self.parent(next);
                }
            }
        }
        if grown {
            let mut next = self.parents.get(from).copied().unwrap_or(NONE);
            while let Some(above) = self.totals.get_mut(next as usize) {
                above.add(rest);
                next = self.parent(next);
            }
        }
    }

    fn relabel(&mut self, view: &TreeView) {
        self.known_labels = Arc::clone(&view.labels);
        let placed = view
            .labels
            .iter()
            .filter_map(|(id, label)| Some((view.index().position(id)?, Arc::clone(label))));
        let placed: HashMap<Position, Arc<str>> = placed.collect();
        for position in std::mem::take(&mut self.labels).into_keys() {
            self.mark(Some(position), Class::LABELLED, false);
        }
        for position in placed.keys() {
            self.mark(Some(*position), Class::LABELLED, true);
        }
        self.labels = placed;
    }
}
