//! Reading bodies for the tree pane, beside the loop: a preview, a copy, a piece of a search, two
//! branches to compare. Everything has a bound, because a body may be of any size.

use serde_json::Value;

use crate::message::{EntryId, Message, Part, plain_text};
use crate::session::{Body, Entry, Node, Position, TreeView};
use crate::text::truncate::prefix;
use crate::ui::tree::compare::{Comparison, compare};
use crate::ui::tree::search::{Found, Gather, Gathered, Piece, contains_all};
use crate::ui::tree::words::clock;

/// Bytes of a preview: what a tall pane shows.
const PREVIEW_BYTES: usize = 4 << 10;
/// Bytes of lines that one piece of a search reads: short enough that a newer query starts soon.
const PIECE_BYTES: u64 = 4 << 20;
/// Entries of a piece at most.
const PIECE_ENTRIES: usize = 2_000;
/// Bytes of one body that are searched: more is no reading matter.
const BODY_BYTES: usize = 1 << 20;

/// Something to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Job {
    Preview(Position),
    /// The text of an entry for the clipboard.
    Copy(Position),
    Search(Piece),
    /// The first words of all entries, for the search.
    Gather(Gather),
    Compare(Position, Position),
    /// When the labels were given, as it is told at this time, Unix milliseconds.
    LabelTimes(i64),
}

/// What was read.
#[derive(Debug, Clone, PartialEq)]
pub enum Done {
    Preview(Position, String),
    Copy(String),
    Found(Found),
    Gathered(Gathered),
    Compared(Box<Comparison>),
    /// The labelled entry and when, in file order.
    LabelTimes(Vec<(EntryId, String)>),
    Failed(String),
}

impl Job {
    /// Reads from the tree as it is given; slow, so not on the loop.
    pub fn run(self, view: &TreeView) -> Done {
        match self {
            Self::Preview(position) => match read(view, position) {
                Ok(entry) => Done::Preview(position, prefix(&text(&entry), PREVIEW_BYTES).into()),
                Err(error) => Done::Preview(position, error),
            },
            Self::Copy(position) => match read(view, position) {
                Ok(entry) => Done::Copy(text(&entry)),
                Err(error) => Done::Failed(error),
            },
            Self::Search(piece) => Done::Found(search(view, &piece)),
            Self::Gather(gather) => Done::Gathered(gather.run(view)),
            Self::Compare(left, right) => match compare(view, left, right) {
                Ok(comparison) => Done::Compared(Box::new(comparison)),
                Err(error) => Done::Failed(error),
            },
            Self::LabelTimes(now) => Done::LabelTimes(label_times(view, now)),
        }
    }
}

fn read(view: &TreeView, position: Position) -> Result<std::sync::Arc<Entry>, String> {
    let entries = view.reader.entries(&[position]);
    let missing = || "the entry could not be read".to_owned();
    entries.map_err(|error| error.to_string())?.pop().ok_or_else(missing)
}

/// The text of an entry for people: what was said, the calls of an answer, the output of a tool.
pub fn text(entry: &Entry) -> String {
    match &entry.body {
        Body::Message { message, .. } => message_text(message),
        Body::Compaction { summary, .. } | Body::BranchSummary { summary, .. } => summary.clone(),
        Body::CustomMessage { content, .. } => plain_text(content),
        Body::Custom { custom_type, data } => {
            let data = data.as_ref().map(Value::to_string).unwrap_or_default();
            format!("{custom_type} {data}")
        }
        Body::Label { label, .. } => label.clone().unwrap_or_default(),
        Body::SessionInfo { name } => name.clone().unwrap_or_default(),
        Body::ModelChange { provider, model_id } => format!("{provider}/{model_id}"),
        Body::ThinkingLevelChange { thinking_level } => thinking_level.clone(),
        _ => String::new(),
    }
}

