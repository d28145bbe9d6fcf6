//! What a refusal means: status, headers and body in, a [`ProviderError`] out.
//!
//! Servers agree on little (`error` objects, `detail`, plain text, HTML), so the kind is decided by
//! the texts they are known to send first and by the status after.

use std::time::Duration;

use serde_json::Value;

use crate::providers::{ErrorKind, ProviderError};

/// What of a server's text is kept: enough to read, too little to flood a screen.
const MAX_MESSAGE_BYTES: usize = 2048;
/// How much of a body is looked at.
pub(super) const MAX_BODY_BYTES: usize = 64 * 1024;
/// No server means a longer wait than a day; larger numbers are noise.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// How the known servers say that the request does not fit the context window.
const OVERFLOW_TEXTS: [&str; 22] = [
    "exceed_context_size_error",
    "context_length_exceeded",
    "model_context_window_exceeded",
    "request_too_large",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "input length and `max_tokens` exceed context limit",
    "exceeds the context window",
    "exceeds the available context size",
    "context size has been exceeded",
    "exceeds the maximum number of tokens",
    "maximum prompt length",
    "reduce the length of the messages",
    "maximum context length",
    "greater than the context length",
    "greater than context length",
    "context window exceeds limit",
    "exceeded model token limit",
    "exceeds the limit of",
    "context length exceeded",
    "larger than the context window",
];

/// How the known servers say that only money helps.
const QUOTA_TEXTS: [&str; 8] = [
    "insufficient_quota",
    "insufficient balance",
    "insufficient credits",
    "credit balance is too low",
    "exceeded_current_quota",
    "billing_hard_limit_reached",
    "billing_not_active",
    "access_terminated",
];

/// What was tried, for the text of an error.
#[derive(Debug, Clone)]
pub(super) struct Tried {
    /// The provider's configured name.
    pub(super) provider: String,
    /// `POST http://host/v1/chat/completions`, without secrets.
    pub(super) what: String,
}

impl Tried {
    /// An error without a status: `what: text`.
    pub(super) fn error(&self, kind: ErrorKind, text: &str) -> ProviderError {
        let message = format!("{}: {text}", self.what);
        ProviderError { kind, message: bounded(&message), status: None, retry_after: None }
    }

    pub(super) fn transient(&self, text: &str) -> ProviderError {
        self.error(ErrorKind::Transient, text)
    }

    /// The error of an HTTP answer that is no success.
    pub(super) fn refused(
        &self,
        status: u16,
        body: &str,
        retry_after: Option<Duration>,
    ) -> ProviderError {
        let text = message_of(body);
        let kind = kind_of(status, &body.to_lowercase());
        let text = if text.is_empty() { String::new() } else { format!(": {text}") };
        let text = format!("{} answered {status}{text}", self.what);
        ProviderError {
            kind,
            message: with_advice(&text, &self.advice(kind, status)),
            status: Some(status),
            retry_after: retry_after.or_else(|| delay_in_body(body)),
        }
    }

    /// The error of an `error` object inside a stream that began with 200, judged as the same
    /// object would be with its HTTP status.
    pub(super) fn refused_in_stream(&self, error: &Value) -> ProviderError {
        let body = error.to_string();
        let status = stream_status(error);
        let lower = body.to_lowercase();
        let kind = status.map_or_else(|| kind_of(500, &lower), |status| kind_of(status, &lower));
        let text = message_of(&body);
        let text = if text.is_empty() { "an error without a text" } else { &text };
        let text = format!("{}: the stream failed: {text}", self.what);
        ProviderError {
            kind,
            message: with_advice(&text, &self.advice(kind, status.unwrap_or(0))),
            status,
            retry_after: delay_in_body(&body),
        }
    }

    fn advice(&self, kind: ErrorKind, status: u16) -> String {
        match kind {
            ErrorKind::Auth => format!("check the key of provider {:?}", self.provider),
            ErrorKind::Permanent if status == 404 => {
                format!("check base_url and model of provider {:?}", self.provider)
            }
            ErrorKind::Permanent if matches!(status, 301..=308) => {
                "redirects are not followed with a key; set base_url to the final address".into()
            }
            _ => String::new(),
        }
    }
}

fn with_advice(text: &str, advice: &str) -> String {
    let text = bounded(text);
    if advice.is_empty() { text } else { format!("{text}; {advice}") }
}

fn kind_of(status: u16, body: &str) -> ErrorKind {
    let says = |texts: &[&str]| texts.iter().any(|text| body.contains(text));
    if status == 402 || says(&QUOTA_TEXTS) {
        return ErrorKind::Permanent;
    }
    if status != 429 && (status == 413 || says(&OVERFLOW_TEXTS)) {
        return ErrorKind::Overflow;
    }
    match status {
        401 | 403 => ErrorKind::Auth,
        429 => ErrorKind::RateLimited,
        408 | 409 | 425 | 500.. => ErrorKind::Transient,
        _ if status < 300 => ErrorKind::Transient,
        _ => ErrorKind::Permanent,
    }
}

