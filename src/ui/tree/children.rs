//! Which shown entries hang from which, in the order of the screen: two columns of links, so that
//! hanging 100,000 entries allocates nothing for each and counts nothing twice.

use crate::session::Position;
use crate::ui::tree::entries::{Entries, NONE};

/// Shown children by entry. The children of [`NONE`] are the roots.
#[derive(Debug)]
pub(super) struct Children {
    root: Position,
    /// By position: the first child.
    first: Vec<Position>,
    /// By position: the next sibling.
    next: Vec<Position>,
    /// Who has several.
    crowded: Vec<Position>,
}

impl Default for Children {
    fn default() -> Self {
        Self { root: NONE, first: Vec::new(), next: Vec::new(), crowded: Vec::new() }
    }
}

impl Children {
    /// Forgets all and makes room for so many entries.
    pub(super) fn clear(&mut self, len: usize) {
        self.root = NONE;
        for column in [&mut self.first, &mut self.next] {
            column.clear();
            column.resize(len, NONE);
        }
        self.crowded.clear();
    }

    /// Hangs an entry before all its siblings, so entries come last first.
    pub(super) fn link(&mut self, above: Position, position: Position) {
        let head = match self.first.get_mut(above as usize) {
            Some(first) => first,
            None => &mut self.root,
        };
        let after = std::mem::replace(head, position);
        if after == NONE {
            return;
        }
        if self.next.get(after as usize) == Some(&NONE) {
            self.crowded.push(above);
        }
        if let Some(next) = self.next.get_mut(position as usize) {
            *next = after;
        }
    }

    /// Adds the entry behind all others as the only child of another. `false` when it is none.
    pub(super) fn grow(&mut self, above: Option<Position>, position: Position) -> bool {
        self.first.push(NONE);
        self.next.push(NONE);
        match above.map(|above| self.first.get_mut(above as usize)) {
            None => true,
            Some(Some(first)) if *first == NONE => {
                *first = position;
                true
            }
            Some(_) => false,
        }
    }

    pub(super) fn first(&self, above: Position) -> Position {
        self.first.get(above as usize).copied().unwrap_or(self.root)
    }

    pub(super) fn next(&self, position: Position) -> Position {
        self.next.get(position as usize).copied().unwrap_or(NONE)
    }

    /// The child of an entry that has exactly one.
    pub(super) fn only(&self, above: Position) -> Option<Position> {
        let first = self.first(above);
        (first != NONE && self.next(first) == NONE).then_some(first)
    }

    /// Brings siblings into their order: the active path first, then by time.
    pub(super) fn sort(&mut self, entries: &Entries) {
        let key = |at: &Position| (entries.time(*at), *at);
        let mut siblings = Vec::new();
        for above in std::mem::take(&mut self.crowded) {
            siblings.clear();
            let mut next = self.first(above);
            while next != NONE {
                siblings.push(next);
                next = self.next(next);
            }
            // The path goes through one of them, and the others mostly stand in order already.
            let active = siblings.iter().position(|at| entries.on_path(*at));
            if let Some(before) = active.and_then(|active| siblings.get_mut(..=active)) {
                before.rotate_right(1);
            }
            let others = siblings.get_mut(usize::from(active.is_some())..).unwrap_or_default();
            let is_sorted = others.is_sorted_by_key(key);
            if is_sorted && active.is_none_or(|active| active == 0) {
                continue;
            }
            if !is_sorted {
                others.sort_unstable_by_key(key);
            }
            let mut after = NONE;
            for position in siblings.iter().rev() {
                if let Some(next) = self.next.get_mut(*position as usize) {
                    *next = after;
                }
                after = *position;
            }
            match self.first.get_mut(above as usize) {
                Some(first) => *first = after,
                None => self.root = after,
            }
        }
    }
}
