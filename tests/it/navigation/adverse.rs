//! Walking, folding and merging when something goes wrong in the middle: a full disk, another holder,
//! a panic, a stop at the worst moment.
//!
//! Whatever happens, whoever asked gets an answer, readers see an end, and nothing is lost or told
//! twice.

use std::io::ErrorKind as Io;
use std::path::Path;
use std::sync::Arc;

use harness_tui::harness::{
    Command, Compaction, ErrorCode, Event, ExportFormat, HarnessError, Phase, Reply, Summary,
};
use harness_tui::ports::{Fault, FaultyFs, FileSystem, MemoryFs};
use harness_tui::providers::{ErrorKind, ProviderError, RetryPolicy};
use pretty_assertions::assert_eq;

use super::{generated, go, id_of, leaf, path, requests};
use crate::support::engine::{Bench, Engine, Step, name};

fn small_keep(steps: Vec<Step>) -> Bench {
    let compaction =
        Compaction { reserve_tokens: 10_000, keep_recent_tokens: 8, ..Compaction::default() };
    Bench { compaction, ..Bench::new(steps) }
}

/// A bench whose disk is full as long as the switch is on.
fn full_disk(steps: Vec<Step>) -> (Bench, FaultyFs) {
    let fault = Fault::Outage { from: 1, to: u64::MAX, kind: Io::StorageFull };
    let disk = FaultyFs::new(Arc::new(MemoryFs::new()), fault);
    disk.arm(false);
    let mut bench = small_keep(steps);
    bench.files = Arc::new(disk.clone());
    (bench, disk)
}

/// Two turns, the second long enough to be kept alone.
async fn talked(bench: &Bench) -> Engine {
    let mut engine = bench.engine();
    engine.turn("first").await;
    engine.turn("second which is long enough to be kept alone").await;
    engine
}

fn names(engine: &Engine) -> Vec<String> {
    engine.seen.iter().map(|event| name(event)).collect()
}

fn compact() -> Command {
    Command::Compact { instructions: None, up_to: None }
}

fn asked(
    engine: &Engine,
    command: Command,
) -> tokio::task::JoinHandle<Result<Reply, HarnessError>> {
    let handle = engine.handle.clone();
    tokio::spawn(async move { handle.send(command).await })
}

#[tokio::test]
async fn a_message_that_is_written_anew_is_not_summarised() {
    let bench = Bench::new(vec![Step::Say("one"), Step::Say("two"), Step::Say("told")]);
    let mut engine = bench.engine();
    engine.turn("first").await;
    engine.turn("second").await;
    let second = id_of(&engine, "second").await;
    let reply = engine.send(go(&second, generated(None, false))).await.unwrap();
    let Reply::Navigated { editor_text, summary_entry: Some(entry), .. } = reply else { panic!() };
    assert_eq!(editor_text.as_deref(), Some("second"));
    let asked = requests(&bench)[2].join("\n");
    assert!(asked.contains("[Assistant]: two") && !asked.contains("[User]: second"), "{asked}");
    let stored = engine.handle.tree().reader.entry(&entry).unwrap();
    let second = engine.handle.tree().reader.entry(&second).unwrap();
    assert_eq!(stored.parent_id, second.parent_id);
}

#[tokio::test]
async fn a_message_nobody_answered_leaves_nothing_to_summarise() {
    let bench = Bench::new(vec![Step::Say("one"), Step::Say("two")]);
    let mut engine = bench.engine();
    engine.turn("first").await;
    engine.turn("second").await;
    let (one, second) = (id_of(&engine, "one").await, id_of(&engine, "second").await);
    engine.send(go(&one, Summary::Own("kept".into()))).await.unwrap();
    let reply = engine.send(go(&second, generated(None, false))).await.unwrap();
    assert!(matches!(reply, Reply::Navigated { summary_entry: Some(_), .. }), "{reply:?}");
    let asked = requests(&bench)[2].join("\n");
    assert!(asked.contains("kept") && !asked.contains("second"), "{asked}");
}

