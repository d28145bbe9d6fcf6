//! `sessions tree`: the tree as text, or every entry as JSON.
//!
//! Chains stay flat and only forks indent, so a long conversation reads as a list. Nothing recurses:
//! the depth of a foreign file is not ours to choose.

use harness_tui::session::{Index, Kind, Node, Position, Role, SessionView};
use harness_tui::text::sanitize::one_line;
use serde_json::json;

use super::show::About;
use super::{Desk, Stop, unwritten};

/// Forks that are drawn; deeper ones are told by a number, so that a row stays a row.
const DRAWN: usize = 24;
/// Widest preview.
const WORDS: usize = 100;

/// Prints the tree.
pub(super) fn tree(desk: &Desk<'_>, wanted: &str) -> Result<u8, Stop> {
    let view = desk.read(wanted)?;
    if desk.json { as_json(desk, &view) } else { as_text(desk, &view) }
}

fn as_json(desk: &Desk<'_>, view: &SessionView) -> Result<u8, Stop> {
    let index = view.tree.index();
    desk.answer(|out| {
        write!(out, "{}", About::of(view).open("nodes")).map_err(unwritten)?;
        let mut between = "";
        for node in index.iter() {
            let parent = node.parent.and_then(|parent| index.node(parent));
            let value = json!({
                "id": node.id,
                "parent": parent.map(|parent| &parent.id),
                "kind": kind(node.kind),
                "role": node.role.map(role),
                "time": node.time_ms,
                "preview": &*node.preview,
                "label": view.tree.labels.get(&node.id).map(|label| &**label),
                "recovered": node.recovered,
            });
            write!(out, "{between}\n{value}").map_err(unwritten)?;
            between = ",";
        }
        writeln!(out, "\n]}}").map_err(unwritten)
    })
}

fn as_text(desk: &Desk<'_>, view: &SessionView) -> Result<u8, Stop> {
    let index = view.tree.index();
    let shown = Shown::of(index);
    let leaf = view.tree.leaf.and_then(|leaf| shown.or_above(leaf));
    desk.answer(|out| {
        // What is still to be drawn: the entry, the lines of its forks, and its own branch mark.
        let mut stack: Vec<(Position, Lines)> = Vec::new();
        let roots = &shown.roots;
        let is_single = roots.len() == 1;
        for (number, root) in roots.iter().enumerate().rev() {
            let lines = if is_single {
                Lines::default()
            } else {
                Lines::default().fork(number + 1 == roots.len())
            };
            stack.push((*root, lines));
        }
        while let Some((position, lines)) = stack.pop() {
            let Some(node) = index.node(position) else { continue };
            let label = view.tree.labels.get(&node.id);
            let label = label.map(|label| format!(" [{}]", one_line(label, WORDS)));
            let mark = if Some(position) == leaf { " ◀ leaf" } else { "" };
            writeln!(
                out,
                "{}{} {:<9} {}{}{mark}",
                lines.text(),
                one_line(node.id.as_str(), WORDS),
                word(node),
                one_line(&node.preview, WORDS),
                label.unwrap_or_default(),
            )
            .map_err(unwritten)?;
            let below = shown.children(position);
            for (number, child) in below.iter().enumerate().rev() {
                let next = lines.passed();
                let next =
                    if below.len() == 1 { next } else { next.fork(number + 1 == below.len()) };
                stack.push((*child, next));
            }
        }
        Ok(())
    })
}

/// The entries a person sees, each under the nearest one above it.
struct Shown {
    /// For each position the entry itself, or the nearest shown one above.
    nearest: Vec<Option<Position>>,
    /// First child and next sibling, in file order.
    children: Vec<Vec<Position>>,
    roots: Vec<Position>,
}

impl Shown {
    fn of(index: &Index) -> Self {
        let mut shown = Self {
            nearest: Vec::with_capacity(index.len()),
            children: vec![Vec::new(); index.len()],
            roots: Vec::new(),
        };
        for (position, node) in (0..).zip(index.iter()) {
            let above = node.parent.and_then(|parent| shown.or_above(parent));
            if !is_shown(node) {
                shown.nearest.push(above);
                continue;
            }
            shown.nearest.push(Some(position));
            match above.and_then(|above| shown.children.get_mut(above as usize)) {
                Some(siblings) => siblings.push(position),
                None => shown.roots.push(position),
            }
        }
        shown
    }

    fn or_above(&self, position: Position) -> Option<Position> {
        self.nearest.get(position as usize).copied().flatten()
    }

    fn children(&self, position: Position) -> &[Position] {
        self.children.get(position as usize).map(Vec::as_slice).unwrap_or_default()
    }
}

/// The lines to the left of a row: for each fork above whether its branch was the last, and whether
/// the row itself begins a branch. Bits, so that a copy costs nothing.
#[derive(Debug, Clone, Copy, Default)]
struct Lines {
    depth: usize,
    last: u32,
    begins: bool,
}

impl Lines {
    fn fork(self, is_last: bool) -> Self {
        let bit = if is_last && self.depth < DRAWN { 1 << self.depth } else { 0 };
        Self { depth: self.depth + 1, last: self.last | bit, begins: true }
    }

    /// The same for the next entry of a chain.
    fn passed(self) -> Self {
        Self { begins: false, ..self }
    }

    fn text(self) -> String {
        let mut text = String::new();
        for level in 0..self.depth.min(DRAWN) {
            let is_last = self.last & (1 << level) != 0;
            let is_own = self.begins && level + 1 == self.depth;
            text.push_str(match (is_own, is_last) {
                (true, true) => "└─ ",
                (true, false) => "├─ ",
                (false, true) => "   ",
                (false, false) => "│  ",
            });
        }
        if self.depth > DRAWN {
            text.push_str(&format!("…{} ", self.depth - DRAWN));
        }
        text
    }
}

fn is_shown(node: &Node) -> bool {
    matches!(
        node.kind,
        Kind::Message | Kind::Compaction | Kind::BranchSummary | Kind::CustomMessage | Kind::Other
    )
}

fn word(node: &Node) -> &'static str {
    match node.role {
        Some(Role::User) => "you",
        Some(Role::Assistant) => "assistant",
        Some(Role::ToolResult) => "result",
        Some(Role::BashExecution) => "you ran",
        Some(Role::Other) | None => match node.kind {
            Kind::Compaction => "compacted",
            Kind::BranchSummary => "summary",
            _ => "note",
        },
    }
}

fn role(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::ToolResult => "toolResult",
        Role::BashExecution => "bashExecution",
        Role::Other => "other",
    }
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Message => "message",
        Kind::ModelChange => "model_change",
        Kind::ThinkingLevelChange => "thinking_level_change",
        Kind::Compaction => "compaction",
        Kind::BranchSummary => "branch_summary",
        Kind::Custom | Kind::LeafMarker => "custom",
        Kind::CustomMessage => "custom_message",
        Kind::Label => "label",
        Kind::SessionInfo => "session_info",
        Kind::Usage => "usage",
        Kind::ContextEdit => "context_edit",
        Kind::ActiveToolsChange => "active_tools_change",
        Kind::Leaf => "leaf",
        Kind::Other => "other",
    }
}
