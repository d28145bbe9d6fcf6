//! The tree as rows: which entries show, below which others, in which order and how far in.
//!
//! An entry hangs from its nearest ancestor that shows, so a filter never makes chains drift. One
//! child goes on in the same column; only where a path splits do rows move in. Nothing here calls
//! itself: a session may be one chain of 100,000 entries. What a tree that grows at its leaf costs
//! is one row, not all of them.

use std::collections::HashSet;

use crate::session::Position;
use crate::ui::tree::children::Children;
use crate::ui::tree::entries::{Entries, Filter, NONE};

/// A run of at least this many tool results is one row until it is opened.
const RUN_MIN: u32 = 2;

/// One row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The entry; of a run of tool results the first.
    pub position: Position,
    /// The last entry that the row stands for; differs from `position` for a closed run.
    pub last: Position,
    /// Entries the row stands for.
    pub steps: u32,
    /// Levels to the right; a connector stands on the last of them.
    pub indent: u32,
    /// The lines of open ancestors, for [`Rows::gutters`].
    gutters: u32,
    pub connector: Connector,
    /// Hides or could hide what hangs from it.
    pub fold: Fold,
    /// The single child of a branch's first row moves in once more.
    grouped: bool,
    /// Nothing hangs from it in this filter.
    pub tip: bool,
}

impl Row {
    /// The row without the number of its line of gutters, which depends on how it came about.
    #[must_use]
    pub fn without_links(self) -> Self {
        Self { gutters: NONE, ..self }
    }
}

/// How a row hangs from the one above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connector {
    /// It goes on, or is a root.
    None,
    Root,
    /// A branch, and others follow.
    Tee,
    /// The last branch.
    Elbow,
}

/// Whether a row can be folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    Never,
    Open,
    Folded,
}

/// The line of an ancestor with siblings below; linked, so that a row costs one number however deep
/// it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Gutter {
    level: u32,
    up: u32,
}

/// What is listed and what is closed.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    pub filter: Filter,
    /// Where a query matches, by position; `None` without a query.
    pub matches: Option<&'a [bool]>,
    pub folded: &'a HashSet<Position>,
    /// Runs of tool results that were opened, by their first entry.
    pub opened: &'a HashSet<Position>,
}

impl Shown<'_> {
    fn shows(&self, entries: &Entries, position: Position) -> bool {
        entries.shows(position, self.filter) && self.is_match(position)
    }

    fn is_match(&self, position: Position) -> bool {
        self.matches
            .is_none_or(|matches| matches.get(position as usize).copied().unwrap_or_default())
    }

    fn closes_runs(&self) -> bool {
        self.filter == Filter::Default && self.matches.is_none()
    }
}

/// The rows in the order of the screen, and where every entry went.
#[derive(Debug, Default)]
pub struct Rows {
    rows: Vec<Row>,
    gutters: Vec<Gutter>,
    /// By position: the nearest ancestor that shows.
    above: Vec<Position>,
    shown: Vec<bool>,
    below: Children,
    /// By position: the first entry of the run it is in, or itself.
    heads: Vec<Position>,
    /// By position: its row, or [`NONE`].
    at: Vec<u32>,
    /// Entries that show, folded ones too.
    total: usize,
}

impl Rows {
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn all(&self) -> &[Row] {
        &self.rows
    }

    pub fn get(&self, row: usize) -> Option<&Row> {
        self.rows.get(row)
    }

    /// Entries that pass filter and query, those in folds and runs too.
    pub fn total(&self) -> usize {
        self.total
    }

    /// The row of an entry, or that of its nearest ancestor that has one.
    pub fn row_of(&self, position: Position) -> Option<usize> {
        let mut next = position;
        loop {
            let head = self.heads.get(next as usize).copied()?;
            for each in [next, head] {
                let row = self.at.get(each as usize).copied().unwrap_or(NONE);
                if row != NONE {
                    return Some(row as usize);
                }
            }
            next = self.above.get(next as usize).copied()?;
        }
    }

    /// The nearest ancestor that shows; [`NONE`] for a root.
    pub fn above(&self, position: Position) -> Position {
        self.above.get(position as usize).copied().unwrap_or(NONE)
    }

    /// The first entry of the run that an entry is in, or itself.
    pub fn head(&self, position: Position) -> Option<Position> {
        self.heads.get(position as usize).copied()
    }

    /// The levels between `from` and the row's own at which the line of an ancestor passes by,
    /// rightmost first.
    pub fn gutters(&self, row: &Row, from: u32) -> impl Iterator<Item = u32> {
        let mut next = row.gutters;
        std::iter::from_fn(move || {
            let gutter = self.gutters.get(next as usize).filter(|gutter| gutter.level >= from)?;
            next = gutter.up;
            Some(gutter.level)
        })
    }

