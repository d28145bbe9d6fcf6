//! Two programs on one file: the lock, and writers that do not take it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use harness_tui::ports::{AppendFile, Disk, FileFacts, FileLock, FileSystem, MemoryFs};
use harness_tui::session::{Flush, Place, Session, SessionError};
use pretty_assertions::assert_eq;

use super::{assert_sound, open, place, stored, text_of, told, user};

#[test]
fn the_second_opener_reads_only_and_learns_who_holds_the_session() {
    let dir = tempfile::tempdir().unwrap();
    let on_disk = Place { root: dir.path().into(), ..place(Arc::new(Disk)) };
    let mut first = Session::create(on_disk.clone(), Path::new("/work"));
    first.append(vec![user("a")], Flush::Sync).unwrap();
    let path = first.path().unwrap().to_owned();

    let mut second = Session::open(on_disk.clone(), &path).unwrap();
    let holder = second.holder().unwrap().to_owned();
    assert!(holder.starts_with(&format!("process {} on ", std::process::id())), "{holder}");
    assert!(holder.ends_with("since 2026-11-30T16:51:02.123Z"), "{holder}");
    assert_eq!(told(&second), ["a"]);
    let refused = second.append(vec![user("b")], Flush::Sync);
    assert!(matches!(refused, Err(SessionError::ReadOnly { .. })));
    first.append(vec![user("c")], Flush::Sync).unwrap();
    drop(first);

    let mut third = Session::open(on_disk, &path).unwrap();
    assert_eq!(
        third.holder(),
        None,
        "a lock goes with its owner; the file it leaves does not block"
    );
    third.append(vec![user("d")], Flush::Sync).unwrap();
    assert_eq!(told(&third), ["a", "c", "d"]);
}

#[test]
fn a_link_to_a_session_meets_the_same_lock() {
    let dir = tempfile::tempdir().unwrap();
    let on_disk = Place { root: dir.path().into(), ..place(Arc::new(Disk)) };
    let mut first = Session::create(on_disk.clone(), Path::new("/work"));
    first.append(vec![user("a")], Flush::Sync).unwrap();
    let link = dir.path().join("link.jsonl");
    std::os::unix::fs::symlink(first.path().unwrap(), &link).unwrap();
    assert!(Session::open(on_disk, &link).unwrap().holder().is_some());
}

#[test]
fn lines_of_another_program_are_taken_in_and_work_goes_on_behind_them() {
    let (files, path) = stored(1);
    let mut session = open(&files, &path);
    let parent = session.leaf().unwrap().clone();
    let line = format!(
        "{{\"type\":\"message\",\"id\":\"foreign\",\"parentId\":\"{parent}\",\"message\":{{\"role\":\"user\",\"content\":\"theirs\"}}}}"
    );
    // Once with and once without a newline, and with a piece of another line behind it.
    files.push(&path, line.as_bytes());
    session.append(vec![user("mine")], Flush::Sync).unwrap();
    assert_eq!(told(&session), ["message 1", "theirs", "mine"]);
    let notices = session.take_notices();
    assert_eq!(notices.len(), 1);
    assert!(notices[0].text.contains("another program"), "{notices:?}");
    files.push(
        &path,
        b"{\"type\":\"custom\",\"id\":\"x\",\"parentId\":\"foreign\"}\n{\"type\":\"cus",
    );
    session.append(vec![user("again")], Flush::Sync).unwrap();
    assert_eq!(told(&session), ["message 1", "theirs", "again"]);
    assert_sound(&text_of(&files, &path));
    let branch = session.branch().unwrap();
    drop(session);
    assert_eq!(open(&files, &path).branch().unwrap(), branch);
}

#[test]
fn a_torn_line_that_another_program_ended_is_read_again() {
    let (files, path) = stored(1);
    files.push(&path, b"{\"type\":\"custom\",\"id\":\"x\",");
    let mut session = open(&files, &path);
    files.push(&path, b"\"parentId\":null}\n");
    session.append(vec![user("mine")], Flush::Sync).unwrap();
    assert_eq!(session.branch().unwrap()[0].id, "x".into());
    assert_sound(&text_of(&files, &path));
}

