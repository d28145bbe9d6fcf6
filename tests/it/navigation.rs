//! Walking the tree with a real engine: where the leaf goes, what is told, what survives.

mod adverse;
mod faults;
mod odd;

use std::path::PathBuf;

use harness_tui::harness::{Command, ErrorCode, Event, Phase, QueueKind, Reply, Summary};
use harness_tui::message::{EntryId, ThinkingLevel};
use harness_tui::providers::{ErrorKind, ProviderError};
use harness_tui::session::{Body, Entry};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::support::engine::{Bench, Engine, Step, word};

/// The id of the message that says this, on the whole tree.
async fn id_of(engine: &Engine, said: &str) -> EntryId {
    let tree = engine.handle.tree();
    let positions: Vec<u32> = (0..).take(tree.index().len()).collect();
    let entries = tree.reader.entries(&positions).unwrap();
    let says = |entry: &&std::sync::Arc<Entry>| match &entry.body {
        Body::Message { message, .. } => message.text() == said,
        Body::BranchSummary { summary, .. } => summary.starts_with(said),
        _ => false,
    };
    entries.iter().find(says).unwrap_or_else(|| panic!("nobody said {said}")).id.clone()
}

async fn leaf(engine: &Engine) -> Option<EntryId> {
    let tree = engine.handle.tree();
    Some(tree.index().node(tree.leaf?)?.id.clone())
}

fn go(target: &EntryId, summary: Summary) -> Command {
    Command::Navigate { target: Some(target.clone()), summary, label: None }
}

fn generated(instructions: Option<&str>, replace: bool) -> Summary {
    Summary::Generated { instructions: instructions.map(str::to_owned), replace }
}

fn requests(bench: &Bench) -> Vec<Vec<String>> {
    let requests = bench.player.requests.lock().unwrap();
    requests.iter().map(|it| it.messages.iter().map(|it| word(it)).collect()).collect()
}

async fn path(engine: &Engine) -> PathBuf {
    engine.handle.snapshot().await.unwrap().path.unwrap()
}

#[tokio::test]
async fn a_user_message_is_stood_before_and_its_text_comes_back() {
    let bench = Bench::new(vec![Step::Say("one"), Step::Say("two"), Step::Say("other")]);
    let mut engine = bench.engine();
    engine.turn("first").await;
    engine.turn("second").await;
    let second = id_of(&engine, "second").await;
    let reply = engine.send(go(&second, Summary::None)).await.unwrap();
    let Reply::Navigated { leaf: now, editor_text, summary_entry } = reply else { panic!() };
    assert_eq!(
        (now, editor_text.as_deref(), summary_entry),
        (leaf(&engine).await, Some("second"), None)
    );
    assert_eq!(engine.told().await, ["user first", "stop one"]);
    engine.turn("third").await;
    assert_eq!(engine.told().await, ["user first", "stop one", "user third", "stop other"]);
    assert_eq!(requests(&bench)[2], ["user first", "stop one", "user third"]);
}

#[tokio::test]
async fn before_the_first_message_there_is_nothing() {
    let bench = Bench::new(vec![]);
    let mut engine = bench.engine();
    engine.turn("first").await;
    let target = None;
    let command = Command::Navigate { target, summary: Summary::None, label: None };
    let reply = engine.send(command).await.unwrap();
    let nowhere = Reply::Navigated { leaf: None, editor_text: None, summary_entry: None };
    assert_eq!(reply, nowhere);
    assert_eq!(leaf(&engine).await, None);
    engine.turn("again").await;
    assert_eq!(engine.told().await, ["user again", "stop done"]);
}

#[tokio::test]
async fn an_answer_is_where_the_leaf_goes_and_it_survives_a_reopening() {
    let bench = Bench::new(vec![Step::Say("one"), Step::Say("two")]);
    let mut engine = bench.engine();
    engine.turn("first").await;
    engine.turn("second").await;
    let one = id_of(&engine, "one").await;
    let old = leaf(&engine).await;
    engine.send(go(&one, Summary::None)).await.unwrap();
    let event = engine.until(|event| matches!(event, Event::SessionTree { .. })).await;
    let told =
        Event::SessionTree { old_leaf: old, new_leaf: Some(one.clone()), summary_entry: None };
    assert_eq!(*event, told);
    let file = path(&engine).await;
    engine.handle.close().await;
    let engine = bench.reopened(&file);
    assert_eq!(leaf(&engine).await, Some(one));
    assert_eq!(engine.told().await, ["user first", "stop one"]);
}