#[tokio::test]
async fn a_stop_on_a_full_disk_stops_the_summary_and_no_late_move_follows() {
    let (bench, disk) = full_disk(vec![Step::Say("one"), Step::Say("two"), Step::Hang("ha")]);
    let mut engine = talked(&bench).await;
    let one = id_of(&engine, "one").await;
    let asking = asked(&engine, go(&one, generated(None, false)));
    engine.until(|event| matches!(event, Event::BranchSummaryStart { .. })).await;
    engine.send(Command::FollowUp { text: "wait".into() }).await.unwrap();
    disk.arm(true);
    engine.send(Command::Abort { by: "esc".into() }).await.unwrap_err();
    let error = asking.await.unwrap().unwrap_err();
    assert_eq!(error.code, ErrorCode::BranchSummary);
    engine.until(|event| matches!(event, Event::BranchSummaryEnd { aborted: true, .. })).await;
    let snapshot = engine.handle.snapshot().await.unwrap();
    assert_eq!((snapshot.phase, snapshot.queue.len()), (Phase::Idle, 1), "the message still waits");
    disk.arm(false);
    engine.turn("third").await;
    assert_eq!(engine.told().await.len(), 8, "the turn and the message behind it");
}

#[tokio::test]
async fn a_compaction_that_cannot_be_stored_has_an_end_for_everybody() {
    for is_draft in [false, true] {
        let (bench, disk) = full_disk(vec![Step::Say("one"), Step::Say("two")]);
        let mut engine = talked(&bench).await;
        let draft = Command::DraftCompaction { instructions: None, up_to: None };
        let Reply::Draft(draft) = engine.send(draft).await.unwrap() else { panic!() };
        engine.settled().await;
        let from = engine.seen.len();
        let command = if is_draft { Command::StoreCompaction { draft } } else { compact() };
        disk.arm(true);
        let error = engine.send(command.clone()).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::Session);
        engine.until(|event| matches!(event, Event::CompactionEnd { error: Some(_), .. })).await;
        engine.settled().await;
        let begun = names(&engine)[from..].iter().filter(|it| *it == "compaction_start").count();
        assert_eq!(begun, 1);
        assert_eq!(engine.handle.snapshot().await.unwrap().phase, Phase::Idle);
        disk.arm(false);
        let Reply::Stored { .. } = engine.send(command).await.unwrap() else { panic!() };
        engine.turn("third").await;
    }
}

#[tokio::test]
async fn a_failed_summary_on_a_full_disk_has_an_end_too() {
    let refused = ProviderError {
        kind: ErrorKind::Permanent,
        message: "no".into(),
        status: None,
        retry_after: None,
    };
    let (bench, disk) = full_disk(vec![Step::Say("one"), Step::Say("two"), Step::Fail(refused)]);
    let mut engine = talked(&bench).await;
    disk.arm(true);
    engine.send(compact()).await.unwrap_err();
    engine.until(|event| matches!(event, Event::CompactionEnd { error: Some(_), .. })).await;
    disk.arm(false);
    engine.turn("third").await;
}

#[tokio::test]
async fn a_turn_that_folds_and_is_cut_off_by_the_disk_ends_its_compaction() {
    let steps = vec![Step::Say("one"), Step::Count("two", 95_000), Step::Hang("ha")];
    let (bench, disk) = full_disk(steps);
    let mut engine = bench.engine();
    engine.turn(&"word ".repeat(20_000)).await;
    engine.turn("second which is long enough to be kept alone").await;
    engine.prompt("third").await.unwrap();
    engine.until(|event| matches!(event, Event::CompactionStart { .. })).await;
    disk.arm(true);
    engine.send(Command::Steer { text: "x".into() }).await.unwrap_err();
    engine.until(|event| matches!(event, Event::CompactionEnd { aborted: true, .. })).await;
    engine.settled().await;
    disk.arm(false);
    engine.turn("fourth").await;
}

