//! Every operation fails in turn: the file stays sound, and memory says what the disk says.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use harness_tui::ports::{Fault, FaultyFs, FileSystem, MemoryFs};
use harness_tui::session::{Flush, Session, SessionError};
use pretty_assertions::assert_eq;

use super::{assert_sound, model, open, place, stored, text_of, told, user};

const APPENDS: usize = 20;

/// Creates a session and appends to it, trying each failed append once more. Returns the session,
/// what was acknowledged, and the errors.
fn run(files: &FaultyFs) -> (Session, Vec<String>, Vec<SessionError>) {
    let mut session = Session::create(place(Arc::new(files.clone())), Path::new("/work"));
    let mut said = Vec::new();
    let mut errors = Vec::new();
    session.append(vec![model("x")], Flush::Lazy).unwrap();
    for n in 0..APPENDS {
        let text = n.to_string();
        for _ in 0..2 {
            let before = (told(&session), session.leaf().cloned(), session.index().len());
            match session.append(vec![user(&text)], Flush::Sync) {
                Ok(_) => {
                    said.push(text.clone());
                    break;
                }
                Err(error) => {
                    let after = (told(&session), session.leaf().cloned(), session.index().len());
                    assert_eq!(after, before, "a failed append changes nothing in memory");
                    errors.push(error);
                }
            }
        }
    }
    (session, said, errors)
}

/// How many operations a run without faults takes.
fn operations() -> u64 {
    let files = FaultyFs::new(Arc::new(MemoryFs::new()), Fault::None);
    let (_, said, errors) = run(&files);
    assert_eq!((said.len(), errors.len()), (APPENDS, 0));
    files.operations()
}

/// Runs with a fault, then looks at what it left.
fn survive(fault: Fault, what: &str) {
    let memory = MemoryFs::new();
    let faulty = FaultyFs::new(Arc::new(memory.clone()), fault);
    let (mut session, mut said, errors) = run(&faulty);
    faulty.arm(false);
    let poisoned = errors.iter().any(|e| matches!(e, SessionError::Poisoned { .. }));
    assert_eq!(told(&session), said, "{what}");
    if !poisoned {
        session.append(vec![user("last")], Flush::Sync).unwrap();
        said.push("last".to_owned());
    }
    let path = session.path().unwrap().to_owned();
    if said.is_empty() {
        assert!(poisoned, "{what}");
        return;
    }
    let (branch, leaf) = (session.branch().unwrap(), session.leaf().cloned());
    drop(session);
    let mut again = open(&memory, &path);
    if poisoned {
        // What could not be cut off again may still stand behind what was acknowledged.
        assert!(told(&again).starts_with(&said), "{what}");
        again.append(vec![user("last")], Flush::Sync).unwrap();
    } else {
        assert_eq!(again.branch().unwrap(), branch, "{what}");
        assert_eq!(again.leaf(), leaf.as_ref(), "{what}");
    }
    assert_sound(&text_of(&memory, &path));
}

#[test]
fn each_single_failure_leaves_a_sound_file_and_the_next_append_works_unless_poisoned() {
    for nth in 1..=operations() {
        let fault = Fault::Fail { nth, kind: ErrorKind::StorageFull };
        survive(fault, &format!("operation {nth}"));
        let memory = FaultyFs::new(Arc::new(MemoryFs::new()), fault);
        let (_, said, errors) = run(&memory);
        let poisoned = errors.iter().any(|e| matches!(e, SessionError::Poisoned { .. }));
        assert!(poisoned || said.len() == APPENDS, "operation {nth}: {errors:?}");
    }
}

#[test]
fn an_outage_of_any_length_at_any_operation_leaves_a_sound_file() {
    for from in 1..=operations() {
        for to in from..from + 6 {
            let fault = Fault::Outage { from, to, kind: ErrorKind::Other };
            survive(fault, &format!("operations {from} to {to}"));
        }
    }
}