#[tokio::test]
async fn the_end_of_the_branch_is_where_we_are_and_nothing_is_written() {
    let bench = Bench::new(vec![Step::Say("one")]);
    let mut engine = bench.engine();
    engine.turn("first").await;
    let file = path(&engine).await;
    let before = bench.files.read(&file).unwrap();
    let one = id_of(&engine, "one").await;
    engine.send(go(&one, generated(None, false))).await.unwrap();
    let here = leaf(&engine).await.unwrap();
    engine.send(go(&here, Summary::Own("x".into()))).await.unwrap();
    assert_eq!(bench.files.read(&file).unwrap(), before);
}

#[tokio::test]
async fn an_unknown_entry_is_named() {
    let bench = Bench::new(vec![]);
    let mut engine = bench.engine();
    engine.turn("first").await;
    let error = engine.send(go(&"nope".into(), Summary::None)).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidArgument);
    assert!(error.message.contains("nope"), "{error}");
}

#[tokio::test]
async fn own_words_stand_under_the_new_leaf_and_the_label_is_theirs() {
    let bench = Bench::new(vec![Step::Say("one"), Step::Say("two")]);
    let mut engine = bench.engine();
    engine.turn("first").await;
    engine.turn("second").await;
    let (one, old) = (id_of(&engine, "one").await, leaf(&engine).await.unwrap());
    let command = Command::Navigate {
        target: Some(one.clone()),
        summary: Summary::Own("two was a dead end".into()),
        label: Some("retry".into()),
    };
    let reply = engine.send(command).await.unwrap();
    let Reply::Navigated { summary_entry: Some(entry), .. } = reply else { panic!("{reply:?}") };
    let tree = engine.handle.tree();
    let stored = tree.reader.entry(&entry).unwrap();
    assert_eq!(stored.parent_id, Some(one));
    let Body::BranchSummary { from_id, summary, .. } = &stored.body else { panic!() };
    assert_eq!((from_id.as_str(), summary.as_str()), (old.as_str(), "two was a dead end"));
    assert_eq!(tree.labels.get(&entry).map(|it| &**it), Some("retry"));
    engine.turn("go").await;
    let last = requests(&bench).pop().unwrap();
    assert_eq!(last.len(), 4);
    assert!(last[2].contains("two was a dead end"), "{last:?}");
}

#[tokio::test]
async fn a_generated_summary_reads_what_is_left_behind_and_only_that() {
    let bench = Bench::new(vec![Step::Say("one"), Step::Say("two"), Step::Say("told")]);
    let mut engine = bench.engine();
    engine.turn("first").await;
    engine.turn("second").await;
    let one = id_of(&engine, "one").await;
    let reply = engine.send(go(&one, generated(Some("the names"), false))).await.unwrap();
    assert!(matches!(reply, Reply::Navigated { summary_entry: Some(_), .. }));
    let asked = requests(&bench)[2].join("\n");
    assert!(asked.contains("[User]: second\n\n[Assistant]: two"), "{asked}");
    assert!(!asked.contains("first") && asked.contains("Additional focus: the names"), "{asked}");
    assert_eq!(leaf(&engine).await, Some(id_of(&engine, "told").await));
    assert_eq!(engine.handle.snapshot().await.unwrap().phase, Phase::Idle);
    let own = go(&id_of(&engine, "two").await, generated(Some("say: {}"), true));
    engine.send(own).await.unwrap();
    let asked = requests(&bench)[3].join("\n");
    assert!(asked.ends_with("</conversation>\n\nsay: {}"), "{asked}");
}