fn message_text(message: &Message) -> String {
    match message {
        Message::Assistant(answer) => {
            let mut text = plain_text(&answer.content);
            for call in answer.tool_calls() {
                let gap = if text.is_empty() { "" } else { "\n" };
                text.push_str(&format!("{gap}{} {}", call.name, call.arguments));
            }
            if let Some(error) = &answer.error_message {
                let gap = if text.is_empty() { "" } else { "\n" };
                text.push_str(&format!("{gap}{error}"));
            }
            text
        }
        Message::ToolResult(result) => plain_text(&result.content),
        Message::BashExecution(ran) => format!("{}\n{}", ran.command, ran.output),
        Message::User(user) => content_text(&user.content),
        Message::Custom(custom) => plain_text(&custom.content),
        Message::BranchSummary(summary) | Message::CompactionSummary(summary) => {
            summary.summary.clone()
        }
        _ => String::new(),
    }
}

fn content_text(content: &[Part]) -> String {
    let text = plain_text(content);
    let images = content.iter().filter(|part| matches!(part, Part::Image { .. })).count();
    match images {
        0 => text,
        1 => format!("{text} [image]"),
        many => format!("{text} [{many} images]"),
    }
}

/// Reads on from where the piece begins and looks for its words.
fn search(view: &TreeView, piece: &Piece) -> Found {
    let index = view.index();
    let mut wanted = Vec::new();
    let (mut bytes, mut next) = (0, None);
    for position in piece.from..Position::MAX {
        let Some(node) = index.node(position) else { break };
        if wanted.len() >= PIECE_ENTRIES || bytes >= PIECE_BYTES {
            next = Some(position);
            break;
        }
        if speaks(node) {
            bytes += u64::from(node.len);
            wanted.push(position);
        }
    }
    let hits = |position: Position, entry: &Entry| {
        let body = text(entry);
        let label = view.labels.get(&entry.id).map(|label| label.to_lowercase());
        let preview = index.node(position).map(|node| node.preview.to_lowercase());
        let body = prefix(&body, BODY_BYTES).to_lowercase();
        let all = [label.unwrap_or_default(), preview.unwrap_or_default(), body].join("\n");
        contains_all(&all, &piece.tokens)
    };
    let positions = match view.reader.entries(&wanted) {
        Ok(read) => read_hits(&wanted, &read, hits),
        // One bad line must not hide what the others say.
        Err(_) => {
            let single = |at: &&Position| read(view, **at).is_ok_and(|entry| hits(**at, &entry));
            wanted.iter().filter(single).copied().collect()
        }
    };
    Found { generation: piece.generation, positions, next }
}

fn read_hits(
    wanted: &[Position],
    read: &[std::sync::Arc<Entry>],
    hits: impl Fn(Position, &Entry) -> bool,
) -> Vec<Position> {
    let pairs = wanted.iter().zip(read);
    pairs.filter(|(position, entry)| hits(**position, entry)).map(|(at, _)| *at).collect()
}

/// Whether an entry has words that its preview may not hold.
fn speaks(node: &Node) -> bool {
    use crate::session::Kind;
    matches!(
        node.kind,
        Kind::Message | Kind::Compaction | Kind::BranchSummary | Kind::CustomMessage
    )
}

fn label_times(view: &TreeView, now: i64) -> Vec<(EntryId, String)> {
    use crate::session::Kind;
    let index = view.index();
    let labels: Vec<(Position, i64)> = (0..)
        .zip(index.iter())
        .filter(|(_, node)| node.kind == Kind::Label)
        .map(|(position, node)| (position, node.time_ms))
        .collect();
    let positions: Vec<Position> = labels.iter().map(|(position, _)| *position).collect();
    let Ok(read) = view.reader.entries(&positions) else { return Vec::new() };
    let pairs = labels.iter().zip(read);
    pairs
        .filter_map(|((_, time), entry)| match &entry.body {
            Body::Label { target_id, .. } => Some((target_id.clone(), clock(*time, now))),
            _ => None,
        })
        .collect()
}
