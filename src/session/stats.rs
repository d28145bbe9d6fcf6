//! Sums of a session: what was said, called and spent, on the active branch and in the whole tree.
//!
//! One pass over the lines in file order; nothing is kept but the sums.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;

use super::snapshot::SessionView;
use super::{Body, Entry, Kind, Position, Role, SessionError, parse};
use crate::message::{Message, Usage};

/// Longest tool name that is counted by itself, in characters.
const NAME_CHARS: usize = 120;

/// The sums of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Stats {
    pub entries: usize,
    /// Entries from which no other follows.
    pub branches: usize,
    /// Entries that follow from none.
    pub roots: usize,
    /// From the root to the leaf.
    pub branch: Sums,
    /// All branches together, shared parts once.
    pub whole: Sums,
}

/// The sums of a part of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Sums {
    /// By role: `user`, `assistant`, `toolResult`, `bashExecution`, `other`.
    pub messages: BTreeMap<&'static str, u64>,
    /// What models asked for, by tool.
    pub tool_calls: BTreeMap<String, u64>,
    /// Results that are errors.
    pub tool_errors: u64,
    pub compactions: u64,
    pub branch_summaries: u64,
    /// Of answers, summaries and what else reported any. Cost in US dollars.
    pub usage: Usage,
    /// Unix milliseconds of the first and the last message; 0 without any.
    pub first_ms: i64,
    pub last_ms: i64,
}

impl SessionView {
    /// Reads everything once and sums it up.
    ///
    /// # Errors
    /// What stopped the reading.
    pub fn stats(&self) -> Result<Stats, SessionError> {
        let index = self.tree.index();
        let active: HashSet<Position> = self.active().into_iter().collect();
        let mut stats = Stats { entries: index.len(), ..Stats::default() };
        (stats.branches, stats.roots) = self.ends();
        self.each_line(&self.all(), &mut |position, node, line| {
            let is_counted = matches!(
                node.kind,
                Kind::Message | Kind::Compaction | Kind::BranchSummary | Kind::Usage
            );
            if is_counted && let Some(entry) = parse::entry(line) {
                let time = if node.kind == Kind::Message { node.time_ms } else { 0 };
                stats.whole.take(&entry, node.role, time);
                if active.contains(&position) {
                    stats.branch.take(&entry, node.role, time);
                }
            }
            Ok(())
        })?;
        Ok(stats)
    }

    /// How many entries have nothing below, and how many nothing above. Leaf markers count as their
    /// targets.
    fn ends(&self) -> (usize, usize) {
        let index = self.tree.index();
        let mut has_more = vec![false; index.len()];
        let is_marker = |kind| matches!(kind, Kind::LeafMarker | Kind::Leaf);
        let (mut count, mut roots) = (0, 0);
        for node in index.iter().filter(|node| !is_marker(node.kind)) {
            count += 1;
            match index.above_markers(node.parent) {
                None => roots += 1,
                Some(parent) => {
                    if let Some(slot) = has_more.get_mut(parent as usize) {
                        *slot = true;
                    }
                }
            }
        }
        let forks = has_more.iter().zip(index.iter());
        let inner = forks.filter(|(has_more, node)| **has_more && !is_marker(node.kind)).count();
        (count - inner, roots)
    }
}

impl Sums {
    fn take(&mut self, entry: &Entry, role: Option<Role>, time: i64) {
        match &entry.body {
            Body::Message { message, .. } => {
                *self.messages.entry(role_name(role)).or_default() += 1;
                self.message(message);
            }
            Body::Compaction { usage, .. } => {
                self.compactions += 1;
                self.spend(usage.as_ref());
            }
            Body::BranchSummary { usage, .. } => {
                self.branch_summaries += 1;
                self.spend(usage.as_ref());
            }
            Body::Usage { usage, .. } => self.spend(Some(usage)),
            _ => {}
        }
        if time > 0 {
            self.first_ms = if self.first_ms == 0 { time } else { self.first_ms.min(time) };
            self.last_ms = self.last_ms.max(time);
        }
    }

    fn message(&mut self, message: &Message) {
        match message {
            Message::Assistant(answer) => {
                self.spend(Some(&answer.usage));
                for call in answer.tool_calls() {
                    let name: String = call.name.chars().take(NAME_CHARS).collect();
                    *self.tool_calls.entry(name).or_default() += 1;
                }
            }
            Message::ToolResult(result) => self.tool_errors += u64::from(result.is_error),
            _ => {}
        }
    }

    /// Counts are foreign numbers: a sum stops at the largest one instead of turning over.
    fn spend(&mut self, usage: Option<&Usage>) {
        let Some(more) = usage else { return };
        let sum = &mut self.usage;
        sum.input = sum.input.saturating_add(more.input);
        sum.output = sum.output.saturating_add(more.output);
        sum.cache_read = sum.cache_read.saturating_add(more.cache_read);
        sum.cache_write = sum.cache_write.saturating_add(more.cache_write);
        sum.total_tokens = sum.total_tokens.saturating_add(more.total_tokens);
        if let Some(reasoning) = more.reasoning {
            let all = sum.reasoning.get_or_insert(0);
            *all = all.saturating_add(reasoning);
        }
        sum.cost.input += more.cost.input;
        sum.cost.output += more.cost.output;
        sum.cost.cache_read += more.cost.cache_read;
        sum.cost.cache_write += more.cost.cache_write;
        sum.cost.total += more.cost.total;
    }
}

fn role_name(role: Option<Role>) -> &'static str {
    match role {
        Some(Role::User) => "user",
        Some(Role::Assistant) => "assistant",
        Some(Role::ToolResult) => "toolResult",
        Some(Role::BashExecution) => "bashExecution",
        Some(Role::Other) | None => "other",
    }
}
