//! The check names everything that is wrong and changes nothing; the repair loses nothing readable.

use std::path::Path;
use std::sync::Arc;

use harness_tui::ports::{Disk, FileSystem, MemoryFs};
use harness_tui::session::{
    Body, Flush, Place, Report, Session, SessionError, SessionView, repair, request_view, verify,
    view,
};
use pretty_assertions::assert_eq;

use super::copies::{calls, compaction};
use super::{answer, assert_sound, open, place, stored, text_of, told, user};

const HEADER: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"cwd\":\"/w\"}\n";
const PATH: &str = "/x.jsonl";

fn line(id: &str, parent: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    format!(
        "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":{parent},\"message\":{{\"role\":\"user\",\"content\":\"{id}\"}}}}\n"
    )
}

fn files(text: &str) -> MemoryFs {
    let files = MemoryFs::new();
    files.put(Path::new(PATH), text);
    files
}

fn report(text: &str) -> Report {
    let files = files(text);
    let report = verify(&files, Path::new(PATH)).unwrap();
    assert_eq!(text_of(&files, Path::new(PATH)), text, "checking changes nothing");
    assert_eq!(files.paths(), [Path::new(PATH)], "and leaves nothing beside it");
    report
}

fn kinds(text: &str) -> Vec<(&'static str, Option<u64>)> {
    report(text).problems.into_iter().map(|problem| (problem.kind, problem.line)).collect()
}

fn repaired(text: &str) -> (MemoryFs, Session) {
    let files = files(text);
    let place = place(Arc::new(files.clone()));
    repair(&place, Path::new(PATH), Path::new("/out.jsonl"), Path::new("/here")).unwrap();
    assert_eq!(text_of(&files, Path::new(PATH)), text, "the damaged file is not touched");
    let out = text_of(&files, Path::new("/out.jsonl"));
    assert_sound(&out);
    let left: Vec<_> = verify(&files, Path::new("/out.jsonl")).unwrap().problems;
    assert_eq!(
        left.iter()
            .filter(|problem| !problem.kind.ends_with("_call")
                && problem.kind != "call_without_result"
                && problem.kind != "target_missing"
                && problem.kind != "unreadable")
            .count(),
        0,
        "{left:?}"
    );
    let session = open(&files, Path::new("/out.jsonl"));
    (files, session)
}

#[test]
fn a_file_of_ours_has_nothing_wrong() {
    let (files, path) = stored(3);
    let report = verify(&files, &path).unwrap();
    assert_eq!((report.ok, report.entries, report.problems), (true, 3, vec![]));
}

#[test]
fn each_damage_is_named_with_its_line() {
    let a = line("a", "");
    let cases = [
        (format!("{HEADER}{a}no json\n{}", line("b", "a")), vec![("bad_line", Some(3))]),
        (format!("{HEADER}{a}{{\"type\":\"mes"), vec![("torn_tail", None)]),
        (format!("{HEADER}{a}{}", line("b", "a").trim_end()), vec![("missing_newline", None)]),
        (format!("{HEADER}{a}{a}"), vec![("duplicate_id", Some(3))]),
        (format!("{HEADER}{}", line("b", "gone")), vec![("orphan", Some(2))]),
        (format!("{HEADER}{}", line("b", "b")), vec![("self_parent", Some(2))]),
        (
            format!("{HEADER}{}{}", line("b", "c"), line("c", "b")),
            vec![("cycle", Some(2)), ("cycle", Some(3))],
        ),
        (format!("{HEADER}{}{}", line("b", "c"), line("c", "")), vec![("parent_later", Some(2))]),
        (format!("{HEADER}{HEADER}{a}"), vec![("second_header", Some(2))]),
        (format!("{HEADER}{{\"type\":\"custom\"}}\n"), vec![("no_id", Some(2))]),
        (a.clone(), vec![("no_header", None)]),
        (HEADER.replace(":3", ":9"), vec![("newer_version", Some(1))]),
        (
            format!(
                "{HEADER}{a}{{\"type\":\"label\",\"id\":\"l\",\"parentId\":\"a\",\"targetId\":\"z\",\"label\":\"x\"}}\n"
            ),
            vec![("target_missing", Some(3))],
        ),
        (
            format!(
                "{HEADER}{a}{{\"type\":\"message\",\"id\":\"b\",\"parentId\":\"a\",\"message\":5}}\n"
            ),
            vec![("unreadable", Some(3))],
        ),
    ];
    for (text, want) in cases {
        assert_eq!(kinds(&text), want, "{text}");
        assert!(!report(&text).ok);
    }
}

