//! A repaired copy of a session file: every entry that can be read, and links that hold.
//!
//! The damaged file is not touched. A missing parent is looked for where it may still be known: in
//! what is left of its line, else in the entry that stands before it, because in an append-only file
//! that is where it was most likely written.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use super::inspect::{Forest, Inspection, Item, Said, inspect, places};
use super::line::LEAF_MARKER;
use super::live::header_line;
use super::load::Tail;
use super::new_file::NewFile;
use super::reader::Source;
use super::snapshot::{SessionView, real_file};
use super::{Body, Entry, Header, Kind, Place, SessionError, migrate, name, splice};
use crate::message::{EntryId, SessionId};

/// Changes that are told; the rest is counted.
const TOLD: usize = 1000;

/// What a repair came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Repaired {
    pub path: PathBuf,
    /// Entries in the copy.
    pub entries: usize,
    /// How many things were changed; at most 1000 are told.
    pub total: usize,
    pub changes: Vec<String>,
}

impl Repaired {
    /// What was changed, a line each for people, and the sum last.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = self.changes.clone();
        let untold = self.total - self.changes.len();
        if untold > 0 {
            lines.push(format!("and {untold} more"));
        }
        lines.push(format!("wrote {} entries to {}", self.entries, self.path.display()));
        lines
    }
}

/// Writes a repaired copy of `path` to `out`, which must not exist. The copy has the id of the
/// original and may take its place. `cwd` is for a file whose header is lost.
///
/// # Errors
/// [`SessionError::NotASession`] when no line is an entry, [`SessionError::Exists`], or what the
/// system said.
pub fn repair(
    place: &Place,
    path: &Path,
    out: &Path,
    cwd: &Path,
) -> Result<Repaired, SessionError> {
    let path = real_file(place.files.as_ref(), path)?;
    let mut found = inspect(place.files.as_ref(), &path)?;
    let is_session = found.items.iter().any(|item| item.id.is_some() && item.kind != Kind::Other);
    if found.header.is_none() && !is_session {
        return Err(SessionError::NotASession { path, why: "no line is an entry" });
    }
    // What other readers take for the leaf stays it.
    let leaf = SessionView::read(&place.files, &path)
        .ok()
        .filter(|view| !view.tree.index().is_empty())
        .map(|view| view.tree.leaf.and_then(|leaf| view.tree.index().node(leaf).cloned()));
    let leaf = leaf.map(|node| node.map(|node| node.id));
    let source = match found.migrated.take() {
        Some(bytes) => Source::Draft { bytes: Arc::new(bytes), path: path.clone() },
        None => Source::File { files: place.files.clone(), path: path.clone() },
    };
    let header = found.header.clone();
    let mut repair = Repair {
        found: &found,
        source,
        file: NewFile::create(place.files.clone(), out)?,
        now: place.clock.now_ms(),
        entries: 0,
        total: 0,
        changes: Vec::new(),
    };
    let (offset, len) = repair.found.header_at;
    let header = if header.is_some() {
        let line = repair.source.read(offset, len)?;
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&line);
        [line, b"\n"].concat()
    } else {
        repair.tell("the header was lost and is made anew".to_owned());
        header_line(&lost_header(&path, cwd, repair.now))
    };
    repair.write(&header, leaf)?;
    let Repair { file, entries, total, changes, .. } = repair;
    Ok(Repaired { path: file.finish()?, entries, total, changes })
}

/// A header from what the file's name tells: time and id.
fn lost_header(path: &Path, cwd: &Path, now: i64) -> Header {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let id = stem.as_deref().and_then(|stem| stem.split_once('_')).map(|(_, id)| id);
    let id = id.filter(|id| super::check_id(id).is_ok());
    Header {
        version: migrate::VERSION,
        id: id.map_or_else(SessionId::new, SessionId::from),
        timestamp: name::iso(now),
        cwd: name::path_text(cwd),
        parent_session: None,
        metadata: None,
    }
}

