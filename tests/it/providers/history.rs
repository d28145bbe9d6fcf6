//! What is sent: the history of any session, in the form that each API accepts.

use harness_tui::message::{
    AssistantMessage, Message, Part, StopReason, ThinkingLevel, ToolCall, ToolResultMessage,
};
use harness_tui::providers::{Kind, Request};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::providers::{KEY, finished, hello, provider, request, thinking};
use crate::support::mock::{Answer, Mock};

fn assistant(api: &str, content: Vec<Part>) -> AssistantMessage {
    AssistantMessage {
        content,
        api: api.into(),
        provider: "mock".into(),
        model: "m".into(),
        ..AssistantMessage::default()
    }
}

fn call(id: &str) -> Part {
    let arguments = json!({"path": id});
    Part::ToolCall(ToolCall {
        id: id.into(),
        name: "read".into(),
        arguments,
        ..ToolCall::default()
    })
}

fn result(id: &str, content: Vec<Part>) -> Message {
    Message::ToolResult(ToolResultMessage {
        tool_call_id: id.into(),
        tool_name: "read".into(),
        content,
        details: None,
        is_error: false,
        duration_ms: None,
        timestamp: 0,
    })
}

fn image() -> Part {
    Part::Image { data: "aGk=".into(), mime_type: "image/png".into() }
}

/// The body that a provider sends for a request.
async fn sent(kind: Kind, request: Request) -> Value {
    let mock = Mock::start(vec![Answer::text("ok")]).await;
    finished(&*provider(kind, &mock.base_url()), request).await;
    mock.requests()[0].body.clone()
}

async fn chat(messages: Vec<Message>) -> Value {
    sent(Kind::OpenaiChat, request(messages)).await["messages"].take()
}

async fn anthropic(messages: Vec<Message>) -> Value {
    let mut request = request(messages);
    request.thinking = ThinkingLevel::Low;
    sent(Kind::Anthropic, request).await["messages"].take()
}

