//! The check of a session file: everything that is wrong with it, each with its line.
//!
//! It reads what stands there and changes nothing, so it can run on a file that is in use. What is
//! only worth knowing is a note and does not make a file unsound.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::inspect::{Forest, Inspection, Item, Said, inspect, places};
use super::load::Tail;
use super::snapshot::real_file;
use super::{Kind, SessionError, lock, migrate};
use crate::message::{EntryId, SessionId};
use crate::ports::FileSystem;

/// Problems that are listed; the rest is counted.
const LISTED: usize = 1000;
/// Permission bits that let others in.
const OTHERS: u32 = 0o077;

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    pub path: PathBuf,
    pub id: Option<SessionId>,
    pub version: u32,
    pub entries: usize,
    /// Nothing is wrong; notes do not count.
    pub ok: bool,
    /// How many problems there are; at most 1000 are listed.
    pub total: usize,
    pub problems: Vec<Problem>,
    pub notes: Vec<String>,
}

impl Report {
    /// What was found, a line each for people: problems, notes, and the sum last.
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.problems.iter().map(Problem::line).collect();
        let unlisted = self.total - self.problems.len();
        if unlisted > 0 {
            lines.push(format!("and {unlisted} more"));
        }
        lines.extend(self.notes.iter().map(|note| format!("note: {note}")));
        let path = self.path.display();
        lines.push(match self.total {
            0 => format!("{path}: nothing is wrong, {} entries", self.entries),
            1 => format!("{path}: 1 problem, {} entries", self.entries),
            total => format!("{path}: {total} problems, {} entries", self.entries),
        });
        lines
    }

    /// Whether a repaired copy would differ: a mode that is too wide is no matter of the bytes.
    pub fn is_repairable(&self) -> bool {
        self.problems.iter().any(|problem| problem.kind != "wide_mode")
    }
}

impl Problem {
    fn line(&self) -> String {
        let place = self.line.map(|line| format!("line {line}: ")).unwrap_or_default();
        let entry = self.entry.as_ref().map(|entry| format!(", entry {entry}")).unwrap_or_default();
        format!("{place}{} ({}{entry})", self.text, self.kind)
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// `bad_line`, `torn_tail`, `missing_newline`, `no_header`, `second_header`, `no_id`,
    /// `unreadable`, `duplicate_id`, `orphan`, `self_parent`, `cycle`, `parent_later`,
    /// `target_missing`, `kept_missing`, `kept_off_path`, `call_without_result`,
    /// `result_without_call`, `wide_mode` or `newer_version`.
    pub kind: &'static str,
    /// From 1; in a file of version 1 or 2 blank lines are not counted.
    pub line: Option<u64>,
    pub entry: Option<EntryId>,
    pub text: String,
}

/// Checks a file.
///
/// # Errors
/// [`SessionError::NotFound`], [`SessionError::NotASession`] for a folder or an empty file, or what
/// stopped the reading. A file without a header is a report.
pub fn verify(files: &dyn FileSystem, path: &Path) -> Result<Report, SessionError> {
    let path = real_file(files, path)?;
    let mode = files.facts(&path).map_err(|error| SessionError::io("look at", &path, error))?.mode;
    let found = inspect(files, &path)?;
    let mut check = Check { found: &found, problems: Vec::new(), total: 0 };
    check.file(mode);
    check.links();
    check.pairs();
    let mut notes = Vec::new();
    if let Some(holder) = lock::holder_of(files, &path) {
        notes.push(format!("in use, so the end of the file may still change: {holder}"));
    }
    if found.version < migrate::VERSION {
        notes.push(format!(
            "version {}: it is migrated when it is opened and rewritten by the first message",
            found.version
        ));
    }
    let (mut problems, total) = (check.problems, check.total);
    problems.sort_by_key(|problem| problem.line);
    Ok(Report {
        id: found.header.as_ref().map(|header| header.id.clone()),
        version: found.version,
        entries: found.items.len(),
        ok: total == 0,
        total,
        problems,
        notes,
        path,
    })
}

struct Check<'a> {
    found: &'a Inspection,
    problems: Vec<Problem>,
    total: usize,
}

