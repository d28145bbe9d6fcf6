//! Files as other programs of the format write them: read as they mean it, and what they do to ours.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use harness_tui::message::{Message, Part};
use harness_tui::ports::MemoryFs;
use harness_tui::session::journal::{QueueKind, Record};
use harness_tui::session::{CopyPoint, Flush, Session, repair};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::asked::bench;
use super::copies::calls;
use super::{assert_sound, open, place, text_of, user};
use crate::support::engine::Bench;

const PATH: &str = "/x.jsonl";

const V1: &str = r#"{"type":"session","id":"one","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}
{"type":"model_change","timestamp":"2026-01-01T00:00:00.000Z","provider":"p","modelId":"m"}
{"type":"message","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"one","timestamp":1}}
{"type":"message","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"a1"}],"provider":"p","model":"m","stopReason":"stop","timestamp":2}}
{"type":"message","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"user","content":"two","timestamp":3}}
{"type":"compaction","timestamp":"2026-01-01T00:00:04.000Z","summary":"sum","firstKeptEntryIndex":4,"tokensBefore":9}
{"type":"message","timestamp":"2026-01-01T00:00:05.000Z","message":{"role":"user","content":"three","timestamp":5}}
"#;

const V2: &str = r#"{"type":"session","version":2,"id":"two","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}
{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"one","timestamp":1}}
{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"hookMessage","customType":"h","content":"hook","display":true,"timestamp":2}}
{"type":"message","id":"c","parentId":"b","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"user","content":"other","timestamp":3}}
"#;

const V3: &str = r#"{"type":"session","version":3,"id":"three","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}
{"type":"model_change","id":"m","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","provider":"p","modelId":"m"}
{"type":"message","id":"a","parentId":"m","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"one","timestamp":1}}
{"type":"label","id":"l","parentId":"a","timestamp":"2026-01-01T00:00:02.000Z","targetId":"a","label":"L"}
{"type":"message","id":"b","parentId":"l","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"assistant","content":[{"type":"text","text":"a1"}],"provider":"q","model":"n","stopReason":"stop","timestamp":3}}
{"type":"branch_summary","id":"s","parentId":"a","timestamp":"2026-01-01T00:00:05.000Z","fromId":"b","summary":"left"}
{"type":"context_edit","id":"e","parentId":"s","timestamp":"2026-01-01T00:00:07.000Z","targetId":"a","replacement":{"content":"ONE"}}
"#;

fn files(text: &str) -> MemoryFs {
    let files = MemoryFs::new();
    files.put(Path::new(PATH), text);
    files
}

/// What a model would be told.
fn said(session: &mut Session) -> Vec<String> {
    session.context().unwrap().messages.iter().map(|(_, message)| message.text()).collect()
}

fn copy(files: &MemoryFs, session: &Session, what: &CopyPoint) -> PathBuf {
    let place = place(Arc::new(files.clone()));
    session.snapshot().copy(&place, what, Path::new("/w")).unwrap().path
}

#[test]
fn files_of_every_version_say_the_same_here_and_in_every_copy() {
    let cases: [(&str, &[&str]); 3] =
        [(V1, &["sum", "two", "three"]), (V2, &["one", "hook", "other"]), (V3, &["ONE", "left"])];
    for (text, want) in cases {
        let files = files(text);
        let mut session = open(&files, Path::new(PATH));
        assert_eq!(said(&mut session), want);
        for what in [CopyPoint::Leaf, CopyPoint::Tree] {
            let copied = copy(&files, &session, &what);
            assert_sound(&text_of(&files, &copied));
            assert_eq!(said(&mut open(&files, &copied)), want, "{what:?}");
        }
        assert_eq!(text_of(&files, Path::new(PATH)), text);
    }
}

#[test]
fn a_copy_of_a_file_that_ends_with_a_leaf_line_stands_where_it_points_for_every_reader() {
    let leaf = r#"{"type":"leaf","id":"lf","parentId":"e","timestamp":"2026-01-01T00:00:09.000Z","targetId":"a"}"#;
    let files = files(&format!("{V3}{leaf}\n"));
    let mut session = open(&files, Path::new(PATH));
    assert_eq!(said(&mut session), ["one"]);
    let copied = copy(&files, &session, &CopyPoint::Tree);
    assert_eq!(open(&files, &copied).leaf(), session.leaf());
    // Readers that know no leaf lines take the last line: it hangs where the leaf is.
    let text = text_of(&files, &copied);
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!((&last["type"], &last["parentId"]), (&json!("custom"), &json!("a")));
    assert!(!text.contains("\"type\":\"leaf\""), "{text}");
}

#[test]
fn a_leaf_line_in_the_middle_leaves_no_hole_in_a_copy() {
    let more = concat!(
        r#"{"type":"leaf","id":"lf","parentId":"e","timestamp":"2026-01-01T00:00:09.000Z","targetId":"a"}"#,
        "\n",
        r#"{"type":"message","id":"z","parentId":"lf","timestamp":"2026-01-01T00:00:10.000Z","message":{"role":"user","content":"below the line","timestamp":10}}"#,
        "\n",
    );
    let files = files(&format!("{V3}{more}"));
    let mut session = open(&files, Path::new(PATH));
    let copied = copy(&files, &session, &CopyPoint::Tree);
    assert_sound(&text_of(&files, &copied));
    assert_eq!(said(&mut open(&files, &copied)), said(&mut session));
}

#[test]
fn a_new_header_over_lines_of_version_one_is_repaired_into_one_conversation() {
    // Some programs copy old lines under a new header and leave them unmigrated.
    let text = V1.replacen("\"type\":\"session\"", "\"type\":\"session\",\"version\":3", 1);
    let files = files(&text);
    let place = place(Arc::new(files.clone()));
    repair(&place, Path::new(PATH), Path::new("/out.jsonl"), Path::new("/w")).unwrap();
    assert_sound(&text_of(&files, Path::new("/out.jsonl")));
    let mut session = open(&files, Path::new("/out.jsonl"));
    assert_eq!(super::told(&session), ["one", "a1", "two", "three"]);
    assert_eq!(said(&mut session), ["sum", "three"]);
}

/// A session of ours with a turn under way and a message that waits, then a copy that another
/// program made: a new header over the same lines.
fn their_copy(files: &MemoryFs, made: &Bench) -> PathBuf {
    let mut session = Session::create(made.place(), Path::new("/work"));
    let started = Record::Started {
        turn: "t".into(),
        session: session.id().clone(),
        idempotency_key: None,
        parent: None,
        depth: 0,
        options: serde_json::Map::new(),
    };
    let queued = Record::Queued {
        id: "q".into(),
        session: session.id().clone(),
        kind: QueueKind::NextTurn,
        message: Message::user("waits", 0),
    };
    let bodies = vec![user("run"), started.body(), calls(&["c"]), queued.body()];
    session.append(bodies, Flush::Sync).unwrap();
    let path = session.path().unwrap().to_owned();
    let text = text_of(files, &path);
    drop(session);
    let (_, lines) = text.split_once('\n').unwrap();
    let header = r#"{"type":"session","version":3,"id":"theirs","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/work"}"#;
    let copy = path.with_file_name("theirs.jsonl");
    files.put(&copy, format!("{header}\n{lines}"));
    copy
}

#[tokio::test]
async fn a_copy_another_program_made_revives_no_turn_and_no_waiting_message() {
    let (files, made) = bench(vec![]);
    let path = their_copy(&files, &made);
    let before = text_of(&files, &path);
    let mut engine = made.reopened(&path);
    let snapshot = engine.handle.snapshot().await.unwrap();
    assert!(snapshot.queue.is_empty(), "{snapshot:?}");
    let after = text_of(&files, &path);
    assert!(!after[before.len()..].contains("\"finished\""), "nothing was settled: {after}");
    engine.turn("go on").await;
    let request = made.player.requests.lock().unwrap().remove(0);
    let texts: Vec<String> = request.messages.iter().map(|message| message.text()).collect();
    assert_eq!((texts[0].as_str(), texts.last().unwrap().as_str()), ("run", "go on"));
    assert!(!texts.contains(&"waits".to_owned()));
    assert!(matches!(&*request.messages[1], Message::Assistant(answer)
        if matches!(answer.content[0], Part::ToolCall(_))));
}
