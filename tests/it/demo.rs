//! The demo model: what it answers, step by step, with results as tools give them.

use std::sync::Arc;

use harness_tui::message::{
    AssistantMessage, Delta, Message, Part, StopReason, ThinkingLevel, ToolCall, ToolResultMessage,
    ToolSpec,
};
use harness_tui::providers::{Demo, Request, StreamEvent};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::providers::{events, finished, request};

fn asked(messages: Vec<Message>) -> Request {
    let tools = ["read", "bash", "edit", "write", "grep", "find", "ls"].map(|name| ToolSpec {
        name: name.into(),
        description: String::new(),
        parameters: json!({"type": "object"}),
    });
    Request { tools: tools.into(), ..request(messages) }
}

/// Plays a prompt against tools whose results are given in order; gives the calls and the last text.
async fn played(prompt: &str, results: &[(&str, bool)]) -> (Vec<(String, Value)>, String) {
    let mut history = vec![Message::user(prompt, 1)];
    let mut calls = Vec::new();
    let mut results = results.iter();
    loop {
        let message = finished(&Demo, asked(history.clone())).await;
        let called: Vec<ToolCall> = message.tool_calls().cloned().collect();
        let stop = if called.is_empty() { StopReason::Stop } else { StopReason::ToolUse };
        assert_eq!(message.stop_reason, stop);
        history.push(Message::Assistant(message.clone()));
        if called.is_empty() {
            assert_eq!(results.next(), None, "a result was not asked for");
            return (calls, Message::Assistant(message).text());
        }
        for call in called {
            let (text, is_error) = results.next().expect("a call too many");
            history.push(Message::ToolResult(ToolResultMessage {
                tool_call_id: call.id,
                tool_name: call.name.clone(),
                content: vec![Part::text(*text)],
                details: None,
                is_error: *is_error,
                duration_ms: None,
                timestamp: 0,
            }));
            calls.push((call.name, call.arguments));
        }
    }
}

fn call(name: &str, arguments: Value) -> (String, Value) {
    (name.into(), arguments)
}

