//! What the index says of an entry beside its place: the words a tree shows, marks, and costs.

use std::path::Path;

use harness_tui::ports::MemoryFs;
use harness_tui::session::{Marks, Node, Spent};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::open;

/// The nodes of a file of these entries; each hangs under the one before unless it says otherwise.
fn nodes(entries: &[Value]) -> Vec<Node> {
    let files = MemoryFs::new();
    let mut text = format!("{}\n", json!({"type": "session", "version": 3, "id": "s", "cwd": "/"}));
    for (n, entry) in entries.iter().enumerate() {
        let mut line = json!({"id": n.to_string()});
        if n > 0 {
            line["parentId"] = json!((n - 1).to_string());
        }
        for (key, value) in entry.as_object().unwrap() {
            line[key] = value.clone();
        }
        text.push_str(&format!("{line}\n"));
    }
    let path = Path::new("/sessions/x.jsonl");
    files.put(path, text);
    open(&files, path).index().iter().cloned().collect()
}

fn previews(entries: &[Value]) -> Vec<String> {
    nodes(entries).iter().map(|node| node.preview.to_string()).collect()
}

fn message(message: impl Into<Value>) -> Value {
    json!({"type": "message", "message": message.into()})
}

fn calls(calls: &[(&str, &str, Value)]) -> Value {
    let call = |(id, name, arguments): &(&str, &str, Value)| json!({"type": "toolCall", "id": id, "name": name, "arguments": arguments});
    let content: Vec<Value> = calls.iter().map(call).collect();
    message(json!({"role": "assistant", "content": content, "stopReason": "toolUse"}))
}

fn result(id: &str, tool: &str) -> Value {
    message(
        json!({"role": "toolResult", "toolCallId": id, "toolName": tool, "content": "some output"}),
    )
}

fn one(entry: Value) -> Node {
    nodes(&[entry]).remove(0)
}

#[test]
fn a_call_is_shown_by_its_tool_and_its_telling_argument() {
    let cases = [
        ("bash", json!({"timeout": 5, "command": "cargo\n test"}), "bash cargo test"),
        ("read", json!({"path": "a.rs"}), "read a.rs"),
        ("read", json!({"path": "a.rs", "limit": 40}), "read a.rs:1-40"),
        ("read", json!({"limit": 3, "offset": 7, "path": "a.rs"}), "read a.rs:7-9"),
        ("read", json!({"offset": 7, "path": "a.rs"}), "read a.rs:7-"),
        ("edit", json!({"oldText": "x", "path": "a.rs", "newText": "y"}), "edit a.rs"),
        ("grep", json!({"path": "src", "pattern": "fn main"}), "grep fn main"),
        ("own", json!({"count": 1, "what": "this", "other": "that"}), "own this"),
        ("own", json!({"list": ["x"]}), "own"),
        ("own", json!("no object"), "own"),
        ("read", json!({"path": 1, "offset": -1, "limit": 1e300}), "read"),
        (
            "read",
            json!({"path": "a", "offset": u64::MAX, "limit": u64::MAX}),
            "read a:18446744073709551615-18446744073709551614",
        ),
    ];
    for (tool, arguments, words) in cases {
        let shown = previews(&[calls(&[("c", tool, arguments)]), result("c", tool)]);
        assert_eq!(shown, [words, words], "{tool}");
    }
}

#[test]
fn a_result_shows_the_nearest_call_above_it_with_its_id() {
    let read = |path: &str| calls(&[("c", "read", json!({"path": path}))]);
    // Two branches under entry 0 use the same id.
    let mut second = read("b");
    second["parentId"] = json!("0");
    let mut late = result("c", "read");
    late["parentId"] = json!("1");
    let entries = [
        message(json!({"role": "user", "content": "go"})),
        read("a"),
        second,
        result("c", "read"),
        read("again"),
        result("c", "read"),
        late,
        result("d", "grep"),
        message(json!({"role": "toolResult", "content": "words"})),
    ];
    let shown =
        ["go", "read a", "read b", "read b", "read again", "read again", "read a", "grep", "words"];
    assert_eq!(previews(&entries), shown);
}

#[test]
fn results_of_one_answer_show_each_its_own_call_in_any_order() {
    let answer =
        calls(&[("1", "bash", json!({"command": "ls"})), ("2", "read", json!({"path": "x"}))]);
    let both = "bash ls, read x";
    let shown = previews(&[answer.clone(), result("1", "bash"), result("2", "read")]);
    assert_eq!(shown, [both, "bash ls", "read x"]);
    let shown = previews(&[answer, result("2", "read"), result("1", "bash")]);
    assert_eq!(shown, [both, "read x", "bash ls"]);
}

