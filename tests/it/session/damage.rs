//! Files that are torn, broken, foreign or old: reading never mends, the first append does.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use harness_tui::ports::{FileSystem, MemoryFs};
use harness_tui::session::{Flush, Session, SessionError, list};
use pretty_assertions::assert_eq;

use super::{assert_sound, open, place, stored, text_of, told, user};

fn notices(session: &mut Session) -> Vec<String> {
    session.take_notices().into_iter().map(|notice| notice.text).collect()
}

fn torn_files(files: &MemoryFs) -> Vec<PathBuf> {
    let is_torn = |path: &PathBuf| path.to_string_lossy().contains(".torn-");
    files.paths().into_iter().filter(is_torn).collect()
}

#[test]
fn a_torn_last_line_is_left_alone_by_reading_and_set_aside_by_the_first_append() {
    for piece in
        [b"{\"type\":\"message\",\"id\":\"x\",\"te".as_slice(), b"{\"a\":\"caf\xc3", b"\0\0\0\0"]
    {
        let (files, path) = stored(2);
        let good = text_of(&files, &path);
        files.push(&path, piece);
        let whole = files.read(&path).unwrap();

        let mut session = open(&files, &path);
        assert_eq!(told(&session), ["message 1", "message 2"]);
        assert_eq!(notices(&mut session).len(), 1);
        assert_eq!(list(&files, Path::new("/sessions"), None).len(), 1);
        assert_eq!(files.read(&path).unwrap(), whole, "reading changed nothing");

        session.append(vec![user("next")], Flush::Sync).unwrap();
        let text = text_of(&files, &path);
        assert!(text.starts_with(&good));
        assert_sound(&text);
        let aside = torn_files(&files);
        assert_eq!(aside.len(), 1);
        assert_eq!(files.read(&aside[0]).unwrap(), piece);
        drop(session);
        let mut again = open(&files, &path);
        assert_eq!(told(&again), ["message 1", "message 2", "next"]);
        assert_eq!(notices(&mut again), Vec::<String>::new());
    }
}

#[test]
fn what_is_set_aside_and_what_is_rewritten_is_private_too() {
    use std::os::unix::fs::PermissionsExt;
    let whole = "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"cwd\":\"/w\"}\n";
    let old = "{\"type\":\"session\",\"id\":\"s\",\"cwd\":\"/w\"}\n";
    let said = "{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"a\"}}\n";
    for text in [format!("{whole}{{\"type\":\"mes"), format!("{old}{said}{{\"type\":\"mes")] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.jsonl");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let mut session = Session::open(place(Arc::new(harness_tui::ports::Disk)), &path).unwrap();
        session.append(vec![user("next")], Flush::Sync).unwrap();
        let mut names = Vec::new();
        for entry in std::fs::read_dir(dir.path()).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().to_string_lossy().into_owned();
            assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{name}");
            names.push(name);
        }
        assert!(names.iter().any(|name| name.contains(".torn-")), "{names:?}");
    }
}

#[test]
fn a_complete_last_line_without_newline_is_kept_and_gets_one() {
    let (files, path) = stored(2);
    let good = text_of(&files, &path);
    let cut = good.strip_suffix('\n').unwrap();
    files.put(&path, cut);
    let mut session = open(&files, &path);
    assert_eq!(told(&session), ["message 1", "message 2"]);
    assert_eq!(text_of(&files, &path), cut, "reading changed nothing");
    session.append(vec![user("next")], Flush::Sync).unwrap();
    assert!(text_of(&files, &path).starts_with(&good));
    assert_sound(&text_of(&files, &path));
    assert_eq!(torn_files(&files), Vec::<PathBuf>::new());
    drop(session);
    assert_eq!(told(&open(&files, &path)), ["message 1", "message 2", "next"]);
}

