//! Turns of a real engine: what is said and stored, in which order, and what survives what.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use harness_tui::harness::{Command, ErrorCode, Event, Phase, QueueKind, Reply, TurnStatus};
use harness_tui::message::Message;
use harness_tui::policy::{Decision, Profile};
use harness_tui::ports::{Fault, FaultyFs, FileSystem, MemoryFs};
use harness_tui::providers::{ErrorKind as Kind, ProviderError};
use harness_tui::session::{Body, Session};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::support::engine::{Bench, Engine, Step};
use crate::support::syncs::SyncCount;

fn call(name: &'static str) -> (&'static str, Value) {
    (name, json!({}))
}

fn last_request(bench: &Bench) -> Vec<String> {
    let requests = bench.player.requests.lock().unwrap();
    requests.last().unwrap().messages.iter().map(|it| crate::support::engine::word(it)).collect()
}

#[tokio::test]
async fn a_simple_prompt_tells_its_story_in_order() {
    let bench = Bench::new(vec![Step::Say("hello")]);
    let mut engine = bench.engine();
    let names = engine.turn("hi").await;
    let story: Vec<&str> =
        names.iter().map(String::as_str).filter(|name| *name != "entry_appended").collect();
    assert_eq!(
        story,
        [
            "turn_started",
            "agent_start",
            "message_start",
            "message_end",
            "turn_start",
            "request_waiting",
            "message_start",
            "message_update",
            "message_update",
            "message_end",
            "usage_update",
            "turn_end",
            "save_point",
            "agent_end",
            "turn_completed",
            "settled",
        ]
    );
    assert_eq!(engine.told().await, ["user hi", "stop hello"]);
}

#[tokio::test]
async fn an_event_about_a_message_comes_after_the_message_is_in_the_file() {
    let bench = Bench::new(vec![Step::Say("hello")]);
    let mut engine = bench.engine();
    let path = engine.handle.snapshot().await.unwrap().path.unwrap();
    engine.prompt("hi").await.unwrap();
    let event = engine.until(|event| matches!(event, Event::MessageEnd { .. })).await;
    let Event::MessageEnd { entry, .. } = &*event else { unreachable!() };
    let text = String::from_utf8(bench.files.read(&path).unwrap()).unwrap();
    assert!(text.contains(&format!("\"id\":\"{entry}\"")), "{text}");
}

#[tokio::test]
async fn parallel_calls_end_in_any_order_and_are_sent_in_the_order_of_the_calls() {
    let bench = Bench::new(vec![Step::Call(vec![call("gate"), call("look")])]);
    let mut engine = bench.engine();
    engine.prompt("go").await.unwrap();
    engine.until(|event| matches!(event, Event::ToolExecutionEnd { .. })).await;
    bench.toy("gate").gate.add_permits(1);
    engine.settled().await;
    assert_eq!(
        engine.told().await,
        ["user go", "toolUse gate+look", "result look: {}", "result opened", "stop done"]
    );
    assert_eq!(
        last_request(&bench),
        ["user go", "toolUse gate+look", "result opened", "result look: {}"]
    );
}

#[tokio::test]
async fn an_unknown_tool_a_failing_tool_and_a_panic_are_results_the_model_can_read() {
    let calls = vec![call("nope"), call("fail"), call("bomb")];
    let bench = Bench::new(vec![Step::Call(calls)]);
    let mut engine = bench.engine();
    engine.turn("go").await;
    let told = last_request(&bench);
    assert_eq!(
        &told[2..],
        [
            "error Tool nope not found. You have: look, gate, act, fail, bomb, late.",
            "error it failed",
            "error bug: the tool bomb failed inside; its outcome is unknown",
        ]
    );
}

#[tokio::test]
async fn what_a_tool_says_after_its_end_is_not_told() {
    let bench = Bench::new(vec![Step::Call(vec![call("late")]), Step::Call(vec![call("gate")])]);
    let mut engine = bench.engine();
    engine.prompt("go").await.unwrap();
    engine.until(|event| matches!(event, Event::ToolExecutionEnd { .. })).await;
    bench.toy("late").gate.add_permits(1);
    engine.until(|event| matches!(event, Event::ToolExecutionStart { .. })).await;
    bench.toy("gate").gate.add_permits(1);
    engine.settled().await;
    let updates =
        engine.seen.iter().filter(|event| matches!(***event, Event::ToolExecutionUpdate { .. }));
    assert_eq!(updates.count(), 0);
}