#[tokio::test]
async fn a_chat_request_has_the_usual_form() {
    let body = sent(Kind::OpenaiChat, Request { thinking: ThinkingLevel::Max, ..hello() }).await;
    let want = json!({
        "model": "m",
        "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hello"}],
        "stream": true,
        "stream_options": {"include_usage": true},
        "max_tokens": 8000,
        "tools": [{"type": "function", "function": {"name": "read", "description": "Reads a file.",
            "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}}],
        "reasoning_effort": "high",
    });
    assert_eq!(body, want);
}

#[tokio::test]
async fn an_anthropic_request_marks_its_stable_prefix() {
    let body = sent(Kind::Anthropic, Request { thinking: ThinkingLevel::Low, ..hello() }).await;
    let mark = json!({"type": "ephemeral"});
    let want = json!({
        "model": "m",
        "max_tokens": 8000,
        "stream": true,
        "system": [{"type": "text", "text": "be brief", "cache_control": mark}],
        "tools": [{"name": "read", "description": "Reads a file.", "input_schema":
            {"type": "object", "properties": {"path": {"type": "string"}}}, "cache_control": mark}],
        "thinking": {"type": "enabled", "budget_tokens": 2048},
        "messages": [{"role": "user", "content":
            [{"type": "text", "text": "hello", "cache_control": mark}]}],
    });
    assert_eq!(body, want);
}

#[tokio::test]
async fn keys_go_where_each_api_looks_for_them() {
    let mock = Mock::start(vec![Answer::text("a"), Answer::text("b")]).await;
    finished(&*provider(Kind::OpenaiChat, &mock.base_url()), hello()).await;
    finished(&*provider(Kind::Anthropic, &mock.base_url()), hello()).await;
    let requests = mock.requests();
    assert_eq!(requests[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!(requests[1].header("x-api-key"), Some(KEY));
    assert_eq!(requests[1].header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(requests[1].header("authorization"), None);
}

#[tokio::test]
async fn every_call_has_one_result_right_after_it_in_call_order() {
    let api = "openai-completions";
    let answer = Message::Assistant(assistant(api, vec![call("a"), call("b"), call("c")]));
    let text = |text: &str| vec![Part::text(text)];
    let got = chat(vec![
        Message::user("go", 1),
        result("stray", text("left out")),
        answer,
        result("c", text("C")),
        result("a", text("A")),
        result("a", text("a second one is left out")),
        Message::user("next", 2),
        result("b", text("too late")),
    ])
    .await;
    let tool = |id: &str, text: &str| json!({"role": "tool", "tool_call_id": id, "content": text});
    let call = |id: &str| {
        json!({"id": id, "type": "function", "function":
            {"name": "read", "arguments": format!("{{\"path\":\"{id}\"}}")}})
    };
    let want = json!([
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "", "tool_calls": [call("a"), call("b"), call("c")]},
        tool("a", "A"), tool("b", "No result provided"), tool("c", "C"),
        {"role": "user", "content": "next"},
    ]);
    assert_eq!(got, want);
}

#[tokio::test]
async fn failed_and_stopped_answers_are_left_out_with_their_results() {
    for stop_reason in [StopReason::Error, StopReason::Aborted] {
        let broken = AssistantMessage { stop_reason, ..assistant("x", vec![call("a")]) };
        let history = vec![
            Message::user("one", 1),
            Message::Assistant(broken),
            result("a", vec![Part::text("A")]),
            Message::user("two", 2),
        ];
        let want = json!([{"role": "system", "content": "be brief"},
            {"role": "user", "content": "one\n\ntwo"}]);
        assert_eq!(chat(history).await, want);
    }
}

#[tokio::test]
async fn thinking_goes_back_to_the_model_that_thought_it_and_to_no_other() {
    let api = "openai-completions";
    let named = thinking("plan", Some("reasoning_content"));
    let own = assistant(api, vec![named.clone(), Part::text("hi"), call("a")]);
    let got = chat(vec![Message::Assistant(own.clone())]).await;
    assert_eq!(got[1]["reasoning_content"], "plan");
    let empty = assistant(api, vec![thinking("", Some("reasoning")), call("a")]);
    assert_eq!(chat(vec![Message::Assistant(empty)]).await[1]["reasoning"], "");
    let in_tags = assistant(api, vec![thinking("plan", None), Part::text("hi")]);
    let got = chat(vec![Message::Assistant(in_tags)]).await;
    assert_eq!(got[1], json!({"role": "assistant", "content": "hi"}));
    for other in [
        AssistantMessage { model: "n".into(), ..own.clone() },
        AssistantMessage { provider: "p".into(), ..own.clone() },
        AssistantMessage { api: "anthropic-messages".into(), ..own.clone() },
    ] {
        let got = chat(vec![Message::Assistant(other)]).await;
        assert!(got[1].get("reasoning_content").is_none(), "{got}");
    }
}

#[tokio::test]
async fn signed_thinking_goes_back_as_it_came() {
    let redacted = Part::Thinking {
        thinking: String::new(),
        thinking_signature: Some("xyz".into()),
        redacted: true,
    };
    let api = "anthropic-messages";
    let own = assistant(api, vec![thinking("", Some("sig")), redacted, call("a")]);
    let history = |answer: &AssistantMessage| {
        vec![
            Message::user("go", 1),
            Message::Assistant(answer.clone()),
            result("a", vec![Part::text("A")]),
        ]
    };
    let use_a = json!({"type": "tool_use", "id": "a", "name": "read", "input": {"path": "a"}});
    let got = anthropic(history(&own)).await;
    let want = json!([{"type": "thinking", "thinking": "", "signature": "sig"},
        {"type": "redacted_thinking", "data": "xyz"}, use_a]);
    assert_eq!(got[1]["content"], want);
    // From another model: no thinking, and the API would refuse to think on in this tool loop.
    let other = AssistantMessage { model: "n".into(), ..own };
    let mut asked = request(history(&other));
    asked.thinking = ThinkingLevel::Low;
    let body = sent(Kind::Anthropic, asked).await;
    assert_eq!(body["messages"][1]["content"], json!([use_a]));
    assert_eq!(body.get("thinking"), None);
}

#[tokio::test]
async fn ids_are_made_acceptable_in_call_and_result_alike() {
    let long = format!("call|{}", "x".repeat(450));
    let answer = || Message::Assistant(assistant("x", vec![call(&long), call("ok-1")]));
    let results = || [result(&long, vec![Part::text("A")]), result("ok-1", vec![Part::text("B")])];
    let mut history = vec![Message::user("go", 1), answer()];
    history.extend(results());
    // The same ids once more, as some servers send them.
    history.push(answer());
    history.extend(results());
    let got = anthropic(history).await;
    let id = |message: usize, block: usize, key: &str| got[message]["content"][block][key].clone();
    let mut all = Vec::new();
    for message in [1, 3] {
        for block in [0, 1] {
            let used = id(message, block, "id");
            assert_eq!(used, id(message + 1, block, "tool_use_id"));
            let text = used.as_str().unwrap().to_owned();
            let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            assert!(text.len() <= 64 && text.chars().all(fits), "{text}");
            all.push(text);
        }
    }
    assert_eq!(all[1], "ok-1");
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 4);
}

#[tokio::test]
async fn arguments_are_always_sent_as_an_object() {
    for arguments in [json!(null), json!([1]), json!("x"), json!(5)] {
        let broken = ToolCall {
            id: "a".into(),
            name: "read".into(),
            arguments,
            raw_arguments: Some("{\"a\":".into()),
            ..ToolCall::default()
        };
        let history = vec![
            Message::user("go", 1),
            Message::Assistant(assistant("x", vec![Part::ToolCall(broken)])),
        ];
        let got = chat(history.clone()).await;
        assert_eq!(got[2]["tool_calls"][0]["function"]["arguments"], "{}");
        assert_eq!(anthropic(history).await[1]["content"][0]["input"], json!({}));
    }
}

#[tokio::test]
async fn images_go_where_each_api_takes_them() {
    let user = Message::User(harness_tui::message::UserMessage {
        content: vec![Part::text("see"), image(), image(), Part::text("and"), image()],
        timestamp: 1,
    });
    let answer = Message::Assistant(assistant("x", vec![call("a"), call("b")]));
    let history = vec![user, answer, result("a", vec![image()]), result("b", vec![])];
    let url = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}});
    let text = |text: &str| json!({"type": "text", "text": text});
    let got = chat(history.clone()).await;
    assert_eq!(got[1]["content"], json!([text("see"), url, url, text("and"), url]));
    assert_eq!(got[3]["content"], "(see the image below)");
    assert_eq!(got[4]["content"], "(no output)");
    let after =
        json!({"role": "user", "content": [text("Images of the tool results above:"), url]});
    assert_eq!(got[5], after);

    let got = anthropic(history.clone()).await;
    assert_eq!(got[2]["content"][0]["content"][0]["type"], "image");
    assert_eq!(got[2]["content"][1]["content"][0]["text"], "(no output)");

    let mut blind = request(history);
    blind.model.images = false;
    let got = sent(Kind::OpenaiChat, blind).await["messages"].take();
    let placeholder = "(image left out: this model reads no images)";
    assert_eq!(got[1]["content"], format!("see\n\n{placeholder}\n\nand\n\n{placeholder}"));
    assert_eq!(got[3]["content"], "(image of the tool left out: this model reads no images)");
    assert_eq!(got.as_array().unwrap().len(), 5);
}

