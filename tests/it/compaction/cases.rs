//! Sessions that others wrote or that are built to break a cut: the request stays well formed.

use std::path::Path;

use harness_tui::harness::{Compaction, Event};
use harness_tui::message::{
    AssistantMessage, EntryId, Message, Part, StopReason, ToolCall, ToolResultMessage,
};
use harness_tui::providers::{ErrorKind, ProviderError};
use harness_tui::session::{Body, Flush, Session};
use serde_json::{Value, json};

use super::{bench, compact, compactions, entries, requests, summaries};
use crate::support::engine::{Bench, Engine, Step};

fn user(text: &str) -> Body {
    Body::Message { message: Message::user(text, 1), harness: None }
}

fn calls(ids: &[String]) -> Body {
    let part = |id: &String| {
        Part::ToolCall(ToolCall {
            id: id.clone(),
            name: "look".into(),
            arguments: json!({"path": id}),
            ..ToolCall::default()
        })
    };
    let message = Message::Assistant(AssistantMessage {
        content: ids.iter().map(part).collect(),
        stop_reason: StopReason::ToolUse,
        ..AssistantMessage::default()
    });
    Body::Message { message, harness: None }
}

fn result(id: &str) -> Body {
    let message = Message::ToolResult(ToolResultMessage {
        tool_call_id: id.into(),
        tool_name: "look".into(),
        content: vec![Part::text(format!("result of {id} {}", "x".repeat(60)))],
        details: None,
        is_error: false,
        duration_ms: None,
        timestamp: 1,
    });
    Body::Message { message, harness: None }
}

fn folded(summary: &str, first_kept_entry_id: Option<EntryId>) -> Body {
    Body::Compaction {
        summary: summary.into(),
        first_kept_entry_id,
        tokens_before: 1,
        details: None,
        usage: None,
        from_hook: None,
        retained_tail: None,
    }
}

fn session(bench: &Bench, bodies: Vec<Body>) -> Session {
    let mut session = Session::create(bench.place(), Path::new("/work"));
    session.append(bodies, Flush::Sync).unwrap();
    session
}

// Every request is checked where it is played, so going through is the proof.

#[tokio::test]
async fn a_compaction_between_a_call_and_its_result_does_no_harm_to_a_later_one() {
    let bench = bench(vec![]);
    let one = vec!["c1".to_owned()];
    let old = folded("old", None);
    let mut session =
        session(&bench, vec![user("first"), calls(&one), old, result("c1"), user("more")]);
    let first = session.branch().unwrap()[1].id.clone();
    session.append(vec![folded("new", Some(first))], Flush::Sync).unwrap();
    let mut engine = bench.engine_of(session);
    engine.turn("go").await;
    let asked = requests(&bench).pop().unwrap();
    assert!(asked[0].contains("new") && asked[1] == "toolUse look", "{asked:?}");
    assert!(asked[2].starts_with("result result of c1"), "{asked:?}");
}

#[tokio::test]
async fn wherever_it_is_cut_calls_and_results_stay_together() {
    for turns in [1, 2, 5, 10, 25, 40] {
        for keep in [1, 30, 60, 150, 400] {
            let mut bodies = Vec::new();
            for turn in 0..turns {
                bodies.push(user(&format!("turn {turn}")));
                let count = if turn % 3 == 0 { 3 } else { 1 };
                let ids: Vec<String> = (0..count).map(|n| format!("c{turn}-{n}")).collect();
                bodies.push(calls(&ids));
                bodies.extend(ids.iter().map(|id| result(id)));
            }
            let bench = bench(vec![Step::Say("told"), Step::Say("told"), Step::Say("end")]);
            let compaction = Compaction { keep_recent_tokens: keep, ..bench.compaction };
            let bench = Bench { compaction, ..bench };
            let mut engine = bench.engine_of(session(&bench, bodies));
            // A short conversation has nothing to fold, and says so.
            let _ = engine.send(compact()).await;
            engine.turn("go").await;
            let asked = requests(&bench).pop().unwrap();
            let first_kept = asked.iter().find(|it| !it.contains("<summary>")).unwrap();
            assert!(!first_kept.starts_with("result"), "{turns} {keep}: {asked:?}");
            assert_eq!(asked.last().unwrap(), "user go");
        }
    }
}

