//! What a row says: who speaks, the first words, and what a person should know beside them.

use crate::session::{Kind, Node, Role};
use crate::text::sanitize::one_line;
use crate::ui::tree::entries::Total;
use crate::ui::tree::rows::Row;

/// Cells of a label in a row.
const LABEL_CELLS: usize = 24;
const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// How a piece of a row is painted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Muted,
    You,
    Accent,
    Good,
    Bad,
    Warn,
}

/// A piece of a row.
pub type Piece = (Tone, String);

/// The marks of a row, before its words. Each is a sign or a word, never a colour alone.
pub fn marks(node: &Node, row: &Row, ascii: bool) -> Vec<Piece> {
    let sign = |unicode: &str, plain: &str| if ascii { plain } else { unicode }.to_owned();
    if row.steps > 1 {
        let text = format!("{} {} tool steps", sign("⚙", "%"), row.steps);
        return vec![(Tone::Muted, text)];
    }
    let mut marks = Vec::new();
    if node.recovered {
        marks.push((Tone::Warn, "(recovered) ".into()));
    }
    match (node.kind, node.role) {
        (Kind::Message, Some(Role::User)) => marks.push((Tone::You, "you ".into())),
        (Kind::Message, Some(Role::Assistant)) => {
            marks.push((Tone::Accent, sign("◆ ", "* ")));
        }
        (Kind::Message, Some(Role::ToolResult)) => marks.push((Tone::Muted, sign("⚙ ", "% "))),
        (Kind::Message, Some(Role::BashExecution)) => marks.push((Tone::Muted, "$ ".into())),
        (Kind::Compaction, _) => {
            marks.push((Tone::Accent, sign("≡ compaction ", "= compaction ")));
        }
        (Kind::BranchSummary, _) => {
            marks.push((Tone::Accent, sign("↩ branch summary ", "< branch summary ")));
        }
        (kind, _) => marks.push((Tone::Muted, format!("[{}] ", kind_name(kind)))),
    }
    let state = node.marks;
    if state.failed || state.is_error {
        marks.push((Tone::Bad, sign("✘ ", "x ")));
    }
    if state.aborted {
        marks.push((Tone::Warn, "(stopped) ".into()));
    }
    if state.cut {
        marks.push((Tone::Warn, "(cut off) ".into()));
    }
    if state.changes_file {
        marks.push((Tone::Good, sign("± ", "+- ")));
    }
    marks
}

/// The label of an entry, and when it was given.
pub fn label(label: &str, time: Option<&str>) -> Piece {
    let time = time.map(|time| format!(" {time}")).unwrap_or_default();
    (Tone::Warn, format!("[{}{time}] ", one_line(label, LABEL_CELLS)))
}

/// The first words of an entry, at most `cells` wide.
pub fn words(node: &Node, row: &Row, cells: usize) -> Piece {
    if row.steps > 1 {
        return (Tone::Muted, String::new());
    }
    let text = one_line(&node.preview, cells);
    if !text.is_empty() {
        let tone = match (node.kind, node.role) {
            (Kind::Message, Some(Role::ToolResult)) => Tone::Muted,
            (Kind::Message | Kind::Compaction | Kind::BranchSummary | Kind::CustomMessage, _) => {
                Tone::Plain
            }
            _ => Tone::Muted,
        };
        return (tone, text);
    }
    let none = if node.marks.calls_only { "(calls only)" } else { "(no text)" };
    (Tone::Muted, one_line(none, cells))
}

/// A talk that ends here was not finished: no answer follows.
pub fn is_unfinished(node: &Node, row: &Row) -> bool {
    row.tip
        && node.kind == Kind::Message
        && (matches!(node.role, Some(Role::User | Role::ToolResult)) || node.marks.calls_only)
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Message | Kind::CustomMessage => "message",
        Kind::ModelChange => "model",
        Kind::ThinkingLevelChange => "thinking",
        Kind::Compaction => "compaction",
        Kind::BranchSummary => "branch summary",
        Kind::Custom => "record",
        Kind::LeafMarker | Kind::Leaf => "leaf",
        Kind::Label => "label",
        Kind::SessionInfo => "name",
        Kind::Usage => "usage",
        Kind::ContextEdit => "edit of the context",
        Kind::ActiveToolsChange => "tools",
        Kind::Other => "entry",
    }
}

/// What a branch cost and how old it is, the longest first: the first that fits is shown.
pub fn totals(total: Total, now: i64) -> Vec<String> {
    let age = if total.newest > 0 { age(now.saturating_sub(total.newest)) } else { String::new() };
    let tokens = match total.tokens {
        0 => String::new(),
        tokens => crate::ui::status::thousands(tokens),
    };
    let cost = if total.cost >= 0.005 { format!("${:.2}", total.cost) } else { String::new() };
    let join = |parts: &[&String]| {
        let parts: Vec<&str> =
            parts.iter().filter(|part| !part.is_empty()).map(|part| part.as_str()).collect();
        parts.join(" ")
    };
    let mut all =
        vec![join(&[&tokens, &cost, &age]), join(&[&tokens, &age]), age.clone(), String::new()];
    all.dedup();
    all
}

/// `now`, `5m`, `3h`, `2d`, `4mo`, `1y`.
pub fn age(ms: i64) -> String {
    match ms {
        ..MINUTE => "now".into(),
        MINUTE..HOUR => format!("{}m", ms / MINUTE),
        HOUR..DAY => format!("{}h", ms / HOUR),
        _ => match ms / DAY {
            days @ ..60 => format!("{days}d"),
            days @ 60..730 => format!("{}mo", days / 30),
            days => format!("{}y", days / 365),
        },
    }
}

/// When a label was given: `14:03` today, `5/17 14:03` this year, `25/5/17` before, in local time.
pub fn clock(ms: i64, now: i64) -> String {
    let zone = jiff::tz::TimeZone::system();
    let at =
        |ms: i64| jiff::Timestamp::from_millisecond(ms).ok().map(|time| zone.to_datetime(time));
    let (Some(then), Some(now)) = (at(ms), at(now)) else { return String::new() };
    let day = || format!("{}/{}", then.month(), then.day());
    let time = || format!("{:02}:{:02}", then.hour(), then.minute());
    if then.date() == now.date() {
        time()
    } else if then.year() == now.year() {
        format!("{} {}", day(), time())
    } else {
        format!("{:02}/{}", then.year().rem_euclid(100), day())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_one_unit() {
        let ages = [-5, 59_000, 61_000, 2 * HOUR, 3 * DAY, 70 * DAY, 800 * DAY].map(age);
        assert_eq!(ages, ["now", "now", "1m", "2h", "3d", "2mo", "2y"]);
    }

    #[test]
    fn what_costs_nothing_says_only_its_age() {
        let total = Total { tokens: 0, cost: 0.0, newest: 1 };
        assert_eq!(totals(total, 1 + HOUR), ["1h", ""]);
        let total = Total { tokens: 12_000, cost: 0.12, newest: 1 };
        assert_eq!(totals(total, 1 + HOUR), ["12k $0.12 1h", "12k 1h", "1h", ""]);
    }
}