#[tokio::test]
async fn a_failed_or_empty_or_cut_summary_changes_nothing() {
    let refused = ProviderError {
        kind: ErrorKind::Permanent,
        message: "no such model".into(),
        status: Some(400),
        retry_after: None,
    };
    let steps = [
        Step::Fail(refused),
        Step::Say(" "),
        Step::Cut("half"),
        Step::Call(vec![("look", json!({}))]),
    ];
    for step in steps {
        let bench = Bench::new(vec![Step::Say("one"), Step::Say("two"), step]);
        let mut engine = bench.engine();
        engine.turn("first").await;
        engine.turn("second").await;
        let file = path(&engine).await;
        let before = bench.files.read(&file).unwrap();
        let one = id_of(&engine, "one").await;
        let error = engine.send(go(&one, generated(None, false))).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::BranchSummary);
        assert_eq!(bench.files.read(&file).unwrap(), before);
        engine.turn("third").await;
        assert_eq!(engine.told().await.len(), 6);
    }
}

#[tokio::test]
async fn a_stopped_summary_changes_nothing_and_the_next_prompt_is_taken() {
    let bench = Bench::new(vec![Step::Say("one"), Step::Say("two"), Step::Hang("ha")]);
    let mut engine = bench.engine();
    engine.turn("first").await;
    engine.turn("second").await;
    let file = path(&engine).await;
    let before = bench.files.read(&file).unwrap();
    let one = id_of(&engine, "one").await;
    let handle = engine.handle.clone();
    let asking = tokio::spawn(async move { handle.send(go(&one, generated(None, false))).await });
    engine.until(|event| matches!(event, Event::BranchSummaryStart { .. })).await;
    assert_eq!(engine.handle.snapshot().await.unwrap().phase, Phase::BranchSummary);
    let busy = engine.prompt("now").await.unwrap_err();
    assert_eq!(busy.code, ErrorCode::Busy);
    engine.send(Command::Abort { by: "esc".into() }).await.unwrap();
    assert_eq!(asking.await.unwrap().unwrap_err().code, ErrorCode::BranchSummary);
    engine.until(|event| matches!(event, Event::BranchSummaryEnd { aborted: true, .. })).await;
    assert_eq!(bench.files.read(&file).unwrap(), before);
    engine.settled().await;
    engine.turn("third").await;
    assert_eq!(engine.told().await.len(), 6);
}

#[tokio::test]
async fn what_is_typed_during_a_summary_is_delivered_once_and_in_order() {
    let bench = Bench::new(vec![Step::Say("one"), Step::Say("two"), Step::Hang("ha")]);
    let mut engine = bench.engine();
    engine.turn("first").await;
    engine.turn("second").await;
    let one = id_of(&engine, "one").await;
    let handle = engine.handle.clone();
    let asking = tokio::spawn(async move { handle.send(go(&one, generated(None, false))).await });
    engine.until(|event| matches!(event, Event::BranchSummaryStart { .. })).await;
    engine.send(Command::Steer { text: "a".into() }).await.unwrap();
    engine.send(Command::FollowUp { text: "b".into() }).await.unwrap();
    let snapshot = engine.handle.snapshot().await.unwrap();
    let waits: Vec<QueueKind> = snapshot.queue.iter().map(|queued| queued.kind).collect();
    assert_eq!(waits, [QueueKind::Steer, QueueKind::FollowUp]);
    engine.send(Command::Abort { by: "esc".into() }).await.unwrap();
    asking.await.unwrap().unwrap_err();
    assert_eq!(engine.handle.snapshot().await.unwrap().queue, Vec::new());
}

#[tokio::test]
async fn looking_is_free_while_a_turn_runs_and_going_is_refused() {
    let bench = Bench::new(vec![Step::Say("one"), Step::Hang("ha")]);
    let mut engine = bench.engine();
    engine.turn("first").await;
    engine.prompt("second").await.unwrap();
    engine.until(|event| matches!(event, Event::MessageUpdate { .. })).await;
    let one = id_of(&engine, "one").await;
    let error = engine.send(go(&one, Summary::None)).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Busy);
    assert!(error.message.contains("stop it first"), "{error}");
    engine.send(Command::Abort { by: "esc".into() }).await.unwrap();
    engine.settled().await;
    assert_eq!(engine.told().await, ["user first", "stop one", "user second", "aborted ha"]);
    engine.send(go(&one, Summary::None)).await.unwrap();
    assert_eq!(engine.told().await, ["user first", "stop one"]);
}

