//! Forks and exports that an engine is asked for, also while a turn runs.

use std::sync::Arc;

use harness_tui::harness::{Command, ErrorCode, ExportFormat, ForkPoint, Reply};
use harness_tui::ports::MemoryFs;
use pretty_assertions::assert_eq;

use super::{open, text_of, told};
use crate::support::engine::{Bench, Step};

pub(super) fn bench(steps: Vec<Step>) -> (MemoryFs, Bench) {
    let files = MemoryFs::new();
    let bench = Bench { files: Arc::new(files.clone()), ..Bench::new(steps) };
    (files, bench)
}

fn written(reply: Reply) -> (std::path::PathBuf, Option<String>) {
    match reply {
        Reply::Written { path, editor_text } => (path, editor_text),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_fork_before_a_message_gives_a_session_that_opens_and_the_text() {
    let (files, made) = bench(vec![]);
    let mut engine = made.engine();
    engine.turn("one").await;
    engine.turn("two").await;
    let tree = engine.handle.tree();
    let two = tree.index().iter().find(|node| &*node.preview == "two").unwrap().id.clone();
    let (path, text) =
        written(engine.send(Command::Fork { at: ForkPoint::Before(two.clone()) }).await.unwrap());
    assert_eq!(text.as_deref(), Some("two"));
    assert_eq!(told(&open(&files, &path)), ["one", "done"]);
    let mut fork = made.reopened(&path);
    fork.turn("other").await;
    assert_eq!(fork.told().await, ["user one", "stop done", "user other", "stop done"]);
    let (path, text) =
        written(engine.send(Command::Fork { at: ForkPoint::At(two) }).await.unwrap());
    assert_eq!((told(&open(&files, &path)).len(), text), (3, None));
    let unknown = engine.send(Command::Fork { at: ForkPoint::At("gone".into()) }).await;
    assert_eq!(unknown.unwrap_err().code, ErrorCode::InvalidArgument);
}

#[tokio::test]
async fn a_session_without_a_message_is_not_forked() {
    let (_, made) = bench(vec![]);
    let engine = made.engine();
    let refused = engine.send(Command::Fork { at: ForkPoint::Leaf }).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidState);
    assert!(refused.message.contains("send a message first"), "{refused}");
}

#[tokio::test]
async fn a_clone_made_while_an_answer_streams_is_at_rest_and_the_turn_goes_on() {
    let (files, made) = bench(vec![Step::Hang("half")]);
    let mut engine = made.engine();
    engine.prompt("go").await.unwrap();
    engine.until(|event| crate::support::engine::name(event) == "message_update").await;
    engine.send(Command::NextTurn { text: "waits".into() }).await.unwrap();
    let (path, _) = written(engine.send(Command::Fork { at: ForkPoint::Tree }).await.unwrap());
    let before = text_of(&files, &path);
    let clone = made.reopened(&path);
    let snapshot = clone.handle.snapshot().await.unwrap();
    assert!(snapshot.queue.is_empty());
    assert!(text_of(&files, &path).starts_with(&before));
    assert!(before.contains("\"cancelled\""), "the open turn is over there: {before}");
    engine.send(Command::Abort { by: "test".into() }).await.unwrap();
    engine.settled().await;
    assert_eq!(engine.told().await, ["user go", "aborted half"]);
}

#[tokio::test]
async fn exports_are_written_beside_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let (_, made) = bench(vec![]);
    let mut engine = made.engine();
    engine.turn("hello").await;
    let to = |name: &str| Some(dir.path().join(name));
    for (format, name) in [
        (ExportFormat::Jsonl, "a.jsonl"),
        (ExportFormat::JsonlBranch, "b.jsonl"),
        (ExportFormat::Markdown, "c.md"),
        (ExportFormat::Html, "d.html"),
    ] {
        let export = Command::Export { format, to: to(name) };
        let (path, _) = written(engine.send(export).await.unwrap());
        assert_eq!(path, dir.path().join(name));
        assert!(std::fs::read_to_string(&path).unwrap().contains("hello"), "{name}");
    }
    std::fs::write(dir.path().join("mine"), "mine").unwrap();
    let export = Command::Export { format: ExportFormat::Html, to: to("mine") };
    let refused = engine.send(export).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::InvalidArgument);
    assert_eq!(std::fs::read_to_string(dir.path().join("mine")).unwrap(), "mine");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 5);
    let export = Command::Export { format: ExportFormat::Html, to: to("no/such/dir.html") };
    assert_eq!(engine.send(export).await.unwrap_err().code, ErrorCode::Session);
}