#[tokio::test]
async fn steering_waits_for_the_batch_and_a_follow_up_for_the_end() {
    let bench = Bench::new(vec![Step::Call(vec![call("gate")]), Step::Say("one")]);
    let mut engine = bench.engine();
    engine.prompt("go").await.unwrap();
    engine.until(|event| matches!(event, Event::ToolExecutionStart { .. })).await;
    engine.send(Command::FollowUp { text: "later".into() }).await.unwrap();
    engine.send(Command::Steer { text: "left".into() }).await.unwrap();
    bench.toy("gate").gate.add_permits(1);
    engine.settled().await;
    assert_eq!(
        engine.told().await,
        [
            "user go",
            "toolUse gate",
            "result opened",
            "user left",
            "stop one",
            "user later",
            "stop done",
        ]
    );
}

#[tokio::test]
async fn an_abort_in_mid_stream_keeps_what_was_read_and_the_next_prompt_works() {
    let bench = Bench::new(vec![Step::Hang("half an ans")]);
    let mut engine = bench.engine();
    engine.prompt("go").await.unwrap();
    engine.until(|event| matches!(event, Event::MessageUpdate { .. })).await;
    engine.send(Command::Steer { text: "typed".into() }).await.unwrap();
    let reply = engine.send(Command::Abort { by: "esc".into() }).await.unwrap();
    let Reply::Cleared { queued } = reply else { panic!("{reply:?}") };
    assert_eq!(queued.len(), 1, "what was queued comes back");
    engine.settled().await;
    assert_eq!(engine.told().await, ["user go", "aborted half an ans"]);
    engine.turn("again").await;
    assert_eq!(last_request(&bench), ["user go", "user again"]);
}

#[tokio::test]
async fn an_abort_in_mid_tool_closes_every_call() {
    let bench = Bench::new(vec![Step::Call(vec![call("look"), call("gate"), call("act")])]);
    let mut engine = bench.engine();
    engine.prompt("go").await.unwrap();
    engine.until(|event| matches!(event, Event::ToolExecutionEnd { .. })).await;
    engine.send(Command::Abort { by: "esc".into() }).await.unwrap();
    engine.settled().await;
    let mut told = engine.told().await;
    told.sort();
    assert_eq!(
        told,
        [
            "error Operation aborted: the user stopped the turn.",
            "error cancelled",
            "result look: {}",
            "toolUse look+gate+act",
            "user go",
        ]
    );
}

async fn held(engine: &mut Engine) -> harness_tui::harness::CallKey {
    let event = engine.until(|event| matches!(event, Event::ApprovalRequested { .. })).await;
    let Event::ApprovalRequested { held } = &*event else { unreachable!() };
    held.key.clone()
}

#[tokio::test]
async fn a_held_call_runs_after_a_yes_and_a_session_yes_is_not_asked_again() {
    let bench = Bench::new(vec![
        Step::Call(vec![call("act")]),
        Step::Call(vec![call("act")]),
        Step::Say("done"),
        Step::Call(vec![call("act")]),
    ]);
    let mut engine = bench.engine();
    engine.prompt("go").await.unwrap();
    let key = held(&mut engine).await;
    engine.send(Command::Decide { key, decision: Decision::Once }).await.unwrap();
    let key = held(&mut engine).await;
    engine.send(Command::Decide { key, decision: Decision::Session }).await.unwrap();
    engine.settled().await;
    let names = engine.turn("again").await;
    assert!(!names.contains(&"approval_requested".to_owned()), "{names:?}");
    assert_eq!(engine.told().await.iter().filter(|it| *it == "result act: {}").count(), 3);
}