#[test]
fn an_answer_says_how_it_ended() {
    let says = json!([{"type": "text", "text": "done"}]);
    let only_calls = json!([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": " \n"}, {"type": "toolCall", "id": "c", "name": "ls", "arguments": {}}]);
    let plain = Marks::default();
    let cases = [
        (says.clone(), "stop", plain),
        (says.clone(), "error", Marks { failed: true, ..plain }),
        (says.clone(), "aborted", Marks { aborted: true, ..plain }),
        (says, "length", Marks { cut: true, ..plain }),
        (only_calls, "toolUse", Marks { calls_only: true, ..plain }),
        (json!([]), "stop", plain),
    ];
    for (content, stop, marks) in cases {
        let answer = json!({"role": "assistant", "content": content, "stopReason": stop});
        assert_eq!(one(message(answer)).marks, marks, "{stop}");
    }
    let failed = json!({"role": "assistant", "content": [], "stopReason": "error", "errorMessage": "no\nmore"});
    assert_eq!(&*one(message(failed)).preview, "no more");
}

#[test]
fn a_result_says_whether_it_failed_or_changed_a_file() {
    let plain = Marks::default();
    let failed = Marks { is_error: true, ..plain };
    let changed = Marks { changes_file: true, ..plain };
    let cases = [
        (json!({"toolName": "edit"}), changed),
        (json!({"toolName": "write", "isError": false}), changed),
        (json!({"toolName": "edit", "isError": true}), failed),
        (json!({"toolName": "own", "details": {"diff": "+1 x"}}), changed),
        (json!({"toolName": "own", "details": {"patch": "x"}}), changed),
        (json!({"toolName": "own", "details": {"diff": null}}), plain),
        (json!({"toolName": "own", "details": {"diff": "x"}, "isError": true}), failed),
        (json!({"toolName": "bash", "details": "diff", "isError": "yes"}), plain),
    ];
    for (fields, marks) in cases {
        let mut result = fields.clone();
        result["role"] = json!("toolResult");
        assert_eq!(one(message(result)).marks, marks, "{fields}");
    }
    // The same words in the mouth of somebody else mean nothing.
    let user = json!({"role": "user", "toolName": "edit", "isError": true, "stopReason": "error"});
    assert_eq!(one(message(user)).marks, plain);
}

#[test]
fn answers_summaries_and_usage_entries_say_what_they_cost() {
    let usage = json!({"input": 10, "output": 4, "cacheRead": 100, "cacheWrite": 5, "totalTokens": 120, "cost": {"input": 1, "total": 0.25}});
    let spent = Spent { input: 15, output: 4, cache_read: 100, context: 120, cost: 0.25 };
    let carriers = [
        message(json!({"role": "assistant", "usage": usage})),
        json!({"type": "compaction", "usage": usage}),
        json!({"type": "branch_summary", "usage": usage}),
        json!({"type": "usage", "usage": usage}),
    ];
    for carrier in carriers {
        assert_eq!(one(carrier).spent.as_deref(), Some(&spent));
    }
    let others = [
        message(json!({"role": "user", "usage": usage})),
        json!({"type": "label", "usage": usage}),
        message(json!({"role": "assistant", "usage": {"input": 0, "cost": {"total": 0}}})),
        message(json!({"role": "assistant", "usage": [1]})),
    ];
    for other in others {
        assert_eq!(one(other).spent, None);
    }
}

#[test]
fn costs_beyond_all_bounds_are_no_reason_to_lose_a_line() {
    let line = r#"{"type":"message","id":"0","message":{"role":"assistant","timestamp":1e999,"usage":{"input":18446744073709551615,"cacheWrite":9,"output":-3,"cacheRead":1e999,"totalTokens":"x","cost":{"total":1e999}}}}"#;
    let files = MemoryFs::new();
    let path = Path::new("/sessions/x.jsonl");
    let text = format!("{}\n{line}\n", json!({"type": "session", "version": 3, "id": "s"}));
    files.put(path, text);
    let session = open(&files, path);
    let spent = Spent { input: u64::MAX, context: u64::MAX, ..Spent::default() };
    assert_eq!(session.index().node(0).unwrap().spent.as_deref(), Some(&spent));
    assert_eq!(session.index().node(0).unwrap().time_ms, 0);
}

#[test]
fn a_thousand_calls_and_endless_words_stay_short() {
    let long = "é".repeat(2_000);
    let many: Vec<_> = (0..1000).map(|_| ("c", "bash", json!({"command": long}))).collect();
    let nodes = nodes(&[calls(&many), result("c", "bash"), result(&long, &long)]);
    for node in &nodes {
        assert!(node.preview.chars().count() <= 120, "{}", node.preview.len());
    }
}
