//! The catalogue of model APIs: one file per wire format, one trait, one table.
//!
//! A provider turns a [`Request`] into a stream of [`StreamEvent`]s and nothing else: it neither
//! retries nor stores nor decides. To add one, write a file beside `openai_chat.rs`, implement
//! [`Provider`], and add a line to [`Kind`] and [`open`]; `script.rs` is the shortest example.

mod answer;
mod anthropic;
mod anthropic_decode;
pub mod catalogue;
mod classify;
mod connection;
mod demo;
mod demo_intent;
mod demo_rules;
mod demo_summary;
mod demo_texts;
mod exchange;
#[cfg(test)]
mod hostile_tests;
mod http;
pub mod known;
mod models;
mod openai_chat;
mod openai_decode;
mod playback;
mod retry;
mod script;
mod script_format;
mod sse;
mod think_tags;
mod tool_ids;
mod transform;
mod url;

pub use demo::Demo;
pub use models::list_models;
pub use retry::RetryPolicy;
pub use script::Script;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::BoxStream;
use tokio_util::sync::CancellationToken;

use crate::message::{AssistantMessage, Delta, Message, ThinkingLevel, ToolSpec};

/// A model as the program knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelSpec {
    /// The name of the configured provider, for instance `anthropic` or `ollama`.
    pub provider: String,
    /// The id sent to the server.
    pub id: String,
    /// Tokens the model can see.
    pub context_window: u64,
    /// Tokens it may write in one answer.
    pub max_output: u64,
    pub reasoning: bool,
    /// Accepts images.
    pub images: bool,
    /// US dollars per million tokens: input, output, cache read, cache write.
    pub price: [f64; 4],
    /// False when the numbers are safe defaults because the model is not in the catalogue.
    pub known: bool,
}

impl ModelSpec {
    /// `provider/id`.
    pub fn reference(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }
}

/// One request, complete: a provider needs nothing else. `messages` is already the repaired view
/// (`session::view`), so every call has exactly one result right after its message.
#[derive(Debug, Clone)]
pub struct Request {
    pub model: ModelSpec,
    pub system: String,
    /// `user`, `assistant` and `toolResult` only.
    pub messages: Vec<Arc<Message>>,
    pub tools: Vec<ToolSpec>,
    pub thinking: ThinkingLevel,
    /// A stable id for routing and caches.
    pub session_id: String,
    pub timeouts: Timeouts,
}

/// How long each stage may stay silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    pub connect: Duration,
    /// From sending the request to the first data event (comments and pings do not count).
    pub first_byte: Duration,
    /// Between two data events; comments and pings re-arm it.
    pub idle: Duration,
}

impl Default for Timeouts {
    /// The defaults of the config: 10 s, 120 s, 120 s.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(120),
            idle: Duration::from_secs(120),
        }
    }
}

/// What a stream yields: `Connected`? `Delta`* then exactly one `Finished` or `Failed`, last.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
    /// The response's head arrived.
    Connected {
        status: u16,
    },
    Delta(Delta),
    /// The answer is complete. `stop_reason` is `stop`, `length` or `toolUse`.
    Finished(Box<AssistantMessage>),
    /// It failed; what had arrived was given as deltas.
    Failed(ProviderError),
}

/// What kind of failure it is, which decides whether trying again can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// 401, 403, no key.
    Auth,
    /// 429 with a chance later. An exhausted quota is [`ErrorKind::Permanent`].
    RateLimited,
    /// The request is larger than the context window.
    Overflow,
    /// 408, 5xx, 529, resets, time-outs, cut or garbled streams: the same request may work later.
    Transient,
    /// The request itself is refused: 400, 404, quota, wrong URL.
    Permanent,
}

/// A provider's failure, with text for people: what was tried, what came back, never a key.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ProviderError {
    pub kind: ErrorKind,
    pub message: String,
    pub status: Option<u16>,
    /// What the server asked for (`Retry-After`, `retry-after-ms`).
    pub retry_after: Option<Duration>,
}

/// One model API. Dropping the stream or cancelling the token ends the connection.
pub trait Provider: Send + Sync + fmt::Debug {
    /// The `api` field of its assistant messages, for instance `openai-completions`.
    fn api(&self) -> &'static str;
    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxStream<'static, StreamEvent>;
}

/// The wire formats that `[providers.<name>] kind` can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    OpenaiChat,
    Anthropic,
    Demo,
    Script,
}

/// What a provider needs to be opened. Keys, header values and query values (which may be keys
/// too) never appear in `Debug` output.
#[derive(Clone)]
pub struct Endpoint {
    /// The provider's name in the config.
    pub name: String,
    pub kind: Kind,
    /// In any common spelling: with or without `/v1`, a trailing slash, or the full path.
    pub base_url: String,
    pub key: Option<secrecy::SecretString>,
    pub headers: BTreeMap<String, String>,
    /// For [`Kind::Script`]: the scenario file.
    pub script: Option<std::path::PathBuf>,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("name", &self.name)
            .field("kind", &self.kind)
            .field("base_url", &url::shown_text(&self.base_url))
            .field("key", &self.key.as_ref().map(|_| "[key]"))
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("script", &self.script)
            .finish()
    }
}

/// Opens the provider of an endpoint.
///
/// # Errors
/// When the script cannot be read, the base URL is no URL, or the HTTP client cannot be built.
pub fn open(endpoint: &Endpoint) -> Result<Arc<dyn Provider>, ProviderError> {
    Ok(match endpoint.kind {
        Kind::OpenaiChat => Arc::new(openai_chat::open(endpoint)?),
        Kind::Anthropic => Arc::new(anthropic::open(endpoint)?),
        Kind::Demo => Arc::new(Demo),
        Kind::Script => Arc::new(Script::open(endpoint)?),
    })
}
