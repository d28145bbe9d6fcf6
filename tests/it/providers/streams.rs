//! What a stream is read as, whole, split anywhere, and in every accent of the servers.

use harness_tui::message::{Cost, Delta, Part, Partial, StopReason, ToolCall, Usage};
use harness_tui::providers::{Kind, StreamEvent};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::providers::{events, finished, hello, provider, thinking};
use crate::support::mock::{Answer, Mock};

const TEXT: &str = "你好👩‍👧é, done.";
const ARGUMENTS: &str = r#"{"path":"日本/é👩‍👧.txt","n":[1,{"a":null}]}"#;

fn call(id: &str, name: &str, arguments: Value) -> Part {
    let (id, name) = (id.into(), name.into());
    Part::ToolCall(ToolCall { id, name, arguments, ..ToolCall::default() })
}

/// A stream of chat chunks with these deltas, and a finish reason.
fn chat(deltas: &[Value], finish: &str) -> Answer {
    let mut pieces: Vec<String> = deltas
        .iter()
        .map(|delta| format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": delta}]})))
        .collect();
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]});
    pieces.push(format!("data: {end}\n\ndata: [DONE]\n\n"));
    Answer::raw(pieces)
}

async fn content_of(deltas: &[Value], finish: &str) -> Vec<Part> {
    let mock = Mock::start(vec![chat(deltas, finish)]).await;
    let provider = provider(Kind::OpenaiChat, &mock.base_url());
    let events = events(&*provider, hello()).await;
    let Some(StreamEvent::Finished(message)) = events.last() else { panic!("{events:?}") };
    // What was shown while it streamed is what is kept.
    let mut partial = Partial::default();
    for event in &events {
        if let StreamEvent::Delta(delta) = event {
            partial.apply(delta);
        }
    }
    assert_eq!(partial.content(), message.content);
    message.content.clone()
}

fn fragment(value: impl Into<Value>) -> Value {
    let value: Value = value.into();
    json!({"tool_calls": [value]})
}

#[tokio::test]
async fn a_chat_answer_is_read_whole() {
    let answer = Answer::text(TEXT).thinking("plan").call("read", ARGUMENTS);
    let mock = Mock::start(vec![answer]).await;
    let message = finished(&*provider(Kind::OpenaiChat, &mock.base_url()), hello()).await;
    let arguments = serde_json::from_str(ARGUMENTS).unwrap();
    let want = vec![
        thinking("plan", Some("reasoning_content")),
        Part::text(TEXT),
        call("call_0", "read", arguments),
    ];
    assert_eq!(message.content, want);
    assert_eq!(message.stop_reason, StopReason::ToolUse);
    assert_eq!((message.api.as_str(), message.model.as_str()), ("openai-completions", "m"));
    assert_eq!(message.response_id.as_deref(), Some("chatcmpl-1"));
    assert_eq!(message.response_model.as_deref(), Some("served"));
    // 100 prompt tokens, 40 of them cached, 20 written, at 1, 10 and 0.5 dollars a million.
    let want = Usage {
        input: 60,
        output: 20,
        cache_read: 40,
        total_tokens: 120,
        cost: Cost {
            input: 0.000_06,
            output: 0.000_2,
            cache_read: 0.000_02,
            cache_write: 0.0,
            total: 0.000_28,
        },
        ..Usage::default()
    };
    let round = |cost: f64| (cost * 1e9).round() as i64;
    assert_eq!(round(message.usage.cost.total), round(want.cost.total));
    assert_eq!(
        Usage { cost: Cost::default(), ..message.usage },
        Usage { cost: Cost::default(), ..want }
    );
}

#[tokio::test]
async fn an_anthropic_answer_is_read_whole() {
    let answer = Answer::text(TEXT).thinking("plan").call("read", ARGUMENTS).call("read", "");
    let mock = Mock::start(vec![answer]).await;
    let message = finished(&*provider(Kind::Anthropic, &mock.base_url()), hello()).await;
    let arguments = serde_json::from_str(ARGUMENTS).unwrap();
    let want = vec![
        thinking("plan", Some("sig==")),
        Part::text(TEXT),
        call("call_0", "read", arguments),
        call("call_1", "read", json!({})),
    ];
    assert_eq!(message.content, want);
    assert_eq!(message.stop_reason, StopReason::ToolUse);
    let usage = message.usage;
    assert_eq!((usage.input, usage.output, usage.cache_read, usage.cache_write), (60, 20, 40, 7));
    assert_eq!(usage.total_tokens, 127);
}

