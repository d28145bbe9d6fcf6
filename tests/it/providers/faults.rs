//! Refusals, cuts, silence and garbage: what kind of failure each is, and that no key is in it.

use std::time::Duration;

use futures_util::StreamExt;
use harness_tui::providers::{ErrorKind, Kind, StreamEvent, Timeouts, list_models, open};
use pretty_assertions::assert_eq;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::providers::{KEY, endpoint, events, failed, finished, hello, provider};
use crate::support::mock::{Answer, Mock};

const BOTH: [Kind; 2] = [Kind::OpenaiChat, Kind::Anthropic];

#[tokio::test]
async fn every_refusal_has_its_kind() {
    use ErrorKind::{Auth, Overflow, Permanent, RateLimited, Transient};
    let of = |text: &str| json!({"error": {"message": text}}).to_string();
    let kind = |kind: &str| json!({"error": {"message": "MARK", "type": kind}}).to_string();
    let code = |code: &str| json!({"error": {"message": "MARK", "code": code}}).to_string();
    let window = "request (8713 tokens) exceeds the available context size (8192 tokens)";
    let maximum = "This model's maximum context length is 2048 tokens. However, you requested 2582";
    let table = [
        (401, of("MARK"), Auth),
        (403, of("MARK"), Auth),
        (401, "{\"detail\":\"MARK\"}".into(), Auth),
        (429, of("MARK"), RateLimited),
        (429, of("MARK: too many tokens per minute, maximum context length"), RateLimited),
        (429, code("insufficient_quota"), Permanent),
        (402, of("MARK"), Permanent),
        (400, of("MARK Your credit balance is too low to access the API"), Permanent),
        (400, of("MARK"), Permanent),
        (400, of("MARK prompt is too long: 210000 tokens > 200000 maximum"), Overflow),
        (400, of(&format!("MARK {window}")), Overflow),
        (400, kind("exceed_context_size_error"), Overflow),
        (400, code("context_length_exceeded"), Overflow),
        (400, of(&format!("MARK {maximum}")), Overflow),
        (413, of("MARK"), Overflow),
        (500, of("MARK Context size has been exceeded."), Overflow),
        (404, of("MARK"), Permanent),
        (422, of("MARK"), Permanent),
        (408, of("MARK"), Transient),
        (500, of("MARK"), Transient),
        (500, of("MARK Failed to parse tool call arguments as JSON"), Transient),
        (503, of("MARK Loading model"), Transient),
        (529, of("MARK"), Transient),
        (500, "MARK Internal Server Error".into(), Transient),
        (502, "<html><head><title>502 MARK</title></head><p>x</p></html>".into(), Transient),
        (200, "<!DOCTYPE html><body><h1>MARK</h1></body>".into(), Transient),
    ];
    for format in BOTH {
        for (status, body, want) in &table {
            let html = body.starts_with('<');
            let kind = if html { "text/html; charset=utf-8" } else { "application/json" };
            let answer = Answer::status(*status, body).header("content-type", kind);
            let mock = Mock::start(vec![answer]).await;
            let error = failed(&*provider(format, &mock.base_url()), hello()).await;
            assert_eq!((error.kind, error.status), (*want, Some(*status)), "{body}");
            assert!(error.message.contains("MARK"), "{}", error.message);
            assert!(!error.message.contains('<'), "{}", error.message);
            let tried = format!("POST {}/v1/", mock.base_url());
            assert!(error.message.starts_with(&tried), "{}", error.message);
        }
    }
}