#[test]
fn stopping_at_any_operation_keeps_all_that_was_acknowledged() {
    for nth in 1..=operations() {
        let memory = MemoryFs::new();
        let faulty = FaultyFs::new(Arc::new(memory.clone()), Fault::Stop { nth });
        let (session, said, _) = {
            // Reading fails too once everything has stopped, so only the writing is looked at.
            let mut session = Session::create(place(Arc::new(faulty.clone())), Path::new("/work"));
            let mut said = Vec::new();
            for n in 0..APPENDS {
                if session.append(vec![user(&n.to_string())], Flush::Sync).is_ok() {
                    said.push(n.to_string());
                }
            }
            (session, said, ())
        };
        let path = session.path().unwrap().to_owned();
        drop(session);
        let Ok(mut again) = Session::open(place(Arc::new(memory.clone())), &path) else {
            assert!(said.is_empty(), "operation {nth}");
            continue;
        };
        let found = told(&again);
        assert!(found.starts_with(&said), "operation {nth}: {found:?} after {said:?}");
        again.append(vec![user("next")], Flush::Sync).unwrap();
        assert_sound(&text_of(&memory, &path));
    }
}

#[test]
fn a_full_disk_is_said_so_and_the_next_append_works() {
    let (memory, path) = stored(1);
    let faulty = FaultyFs::new(
        Arc::new(memory.clone()),
        Fault::Fail { nth: 3, kind: ErrorKind::StorageFull },
    );
    faulty.arm(false);
    let mut session = Session::open(place(Arc::new(faulty.clone())), &path).unwrap();
    faulty.arm(true);
    let before = text_of(&memory, &path);
    // Looking at the size, opening, then the write that fails half-way.
    let error = session.append(vec![user("x")], Flush::Sync).unwrap_err();
    assert!(matches!(error, SessionError::DiskFull { .. }), "{error:?}");
    assert!(error.to_string().contains("free some space"), "{error}");
    assert_eq!(text_of(&memory, &path), before);
    session.append(vec![user("y")], Flush::Sync).unwrap();
    assert_eq!(told(&session), ["message 1", "y"]);
}

#[test]
fn after_a_failed_sync_nothing_is_written_again_and_a_copy_can_be_saved() {
    let (memory, path) = stored(2);
    let faulty = FaultyFs::new(Arc::new(memory.clone()), Fault::Sync);
    let mut session = Session::open(place(Arc::new(faulty)), &path).unwrap();
    let before = text_of(&memory, &path);
    for _ in 0..2 {
        let error = session.append(vec![user("x")], Flush::Sync).unwrap_err();
        assert!(matches!(error, SessionError::Poisoned { .. }), "{error:?}");
    }
    assert_eq!(text_of(&memory, &path), before);
    assert_eq!(told(&session), ["message 1", "message 2"]);
    session.write_copy(&memory, Path::new("/sessions/copy.jsonl")).unwrap();
    assert_eq!(text_of(&memory, Path::new("/sessions/copy.jsonl")), before);
}

#[test]
fn lazy_appends_do_not_sync() {
    let (memory, path) = stored(1);
    let faulty = FaultyFs::new(Arc::new(memory), Fault::Sync);
    let mut session = Session::open(place(Arc::new(faulty)), &path).unwrap();
    session.append(vec![user("x")], Flush::Lazy).unwrap();
    assert_eq!(told(&session), ["message 1", "x"]);
}

#[test]
fn a_synced_append_costs_two_looks_one_write_and_one_sync() {
    let files = FaultyFs::new(Arc::new(MemoryFs::new()), Fault::None);
    let mut session = Session::create(place(Arc::new(files.clone())), Path::new("/work"));
    session.append(vec![user("a")], Flush::Sync).unwrap();
    let before = files.operations();
    session.append(vec![user("b"), user("c"), user("d")], Flush::Sync).unwrap();
    assert_eq!(files.operations() - before, 4);
}
