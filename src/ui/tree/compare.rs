//! Two nodes side by side: what was said and which files changed on either side since their paths
//! parted.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use crate::message::Message;
use crate::session::{Body, Entry, Kind, Position, TreeView};
use crate::text::truncate::prefix;
use crate::ui::tree::read::text;

/// Entries read of a side, its newest; a longer branch says how many are left out.
const SIDE_ENTRIES: usize = 400;
/// Bytes kept of one text.
const ITEM_BYTES: usize = 2 << 10;
/// Files told of a side.
const FILES_MAX: usize = 200;

/// What two nodes do not share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// The first words of the last entry both share; `None` where they share nothing.
    pub common: Option<String>,
    pub sides: [Side; 2],
}

/// One side.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Side {
    /// The first words of the node.
    pub title: String,
    /// It is the leaf.
    pub is_leaf: bool,
    /// By path.
    pub files: Vec<Changed>,
    pub said: Vec<Said>,
    /// Older entries that were not read.
    pub left_out: usize,
}

/// A file that a side changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    pub path: String,
    pub added: u64,
    pub removed: u64,
}

/// Something said on a side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    pub who: Speaker,
    pub text: String,
}

/// Who said it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    You,
    Assistant,
    Tool,
    Summary,
}

/// Reads both sides.
///
/// # Errors
/// What stopped the reading, in words.
pub fn compare(view: &TreeView, left: Position, right: Position) -> Result<Comparison, String> {
    let (common, left_path, right_path) = parted(view, left, right);
    let words = |position: Position| {
        view.index().node(position).map(|node| node.preview.to_string()).unwrap_or_default()
    };
    let side = |path: &[Position], end: Position| -> Result<Side, String> {
        let side = side(view, path, words(end))?;
        Ok(Side { is_leaf: view.leaf == Some(end), ..side })
    };
    let parent = |position: &Position| view.index().node(*position).and_then(|node| node.parent);
    let said = |position: &Position| {
        let node = view.index().node(*position);
        node.is_some_and(|node| is_told(node.kind) && !node.preview.is_empty())
    };
    Ok(Comparison {
        // Records and settings part nothing a person has read.
        common: std::iter::successors(common, parent).find(said).map(words),
        sides: [side(&left_path, left)?, side(&right_path, right)?],
    })
}

fn is_told(kind: Kind) -> bool {
    matches!(kind, Kind::Message | Kind::Compaction | Kind::BranchSummary | Kind::CustomMessage)
}

/// The nearest shared entry, and the ways from there to both nodes, root first.
fn parted(
    view: &TreeView,
    left: Position,
    right: Position,
) -> (Option<Position>, Vec<Position>, Vec<Position>) {
    let index = view.index();
    let (mut a, mut b) = (Some(left), Some(right));
    let (mut left, mut right) = (Vec::new(), Vec::new());
    // A parent stands before its children, so the later of the two is never the shared one.
    while a != b {
        let (next, path) = if a > b { (&mut a, &mut left) } else { (&mut b, &mut right) };
        let Some(position) = *next else { break };
        path.push(position);
        *next = index.node(position).and_then(|node| node.parent);
    }
    left.reverse();
    right.reverse();
    (a, left, right)
}

fn side(view: &TreeView, path: &[Position], title: String) -> Result<Side, String> {
    let left_out = path.len().saturating_sub(SIDE_ENTRIES);
    let wanted = path.get(left_out..).unwrap_or_default();
    let read = view.reader.entries(wanted).map_err(|error| error.to_string())?;
    let mut side = Side { title, left_out, ..Side::default() };
    let mut paths: HashMap<String, String> = HashMap::new();
    let mut files: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for entry in &read {
        note_files(entry, &mut paths, &mut files);
        if let Some(who) = speaker(entry) {
            let text = text(entry);
            if !text.trim().is_empty() {
                side.said.push(Said { who, text: prefix(&text, ITEM_BYTES).to_owned() });
            }
        }
    }
    let changed = files.into_iter().take(FILES_MAX);
    side.files = changed.map(|(path, (added, removed))| Changed { path, added, removed }).collect();
    Ok(side)
}

fn speaker(entry: &Entry) -> Option<Speaker> {
    match &entry.body {
        Body::Message { message, .. } => Some(match message {
            Message::User(_) => Speaker::You,
            Message::Assistant(_) => Speaker::Assistant,
            Message::ToolResult(_) | Message::BashExecution(_) => Speaker::Tool,
            _ => Speaker::Summary,
        }),
        Body::Compaction { .. } | Body::BranchSummary { .. } | Body::CustomMessage { .. } => {
            Some(Speaker::Summary)
        }
        _ => None,
    }
}

/// Remembers which file a call names, and counts the lines its result changed.
fn note_files(
    entry: &Entry,
    paths: &mut HashMap<String, String>,
    files: &mut BTreeMap<String, (u64, u64)>,
) {
    let Body::Message { message, .. } = &entry.body else { return };
    match message {
        Message::Assistant(answer) => {
            for call in answer.tool_calls() {
                if let Some(path) = call.arguments.get("path").and_then(Value::as_str) {
                    paths.insert(call.id.clone(), path.to_owned());
                }
            }
        }
        Message::ToolResult(result) => {
            let diff = result.details.as_ref().and_then(|details| details.get("diff"));
            let Some(diff) = diff.and_then(Value::as_str) else { return };
            let path = paths.get(&result.tool_call_id).cloned();
            let counts = files.entry(path.unwrap_or_else(|| "a file".to_owned())).or_default();
            for line in diff.lines() {
                match line.as_bytes().first() {
                    Some(b'+') => counts.0 += 1,
                    Some(b'-') => counts.1 += 1,
                    _ => {}
                }
            }
        }
        _ => {}
    }
}