    /// Lists everything anew. Linear, plus the sorting of siblings.
    pub fn build(&mut self, entries: &Entries, shown: &Shown<'_>) {
        let len = entries.len();
        for column in [&mut self.above, &mut self.heads] {
            column.clear();
            column.reserve(len);
        }
        self.shown.clear();
        self.shown.reserve(len);
        self.total = 0;
        for (position, (parent, passes)) in (0..NONE).zip(entries.hung(shown.filter)) {
            self.hang(position, parent, passes && shown.is_match(position));
        }
        self.below.clear(len);
        for (position, (shown, above)) in (0..NONE).zip(self.shown.iter().zip(&self.above)).rev() {
            if *shown {
                self.below.link(*above, position);
            }
        }
        self.below.sort(entries);
        if shown.closes_runs() {
            self.find_runs(entries);
        }
        self.refold(entries, shown);
    }

    /// Lists what hangs already, after folds and opened runs changed: filter, query and entries must
    /// be those of the last [`Rows::build`] or [`Rows::grow`].
    pub fn refold(&mut self, entries: &Entries, shown: &Shown<'_>) {
        self.gutters.clear();
        self.rows.clear();
        self.at.clear();
        self.at.resize(entries.len(), NONE);
        self.walk(entries, shown);
    }

    /// Notes whether an entry shows, and below what.
    fn hang(&mut self, position: Position, parent: Position, visible: bool) {
        let above = match (self.shown.get(parent as usize), self.above.get(parent as usize)) {
            (Some(true), _) => parent,
            (_, Some(above)) => *above,
            _ => NONE,
        };
        self.above.push(above);
        self.heads.push(position);
        self.shown.push(visible);
        self.total += usize::from(visible);
    }

    /// Joins tool results that follow each other without a branch or a label between.
    fn find_runs(&mut self, entries: &Entries) {
        for position in (0..NONE).take(self.heads.len()) {
            if self.shown.get(position as usize) == Some(&true) && self.joins(entries, position) {
                let head = self.heads.get(self.above(position) as usize).copied();
                if let (Some(head), Some(own)) = (head, self.heads.get_mut(position as usize)) {
                    *own = head;
                }
            }
        }
    }

    fn joins(&self, entries: &Entries, position: Position) -> bool {
        let above = self.above(position);
        let plain = |at: Position| entries.class(at).is_result() && !entries.is_labelled(at);
        above != NONE && plain(position) && plain(above) && self.below.only(above).is_some()
    }

    fn walk(&mut self, entries: &Entries, shown: &Shown<'_>) {
        let mut stack = Vec::new();
        let grouped = self.below.only(NONE).is_none();
        let roots = Next { indent: 0, grouped, connector: Connector::Root, ..Next::default() };
        self.push_children(&mut stack, NONE, roots);
        while let Some(mut next) = stack.pop() {
            loop {
                let (last, steps) = self.run_end(entries, shown, next.position);
                let tip = self.below.first(last) == NONE;
                let fold = match next.connector != Connector::None && !tip {
                    false => Fold::Never,
                    true if shown.folded.contains(&next.position) => Fold::Folded,
                    true => Fold::Open,
                };
                self.put_row(&next, last, steps, fold, tip);
                if fold == Fold::Folded {
                    break;
                }
                let gutters = self.lines_below(&next);
                let below = Next { gutters, ..Next::default() };
                match self.below.only(last) {
                    // A chain goes on without a look at the stack.
                    Some(position) => {
                        let indent = next.indent + u32::from(next.grouped);
                        next = Next { position, indent, ..below };
                    }
                    None => {
                        let indent = next.indent + 1;
                        let connector = Connector::Tee;
                        let below = Next { indent, grouped: true, connector, ..below };
                        self.push_children(&mut stack, last, below);
                        break;
                    }
                }
            }
        }
    }

    /// Puts the children of an entry on the stack, the first on top; of branches the last is an
    /// elbow.
    fn push_children(&self, stack: &mut Vec<Next>, above: Position, like: Next) {
        let from = stack.len();
        let mut position = self.below.first(above);
        while position != NONE {
            stack.push(Next { position, ..like });
            position = self.below.next(position);
        }
        if let Some(fresh) = stack.get_mut(from..) {
            if let Some(last) = fresh.last_mut().filter(|last| last.connector == Connector::Tee) {
                last.connector = Connector::Elbow;
            }
            fresh.reverse();
        }
    }

