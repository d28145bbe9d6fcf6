//! Writing to an open session: entries, leaf moves, labels and names.
//!
//! The bytes go to the disk first and into the tree only then, so a failed append has nothing to
//! take back.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError};

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::index::Position;
use super::line::LEAF_MARKER;
use super::load::Tail;
use super::path::ActivePath;
use super::reader::read_one;
use super::tree::clean_name;
use super::{Body, Entry, Flush, Session, SessionError, load, name};
use crate::message::{AssistantMessage, Cost, EntryId, Message, Part, Usage};

/// Deepest nesting of arguments that is written as JSON: with the line around it, readers that stop
/// at 128 levels still read it.
const MAX_DEPTH: usize = 100;

impl Session {
    /// Appends bodies as one chain under the leaf, in one write; the last becomes the leaf. On an
    /// error nothing changed, in memory or in the file.
    ///
    /// Until the first user (or assistant) message comes, entries wait in memory; they are written
    /// together with it. When another program has added to the file, its lines are taken in first
    /// and the chain hangs under the leaf they left.
    ///
    /// # Errors
    /// [`SessionError::ReadOnly`], [`SessionError::Poisoned`] (the writer is done for good),
    /// [`SessionError::DiskFull`], [`SessionError::Io`], [`SessionError::Changed`], or
    /// [`SessionError::Unwritable`] for types that are only read.
    pub fn append(
        &mut self,
        bodies: Vec<Body>,
        flush: Flush,
    ) -> Result<Vec<Arc<Entry>>, SessionError> {
        self.catch_up()?;
        self.write(bodies, self.tree.leaf, flush)
    }

    /// Appends bodies as one chain under any entry (`None`: as a new root). Only leaf moves and
    /// summaries of branches choose their parent.
    ///
    /// # Errors
    /// [`SessionError::UnknownEntry`], and those of [`Session::append`].
    pub fn append_under(
        &mut self,
        parent: Option<&EntryId>,
        bodies: Vec<Body>,
        flush: Flush,
    ) -> Result<Vec<Arc<Entry>>, SessionError> {
        self.catch_up()?;
        let parent = self.target(parent)?;
        self.write(bodies, parent, flush)
    }

    /// Moves the leaf (`None`: before the first entry). It is one synced append that survives exit
    /// and kill; nothing is written when the leaf is there already.
    ///
    /// # Errors
    /// [`SessionError::UnknownEntry`], and those of [`Session::append`].
    pub fn move_leaf(
        &mut self,
        target: Option<&EntryId>,
        reason: Option<&str>,
    ) -> Result<(), SessionError> {
        self.catch_up()?;
        let target = self.target(target)?;
        if target == self.tree.leaf {
            return Ok(());
        }
        let data = match reason {
            Some(reason) => json!({"v": 1, "reason": reason}),
            None => json!({"v": 1}),
        };
        let marker = Body::Custom { custom_type: LEAF_MARKER.to_owned(), data: Some(data) };
        self.write(vec![marker], target, Flush::Sync).map(drop)
    }

    /// Whether anything may be written now, so that nobody pays for what could not be kept.
    ///
    /// # Errors
    /// [`SessionError::ReadOnly`] or [`SessionError::Poisoned`].
    pub fn may_write(&self) -> Result<(), SessionError> {
        self.store.may_write()
    }

    /// Labels an entry; an empty label takes it away.
    ///
    /// # Errors
    /// [`SessionError::UnknownEntry`], and those of [`Session::append`].
    pub fn set_label(
        &mut self,
        target: &EntryId,
        label: Option<&str>,
    ) -> Result<Arc<Entry>, SessionError> {
        self.catch_up()?;
        if self.tree.index.position(target).is_none() {
            return Err(SessionError::UnknownEntry { id: target.clone() });
        }
        let label = label.map(clean_name).filter(|label| !label.is_empty());
        self.append_one(Body::Label { target_id: target.clone(), label })
    }

