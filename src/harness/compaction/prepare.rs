//! Where a conversation is cut: what is folded into a summary and what stays as it is.
//!
//! Pure: a context, the index for what stands between messages, and how much should stay. A cut
//! never falls between a call and its result, and everything after it stays word for word.

use std::sync::Arc;

use super::files::{Files, without_lists};
use super::prompt::{Focus, Kind};
use super::serialize::{blocks, cut};
use super::summarise::{Task, Written};
use crate::message::{EntryId, Message, Usage};
use crate::session::{Context, Index, Kind as EntryKind, Position};
use crate::text::tokens;

/// Characters of the newest request that a summary quotes when the request itself is folded.
const QUOTE_CHARS: usize = 4_000;
/// What stands for the history of a turn that is split with nothing before it.
const NO_HISTORY: &str = "No prior history.";

/// Why there is nothing to fold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::harness) enum Nothing {
    /// The last thing on the branch is a compaction.
    Already,
    /// All of it is to stay.
    TooSmall,
    /// The entry to fold up to is not on the branch, or folded already.
    NotHere,
}

impl Nothing {
    /// What happened and what to do, for people.
    pub(in crate::harness) fn text(self) -> &'static str {
        match self {
            Self::Already => "the branch was compacted already and nothing has come since",
            Self::TooSmall => {
                "nothing to compact: all of the conversation is recent enough to stay"
            }
            Self::NotHere => {
                "the entry to compact up to is not on the active branch, or compacted already: choose a later one"
            }
        }
    }
}

/// A context to cut.
#[derive(Debug, Clone, Copy)]
pub(in crate::harness) struct Source<'a> {
    pub(in crate::harness) context: &'a Context,
    pub(in crate::harness) index: &'a Index,
    /// The leaf the context is of.
    pub(in crate::harness) leaf: Option<Position>,
    /// Tokens of recent messages that stay.
    pub(in crate::harness) keep: u64,
    /// Tokens that may stay at most, when the message at the cut is a huge one.
    pub(in crate::harness) most: u64,
    /// Fold everything before this entry instead.
    pub(in crate::harness) up_to: Option<&'a EntryId>,
}

/// Where to cut.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::harness) struct Cut {
    /// The first entry that stays.
    pub(in crate::harness) first_kept: EntryId,
    /// The summary before, as it stands in the context.
    pub(in crate::harness) previous: Option<(EntryId, String)>,
    /// Folded as history.
    pub(in crate::harness) history: Vec<Said>,
    /// Folded as the beginning of the turn whose end stays.
    pub(in crate::harness) prefix: Vec<Said>,
    /// Messages that stay.
    pub(in crate::harness) kept: usize,
    pub(in crate::harness) kept_tokens: u64,
    /// Tokens of what is folded, the summary before not counted.
    pub(in crate::harness) folded_tokens: u64,
    /// The newest user message does not stay by itself.
    pub(in crate::harness) newest_user: Option<EntryId>,
}

/// A message and the entry it came from.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::harness) struct Said {
    pub(in crate::harness) id: EntryId,
    pub(in crate::harness) message: Arc<Message>,
}

/// Finds the cut.
///
/// # Errors
/// Why there is none.
pub(in crate::harness) fn cut_of(source: &Source<'_>) -> Result<Cut, Nothing> {
    if ends_with_compaction(source.index, source.leaf) {
        return Err(Nothing::Already);
    }
    let (previous, mut items) = said(source.context);
    // What a foreign compaction kept in itself has no entry of its own to begin with.
    let is_own = |said: &Said| previous.as_ref().is_none_or(|(id, _)| said.id != *id);
    let is_candidate = |said: &Said| {
        is_own(said) && !matches!(*said.message, Message::ToolResult(_) | Message::Unknown)
    };
    let at = match source.up_to {
        None => by_size(&items, source.keep, source.most, &is_candidate),
        Some(up_to) => by_entry(&items, source.index, up_to, &is_candidate)?,
    };
    let at = at.ok_or(Nothing::TooSmall)?;
    let starts_turn = |said: &Said| {
        matches!(
            *said.message,
            Message::User(_)
                | Message::BashExecution(_)
                | Message::Custom(_)
                | Message::BranchSummary(_)
        )
    };
    let start = match items.get(at) {
        Some(first) if !starts_turn(first) => items.iter().take(at).rposition(starts_turn),
        _ => None,
    };
    if at == 0 {
        return Err(Nothing::TooSmall);
    }
    let kept = items.split_off(at);
    let first = kept.first().ok_or(Nothing::TooSmall)?;
    let first_kept = with_metadata(source.index, &first.id);
    let is_user = |said: &Said| matches!(*said.message, Message::User(_));
    let newest_user =
        if kept.iter().any(is_user) { None } else { newest_user(source.index, source.leaf) };
    let folded_tokens = items.iter().map(|said| tokens::of_message(&said.message)).sum();
    let prefix = start.map(|start| items.split_off(start)).unwrap_or_default();
    Ok(Cut {
        first_kept,
        previous,
        history: items,
        prefix,
        kept_tokens: kept.iter().map(|said| tokens::of_message(&said.message)).sum(),
        kept: kept.len(),
        folded_tokens,
        newest_user,
    })
}