    fn put_row(&mut self, next: &Next, last: Position, steps: u32, fold: Fold, tip: bool) {
        let row = u32::try_from(self.rows.len()).unwrap_or(NONE);
        if let Some(at) = self.at.get_mut(next.position as usize) {
            *at = row;
        }
        self.rows.push(Row {
            position: next.position,
            last,
            steps,
            indent: next.indent,
            gutters: next.gutters,
            connector: next.connector,
            fold,
            grouped: next.grouped,
            tip,
        });
    }

    /// The lines that pass by what hangs from a row.
    fn lines_below(&mut self, next: &Next) -> u32 {
        if next.connector != Connector::Tee {
            return next.gutters;
        }
        self.gutters.push(Gutter { level: next.indent.saturating_sub(1), up: next.gutters });
        u32::try_from(self.gutters.len() - 1).unwrap_or(NONE)
    }

    /// The last entry of a closed run and its length; the entry itself where there is none.
    fn run_end(&self, entries: &Entries, shown: &Shown<'_>, first: Position) -> (Position, u32) {
        if !shown.closes_runs()
            || !entries.class(first).is_result()
            || self.heads.get(first as usize) != Some(&first)
            || shown.opened.contains(&first)
        {
            return (first, 1);
        }
        let (mut last, mut steps) = (first, 1);
        while let Some(next) = self.below.only(last)
            && self.heads.get(next as usize) == Some(&first)
        {
            (last, steps) = (next, steps + 1);
        }
        if steps < RUN_MIN { (first, 1) } else { (last, steps) }
    }

    /// Adds entries that the leaf grew by. `false`, and everything has to be built anew, where they
    /// change more than the end of one chain.
    pub fn grow(&mut self, entries: &Entries, shown: &Shown<'_>, from: Position) -> bool {
        let old = entries.parent(from);
        if self.at.len() != from as usize
            || (self.shown.get(old as usize) == Some(&true) && !shown.shows(entries, old))
        {
            return false;
        }
        for position in (from..NONE).take(entries.len().saturating_sub(from as usize)) {
            self.at.push(NONE);
            let visible = shown.shows(entries, position);
            self.hang(position, entries.parent(position), visible);
            let alone = self.below.grow(visible.then(|| self.above(position)), position);
            if visible && (!alone || !self.put(entries, shown, position)) {
                return false;
            }
        }
        true
    }

    /// Puts a shown entry behind the row it hangs from.
    fn put(&mut self, entries: &Entries, shown: &Shown<'_>, position: Position) -> bool {
        let above = self.above(position);
        let Some(row) = self.row_of(above) else { return false };
        let Some(parent) = self.rows.get(row).copied() else { return false };
        let mut head = position;
        if shown.closes_runs() && self.joins(entries, position) {
            head = self.heads.get(above as usize).copied().unwrap_or(position);
            if let Some(own) = self.heads.get_mut(position as usize) {
                *own = head;
            }
        }
        if parent.tip && shown.folded.contains(&parent.position) {
            return false;
        }
        if parent.last != above {
            // What it hangs from is inside a fold.
            return parent.fold == Fold::Folded;
        }
        if parent.fold == Fold::Folded {
            return true;
        }
        if head != position && !shown.opened.contains(&head) {
            if let Some(run) = self.rows.get_mut(row) {
                (run.last, run.steps) = (position, run.steps + 1);
            }
            return true;
        }
        self.insert_below(row, parent, position);
        true
    }

    fn insert_below(&mut self, row: usize, parent: Row, position: Position) {
        let gutters = self.lines_below(&Next {
            position: parent.position,
            indent: parent.indent,
            grouped: parent.grouped,
            connector: parent.connector,
            gutters: parent.gutters,
        });
        if let Some(parent) = self.rows.get_mut(row) {
            parent.tip = false;
            if parent.connector != Connector::None {
                parent.fold = Fold::Open;
            }
        }
        let fresh = Row {
            position,
            last: position,
            steps: 1,
            indent: parent.indent + u32::from(parent.grouped),
            gutters,
            connector: Connector::None,
            fold: Fold::Never,
            grouped: false,
            tip: true,
        };
        self.rows.insert(row + 1, fresh);
        for (index, each) in (0..).zip(&self.rows).skip(row + 1) {
            if let Some(at) = self.at.get_mut(each.position as usize) {
                *at = index;
            }
        }
    }
}

/// A row that comes.
#[derive(Debug, Clone, Copy)]
struct Next {
    position: Position,
    indent: u32,
    grouped: bool,
    connector: Connector,
    gutters: u32,
}

impl Default for Next {
    /// What goes on in the same column.
    fn default() -> Self {
        Self {
            position: NONE,
            indent: 0,
            grouped: false,
            connector: Connector::None,
            gutters: NONE,
        }
    }
}
