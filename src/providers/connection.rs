//! An endpoint made ready for calls: the URL of its route, its headers, its client, and what must
//! never be shown of it. Streams and lists of models start from here.

use std::time::Duration;

use futures_util::StreamExt;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Response, Url};
use secrecy::ExposeSecret;

use crate::ports::{Clock, SystemClock};
use crate::providers::classify::{self, Tried};
use crate::providers::http::{HttpClient, Secrets};
use crate::providers::url::{Route, resolve, shown};
use crate::providers::{Endpoint, ErrorKind, ProviderError, Timeouts};

/// How long the body of a refusal may take.
const REFUSAL: Duration = Duration::from_secs(10);

/// An endpoint with everything a call needs but the call.
pub(super) struct Connection {
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) client: HttpClient,
    pub(super) secrets: Secrets,
    pub(super) tried: Tried,
}

impl Connection {
    /// `key_headers` are set unless the endpoint's own headers name them too.
    ///
    /// # Errors
    /// When the base URL, a header or the HTTP client is no good.
    pub(super) fn open(
        endpoint: &Endpoint,
        route: Route,
        key_headers: &[(&str, String)],
    ) -> Result<Self, ProviderError> {
        let mut tried = Tried {
            provider: endpoint.name.clone(),
            what: format!("opening provider {:?}", endpoint.name),
        };
        let refuse = |tried: &Tried, text: String| tried.error(ErrorKind::Permanent, &text);
        let url = resolve(&endpoint.base_url, route).map_err(|text| refuse(&tried, text))?;
        let mut secrets = Secrets::default();
        if let Some(key) = &endpoint.key {
            secrets.add(key.expose_secret());
        }
        let mut headers = HeaderMap::new();
        let configured = endpoint.headers.iter().map(|(name, value)| (name.as_str(), value));
        for (name, value) in
            key_headers.iter().map(|(name, value)| (*name, value)).chain(configured)
        {
            let parsed = HeaderName::try_from(name).ok().zip(HeaderValue::try_from(value).ok());
            let Some((header, mut value)) = parsed else {
                let text = format!("header {name:?} holds characters that no header can carry");
                return Err(refuse(&tried, text));
            };
            value.set_sensitive(true);
            headers.insert(header, value);
        }
        for value in endpoint.headers.values() {
            secrets.add(value);
        }
        for (_, value) in url.query_pairs() {
            secrets.add(&value);
        }
        let client = HttpClient::new(&url, Timeouts::default().connect)
            .map_err(|text| refuse(&tried, text))?;
        tried.what = shown(&url);
        Ok(Self { url, headers, client, secrets, tried })
    }
}

pub(super) fn wait_of(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    classify::retry_after(text("retry-after-ms"), text("retry-after"), SystemClock.now_ms())
}

/// The body of a refusal as far as it matters and comes in time.
pub(super) async fn refusal_body(response: Response) -> String {
    let mut body = Vec::new();
    let mut bytes = response.bytes_stream();
    let read = async {
        while let Some(Ok(chunk)) = bytes.next().await {
            body.extend_from_slice(&chunk);
            if body.len() > classify::MAX_BODY_BYTES {
                break;
            }
        }
    };
    // What came in time is enough.
    drop(tokio::time::timeout(REFUSAL, read).await);
    body.truncate(classify::MAX_BODY_BYTES);
    String::from_utf8_lossy(&body).into_owned()
}
