//! The tree: parents, leaf moves, labels, names, and size.

use std::path::Path;
use std::sync::Arc;

use harness_tui::message::EntryId;
use harness_tui::ports::{FixedClock, MemoryFs};
use harness_tui::session::{Body, Flush, Kind, Session, SessionError};
use pretty_assertions::assert_eq;

use super::{NOW, answer, model, open, place, stored, text_of, told, user};

fn session() -> (MemoryFs, Session) {
    let files = MemoryFs::new();
    let session = Session::create(place(Arc::new(files.clone())), Path::new("/work"));
    (files, session)
}

#[test]
fn every_entry_hangs_under_the_leaf_and_becomes_it() {
    let (_, mut session) = session();
    session.append(vec![model("x")], Flush::Lazy).unwrap();
    session.append(vec![user("a"), answer("b")], Flush::Sync).unwrap();
    let first = session.branch().unwrap()[1].id.clone();
    session.set_label(&first, Some("here")).unwrap();
    session
        .append(vec![Body::Custom { custom_type: "x".into(), data: None }], Flush::Lazy)
        .unwrap();
    let branch = session.branch().unwrap();
    let mut parent: Option<EntryId> = None;
    for entry in &branch {
        assert_eq!(entry.parent_id, parent);
        parent = Some(entry.id.clone());
    }
    assert_eq!(branch.len(), 5);
    assert_eq!(session.leaf(), parent.as_ref());
}

#[test]
fn a_jump_survives_closing_and_the_next_entry_is_a_child_of_its_target() {
    let (files, path) = stored(3);
    let mut session = open(&files, &path);
    let first = session.branch().unwrap()[0].id.clone();
    session.move_leaf(Some(&first), Some("navigate")).unwrap();
    assert_eq!(session.leaf(), Some(&first));
    assert_eq!(told(&session), ["message 1"]);
    drop(session);
    let mut session = open(&files, &path);
    assert_eq!(session.leaf(), Some(&first));
    session.append(vec![user("other")], Flush::Sync).unwrap();
    assert_eq!(told(&session), ["message 1", "other"]);
    assert_eq!(session.branch().unwrap()[1].parent_id, Some(first));
}

#[test]
fn moving_to_where_the_leaf_is_writes_nothing() {
    let (files, path) = stored(2);
    let mut session = open(&files, &path);
    let first = session.branch().unwrap()[0].id.clone();
    session.move_leaf(Some(&first), None).unwrap();
    let before = text_of(&files, &path);
    session.move_leaf(Some(&first), None).unwrap();
    let marker =
        session.index().iter().find(|node| node.kind == Kind::LeafMarker).unwrap().id.clone();
    session.move_leaf(Some(&marker), None).unwrap();
    assert_eq!(text_of(&files, &path), before);
}

#[test]
fn moving_before_the_first_entry_makes_a_second_root() {
    let (files, path) = stored(2);
    let mut session = open(&files, &path);
    session.move_leaf(None, None).unwrap();
    assert_eq!((session.leaf(), session.branch().unwrap().len()), (None, 0));
    drop(session);
    let mut session = open(&files, &path);
    assert_eq!(session.leaf(), None);
    session.append(vec![user("root")], Flush::Sync).unwrap();
    assert_eq!(session.branch().unwrap()[0].parent_id, None);
    assert_eq!(told(&session), ["root"]);
}

#[test]
fn an_unknown_target_is_refused() {
    let (files, path) = stored(1);
    let mut session = open(&files, &path);
    let nobody = EntryId::from("nobody");
    let before = text_of(&files, &path);
    assert!(matches!(
        session.move_leaf(Some(&nobody), None),
        Err(SessionError::UnknownEntry { .. })
    ));
    assert!(matches!(session.set_label(&nobody, None), Err(SessionError::UnknownEntry { .. })));
    assert!(matches!(session.entry(&nobody), Err(SessionError::UnknownEntry { .. })));
    assert_eq!(text_of(&files, &path), before);
}

#[test]
fn a_leaf_line_at_the_end_means_its_target_and_one_in_the_middle_is_a_node() {
    let (files, path) = stored(3);
    let ids: Vec<EntryId> =
        open(&files, &path).branch().unwrap().iter().map(|entry| entry.id.clone()).collect();
    let leaf = |id: &str, parent: &EntryId, target: &str| {
        format!(
            "{{\"type\":\"leaf\",\"id\":\"{id}\",\"parentId\":\"{parent}\",\"targetId\":{target}}}\n"
        )
    };
    files.push(&path, leaf("l1", &ids[2], &format!("\"{}\"", ids[0])).as_bytes());
    assert_eq!(open(&files, &path).leaf(), Some(&ids[0]));
    files.push(&path, leaf("l2", &ids[2], "null").as_bytes());
    assert_eq!(open(&files, &path).leaf(), None);
    files.push(&path, leaf("l3", &ids[2], "\"gone\"").as_bytes());
    assert_eq!(open(&files, &path).leaf(), None, "an unknown target moves nothing");
    let next = format!("{{\"type\":\"custom\",\"id\":\"n\",\"parentId\":\"{}\"}}\n", ids[1]);
    files.push(&path, next.as_bytes());
    let session = open(&files, &path);
    assert_eq!(session.leaf(), Some(&"n".into()));
    assert_eq!(session.index().len(), 7);
}

