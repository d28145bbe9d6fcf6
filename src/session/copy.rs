//! Copies of a session: the path to an entry, or the whole tree, in a new file with a new id.
//!
//! Lines travel byte for byte; where an entry is left out, only the link of its children changes.
//! What is left out belongs to the session it was written in and must not live on in a copy: waiting
//! messages, held calls and proposals. On a path also the labels, which are set again at the end,
//! and leaf markers. All other records of turns stay as history: they name the session they were
//! written in, so nobody acts on them.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::json;
use uuid::Uuid;

use super::journal::{Record, TURN, TurnStatus};
use super::line::{LEAF_MARKER, Shape};
use super::live::header_line;
use super::new_file::NewFile;
use super::snapshot::SessionView;
use super::{
    Body, Entry, Header, Kind, Node, Place, Position, Role, SessionError, migrate, name, parse,
    splice,
};
use crate::message::{EntryId, Message, SessionId, StopReason, TurnId, Usage};

/// The custom entries that hold a proposal.
const PROPOSAL: &str = "harness-tui.proposal";
/// Why a turn that was open where the copy ends is over there.
const COPIED: &str = "copied";

/// What a copy takes along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CopyPoint {
    /// The path to just before this user message.
    Before(EntryId),
    /// The path to this entry, with it. A call on it whose result comes later has no result in the
    /// copy; the request view supplies one that says so.
    At(EntryId),
    /// The path to the leaf.
    Leaf,
    /// Every branch.
    Tree,
}

/// A copy that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    pub path: PathBuf,
    pub id: SessionId,
    /// The text of the message a copy stopped in front of.
    pub editor_text: Option<String>,
}

impl SessionView {
    /// Writes a copy into the sessions of `cwd`. Its header has a new id and names this file as
    /// `parentSession`; metadata, entry ids, name and labels stay. Nothing here changes.
    ///
    /// # Errors
    /// [`SessionError::NothingToCopy`], [`SessionError::InMemory`],
    /// [`SessionError::UnknownEntry`], [`SessionError::NotAUserMessage`], or what the system said.
    pub fn copy(
        &self,
        place: &Place,
        what: &CopyPoint,
        cwd: &Path,
    ) -> Result<Copied, SessionError> {
        if self.path.is_none() {
            return Err(SessionError::InMemory);
        }
        let (positions, editor_text) = self.taken(what)?;
        let now = place.clock.now_ms();
        let header = self.copy_header(now, &name::path_text(cwd));
        let path = name::file_path(&place.root, cwd, now, &header.id);
        if let Some(dir) = path.parent() {
            let made = place.files.create_dir(dir);
            made.map_err(|error| SessionError::io("create the folder", dir, error))?;
        }
        let mut file = NewFile::create(place.files.clone(), &path)?;
        let is_tree = *what == CopyPoint::Tree;
        let id = header.id.clone();
        Writer::new(self, now, is_tree, &mut file).write(&header, &positions)?;
        Ok(Copied { path: file.finish()?, id, editor_text })
    }

    /// Writes the active branch as a session of its own.
    pub(super) fn write_branch(&self, now: i64, out: &mut dyn Write) -> Result<(), SessionError> {
        let (positions, _) = self.taken(&CopyPoint::Leaf)?;
        let header = self.copy_header(now, &self.header.cwd);
        Writer::new(self, now, false, out).write(&header, &positions)
    }

    fn copy_header(&self, now: i64, cwd: &str) -> Header {
        Header {
            version: migrate::VERSION,
            id: SessionId::new(),
            timestamp: name::iso(now),
            cwd: cwd.to_owned(),
            parent_session: self.path.as_deref().map(name::path_text),
            metadata: self.header.metadata.clone(),
        }
    }

