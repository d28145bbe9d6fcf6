//! One request and its answer over HTTP, the same for every wire format: send, adapt to what a
//! server refuses, read events under the timers, and end with exactly one final event.
//!
//! It is a state that a stream unfolds, not a task: dropping the stream drops the connection.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use futures_util::stream::{BoxStream, StreamExt, unfold};
use reqwest::header::HeaderMap;
use reqwest::{Response, Url};
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::message::{AssistantMessage, Delta};
use crate::providers::classify::Tried;
use crate::providers::connection::{Connection, refusal_body, wait_of};
use crate::providers::http::{HttpClient, Secrets, transport_text};
use crate::providers::sse::{Event, Events, Fault};
use crate::providers::url::Route;
use crate::providers::{
    Endpoint, ErrorKind, Provider, ProviderError, Request, StreamEvent, Timeouts,
};

/// How long the rest of a stream (usage, the end mark) may take once the answer is complete.
const TAIL: Duration = Duration::from_secs(5);
/// A refusal leads to at most this many adapted requests, one for each quirk.
const MAX_ADAPTED: usize = 4;

/// What a server turned out not to accept, one bit each; remembered as long as the provider lives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Quirks(u8);

impl Quirks {
    /// Refuses `stream_options`.
    pub(super) const NO_USAGE_OPTION: Self = Self(1);
    /// Refuses `reasoning_effort`.
    pub(super) const NO_EFFORT: Self = Self(2);
    /// Wants the other of `max_tokens` and `max_completion_tokens`.
    pub(super) const OTHER_MAX_TOKENS: Self = Self(4);
    /// Wants adaptive thinking in place of a budget.
    pub(super) const ADAPTIVE_THINKING: Self = Self(8);

    pub(super) fn has(self, quirk: Self) -> bool {
        self.0 & quirk.0 != 0
    }
}

/// What a decoder says after an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    More,
    /// The answer is complete; only usage and the end mark may follow.
    Tail,
    /// Nothing follows.
    Done,
}

/// Reads the events of one answer.
pub(super) trait Decoder: Send {
    /// # Errors
    /// When the event is an error, or no event of this wire format.
    fn event(&mut self, event: &Event) -> Result<Step, ProviderError>;
    /// The deltas since the last call.
    fn take(&mut self) -> Vec<Delta>;
    /// The whole answer, when the stream is over.
    ///
    /// # Errors
    /// When the answer is cut off or empty.
    fn end(&mut self) -> Result<AssistantMessage, ProviderError>;
}

/// A wire format.
pub(super) trait Wire: Send + Sync + fmt::Debug + 'static {
    fn api(&self) -> &'static str;
    fn body(&self, request: &Request, quirks: Quirks) -> Value;
    fn decoder(&self, request: &Request, tried: &Tried) -> Box<dyn Decoder>;
    /// Which quirk, of those not yet known, explains a 400 with this text.
    fn quirk(&self, body: &str, known: Quirks) -> Option<Quirks>;
}

/// A provider over HTTP.
#[derive(Debug)]
pub(super) struct HttpProvider {
    inner: Arc<Inner>,
}

struct Inner {
    wire: Box<dyn Wire>,
    url: Url,
    headers: HeaderMap,
    client: HttpClient,
    secrets: Secrets,
    tried: Tried,
    quirks: AtomicU8,
}

impl fmt::Debug for Inner {
    /// The URL and the headers hold keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:?}", self.wire, self.tried)
    }
}

impl HttpProvider {
    /// # Errors
    /// When the base URL, a header or the HTTP client is no good.
    pub(super) fn open(
        endpoint: &Endpoint,
        route: Route,
        key_headers: &[(&str, String)],
        wire: Box<dyn Wire>,
    ) -> Result<Self, ProviderError> {
        let connection = Connection::open(endpoint, route, key_headers)?;
        let Connection { url, headers, client, secrets, mut tried } = connection;
        tried.what = format!("POST {}", tried.what);
        let quirks = AtomicU8::new(0);
        let inner = Inner { wire, url, headers, client, secrets, tried, quirks };
        Ok(Self { inner: Arc::new(inner) })
    }
}

impl Provider for HttpProvider {
    fn api(&self) -> &'static str {
        self.inner.wire.api()
    }

    fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> BoxStream<'static, StreamEvent> {
        let exchange = Exchange {
            inner: Arc::clone(&self.inner),
            cancel,
            out: VecDeque::new(),
            phase: Phase::Start(Box::new(request)),
        };
        unfold(exchange, |mut exchange| async move {
            loop {
                if let Some(event) = exchange.out.pop_front() {
                    return Some((event, exchange));
                }
                if matches!(exchange.phase, Phase::Over) {
                    return None;
                }
                exchange.advance().await;
            }
        })
        .boxed()
    }
}

struct Exchange {
    inner: Arc<Inner>,
    cancel: CancellationToken,
    out: VecDeque<StreamEvent>,
    phase: Phase,
}

enum Phase {
    Start(Box<Request>),
    Reading(Reading),
    Over,
}

struct Reading {
    events: Events,
    decoder: Box<dyn Decoder>,
    /// Set once the answer is complete.
    tail_ends: Option<Instant>,
}