/// The summary in front, and every message behind it with the entry it came from.
fn said(context: &Context) -> (Option<(EntryId, String)>, Vec<Said>) {
    let mut items: Vec<Said> = context
        .messages
        .iter()
        .filter_map(|(id, message)| Some(Said { id: id.clone()?, message: Arc::clone(message) }))
        .collect();
    let previous = match items.first().map(|first| (&first.id, &*first.message)) {
        Some((id, Message::CompactionSummary(summary))) => {
            Some((id.clone(), summary.summary.clone()))
        }
        _ => None,
    };
    if previous.is_some() {
        items.remove(0);
    }
    (previous, items)
}

/// The first candidate from the message on with which `keep` tokens stand at the end. When that
/// leaves more than `most`, because one message is huge, the first that does not, or the last.
fn by_size(
    items: &[Said],
    keep: u64,
    most: u64,
    is_candidate: &dyn Fn(&Said) -> bool,
) -> Option<usize> {
    let mut sum = 0;
    let mut reached = None;
    let mut roomy = items.len();
    for (at, said) in items.iter().enumerate().rev() {
        sum += tokens::of_message(&said.message);
        if sum <= most {
            roomy = at;
        }
        if sum >= keep {
            reached = Some(at);
            break;
        }
    }
    let from = reached.unwrap_or(0);
    let from = if sum > most { from.max(roomy) } else { from };
    let next = items.iter().skip(from).position(is_candidate).map(|at| from + at);
    // Only huge results stand at the end: the answer that asked for them stays with them.
    next.or_else(|| items.iter().rposition(is_candidate))
}

/// The candidate at an entry, or in front of it when it is a result.
fn by_entry(
    items: &[Said],
    index: &Index,
    up_to: &EntryId,
    is_candidate: &dyn Fn(&Said) -> bool,
) -> Result<Option<usize>, Nothing> {
    let wanted = index.position(up_to).ok_or(Nothing::NotHere)?;
    let position = |said: &Said| index.position(&said.id);
    let first = items.iter().find(|said| is_candidate(said)).and_then(position);
    if first.is_none_or(|first| wanted < first) {
        return Err(Nothing::NotHere);
    }
    let at =
        items.iter().position(|said| position(said) >= Some(wanted)).ok_or(Nothing::NotHere)?;
    Ok(items.iter().take(at + 1).rposition(is_candidate))
}

/// Whether nothing that is told stands behind the last compaction.
fn ends_with_compaction(index: &Index, leaf: Option<Position>) -> bool {
    let mut next = leaf;
    while let Some(node) = next.and_then(|position| index.node(position)) {
        match node.kind {
            EntryKind::Compaction => return true,
            EntryKind::Message | EntryKind::CustomMessage | EntryKind::BranchSummary => {
                return false;
            }
            _ => next = node.parent,
        }
    }
    false
}

/// The first of the entries without a message that stand directly in front of an entry, or itself.
fn with_metadata(index: &Index, id: &EntryId) -> EntryId {
    let mut first = index.position(id);
    while let Some(parent) = first.and_then(|at| index.node(at)).and_then(|node| node.parent) {
        let is_metadata = index.node(parent).is_some_and(|node| {
            !matches!(
                node.kind,
                EntryKind::Message
                    | EntryKind::CustomMessage
                    | EntryKind::BranchSummary
                    | EntryKind::Compaction
            )
        });
        if !is_metadata {
            break;
        }
        first = Some(parent);
    }
    first.and_then(|at| index.node(at)).map_or_else(|| id.clone(), |node| node.id.clone())
}

