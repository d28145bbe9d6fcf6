//! What the model would be told on a path: from entries to messages and settings.
//!
//! [`build`] is the whole rule as a pure function of a path. [`wanted`] names the entries of a path
//! that can matter to it, so that a long session reads only those; [`extend`] adds one entry to a
//! context that is already built.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::index::{Index, Kind, Position, Role};
use super::{Body, Context, Entry, SessionError, name};
use crate::message::{
    CustomMessage, EntryId, Message, Part, SummaryMessage, ThinkingLevel, content_from_any,
    plain_text,
};

/// Our own record of the active tools: `{"v": 1, "tools": [names]}`.
pub(super) const TOOLS_RECORD: &str = "harness-tui.tools";

/// The context of a path, root first.
///
/// The last compaction's summary comes first, then what it kept (its `retainedTail`, or the entries
/// from its first kept one on), then what follows it. Settings come from the whole path.
pub fn build(path: &[Arc<Entry>]) -> Context {
    let mut context = Context::default();
    for entry in path {
        settle(&mut context, entry);
    }
    let mut told = Told { path, edits: edits(path), context };
    match path.iter().rposition(|entry| matches!(entry.body, Body::Compaction { .. })) {
        None => told.push_all(0..path.len()),
        Some(at) => {
            told.push_all(at..at + 1);
            told.push_kept(at);
            told.push_all(at + 1..path.len());
        }
    }
    told.context
}

/// The last edit of each entry and where on the path it stands.
fn edits(path: &[Arc<Entry>]) -> Edits<'_> {
    let edit = |(at, entry)| match &Arc::<Entry>::as_ref(entry).body {
        Body::ContextEdit { target_id, replacement } => {
            Some((target_id, (at, replacement.as_ref())))
        }
        _ => None,
    };
    path.iter().enumerate().filter_map(edit).collect()
}

type Edits<'a> = HashMap<&'a EntryId, (usize, Option<&'a Value>)>;

/// A context under construction.
struct Told<'a> {
    path: &'a [Arc<Entry>],
    edits: Edits<'a>,
    context: Context,
}

impl Told<'_> {
    fn push_kept(&mut self, compaction: usize) {
        let Some(entry) = self.path.get(compaction) else { return };
        let Body::Compaction { first_kept_entry_id, retained_tail, .. } = &entry.body else {
            return;
        };
        if let Some(tail) = retained_tail {
            for message in tail {
                let message = (Some(entry.id.clone()), Arc::new(message.clone()));
                self.context.messages.push(message);
            }
            return;
        }
        let first = first_kept_entry_id.as_ref();
        let is_first = |entry: &Arc<Entry>| Some(&entry.id) == first;
        if let Some(kept) = self.path.iter().take(compaction).position(is_first) {
            for at in kept..compaction {
                // An older summary inside the kept range is part of what the newer one tells.
                let is_summary = |entry: &Arc<Entry>| matches!(entry.body, Body::Compaction { .. });
                if !self.path.get(at).is_some_and(is_summary) {
                    self.push_all(at..at + 1);
                }
            }
        }
    }

    fn push_all(&mut self, range: std::ops::Range<usize>) {
        for at in range {
            let Some(entry) = self.path.get(at) else { continue };
            let Some(mut message) = message_of(entry) else { continue };
            // An edit stands behind its target; one that stands before it names something else.
            match self.edits.get(&entry.id) {
                Some((edit, None)) if *edit > at => continue,
                Some((edit, Some(replacement))) if *edit > at => {
                    replace_content(&mut message, replacement);
                }
                _ => {}
            }
            self.context.messages.push((Some(entry.id.clone()), Arc::new(message)));
        }
    }
}

/// Adds the next entry of the path. `false` when the context has to be built anew.
pub(super) fn extend(context: &mut Context, entry: &Entry) -> bool {
    if matches!(entry.body, Body::Compaction { .. } | Body::ContextEdit { .. }) {
        return false;
    }
    settle(context, entry);
    if let Some(message) = message_of(entry) {
        context.messages.push((Some(entry.id.clone()), Arc::new(message)));
    }
    true
}

fn settle(context: &mut Context, entry: &Entry) {
    match &entry.body {
        Body::ModelChange { provider, model_id } if !model_id.is_empty() => {
            context.model = Some((provider.clone(), model_id.clone()));
        }
        Body::Message { message: Message::Assistant(answer), .. } if !answer.model.is_empty() => {
            let same = |(provider, model): &(String, String)| {
                *provider == answer.provider && *model == answer.model
            };
            if !context.model.as_ref().is_some_and(same) {
                context.model = Some((answer.provider.clone(), answer.model.clone()));
            }
        }
        Body::ThinkingLevelChange { thinking_level } => {
            if let Some(level) = ThinkingLevel::parse(thinking_level) {
                context.thinking_level = Some(level);
            }
        }
        Body::ActiveToolsChange { active_tool_names } => {
            context.active_tools = Some(active_tool_names.clone());
        }
        Body::Custom { custom_type, data: Some(data) } if custom_type == TOOLS_RECORD => {
            if let Some(names) = data.get("tools").and_then(Value::as_array) {
                let names = names.iter().filter_map(Value::as_str).map(str::to_owned);
                context.active_tools = Some(names.collect());
            }
        }
        _ => {}
    }
}