impl Check<'_> {
    fn add(&mut self, kind: &'static str, line: Option<u64>, entry: Option<&EntryId>, text: &str) {
        self.total += 1;
        if self.problems.len() < LISTED {
            let (entry, text) = (entry.cloned(), text.to_owned());
            self.problems.push(Problem { kind, line, entry, text });
        }
    }

    fn wrong(&mut self, kind: &'static str, item: &Item, text: &str) {
        self.add(kind, Some(item.line), item.id.as_ref(), text);
    }

    fn file(&mut self, mode: u32) {
        let found = self.found;
        match &found.header {
            None => self.add("no_header", None, None, "no line is a session header"),
            Some(header) if header.version > migrate::VERSION => {
                let text = format!("version {} is newer than this program", header.version);
                self.add("newer_version", Some(1), None, &text);
            }
            Some(_) => {}
        }
        for line in &found.more_headers {
            self.add("second_header", Some(*line), None, "a second header");
        }
        for broken in &found.broken {
            self.add("bad_line", Some(broken.line), broken.id.as_ref(), "the line cannot be read");
        }
        match found.tail {
            Tail::Whole => {}
            Tail::Unterminated => {
                self.add("missing_newline", None, None, "the last line has no newline");
            }
            Tail::Torn { .. } => self.add("torn_tail", None, None, "the last line is torn"),
        }
        if mode & OTHERS != 0 {
            let text = format!("open to other users (mode {mode:o}); run chmod 600 on it");
            self.add("wide_mode", None, None, &text);
        }
    }

    fn links(&mut self) {
        let items = &self.found.items;
        let places = places(items);
        let circles = circles(items, &places);
        let mut parents = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            let parent = item.parent.as_ref().map(|parent| places.get(parent).copied());
            parents.push(parent.flatten().filter(|parent| *parent < at));
            match &item.id {
                None => self.wrong("no_id", item, "the entry has no id"),
                Some(id) if places.get(id) != Some(&at) => {
                    self.wrong("duplicate_id", item, "an earlier entry has this id");
                    continue;
                }
                Some(_) => {}
            }
            match (parent, &item.parent) {
                (Some(_), parent) if *parent == item.id => {
                    self.wrong("self_parent", item, "the entry is its own parent");
                }
                (Some(None), _) => self.wrong("orphan", item, "its parent is missing"),
                (Some(Some(_)), _) if circles.contains(&at) => {
                    self.wrong("cycle", item, "the entry is above itself");
                }
                (Some(Some(parent)), _) if parent > at => {
                    self.wrong("parent_later", item, "its parent stands behind it");
                }
                _ => {}
            }
            let names_nothing =
                item.target.as_ref().is_some_and(|target| !places.contains_key(target));
            if names_nothing && matches!(item.kind, Kind::Label | Kind::ContextEdit | Kind::Leaf) {
                self.wrong("target_missing", item, "the entry it speaks of is missing");
            }
            if matches!(item.said, Said::Unreadable) {
                self.wrong("unreadable", item, "what it says cannot be read");
            }
        }
        self.kept(&places, &Forest::new(&parents));
    }

    fn kept(&mut self, places: &HashMap<&EntryId, usize>, forest: &Forest) {
        for (at, item) in self.found.items.iter().enumerate() {
            let Said::Compaction { first_kept: Some(kept), has_tail: false } = &item.said else {
                continue;
            };
            match places.get(kept) {
                None => self.wrong("kept_missing", item, "the entry it keeps from is missing"),
                Some(kept) if !forest.is_above(*kept, at) => {
                    self.wrong("kept_off_path", item, "the entry it keeps from is not above it");
                }
                Some(_) => {}
            }
        }
    }

    /// Calls and results: each result belongs to the answer above it, before the next message of
    /// the user.
    fn pairs(&mut self) {
        let items = &self.found.items;
        let places = places(items);
        let mut owners: Vec<Option<usize>> = Vec::with_capacity(items.len());
        let mut asked: HashSet<(usize, &str)> = HashSet::new();
        let mut answered: HashSet<(usize, &str)> = HashSet::new();
        for (at, item) in items.iter().enumerate() {
            let parent = item.parent.as_ref().and_then(|parent| places.get(parent));
            let above = parent.and_then(|parent| owners.get(*parent)).copied().flatten();
            owners.push(match &item.said {
                Said::Answer(calls) => {
                    asked.extend(calls.iter().map(|call| (at, call.as_str())));
                    Some(at)
                }
                Said::Stopped => Some(at),
                Said::User => None,
                _ => above,
            });
            let Said::Result(call) = &item.said else { continue };
            answered.extend(above.map(|owner| (owner, call.as_str())));
            let is_stopped = above
                .and_then(|owner| items.get(owner))
                .is_some_and(|answer| matches!(answer.said, Said::Stopped));
            let is_asked = above.is_some_and(|owner| asked.contains(&(owner, call.as_str())));
            if !is_asked && !is_stopped {
                self.wrong("result_without_call", item, "no call above it has this result");
            }
        }
        for (at, item) in items.iter().enumerate() {
            let Said::Answer(calls) = &item.said else { continue };
            let open = calls.iter().filter(|call| !answered.contains(&(at, call.as_str()))).count();
            if open > 0 {
                let text = format!("{open} of its {} calls have no result", calls.len());
                self.wrong("call_without_result", item, &text);
            }
        }
    }
}

/// The entries that stand above themselves. Every entry is looked at a bounded number of times.
fn circles(items: &[Item], places: &HashMap<&EntryId, usize>) -> HashSet<usize> {
    let up = |at: usize| {
        let parent = items.get(at)?.parent.as_ref()?;
        places.get(parent).copied().filter(|parent| *parent != at)
    };
    let mut walks: Vec<usize> = vec![0; items.len()];
    let mut circles = HashSet::new();
    for start in 0..items.len() {
        let walk = start + 1;
        let mut next = Some(start);
        while let Some(at) = next {
            match walks.get_mut(at) {
                Some(seen) if *seen == 0 => *seen = walk,
                Some(seen) if *seen == walk && circles.insert(at) => {}
                _ => break,
            }
            next = up(at);
        }
    }
    circles
}