#[tokio::test]
async fn results_and_the_next_prompt_share_one_anthropic_message() {
    let got = anthropic(vec![
        Message::Assistant(assistant("x", vec![Part::text("  "), call("a")])),
        result("a", vec![Part::text("A")]),
        Message::user("", 2),
        Message::user("next", 3),
    ])
    .await;
    let want = json!([
        {"role": "user", "content": [{"type": "text", "text": "(conversation continues)"}]},
        {"role": "assistant", "content":
            [{"type": "tool_use", "id": "a", "name": "read", "input": {"path": "a"}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "is_error": false,
                "content": [{"type": "text", "text": "A"}]},
            {"type": "text", "text": "next", "cache_control": {"type": "ephemeral"}}]},
    ]);
    assert_eq!(got, want);
}

#[tokio::test]
async fn what_a_server_refuses_is_left_out_and_stays_left_out() {
    let refuse = |text: &str| Answer::status(400, &json!({"error": {"message": text}}).to_string());
    let mock = Mock::start(vec![
        refuse("unknown field: stream_options"),
        refuse("reasoning_effort is not supported"),
        refuse("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        Answer::text("ok"),
        Answer::text("ok"),
        refuse("something else"),
    ])
    .await;
    let provider = provider(Kind::OpenaiChat, &mock.base_url());
    let asked = Request { thinking: ThinkingLevel::Low, ..hello() };
    finished(&*provider, asked.clone()).await;
    finished(&*provider, asked.clone()).await;
    let error = crate::providers::failed(&*provider, asked).await;
    assert!(error.message.contains("something else"));
    let requests = mock.requests();
    assert_eq!(requests.len(), 6);
    for (n, want) in [(0, [true, true, true, false]), (4, [false, false, false, true])] {
        let has = ["stream_options", "reasoning_effort", "max_tokens", "max_completion_tokens"]
            .map(|key| requests[n].body.get(key).is_some());
        assert_eq!(has, want, "request {n}");
    }
}

#[tokio::test]
async fn a_model_without_budgets_gets_adaptive_thinking() {
    let text = "\"thinking.type.enabled\" is not supported for this model. Use \"adaptive\".";
    let refusal = json!({"error": {"type": "invalid_request_error", "message": text}});
    let mock =
        Mock::start(vec![Answer::status(400, &refusal.to_string()), Answer::text("ok")]).await;
    let asked = Request { thinking: ThinkingLevel::Medium, ..hello() };
    finished(&*provider(Kind::Anthropic, &mock.base_url()), asked).await;
    let body = &mock.requests()[1].body;
    assert_eq!(body["thinking"], json!({"type": "adaptive"}));
    assert_eq!(body["output_config"], json!({"effort": "medium"}));
}