#[tokio::test]
async fn moves_and_merges_on_a_full_disk_change_nothing_and_work_later() {
    let (bench, disk) = full_disk(vec![Step::Say("one"), Step::Say("two")]);
    let engine = talked(&bench).await;
    let (file, here) = (path(&engine).await, leaf(&engine).await);
    let (one, two) = (id_of(&engine, "one").await, id_of(&engine, "two").await);
    let before = bench.files.read(&file).unwrap();
    let own = || Summary::Own("kept".into());
    let commands = [
        go(&one, Summary::None),
        go(&one, own()),
        Command::Navigate { target: Some(one.clone()), summary: own(), label: Some("x".into()) },
        Command::SetLabel { target: one.clone(), label: Some("x".into()) },
        go(&one, generated(None, false)),
    ];
    for command in commands {
        disk.arm(true);
        let error = engine.send(command.clone()).await.unwrap_err();
        disk.arm(false);
        assert_eq!(error.code, ErrorCode::Session, "{command:?}");
        assert_eq!(
            (bench.files.read(&file).unwrap(), leaf(&engine).await),
            (before.clone(), here.clone())
        );
    }
    engine.send(go(&one, Summary::None)).await.unwrap();
    let merge = |summary| Command::Merge { from: two.clone(), summary };
    for summary in [own(), generated(None, false)] {
        disk.arm(true);
        engine.send(merge(summary.clone())).await.unwrap_err();
        disk.arm(false);
        assert_eq!(leaf(&engine).await, Some(one.clone()));
        assert_eq!(engine.handle.snapshot().await.unwrap().phase, Phase::Idle);
    }
    engine.send(merge(own())).await.unwrap();
}

#[tokio::test]
async fn whichever_write_of_a_move_is_the_last_a_waiting_message_is_there_once() {
    for nth in 1.. {
        let memory = MemoryFs::new();
        let disk = FaultyFs::new(Arc::new(memory.clone()), Fault::Stop { nth });
        disk.arm(false);
        let mut bench = Bench::new(vec![Step::Say("one"), Step::Say("two")]);
        bench.files = Arc::new(disk.clone());
        let engine = talked(&bench).await;
        engine.send(Command::NextTurn { text: "later".into() }).await.unwrap();
        let (file, one) = (path(&engine).await, id_of(&engine, "one").await);
        disk.arm(true);
        let moved = engine.send(go(&one, Summary::None)).await;
        let again = killed(&mut bench, memory, &file);
        let queue = again.handle.snapshot().await.unwrap().queue;
        assert_eq!(queue.len(), 1, "write {nth}, moved: {moved:?}");
        if disk.operations() < nth {
            break;
        }
    }
}

/// What the next opening finds of a session whose program was killed.
fn killed(bench: &mut Bench, memory: MemoryFs, file: &Path) -> Engine {
    let place = Path::new("/sessions/killed.jsonl");
    memory.put(place, memory.read(file).unwrap());
    bench.files = Arc::new(memory);
    bench.reopened(place)
}

#[tokio::test]
async fn whichever_write_of_a_prompt_is_the_last_what_waited_before_it_is_there_once() {
    for nth in 1.. {
        let memory = MemoryFs::new();
        let disk = FaultyFs::new(Arc::new(memory.clone()), Fault::Stop { nth });
        disk.arm(false);
        let mut bench = Bench::new(vec![Step::Say("one"), Step::Say("two")]);
        bench.files = Arc::new(disk.clone());
        let mut engine = talked(&bench).await;
        // Long, so that a write that is cut in half ends behind the message and before its record.
        let later = format!("later {}", "x".repeat(400));
        engine.send(Command::NextTurn { text: later.clone() }).await.unwrap();
        let file = path(&engine).await;
        disk.arm(true);
        let _ = engine.prompt("go").await;
        engine.settled().await;
        let mut again = killed(&mut bench, memory.clone(), &file);
        again.turn("on").await;
        let here = path(&again).await;
        again.handle.close().await;
        let mut again = bench.reopened(&here);
        again.turn("and on").await;
        let told = again.told().await;
        let times = told.iter().filter(|it| **it == format!("user {later}")).count();
        assert_eq!(times, 1, "operation {nth}: {told:?}");
        assert!(again.handle.snapshot().await.unwrap().queue.is_empty());
        if disk.operations() < nth {
            break;
        }
    }
}