#[test]
fn a_file_that_was_cut_replaced_or_removed_stops_the_writer() {
    let changed = |session: &mut Session| {
        matches!(session.append(vec![user("x")], Flush::Sync), Err(SessionError::Changed { .. }))
    };
    let (files, path) = stored(2);
    let mut session = open(&files, &path);
    let good = text_of(&files, &path);
    files.put(&path, &good[..good.len() - 5]);
    assert!(changed(&mut session));
    files.put(&path, "x".repeat(good.len() + 50));
    assert!(changed(&mut session));
    files.remove(&path).unwrap();
    assert!(changed(&mut session));
    files.put(&path, good);
    session.append(vec![user("x")], Flush::Sync).unwrap();
    assert_eq!(told(&session), ["message 1", "message 2", "x"]);
}

#[test]
fn a_reader_can_follow_what_the_holder_writes() {
    let (files, path) = stored(1);
    let mut writer = open(&files, &path);
    let mut reader = open(&files, &path);
    assert!(reader.holder().is_some());
    assert!(!reader.refresh().unwrap());
    writer.append(vec![user("more")], Flush::Sync).unwrap();
    assert!(reader.refresh().unwrap());
    assert_eq!(reader.branch().unwrap(), writer.branch().unwrap());
    assert_eq!(reader.take_notices(), []);
}

/// Another program that writes a line in the very moment we write ours.
#[derive(Debug, Clone)]
struct Racing {
    files: MemoryFs,
    path: PathBuf,
    line: Arc<Mutex<Option<String>>>,
}

#[derive(Debug)]
struct RacingFile(Racing, Box<dyn AppendFile>);

impl AppendFile for RacingFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(line) = self.0.line.lock().unwrap().take() {
            self.0.files.push(&self.0.path, line.as_bytes());
        }
        self.1.append(bytes)
    }
    fn sync(&mut self) -> io::Result<()> {
        self.1.sync()
    }
    fn size(&mut self) -> io::Result<u64> {
        self.1.size()
    }
    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.1.truncate(len)
    }
}

impl FileSystem for Racing {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.files.read(path)
    }
    fn read_range(&self, path: &Path, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        self.files.read_range(path, offset, len)
    }
    fn facts(&self, path: &Path) -> io::Result<FileFacts> {
        self.files.facts(path)
    }
    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        self.files.list(dir)
    }
    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.files.create_dir(dir)
    }
    fn create_new(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.files.create_new(path)
    }
    fn open_append(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        Ok(Box::new(RacingFile(self.clone(), self.files.open_append(path)?)))
    }
    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.files.replace(path, bytes)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.files.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.files.remove(path)
    }
    fn make_private(&self, path: &Path) -> io::Result<()> {
        self.files.make_private(path)
    }
    fn lock(&self, path: &Path, note: &str) -> io::Result<Option<Box<dyn FileLock>>> {
        self.files.lock(path, note)
    }
}

#[test]
fn a_line_written_in_the_same_moment_is_found_and_nothing_is_lost() {
    let (files, path) = stored(1);
    let line = Arc::new(Mutex::new(None));
    let racing = Racing { files: files.clone(), path: path.clone(), line: Arc::clone(&line) };
    let mut session = Session::open(place(Arc::new(racing)), &path).unwrap();
    let parent = session.leaf().unwrap().clone();
    *line.lock().unwrap() =
        Some(format!("{{\"type\":\"custom\",\"id\":\"theirs\",\"parentId\":\"{parent}\"}}\n"));
    session.append(vec![user("mine")], Flush::Sync).unwrap();
    session.append(vec![user("next")], Flush::Sync).unwrap();
    assert_eq!(told(&session), ["message 1", "mine", "next"]);
    assert_eq!(session.take_notices().len(), 1);
    assert_sound(&text_of(&files, &path));
    assert_eq!(session.index().len(), 4);
    let branch = session.branch().unwrap();
    drop(session);
    assert_eq!(open(&files, &path).branch().unwrap(), branch);
}