#[tokio::test]
async fn the_wait_that_a_server_asks_for_is_read() {
    let table = [
        ("retry-after", "7", 7000),
        ("retry-after", "0.5", 500),
        ("retry-after-ms", "1500", 1500),
        ("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT", 0),
    ];
    for (name, value, want) in table {
        let answer = Answer::status(429, "{}").header(name, value);
        let mock = Mock::start(vec![answer]).await;
        let error = failed(&*provider(Kind::OpenaiChat, &mock.base_url()), hello()).await;
        assert_eq!(error.retry_after, Some(Duration::from_millis(want)), "{name}: {value}");
    }
    for value in ["-5", "NaN", "inf", "soon", "", "1e999"] {
        let answer = Answer::status(429, "{}").header("retry-after", value);
        let mock = Mock::start(vec![answer]).await;
        let error = failed(&*provider(Kind::OpenaiChat, &mock.base_url()), hello()).await;
        assert_eq!(error.retry_after, None, "{value}");
    }
    let body = r#"[{"error": {"code": 429, "message": "m", "details": [{"retryDelay": "34s"}]}}]"#;
    let mock = Mock::start(vec![Answer::status(429, body)]).await;
    let error = failed(&*provider(Kind::OpenaiChat, &mock.base_url()), hello()).await;
    assert_eq!(error.retry_after, Some(Duration::from_secs(34)));
}