#[test]
fn labels_belong_to_the_session_and_the_last_in_the_file_wins() {
    let (files, path) = stored(2);
    let mut session = open(&files, &path);
    let ids: Vec<EntryId> = session.branch().unwrap().iter().map(|e| e.id.clone()).collect();
    session.set_label(&ids[0], Some("one")).unwrap();
    session.set_label(&ids[1], Some("gone")).unwrap();
    session.move_leaf(Some(&ids[0]), None).unwrap();
    session.set_label(&ids[0], Some(" two ")).unwrap();
    session.set_label(&ids[1], Some(" ")).unwrap();
    let labels = |session: &Session| -> Vec<(EntryId, String)> {
        session.labels().iter().map(|(id, label)| (id.clone(), label.to_string())).collect()
    };
    let want = vec![(ids[0].clone(), "two".to_owned())];
    assert_eq!(labels(&session), want);
    drop(session);
    assert_eq!(labels(&open(&files, &path)), want);
}

#[test]
fn the_last_name_in_the_file_counts_and_an_empty_one_clears_it() {
    let (files, path) = stored(1);
    let mut session = open(&files, &path);
    session.set_name("one").unwrap();
    session.set_name("two").unwrap();
    assert_eq!(session.name(), Some("two"));
    session.set_name(" ").unwrap();
    assert_eq!(session.name(), None);
    drop(session);
    assert_eq!(open(&files, &path).name(), None);
}

#[test]
fn an_index_taken_before_an_append_stays_as_it_was() {
    let mut session = Session::in_memory(Arc::new(FixedClock(NOW)), Path::new("/work"));
    session.append(vec![user("a  line\nand more")], Flush::Sync).unwrap();
    let before = session.index();
    session.append(vec![answer("b")], Flush::Sync).unwrap();
    assert_eq!((before.len(), session.index().len()), (1, 2));
    assert_eq!(&*before.node(0).unwrap().preview, "a line and more");
}

#[test]
fn a_reader_shows_the_tree_as_it_was_while_the_session_grows() {
    let mut session = Session::in_memory(Arc::new(FixedClock(NOW)), Path::new("/work"));
    let unborn = session.append(vec![model("x")], Flush::Lazy).unwrap();
    let early = session.reader();
    session.append(vec![user("a"), answer("b")], Flush::Sync).unwrap();
    let reader = session.reader();
    let branch = session.branch().unwrap();
    session.append(vec![user("c")], Flush::Sync).unwrap();
    assert_eq!(early.entries(&[0]).unwrap(), unborn);
    assert_eq!(reader.entries(&[0, 1, 2]).unwrap(), branch);
    assert_eq!(reader.entry(&branch[2].id).unwrap(), branch[2]);
    assert!(matches!(reader.entries(&[3]), Err(SessionError::Changed { .. })));
    let newest = session.leaf().unwrap();
    assert!(matches!(reader.entry(newest), Err(SessionError::UnknownEntry { .. })));
}

#[test]
fn sessions_and_readers_can_be_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Session>();
    shared::<harness_tui::session::Reader>();
}

#[test]
fn a_summary_of_a_branch_hangs_where_it_is_told_to() {
    let (files, path) = stored(3);
    let mut session = open(&files, &path);
    let first = session.branch().unwrap()[0].id.clone();
    let summary = |from: &EntryId| Body::BranchSummary {
        from_id: from.to_string(),
        summary: "left".into(),
        details: None,
        usage: None,
        from_hook: None,
    };
    let left = session.leaf().unwrap().clone();
    let entry = session.append_under(Some(&first), vec![summary(&left)], Flush::Sync).unwrap();
    assert_eq!((entry[0].parent_id.as_ref(), session.leaf()), (Some(&first), Some(&entry[0].id)));
    let root = session.append_under(None, vec![summary(&left)], Flush::Sync).unwrap();
    assert_eq!((root[0].parent_id.as_ref(), session.branch().unwrap().len()), (None, 1));
}

#[test]
fn a_chain_of_100_000_entries_opens_and_goes_on() {
    const COUNT: usize = 100_000;
    let mut text =
        "{\"type\":\"session\",\"version\":3,\"id\":\"big\",\"cwd\":\"/w\"}\n".to_owned();
    for n in 0..COUNT {
        let parent = if n == 0 { "null".to_owned() } else { format!("\"e{}\"", n - 1) };
        text.push_str(&format!(
            "{{\"type\":\"message\",\"id\":\"e{n}\",\"parentId\":{parent},\"message\":{{\"role\":\"user\",\"content\":\"m{n}\"}}}}\n"
        ));
    }
    let files = MemoryFs::new();
    files.put(Path::new("/s/big.jsonl"), text);
    let mut session = open(&files, Path::new("/s/big.jsonl"));
    assert_eq!(session.index().len(), COUNT);
    assert_eq!(session.branch().unwrap().len(), COUNT);
    assert_eq!(session.context().unwrap().messages.len(), COUNT);
    let first = EntryId::from("e0");
    session.append(vec![user("last")], Flush::Sync).unwrap();
    assert_eq!(session.context().unwrap().messages.len(), COUNT + 1);
    for n in 0..10_000 {
        session.append_under(Some(&first), vec![user(&n.to_string())], Flush::Lazy).unwrap();
    }
    assert_eq!(told(&session), ["m0", "9999"]);
    assert_eq!(session.index().len(), COUNT + 10_001);
}
