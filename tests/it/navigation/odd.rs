//! Odd files and odd moments: other line ends, strange ids, huge lines, targets that are no message.

use std::path::{Path, PathBuf};

use harness_tui::harness::{
    Command, Compaction, ErrorCode, Event, ExportFormat, ForkPoint, Phase, Reply, Scope, Shelf,
    Summary,
};
use harness_tui::message::EntryId;
use harness_tui::policy::Decision;
use harness_tui::ports::MemoryFs;
use harness_tui::session::{Body, verify};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::{generated, go, id_of, leaf, path, requests};
use crate::support::engine::{Bench, Engine, Step};

fn bench(steps: Vec<Step>) -> Bench {
    let compaction =
        Compaction { reserve_tokens: 10_000, keep_recent_tokens: 8, ..Compaction::default() };
    Bench { compaction, ..Bench::new(steps) }
}

fn compact(up_to: Option<EntryId>) -> Command {
    Command::Compact { instructions: None, up_to }
}

/// A session of these entries, each under the one before.
fn stored(ids: &[&str], texts: &[String], end: &str) -> (Bench, MemoryFs, PathBuf) {
    let header = json!({"type": "session", "version": 3, "id": "odd", "cwd": "/work"});
    let mut text = format!("{header}{end}");
    let mut parent = Value::Null;
    for (at, (id, said)) in ids.iter().zip(texts).enumerate() {
        let message = match at % 2 {
            0 => json!({"role": "user", "content": said, "timestamp": 1}),
            _ => json!({
                "role": "assistant", "content": [{"type": "text", "text": said}], "api": "test",
                "provider": "test", "model": "m", "stopReason": "stop", "timestamp": 1,
            }),
        };
        let entry = json!({
            "type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:00.000Z",
            "message": message,
        });
        text.push_str(&format!("{entry}{end}"));
        parent = json!(id);
    }
    let files = MemoryFs::new();
    let file = PathBuf::from("/sessions/--work--/odd.jsonl");
    files.put(&file, text);
    let mut bench = bench(vec![]);
    bench.files = std::sync::Arc::new(files.clone());
    (bench, files, file)
}

async fn forked(engine: &Engine, at: ForkPoint) -> PathBuf {
    let Reply::Written { path, .. } = engine.send(Command::Fork { at }).await.unwrap() else {
        panic!("no copy")
    };
    path
}

fn sound(bench: &Bench, file: &Path) {
    let report = verify(bench.files.as_ref(), file).unwrap();
    let wrong = report.problems.iter().filter(|it| it.kind != "call_without_result");
    assert_eq!(wrong.map(|it| &*it.text).collect::<Vec<_>>(), Vec::<&str>::new());
}

/// Everything one can do with a session, once.
async fn walked(bench: &Bench, file: &Path, target: &str) {
    let before = bench.files.read(file).unwrap();
    let mut engine = bench.reopened(file);
    engine.turn("and now").await;
    let target: EntryId = target.into();
    engine
        .send(Command::SetLabel { target: target.clone(), label: Some("here".into()) })
        .await
        .unwrap();
    engine.send(go(&target, generated(None, false))).await.unwrap();
    engine.turn("on").await;
    let from = id_of(&engine, "and now").await;
    engine.send(Command::Merge { from, summary: Summary::Own("words".into()) }).await.unwrap();
    engine.turn("more which is long enough to be kept alone").await;
    engine.send(compact(None)).await.unwrap();
    engine.turn("last").await;
    for at in [ForkPoint::Tree, ForkPoint::Leaf, ForkPoint::At(target.clone())] {
        let copy = forked(&engine, at).await;
        sound(bench, &copy);
        bench.reopened(&copy).turn("there").await;
    }
    for format in [ExportFormat::Html, ExportFormat::Markdown, ExportFormat::JsonlBranch] {
        let to = Some(bench.state.path().join(format!("{target:?}{format:?}").replace('/', "_")));
        engine.send(Command::Export { format, to }).await.unwrap();
    }
    let here = leaf(&engine).await;
    engine.handle.close().await;
    assert!(bench.files.read(file).unwrap().starts_with(&before), "old bytes stay");
    assert_eq!(leaf(&bench.reopened(file)).await, here);
    sound(bench, file);
}

#[tokio::test]
async fn a_file_with_windows_line_ends_is_walked_like_any_other() {
    let texts = ["one".to_owned(), "two".to_owned()];
    let (bench, _, file) = stored(&["a", "b"], &texts, "\r\n");
    walked(&bench, &file, "b").await;
}

