//! What there is to know of the open session: where it lies, how much was said, what it cost.

use crate::session::{Kind, Role, TreeView};
use crate::ui::state::State;
use crate::ui::status::thousands;

/// Sums over every branch of a tree.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sums {
    pub entries: usize,
    pub prompts: usize,
    pub answers: usize,
    pub results: usize,
    pub summaries: usize,
    /// Ends of branches.
    pub branches: usize,
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    /// US dollars.
    pub cost: f64,
}

/// Counts the whole tree once.
pub fn sums(tree: &TreeView) -> Sums {
    let index = tree.index();
    let mut sums = Sums { entries: index.len(), ..Sums::default() };
    let mut has_child = vec![false; index.len()];
    let is_mark = |kind: Kind| matches!(kind, Kind::LeafMarker | Kind::Leaf);
    for node in index.iter() {
        let parent = node.parent.and_then(|parent| has_child.get_mut(parent as usize));
        if let Some(parent) = parent.filter(|_| !is_mark(node.kind)) {
            *parent = true;
        }
        match (node.kind, node.role) {
            (_, Some(Role::User)) => sums.prompts += 1,
            (_, Some(Role::Assistant)) => sums.answers += 1,
            (_, Some(Role::ToolResult)) => sums.results += 1,
            (Kind::Compaction | Kind::BranchSummary, _) => sums.summaries += 1,
            _ => {}
        }
        if let Some(spent) = &node.spent {
            sums.input = sums.input.saturating_add(spent.input);
            sums.output = sums.output.saturating_add(spent.output);
            sums.cache_read = sums.cache_read.saturating_add(spent.cache_read);
            sums.cost += spent.cost;
        }
    }
    let ends = index.iter().zip(&has_child).filter(|(node, has)| !**has && !is_mark(node.kind));
    sums.branches = ends.count();
    sums
}

/// The facts, each with what it is; a blank one is a gap.
pub(super) fn lines(state: &State) -> Vec<(&'static str, String)> {
    let session = &state.session;
    let path = match (&session.path, session.stored) {
        (None, _) => "in memory only".to_owned(),
        (Some(_), false) => "not written yet: the first prompt makes the file".to_owned(),
        (Some(path), true) => path.display().to_string(),
    };
    let sums = state.tree.as_ref().map(sums).unwrap_or_default();
    let gap = || ("", String::new());
    let mut lines = vec![
        ("name", session.name.clone().unwrap_or_else(|| "none; /name gives one".to_owned())),
        ("id", session.id.clone()),
        ("file", path),
        ("model", session.model.clone()),
        gap(),
        ("messages", format!("{} of yours, {} answers", sums.prompts, sums.answers)),
        ("tools", format!("{} results", sums.results)),
        ("branches", format!("{}, {} summaries", sums.branches, sums.summaries)),
        ("entries", sums.entries.to_string()),
        gap(),
    ];
    let cost = |cost: f64| if cost > 0.0 { format!(", ${cost:.2}") } else { String::new() };
    let spent = |input: u64, output: u64, cache: u64, price: f64| {
        let (input, output, cache) = (thousands(input), thousands(output), thousands(cache));
        format!("{input} in, {output} out, {cache} from caches{}", cost(price))
    };
    let own = &session.tokens;
    lines.push(("branch", spent(own.input, own.output, own.cache_read, own.cost)));
    if sums.input.saturating_add(sums.output) > 0 {
        lines.push(("whole", spent(sums.input, sums.output, sums.cache_read, sums.cost)));
    }
    if let Some(holder) = &session.read_only {
        lines.push(("read-only", holder.clone()));
    }
    lines
}