/// Reads one answer whole, then split in two at every byte, then byte by byte.
async fn is_read_the_same_however_split(kind: Kind, path: &str) {
    let answer = Answer::text("你👩‍👧é").thinking("plän").call("x", "{\"p\":\"日é\"}");
    let bytes = answer.bytes(path);
    let mock = Mock::start(vec![Answer::raw([&bytes])]).await;
    let provider = provider(kind, &mock.base_url());
    let want = events(&*provider, hello()).await;
    assert!(matches!(want.last(), Some(StreamEvent::Finished(_))), "{want:?}");
    for at in 1..bytes.len() {
        mock.push(Answer::raw([&bytes[..at], &bytes[at..]]));
        assert_eq!(events(&*provider, hello()).await, want, "split at {at}");
    }
    mock.push(Answer::raw(bytes.chunks(1)));
    assert_eq!(events(&*provider, hello()).await, want, "byte by byte");
}

#[tokio::test]
async fn a_chat_stream_is_read_the_same_however_it_is_split() {
    is_read_the_same_however_split(Kind::OpenaiChat, "/v1/chat/completions").await;
}

#[tokio::test]
async fn an_anthropic_stream_is_read_the_same_however_it_is_split() {
    is_read_the_same_however_split(Kind::Anthropic, "/v1/messages").await;
}

#[tokio::test]
async fn calls_with_sparse_and_interleaved_indexes_are_whole() {
    let got = content_of(
        &[
            fragment(json!({"index": 0, "id": "a", "function": {"name": "x", "arguments": ""}})),
            fragment(json!({"index": 2, "id": "c", "function": {"name": "y"}})),
            fragment(json!({"index": 0, "function": {"arguments": "{\"n\""}})),
            fragment(json!({"index": 2, "function": {"arguments": "{\"m\""}})),
            fragment(json!({"index": 0, "function": {"arguments": ":1}"}})),
            fragment(json!({"index": 2, "function": {"arguments": ":2}"}})),
            fragment(json!({"index": 5, "id": "e", "function": {"name": "z"}})),
        ],
        "tool_calls",
    )
    .await;
    let want = vec![
        call("a", "x", json!({"n": 1})),
        call("c", "y", json!({"m": 2})),
        call("e", "z", json!({})),
    ];
    assert_eq!(got, want);
}

#[tokio::test]
async fn calls_are_whole_with_missing_repeated_and_late_fields() {
    // The index only at first.
    let got = content_of(
        &[
            fragment(json!({"index": 0, "id": "a", "function": {"name": "x", "arguments": "{"}})),
            fragment(json!({"function": {"arguments": "}"}})),
        ],
        "tool_calls",
    )
    .await;
    assert_eq!(got, [call("a", "x", json!({}))]);
    // Id, type and name again in every chunk, null beside them.
    let again = |piece: &str| {
        json!({"role": null, "content": null, "function_call": {"name": "x", "arguments": piece},
            "tool_calls": [{"index": 0, "id": "a", "type": "function",
                "function": {"name": "x", "arguments": piece}}]})
    };
    let deltas = [json!({"tool_calls": null}), again("{\"n\""), again(": 1}"), again("")];
    assert_eq!(content_of(&deltas, "tool_calls").await, [call("a", "x", json!({"n": 1}))]);
    // All under index 0, told apart by their ids; one id twice.
    let whole = |id: &str, n: u8| {
        let arguments = json!({"n": n});
        fragment(json!({"index": 0, "id": id, "function": {"name": "x", "arguments": arguments}}))
    };
    let got = content_of(&[whole("a", 1), whole("b", 2)], "stop").await;
    assert_eq!(got, [call("a", "x", json!({"n": 1})), call("b", "x", json!({"n": 2}))]);
    // Arguments before the name, no id at all.
    let got = content_of(
        &[
            fragment(json!({"index": 0, "function": {"arguments": "{\"n\":"}})),
            fragment(json!({"index": 0, "function": {"name": "x", "arguments": "3}"}})),
        ],
        "tool_calls",
    )
    .await;
    assert_eq!(got, [call("call_0", "x", json!({"n": 3}))]);
}

#[tokio::test]
async fn arguments_that_are_no_object_are_kept_beside_an_empty_one() {
    for raw in ["{\"a\":", "[]", "\"x\"", "null", "{\"a\":1}garbage"] {
        let mock = Mock::start(vec![Answer::text("").call("x", raw); 2]).await;
        for kind in [Kind::OpenaiChat, Kind::Anthropic] {
            let message = finished(&*provider(kind, &mock.base_url()), hello()).await;
            let [Part::ToolCall(got)] = message.content.as_slice() else { panic!("{message:?}") };
            assert_eq!((&got.arguments, got.raw_arguments.as_deref()), (&json!({}), Some(raw)));
        }
    }
}