#[test]
fn a_compaction_that_keeps_from_a_missing_entry_or_another_branch_is_named() {
    let compaction = |kept: &str| {
        format!(
            "{{\"type\":\"compaction\",\"id\":\"k\",\"parentId\":\"a\",\"summary\":\"s\",\"firstKeptEntryId\":\"{kept}\"}}\n"
        )
    };
    let base = format!("{HEADER}{}{}", line("a", ""), line("b", "a"));
    assert_eq!(kinds(&format!("{base}{}", compaction("gone"))), [("kept_missing", Some(4))]);
    assert_eq!(kinds(&format!("{base}{}", compaction("b"))), [("kept_off_path", Some(4))]);
    assert_eq!(kinds(&format!("{base}{}", compaction("a"))), []);
    assert_eq!(kinds(&format!("{base}{}", compaction("k"))), [], "keeping none is no damage");
}

#[test]
fn calls_and_results_without_each_other_are_named() {
    let files = MemoryFs::new();
    let mut session = Session::create(place(Arc::new(files.clone())), Path::new("/work"));
    let bodies = vec![
        user("u"),
        calls(&["a", "b"]),
        super::copies::result("a"),
        answer("x"),
        super::copies::result("z"),
    ];
    session.append(bodies, Flush::Sync).unwrap();
    let report = verify(&files, session.path().unwrap()).unwrap();
    let found: Vec<_> =
        report.problems.iter().map(|problem| (problem.kind, problem.line)).collect();
    assert_eq!(found, [("call_without_result", Some(3)), ("result_without_call", Some(6))]);
    assert_eq!(report.notes.len(), 1, "it is in use: {:?}", report.notes);
}

#[test]
fn an_old_version_is_a_note_and_its_broken_lines_keep_their_numbers() {
    let v1 = "{\"type\":\"session\",\"id\":\"s\",\"cwd\":\"/w\"}\n\n{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"a\"}}\nbroken\n";
    let report = report(v1);
    assert_eq!((report.version, report.entries, report.notes.len()), (1, 1, 1));
    assert_eq!(kinds(v1), [("bad_line", Some(4))]);
}

#[test]
fn a_file_open_to_others_and_a_lock_that_is_held_are_told_and_left_as_they_are() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let on_disk = Place { root: dir.path().into(), ..place(Arc::new(Disk)) };
    let mut session = Session::create(on_disk, Path::new("/work"));
    session.append(vec![user("a")], Flush::Sync).unwrap();
    let path = session.path().unwrap().to_owned();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let lock = path.with_extension("jsonl.lock");
    let note = std::fs::read(&lock).unwrap();
    let report = verify(&Disk, &path).unwrap();
    let found: Vec<_> = report.problems.iter().map(|problem| problem.kind).collect();
    assert_eq!(found, ["wide_mode"]);
    assert!(report.notes[0].contains(&format!("process {}", std::process::id())), "{report:?}");
    drop(session);
    assert_eq!(verify(&Disk, &path).unwrap().notes, Vec::<String>::new());
    assert_eq!(std::fs::read(&lock).unwrap(), note);
    assert_eq!(Disk.facts(&path).unwrap().mode, 0o644);
}

#[test]
fn what_is_no_file_or_empty_is_an_error() {
    assert!(matches!(
        verify(&MemoryFs::new(), Path::new(PATH)),
        Err(SessionError::NotFound { .. })
    ));
    let empty = verify(&files(""), Path::new(PATH));
    assert!(matches!(empty, Err(SessionError::NotASession { .. })));
}