    /// Names the session; an empty name takes it away. Line breaks become spaces.
    ///
    /// # Errors
    /// Those of [`Session::append`].
    pub fn set_name(&mut self, name: &str) -> Result<Arc<Entry>, SessionError> {
        self.catch_up()?;
        // An empty string, not a missing field: other readers clear a name by it.
        self.append_one(Body::SessionInfo { name: Some(clean_name(name)) })
    }

    fn append_one(&mut self, body: Body) -> Result<Arc<Entry>, SessionError> {
        let mut entries = self.write(vec![body], self.tree.leaf, Flush::Sync)?;
        entries.pop().ok_or(SessionError::Unwritable { kind: "nothing", advice: "give an entry" })
    }

    fn target(&self, id: Option<&EntryId>) -> Result<Option<Position>, SessionError> {
        let Some(id) = id else { return Ok(None) };
        let position = self.tree.index.position(id);
        let position = position.ok_or_else(|| SessionError::UnknownEntry { id: id.clone() })?;
        Ok(self.tree.index.above_markers(Some(position)))
    }

    /// Takes in what another program added to the file, for a session that only reads. `true` when
    /// there was something; the leaf may have moved.
    ///
    /// # Errors
    /// [`SessionError::Changed`], or what stopped the reading.
    pub fn refresh(&mut self) -> Result<bool, SessionError> {
        if !self.store.has_grown()? {
            return Ok(false);
        }
        self.take_growth().map(|_added| true)
    }

    /// Takes in what another program added to the file, before we add to it.
    fn catch_up(&mut self) -> Result<(), SessionError> {
        self.store.may_write()?;
        if !self.store.has_grown()? {
            return Ok(());
        }
        let added = self.take_growth()?;
        self.notice(format!(
            "another program added to this session; {added} new entries were taken in and work goes on behind them"
        ));
        Ok(())
    }

    /// Returns how many entries there were.
    fn take_growth(&mut self) -> Result<usize, SessionError> {
        self.check_last_line()?;
        // A torn last line may have been ended by what was added: it is looked at again.
        let from = match self.store.tail {
            Tail::Torn { offset } => offset,
            Tail::Whole | Tail::Unterminated => self.store.size,
        };
        let files = self.store.place.files.clone();
        let added = load::read_from(files.as_ref(), &self.store.path, from)?;
        let before = self.tree.index.len();
        self.store.size = from + added.len() as u64;
        self.store.tail = load::take_bytes(&added, from, &mut self.tree);
        self.note_trouble();
        Ok(self.tree.index.len() - before)
    }

    /// What is known must still be there, or the file is another one.
    fn check_last_line(&self) -> Result<(), SessionError> {
        let last = self.tree.index.len().checked_sub(1).and_then(|at| Position::try_from(at).ok());
        let Some(last) = last else { return Ok(()) };
        // From the file, not from memory.
        read_one(&self.tree.index, &self.store.source(), last).map(drop)
    }

    fn write(
        &mut self,
        bodies: Vec<Body>,
        parent: Option<Position>,
        flush: Flush,
    ) -> Result<Vec<Arc<Entry>>, SessionError> {
        if bodies.is_empty() {
            return Ok(Vec::new());
        }
        let begins = bodies.iter().any(|body| {
            matches!(body, Body::Message { message: Message::User(_) | Message::Assistant(_), .. })
        });
        let entries = self.chain(bodies, parent)?;
        let mut lines = Vec::new();
        let mut ends = Vec::with_capacity(entries.len());
        for entry in &entries {
            serde_json::to_writer(&mut lines, &**entry)
                .map_err(|error| SessionError::io("write to", &self.store.path, error.into()))?;
            ends.push(lines.len());
            lines.push(b'\n');
        }
        let Some(offset) = self.store.append(&lines, flush, begins)? else {
            self.reload()?;
            return Ok(entries);
        };
        let mut start = 0;
        for end in ends {
            let line = lines.get(start..end).unwrap_or_default();
            self.tree.take(line, offset + start as u64);
            start = end + 1;
        }
        if self.tree.leaf_id() == entries.last().map(|entry| &entry.id) {
            self.active_path().remember(&entries);
        }
        Ok(entries)
    }