#[test]
fn a_broken_line_in_the_middle_is_named_and_what_follows_is_a_recovered_branch() {
    let (files, path) = stored(10);
    let text = text_of(&files, &path);
    let lines: Vec<&str> = text.lines().collect();
    let cut: Vec<String> = lines
        .iter()
        .enumerate()
        .map(|(n, line)| if n == 5 { line[..40].to_owned() } else { (*line).to_owned() })
        .collect();
    files.put(&path, cut.join("\n") + "\n");
    let mut session = open(&files, &path);
    let said = notices(&mut session);
    assert_eq!(said.len(), 2);
    assert!(said[0].starts_with("line 6 could not be read"), "{said:?}");
    assert!(said[1].contains("line 7"), "{said:?}");
    assert_eq!(told(&session), ["message 6", "message 7", "message 8", "message 9", "message 10"]);
    let recovered: Vec<bool> = session.index().iter().map(|node| node.recovered).collect();
    assert_eq!(recovered.iter().filter(|recovered| **recovered).count(), 1);
    assert!(recovered[4]);
    session.append(vec![user("next")], Flush::Sync).unwrap();
    assert!(text_of(&files, &path).contains(&cut[5]), "the bad line stays");
}

#[test]
fn a_deleted_line_in_the_middle_loses_only_itself() {
    let (files, path) = stored(10);
    let text = text_of(&files, &path);
    let kept: Vec<&str> =
        text.lines().enumerate().filter(|(n, _)| *n != 5).map(|(_, l)| l).collect();
    files.put(&path, kept.join("\n") + "\n");
    let mut session = open(&files, &path);
    assert_eq!(notices(&mut session).len(), 1);
    assert_eq!(session.index().len(), 9);
    assert_eq!(told(&session).len(), 5);
}

#[test]
fn what_is_no_session_is_refused_and_not_touched() {
    for bytes in [
        "garbage".as_bytes(),
        b"\n\n",
        b"{\"type\":\"message\",\"id\":\"a\"}\n{\"type\":\"session\",\"id\":\"s\"}\n",
        b"{\"type\":\"session\",\"id\":5}\n",
        b"[1]\n",
        b"\xff\xfe\x00",
    ] {
        let files = MemoryFs::new();
        files.put(Path::new("/x.jsonl"), bytes);
        let refused = Session::open(place(Arc::new(files.clone())), Path::new("/x.jsonl"));
        assert!(matches!(refused, Err(SessionError::NotASession { .. })), "{bytes:?}");
        assert_eq!(files.read(Path::new("/x.jsonl")).unwrap(), bytes);
        assert_eq!(files.paths(), [Path::new("/x.jsonl")], "no lock is left beside it");
    }
}

#[test]
fn circles_and_doubles_in_a_foreign_file_end_nowhere_endless() {
    let text = concat!(
        "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"cwd\":\"/w\"}\n",
        "{\"type\":\"custom\",\"id\":\"a\",\"parentId\":\"b\"}\n",
        "{\"type\":\"custom\",\"id\":\"b\",\"parentId\":\"a\"}\n",
        "{\"type\":\"custom\",\"id\":\"a\",\"parentId\":\"b\"}\n",
        "{\"type\":\"custom\",\"id\":\"c\",\"parentId\":\"c\"}\n",
    );
    let files = MemoryFs::new();
    files.put(Path::new("/x.jsonl"), text);
    let mut session = open(&files, Path::new("/x.jsonl"));
    assert_eq!(session.index().len(), 3);
    assert_eq!(session.branch().unwrap().len(), 1, "its own parent makes a root");
    assert_eq!(session.branch_to(&"b".into()).unwrap().len(), 2);
    assert_eq!(notices(&mut session).len(), 2);
}