#[tokio::test]
async fn model_and_thinking_follow_the_branch_and_are_told() {
    let bench = Bench::new(vec![Step::Say("one"), Step::Say("two")]);
    let mut engine = bench.engine();
    engine.turn("first").await;
    let one = id_of(&engine, "one").await;
    engine.send(Command::SetModel { reference: "test/other".into() }).await.unwrap();
    let level = ThinkingLevel::High;
    engine.send(Command::SetThinkingLevel { level }).await.unwrap();
    engine.turn("second").await;
    engine.send(go(&one, Summary::None)).await.unwrap();
    let snapshot = engine.handle.snapshot().await.unwrap();
    assert_eq!((snapshot.model.as_str(), snapshot.thinking), ("test/m", ThinkingLevel::Off));
    engine.turn("third").await;
    let requests = bench.player.requests.lock().unwrap();
    let asked: Vec<_> = requests.iter().map(|it| (it.model.id.as_str(), it.thinking)).collect();
    let off = ThinkingLevel::Off;
    assert_eq!(asked, [("m", off), ("other", ThinkingLevel::High), ("m", off)]);
}

#[tokio::test]
async fn a_label_is_set_cleared_and_refused_for_what_is_not_there() {
    let bench = Bench::new(vec![]);
    let mut engine = bench.engine();
    engine.turn("first").await;
    let target = id_of(&engine, "first").await;
    let label = |label: Option<&str>| Command::SetLabel {
        target: target.clone(),
        label: label.map(str::to_owned),
    };
    engine.send(label(Some("here"))).await.unwrap();
    assert_eq!(engine.handle.tree().labels.get(&target).map(|it| &**it), Some("here"));
    let entries = engine.handle.tree().index().len();
    engine.send(label(Some("here"))).await.unwrap();
    assert_eq!(engine.handle.tree().index().len(), entries, "the same again writes nothing");
    engine.send(label(Some(""))).await.unwrap();
    assert_eq!(engine.handle.tree().labels.get(&target), None);
    let target = "nope".into();
    let error = engine.send(Command::SetLabel { target, label: None }).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidArgument);
}

#[tokio::test]
async fn a_merge_tells_another_branch_here_and_moves_nothing() {
    let bench = Bench::new(vec![Step::Say("one"), Step::Say("two"), Step::Say("the finding")]);
    let mut engine = bench.engine();
    engine.turn("first").await;
    engine.turn("second").await;
    let (one, two) = (id_of(&engine, "one").await, id_of(&engine, "two").await);
    let here = Command::Merge { from: two.clone(), summary: generated(None, false) };
    let error = engine.send(here.clone()).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidArgument, "it is on the active branch");
    engine.send(go(&one, Summary::None)).await.unwrap();
    let Reply::Stored { entry } = engine.send(here).await.unwrap() else { panic!() };
    let stored = engine.handle.tree().reader.entry(&entry).unwrap();
    assert_eq!(stored.parent_id, Some(one));
    let Body::BranchSummary { from_id, summary, .. } = &stored.body else { panic!() };
    assert_eq!((from_id.as_str(), summary.as_str()), (two.as_str(), "the finding"));
    engine.turn("go on").await;
    let last = requests(&bench).pop().unwrap();
    assert!(last[2].contains("the finding") && last[3] == "user go on", "{last:?}");
}