    fn taken(&self, what: &CopyPoint) -> Result<(Vec<Position>, Option<String>), SessionError> {
        let index = self.tree.index();
        if self.is_unborn || index.is_empty() {
            return Err(SessionError::NothingToCopy);
        }
        let position = |id: &EntryId| {
            index.position(id).ok_or_else(|| SessionError::UnknownEntry { id: id.clone() })
        };
        Ok(match what {
            CopyPoint::Tree => (self.all(), None),
            CopyPoint::Leaf if self.tree.leaf.is_none() => return Err(SessionError::NothingToCopy),
            CopyPoint::Leaf => (self.active(), None),
            CopyPoint::At(id) => (index.path(Some(position(id)?)), None),
            CopyPoint::Before(id) => {
                let at = position(id)?;
                let entry = self.tree.reader.entry(id)?;
                let Body::Message { message: message @ Message::User(_), .. } = &entry.body else {
                    return Err(SessionError::NotAUserMessage { id: id.clone() });
                };
                let parent = index.node(at).and_then(|node| node.parent);
                (index.path(parent), Some(message.text()))
            }
        })
    }
}

/// Writes one copy.
struct Writer<'a> {
    view: &'a SessionView,
    out: &'a mut dyn Write,
    now: i64,
    is_tree: bool,
    /// Entries a kept part begins with: in a tree they stay whatever they are.
    pinned: HashSet<Position>,
    /// For each entry that was left out, what its children hang from.
    above: HashMap<Position, Option<Position>>,
    /// For each that was left out of a path, the next one that was not.
    next_kept: HashMap<Position, Position>,
    skipped: Vec<Position>,
    taken: HashSet<Position>,
    /// Where the line of a reader of the copy would put the leaf.
    end: Option<EntryId>,
    open_turn: Option<TurnId>,
    /// The last message is an answer that asks for nothing.
    is_answered: bool,
    name: Option<String>,
    made: HashSet<EntryId>,
}

impl<'a> Writer<'a> {
    fn new(view: &'a SessionView, now: i64, is_tree: bool, out: &'a mut dyn Write) -> Self {
        Self {
            view,
            out,
            now,
            is_tree,
            pinned: HashSet::new(),
            above: HashMap::new(),
            next_kept: HashMap::new(),
            skipped: Vec::new(),
            taken: HashSet::new(),
            end: None,
            open_turn: None,
            is_answered: false,
            name: None,
            made: HashSet::new(),
        }
    }

    fn write(mut self, header: &Header, positions: &[Position]) -> Result<(), SessionError> {
        self.put(&header_line(header))?;
        let view = self.view;
        let active: HashSet<Position> = view.active().into_iter().collect();
        if self.is_tree {
            self.pin(positions)?;
        } else {
            self.settle_first(positions)?;
        }
        view.each_line(positions, &mut |position, node, line| {
            let on_branch = !self.is_tree || active.contains(&position);
            self.take(position, node, line, on_branch)
        })?;
        self.close()?;
        self.out.flush().map_err(failed)
    }

    /// In a tree nothing that a compaction begins its kept part with is left out.
    fn pin(&mut self, positions: &[Position]) -> Result<(), SessionError> {
        let view = self.view;
        let index = view.tree.index();
        let is_compaction = |position: &&Position| {
            index.node(**position).is_some_and(|node| node.kind == Kind::Compaction)
        };
        let compactions: Vec<Position> = positions.iter().filter(is_compaction).copied().collect();
        view.each_line(&compactions, &mut |_, _, line| {
            if let Some(kept) = first_kept(line).and_then(|id| index.position(&id)) {
                self.pinned.insert(kept);
            }
            Ok(())
        })
    }

    /// Other readers of the format write a model and a thinking level when they open a file whose
    /// first message has none before it.
    fn settle_first(&mut self, positions: &[Position]) -> Result<(), SessionError> {
        let view = self.view;
        let index = view.tree.index();
        let nodes = || positions.iter().filter_map(|position| index.node(*position));
        let before = nodes().take_while(|node| node.kind != Kind::Message);
        let (mut has_model, mut has_level) = (false, false);
        for node in before {
            has_model |= node.kind == Kind::ModelChange;
            has_level |= node.kind == Kind::ThinkingLevelChange;
        }
        let Some(answer) = nodes().find(|node| node.role == Some(Role::Assistant)) else {
            return Ok(());
        };
        if has_model {
            return Ok(());
        }
        let entry = view.tree.reader.entry(&answer.id)?;
        let Body::Message { message: Message::Assistant(answer), .. } = &entry.body else {
            return Ok(());
        };
        if answer.model.is_empty() {
            return Ok(());
        }
        let (provider, model_id) = (answer.provider.clone(), answer.model.clone());
        self.add(Body::ModelChange { provider, model_id }, None)?;
        if !has_level {
            // What a path without a level means.
            self.add(Body::ThinkingLevelChange { thinking_level: "off".to_owned() }, None)?;
        }
        Ok(())
    }

