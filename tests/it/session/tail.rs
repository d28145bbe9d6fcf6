//! The end of a file read backwards says the same as the session that is opened behind it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use harness_tui::message::EntryId;
use harness_tui::ports::MemoryFs;
use harness_tui::session::{Flush, Session, Stretch, Tail, tail};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;

use super::{answer, model, open, place, stored, text_of, user};

fn ids(tail: &Tail) -> Vec<EntryId> {
    tail.entries.iter().map(|entry| entry.id.clone()).collect()
}

/// What a snapshot of the opened session would show, and whether that is all.
fn shown(session: &Session) -> (Vec<EntryId>, bool) {
    let tree = session.tree();
    let Some(last) = tree.leaf else { return (Vec::new(), true) };
    let page = tree.reader.last_page(Stretch { above: None, last }).unwrap();
    (page.entries.iter().map(|entry| entry.id.clone()).collect(), page.above.is_none())
}

fn agrees(files: &MemoryFs, path: &Path) {
    let tail = tail(files, path).unwrap();
    let session = open(files, path);
    assert_eq!((ids(&tail), tail.is_whole), shown(&session));
    assert_eq!(&tail.header, session.header());
    assert_eq!(Some(&*tail.path), session.path());
}

#[test]
fn a_short_session_is_its_own_tail() {
    for count in 1..4 {
        let (files, path) = stored(count);
        agrees(&files, &path);
    }
}

#[test]
fn the_tail_of_a_long_session_begins_with_a_prompt() {
    let (files, path) = stored(1);
    let mut session = open(&files, &path);
    let text = "x".repeat(500);
    for _ in 0..400 {
        session
            .append(vec![user("q"), answer(&text), answer(&text), model("m")], Flush::Lazy)
            .unwrap();
    }
    drop(session);
    agrees(&files, &path);
    let tail = tail(&files, &path).unwrap();
    assert!(tail.entries.len() < 200, "{}", tail.entries.len());
}

#[test]
fn a_jump_is_followed_while_its_target_is_near() {
    let (files, path) = stored(5);
    let mut session = open(&files, &path);
    let second = session.branch().unwrap()[1].id.clone();
    session.move_leaf(Some(&second), None).unwrap();
    drop(session);
    agrees(&files, &path);
    let mut session = open(&files, &path);
    session.append(vec![user("other branch")], Flush::Sync).unwrap();
    let third = session.branch().unwrap()[2].id.clone();
    session.move_leaf(Some(&third), None).unwrap();
    session.move_leaf(None, None).unwrap();
    drop(session);
    agrees(&files, &path);
}

#[test]
fn a_jump_far_away_shows_nothing_rather_than_something_wrong() {
    let (files, path) = stored(2);
    let mut session = open(&files, &path);
    let first = session.branch().unwrap()[0].id.clone();
    let text = "x".repeat(1 << 20);
    session.append((0..5).map(|_| answer(&text)).collect(), Flush::Lazy).unwrap();
    session.move_leaf(Some(&first), None).unwrap();
    drop(session);
    let tail = tail(&files, &path).unwrap();
    assert_eq!((tail.entries.len(), tail.is_whole), (0, false));
}

#[test]
fn a_leaf_line_of_another_writer_counts() {
    let (files, path) = stored(3);
    let first = open(&files, &path).branch().unwrap()[0].id.clone();
    let text = text_of(&files, &path);
    for target in [json!(first), json!(null)] {
        let leaf = json!({"type": "leaf", "id": "l", "parentId": first, "targetId": target});
        files.put(&path, format!("{text}{leaf}\n"));
        agrees(&files, &path);
    }
}

#[test]
fn what_is_no_session_of_ours_has_no_tail() {
    let files = MemoryFs::new();
    let path = PathBuf::from("/sessions/x.jsonl");
    let old = json!({"type": "session", "version": 2, "id": "s"}).to_string() + "\n";
    for text in ["", "\n", "no json\n", "{\"type\":\"other\"}\n", &old] {
        files.put(&path, text);
        assert!(tail(&files, &path).is_none(), "{text:?}");
    }
    assert!(tail(&files, Path::new("/sessions/none.jsonl")).is_none());
    assert!(tail(&files, Path::new("/sessions")).is_none());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_end_of_a_file_gives_some_tail(cut in 0usize..4_000, noise in proptest::collection::vec(any::<u8>(), 0..40)) {
        let (files, path) = stored(12);
        let mut bytes = text_of(&files, &path).into_bytes();
        bytes.truncate(cut.max(bytes.len() / 4));
        bytes.extend(&noise);
        files.put(&path, bytes);
        prop_assert_eq!(tail(&files, &path).is_some(), Session::open(place(Arc::new(files.clone())), &path).is_ok());
    }

    #[test]
    fn any_walk_through_the_tree_ends_where_the_tail_says(steps in proptest::collection::vec((0usize..30, any::<bool>()), 0..30)) {
        let (files, path) = stored(3);
        let mut session = open(&files, &path);
        for (to, jumps) in steps {
            if jumps {
                let index = session.index();
                let target = index.iter().nth(to % index.len()).map(|node| node.id.clone());
                session.move_leaf(target.as_ref(), None).unwrap();
            } else {
                session.append(vec![user("q"), answer("a")], Flush::Sync).unwrap();
            }
        }
        drop(session);
        agrees(&files, &path);
    }
}