#[tokio::test]
async fn a_yes_to_a_file_that_has_changed_since_is_asked_again() {
    let mut bench = Bench::new(vec![]);
    let file = bench.state.path().join("f");
    std::fs::write(&file, "as shown").unwrap();
    let act = Step::Call(vec![("act", json!({"path": file}))]);
    bench.player = Bench::new(vec![act]).player;
    let mut engine = bench.engine();
    engine.prompt("go").await.unwrap();
    let key = held(&mut engine).await;
    std::fs::write(&file, "changed").unwrap();
    for decision in [Decision::Once, Decision::Session] {
        let yes = Command::Decide { key: key.clone(), decision };
        assert_eq!(engine.send(yes).await.unwrap_err().code, ErrorCode::InvalidState);
        assert_eq!(held(&mut engine).await, key);
        std::fs::write(&file, "changed again").unwrap();
    }
    std::fs::write(&file, "changed").unwrap();
    let deny = Decision::Deny { message: None };
    engine.send(Command::Decide { key, decision: deny }).await.unwrap();
    engine.settled().await;
    assert!(!engine.told().await.iter().any(|it| it.starts_with("result")));
}

#[tokio::test]
async fn a_yes_for_the_session_also_frees_what_already_waits_under_the_same_rule() {
    let bench = Bench::new(vec![Step::Call(vec![call("act"), call("act")])]);
    let mut engine = bench.engine();
    engine.prompt("go").await.unwrap();
    let first = held(&mut engine).await;
    held(&mut engine).await;
    engine.send(Command::Decide { key: first, decision: Decision::Session }).await.unwrap();
    engine.settled().await;
    assert_eq!(&last_request(&bench)[2..], ["result act: {}", "result act: {}"]);
}

#[tokio::test]
async fn a_no_with_a_message_is_what_the_model_reads() {
    let bench = Bench::new(vec![Step::Call(vec![call("act")])]);
    let mut engine = bench.engine();
    engine.prompt("go").await.unwrap();
    let key = held(&mut engine).await;
    let decision = Decision::Deny { message: Some("use make".into()) };
    engine.send(Command::Decide { key, decision }).await.unwrap();
    engine.settled().await;
    assert_eq!(
        last_request(&bench)[2],
        "error The user did not allow this call and says: use make"
    );
}