#[tokio::test]
async fn a_waiting_message_comes_along_and_is_delivered_once_whatever_branch_is_opened() {
    let bench = Bench::new(vec![Step::Say("one"), Step::Say("two")]);
    let mut engine = bench.engine();
    engine.turn("first").await;
    engine.turn("second").await;
    engine.send(Command::NextTurn { text: "later".into() }).await.unwrap();
    let (one, two) = (id_of(&engine, "one").await, id_of(&engine, "two").await);
    engine.send(go(&one, Summary::None)).await.unwrap();
    let file = path(&engine).await;
    engine.handle.close().await;
    let mut engine = bench.reopened(&file);
    assert_eq!(engine.handle.snapshot().await.unwrap().queue.len(), 1);
    engine.turn("third").await;
    let told = engine.told().await;
    assert_eq!(told, ["user first", "stop one", "user later", "user third", "stop done"]);
    engine.send(go(&two, Summary::None)).await.unwrap();
    engine.handle.close().await;
    let engine = bench.reopened(&file);
    assert_eq!(engine.handle.snapshot().await.unwrap().queue, Vec::new());
}

#[tokio::test]
async fn the_first_message_too_is_stood_before_and_the_conversation_begins_anew() {
    let bench = Bench::new(vec![Step::Say("one"), Step::Say("two"), Step::Say("other")]);
    let mut engine = bench.engine();
    engine.turn("first").await;
    engine.turn("second").await;
    let first = id_of(&engine, "first").await;
    let parent = engine.handle.tree().reader.entry(&first).unwrap().parent_id.clone();
    let reply = engine.send(go(&first, Summary::None)).await.unwrap();
    let editor_text = Some("first".to_owned());
    assert_eq!(reply, Reply::Navigated { leaf: parent, editor_text, summary_entry: None });
    assert_eq!(engine.told().await, Vec::<String>::new());
    engine.turn("again").await;
    assert_eq!(requests(&bench)[2], ["user again"]);
}

#[tokio::test]
async fn before_a_message_the_summary_hangs_where_the_message_hung() {
    let bench = Bench::new(vec![Step::Say("one"), Step::Say("two")]);
    let mut engine = bench.engine();
    engine.turn("first").await;
    engine.turn("second").await;
    let second = id_of(&engine, "second").await;
    let parent = engine.handle.tree().reader.entry(&second).unwrap().parent_id.clone();
    let reply = engine.send(go(&second, Summary::Own("left".into()))).await.unwrap();
    let Reply::Navigated { leaf: now, editor_text, summary_entry } = reply else { panic!() };
    assert_eq!((now, editor_text.as_deref()), (summary_entry.clone(), Some("second")));
    let stored = engine.handle.tree().reader.entry(&summary_entry.unwrap()).unwrap();
    assert_eq!(stored.parent_id, parent);
}

#[tokio::test]
async fn settings_labels_and_progress_between_calls_hide_no_message_after_a_crash() {
    let call = || ("gate", json!({}));
    let bench = Bench::new(vec![Step::Say("one"), Step::Call(vec![call(), call(), call()])]);
    let mut engine = bench.engine();
    engine.turn("first").await;
    let one = id_of(&engine, "one").await;
    engine.prompt("second").await.unwrap();
    for _ in 0..3 {
        engine.until(|event| matches!(event, Event::ToolExecutionStart { .. })).await;
    }
    engine.send(Command::SetModel { reference: "test/big".into() }).await.unwrap();
    engine.send(Command::SetLabel { target: one, label: Some("x".into()) }).await.unwrap();
    engine.send(Command::SetName { name: "n".into() }).await.unwrap();
    bench.toy("gate").gate.add_permits(1);
    engine.until(|event| matches!(event, Event::ToolExecutionEnd { .. })).await;
    // What is in the file now is what a kill would leave.
    let left = bench.files.read(&path(&engine).await).unwrap();
    bench.toy("gate").gate.add_permits(2);
    engine.settled().await;
    let whole = engine.told().await;

    let files = std::sync::Arc::new(harness_tui::ports::MemoryFs::new());
    let file = PathBuf::from("/sessions/left.jsonl");
    files.put(&file, left);
    let after = Bench { files, ..Bench::new(vec![]) };
    let mut engine = after.reopened(&file);
    let told = engine.told().await;
    assert_eq!(told[..4], whole[..4], "nothing that was said is gone");
    assert_eq!(told.len(), 7, "every call has its result: {told:?}");
    engine.turn("third").await;
    let asked = requests(&after).pop().unwrap();
    assert_eq!(asked[..7], told);
    assert_eq!(asked[7], "user third");
}
