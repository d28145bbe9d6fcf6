//! Looking into sessions: which of them say, were told or read what is looked for.
//!
//! Texts are searched as people read them, not as JSON has them; lines that cannot match are passed
//! over undecoded.

use std::borrow::Borrow;
use std::ops::{ControlFlow, Range};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use super::scan::in_parallel;
use super::{Listed, Query};
use crate::message::Message;
use crate::ports::FileSystem;
use crate::session::load::{Line, each_line};
use crate::session::{Body, parse};

/// Characters shown before and after what was found.
const AROUND: usize = 60;

/// A session whose content matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    pub path: PathBuf,
    /// One line of the text round the first match; cleaned of control characters.
    pub snippet: String,
}

/// What a search has found since it last told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Searched {
    pub hits: Vec<Hit>,
    pub done: usize,
    pub total: usize,
}

/// Searches the content of these sessions, in their order, and tells what it finds every few files.
/// A term that the row itself holds counts as found; a row that holds all of them is no hit here.
/// `stop` ends it early.
pub fn search<L: Borrow<Listed> + Sync>(
    files: &dyn FileSystem,
    sessions: &[L],
    query: &Query,
    stop: &AtomicBool,
    each: &mut dyn FnMut(Searched),
) {
    let total = sessions.len();
    if query.is_empty() || query.problem().is_some() {
        return each(Searched { hits: Vec::new(), done: total, total });
    }
    let mut done = 0;
    in_parallel(sessions, stop, |listed| look(files, listed.borrow(), query, stop), &mut |found| {
        done += found.len();
        each(Searched { hits: found.into_iter().flatten().collect(), done, total });
    });
}

fn look(files: &dyn FileSystem, listed: &Listed, query: &Query, stop: &AtomicBool) -> Option<Hit> {
    let mut open = query.open(listed);
    if open.is_empty() {
        return None;
    }
    let mut snippet = None;
    let read = each_line(files, &listed.path, 0, &mut |line| {
        if stop.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        if let Line::Read { bytes, .. } = line
            && query.may_hold(&open, bytes)
        {
            for text in texts(bytes) {
                if let Some(place) = query.take(&mut open, &text) {
                    snippet.get_or_insert_with(|| around(&text, place));
                }
            }
        }
        if open.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    read.ok().filter(|_| open.is_empty())?;
    Some(Hit { path: listed.path.clone(), snippet: snippet.unwrap_or_default() })
}

/// What a line says to people.
fn texts(line: &[u8]) -> Vec<String> {
    let Some(entry) = parse::entry(line) else { return Vec::new() };
    match entry.body {
        Body::Message { message, .. } => texts_of(&message),
        Body::Compaction { summary, .. } | Body::BranchSummary { summary, .. } => vec![summary],
        Body::Label { label, .. } => label.into_iter().collect(),
        _ => Vec::new(),
    }
}

fn texts_of(message: &Message) -> Vec<String> {
    match message {
        Message::BashExecution(run) => vec![run.command.clone(), run.output.clone()],
        other => vec![other.text()],
    }
}

fn around(text: &str, place: Range<usize>) -> String {
    let before = text.get(..place.start).unwrap_or_default();
    let start = before.char_indices().rev().nth(AROUND - 1).map_or(0, |(at, _)| at);
    let rest = text.get(place.start..).unwrap_or_default();
    let end = rest.char_indices().nth(AROUND * 2).map_or(rest.len(), |(at, _)| at);
    let shown = text.get(start..place.start + end).unwrap_or_default();
    let mut line = shown.split(|c: char| c.is_whitespace() || c.is_control()).fold(
        String::new(),
        |mut line, word| {
            if !word.is_empty() {
                line.push_str(if line.is_empty() { "" } else { " " });
                line.push_str(word);
            }
            line
        },
    );
    if start > 0 {
        line.insert(0, '…');
    }
    line
}
