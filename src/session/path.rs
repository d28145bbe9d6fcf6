//! The active path, its parsed entries as far as somebody asked for them, and the context so far.
//!
//! Everything here can be thrown away and read again. It is kept so that asking again costs only
//! what was appended since.

use std::sync::Arc;

use super::index::{Index, Kind, Position};
use super::reader::{Source, read_many, read_one};
use super::{Context, Entry, SessionError, context};

/// Entries that are read together for a context.
const PIECE: usize = 512;

/// What is remembered of the path to one leaf.
#[derive(Debug, Default)]
pub(super) struct ActivePath {
    positions: Vec<Position>,
    /// As long as `positions`.
    entries: Vec<Option<Arc<Entry>>>,
    context: Option<Told>,
}

/// A context and the path it was built from: the first `len` positions, ending at `leaf`.
#[derive(Debug)]
struct Told {
    len: usize,
    leaf: Option<Position>,
    context: Arc<Context>,
}

impl ActivePath {
    /// Makes this the path to `leaf`. What both paths share is kept.
    pub(super) fn align(&mut self, index: &Index, leaf: Option<Position>) {
        let last = self.positions.last().copied();
        let mut fresh = Vec::new();
        let mut next = leaf;
        // Positions fall on the way up, so a path that grew meets its old leaf before it passes it.
        while let Some(position) = next.filter(|position| last.is_some_and(|last| *position > last))
        {
            fresh.push(position);
            next = index.node(position).and_then(|node| node.parent);
        }
        if next != last || last.is_none() {
            let path = index.path(leaf);
            let shared = path.iter().zip(&self.positions).take_while(|(a, b)| a == b).count();
            self.positions.truncate(shared);
            self.entries.truncate(shared);
            fresh = path.get(shared..).unwrap_or_default().iter().rev().copied().collect();
        }
        self.positions.extend(fresh.into_iter().rev());
        self.entries.resize(self.positions.len(), None);
    }

    /// Remembers entries that were just appended, the newest last.
    pub(super) fn remember(&mut self, entries: &[Arc<Entry>]) {
        let start = self.entries.len().saturating_sub(entries.len());
        for (slot, entry) in self.entries.iter_mut().skip(start).zip(entries) {
            *slot = Some(Arc::clone(entry));
        }
    }

    /// All entries of the path, read where they are not known yet.
    pub(super) fn branch(
        &mut self,
        index: &Index,
        source: &Source,
    ) -> Result<Vec<Arc<Entry>>, SessionError> {
        let holes = self.entries.iter().zip(&self.positions).filter(|(entry, _)| entry.is_none());
        let missing: Vec<Position> = holes.map(|(_, position)| *position).collect();
        let mut read = read_many(index, source, &missing)?.into_iter();
        for slot in self.entries.iter_mut().filter(|slot| slot.is_none()) {
            *slot = read.next();
        }
        Ok(self.entries.iter().flatten().cloned().collect())
    }

    /// The context of the path. What was built is kept; entries read for it are not.
    pub(super) fn context(
        &mut self,
        index: &Index,
        source: &Source,
    ) -> Result<Arc<Context>, SessionError> {
        if let Some(mut told) = self.context.take()
            && told.len.checked_sub(1).and_then(|last| self.positions.get(last).copied())
                == told.leaf
            && told.len <= self.positions.len()
            && self.extend(&mut told, index, source)?
        {
            return Ok(Arc::clone(&self.context.insert(told).context));
        }
        let mut load = |position| self.load(index, source, position);
        let wanted = context::wanted(index, &self.positions, &mut load)?;
        // A summary and an edit look back; what follows the last of them is added piece by piece, so
        // that a long path is never held twice.
        let looks_back = |position: &Position| {
            let kind = index.node(*position).map(|node| node.kind);
            matches!(kind, Some(Kind::Compaction | Kind::ContextEdit))
        };
        let split = wanted.iter().rposition(looks_back).map_or(0, |at| at + 1);
        let (first, rest) = wanted.split_at_checked(split).unwrap_or((&wanted, &[]));
        let mut context = context::build(&self.load_many(index, source, first)?);
        for piece in rest.chunks(PIECE) {
            for entry in self.load_many(index, source, piece)? {
                context::extend(&mut context, &entry);
            }
        }
        let told = Told {
            len: self.positions.len(),
            leaf: self.positions.last().copied(),
            context: Arc::new(context),
        };
        Ok(Arc::clone(&self.context.insert(told).context))
    }

    /// Adds what came behind the path of `told`; `false` when that is not enough.
    fn extend(
        &self,
        told: &mut Told,
        index: &Index,
        source: &Source,
    ) -> Result<bool, SessionError> {
        let fresh = self.positions.get(told.len..).unwrap_or_default();
        if fresh.is_empty() {
            return Ok(true);
        }
        let entries = self.load_many(index, source, fresh)?;
        let context = Arc::make_mut(&mut told.context);
        told.len = self.positions.len();
        told.leaf = self.positions.last().copied();
        Ok(entries.iter().all(|entry| context::extend(context, entry)))
    }

    fn known(&self, position: Position) -> Option<Arc<Entry>> {
        self.positions.binary_search(&position).ok().and_then(|at| self.entries.get(at)?.clone())
    }

    /// One entry, of this path or not.
    pub(super) fn load(
        &self,
        index: &Index,
        source: &Source,
        position: Position,
    ) -> Result<Arc<Entry>, SessionError> {
        match self.known(position) {
            Some(entry) => Ok(entry),
            None => read_one(index, source, position),
        }
    }

    fn load_many(
        &self,
        index: &Index,
        source: &Source,
        wanted: &[Position],
    ) -> Result<Vec<Arc<Entry>>, SessionError> {
        let known: Vec<Option<Arc<Entry>>> =
            wanted.iter().map(|position| self.known(*position)).collect();
        let holes = known.iter().zip(wanted).filter(|(entry, _)| entry.is_none());
        let missing: Vec<Position> = holes.map(|(_, position)| *position).collect();
        let mut read = read_many(index, source, &missing)?.into_iter();
        Ok(known.into_iter().filter_map(|entry| entry.or_else(|| read.next())).collect())
    }
}
