//! Which call a tool result answers: the calls of the newest answers, by where these stand.
//!
//! A result follows its answer closely in every file, so a bounded number of answers is enough. Ids
//! of calls may repeat, also on one path; the nearest answer above the result is the one meant.

use std::collections::VecDeque;

use super::index::{Index, Position, Role};
use super::line::Called;

/// Answers whose calls are remembered. Branches that grow at the same time do not come near it.
const MAX_ANSWERS: usize = 256;
/// Entries looked at above a result: a batch is shorter, journal records between included.
const MAX_ABOVE: usize = 256;

/// The calls of the newest answers, in file order.
#[derive(Debug, Clone, Default)]
pub(super) struct Calls {
    answers: VecDeque<(Position, Vec<Called>)>,
}

impl Calls {
    /// Remembers the calls of the answer at `position`, which is behind all others.
    pub(super) fn add(&mut self, position: Position, calls: Vec<Called>) {
        if calls.is_empty() {
            return;
        }
        if self.answers.len() == MAX_ANSWERS {
            self.answers.pop_front();
        }
        self.answers.push_back((position, calls));
    }

    /// The words of the call with that id, from the nearest answer above an entry whose parent is
    /// `parent`.
    pub(super) fn words(&self, index: &Index, parent: Option<Position>, id: &str) -> Option<&str> {
        let oldest = self.answers.front()?.0;
        let mut next = parent;
        for _ in 0..MAX_ABOVE {
            let position = next.filter(|position| *position >= oldest)?;
            let node = index.node(position)?;
            next = node.parent;
            if node.role != Some(Role::Assistant) {
                continue;
            }
            let Ok(at) = self.answers.binary_search_by_key(&position, |(answer, _)| *answer) else {
                continue;
            };
            let (_, calls) = self.answers.get(at)?;
            if let Some(call) = calls.iter().rev().find(|call| call.id == id) {
                return Some(&call.words);
            }
        }
        None
    }
}