/// The newest compaction's lists of files.
fn files(engine: &Engine) -> Value {
    let details = |body: &Body| match body {
        Body::Compaction { details, .. } => details.clone(),
        _ => None,
    };
    entries(engine).iter().rev().find_map(|entry| details(&entry.body)).unwrap()
}

#[tokio::test]
async fn files_are_carried_on_from_our_own_summaries_and_not_from_those_of_a_program() {
    for (by_a_program, read) in [(false, json!(["a", "new"])), (true, json!(["new"]))] {
        let bench = bench(vec![Step::Say("told")]);
        let mut first = folded("before", None);
        if let Body::Compaction { details, from_hook, .. } = &mut first {
            *details = Some(json!({"readFiles": ["a"], "modifiedFiles": []}));
            *from_hook = Some(by_a_program);
        }
        let call = ToolCall {
            id: "c".into(),
            name: "read".into(),
            arguments: json!({"path": "new"}),
            ..ToolCall::default()
        };
        let asked = Message::Assistant(AssistantMessage {
            content: vec![Part::ToolCall(call)],
            stop_reason: StopReason::ToolUse,
            ..AssistantMessage::default()
        });
        let asked = Body::Message { message: asked, harness: None };
        let said = vec![user("x"), first, user("go"), asked, result("c"), user(&"y ".repeat(99))];
        let engine = bench.engine_of(session(&bench, said));
        engine.send(compact()).await.unwrap();
        assert_eq!(files(&engine), json!({"readFiles": read, "modifiedFiles": []}));
    }
}

#[tokio::test]
async fn an_overflow_told_by_an_old_answer_folds_nothing() {
    for compacted in [false, true] {
        let failed = Message::Assistant(AssistantMessage {
            stop_reason: StopReason::Error,
            error_message: Some("prompt is too long: 999999 tokens > 100000 maximum".into()),
            provider: "other".into(),
            model: "tiny".into(),
            ..AssistantMessage::default()
        });
        let mut said = vec![user("x"), Body::Message { message: failed, harness: None }];
        if compacted {
            said.push(folded("before", None));
        }
        // Enough to fold, if it were wanted.
        said.extend(["a ", "b ", "c "].map(|text| user(&text.repeat(99))));
        let bench = bench(vec![Step::Say("fine")]);
        let mut engine = bench.engine_of(session(&bench, said));
        engine.turn("go").await;
        let starts = |event: &Event| matches!(event, Event::CompactionStart { .. });
        assert!(!engine.seen.iter().any(|event| starts(event)));
        assert_eq!(requests(&bench).pop().unwrap().last().unwrap(), "user go");
    }
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_is_asked_for_twice_is_stored_once_with_the_cost_of_the_answer() {
    let fault = ProviderError {
        kind: ErrorKind::Transient,
        message: "try again".into(),
        status: Some(503),
        retry_after: None,
    };
    let steps =
        vec![Step::Say("one"), Step::Say("two"), Step::Fail(fault), Step::Count("told", 70)];
    let bench = bench(steps);
    let mut engine = bench.engine();
    engine.turn("first").await;
    engine.turn("second, which is long enough to be kept alone").await;
    engine.send(compact()).await.unwrap();
    assert_eq!((summaries(&bench), compactions(&engine).len()), (2, 1));
    let cost = |body: &Body| match body {
        Body::Compaction { usage, .. } => usage.clone(),
        _ => None,
    };
    let usage = entries(&engine).iter().find_map(|entry| cost(&entry.body)).unwrap();
    assert_eq!(usage.total_tokens, 70);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_drops_in_every_summary_leaves_nothing_and_nothing_busy() {
    let mut steps = vec![Step::Say("one"), Step::Say("two")];
    steps.extend(vec![Step::Stop("half a summary"); 20]);
    let bench = bench(steps);
    let mut engine = bench.engine();
    engine.turn("first").await;
    engine.turn("second, which is long enough to be kept alone").await;
    let path = engine.handle.snapshot().await.unwrap().path.unwrap();
    let before = bench.files.read(&path).unwrap();
    engine.send(compact()).await.unwrap_err();
    assert!(summaries(&bench) < 10, "{}", summaries(&bench));
    assert!(bench.files.read(&path).unwrap().starts_with(&before));
    assert_eq!(compactions(&engine), []);
    bench.player.steps.lock().unwrap().clear();
    engine.turn("third").await;
    assert_eq!(engine.told().await.len(), 6);
}
