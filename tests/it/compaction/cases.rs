//! Sessions that others wrote or that are built to break a cut: the request stays well formed.

use std::path::Path;

use harness_tui::harness::Compaction;
use harness_tui::message::{
    AssistantMessage, Message, Part, StopReason, ToolCall, ToolResultMessage,
};
use harness_tui::session::{Body, Flush, Session};
use serde_json::json;

use super::{bench, compact, requests};
use crate::support::engine::{Bench, Step};

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

fn session(bench: &Bench, bodies: Vec<Body>) -> Session {
    let mut session = Session::create(bench.place(), Path::new("/work"));
    session.append(bodies, Flush::Sync).unwrap();
    session
}

// Every request is checked where it is played, so going through is the proof.

#[tokio::test]
async fn a_compaction_between_a_call_and_its_result_does_no_harm_to_a_later_one() {
    let bench = bench(vec![]);
    let old = |summary: &str| Body::Compaction {
        summary: summary.into(),
        first_kept_entry_id: None,
        tokens_before: 1,
        details: None,
        usage: None,
        from_hook: None,
        retained_tail: None,
    };
    let one = vec!["c1".to_owned()];
    let mut session =
        session(&bench, vec![user("first"), calls(&one), old("old"), result("c1"), user("more")]);
    let first = session.branch().unwrap()[1].id.clone();
    let second = Body::Compaction {
        summary: "new".into(),
        first_kept_entry_id: Some(first),
        tokens_before: 1,
        details: None,
        usage: None,
        from_hook: None,
        retained_tail: None,
    };
    session.append(vec![second], Flush::Sync).unwrap();
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