    fn take(
        &mut self,
        position: Position,
        node: &Node,
        line: &[u8],
        on_branch: bool,
    ) -> Result<(), SessionError> {
        let record = (node.kind == Kind::Custom && *node.preview == *TURN)
            .then(|| parse::entry(line).as_ref().and_then(Record::of))
            .flatten();
        if self.is_left_out(position, node, record.as_ref()) {
            self.above.insert(position, self.kept_above(node.parent));
            if !self.is_tree {
                self.skipped.push(position);
            }
            return Ok(());
        }
        if on_branch {
            self.follow(node, line, record);
        }
        for skipped in self.skipped.drain(..) {
            self.next_kept.insert(skipped, position);
        }
        self.taken.insert(position);
        let above = self.kept_above(node.parent);
        let index = self.view.tree.index();
        let parent = match above.and_then(|above| index.node(above)) {
            Some(above) => Some(above.id.clone()),
            // What was made for the front stands before every root of a path.
            None if self.is_tree => None,
            None => self.end.clone().filter(|end| self.made.contains(end)),
        };
        let text = parse::readable(line);
        let shape = Shape::of(&text);
        let is_same = shape
            .as_ref()
            .is_some_and(|shape| shape.parent.as_deref() == parent.as_ref().map(EntryId::as_str));
        let mut line = std::borrow::Cow::Borrowed(line);
        if !is_same
            && let Some(new) = splice::set(&line, "parentId", parent.as_ref().map(EntryId::as_str))
        {
            line = new.into();
        }
        if node.kind == Kind::Compaction
            && let Some(kept) = self.kept_from(position, node, &line)
            && let Some(new) = splice::set(&line, "firstKeptEntryId", Some(kept.as_str()))
        {
            line = new.into();
        }
        self.end = Some(node.id.clone());
        if node.kind == Kind::LeafMarker {
            self.end = above
                .and_then(|above| index.above_markers(Some(above)))
                .and_then(|above| index.node(above))
                .map(|node| node.id.clone());
        }
        if node.kind == Kind::SessionInfo {
            self.name =
                shape.and_then(|shape| shape.words.map(|words| super::tree::clean_name(&words)));
        }
        self.put(&line)?;
        self.put(b"\n")
    }

    fn is_left_out(&self, position: Position, node: &Node, record: Option<&Record>) -> bool {
        if self.pinned.contains(&position) {
            return false;
        }
        match node.kind {
            Kind::Leaf => true,
            Kind::Label | Kind::LeafMarker => !self.is_tree,
            Kind::Custom if *node.preview == *PROPOSAL => true,
            _ => matches!(
                record,
                Some(Record::Queued { .. } | Record::Dequeued { .. } | Record::Held { .. })
            ),
        }
    }

    /// What the children of `parent` hang from in the copy.
    fn kept_above(&self, parent: Option<Position>) -> Option<Position> {
        let parent = parent?;
        match self.above.get(&parent) {
            Some(above) => *above,
            None => self.taken.contains(&parent).then_some(parent),
        }
    }

    /// The entry a compaction keeps from, when the one it names is not in the copy or not before it.
    fn kept_from(&self, position: Position, node: &Node, line: &[u8]) -> Option<EntryId> {
        let index = self.view.tree.index();
        let named = first_kept(line)?;
        let at = index.position(&named).filter(|at| *at <= position);
        match at {
            Some(at) if self.taken.contains(&at) => None,
            Some(at) if self.above.contains_key(&at) => {
                let next = self.next_kept.get(&at).and_then(|next| index.node(*next));
                Some(next.unwrap_or(node).id.clone())
            }
            // Keeping from nowhere keeps nothing, and that is said by naming itself.
            _ => Some(node.id.clone()),
        }
    }

