//! An open session: where it comes from and what can be read from it.
//!
//! It owns the store, the tree and the leaf together, so the three cannot disagree. Writing is in
//! `write`.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use super::index::Position;
use super::journal::Landmark;
use super::load::{self, Tail};
use super::path::ActivePath;
use super::reader::{Reader, read_one};
use super::store::{Access, Store};
use super::tree::{Labels, Tree, TreeView};
use super::{
    Context, Durability, Entry, Header, Index, Notice, Place, SessionError, context, lock, migrate,
    name,
};
use crate::message::{EntryId, SessionId};
use crate::ports::{Clock, FileSystem, MemoryFs};

/// Permission bits that let others in.
const OTHERS: u32 = 0o077;

/// An open session.
#[derive(Debug)]
pub struct Session {
    pub(super) header: Header,
    pub(super) store: Store,
    pub(super) tree: Tree,
    pub(super) path: Mutex<ActivePath>,
    notices: Vec<Notice>,
    is_in_memory: bool,
}

#[derive(Serialize)]
struct HeaderLine<'a> {
    r#type: &'static str,
    #[serde(flatten)]
    header: &'a Header,
}

/// The header as a line with its newline.
pub(super) fn header_line(header: &Header) -> Vec<u8> {
    let line = HeaderLine { r#type: "session", header };
    // Strings, numbers and JSON values always have a JSON form.
    let mut bytes = serde_json::to_vec(&line).unwrap_or_default();
    bytes.push(b'\n');
    bytes
}

impl Session {
    /// A new session for `cwd`. No file exists until the first user message is appended.
    pub fn create(place: Place, cwd: &Path) -> Self {
        let header = new_header(place.clock.as_ref(), cwd);
        Self::from_header(place, header)
    }

    /// A new session with a header of its own making: a chosen id ([`super::check_id`] says which
    /// will do), the session it was copied from, metadata. The version is ours.
    ///
    /// # Errors
    /// [`SessionError::BadId`].
    pub fn create_with(place: Place, header: Header) -> Result<Self, SessionError> {
        super::check_id(header.id.as_str())?;
        Ok(Self::from_header(place, Header { version: migrate::VERSION, ..header }))
    }

    /// A new session whose file will be exactly `path`; an empty file may be there already.
    pub fn create_at(place: Place, path: &Path, cwd: &Path) -> Self {
        let header = new_header(place.clock.as_ref(), cwd);
        let has_file = place.files.facts(path).is_ok_and(|facts| !facts.is_dir && facts.len == 0);
        Self::unborn(place, path.to_owned(), header, has_file)
    }

    /// A session that lives in memory only, with the same behaviour.
    pub fn in_memory(clock: Arc<dyn Clock>, cwd: &Path) -> Self {
        let place = Place {
            files: Arc::new(MemoryFs::new()),
            clock,
            root: PathBuf::from("/"),
            durability: Durability::Process,
        };
        Self { is_in_memory: true, ..Self::create(place, cwd) }
    }

    fn from_header(place: Place, header: Header) -> Self {
        let created = name::parse_iso(&header.timestamp).unwrap_or_else(|| place.clock.now_ms());
        let path = name::file_path(&place.root, Path::new(&header.cwd), created, &header.id);
        Self::unborn(place, path, header, false)
    }

    fn unborn(place: Place, path: PathBuf, header: Header, has_file: bool) -> Self {
        let mut tree = Tree::default();
        tree.pass();
        let store = Store::new(place, path, header_line(&header), has_file);
        Self::with(header, store, tree)
    }

    fn with(header: Header, store: Store, tree: Tree) -> Self {
        Self {
            header,
            store,
            tree,
            path: Mutex::default(),
            notices: Vec::new(),
            is_in_memory: false,
        }
    }

    /// Opens a file and takes its lock. When somebody else holds the lock the session is read-only
    /// and [`Session::holder`] says who; appends then fail. An empty file becomes a new session of
    /// the process's working directory.
    ///
    /// # Errors
    /// [`SessionError::NotFound`], [`SessionError::NotASession`] (the file is left untouched), or
    /// what the system said.
    pub fn open(place: Place, path: &Path) -> Result<Self, SessionError> {
        let path = place.files.canonical(path).map_err(|error| open_error(path, error))?;
        let facts = place.files.facts(&path).map_err(|error| open_error(&path, error))?;
        if facts.is_dir {
            return Err(SessionError::NotASession { path, why: "it is a folder" });
        }
        if facts.len == 0 {
            let cwd = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
            return Ok(Self::create_at(place, &path, &cwd));
        }
        // Before the lock, so that no lock file appears beside what is no session.
        load::probe(place.files.as_ref(), &path)?;
        let access = match lock::take(&place, &path) {
            Ok(access) => access,
            Err(error) => Access::ReadOnly(format!("its lock file cannot be written ({error})")),
        };
        let loaded = load::load(place.files.as_ref(), &path)?;
        let mut session = if migrate::is_old(&loaded.header) {
            Self::open_old(place, path, access, loaded.header)?
        } else {
            let access = match access {
                Access::Locked(_) if loaded.header.version > migrate::VERSION => Access::ReadOnly(
                    format!("its version {} is newer than this program", loaded.header.version),
                ),
                access => access,
            };
            let store = Store::opened(place, path, access, loaded.size, loaded.tail);
            Self::with(loaded.header, store, loaded.tree)
        };
        session.note_tail();
        session.note_trouble();
        session.tighten(facts.mode);
        Ok(session)
    }

    fn open_old(
        place: Place,
        path: PathBuf,
        access: Access,
        header: Header,
    ) -> Result<Self, SessionError> {
        let old =
            place.files.read(&path).map_err(|error| SessionError::io("read", &path, error))?;
        let bytes = migrate::to_v3(&old);
        let mut tree = Tree::default();
        migrate::take(&bytes, &mut tree);
        let tail = load::tail_of(&old);
        let store = Store::migrated(place, path, access, bytes, old.len() as u64, tail);
        Ok(Self::with(Header { version: migrate::VERSION, ..header }, store, tree))
    }

    /// Closes a file that others can read, or says that it is open to them.
    fn tighten(&mut self, mode: u32) {
        if mode & OTHERS == 0 {
            return;
        }
        let path = self.store.path.display();
        let tightened = self.holder().is_none()
            && self.store.place.files.make_private(&self.store.path).is_ok();
        let text = if tightened {
            format!("{path} was open to other users (mode {mode:o}); it is now yours alone")
        } else {
            format!("{path} is open to other users (mode {mode:o}); run chmod 600 on it")
        };
        self.notice(text);
    }

    fn note_tail(&mut self) {
        // Somebody else's last line may just be on its way.
        if matches!(self.store.tail, Tail::Torn { .. }) && self.holder().is_none() {
            self.notice(
                "the last line of the session is torn, probably by a crash; it is left out, and set aside before anything is added"
                    .to_owned(),
            );
        }
    }

    pub(super) fn note_trouble(&mut self) {
        for text in self.tree.take_trouble() {
            self.notice(text);
        }
    }

    pub(super) fn notice(&mut self, text: String) {
        self.notices.push(Notice { text });
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    pub fn id(&self) -> &SessionId {
        &self.header().id
    }

    /// The file, also when it does not exist yet; `None` in memory.
    pub fn path(&self) -> Option<&Path> {
        (!self.is_in_memory).then_some(self.store.path.as_path())
    }

    /// The logical leaf: where the next entry hangs; never a marker.
    pub fn leaf(&self) -> Option<&EntryId> {
        self.tree.leaf_id()
    }

    /// The session's name: the last `session_info` in file order.
    pub fn name(&self) -> Option<&str> {
        self.tree.name.as_deref()
    }

    /// The label of each labelled entry: the last in file order.
    pub fn labels(&self) -> &Arc<Labels> {
        &self.tree.labels
    }

    /// Who holds the lock instead of us, or why else the session is read-only.
    pub fn holder(&self) -> Option<&str> {
        match &self.store.access {
            Access::ReadOnly(holder) => Some(holder),
            Access::Unlocked | Access::Locked(_) => None,
        }
    }

    /// What was noticed since the last call.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }

    /// The tree without bodies, as it is now: cheap to take and never changing.
    pub fn index(&self) -> Index {
        self.tree.index.clone()
    }

    /// The tree as it is now and a way to its bodies, for a screen of its own.
    pub fn reader(&self) -> Reader {
        Reader { index: self.index(), source: self.store.source() }
    }

    /// What a pane that walks the tree needs, at this moment.
    pub fn tree(&self) -> TreeView {
        TreeView {
            reader: self.reader(),
            leaf: self.tree.leaf,
            labels: Arc::clone(&self.tree.labels),
        }
    }

    /// The records of turns that begin, end and wait, in file order, of all branches.
    pub fn landmarks(&self) -> &[(Position, Landmark)] {
        &self.tree.landmarks
    }

    /// Model, thinking level and tools of the leaf: its context without the messages. Reads a few
    /// entries, however long the path is.
    ///
    /// # Errors
    /// What stopped the reading.
    pub fn settings(&self) -> Result<Context, SessionError> {
        let source = self.store.source();
        context::settings(&self.tree.index, self.tree.leaf, &mut |position| {
            read_one(&self.tree.index, &source, position)
        })
    }

    /// The entry with that id, read on demand.
    ///
    /// # Errors
    /// [`SessionError::UnknownEntry`], or what stopped the reading.
    pub fn entry(&self, id: &EntryId) -> Result<Arc<Entry>, SessionError> {
        let unknown = || SessionError::UnknownEntry { id: id.clone() };
        let position = self.tree.index.position(id).ok_or_else(unknown)?;
        self.active_path().load(&self.tree.index, &self.store.source(), position)
    }

    /// The active path, root first.
    ///
    /// # Errors
    /// What stopped the reading.
    pub fn branch(&self) -> Result<Vec<Arc<Entry>>, SessionError> {
        self.active_path().branch(&self.tree.index, &self.store.source())
    }

    /// The path from the root to any entry, root first.
    ///
    /// # Errors
    /// [`SessionError::UnknownEntry`], or what stopped the reading.
    pub fn branch_to(&self, id: &EntryId) -> Result<Vec<Arc<Entry>>, SessionError> {
        let unknown = || SessionError::UnknownEntry { id: id.clone() };
        let position = self.tree.index.position(id).ok_or_else(unknown)?;
        let mut path = ActivePath::default();
        path.align(&self.tree.index, Some(position));
        path.branch(&self.tree.index, &self.store.source())
    }

    /// The context of the leaf. Cheap to call before every request: only what was appended since
    /// the last call is added.
    ///
    /// # Errors
    /// What stopped the reading.
    pub fn context(&mut self) -> Result<Arc<Context>, SessionError> {
        self.active_path().context(&self.tree.index, &self.store.source())
    }

    /// Everything known, written to a new file: the way out when this file can no longer be written.
    ///
    /// # Errors
    /// What the system said; an existing file is not touched.
    pub fn write_copy(&self, files: &dyn FileSystem, to: &Path) -> Result<(), SessionError> {
        let bytes = self.store.bytes()?;
        let failed = |error| SessionError::io("write the copy", to, error);
        let mut file = files.create_new(to).map_err(failed)?;
        file.append(&bytes).and_then(|()| file.sync()).map_err(failed)
    }

    /// The remembered path, made to end at the leaf.
    pub(super) fn active_path(&self) -> MutexGuard<'_, ActivePath> {
        // Everything in it can be read again, so what a panic left behind is still good.
        let mut path = self.path.lock().unwrap_or_else(PoisonError::into_inner);
        path.align(&self.tree.index, self.tree.leaf);
        path
    }
}

fn new_header(clock: &dyn Clock, cwd: &Path) -> Header {
    Header {
        version: migrate::VERSION,
        id: SessionId::new(),
        timestamp: name::iso(clock.now_ms()),
        cwd: name::path_text(cwd),
        parent_session: None,
        metadata: None,
    }
}

fn open_error(path: &Path, error: std::io::Error) -> SessionError {
    match error.kind() {
        std::io::ErrorKind::NotFound => SessionError::NotFound { path: path.to_owned() },
        _ => SessionError::io("open", path, error),
    }
}