#[test]
fn an_old_file_is_migrated_in_memory_and_rewritten_only_by_the_first_append() {
    let v1 = concat!(
        "{\"type\":\"session\",\"id\":\"s\",\"timestamp\":\"2026-01-01T00:00:00Z\",\"cwd\":\"/w\"}\n",
        "{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"a\"}}\n",
        "{\"type\":\"message\",\"message\":{\"role\":\"hookMessage\",\"customType\":\"h\",\"content\":\"b\"}}\n",
        "{\"type\":\"mess",
    );
    let files = MemoryFs::new();
    files.put(Path::new("/x.jsonl"), v1);
    let session = open(&files, Path::new("/x.jsonl"));
    assert_eq!(told(&session), ["a", "b"]);
    assert_eq!(text_of(&files, Path::new("/x.jsonl")), v1);
    let ids: Vec<_> = session.branch().unwrap().iter().map(|entry| entry.id.clone()).collect();
    drop(session);
    let mut session = open(&files, Path::new("/x.jsonl"));
    let again: Vec<_> = session.branch().unwrap().iter().map(|entry| entry.id.clone()).collect();
    assert_eq!(again, ids, "the ids are the same each time");
    session.append(vec![user("c")], Flush::Sync).unwrap();
    assert_eq!(torn_files(&files).len(), 1);
    assert_sound(&text_of(&files, Path::new("/x.jsonl")));
    drop(session);
    let mut session = open(&files, Path::new("/x.jsonl"));
    assert_eq!(told(&session), ["a", "b", "c"]);
    assert_eq!((session.header().version, notices(&mut session)), (3, vec![]));
}

#[test]
fn a_newer_version_is_read_but_not_written() {
    let text = "{\"type\":\"session\",\"version\":9,\"id\":\"s\",\"cwd\":\"/w\"}\n{\"type\":\"custom\",\"id\":\"a\",\"parentId\":null}\n";
    let files = MemoryFs::new();
    files.put(Path::new("/x.jsonl"), text);
    let mut session = open(&files, Path::new("/x.jsonl"));
    assert_eq!(session.index().len(), 1);
    let refused = session.append(vec![user("x")], Flush::Sync);
    assert!(matches!(refused, Err(SessionError::ReadOnly { .. })));
    assert_eq!(text_of(&files, Path::new("/x.jsonl")), text);
}

mod any_bytes {
    use super::*;
    use proptest::prelude::*;

    fn line() -> impl Strategy<Value = Vec<u8>> {
        let id = "[abc]";
        prop_oneof![
            (id, id).prop_map(|(id, parent)| {
                format!("{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":\"{parent}\",\"message\":{{\"role\":\"user\",\"content\":\"x\"}}}}\n").into_bytes()
            }),
            (id, id).prop_map(|(id, target)| format!("{{\"type\":\"leaf\",\"id\":\"{id}\",\"targetId\":\"{target}\"}}\n").into_bytes()),
            (id, id).prop_map(|(id, parent)| format!("{{\"type\":\"custom\",\"customType\":\"harness-tui.leaf\",\"id\":\"{id}\",\"parentId\":\"{parent}\"}}\n").into_bytes()),
            prop::collection::vec(any::<u8>(), 0..12),
            "[\\[\\]{}\":,a-c\\\\ ]{0,16}\n".prop_map(String::into_bytes),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn any_file_opens_and_takes_an_append_that_is_there_after_opening_again(
            lines in prop::collection::vec(line(), 0..12)
        ) {
            let files = MemoryFs::new();
            let path = Path::new("/x.jsonl");
            let mut bytes = b"{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"cwd\":\"/w\"}\n".to_vec();
            bytes.extend(lines.concat());
            files.put(path, bytes.clone());
            let mut session = open(&files, path);
            prop_assert_eq!(files.read(path).unwrap(), bytes);
            let parent = session.leaf().cloned();
            let entry = session.append(vec![user("next")], Flush::Sync).unwrap().remove(0);
            prop_assert_eq!(&entry.parent_id, &parent);
            let (branch, context) = (session.branch().unwrap(), session.context().unwrap());
            let nodes: Vec<_> = session.index().iter().cloned().collect();
            drop(session);
            let mut again = open(&files, path);
            prop_assert_eq!(again.index().iter().cloned().collect::<Vec<_>>(), nodes);
            prop_assert_eq!(again.branch().unwrap(), branch);
            prop_assert_eq!(again.context().unwrap(), context);
        }
    }
}