#[test]
fn a_line_cut_in_half_gives_its_children_back_to_its_parent() {
    let (files_, path) = stored(10);
    let text = text_of(&files_, &path);
    let cut: Vec<String> = text
        .lines()
        .enumerate()
        .map(|(n, line)| if n == 5 { line[..80].to_owned() } else { line.to_owned() })
        .collect();
    let (_, session) = repaired(&(cut.join("\n") + "\n"));
    let want: Vec<String> = (1..=10).filter(|n| *n != 5).map(|n| format!("message {n}")).collect();
    assert_eq!(told(&session), want);
}

#[test]
fn a_deleted_line_gives_its_children_to_the_entry_before_it() {
    let text = format!("{HEADER}{}{}{}", line("a", ""), line("c", "b"), line("d", "c"));
    let (_, session) = repaired(&text);
    assert_eq!(told(&session), ["a", "c", "d"]);
}

#[test]
fn doubles_circles_and_strangers_are_kept_and_the_leaf_stays() {
    let double = line("a", "").replace("\"content\":\"a\"", "\"content\":\"other\"");
    let text = format!(
        "{HEADER}{}{}{}{HEADER}{}{}broken\n{double}{}",
        line("a", ""),
        line("b", "a"),
        line("x", "y"),
        line("y", "x"),
        line("self", "self"),
        line("a", "").trim_end(),
    );
    let before =
        SessionView::read(&(Arc::new(files(&text)) as Arc<dyn FileSystem>), Path::new(PATH))
            .unwrap();
    let (files, session) = repaired(&text);
    let leaf = before.tree.leaf.and_then(|leaf| before.tree.index().node(leaf)).unwrap();
    assert_eq!(session.leaf(), Some(&leaf.id));
    let out = text_of(&files, Path::new("/out.jsonl"));
    for word in ["\"a\"}}", "\"b\"}}", "\"x\"}}", "\"y\"}}", "\"self\"}}", "\"other\"}}"] {
        assert_eq!(out.matches(word).count(), 1, "{word} in {out}");
    }
}

#[test]
fn a_lost_header_is_made_anew_and_what_is_no_session_at_all_is_refused() {
    let (_, session) = repaired(&format!("{{\"type\":\"sess\n{}", line("a", "")));
    assert_eq!((told(&session), session.header().cwd.as_str()), (vec!["a".to_owned()], "/here"));
    let files = files("hello\nworld\n");
    let place = place(Arc::new(files.clone()));
    let refused = repair(&place, Path::new(PATH), Path::new("/out.jsonl"), Path::new("/here"));
    assert!(matches!(refused, Err(SessionError::NotASession { .. })));
    assert_eq!(files.paths(), [Path::new(PATH)]);
}

#[test]
fn a_repair_writes_over_nothing() {
    let files = files(&format!("{HEADER}{}", line("a", "")));
    files.put(Path::new("/out.jsonl"), "mine");
    let place = place(Arc::new(files.clone()));
    let refused = repair(&place, Path::new(PATH), Path::new("/out.jsonl"), Path::new("/here"));
    assert!(matches!(refused, Err(SessionError::Exists { .. })));
    assert_eq!(text_of(&files, Path::new("/out.jsonl")), "mine");
}

#[test]
fn sums_count_the_branch_and_the_whole_apart() {
    let (files, path) = stored(2);
    let mut session = open(&files, &path);
    let first = session.branch().unwrap()[0].id.clone();
    let bodies = vec![user("x"), calls(&["c", "d"]), compaction(None)];
    session.append_under(Some(&first), bodies, Flush::Sync).unwrap();
    session.move_leaf(Some(&first), None).unwrap();
    let stats = session.snapshot().stats().unwrap();
    assert_eq!((stats.entries, stats.branches, stats.roots), (6, 2, 1));
    assert_eq!(stats.branch.messages.into_iter().collect::<Vec<_>>(), [("user", 1)]);
    assert_eq!(
        stats.whole.messages.into_iter().collect::<Vec<_>>(),
        [("assistant", 1), ("user", 3)]
    );
    assert_eq!(stats.whole.tool_calls.get("read"), Some(&2));
    assert_eq!((stats.branch.compactions, stats.whole.compactions), (0, 1));
}