/// The message an entry stands for, if any.
fn message_of(entry: &Entry) -> Option<Message> {
    let timestamp = || name::parse_iso(&entry.timestamp).unwrap_or_default();
    match &entry.body {
        Body::Message { message, .. } => Some(message.clone()),
        Body::CustomMessage { custom_type, content, display, .. } => {
            Some(Message::Custom(CustomMessage {
                custom_type: custom_type.clone(),
                content: content.clone(),
                display: *display,
                timestamp: timestamp(),
            }))
        }
        Body::BranchSummary { summary, .. } if !summary.trim().is_empty() => {
            Some(Message::BranchSummary(SummaryMessage {
                summary: summary.clone(),
                timestamp: timestamp(),
            }))
        }
        Body::Compaction { summary, .. } => Some(Message::CompactionSummary(SummaryMessage {
            summary: summary.clone(),
            timestamp: timestamp(),
        })),
        _ => None,
    }
}

/// Puts the replacement's `content` in; one without a content changes nothing.
fn replace_content(message: &mut Message, replacement: &Value) {
    let Some(content) = replacement.get("content") else { return };
    let Ok(parts): Result<Vec<Part>, _> = content_from_any(content.clone()) else { return };
    match message {
        Message::User(message) => message.content = parts,
        Message::Assistant(message) => message.content = parts,
        Message::ToolResult(message) => message.content = parts,
        Message::Custom(message) => message.content = parts,
        Message::BranchSummary(message) | Message::CompactionSummary(message) => {
            message.summary = plain_text(&parts);
        }
        Message::BashExecution(_) | Message::Unknown => {}
    }
}

/// The entries of `path` that [`build`] has to see; it gives the same for them as for all.
/// `load` reads one entry.
pub(super) fn wanted(
    index: &Index,
    path: &[Position],
    load: &mut dyn FnMut(Position) -> Result<Arc<Entry>, SessionError>,
) -> Result<Vec<Position>, SessionError> {
    let start = first_told(index, path, load)?;
    let (before, told) = path.split_at_checked(start).unwrap_or((path, &[]));
    let mut wanted = Vec::new();
    for (position, _) in settling(index, before.iter().rev().copied(), load)? {
        wanted.push(position);
    }
    let tells = |position: &&Position| {
        index.node(**position).is_some_and(|node| match node.kind {
            Kind::Custom => *node.preview == *TOOLS_RECORD,
            Kind::LeafMarker
            | Kind::Label
            | Kind::SessionInfo
            | Kind::Usage
            | Kind::Leaf
            | Kind::Other => false,
            _ => true,
        })
    };
    // The first one stays even if it tells nothing: a compaction finds its kept range by it.
    wanted.extend(told.iter().take(1));
    wanted.extend(told.iter().skip(1).filter(tells));
    Ok(wanted)
}

/// The settings of the path to `leaf`, without its messages.
pub(super) fn settings(
    index: &Index,
    leaf: Option<Position>,
    load: &mut dyn FnMut(Position) -> Result<Arc<Entry>, SessionError>,
) -> Result<Context, SessionError> {
    let parent = |position: &Position| index.node(*position).and_then(|node| node.parent);
    let mut context = Context::default();
    for (_, entry) in settling(index, std::iter::successors(leaf, parent), load)? {
        settle(&mut context, &entry);
    }
    Ok(context)
}

/// The entries that settle the settings of a path given leaf first; they come root first.
fn settling(
    index: &Index,
    upwards: impl Iterator<Item = Position>,
    load: &mut dyn FnMut(Position) -> Result<Arc<Entry>, SessionError>,
) -> Result<Vec<(Position, Arc<Entry>)>, SessionError> {
    let mut found = Vec::new();
    let mut missing = vec![
        Setting::Model,
        Setting::Answer,
        Setting::Thinking,
        Setting::ForeignTools,
        Setting::Tools,
    ];
    for position in upwards {
        if missing.is_empty() {
            break;
        }
        if let Some(at) = missing.iter().position(|setting| setting.is_at(index, position)) {
            // An answer that names no model settles nothing: look on for one that does.
            let entry = load(position)?;
            let mut probe = Context::default();
            settle(&mut probe, &entry);
            if probe != Context::default() {
                missing.swap_remove(at);
                found.push((position, entry));
            }
        }
    }
    found.reverse();
    Ok(found)
}

/// Where on the path the first entry stands that is still told.
fn first_told(
    index: &Index,
    path: &[Position],
    load: &mut dyn FnMut(Position) -> Result<Arc<Entry>, SessionError>,
) -> Result<usize, SessionError> {
    for (at, position) in path.iter().enumerate().rev() {
        if index.node(*position).is_none_or(|node| node.kind != Kind::Compaction) {
            continue;
        }
        let entry = load(*position)?;
        let Body::Compaction { first_kept_entry_id, retained_tail, .. } = &entry.body else {
            continue;
        };
        if retained_tail.is_some() {
            return Ok(at);
        }
        let kept = first_kept_entry_id.as_ref().and_then(|id| index.position(id));
        let kept = kept.and_then(|kept| path.binary_search(&kept).ok());
        return Ok(kept.filter(|kept| *kept < at).unwrap_or(at));
    }
    Ok(0)
}

/// What may stand before everything that is told and still count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Setting {
    Model,
    Answer,
    Thinking,
    ForeignTools,
    Tools,
}

impl Setting {
    fn is_at(self, index: &Index, position: Position) -> bool {
        index.node(position).is_some_and(|node| match self {
            Self::Model => node.kind == Kind::ModelChange,
            Self::Answer => node.role == Some(Role::Assistant),
            Self::Thinking => node.kind == Kind::ThinkingLevelChange,
            Self::ForeignTools => node.kind == Kind::ActiveToolsChange,
            Self::Tools => node.kind == Kind::Custom && *node.preview == *TOOLS_RECORD,
        })
    }
}
