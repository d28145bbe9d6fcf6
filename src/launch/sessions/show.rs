//! `sessions show` and `sessions stats`: the active branch in words, and the sums.

use harness_tui::message::{Message, Part};
use harness_tui::session::{Body, Entry, SessionView, Stats, Sums};
use harness_tui::text::sanitize::{one_line, sanitize};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;

use super::{Desk, Stop, unwritten};

/// Entries read at once.
const PAGE: usize = 64;
/// Widest argument of a call in a line.
const ARGUMENT: usize = 80;

/// What is said of a session in front of an answer.
#[derive(Debug, Serialize)]
pub(super) struct About {
    pub(super) id: String,
    pub(super) path: String,
    pub(super) cwd: String,
    pub(super) name: Option<String>,
    pub(super) leaf: Option<String>,
}

impl About {
    pub(super) fn of(view: &SessionView) -> Self {
        let leaf = view.tree.leaf.and_then(|leaf| view.tree.index().node(leaf));
        Self {
            id: view.header.id.to_string(),
            path: view.path.as_deref().map(|path| path.display().to_string()).unwrap_or_default(),
            cwd: view.header.cwd.clone(),
            name: view.name.clone(),
            leaf: leaf.map(|node| node.id.to_string()),
        }
    }

    /// The value as the beginning of a JSON object that goes on with `key`.
    pub(super) fn open(&self, key: &str) -> String {
        let object = json!(self).to_string();
        let inner = object.strip_suffix('}').unwrap_or(&object);
        format!("{inner},\"{key}\":[")
    }
}

/// Prints the messages of the active branch, as they come from the disk.
pub(super) fn show(desk: &Desk<'_>, wanted: &str) -> Result<u8, Stop> {
    let view = desk.read(wanted)?;
    let path = view.tree.index().path(view.tree.leaf);
    desk.answer(|out| {
        let mut between = "";
        if desk.json {
            write!(out, "{}", About::of(&view).open("entries")).map_err(unwritten)?;
        }
        for page in path.chunks(PAGE) {
            for entry in view.tree.reader.entries(page)? {
                if desk.json {
                    write!(out, "{between}\n{}", json!(*entry)).map_err(unwritten)?;
                    between = ",";
                } else if let Some(text) = told(&entry) {
                    write!(out, "{}", sanitize(&text)).map_err(unwritten)?;
                }
            }
        }
        if desk.json { writeln!(out, "\n]}}").map_err(unwritten) } else { Ok(()) }
    })
}

fn told(entry: &Entry) -> Option<String> {
    let (who, text) = match &entry.body {
        Body::Message { message, .. } => match message {
            Message::User(_) => ("you".to_owned(), message.text()),
            Message::Assistant(answer) => {
                let error = answer.error_message.iter().cloned();
                let parts = answer.content.iter().filter_map(part).chain(error);
                (format!("assistant {}", answer.model), parts.collect::<Vec<_>>().join("\n"))
            }
            Message::ToolResult(result) => {
                let state = if result.is_error { " (failed)" } else { "" };
                (format!("result of {}{state}", result.tool_name), message.text())
            }
            Message::BashExecution(run) => {
                ("you ran".to_owned(), format!("{}\n{}", run.command, run.output))
            }
            _ => return None,
        },
        Body::Compaction { summary, .. } => ("compaction".to_owned(), summary.clone()),
        Body::BranchSummary { summary, .. } => ("branch summary".to_owned(), summary.clone()),
        _ => return None,
    };
    let time = entry.timestamp.get(..19).unwrap_or_default().replace('T', " ");
    Some(format!("── {} · {time} · {}\n{}\n\n", who.trim(), entry.id, text.trim_end()))
}

fn part(part: &Part) -> Option<String> {
    match part {
        Part::Text { text, .. } => Some(text.clone()),
        Part::ToolCall(call) => {
            Some(format!("→ {} {}", call.name, one_line(&call.arguments.to_string(), ARGUMENT)))
        }
        Part::Image { mime_type, .. } => Some(format!("(an image, {mime_type})")),
        Part::Thinking { .. } | Part::Unknown => None,
    }
}

/// Prints the sums of a session.
pub(super) fn stats(desk: &Desk<'_>, wanted: &str) -> Result<u8, Stop> {
    #[derive(Serialize)]
    struct Answer<'a> {
        #[serde(flatten)]
        about: About,
        #[serde(flatten)]
        stats: &'a Stats,
    }
    let view = desk.read(wanted)?;
    let stats = view.stats().map_err(|error| Stop::of_session(&error))?;
    let about = About::of(&view);
    let name = about.name.clone().unwrap_or_default();
    let mut lines = vec![
        format!("{} {name}", about.id).trim_end().to_owned(),
        format!("{} entries, {} branches, {} roots", stats.entries, stats.branches, stats.roots),
    ];
    lines.extend(sums("active branch", &stats.branch));
    lines.extend(sums("whole tree", &stats.whole));
    desk.say(&Answer { about, stats: &stats }, &lines)
}

fn sums(title: &str, sums: &Sums) -> Vec<String> {
    let list = |counts: Vec<String>| {
        if counts.is_empty() { "none".to_owned() } else { counts.join(", ") }
    };
    let messages = sums.messages.iter().map(|(role, count)| format!("{count} {role}"));
    let calls = sums.tool_calls.iter().map(|(tool, count)| format!("{count} {tool}"));
    let usage = &sums.usage;
    let day = |ms: i64| match Timestamp::from_millisecond(ms) {
        Ok(time) if ms > 0 => time.strftime("%Y-%m-%d %H:%M:%S").to_string(),
        _ => "?".to_owned(),
    };
    vec![
        format!("{title}:"),
        format!("  messages   {}", list(messages.collect())),
        format!("  tool calls {} ({} failed)", list(calls.collect()), sums.tool_errors),
        format!(
            "  tokens     {} in, {} out, {} from cache, {} into cache",
            usage.input, usage.output, usage.cache_read, usage.cache_write
        ),
        format!("  cost       ${:.4}", usage.cost.total),
        format!("  time       {} to {} UTC", day(sums.first_ms), day(sums.last_ms)),
        format!(
            "  summaries  {} compactions, {} of branches",
            sums.compactions, sums.branch_summaries
        ),
    ]
}
