//! A model server on loopback that plays prepared answers in both wire formats, with faults.
//!
//! ```ignore
//! let mock = Mock::start(vec![Answer::text("hello"), Answer::status(500, "down")]).await;
//! // ... point a provider at mock.base_url(), ask twice, look at mock.requests()
//! ```
//! The path decides the format; the answers are given in order, one for each request.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use axum::serve::ListenerExt;
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};

/// One prepared answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    content: Content,
    end: End,
    /// Pieces written before the end comes.
    after: usize,
}

#[derive(Debug, Clone)]
enum Content {
    /// Written in the format of the path.
    Spoken { thinking: String, text: String, calls: Vec<(String, String)>, stop: Option<String> },
    /// Written as they are, one network write each.
    Raw(Vec<Vec<u8>>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The whole answer, properly ended.
    Whole,
    /// A clean end of the body after some pieces.
    Close,
    /// A broken connection after some pieces.
    Reset,
    /// Silence after some pieces.
    Stall,
}

impl Answer {
    pub(crate) fn text(text: &str) -> Self {
        let content = Content::Spoken {
            thinking: String::new(),
            text: text.into(),
            calls: Vec::new(),
            stop: None,
        };
        Self { status: 200, headers: Vec::new(), content, end: End::Whole, after: usize::MAX }
    }

    /// A refusal with this body.
    pub(crate) fn status(status: u16, body: &str) -> Self {
        Self { status, ..Self::raw([body]) }.header("content-type", "application/json")
    }

    /// A body of these pieces, one network write each, as an event stream.
    pub(crate) fn raw<T: AsRef<[u8]>>(pieces: impl IntoIterator<Item = T>) -> Self {
        let pieces = pieces.into_iter().map(|piece| piece.as_ref().to_vec()).collect();
        Self { content: Content::Raw(pieces), ..Self::text("") }
    }

    pub(crate) fn thinking(mut self, said: &str) -> Self {
        if let Content::Spoken { thinking, .. } = &mut self.content {
            *thinking = said.into();
        }
        self
    }

    /// Adds a call; `arguments` is the JSON text, whole or broken.
    pub(crate) fn call(mut self, name: &str, arguments: &str) -> Self {
        if let Content::Spoken { calls, .. } = &mut self.content {
            calls.push((name.into(), arguments.into()));
        }
        self
    }

    /// The finish reason, in the words of the format.
    pub(crate) fn stop(mut self, reason: &str) -> Self {
        if let Content::Spoken { stop, .. } = &mut self.content {
            *stop = Some(reason.into());
        }
        self
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn close_after(self, pieces: usize) -> Self {
        Self { end: End::Close, after: pieces, ..self }
    }

    pub(crate) fn reset_after(self, pieces: usize) -> Self {
        Self { end: End::Reset, after: pieces, ..self }
    }

    pub(crate) fn stall_after(self, pieces: usize) -> Self {
        Self { end: End::Stall, after: pieces, ..self }
    }

    /// The whole body as it would be written for a request to `path`.
    pub(crate) fn bytes(&self, path: &str) -> Vec<u8> {
        self.pieces(path).concat()
    }

    /// How many pieces that is.
    pub(crate) fn count(&self, path: &str) -> usize {
        self.pieces(path).len()
    }

    fn pieces(&self, path: &str) -> Vec<Vec<u8>> {
        match &self.content {
            Content::Raw(pieces) => pieces.clone(),
            Content::Spoken { thinking, text, calls, stop } => {
                let stop = stop.as_deref();
                let events = if path.ends_with("/messages") {
                    anthropic(thinking, text, calls, stop)
                } else {
                    openai(thinking, text, calls, stop)
                };
                events.into_iter().map(String::into_bytes).collect()
            }
        }
    }
}

/// One request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Recorded {
    /// Path and query.
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    /// Null when the body was no JSON.
    pub(crate) body: Value,
}

impl Recorded {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

#[derive(Debug, Default)]
struct Shared {
    answers: Mutex<VecDeque<Answer>>,
    requests: Mutex<Vec<Recorded>>,
}

/// The server. It stops when it is dropped.
#[derive(Debug)]
pub(crate) struct Mock {
    base_url: String,
    shared: Arc<Shared>,
    server: tokio::task::JoinHandle<()>,
}

impl Mock {
    pub(crate) async fn start(answers: Vec<Answer>) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared { answers: Mutex::new(answers.into()), ..Shared::default() });
        // Without it two small writes wait for each other.
        let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
        let router = Router::new().fallback(handle).with_state(Arc::clone(&shared));
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { base_url, shared, server }
    }

    /// `http://127.0.0.1:PORT`, without a path.
    pub(crate) fn base_url(&self) -> String {
        self.base_url.clone()
    }