    fn follow(&mut self, node: &Node, line: &[u8], record: Option<Record>) {
        match record {
            Some(Record::Started { turn, session, .. }) => {
                self.open_turn = (session == self.view.header.id).then_some(turn);
            }
            Some(Record::Finished { turn, .. }) if self.open_turn.as_ref() == Some(&turn) => {
                self.open_turn = None;
            }
            _ => {}
        }
        if node.kind == Kind::Message {
            self.is_answered = node.role == Some(Role::Assistant)
                && self.open_turn.is_some()
                && parse::entry(line).is_some_and(|entry| match &entry.body {
                    Body::Message { message: Message::Assistant(answer), .. } => {
                        answer.stop_reason == StopReason::Stop
                            && answer.tool_calls().next().is_none()
                    }
                    _ => false,
                });
        }
    }

    /// Ends the open turn, gives name and labels again, and puts the leaf where it belongs.
    fn close(&mut self) -> Result<(), SessionError> {
        let view = self.view;
        let index = view.tree.index();
        if self.is_tree {
            let leaf = self.kept_leaf(view.tree.leaf);
            if leaf != self.end {
                let data = json!({"v": 1, "reason": COPIED});
                let marker = Body::Custom { custom_type: LEAF_MARKER.to_owned(), data: Some(data) };
                self.end = leaf.clone();
                self.add(marker, None)?;
                self.end = leaf;
            }
        }
        if let Some(turn) = self.open_turn.take() {
            let status =
                if self.is_answered { TurnStatus::Completed } else { TurnStatus::Cancelled };
            let (result, error, reason) = (None, None, Some(COPIED.to_owned()));
            let usage = Usage::default();
            self.add(Record::Finished { turn, status, result, error, reason, usage }.body(), None)?;
        }
        if self.is_tree {
            return Ok(());
        }
        if self.name.as_deref().unwrap_or_default() != view.name.as_deref().unwrap_or_default() {
            self.add(Body::SessionInfo { name: view.name.clone() }, None)?;
        }
        for (target, label, time) in view.labels_in_order()? {
            if index.position(&target).is_some_and(|target| self.taken.contains(&target)) {
                self.add(Body::Label { target_id: target, label: Some(label) }, Some(time))?;
            }
        }
        Ok(())
    }

    /// The leaf of the source as an entry of the copy.
    fn kept_leaf(&self, leaf: Option<Position>) -> Option<EntryId> {
        let index = self.view.tree.index();
        let kept = index.above_markers(self.kept_above(leaf));
        kept.and_then(|kept| index.node(kept)).map(|node| node.id.clone())
    }

    /// Adds an entry of our own under the last one.
    fn add(&mut self, body: Body, timestamp: Option<String>) -> Result<(), SessionError> {
        let index = self.view.tree.index();
        let is_taken = |id: &EntryId| index.position(id).is_some() || self.made.contains(id);
        let id = name::entry_id(is_taken, Uuid::new_v4);
        let timestamp = timestamp.filter(|time| !time.is_empty());
        let entry = Entry {
            id: id.clone(),
            parent_id: self.end.clone(),
            timestamp: timestamp.unwrap_or_else(|| name::iso(self.now)),
            body,
        };
        let mut line = serde_json::to_vec(&entry).map_err(|error| failed(error.into()))?;
        line.push(b'\n');
        self.made.insert(id.clone());
        self.end = Some(id);
        self.put(&line)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), SessionError> {
        self.out.write_all(bytes).map_err(failed)
    }
}

/// What a compaction keeps from, if its line names it.
fn first_kept(line: &[u8]) -> Option<EntryId> {
    match parse::entry(line)?.body {
        Body::Compaction { first_kept_entry_id, .. } => first_kept_entry_id,
        _ => None,
    }
}

fn failed(error: io::Error) -> SessionError {
    SessionError::io("write", Path::new("the copy"), error)
}
