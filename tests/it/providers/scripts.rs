//! The script provider: which turn is played, at what pace, with which fault.

use std::time::Duration;

use harness_tui::message::{AssistantMessage, Message, Part, StopReason, ToolCall};
use harness_tui::providers::{ErrorKind, Kind, Script, StreamEvent, open};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::providers::{endpoint, events, failed, finished, hello, request};

fn script(value: &serde_json::Value) -> Script {
    Script::parse(&value.to_string()).unwrap()
}

fn answered(prompt: &str, answers: usize) -> Vec<Message> {
    let mut history = vec![Message::user(prompt, 1)];
    let answer = AssistantMessage { content: vec![Part::text("x")], ..AssistantMessage::default() };
    history.extend((0..answers).map(|_| Message::Assistant(answer.clone())));
    history
}

async fn text(script: &Script, prompt: &str, answers: usize) -> String {
    let message = finished(script, request(answered(prompt, answers))).await;
    Message::Assistant(message).text()
}

#[tokio::test]
async fn the_step_and_the_prompt_choose_the_turn() {
    let script = script(&json!({
        "routes": [{"when": "^lab \\d", "turns": [{"text": "a0"}, {"text": "a1"}]}],
        "turns": [{"text": "b0"}, {"repeat": 2, "text": "c{i}"}],
    }));
    for (prompt, answers, want) in [
        ("lab 1", 0, "a0"),
        ("lab 1", 1, "a1"),
        ("lab 1", 9, "a1"),
        ("other", 0, "b0"),
        ("other", 1, "c0"),
        ("other", 2, "c1"),
        ("other", 3, "c1"),
    ] {
        assert_eq!(text(&script, prompt, answers).await, want, "{prompt} {answers}");
    }
    let only_routes = crate::providers::scripts::script(
        &json!({"routes": [{"when": "x", "turns": [{"text": "r"}]}]}),
    );
    assert_eq!(text(&only_routes, "none matches", 0).await, "r");
}

#[tokio::test]
async fn an_answer_has_all_its_parts_in_order() {
    let script = script(&json!({"turns": [{
        "thinking": "plan", "text": "日本語", "chunk_size": 2,
        "tool_calls": [{"name": "read", "args": {"path": "a"}}, {"name": "x", "raw_args": "{\"a"}],
        "usage": {"input": 10, "output": 5, "cache_read": 3},
    }]}));
    let message = finished(&script, hello()).await;
    let broken = ToolCall {
        id: "call_0_1".into(),
        name: "x".into(),
        arguments: json!({}),
        raw_arguments: Some("{\"a".into()),
        ..ToolCall::default()
    };
    let whole = ToolCall {
        id: "call_0_0".into(),
        name: "read".into(),
        arguments: json!({"path": "a"}),
        ..ToolCall::default()
    };
    let want = vec![
        crate::providers::thinking("plan", None),
        Part::text("日本語"),
        Part::ToolCall(whole),
        Part::ToolCall(broken),
    ];
    assert_eq!(message.content, want);
    assert_eq!((message.stop_reason, message.usage.total_tokens), (StopReason::ToolUse, 18));
    assert_eq!(events(&script, hello()).await, events(&script, hello()).await);
}

#[tokio::test(start_paused = true)]
async fn the_pace_is_kept_in_the_runtimes_time() {
    let script = script(&json!({"turns": [
        {"text": "aabbcc", "chunk_size": 2, "first_delay_ms": 5000, "delay_ms": 1000}]}));
    let start = tokio::time::Instant::now();
    finished(&script, hello()).await;
    assert_eq!(start.elapsed(), Duration::from_secs(8));
}

#[tokio::test(start_paused = true)]
async fn faults_happen_as_often_and_as_late_as_they_should() {
    use ErrorKind::{Auth, Overflow, Permanent, RateLimited, Transient};
    for (name, kind) in [
        ("auth", Auth),
        ("rate_limited", RateLimited),
        ("overflow", Overflow),
        ("transient", Transient),
        ("permanent", Permanent),
        ("stall", Transient),
        ("close", Transient),
    ] {
        let script = script(&json!({"turns": [{"text": "ok", "fault": name, "fault_times": 2}]}));
        for _ in 0..2 {
            assert_eq!(failed(&script, hello()).await.kind, kind);
        }
        assert_eq!(text(&script, "hello", 0).await, "ok");
    }
    let late = script(&json!({"turns": [{"text": "aabbcc", "chunk_size": 2,
        "fault": {"type": "rate_limited", "after_chunks": 2, "status": 429, "retry_after_ms": 1500,
            "message": "slow down"}}]}));
    let got = events(&late, hello()).await;
    let deltas = got.iter().filter(|event| matches!(event, StreamEvent::Delta(_))).count();
    // The start of the text and two pieces.
    assert_eq!(deltas, 3);
    let Some(StreamEvent::Failed(error)) = got.last() else { panic!("{got:?}") };
    assert_eq!((error.message.as_str(), error.status), ("slow down", Some(429)));
    assert_eq!(error.retry_after, Some(Duration::from_millis(1500)));
    let stall = script(&json!({"turns": [{"text": "aabb", "chunk_size": 2,
        "fault": {"type": "stall", "after_chunks": 1, "seconds": 8}}]}));
    let start = tokio::time::Instant::now();
    assert_eq!(text(&stall, "x", 0).await, "aabb");
    assert_eq!(start.elapsed(), Duration::from_secs(8));
}

#[test]
fn a_bad_scenario_says_what_is_wrong() {
    for (text, want) in [
        ("{", "line 1"),
        ("{}", "no turns"),
        (r#"{"turns": [{"txet": "a"}]}"#, "txet"),
        (r#"{"routes": [{"when": "(", "turns": []}]}"#, "no regex"),
        (r#"{"turns": [{"repeat": 1000000}]}"#, "repeat"),
        (r#"{"turns": [{"repeat": 0}]}"#, "no turns"),
    ] {
        let error = Script::parse(text).unwrap_err();
        assert!(error.message.contains(want), "{text}: {}", error.message);
    }
}

#[test]
fn a_scenario_file_is_opened_by_its_endpoint() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("scenario.json");
    let mut endpoint = endpoint(Kind::Script, "");
    assert!(open(&endpoint).unwrap_err().message.contains("set `script`"));
    endpoint.script = Some(path.clone());
    assert!(open(&endpoint).unwrap_err().message.contains("scenario.json"));
    std::fs::write(&path, r#"{"turns": [{"text": "hi"}]}"#).unwrap();
    assert_eq!(open(&endpoint).unwrap().api(), "script");
}