    /// The requests so far, in order.
    pub(crate) fn requests(&self) -> Vec<Recorded> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// Adds answers for later requests.
    pub(crate) fn push(&self, answer: Answer) {
        self.shared.answers.lock().unwrap().push_back(answer);
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn handle(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let bytes = axum::body::to_bytes(body, 64 << 20).await.unwrap_or_default();
    let path = head.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    let headers = head.headers.iter();
    shared.requests.lock().unwrap().push(Recorded {
        path,
        headers: headers
            .map(|(name, value)| (name.to_string(), value.to_str().unwrap_or("?").to_owned()))
            .collect(),
        body: serde_json::from_slice(&bytes).unwrap_or(Value::Null),
    });
    let answer = shared.answers.lock().unwrap().pop_front();
    let answer = answer.unwrap_or_else(|| Answer::status(418, "the mock has no more answers"));
    let mut response = Response::builder().status(answer.status);
    if answer.headers.iter().all(|(name, _)| *name != "content-type") {
        response = response.header("content-type", "text/event-stream");
    }
    for (name, value) in &answer.headers {
        response = response.header(*name, value);
    }
    response.body(body_of(&answer, head.uri.path())).unwrap()
}

fn body_of(answer: &Answer, path: &str) -> Body {
    let pieces =
        answer.pieces(path).into_iter().take(answer.after).map(|piece| Ok(Bytes::from(piece)));
    let paced = stream::iter(pieces).then(|piece| async {
        // Lets the piece before leave in a write of its own.
        tokio::task::yield_now().await;
        piece
    });
    let broken = || async {
        // What was written before has to leave first.
        for _ in 0..4 {
            tokio::task::yield_now().await;
        }
        Err(std::io::Error::other("reset by the mock"))
    };
    match answer.end {
        End::Whole | End::Close => Body::from_stream(paced),
        End::Reset => Body::from_stream(paced.chain(stream::once(broken()))),
        End::Stall => Body::from_stream(paced.chain(stream::pending())),
    }
}

/// Pieces of a few characters, so that answers stream.
fn split(text: &str) -> Vec<String> {
    text.chars().collect::<Vec<_>>().chunks(7).map(|chunk| chunk.iter().collect()).collect()
}

fn openai(
    thinking: &str,
    text: &str,
    calls: &[(String, String)],
    stop: Option<&str>,
) -> Vec<String> {
    let chunk = |delta: Value, finish: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        let value = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk",
            "model": "served", "choices": [choice]});
        format!("data: {value}\n\n")
    };
    let mut out = vec![chunk(json!({"role": "assistant", "content": null}), None)];
    out.extend(split(thinking).iter().map(|part| chunk(json!({"reasoning_content": part}), None)));
    out.extend(split(text).iter().map(|part| chunk(json!({"content": part}), None)));
    for (index, (name, arguments)) in calls.iter().enumerate() {
        let call = json!({"index": index, "id": format!("call_{index}"), "type": "function",
            "function": {"name": name, "arguments": ""}});
        out.push(chunk(json!({"tool_calls": [call]}), None));
        out.extend(split(arguments).iter().map(|part| {
            let call = json!({"index": index, "function": {"arguments": part}});
            chunk(json!({"tool_calls": [call]}), None)
        }));
    }
    let usual = if calls.is_empty() { "stop" } else { "tool_calls" };
    out.push(chunk(json!({}), Some(stop.unwrap_or(usual))));
    let usage = json!({"id": "chatcmpl-1", "choices": [], "usage": {"prompt_tokens": 100,
        "completion_tokens": 20, "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": 40}}});
    out.push(format!("data: {usage}\n\n"));
    out.push("data: [DONE]\n\n".into());
    out
}

fn anthropic(
    thinking: &str,
    text: &str,
    calls: &[(String, String)],
    stop: Option<&str>,
) -> Vec<String> {
    let event = |value: Value| {
        format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap_or_default())
    };
    let mut out = vec![event(json!({"type": "message_start", "message": {"id": "msg_1",
        "model": "served", "usage": {"input_tokens": 60, "output_tokens": 1,
        "cache_read_input_tokens": 40, "cache_creation_input_tokens": 7}}}))];
    let mut block = |start: Value, deltas: Vec<Value>| {
        let index = out.iter().filter(|event| event.contains("content_block_start")).count();
        out.push(event(json!({"type": "content_block_start", "index": index,
            "content_block": start})));
        out.extend(deltas.into_iter().map(|delta| {
            event(json!({"type": "content_block_delta", "index": index, "delta": delta}))
        }));
        out.push(event(json!({"type": "content_block_stop", "index": index})));
    };
    if !thinking.is_empty() {
        let said = split(thinking);
        let mut deltas: Vec<Value> =
            said.iter().map(|part| json!({"type": "thinking_delta", "thinking": part})).collect();
        deltas.push(json!({"type": "signature_delta", "signature": "sig=="}));
        block(json!({"type": "thinking", "thinking": "", "signature": ""}), deltas);
    }
    if !text.is_empty() {
        let said = split(text);
        let deltas = said.iter().map(|part| json!({"type": "text_delta", "text": part}));
        block(json!({"type": "text", "text": ""}), deltas.collect());
    }
    for (index, (name, arguments)) in calls.iter().enumerate() {
        let start = json!({"type": "tool_use", "id": format!("call_{index}"), "name": name,
            "input": {}});
        let said = split(arguments);
        let piece = |part: &String| json!({"type": "input_json_delta", "partial_json": part});
        block(start, said.iter().map(piece).collect());
    }
    let usual = if calls.is_empty() { "end_turn" } else { "tool_use" };
    out.push(event(
        json!({"type": "message_delta", "delta": {"stop_reason": stop.unwrap_or(usual)},
        "usage": {"output_tokens": 20}}),
    ));
    out.push(event(json!({"type": "message_stop"})));
    out
}
