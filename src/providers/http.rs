//! The one way to an HTTP client, because each default of the library is wrong for us: it follows
//! redirects with our key, sends loopback traffic to a proxy, and fails where no CA files are.

use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

use reqwest::{Client, Url};
use secrecy::{ExposeSecret, SecretString};

use crate::providers::url::is_loopback;

/// Keeps idle connections alive through NAT boxes while a model thinks.
const TCP_KEEPALIVE: Duration = Duration::from_secs(30);
/// A secret shorter than this is not looked for in texts: it would match ordinary words.
const MIN_SECRET_BYTES: usize = 6;

/// A client for one base URL. The connect time-out comes with each request, and the library wants
/// it when it builds, so the client is built again when the time-out changes.
#[derive(Debug)]
pub(super) struct HttpClient {
    loopback: bool,
    plain: bool,
    built: Mutex<(Duration, Client)>,
}

impl HttpClient {
    /// # Errors
    /// Why no client could be built.
    pub(super) fn new(url: &Url, connect: Duration) -> Result<Self, String> {
        let loopback = is_loopback(url);
        let plain = url.scheme() == "http";
        let client = build(loopback, plain, connect)?;
        Ok(Self { loopback, plain, built: Mutex::new((connect, client)) })
    }

    /// The client with this connect time-out. Clones share their connections.
    ///
    /// # Errors
    /// Why no client could be built.
    pub(super) fn with_connect(&self, connect: Duration) -> Result<Client, String> {
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if built.0 != connect {
            *built = (connect, build(self.loopback, self.plain, connect)?);
        }
        Ok(built.1.clone())
    }
}

fn build(loopback: bool, plain: bool, connect: Duration) -> Result<Client, String> {
    static PROVIDER: Once = Once::new();
    // Somebody may have installed one before us; then theirs serves.
    PROVIDER.call_once(|| drop(rustls::crypto::ring::default_provider().install_default()));
    let builder = || {
        let builder = Client::builder()
            .connect_timeout(connect)
            .redirect(reqwest::redirect::Policy::none())
            .tcp_keepalive(TCP_KEEPALIVE)
            .user_agent(concat!("harness-tui/", env!("CARGO_PKG_VERSION")));
        if loopback { builder.no_proxy() } else { builder }
    };
    match builder().build() {
        Ok(client) => Ok(client),
        // A machine without CA files can still speak plain HTTP.
        Err(_) if plain => builder().tls_certs_only([]).build().map_err(|error| chain(&error)),
        Err(error) => Err(format!("{}; are CA certificates installed?", chain(&error))),
    }
}

/// An error with its causes, without the URL (which may hold a key).
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

/// What a transport error says, without the URL.
pub(super) fn transport_text(error: reqwest::Error) -> String {
    chain(&error.without_url())
}

/// The secrets of an endpoint, to be taken out of every text a server sends back.
#[derive(Clone, Default)]
pub(super) struct Secrets(Vec<SecretString>);

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} secrets", self.0.len())
    }
}

impl Secrets {
    pub(super) fn add(&mut self, secret: &str) {
        if secret.len() >= MIN_SECRET_BYTES {
            self.0.push(SecretString::from(secret.to_owned()));
        }
    }

    /// The text with `[key]` in place of every secret.
    pub(super) fn redact(&self, text: &str) -> String {
        let mut out = text.to_owned();
        for secret in &self.0 {
            if out.contains(secret.expose_secret()) {
                out = out.replace(secret.expose_secret(), "[key]");
            }
        }
        out
    }
}