#[tokio::test]
async fn profiles_decide_what_runs_without_a_yes() {
    let cases = [
        (
            Profile::ReadOnly,
            false,
            "error This call is not allowed: the approval profile is read-only: commands may not be run.",
        ),
        (Profile::Full, false, "result act: {}"),
        (
            Profile::Confirm,
            true,
            "error This call runs a command and needs the user's approval, but nobody can give it in this run. Do what you can without it, and say what could not be done.",
        ),
    ];
    for (profile, unattended, expected) in cases {
        let mut bench = Bench::new(vec![Step::Call(vec![call("act"), call("look")])]);
        bench.profile = profile;
        bench.unattended = unattended;
        let mut engine = bench.engine();
        engine.turn("go").await;
        assert_eq!(&last_request(&bench)[2..], [expected, "result look: {}"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_transient_failure_is_counted_down_and_tried_again() {
    let reset = ProviderError {
        kind: Kind::Transient,
        message: "reset".into(),
        status: None,
        retry_after: None,
    };
    let bench = Bench::new(vec![Step::Fail(reset.clone()), Step::Fail(reset), Step::Say("ok")]);
    let mut engine = bench.engine();
    let names = engine.turn("go").await;
    let retries = names.iter().filter(|name| *name == "retry_scheduled").count();
    assert_eq!(retries, 2);
    assert_eq!(engine.told().await, ["user go", "stop ok"], "no trace of the failed attempts");
}

#[tokio::test]
async fn a_permanent_failure_ends_the_turn_and_retry_goes_on_from_there() {
    let refused = ProviderError {
        kind: Kind::Permanent,
        message: "no such model".into(),
        status: Some(404),
        retry_after: None,
    };
    let bench = Bench::new(vec![Step::Fail(refused), Step::Say("ok")]);
    let mut engine = bench.engine();
    engine.turn("go").await;
    let failed = engine
        .seen
        .iter()
        .any(|event| matches!(&**event, Event::TurnCompleted { status: TurnStatus::Failed, .. }));
    assert!(failed);
    engine.send(Command::Retry).await.unwrap();
    engine.settled().await;
    assert_eq!(last_request(&bench), ["user go"]);
    assert_eq!(engine.told().await, ["user go", "error ", "stop ok"]);
    let error = engine.send(Command::Retry).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidState);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_breaks_its_word_is_a_failure_that_is_tried_again() {
    let bench = Bench::new(vec![Step::Stop("half"), Step::Panic, Step::Say("whole")]);
    let mut engine = bench.engine();
    let names = engine.turn("go").await;
    assert_eq!(names.iter().filter(|name| *name == "retry_scheduled").count(), 2);
    assert_eq!(engine.told().await, ["user go", "stop whole"]);
}

#[tokio::test]
async fn settings_made_while_a_step_runs_hold_from_the_next_request_and_split_no_pair() {
    let bench = Bench::new(vec![Step::Call(vec![call("gate")])]);
    let mut engine = bench.engine();
    engine.prompt("go").await.unwrap();
    engine.until(|event| matches!(event, Event::ToolExecutionStart { .. })).await;
    engine.send(Command::SetModel { reference: "test/big".into() }).await.unwrap();
    bench.toy("gate").gate.add_permits(1);
    engine.settled().await;
    let models: Vec<String> = {
        let requests = bench.player.requests.lock().unwrap();
        requests.iter().map(|request| request.model.id.clone()).collect()
    };
    assert_eq!(models, ["m", "big"]);
    let branch = engine.handle.snapshot().await.unwrap().branch;
    let kinds: Vec<String> = branch
        .iter()
        .map(|entry| serde_json::to_value(&**entry).unwrap())
        .map(|line| line["message"]["role"].as_str().or(line["type"].as_str()).unwrap().to_owned())
        .filter(|kind| kind != "custom")
        .collect();
    assert_eq!(
        kinds,
        [
            "model_change",
            "thinking_level_change",
            "user",
            "assistant",
            "toolResult",
            "model_change",
            "assistant",
        ]
    );
}

#[tokio::test]
async fn the_cap_of_steps_ends_a_turn_that_would_go_on_for_ever() {
    let mut bench = Bench::new(vec![Step::Call(vec![call("look")]); 5]);
    bench.max_turns = 2;
    let mut engine = bench.engine();
    engine.turn("go").await;
    assert_eq!(bench.player.requests.lock().unwrap().len(), 2);
    let reason = engine.seen.iter().find_map(|event| match &**event {
        Event::TurnCompleted { reason, .. } => reason.clone(),
        _ => None,
    });
    assert_eq!(reason.as_deref(), Some("max_turns"));
}

#[tokio::test]
async fn a_second_engine_on_one_session_only_reads_and_says_who_writes() {
    let bench = Bench::new(vec![]);
    let mut first = bench.engine();
    first.turn("hi").await;
    let path = first.handle.snapshot().await.unwrap().path.unwrap();
    let second = bench.reopened(&path);
    let snapshot = second.handle.snapshot().await.unwrap();
    assert!(snapshot.read_only.is_some());
    let error = second.prompt("me too").await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Session);
    first.handle.close().await;
    let mut third = bench.reopened(&path);
    third.turn("now me").await;
    assert_eq!(third.told().await.len(), 4);
}

#[tokio::test]
async fn what_was_queued_is_still_there_after_a_reopening() {
    let bench = Bench::new(vec![Step::Hang("x")]);
    let engine = bench.engine();
    engine.prompt("go").await.unwrap();
    let path = engine.handle.snapshot().await.unwrap().path.unwrap();
    engine.send(Command::NextTurn { text: "for later".into() }).await.unwrap();
    engine.handle.close().await;
    let mut engine = bench.reopened(&path);
    let queue = engine.handle.snapshot().await.unwrap().queue;
    assert_eq!(queue.len(), 1);
    assert_eq!((queue[0].kind, queue[0].text.as_str()), (QueueKind::NextTurn, "for later"));
    engine.turn("again").await;
    assert_eq!(last_request(&bench), ["user go", "user for later", "user again"]);
}

/// A turn with an answer, three calls of which one needs a yes, and a final text; its file.
async fn recorded() -> Vec<u8> {
    let bench = Bench::new(vec![
        Step::Call(vec![call("look"), call("act"), call("fail")]),
        Step::Say("finished"),
    ]);
    let mut engine = bench.engine();
    engine.prompt("go").await.unwrap();
    let key = held(&mut engine).await;
    engine.send(Command::Decide { key, decision: Decision::Once }).await.unwrap();
    engine.settled().await;
    let path = engine.handle.snapshot().await.unwrap().path.unwrap();
    engine.handle.close().await;
    bench.files.read(&path).unwrap()
}

#[tokio::test]
async fn a_file_cut_anywhere_opens_settled_and_takes_the_next_prompt() {
    let whole = recorded().await;
    let first_message = whole.windows(13).position(|it| it == b"\"role\":\"user\"").unwrap();
    // Every line end, and the middle of every line.
    let ends: Vec<usize> = whole
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n')
        .map(|(at, _)| at + 1)
        .collect();
    let middles = ends.windows(2).map(|pair| usize::midpoint(pair[0], pair[1]));
    for cut in ends.iter().copied().chain(middles).filter(|cut| *cut > first_message) {
        let files = MemoryFs::new();
        let path = Path::new("/sessions/s.jsonl");
        files.put(path, &whole[..cut]);
        let mut bench = Bench::new(vec![]);
        bench.files = Arc::new(files);
        let mut engine = bench.reopened(path);
        let before = engine.told().await;
        assert_eq!(engine.handle.snapshot().await.unwrap().phase, Phase::Idle);
        engine.turn("next").await;
        let told = engine.told().await;
        let results = told.iter().filter(|it| it.starts_with("result") || it.starts_with("error"));
        let asked = told.iter().any(|it| it.starts_with("toolUse"));
        assert_eq!(results.count(), if asked { 3 } else { 0 }, "cut at {cut}: {told:?}");
        assert_eq!(told.len(), before.len() + 2, "nothing is run again: cut at {cut}");
        let bytes = bench.files.read(path).unwrap();
        let whole_lines = whole[..cut].iter().rposition(|byte| *byte == b'\n').unwrap();
        assert_eq!(bytes[..whole_lines], whole[..whole_lines], "old bytes never change");
    }
}

#[tokio::test]
async fn going_back_into_the_middle_of_a_finished_turn_adds_nothing_to_it() {
    let (files, path) = (MemoryFs::new(), Path::new("/sessions/s.jsonl"));
    files.put(path, recorded().await);
    let mut bench = Bench::new(vec![]);
    bench.files = Arc::new(files);
    let mut session = Session::open(bench.place(), path).unwrap();
    let is_answer =
        |body: &Body| matches!(body, Body::Message { message: Message::Assistant(_), .. });
    let branch = session.branch().unwrap();
    let answer = branch.iter().find(|entry| is_answer(&entry.body)).unwrap();
    session.move_leaf(Some(&answer.id), None).unwrap();
    drop(session);
    let before = bench.files.read(path).unwrap();
    let mut engine = bench.reopened(path);
    assert_eq!(engine.told().await, ["user go", "toolUse look+act+fail"]);
    assert_eq!(bench.files.read(path).unwrap(), before);
    engine.turn("next").await;
    assert_eq!(engine.told().await.len(), 4);
}

#[tokio::test]
async fn every_failing_file_operation_leaves_a_session_that_can_go_on() {
    for kind in [ErrorKind::StorageFull, ErrorKind::ReadOnlyFilesystem, ErrorKind::Other] {
        let mut nth = 0;
        loop {
            nth += 1;
            let memory = MemoryFs::new();
            let faulty = FaultyFs::new(Arc::new(memory.clone()), Fault::Fail { nth, kind });
            let mut bench = Bench::new(vec![Step::Call(vec![call("look")]), Step::Say("end")]);
            bench.files = Arc::new(faulty.clone());
            bench.profile = Profile::Full;
            let mut engine = bench.engine();
            let started = engine.prompt("go").await;
            engine.settled().await;
            let path = engine.handle.snapshot().await.unwrap().path.unwrap();
            engine.handle.close().await;
            faulty.arm(false);
            let done = faulty.operations() < nth;
            if memory.facts(&path).is_ok() {
                let mut engine = bench.reopened(&path);
                engine.turn("again").await;
                let told = engine.told().await;
                assert!(told.last().unwrap().starts_with("stop"), "operation {nth}: {told:?}");
                let kept = told.contains(&"user go".to_owned());
                assert!(kept || started.is_err(), "operation {nth}: an accepted prompt is lost");
            } else {
                assert!(started.is_err(), "operation {nth}: accepted without a file");
            }
            if done {
                break;
            }
        }
        assert!(nth > 5, "the loop met real operations");
    }
}

#[tokio::test]
async fn after_a_full_disk_in_the_middle_retry_goes_on_with_every_call_closed() {
    let memory = MemoryFs::new();
    let mut bench = Bench::new(vec![Step::Call(vec![call("gate")]), Step::Say("end")]);
    bench.files = Arc::new(memory.clone());
    let full = FaultyFs::new(
        Arc::new(memory.clone()),
        Fault::Outage { from: 1, to: u64::MAX, kind: ErrorKind::StorageFull },
    );
    full.arm(false);
    bench.files = Arc::new(full.clone());
    let mut engine = bench.engine();
    engine.prompt("go").await.unwrap();
    engine.until(|event| matches!(event, Event::ToolExecutionStart { .. })).await;
    full.arm(true);
    bench.toy("gate").gate.add_permits(1);
    engine.settled().await;
    let error = engine.send(Command::Retry).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Session, "the disk is still full");
    full.arm(false);
    engine.send(Command::Retry).await.unwrap();
    engine.settled().await;
    let told = engine.told().await;
    assert_eq!(told.len(), 4, "{told:?}");
    assert!(told[2].starts_with("error"), "{told:?}");
    assert_eq!(told[3], "stop end");
}

#[tokio::test]
async fn a_turn_that_the_disk_ended_in_mid_answer_leaves_nothing_to_the_next_one() {
    let kind = ErrorKind::StorageFull;
    let fault = Fault::Outage { from: 1, to: 1, kind };
    let faulty = FaultyFs::new(Arc::new(MemoryFs::new()), fault);
    let mut bench = Bench::new(vec![Step::Hang("half"), Step::Say("whole")]);
    bench.files = Arc::new(faulty.clone());
    faulty.arm(false);
    let mut engine = bench.engine();
    engine.prompt("go").await.unwrap();
    engine.until(|event| matches!(event, Event::MessageUpdate { .. })).await;
    faulty.arm(true);
    engine.send(Command::Steer { text: "left".into() }).await.unwrap_err();
    engine.settled().await;
    let names = engine.turn("again").await;
    assert_eq!(names.iter().filter(|name| *name == "message_start").count(), 2, "{names:?}");
    assert_eq!(last_request(&bench), ["user go", "user again"]);
    let ended = engine.seen.iter().rev().find_map(|event| match &**event {
        Event::AgentEnd { messages } => Some(messages.len()),
        _ => None,
    });
    assert_eq!(ended, Some(2));
}

#[tokio::test]
async fn a_plain_step_costs_at_most_two_syncs() {
    let memory = MemoryFs::new();
    let mut bench = Bench::new(vec![Step::Call(vec![call("act")]); 10]);
    bench.profile = Profile::Full;
    let counting = SyncCount::new(Arc::new(memory));
    bench.files = counting.clone();
    let mut engine = bench.engine();
    engine.turn("go").await;
    let steps = bench.player.requests.lock().unwrap().len() as u64;
    assert_eq!(steps, 11);
    let syncs = counting.syncs();
    assert!(syncs <= 2 * steps + 2, "{syncs} syncs in {steps} steps");
}

#[tokio::test]
async fn a_session_in_memory_behaves_the_same() {
    let bench = Bench::new(vec![Step::Call(vec![call("look")])]);
    let session = Session::in_memory(Arc::clone(&bench.clock), Path::new("/work"));
    let mut engine = bench.engine_of(session);
    engine.turn("go").await;
    assert_eq!(engine.told().await, ["user go", "toolUse look", "result look: {}", "stop done"]);
    assert_eq!(engine.handle.snapshot().await.unwrap().path, None);
}