#[tokio::test]
async fn a_session_that_another_holds_is_never_asked_about_in_vain() {
    let bench = small_keep(vec![Step::Say("one"), Step::Say("two")]);
    let holder = talked(&bench).await;
    let (file, one) = (path(&holder).await, id_of(&holder, "one").await);
    holder.send(go(&one, Summary::None)).await.unwrap();
    let two = id_of(&holder, "two").await;
    holder.send(go(&two, Summary::None)).await.unwrap();
    let before = bench.files.read(&file).unwrap();
    let reader = bench.reopened(&file);
    assert!(reader.handle.snapshot().await.unwrap().read_only.is_some());
    let commands = [
        go(&one, Summary::None),
        go(&one, Summary::Own("x".into())),
        go(&one, generated(None, false)),
        Command::SetLabel { target: one.clone(), label: Some("x".into()) },
        compact(),
        Command::DraftCompaction { instructions: None, up_to: None },
        Command::Prompt { content: vec![harness_tui::message::Part::text("x")] },
        Command::NextTurn { text: "x".into() },
    ];
    for command in commands {
        let error = reader.send(command.clone()).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::Session, "{command:?}: {error}");
        assert_eq!(reader.handle.snapshot().await.unwrap().phase, Phase::Idle, "{command:?}");
    }
    assert_eq!(bench.player.requests.lock().unwrap().len(), 2, "no model was asked");
    assert_eq!(bench.files.read(&file).unwrap(), before);
    let reply = reader.send(Command::ReportContext).await.unwrap();
    assert!(matches!(reply, Reply::Context(_)));
}

#[tokio::test]
async fn a_summary_that_panics_is_a_failure_and_not_a_silence() {
    for step in [Step::Panic, Step::Crash] {
        let mut bench = small_keep(vec![Step::Say("one"), Step::Say("two"), step]);
        bench.retry = RetryPolicy { enabled: false, ..RetryPolicy::default() };
        let mut engine = talked(&bench).await;
        let one = id_of(&engine, "one").await;
        let error = engine.send(go(&one, generated(None, false))).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::BranchSummary);
        engine.settled().await;
        engine.turn("third").await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_of_a_summary_is_seen() {
    let busy = ProviderError {
        kind: ErrorKind::RateLimited,
        message: "slow down".into(),
        status: Some(429),
        retry_after: None,
    };
    let steps = vec![Step::Say("one"), Step::Say("two"), Step::Fail(busy), Step::Say("told")];
    let bench = Bench::new(steps);
    let mut engine = talked(&bench).await;
    let from = engine.seen.len();
    let one = id_of(&engine, "one").await;
    engine.send(go(&one, generated(None, false))).await.unwrap();
    engine.settled().await;
    let told: Vec<String> = names(&engine)[from..].to_vec();
    let about = |it: &&String| it.starts_with("retry") || it.starts_with("branch");
    assert_eq!(
        told.iter().filter(about).collect::<Vec<_>>(),
        [
            "branch_summary_start",
            "retry_scheduled",
            "retry_attempt_start",
            "retry_finished",
            "branch_summary_end"
        ]
    );
}

#[tokio::test]
async fn an_answer_of_nothing_to_a_summary_request_makes_it_smaller() {
    let steps = vec![Step::Say("one"), Step::Say("two"), Step::Nothing, Step::Say("told")];
    let bench = Bench::new(steps);
    let engine = talked(&bench).await;
    let one = id_of(&engine, "one").await;
    engine.send(go(&one, generated(None, false))).await.unwrap();
    assert_eq!(requests(&bench).len(), 4);
}

#[tokio::test]
async fn an_export_from_a_running_session_knows_the_stored_keys() {
    let bench = Bench::new(vec![Step::Say("one")]);
    let mut engine = bench.engine();
    engine.turn("my key is a-stored-key-of-the-person, keep it").await;
    for format in [ExportFormat::Jsonl, ExportFormat::Markdown, ExportFormat::Html] {
        let to = Some(bench.state.path().join(format!("{format:?}")));
        let Reply::Written { path, .. } =
            engine.send(Command::Export { format, to }).await.unwrap()
        else {
            panic!()
        };
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.contains("[redacted]") && !text.contains("a-stored-key"), "{format:?}");
    }
}
