//! The trash: nothing is lost on the way there or back, and nothing in use is moved.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use harness_tui::message::Message;
use harness_tui::ports::{Fault, FaultyFs, FileSystem, FixedClock, MemoryFs};
use harness_tui::session::{Body, Durability, Flush, Place, Session, SessionError, Trash};
use pretty_assertions::assert_eq;

const ROOT: &str = "/data/sessions";
const DAY: i64 = 86_400_000;

fn place(files: Arc<dyn FileSystem>, now: i64) -> Place {
    let clock = Arc::new(FixedClock(now));
    Place { files, clock, root: ROOT.into(), durability: Durability::Commit }
}

fn trash(files: &MemoryFs, now: i64) -> Trash {
    Trash::new(place(Arc::new(files.clone()), now), "/data/trash".into())
}

/// A session that was closed, with what a crash set aside beside it.
fn session(files: &MemoryFs) -> PathBuf {
    let mut session = Session::create(place(Arc::new(files.clone()), 5), Path::new("/w"));
    let message = Message::user("hi", 5);
    session.append(vec![Body::Message { message, harness: None }], Flush::Sync).unwrap();
    let path = session.path().unwrap().to_owned();
    files.put(&PathBuf::from(format!("{}.torn-7", path.display())), "half");
    path
}

#[test]
fn a_session_goes_to_the_trash_with_all_that_is_its_own_and_comes_back_as_it_was() {
    let files = MemoryFs::new();
    let path = session(&files);
    let bytes = files.read(&path).unwrap();
    let trash = trash(&files, 20 * DAY);
    let there = trash.put(&path).unwrap();
    assert!(files.paths().iter().all(|path| path.starts_with("/data/trash")), "nothing stays");
    let listed = trash.list();
    assert_eq!(listed.len(), 1);
    assert_eq!((listed[0].from.as_ref(), listed[0].at_ms), (Some(&path), 20 * DAY));
    assert_eq!(listed[0].listed.first_message.as_deref(), Some("hi"));
    assert_eq!(trash.restore(&there).unwrap(), path);
    assert_eq!(files.read(&path).unwrap(), bytes);
    let torn = PathBuf::from(format!("{}.torn-7", path.display()));
    assert_eq!(files.read(&torn).unwrap(), b"half");
    assert_eq!(trash.list(), []);
    assert!(Session::open(place(Arc::new(files), 6), &path).unwrap().holder().is_none());
}

#[test]
fn what_is_open_stays_and_what_is_no_session_too() {
    let files = MemoryFs::new();
    let path = session(&files);
    let before = files.read(&path).unwrap();
    let open = Session::open(place(Arc::new(files.clone()), 5), &path).unwrap();
    assert!(matches!(trash(&files, 9).put(&path), Err(SessionError::InUse { .. })));
    drop(open);
    assert_eq!(files.read(&path).unwrap(), before);
    let other = Path::new("/data/sessions/notes.jsonl");
    files.put(other, "my notes\n");
    assert!(matches!(trash(&files, 9).put(other), Err(SessionError::NotASession { .. })));
    assert!(files.facts(other).is_ok());
    assert!(files.facts(Path::new("/data/sessions/notes.jsonl.lock")).is_err());
}

#[test]
fn restoring_never_overwrites_and_needs_no_note() {
    let files = MemoryFs::new();
    let path = session(&files);
    let trash = trash(&files, 20 * DAY);
    let there = trash.put(&path).unwrap();
    files.put(&path, "newer");
    assert!(matches!(trash.restore(&there), Err(SessionError::Exists { .. })));
    assert_eq!(files.read(&path).unwrap(), b"newer");
    files.remove(&path).unwrap();
    files.remove(&PathBuf::from(format!("{}.from", there.display()))).unwrap();
    assert_eq!(trash.restore(&there).unwrap(), path, "its header says where it belongs");
}

#[test]
fn two_sessions_of_one_name_lie_side_by_side_and_only_old_ones_are_purged() {
    let files = MemoryFs::new();
    let path = session(&files);
    let bytes = files.read(&path).unwrap();
    let old = trash(&files, 20 * DAY).put(&path).unwrap();
    files.put(&path, bytes.clone());
    let twin = trash(&files, 20 * DAY).put(&path).unwrap();
    files.put(&path, bytes);
    let new = trash(&files, 40 * DAY).put(&path).unwrap();
    files.put(Path::new("/data/trash/12_mine.txt"), "not ours");
    assert!(old != twin && twin != new);
    assert_eq!(trash(&files, 0).purge(40 * DAY).unwrap(), 2);
    assert_eq!(trash(&files, 0).list().len(), 1);
    assert!(files.facts(Path::new("/data/trash/12_mine.txt")).is_ok());
}

#[test]
fn a_stop_at_any_point_of_the_way_loses_neither_session_nor_way_back() {
    for nth in 1..40 {
        let files = MemoryFs::new();
        let path = session(&files);
        let bytes = files.read(&path).unwrap();
        let faulty = FaultyFs::new(Arc::new(files.clone()), Fault::Stop { nth });
        let there = Trash::new(place(Arc::new(faulty), 20 * DAY), "/data/trash".into()).put(&path);
        let kept = files.paths().into_iter().find(|path| files.read(path).unwrap() == bytes);
        let kept = kept.unwrap_or_else(|| panic!("lost at operation {nth}"));
        if there.is_err() && kept != path {
            panic!("an error leaves it where it was (operation {nth})");
        }
        if kept != path {
            assert_eq!(trash(&files, 0).restore(&kept).unwrap(), path, "operation {nth}");
        }
    }
}
