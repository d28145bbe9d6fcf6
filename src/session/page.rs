//! Pages of a path: pieces that are read together and that a screen can show by themselves.
//!
//! A page begins with a prompt where one is near, else with an answer, so that the results of a call
//! stand with the call. What a screen never shows is no part of a page.

use std::sync::Arc;

use super::index::{Index, Kind, Position, Role};
use super::{Entry, Reader, SessionError};

/// Entries after which a page begins at the next prompt: several screens full.
const ENTRIES: usize = 128;
/// The same in bytes of their lines: what is read and parsed in a few milliseconds.
const BYTES: u64 = 512 << 10;
/// By how much both may be exceeded to find a prompt, and then to find an answer.
const STRETCH: usize = 4;

/// A piece of a path, root first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    pub entries: Vec<Arc<Entry>>,
    /// The entry above the first one; `None` when the page begins at a root.
    pub above: Option<Position>,
    /// The last entry that was looked at, shown or not.
    pub last: Option<Position>,
    /// Bytes of the lines.
    pub bytes: u64,
}

/// The stretch of a path behind `above` (`None`: from its root) up to and with `last`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    pub above: Option<Position>,
    pub last: Position,
}

/// Decides where a page that grows upwards begins.
#[derive(Debug, Default)]
pub(super) struct Cut {
    entries: usize,
    bytes: u64,
}

impl Cut {
    /// Takes the next entry above. `true` when the page should begin with it.
    pub(super) fn add(&mut self, kind: Kind, role: Option<Role>, len: u64) -> bool {
        if !is_shown(kind) {
            return false;
        }
        self.entries += 1;
        self.bytes += len;
        let beyond =
            |times: usize| self.entries >= ENTRIES * times || self.bytes >= BYTES * times as u64;
        let is_prompt = role == Some(Role::User);
        let is_result = role == Some(Role::ToolResult);
        (beyond(1) && is_prompt) || (beyond(STRETCH) && !is_result) || beyond(STRETCH * STRETCH)
    }
}

/// Whether a conversation shows entries of this kind.
pub(super) fn is_shown(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Message
            | Kind::Compaction
            | Kind::BranchSummary
            | Kind::CustomMessage
            | Kind::ModelChange
            | Kind::ThinkingLevelChange
    )
}

impl Reader {
    /// The end of a stretch: its last entries that a screen shows.
    ///
    /// # Errors
    /// As [`Reader::entries`].
    pub fn last_page(&self, stretch: Stretch) -> Result<Page, SessionError> {
        let index = self.known(stretch)?;
        let mut cut = Cut::default();
        let mut shown = Vec::new();
        let mut next = Some(stretch.last);
        while let Some(position) = next.filter(|_| next != stretch.above) {
            let Some(node) = index.node(position) else { break };
            next = node.parent;
            if is_shown(node.kind) {
                shown.push(position);
            }
            if cut.add(node.kind, node.role, u64::from(node.len)) {
                break;
            }
        }
        shown.reverse();
        self.page(&shown, next, stretch.last, cut.bytes)
    }

    /// The beginning of a stretch, up to the next prompt that is far enough. Walks the whole stretch.
    ///
    /// # Errors
    /// As [`Reader::entries`].
    pub fn first_page(&self, stretch: Stretch) -> Result<Page, SessionError> {
        let index = self.known(stretch)?;
        let way = self.way(stretch);
        let mut cut = Cut::default();
        let mut shown = Vec::new();
        let mut last = stretch.above;
        for (position, node) in way.iter().filter_map(|at| Some((*at, index.node(*at)?))) {
            // The entry that would begin the next page ends this one before it.
            let bytes = cut.bytes;
            if cut.add(node.kind, node.role, u64::from(node.len)) && !shown.is_empty() {
                cut.bytes = bytes;
                break;
            }
            if is_shown(node.kind) {
                shown.push(position);
            }
            last = Some(position);
        }
        let last = last.unwrap_or(stretch.last);
        self.page(&shown, stretch.above, last, cut.bytes)
    }

    /// How many entries of a stretch a screen would show.
    pub fn count(&self, stretch: Stretch) -> usize {
        let shown =
            |at: &&Position| self.index().node(**at).is_some_and(|node| is_shown(node.kind));
        self.way(stretch).iter().filter(shown).count()
    }

    fn known(&self, stretch: Stretch) -> Result<&Index, SessionError> {
        let index = self.index();
        index.node(stretch.last).map(|_| index).ok_or_else(|| self.source.changed())
    }

    /// The positions of a stretch, root first.
    fn way(&self, stretch: Stretch) -> Vec<Position> {
        way(self.index(), stretch)
    }

    fn page(
        &self,
        shown: &[Position],
        above: Option<Position>,
        last: Position,
        bytes: u64,
    ) -> Result<Page, SessionError> {
        Ok(Page { entries: self.entries(shown)?, above, last: Some(last), bytes })
    }
}

fn way(index: &Index, stretch: Stretch) -> Vec<Position> {
    let mut way = Vec::new();
    let mut next = Some(stretch.last);
    while let Some(position) = next.filter(|_| next != stretch.above) {
        way.push(position);
        next = index.node(position).and_then(|node| node.parent);
    }
    way.reverse();
    way
}