#[tokio::test]
async fn an_error_inside_a_stream_is_judged_like_its_status() {
    use ErrorKind::{Auth, Overflow, Permanent, RateLimited, Transient};
    let delta = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}\n\n";
    let table = [
        (r#"{"error":{"message":"overloaded MARK","code":503},"choices":[]}"#, Transient),
        (r#"{"error":{"message":"MARK","code":"429"}}"#, RateLimited),
        (r#"{"error":{"message":"MARK","type":"authentication_error"}}"#, Auth),
        (r#"{"error":{"message":"MARK","type":"invalid_request_error"}}"#, Permanent),
        (r#"{"error":{"code":500,"message":"MARK Context size has been exceeded."}}"#, Overflow),
        (r#"{"error":{"message":"MARK","code":"context_length_exceeded"}}"#, Overflow),
        (r#"{"error":{"message":"MARK","code":null}}"#, Transient),
        (r#"{"error":"MARK"}"#, Transient),
    ];
    for format in BOTH {
        for (data, want) in table {
            let error = format!("data: {data}\n\n");
            let mut answers = vec![Answer::raw([error.as_str()])];
            if format == Kind::OpenaiChat {
                answers.push(Answer::raw([delta, delta, error.as_str()]));
            }
            let count = answers.len();
            let mock = Mock::start(answers).await;
            let provider = provider(format, &mock.base_url());
            for _ in 0..count {
                let error = failed(&*provider, hello()).await;
                assert_eq!(error.kind, want, "{data}");
                assert!(error.message.contains("MARK"), "{}", error.message);
            }
        }
        let named = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\
            \"overloaded_error\",\"message\":\"MARK\"}}\n\n";
        let mock = Mock::start(vec![
            Answer::raw([named]),
            Answer::raw(["event: error\n\n"]),
            Answer::raw(["event: error\ndata: MARK\n\n"]),
        ])
        .await;
        let provider = provider(format, &mock.base_url());
        let error = failed(&*provider, hello()).await;
        assert!(error.kind == Transient && error.message.contains("MARK"), "{error:?}");
        assert_eq!(failed(&*provider, hello()).await.kind, Transient);
        let error = failed(&*provider, hello()).await;
        assert!(error.kind == Transient && error.message.contains("MARK"), "{error:?}");
    }
}

#[tokio::test]
async fn a_cut_answer_is_never_a_finished_one() {
    let whole =
        Answer::text("a long enough answer").call("bash", "{\"command\":\"touch /tmp/ran\"}");
    for format in BOTH {
        let path = if format == Kind::Anthropic { "/messages" } else { "/chat" };
        // All pieces before the one that says how it ended.
        let last = if format == Kind::Anthropic { 2 } else { 3 };
        let pieces = whole.count(path) - last;
        for cut in 0..=pieces {
            let mock =
                Mock::start(vec![whole.clone().close_after(cut), whole.clone().reset_after(cut)])
                    .await;
            let provider = provider(format, &mock.base_url());
            for _ in 0..2 {
                let error = failed(&*provider, hello()).await;
                assert_eq!(error.kind, ErrorKind::Transient, "{error:?}");
            }
        }
    }
}

#[tokio::test]
async fn what_breaks_after_a_complete_answer_does_not_matter() {
    let whole = Answer::text("done");
    // Without the end mark, and without usage.
    for pieces in [whole.count("/chat") - 1, whole.count("/chat") - 2] {
        let mock =
            Mock::start(vec![whole.clone().close_after(pieces), whole.clone().reset_after(pieces)])
                .await;
        let provider = provider(Kind::OpenaiChat, &mock.base_url());
        for _ in 0..2 {
            finished(&*provider, hello()).await;
        }
    }
}

#[tokio::test]
async fn garbage_and_emptiness_are_failures_that_may_pass() {
    let finish = |reason: &str| {
        format!("data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":{reason:?}}}]}}\n\n")
    };
    let chat: [Vec<u8>; 8] = [
        b"".to_vec(),
        b"data: {\"choices\":[{\"delta\":\n\n".to_vec(),
        b"data: [DONE]\n\n".to_vec(),
        b"data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\ndata: [DONE]\n\n".to_vec(),
        b"data: \xff\xfe\n\n".to_vec(),
        b"\x00\x01 no stream at all".to_vec(),
        finish("stop").into_bytes(),
        b"data: 5\n\ndata: []\n\ndata: \"x\"\n\ndata: null\n\n".to_vec(),
    ];
    for format in BOTH {
        for body in &chat {
            let mock = Mock::start(vec![Answer::raw([body])]).await;
            let error = failed(&*provider(format, &mock.base_url()), hello()).await;
            assert_eq!(error.kind, ErrorKind::Transient, "{error:?}");
        }
    }
    let mock = Mock::start(vec![Answer::raw([finish("content_filter")])]).await;
    let error = failed(&*provider(Kind::OpenaiChat, &mock.base_url()), hello()).await;
    assert_eq!(error.kind, ErrorKind::Permanent);
}

#[tokio::test]
async fn silence_meets_a_time_out_before_and_inside_an_answer() {
    let mut hurried = hello();
    hurried.timeouts = Timeouts {
        connect: Duration::from_secs(5),
        first_byte: Duration::from_millis(60),
        idle: Duration::from_millis(60),
    };
    let whole = Answer::text("a long enough answer");
    for format in BOTH {
        let mock = Mock::start(vec![whole.clone().stall_after(0)]).await;
        let error = failed(&*provider(format, &mock.base_url()), hurried.clone()).await;
        assert!(error.message.ends_with("no answer within 0.06 s"), "{error:?}");
        let mock = Mock::start(vec![whole.clone().stall_after(3)]).await;
        let mut patient = hurried.clone();
        patient.timeouts.first_byte = Duration::from_secs(20);
        let error = failed(&*provider(format, &mock.base_url()), patient).await;
        assert!(error.message.ends_with("nothing came for 0.06 s"), "{error:?}");
        assert_eq!(error.kind, ErrorKind::Transient);
    }
    // A server that accepts and never answers.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let error = failed(&*provider(Kind::OpenaiChat, &url), hurried).await;
    assert!(error.message.ends_with("no answer within 0.06 s"), "{error:?}");
}

#[tokio::test]
async fn cancelling_ends_a_silent_stream_at_once() {
    let whole = Answer::text("a long enough answer");
    let mock = Mock::start(vec![whole.clone().stall_after(3), whole.stall_after(0)]).await;
    let provider = provider(Kind::OpenaiChat, &mock.base_url());
    let cancel = CancellationToken::new();
    let mut stream = provider.stream(hello(), cancel.clone());
    assert_eq!(stream.next().await, Some(StreamEvent::Connected { status: 200 }));
    cancel.cancel();
    let rest: Vec<StreamEvent> = stream.collect().await;
    let Some(StreamEvent::Failed(error)) = rest.last() else { panic!("{rest:?}") };
    assert_eq!(error.kind, ErrorKind::Permanent);
    let mut stream = provider.stream(hello(), cancel);
    assert!(matches!(stream.next().await, Some(StreamEvent::Failed(_))));
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn a_key_is_in_no_error_and_no_debug_output() {
    let echo = json!({"error": {"message": format!("bad key {KEY} or OTHER-SECRET")}}).to_string();
    let in_stream = format!("data: {echo}\n\n");
    for format in BOTH {
        let mock = Mock::start(vec![
            Answer::status(401, &echo),
            Answer::raw([in_stream.as_str()]),
            Answer::raw([format!("data: {KEY}\n\n")]),
            Answer::status(404, &echo),
        ])
        .await;
        let mut endpoint = endpoint(format, &format!("{}/?key=QUERY-SECRET", mock.base_url()));
        endpoint.headers.insert("x-gate".into(), "OTHER-SECRET".into());
        let provider = open(&endpoint).unwrap();
        let mut texts = vec![format!("{provider:?} {endpoint:?}")];
        for _ in 0..3 {
            texts.push(format!("{:?}", failed(&*provider, hello()).await));
        }
        texts.push(format!("{:?}", list_models(&endpoint).await));
        for text in texts {
            let secrets = [KEY, "OTHER-SECRET", "QUERY-SECRET"];
            assert!(secrets.iter().all(|secret| !text.contains(secret)), "{text}");
        }
        let path = &mock.requests()[0].path;
        assert!(path.ends_with("?key=QUERY-SECRET"), "{path}");
    }
}

#[tokio::test]
async fn a_redirect_is_refused_and_takes_no_key_along() {
    let elsewhere = Mock::start(vec![]).await;
    let target = format!("{}/v1/chat/completions", elsewhere.base_url());
    for status in [301, 302, 307, 308] {
        let mock = Mock::start(vec![Answer::status(status, "").header("location", &target)]).await;
        let error = failed(&*provider(Kind::OpenaiChat, &mock.base_url()), hello()).await;
        assert!(error.message.contains("redirects are not followed"), "{error:?}");
        assert_eq!(error.kind, ErrorKind::Permanent);
    }
    assert!(elsewhere.requests().is_empty());
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_failure_that_may_pass() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = failed(&*provider(Kind::OpenaiChat, &url), hello()).await;
    assert_eq!(error.kind, ErrorKind::Transient);
    assert!(error.message.contains("is the server running?"), "{error:?}");
}

#[tokio::test]
async fn a_long_refusal_is_cut() {
    let body = json!({"error": {"message": "é".repeat(100_000)}}).to_string();
    let mock =
        Mock::start(vec![Answer::status(400, &body), Answer::status(500, &"x".repeat(1 << 20))])
            .await;
    let provider = provider(Kind::OpenaiChat, &mock.base_url());
    for _ in 0..2 {
        let error = failed(&*provider, hello()).await;
        assert!(error.message.len() <= 2100, "{}", error.message.len());
    }
    assert_eq!(events(&*provider, hello()).await.len(), 1);
}

#[tokio::test]
async fn models_are_listed_with_the_window_the_server_tells() {
    let body = json!({"object": "list", "data": [
        {"id": "tiny", "meta": {"n_ctx": 8192}}, {"id": "models/big"}, {"object": "junk"}]});
    let mock =
        Mock::start(vec![Answer::status(200, &body.to_string()), Answer::status(200, "{\"x\":1}")])
            .await;
    let endpoint = endpoint(Kind::OpenaiChat, &mock.base_url());
    let models = list_models(&endpoint).await.unwrap();
    let got: Vec<_> =
        models.iter().map(|model| (model.id.as_str(), model.context_window)).collect();
    assert_eq!(got, [("tiny", 8192), ("big", 128_000)]);
    assert!(list_models(&endpoint).await.is_err());
    let request = &mock.requests()[0];
    assert_eq!(request.path, "/v1/models");
    assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
}
