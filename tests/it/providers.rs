//! The providers against a model server with faults: what arrives, what is sent, what is refused.

mod faults;
mod history;
mod scripts;
mod streams;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use harness_tui::message::{AssistantMessage, Message, Part, ThinkingLevel, ToolSpec};
use harness_tui::providers::{
    Endpoint, Kind, ModelSpec, Provider, ProviderError, Request, StreamEvent, Timeouts, open,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

pub(crate) const KEY: &str = "SECRET-KEY-0123456789";

pub(crate) fn endpoint(kind: Kind, base_url: &str) -> Endpoint {
    Endpoint {
        name: "mock".into(),
        kind,
        base_url: base_url.into(),
        key: Some(KEY.to_owned().into()),
        headers: BTreeMap::new(),
        script: None,
    }
}

pub(crate) fn provider(kind: Kind, base_url: &str) -> Arc<dyn Provider> {
    open(&endpoint(kind, base_url)).unwrap()
}

pub(crate) fn model() -> ModelSpec {
    ModelSpec {
        provider: "mock".into(),
        id: "m".into(),
        context_window: 100_000,
        max_output: 8_000,
        reasoning: true,
        images: true,
        price: [1.0, 10.0, 0.5, 2.0],
        known: true,
    }
}

pub(crate) fn read_tool() -> ToolSpec {
    let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    ToolSpec { name: "read".into(), description: "Reads a file.".into(), parameters }
}

pub(crate) fn request(messages: Vec<Message>) -> Request {
    Request {
        model: model(),
        system: "be brief".into(),
        messages: messages.into_iter().map(Arc::new).collect(),
        tools: vec![read_tool()],
        thinking: ThinkingLevel::Off,
        session_id: "s-1".into(),
        timeouts: Timeouts {
            connect: Duration::from_secs(5),
            first_byte: Duration::from_secs(20),
            idle: Duration::from_secs(20),
        },
    }
}

pub(crate) fn hello() -> Request {
    request(vec![Message::user("hello", 1)])
}

/// All events; the time stamp of the message is taken out.
pub(crate) async fn events(provider: &dyn Provider, request: Request) -> Vec<StreamEvent> {
    let mut events: Vec<StreamEvent> =
        provider.stream(request, CancellationToken::new()).collect().await;
    if let Some(StreamEvent::Finished(message)) = events.last_mut() {
        message.timestamp = 0;
    }
    let last = events.last().expect("a stream has an end");
    assert!(matches!(last, StreamEvent::Finished(_) | StreamEvent::Failed(_)), "{last:?}");
    events
}

pub(crate) async fn finished(provider: &dyn Provider, request: Request) -> AssistantMessage {
    match events(provider, request).await.pop() {
        Some(StreamEvent::Finished(message)) => *message,
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn failed(provider: &dyn Provider, request: Request) -> ProviderError {
    match events(provider, request).await.pop() {
        Some(StreamEvent::Failed(error)) => error,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn thinking(text: &str, signature: Option<&str>) -> Part {
    Part::Thinking {
        thinking: text.into(),
        thinking_signature: signature.map(Into::into),
        redacted: false,
    }
}