/// The HTTP status that an error object in a stream stands for.
fn stream_status(error: &Value) -> Option<u16> {
    for key in ["code", "status", "status_code", "http_code"] {
        let number = match error.get(key) {
            Some(Value::Number(number)) => number.as_u64(),
            Some(Value::String(text)) => text.parse().ok(),
            _ => None,
        };
        if let Some(code) = number.filter(|code| (400..600).contains(code)) {
            return u16::try_from(code).ok();
        }
    }
    let named = ["type", "code", "status"].iter().filter_map(|key| error.get(*key)?.as_str());
    for name in named {
        match name {
            "invalid_request_error" | "invalid_argument" => return Some(400),
            "authentication_error" | "invalid_api_key" => return Some(401),
            "billing_error" => return Some(402),
            "permission_error" => return Some(403),
            "not_found_error" | "model_not_found" => return Some(404),
            "request_too_large" => return Some(413),
            "rate_limit_error" | "rate_limit_exceeded" | "RESOURCE_EXHAUSTED" => return Some(429),
            "overloaded_error" => return Some(529),
            "api_error" | "server_error" | "internal_server_error" => return Some(500),
            _ => {}
        }
    }
    None
}

/// What the body says to people, in one line's worth of text: the message of any known shape, the
/// title of an HTML page, else the text itself.
fn message_of(body: &str) -> String {
    let text = match serde_json::from_str::<Value>(body) {
        Ok(value) => message_of_json(&value).unwrap_or_else(|| value.to_string()),
        Err(_) if looks_like_html(body) => html_title(body),
        Err(_) => body.trim().to_owned(),
    };
    bounded(text.trim())
}

fn message_of_json(value: &Value) -> Option<String> {
    // Some servers wrap everything in a list of one.
    let value = value.as_array().and_then(|list| list.first()).unwrap_or(value);
    let error = value.get("error").unwrap_or(value);
    let text = [error.get("message"), error.get("detail"), error.get("error"), Some(error)]
        .into_iter()
        .flatten()
        .find_map(Value::as_str)
        .map(str::to_owned)?;
    // Routers put what the real server said one level deeper.
    match error.pointer("/metadata/raw").and_then(Value::as_str) {
        Some(raw) if !raw.is_empty() => Some(format!("{text}: {}", bounded(raw))),
        _ => Some(text),
    }
}

pub(super) fn looks_like_html(body: &str) -> bool {
    let start = body.trim_start().as_bytes();
    let starts =
        |tag: &[u8]| start.len() >= tag.len() && start[..tag.len()].eq_ignore_ascii_case(tag);
    starts(b"<!doctype html") || starts(b"<html") || starts(b"<head") || starts(b"<body")
}

fn html_title(body: &str) -> String {
    // ASCII lowering keeps byte positions, so what is found fits the original.
    let lower = body.to_ascii_lowercase();
    for tag in ["title", "h1"] {
        let Some(open) = lower.find(&format!("<{tag}")) else { continue };
        let Some(start) = lower[open..].find('>').map(|at| open + at + 1) else { continue };
        let Some(end) = lower[start..].find('<').map(|at| start + at) else { continue };
        let title = body[start..end].split_whitespace().collect::<Vec<_>>().join(" ");
        if !title.is_empty() {
            return format!("an HTML page, {title:?}");
        }
    }
    "an HTML page".into()
}

/// The text, at most [`MAX_MESSAGE_BYTES`], cut between characters.
fn bounded(text: &str) -> String {
    if text.len() <= MAX_MESSAGE_BYTES {
        return text.to_owned();
    }
    let mut end = MAX_MESSAGE_BYTES - '…'.len_utf8();
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}

/// What `retry-after-ms` and `Retry-After` (seconds or a date) ask for. `now_ms` is Unix time.
pub(super) fn retry_after(ms: Option<&str>, after: Option<&str>, now_ms: i64) -> Option<Duration> {
    if let Some(ms) = ms.and_then(|text| text.trim().parse::<f64>().ok()) {
        return seconds(ms / 1000.0);
    }
    let after = after?.trim();
    if let Ok(number) = after.parse::<f64>() {
        return seconds(number);
    }
    let at = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(after).ok()?;
    let wait = at.as_millisecond().saturating_sub(now_ms).max(0);
    Some(Duration::from_millis(wait.unsigned_abs()).min(MAX_RETRY_AFTER))
}

fn seconds(number: f64) -> Option<Duration> {
    if !number.is_finite() || number < 0.0 {
        return None;
    }
    Some(Duration::from_secs_f64(number.min(MAX_RETRY_AFTER.as_secs_f64())))
}

/// `"retryDelay": "34s"`, which one provider puts into the body instead of a header.
fn delay_in_body(body: &str) -> Option<Duration> {
    let after = body.split_once("\"retryDelay\"")?.1;
    let number = after.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    seconds(number.split_once("s\"")?.0.parse().ok()?)
}