struct Repair<'a> {
    found: &'a Inspection,
    source: Source,
    file: NewFile,
    now: i64,
    entries: usize,
    total: usize,
    changes: Vec<String>,
}

/// What becomes of an item.
struct Plan {
    id: EntryId,
    /// Another item, which stands before it.
    parent: Option<usize>,
    is_dropped: bool,
}

impl Repair<'_> {
    fn tell(&mut self, text: String) {
        self.total += 1;
        if self.changes.len() < TOLD {
            self.changes.push(text);
        }
    }

    /// `leaf` is `None` when nobody can tell where it was.
    fn write(&mut self, header: &[u8], leaf: Option<Option<EntryId>>) -> Result<(), SessionError> {
        for broken in &self.found.broken {
            self.tell(format!("line {} could not be read and is left out", broken.line));
        }
        for line in &self.found.more_headers {
            self.tell(format!("line {line} is a second header and is left out"));
        }
        match self.found.tail {
            Tail::Whole => {}
            Tail::Unterminated => self.tell("the last line got its newline".to_owned()),
            Tail::Torn { .. } => self.tell("the last line is torn and is left out".to_owned()),
        }
        let plans = self.plan()?;
        self.put(header)?;
        let parents: Vec<Option<usize>> = plans.iter().map(|plan| plan.parent).collect();
        let forest = Forest::new(&parents);
        let places = places(&self.found.items);
        let mut end: Option<usize> = None;
        for (at, plan) in plans.iter().enumerate().filter(|(_, plan)| !plan.is_dropped) {
            let Some(item) = self.found.items.get(at) else { continue };
            let parent = plan.parent.and_then(|parent| plans.get(parent)).map(|plan| &plan.id);
            let line = self.mended(at, item, plan, parent, &forest, &places)?;
            self.put(&line)?;
            self.put(b"\n")?;
            self.entries += 1;
            end = if item.kind == Kind::LeafMarker { plan.parent } else { Some(at) };
        }
        // Markers above markers are passed over by every reader.
        while let Some(marker) = end.filter(|end| {
            self.found.items.get(*end).is_some_and(|item| item.kind == Kind::LeafMarker)
        }) {
            end = plans.get(marker).and_then(|plan| plan.parent);
        }
        let end = end.and_then(|end| plans.get(end)).map(|plan| &plan.id);
        match leaf {
            Some(leaf) if leaf.as_ref() != end => self.mark(leaf, &places),
            _ => Ok(()),
        }
    }

    fn plan(&mut self) -> Result<Vec<Plan>, SessionError> {
        let found = self.found;
        let places = places(&found.items);
        let lost: HashMap<&EntryId, Option<&EntryId>> = found
            .broken
            .iter()
            .filter_map(|broken| Some((broken.id.as_ref()?, broken.parent.as_ref())))
            .collect();
        let mut plans: Vec<Plan> = Vec::with_capacity(found.items.len());
        let mut made: HashSet<EntryId> = HashSet::new();
        let mut before: Option<usize> = None;
        for (at, item) in found.items.iter().enumerate() {
            let first = item.id.as_ref().and_then(|id| places.get(id).copied());
            let is_dropped = match first {
                Some(first) if first != at => self.is_same(first, at)?,
                _ => false,
            };
            let id = match (&item.id, first) {
                (Some(id), Some(first)) if first == at => id.clone(),
                _ if is_dropped => {
                    self.tell(format!("line {} is a copy of an earlier line", item.line));
                    item.id.clone().unwrap_or_else(|| EntryId::from(""))
                }
                _ => {
                    let taken = |id: &EntryId| places.contains_key(id) || made.contains(id);
                    let id = name::entry_id(taken, Uuid::new_v4);
                    made.insert(id.clone());
                    self.tell(format!("line {} got the new id {id}", item.line));
                    id
                }
            };
            let parent = self.parent(at, item, &places, &lost, before);
            plans.push(Plan { id, parent, is_dropped });
            if !is_dropped {
                before = Some(at);
            }
        }
        Ok(plans)
    }

    fn parent(
        &mut self,
        at: usize,
        item: &Item,
        places: &HashMap<&EntryId, usize>,
        lost: &HashMap<&EntryId, Option<&EntryId>>,
        before: Option<usize>,
    ) -> Option<usize> {
        let (line, id) = (item.line, item.id.as_ref());
        let Some(named) = &item.parent else {
            // An entry without an id comes from no writer of this format: it follows what is before.
            return if id.is_none() { before } else { None };
        };
        match places.get(named) {
            Some(parent) if *parent < at => return Some(*parent),
            Some(_) => {
                self.tell(format!(
                    "line {line} hung from itself or a later line and is a root now"
                ));
                return None;
            }
            None => {}
        }
        // Through the remains of lost lines, each looked at once.
        let mut seen = HashSet::new();
        let mut next = Some(named);
        while let Some(id) = next.filter(|id| seen.insert(*id)) {
            if let Some(parent) = places.get(id).filter(|parent| **parent < at) {
                self.tell(format!("line {line} hangs from the parent of its lost parent now"));
                return Some(*parent);
            }
            next = lost.get(id).copied().flatten();
        }
        self.tell(match before {
            Some(_) => {
                format!("line {line} lost its parent and hangs from the entry before it now")
            }
            None => format!("line {line} lost its parent and is a root now"),
        });
        before
    }

    fn mended(
        &mut self,
        at: usize,
        item: &Item,
        plan: &Plan,
        parent: Option<&EntryId>,
        forest: &Forest,
        places: &HashMap<&EntryId, usize>,
    ) -> Result<Vec<u8>, SessionError> {
        let mut line = self.source.read(item.offset, item.len)?;
        let set = |line: &mut Vec<u8>, field: &str, value: Option<&EntryId>| {
            if let Some(new) = splice::set(line, field, value.map(EntryId::as_str)) {
                *line = new;
            }
        };
        if item.parent.as_ref() != parent {
            set(&mut line, "parentId", parent);
        }
        if item.id.as_ref() != Some(&plan.id) {
            set(&mut line, "id", Some(&plan.id));
        }
        if let Said::Compaction { first_kept: Some(kept), has_tail: false } = &item.said
            && !places.get(kept).is_some_and(|kept| forest.is_above(*kept, at))
        {
            set(&mut line, "firstKeptEntryId", Some(&plan.id));
            self.tell(format!(
                "line {} kept from an entry that is not above it and keeps none now",
                item.line
            ));
        }
        Ok(line)
    }

    fn is_same(&self, first: usize, second: usize) -> Result<bool, SessionError> {
        let (Some(a), Some(b)) = (self.found.items.get(first), self.found.items.get(second)) else {
            return Ok(false);
        };
        Ok(a.len == b.len
            && self.source.read(a.offset, a.len)? == self.source.read(b.offset, b.len)?)
    }

    /// Puts the leaf back where it was.
    fn mark(
        &mut self,
        leaf: Option<EntryId>,
        places: &HashMap<&EntryId, usize>,
    ) -> Result<(), SessionError> {
        let data = Some(json!({"v": 1, "reason": "repaired"}));
        let entry = Entry {
            id: name::entry_id(|id| places.contains_key(id), Uuid::new_v4),
            parent_id: leaf,
            timestamp: name::iso(self.now),
            body: Body::Custom { custom_type: LEAF_MARKER.to_owned(), data },
        };
        let failed = |error: serde_json::Error| {
            SessionError::io("write", Path::new("the copy"), error.into())
        };
        let mut line = serde_json::to_vec(&entry).map_err(failed)?;
        line.push(b'\n');
        self.put(&line)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), SessionError> {
        let failed = |error| SessionError::io("write", Path::new("the copy"), error);
        self.file.write_all(bytes).map_err(failed)
    }
}