fn newest_user(index: &Index, leaf: Option<Position>) -> Option<EntryId> {
    let mut next = leaf;
    while let Some(node) = next.and_then(|position| index.node(position)) {
        if node.role == Some(crate::session::Role::User) {
            return Some(node.id.clone());
        }
        next = node.parent;
    }
    None
}

/// A compaction that is ready to be asked for.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::harness) struct Plan {
    pub(in crate::harness) leaf: EntryId,
    pub(in crate::harness) first_kept: EntryId,
    pub(in crate::harness) folded: usize,
    pub(in crate::harness) kept: usize,
    pub(in crate::harness) kept_tokens: u64,
    /// Of the whole context, as it is now.
    pub(in crate::harness) tokens_before: u64,
    /// What no folding makes smaller.
    pub(in crate::harness) fixed: u64,
    pub(in crate::harness) files: Files,
    tasks: Vec<Task>,
    /// The summary before, when no new history is added to it.
    carried: Option<String>,
    is_split: bool,
    quote: Option<String>,
}

impl Plan {
    /// `quote`: the newest request, when the cut says that it does not stay. `files`: what earlier
    /// summaries list.
    pub(in crate::harness) fn new(
        cut: Cut,
        leaf: EntryId,
        quote: Option<&str>,
        mut files: Files,
        focus: &Focus,
    ) -> Self {
        let messages = || cut.history.iter().chain(&cut.prefix);
        messages().for_each(|said| files.note(&said.message));
        let previous = cut.previous.map(|(_, summary)| without_lists(&summary).to_owned());
        let mut tasks = Vec::new();
        let mut carried = None;
        if cut.history.is_empty() {
            carried = previous;
        } else {
            tasks.push(Task {
                kind: Kind::History,
                blocks: blocks(cut.history.iter().map(|said| &*said.message)),
                previous,
                focus: focus.clone(),
            });
        }
        if !cut.prefix.is_empty() {
            tasks.push(Task {
                kind: Kind::Prefix,
                blocks: blocks(cut.prefix.iter().map(|said| &*said.message)),
                previous: None,
                focus: focus.clone(),
            });
        }
        Self {
            leaf,
            first_kept: cut.first_kept,
            folded: cut.history.len() + cut.prefix.len(),
            kept: cut.kept,
            kept_tokens: cut.kept_tokens,
            tokens_before: 0,
            fixed: 0,
            files,
            tasks,
            carried,
            is_split: !cut.prefix.is_empty(),
            quote: quote.map(cut_quote),
        }
    }

    /// What a model is asked for, in order.
    pub(in crate::harness) fn tasks(&self) -> Vec<Task> {
        self.tasks.clone()
    }

    /// The summary that is stored, and what it cost.
    pub(in crate::harness) fn summary(&self, written: Vec<Written>) -> (String, Usage) {
        let mut usage = Usage::default();
        written.iter().for_each(|part| usage.add(&part.usage));
        let mut texts = written.into_iter().map(|part| part.text);
        let history = match &self.carried {
            Some(before) => Some(before.clone()),
            None if self.is_split && self.tasks.len() == 1 => None,
            None => texts.next(),
        };
        let mut summary = history.unwrap_or_else(|| NO_HISTORY.to_owned());
        if self.is_split {
            let prefix = texts.next().unwrap_or_default();
            summary.push_str(&format!("\n\n---\n\n**Turn Context (split turn):**\n\n{prefix}"));
        }
        if let Some(quote) = &self.quote {
            summary.push_str(&format!(
                "\n\n**The user's newest request, word for word; it is being worked on:**\n\n{quote}"
            ));
        }
        (self.files.behind(&summary), usage)
    }

    /// Tokens of the context once this summary stands for what is folded.
    pub(in crate::harness) fn tokens_after(&self, summary: &str) -> u64 {
        self.fixed + tokens::of_text(summary) + self.kept_tokens
    }
}

fn cut_quote(text: &str) -> String {
    cut(text, QUOTE_CHARS)
        .lines()
        .map(|line| format!("> {line}\n"))
        .collect::<String>()
        .trim_end()
        .to_owned()
}