#[tokio::test]
async fn ids_are_only_names() {
    let texts = ["one".to_owned(), "two".to_owned()];
    for id in ["../../etc", "a b\"c\\", "</script>", "\u{1b}[2J", "é\u{2028}", "root", "null", "%s"]
    {
        let (bench, _, file) = stored(&["first", id], &texts, "\n");
        walked(&bench, &file, id).await;
    }
}

#[tokio::test]
async fn a_line_of_ten_megabytes_is_folded_copied_and_told() {
    let texts = ["word ".repeat(2_000_000), "two".to_owned()];
    let (mut bench, _, file) = stored(&["a", "b"], &texts, "\n");
    bench.window = 10_000_000;
    walked(&bench, &file, "b").await;
}

#[tokio::test]
async fn whatever_entry_is_named_a_compaction_ends_well_or_says_why_not() {
    let call = || Step::Call(vec![("look", json!({})), ("look", json!({}))]);
    let steps =
        || vec![call(), Step::Say("one"), call(), Step::Say("two"), call(), Step::Say("three")];
    let count = {
        let mut engine = bench(steps()).engine();
        for text in ["first", "second", "third"] {
            engine.turn(text).await;
        }
        engine.handle.tree().index().len()
    };
    for at in 0..count {
        let bench = bench(steps());
        let mut engine = bench.engine();
        for text in ["first", "second", "third"] {
            engine.turn(text).await;
        }
        let id = engine.handle.tree().index().node(u32::try_from(at).unwrap()).unwrap().id.clone();
        match engine.send(compact(Some(id))).await {
            Ok(Reply::Stored { .. }) => {}
            Ok(other) => panic!("{other:?}"),
            Err(error) => assert!(
                matches!(error.code, ErrorCode::InvalidArgument | ErrorCode::Compaction),
                "{at}: {error}"
            ),
        }
        // The player checks that the request is well formed.
        engine.turn("fourth").await;
        assert_eq!(engine.handle.snapshot().await.unwrap().phase, Phase::Idle);
        sound(&bench, &path(&engine).await);
    }
}

#[tokio::test]
async fn between_two_compactions_the_older_summary_counts_word_for_word() {
    let summaries = vec![
        Step::Say("one"),
        Step::Say("two"),
        Step::Say("the old summary"),
        Step::Say("three"),
        Step::Say("the new summary"),
    ];
    let bench = bench(summaries);
    let mut engine = bench.engine();
    engine.turn("first").await;
    engine.turn("second which is long enough to be kept alone").await;
    engine.send(compact(None)).await.unwrap();
    engine.turn("third which is long enough to be kept alone").await;
    engine.send(compact(None)).await.unwrap();
    let three = id_of(&engine, "three").await;
    engine.send(go(&three, Summary::None)).await.unwrap();
    engine.turn("fourth").await;
    let last = requests(&bench).pop().unwrap();
    assert!(last[0].contains("the old summary"), "{last:?}");
    assert!(!last.join("\n").contains("the new summary"), "{last:?}");
    let two = id_of(&engine, "two").await;
    engine.send(go(&two, Summary::None)).await.unwrap();
    engine.turn("fifth").await;
    let last = requests(&bench).pop().unwrap();
    assert_eq!(last[0], "user first", "before both nothing is folded");
}

#[tokio::test]
async fn a_merge_from_the_middle_tells_only_what_came_before_it() {
    let steps = ["one", "two", "three", "the finding"].map(Step::Say).to_vec();
    let bench = Bench::new(steps);
    let mut engine = bench.engine();
    for text in ["first", "second", "third"] {
        engine.turn(text).await;
    }
    let (one, two) = (id_of(&engine, "one").await, id_of(&engine, "two").await);
    engine.send(go(&one, Summary::None)).await.unwrap();
    let merge = |from: &EntryId, summary| Command::Merge { from: from.clone(), summary };
    engine.send(merge(&two, generated(None, false))).await.unwrap();
    let asked = requests(&bench)[3].join("\n");
    assert!(asked.contains("[Assistant]: two") && !asked.contains("three"), "{asked}");
    // From nowhere, and of an entry that is no message.
    engine
        .send(Command::Navigate { target: None, summary: Summary::None, label: None })
        .await
        .unwrap();
    let nodes: Vec<EntryId> = engine.handle.tree().index().iter().map(|it| it.id.clone()).collect();
    for from in nodes {
        if let Err(error) = engine.send(merge(&from, Summary::Own("w".into()))).await {
            assert_eq!(error.code, ErrorCode::InvalidArgument, "{error}");
        }
    }
    engine.turn("fourth").await;
    sound(&bench, &path(&engine).await);
}

