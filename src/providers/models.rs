//! Asks a server which models it has; the answer is as foreign as any other, so it is bounded.

use std::time::Duration;

use futures_util::StreamExt;
use serde_json::Value;

use crate::providers::ModelSpec;
use crate::providers::connection::{Connection, refusal_body, wait_of};
use crate::providers::http::transport_text;
use crate::providers::url::Route;
use crate::providers::{
    Endpoint, ErrorKind, Kind, ProviderError, anthropic, catalogue, openai_chat,
};

/// The longest list read; the largest router's is about 1 MB.
const MAX_LIST_BYTES: usize = 8 * 1024 * 1024;
/// More models than this are not a list for people.
const MAX_MODELS: usize = 5000;
/// The whole call.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The models of a provider, in the server's order. The context window is the server's where it
/// tells one. The demo and scripts name their one model.
///
/// # Errors
/// When the server cannot be reached, refuses, or answers with no list.
pub async fn list_models(endpoint: &Endpoint) -> Result<Vec<ModelSpec>, ProviderError> {
    let headers = match endpoint.kind {
        Kind::OpenaiChat => openai_chat::key_headers(endpoint),
        Kind::Anthropic => anthropic::key_headers(endpoint),
        Kind::Demo => return Ok(vec![catalogue::model("demo", "demo")]),
        Kind::Script => return Ok(vec![catalogue::model(&endpoint.name, "script")]),
    };
    let mut connection = Connection::open(endpoint, Route::Models, &headers)?;
    connection.tried.what = format!("GET {}", connection.tried.what);
    let mut result = match tokio::time::timeout(TIMEOUT, fetch(&connection)).await {
        Ok(Ok(list)) => parse(&endpoint.name, &list).ok_or_else(|| {
            connection
                .tried
                .error(ErrorKind::Permanent, "the answer is no list of models; check base_url")
        }),
        Ok(Err(error)) => Err(error),
        Err(_elapsed) => Err(connection.tried.transient("no answer within 15 s")),
    };
    if let Err(error) = &mut result {
        error.message = connection.secrets.redact(&error.message);
    }
    result
}

async fn fetch(connection: &Connection) -> Result<Value, ProviderError> {
    let tried = &connection.tried;
    let client = connection
        .client
        .with_connect(TIMEOUT)
        .map_err(|text| tried.error(ErrorKind::Permanent, &text))?;
    let sent = client.get(connection.url.clone()).headers(connection.headers.clone()).send().await;
    let response = sent.map_err(|error| tried.transient(&transport_text(error)))?;
    let status = response.status();
    if !status.is_success() {
        let wait = wait_of(response.headers());
        return Err(tried.refused(status.as_u16(), &refusal_body(response).await, wait));
    }
    let mut body = Vec::new();
    let mut bytes = response.bytes_stream();
    while let Some(chunk) = bytes.next().await {
        body.extend_from_slice(&chunk.map_err(|error| tried.transient(&transport_text(error)))?);
        if body.len() > MAX_LIST_BYTES {
            return Err(tried.error(ErrorKind::Permanent, "the list is larger than 8 MiB"));
        }
    }
    Ok(serde_json::from_slice(&body).unwrap_or(Value::Null))
}

fn parse(provider: &str, list: &Value) -> Option<Vec<ModelSpec>> {
    let data = list.get("data").or_else(|| list.get("models")).unwrap_or(list).as_array()?;
    let model = |entry: &Value| {
        let id = entry.get("id").or_else(|| entry.get("name"))?.as_str()?;
        // The compatible endpoint of one provider puts a path before the id.
        let mut spec = catalogue::model(provider, id.strip_prefix("models/").unwrap_or(id));
        let window = ["/meta/n_ctx", "/context_length", "/max_model_len", "/max_context_length"]
            .iter()
            .find_map(|path| entry.pointer(path)?.as_u64());
        if let Some(window) = window.filter(|window| *window > 0) {
            spec.context_window = window;
            spec.max_output = spec.max_output.min(window);
        }
        Some(spec)
    };
    Some(data.iter().take(MAX_MODELS).filter_map(model).collect())
}