#[tokio::test]
async fn thinking_is_read_from_fields_and_tags_and_once_only() {
    let text = |text: &str| json!({"content": text});
    let tags = ["<th", "ink>plan", "</thi", "nk>answer with `<think>`"].map(text);
    let want = vec![thinking("plan", None), Part::text("answer with `<think>`")];
    assert_eq!(content_of(&tags, "stop").await, want);

    let both = json!({"reasoning_content": "plan", "reasoning": "plan"});
    let want = vec![thinking("plan", Some("reasoning_content")), Part::text("answer")];
    assert_eq!(content_of(&[both, text("answer")], "stop").await, want);

    let want = vec![thinking("plan", Some("reasoning")), Part::text("answer")];
    let null = json!({"reasoning_content": null, "reasoning": "plan", "content": ""});
    assert_eq!(content_of(&[null, text("answer")], "stop").await, want);

    // An empty field beside a call comes back as an empty block, so that it is sent again.
    let with_call = json!({"reasoning_content": "", "tool_calls":
        [{"index": 0, "id": "a", "function": {"name": "x", "arguments": "{}"}}]});
    let want = vec![call("a", "x", json!({})), thinking("", Some("reasoning_content"))];
    assert_eq!(content_of(&[with_call], "tool_calls").await, want);

    let blocks = json!({"content": [{"type": "thinking", "thinking": [{"text": "plan"}]},
        {"type": "text", "text": "answer"}]});
    let want = vec![thinking("plan", None), Part::text("answer")];
    assert_eq!(content_of(&[blocks], "stop").await, want);
}

#[tokio::test]
async fn an_output_limit_is_told_from_an_end_and_from_nothing() {
    for (kind, reason) in [(Kind::OpenaiChat, "length"), (Kind::Anthropic, "max_tokens")] {
        let answers = vec![
            Answer::text("half").stop(reason),
            Answer::text("").call("write", "{\"path\":\"a\",\"content\":\"xx").stop(reason),
            Answer::text("").thinking("hm").stop(reason),
            Answer::text("").stop(reason),
        ];
        let count = answers.len();
        let mock = Mock::start(answers).await;
        let provider = provider(kind, &mock.base_url());
        for _ in 0..count {
            assert_eq!(finished(&*provider, hello()).await.stop_reason, StopReason::Length);
        }
    }
}

#[tokio::test]
async fn redacted_thinking_is_kept_as_it_came() {
    let event = |value: Value| format!("data: {value}\n\n");
    let answer = Answer::raw([
        event(json!({"type": "message_start", "message": {}})),
        event(json!({"type": "content_block_start", "index": 0,
            "content_block": {"type": "redacted_thinking", "data": "xyz"}})),
        event(json!({"type": "content_block_stop", "index": 0})),
        event(json!({"type": "ping"})),
        event(json!({"type": "content_block_start", "index": 1,
            "content_block": {"type": "text", "text": "hi"}})),
        event(json!({"type": "content_block_start", "index": 2,
            "content_block": {"type": "tool_use", "id": "t", "name": "x", "input": {"a": 1}}})),
        event(json!({"type": "content_block_stop", "index": 2})),
        event(json!({"type": "something_new", "index": 9})),
        event(json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}})),
    ]);
    let mock = Mock::start(vec![answer]).await;
    let got = events(&*provider(Kind::Anthropic, &mock.base_url()), hello()).await;
    let Some(StreamEvent::Finished(message)) = got.last() else { panic!("{got:?}") };
    let redacted = Part::Thinking {
        thinking: String::new(),
        thinking_signature: Some("xyz".into()),
        redacted: true,
    };
    assert_eq!(message.content, [redacted, Part::text("hi"), call("t", "x", json!({"a": 1}))]);
    let end = Delta::ThinkingEnd { index: 0, signature: Some("xyz".into()), redacted: true };
    assert!(got.contains(&StreamEvent::Delta(end)));
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let body = json!({"choices": [{"finish_reason": "tool_calls", "message": {"content": "hi",
        "tool_calls": [{"id": "a", "function": {"name": "x", "arguments": "{}"}},
            {"id": "b", "function": {"name": "y", "arguments": "{}"}}]}}]});
    let pretty = serde_json::to_string_pretty(&body).unwrap();
    let mock = Mock::start(vec![Answer::status(200, &pretty)]).await;
    let message = finished(&*provider(Kind::OpenaiChat, &mock.base_url()), hello()).await;
    let want = [Part::text("hi"), call("a", "x", json!({})), call("b", "y", json!({}))];
    assert_eq!(message.content, want);
}

#[tokio::test]
async fn keep_alives_before_and_inside_an_answer_are_nothing() {
    let mut pieces: Vec<String> =
        [":\n\n", ": ping\n\n", "data:\n\n", "event: ping\ndata: {}\n\n", "id: 7\n\n"]
            .map(String::from)
            .into();
    let noise = pieces.clone();
    let delta = json!({"choices": [{"delta": {"content": "hi"}}]});
    pieces.push(format!("data: {delta}\r\n\r\n"));
    pieces.extend(noise);
    pieces.push("data: {\"choices\":[]}\n\n".into());
    let end = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
    // The last event has neither a blank line nor an end mark after it.
    pieces.push(format!("data: {end}"));
    let mock = Mock::start(vec![Answer::raw(pieces)]).await;
    let message = finished(&*provider(Kind::OpenaiChat, &mock.base_url()), hello()).await;
    assert_eq!(message.content, [Part::text("hi")]);
}