impl Exchange {
    async fn advance(&mut self) {
        let cancel = self.cancel.clone();
        let result = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(self.inner.tried.error(ErrorKind::Permanent, "cancelled")),
            result = self.step() => result,
        };
        if let Err(error) = result {
            self.fail(error);
        }
    }

    fn fail(&mut self, mut error: ProviderError) {
        if let Phase::Reading(reading) = &mut self.phase {
            self.out.extend(reading.decoder.take().into_iter().map(StreamEvent::Delta));
        }
        error.message = self.inner.secrets.redact(&error.message);
        self.out.push_back(StreamEvent::Failed(error));
        self.phase = Phase::Over;
    }

    async fn step(&mut self) -> Result<(), ProviderError> {
        match &mut self.phase {
            Phase::Over => Ok(()),
            Phase::Start(request) => {
                let (response, deadline) = self.inner.send_in_time(request).await?;
                self.out.push_back(StreamEvent::Connected { status: response.status().as_u16() });
                let decoder = self.inner.wire.decoder(request, &self.inner.tried);
                let events = self.inner.events(response, deadline, request.timeouts).await?;
                self.phase = Phase::Reading(Reading { events, decoder, tail_ends: None });
                Ok(())
            }
            Phase::Reading(reading) => {
                let over = reading.next(&self.inner.tried).await?;
                let end = if over { Some(reading.decoder.end()?) } else { None };
                self.out.extend(reading.decoder.take().into_iter().map(StreamEvent::Delta));
                if let Some(message) = end {
                    self.out.push_back(StreamEvent::Finished(Box::new(message)));
                    self.phase = Phase::Over;
                }
                Ok(())
            }
        }
    }
}

impl Reading {
    /// Reads one event; true when the answer is over.
    async fn next(&mut self, tried: &Tried) -> Result<bool, ProviderError> {
        let event = match self.tail_ends {
            None => self.events.next().await,
            // What goes wrong after a complete answer does not matter any more.
            Some(at) => match tokio::time::timeout_at(at, self.events.next()).await {
                Ok(Some(Ok(event))) => Some(Ok(event)),
                _ => return Ok(true),
            },
        };
        match event {
            None => Ok(true),
            Some(Err(fault)) => Err(fault_error(tried, &fault)),
            Some(Ok(event)) => match self.decoder.event(&event)? {
                Step::Done => Ok(true),
                Step::More => Ok(false),
                Step::Tail => {
                    self.tail_ends.get_or_insert_with(|| Instant::now() + TAIL);
                    Ok(false)
                }
            },
        }
    }
}

fn fault_error(tried: &Tried, fault: &Fault) -> ProviderError {
    tried.transient(&fault.to_string())
}

impl Inner {
    async fn send_in_time(&self, request: &Request) -> Result<(Response, Instant), ProviderError> {
        let first_byte = request.timeouts.first_byte;
        let deadline = Instant::now() + first_byte;
        match tokio::time::timeout_at(deadline, self.send(request)).await {
            Ok(response) => Ok((response?, deadline)),
            Err(_elapsed) => Err(fault_error(&self.tried, &Fault::FirstByte(first_byte))),
        }
    }

    /// Sends, and sends again without what the server says it does not know.
    async fn send(&self, request: &Request) -> Result<Response, ProviderError> {
        let client = self
            .client
            .with_connect(request.timeouts.connect)
            .map_err(|text| self.tried.error(ErrorKind::Permanent, &text))?;
        let mut quirks = Quirks(self.quirks.load(Ordering::Relaxed));
        for _ in 0..MAX_ADAPTED {
            let response = self.post(&client, request, quirks).await?;
            if response.status().is_success() {
                self.quirks.fetch_or(quirks.0, Ordering::Relaxed);
                return Ok(response);
            }
            let status = response.status().as_u16();
            let wait = wait_of(response.headers());
            let body = refusal_body(response).await;
            let quirk = match status {
                400 | 422 => self.wire.quirk(&body, quirks),
                _ => None,
            };
            match quirk {
                Some(quirk) => quirks = Quirks(quirks.0 | quirk.0),
                None => return Err(self.tried.refused(status, &body, wait)),
            }
        }
        Err(self.tried.error(ErrorKind::Permanent, "every form of the request was refused"))
    }

    async fn post(
        &self,
        client: &reqwest::Client,
        request: &Request,
        quirks: Quirks,
    ) -> Result<Response, ProviderError> {
        let body = self.wire.body(request, quirks);
        let sent = client.post(self.url.clone()).headers(self.headers.clone()).json(&body).send();
        sent.await.map_err(|error| self.tried.transient(&unreached(error)))
    }

    /// The events of a successful response; a server that does not stream gives one event.
    async fn events(
        &self,
        response: Response,
        deadline: Instant,
        timeouts: Timeouts,
    ) -> Result<Events, ProviderError> {
        let status = response.status().as_u16();
        let content_type = response
            .headers()
            .get(reqwest::header::CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
            .to_ascii_lowercase();
        if content_type.starts_with("text/html") {
            let body = refusal_body(response).await;
            return Err(self.tried.refused(status, &body, None));
        }
        let bytes = response.bytes_stream().map(|item| item.map_err(transport_text)).boxed();
        let bytes =
            if content_type.starts_with("application/json") { as_event(bytes) } else { bytes };
        Ok(Events::new(bytes, deadline, timeouts.first_byte, timeouts.idle))
    }
}

type ByteStream = BoxStream<'static, Result<bytes::Bytes, String>>;

/// A whole JSON document as the data of one event: line ends become spaces, which JSON allows
/// wherever a raw line end can stand.
fn as_event(bytes: ByteStream) -> ByteStream {
    let one_line = bytes.map(|item| {
        item.map(|chunk| {
            let flat = |byte: &u8| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte };
            chunk.iter().map(flat).collect::<bytes::Bytes>()
        })
    });
    let start = futures_util::stream::once(async { Ok(bytes::Bytes::from_static(b"data: ")) });
    start.chain(one_line).boxed()
}

fn unreached(error: reqwest::Error) -> String {
    let advice = if error.is_connect() { "; is the server running?" } else { "" };
    format!("{}{advice}", transport_text(error))
}