#[test]
fn foreign_counts_never_turn_over() {
    let answer = "{\"type\":\"message\",\"id\":\"ID\",\"parentId\":null,\"message\":{\"role\":\"assistant\",\"content\":[],\"usage\":{\"input\":18446744073709551615,\"totalTokens\":18446744073709551615}}}\n";
    let text = format!("{HEADER}{}{}", answer.replace("ID", "a"), answer.replace("ID", "b"));
    let files: Arc<dyn FileSystem> = Arc::new(files(&text));
    let view = SessionView::read(&files, Path::new(PATH)).unwrap();
    assert_eq!(view.stats().unwrap().whole.usage.input, u64::MAX);
}

mod any_bytes {
    use super::*;
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    fn any_line() -> impl Strategy<Value = Vec<u8>> {
        let id = "[a-d]";
        prop_oneof![
            (id, id).prop_map(|(a, b)| line(&a, &b).into_bytes()),
            (id, id, id).prop_map(|(a, b, c)| format!("{{\"type\":\"compaction\",\"id\":\"{a}\",\"parentId\":\"{b}\",\"summary\":\"s\",\"firstKeptEntryId\":\"{c}\"}}\n").into_bytes()),
            (id, id).prop_map(|(a, b)| format!("{{\"type\":\"leaf\",\"id\":\"{a}\",\"parentId\":\"{b}\",\"targetId\":\"{b}\"}}\n").into_bytes()),
            (id, id).prop_map(|(a, b)| format!("{{\"type\":\"custom\",\"customType\":\"harness-tui.leaf\",\"id\":\"{a}\",\"parentId\":\"{b}\"}}\n").into_bytes()),
            (id, id).prop_map(|(a, b)| format!("{{\"type\":\"message\",\"id\":\"{a}\",\"parentId\":\"{b}\",\"mess\n").into_bytes()),
            id.prop_map(|a| format!("{{\"type\":\"custom\",\"parentId\":\"{a}\"}}\n").into_bytes()),
            Just(HEADER.as_bytes().to_vec()),
            prop::collection::vec(any::<u8>(), 0..12),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn any_file_is_checked_and_repaired_into_one_with_sound_links_and_the_same_leaf(
            lines in prop::collection::vec(any_line(), 0..14)
        ) {
            let mut bytes = HEADER.as_bytes().to_vec();
            bytes.extend(lines.concat());
            let files = MemoryFs::new();
            files.put(Path::new(PATH), bytes.clone());
            let place = place(Arc::new(files.clone()));
            verify(&files, Path::new(PATH)).unwrap();
            let source: Arc<dyn FileSystem> = Arc::new(files.clone());
            let before = SessionView::read(&source, Path::new(PATH)).unwrap();
            let leaf = before.tree.leaf.and_then(|leaf| before.tree.index().node(leaf)).map(|node| node.id.clone());
            let done = repair(&place, Path::new(PATH), Path::new("/out.jsonl"), Path::new("/here")).unwrap();
            prop_assert_eq!(files.read(Path::new(PATH)).unwrap(), bytes);
            let out = files.read(Path::new("/out.jsonl")).unwrap();
            assert_sound(&String::from_utf8_lossy(&out));
            let mut session = open(&files, Path::new("/out.jsonl"));
            prop_assert!(session.index().len() >= before.tree.index().len());
            prop_assert!(done.entries <= session.index().len());
            // Where nothing could be read nobody knows where the leaf was.
            if !before.tree.index().is_empty() {
                prop_assert_eq!(session.leaf(), leaf.as_ref());
            }
            view::check(&request_view(&session.context().unwrap())).unwrap();
            for node in before.tree.index().iter() {
                prop_assert!(session.index().position(&node.id).is_some());
            }
        }
    }

    #[test]
    fn bodies_are_written_as_they_are() {
        let text = format!("{HEADER}{}", line("a", "").replace("\"type\"", "\"x\":1.50,\"type\""));
        let (files, session) = repaired(&text);
        assert_eq!(text_of(&files, Path::new("/out.jsonl")).lines().nth(1), text.lines().nth(1));
        assert!(matches!(session.branch().unwrap()[0].body, Body::Message { .. }));
    }
}