#[tokio::test(start_paused = true)]
async fn plain_requests_use_the_right_tool_and_tell_the_result() {
    for (prompt, want, result, told) in [
        ("read Cargo.toml", call("read", json!({"path": "Cargo.toml"})), "[package]", "[package]"),
        ("list src", call("ls", json!({"path": "src"})), "main.rs\nui/", "- `ui/`"),
        ("ls", call("ls", json!({})), "a", "- `a`"),
        (
            "find TODO",
            call("grep", json!({"pattern": "TODO", "literal": true})),
            "src/a.rs:1: TODO",
            "src/a.rs:1",
        ),
        ("find *.rs", call("find", json!({"pattern": "*.rs"})), "src/a.rs", "- `src/a.rs`"),
        ("run date", call("bash", json!({"command": "date"})), "Monday", "Monday"),
        (
            "write hello to a.txt",
            call("write", json!({"path": "a.txt", "content": "hello\n"})),
            "Successfully wrote",
            "hello",
        ),
    ] {
        let (calls, text) = played(prompt, &[(result, false)]).await;
        assert_eq!(calls, [want], "{prompt}");
        assert!(text.contains(told) && text.contains("Offline demo"), "{text}");
        assert!(text.contains("## "), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn several_files_are_read_at_once() {
    let (calls, text) = played("read a.rs and b.txt", &[("fn a", false), ("bee", false)]).await;
    let want = ["a.rs", "b.txt"].map(|path| call("read", json!({"path": path})));
    assert_eq!(calls, want);
    assert!(text.contains("```rust\nfn a\n```") && text.contains("bee"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn an_edit_reads_first_and_names_a_text_that_stands_only_once() {
    let read = call("read", json!({"path": "a.txt"}));
    let edit = |old: &str, new: &str| {
        let edits = json!([{"oldText": old, "newText": new}]);
        call("edit", json!({"path": "a.txt", "edits": edits}))
    };
    let content = "one\nfoo two\nfoo three\n";
    for (prompt, content, want) in [
        ("replace two with 2 in a.txt", content, edit("two", "2")),
        ("replace foo with bar in a.txt", content, edit("foo two", "bar two")),
        ("edit a.txt", content, edit("one", "one\ntouched by the harness-tui demo")),
        (
            "edit a.txt",
            "one\ntouched by the harness-tui demo\n",
            edit("one\ntouched by the harness-tui demo", "one"),
        ),
    ] {
        let (calls, text) = played(prompt, &[(content, false), ("replaced 1 block", false)]).await;
        assert_eq!(calls, [read.clone(), want], "{prompt}");
        assert!(text.contains("Edited") && text.contains("replaced 1 block"), "{text}");
    }
    let (calls, text) = played("replace x with y in a.txt", &[("one", false)]).await;
    assert_eq!(calls, [read]);
    assert!(text.contains("`x` is not in it"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_failure_or_a_denial_ends_the_work_with_its_text() {
    for (prompt, results) in [
        ("read nowhere.txt", &[("no such file", true)][..]),
        ("edit a.txt", &[("one", false), ("denied by the person", true)]),
        ("run rm -rf /", &[("denied by the person", true)]),
    ] {
        let (_, text) = played(prompt, results).await;
        let said = results.last().unwrap().0;
        assert!(text.contains(said) && text.contains("I stop here"), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_needs_no_tool_is_answered_honestly() {
    for (prompt, told) in [
        ("hello", "# Hello"),
        ("help", "| `read FILE`"),
        ("why is the sky blue?", "no rule for that"),
        ("summarise", "You wrote 1 messages"),
        ("", "no rule for that"),
    ] {
        let (calls, text) = played(prompt, &[]).await;
        assert!(calls.is_empty() && text.contains(told) && text.contains("Offline demo"), "{text}");
    }
    let without = Request { tools: vec![], ..asked(vec![Message::user("read a.txt", 1)]) };
    let text = Message::Assistant(finished(&Demo, without).await).text();
    assert!(text.contains("not switched on"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_summary_of_a_session_has_the_usual_sections() {
    let prompt = "<conversation>\n[User]: add a flag\n\n[Assistant]: done\n\n[User]: now test it\n\
        </conversation>\nSummarise.";
    let request = Request {
        tools: vec![],
        system: "You are a summarizer.".into(),
        ..request(vec![Message::user(prompt, 1)])
    };
    let text = Message::Assistant(finished(&Demo, request).await).text();
    let sections = ["## Goal\nadd a flag", "## Constraints", "- [x] now test it", "## Next Steps"];
    assert!(sections.iter().all(|section| text.contains(section)), "{text}");
    assert!(text.contains("offline demo"));
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_is_told_to_summarise_its_work_still_works() {
    let request = Request {
        system: "Summarise what you did at the end.".into(),
        ..asked(vec![Message::user("read a.txt", 1)])
    };
    assert_eq!(finished(&Demo, request).await.stop_reason, StopReason::ToolUse);
}

#[tokio::test(start_paused = true)]
async fn it_streams_in_small_pieces_and_thinks_when_asked_to() {
    let request = Request { thinking: ThinkingLevel::Low, ..asked(vec![Message::user("hi", 1)]) };
    let start = tokio::time::Instant::now();
    let events = events(&Demo, request).await;
    let pieces = events.iter().filter_map(|event| match event {
        StreamEvent::Delta(Delta::TextDelta { delta, .. }) => Some(delta.chars().count()),
        _ => None,
    });
    let pieces: Vec<usize> = pieces.collect();
    assert!(pieces.len() > 20 && pieces.iter().all(|size| *size <= 4), "{pieces:?}");
    assert!(start.elapsed().as_millis() > 8 * 20);
    let Some(StreamEvent::Finished(message)) = events.last() else { panic!("{events:?}") };
    assert!(matches!(message.content.first(), Some(Part::Thinking { .. })));
}

#[tokio::test(start_paused = true)]
async fn strange_histories_do_no_harm() {
    let orphan = Message::Assistant(AssistantMessage {
        content: vec![Part::ToolCall(ToolCall::default())],
        ..AssistantMessage::default()
    });
    for prompt in
        ["edit .", "read \u{202e}", "replace a with  in x", "find \" in", "write  to ", "`"]
    {
        for history in [
            vec![Message::user(prompt, 1)],
            vec![Arc::unwrap_or_clone(Arc::new(Message::user(prompt, 1))), orphan.clone()],
            vec![orphan.clone(), Message::user(prompt, 1)],
            vec![],
        ] {
            finished(&Demo, asked(history)).await;
        }
    }
}