#[tokio::test]
async fn a_model_and_a_label_that_change_during_a_summary_lose_nothing() {
    let bench = bench(vec![Step::Say("one"), Step::Say("two"), Step::Slow("told")]);
    let mut engine = bench.engine();
    engine.turn("first").await;
    engine.turn("second which is long enough to be kept alone").await;
    let handle = engine.handle.clone();
    let asking = tokio::spawn(async move { handle.send(compact(None)).await });
    engine.until(|event| matches!(event, Event::CompactionStart { .. })).await;
    engine.send(Command::SetModel { reference: "test/other".into() }).await.unwrap();
    let one = id_of(&engine, "one").await;
    let label = Some("x".into());
    engine.send(Command::SetLabel { target: one.clone(), label }).await.unwrap();
    bench.player.go_on.notify_one();
    assert!(matches!(asking.await.unwrap().unwrap(), Reply::Stored { .. }));
    let file = path(&engine).await;
    engine.handle.close().await;
    let mut engine = bench.reopened(&file);
    assert_eq!(engine.handle.snapshot().await.unwrap().model, "test/other");
    assert_eq!(engine.handle.tree().labels.get(&one).map(|it| &**it), Some("x"));
    engine.turn("third").await;
    assert!(requests(&bench).pop().unwrap()[0].contains("told"));
}

#[tokio::test]
async fn while_a_call_waits_for_a_yes_nothing_moves_and_a_copy_is_sound() {
    let bench = bench(vec![Step::Say("one"), Step::Call(vec![("act", json!({}))])]);
    let mut engine = bench.engine();
    engine.turn("first").await;
    engine.prompt("second").await.unwrap();
    let asked = engine.until(|event| matches!(event, Event::ApprovalRequested { .. })).await;
    let Event::ApprovalRequested { held } = &*asked else { panic!() };
    let one = id_of(&engine, "one").await;
    let merge = Command::Merge { from: one.clone(), summary: Summary::Own("x".into()) };
    for command in [compact(None), go(&one, Summary::None), merge] {
        assert_eq!(engine.send(command).await.unwrap_err().code, ErrorCode::Busy);
    }
    let copy = forked(&engine, ForkPoint::Leaf).await;
    sound(&bench, &copy);
    let mut other = bench.reopened(&copy);
    assert!(other.handle.snapshot().await.unwrap().held.is_empty());
    other.turn("there").await;
    let key = held.key.clone();
    engine.send(Command::Decide { key, decision: Decision::Once }).await.unwrap();
    engine.settled().await;
    assert_eq!(engine.told().await.last().unwrap(), "stop done");
}

#[tokio::test]
async fn an_open_session_is_not_thrown_away_and_a_closed_engine_still_answers() {
    let bench = Bench::new(vec![Step::Say("one")]);
    let mut engine = bench.engine();
    engine.turn("first").await;
    let file = path(&engine).await;
    let shelf = Shelf::new(bench.place(), "/trash".into(), "/work".into());
    shelf.remove(&file).unwrap_err();
    let one = id_of(&engine, "one").await;
    engine.turn("second").await;
    engine.handle.close().await;
    let leaf = ForkPoint::Leaf;
    for command in [compact(None), go(&one, generated(None, false)), Command::Fork { at: leaf }] {
        assert_eq!(engine.send(command).await.unwrap_err().code, ErrorCode::InvalidState);
    }
    let there = shelf.remove(&file).unwrap();
    let mut rows = Vec::new();
    let stop = std::sync::atomic::AtomicBool::new(false);
    shelf.scan(Scope::Trash, &stop, &mut |progress| rows.extend(progress.rows));
    assert_eq!(rows.iter().map(|row| &row.path).collect::<Vec<_>>(), [&there]);
    assert_eq!(shelf.restore(&there).unwrap(), file);
    let mut engine = bench.reopened(&file);
    engine.turn("third").await;
    let stored = engine.handle.snapshot().await.unwrap().branch;
    assert!(stored.iter().any(|it| matches!(it.body, Body::Message { .. })));
}