    /// Reads everything again, after another program wrote in the very moment we did.
    fn reload(&mut self) -> Result<(), SessionError> {
        let files = self.store.place.files.clone();
        let loaded = load::load(files.as_ref(), &self.store.path)?;
        self.tree = loaded.tree;
        self.store.size = loaded.size;
        self.store.tail = loaded.tail;
        *self.path.get_mut().unwrap_or_else(PoisonError::into_inner) = ActivePath::default();
        self.notice(
            "another program wrote to this session at the same moment; it was read again"
                .to_owned(),
        );
        self.note_trouble();
        Ok(())
    }

    fn chain(
        &self,
        bodies: Vec<Body>,
        parent: Option<Position>,
    ) -> Result<Vec<Arc<Entry>>, SessionError> {
        let index = &self.tree.index;
        let timestamp = name::iso(self.store.place.clock.now_ms());
        let mut parent_id =
            parent.and_then(|parent| index.node(parent)).map(|node| node.id.clone());
        let mut taken: HashSet<EntryId> = HashSet::new();
        let mut entries = Vec::with_capacity(bodies.len());
        for body in bodies {
            let is_taken = |id: &EntryId| taken.contains(id) || index.position(id).is_some();
            let id = name::entry_id(is_taken, Uuid::new_v4);
            taken.insert(id.clone());
            let body = writable(body, &id)?;
            let parent = parent_id.replace(id.clone());
            entries.push(Arc::new(Entry {
                id,
                parent_id: parent,
                timestamp: timestamp.clone(),
                body,
            }));
        }
        Ok(entries)
    }
}

/// The body as it may be written under the entry `id`.
fn writable(mut body: Body, id: &EntryId) -> Result<Body, SessionError> {
    let refuse = |kind, advice| Err(SessionError::Unwritable { kind, advice });
    match &mut body {
        Body::Other => return refuse("unknown", "append one of the known types"),
        Body::Leaf { .. } => return refuse("leaf", "move the leaf instead"),
        Body::ActiveToolsChange { .. } => {
            return refuse(
                "active_tools_change",
                "append a custom harness-tui.tools entry instead",
            );
        }
        Body::Message { message: Message::Unknown, .. } => {
            return refuse("message with an unknown role", "append a known role");
        }
        Body::Compaction { first_kept_entry_id, retained_tail, usage, .. } => {
            // Names itself when nothing is kept: every reader of the format takes that as none.
            first_kept_entry_id.get_or_insert_with(|| id.clone());
            *retained_tail = None;
            usage.as_mut().map(finite).unwrap_or_default();
        }
        Body::Message { message: Message::Assistant(answer), .. } => {
            finite(&mut answer.usage);
            flatten(answer);
        }
        Body::Usage { usage, .. } | Body::BranchSummary { usage: Some(usage), .. } => finite(usage),
        _ => {}
    }
    Ok(body)
}

/// Arguments that are nested too deep to be read back are kept as text.
fn flatten(answer: &mut AssistantMessage) {
    for part in &mut answer.content {
        if let Part::ToolCall(call) = part
            && is_deeper(&call.arguments, MAX_DEPTH)
        {
            call.raw_arguments = Some(call.arguments.to_string());
            call.arguments = Value::Object(Map::new());
        }
    }
}

/// Whether a value has more than `levels` levels. Looks no deeper than that.
fn is_deeper(value: &Value, levels: usize) -> bool {
    let Some(below) = levels.checked_sub(1) else { return true };
    match value {
        Value::Array(items) => items.iter().any(|item| is_deeper(item, below)),
        Value::Object(fields) => fields.values().any(|item| is_deeper(item, below)),
        _ => false,
    }
}

/// JSON has no infinity; a price that is none would be written as null and not read back.
fn finite(usage: &mut Usage) {
    let Cost { input, output, cache_read, cache_write, total } = &mut usage.cost;
    for price in [input, output, cache_read, cache_write, total] {
        if !price.is_finite() {
            *price = 0.0;
        }
    }
}
