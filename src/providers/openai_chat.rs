//! Streaming chat completions, the wire format that most servers speak, each with its own accent.
//!
//! The request is written for the strictest of them (one system message, no two user messages in a
//! row, arguments always an object); what a server still refuses is left out and remembered.

use secrecy::ExposeSecret;
use serde_json::{Map, Value, json};

use crate::message::{Part, ThinkingLevel, ToolCall};
use crate::providers::classify::Tried;
use crate::providers::exchange::{Decoder, HttpProvider, Quirks, Wire};
use crate::providers::openai_decode::ChatDecoder;
use crate::providers::tool_ids::IdRule;
use crate::providers::transform::{Item, Reply, prepare};
use crate::providers::url::Route;
use crate::providers::{Endpoint, ProviderError, Request};
use crate::text::tokens;

pub(super) const API: &str = "openai-completions";

/// Field names in which servers send thinking and want it back, the usual one first.
pub(super) const THINKING_FIELDS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];
/// An answer is never asked to be shorter than this, however full the context is.
const MIN_OUTPUT: u64 = 1024;
/// Texts with which servers refuse a field they do not know.
const UNKNOWN_FIELD: [&str; 7] = [
    "unknown field",
    "unknown parameter",
    "unrecognized",
    "unexpected field",
    "extra inputs",
    "extra fields",
    "additional properties",
];

/// # Errors
/// When the base URL or a header is no good.
pub(super) fn open(endpoint: &Endpoint) -> Result<HttpProvider, ProviderError> {
    let wire = Box::new(Chat { provider: endpoint.name.clone() });
    HttpProvider::open(endpoint, Route::Chat, &key_headers(endpoint), wire)
}

/// The headers that carry the key.
pub(super) fn key_headers(endpoint: &Endpoint) -> Vec<(&'static str, String)> {
    let bearer = |key: &secrecy::SecretString| format!("Bearer {}", key.expose_secret().trim());
    endpoint.key.iter().map(|key| ("authorization", bearer(key))).collect()
}

#[derive(Debug)]
struct Chat {
    provider: String,
}

impl Wire for Chat {
    fn api(&self) -> &'static str {
        API
    }

    fn body(&self, request: &Request, quirks: Quirks) -> Value {
        let mut body = Map::new();
        body.insert("model".into(), json!(request.model.id));
        body.insert("messages".into(), Value::Array(messages(request, id_rule(&self.provider))));
        body.insert("stream".into(), json!(true));
        if !quirks.has(Quirks::NO_USAGE_OPTION) {
            body.insert("stream_options".into(), json!({"include_usage": true}));
        }
        if request.model.known {
            let newer = (self.provider == "openai") != quirks.has(Quirks::OTHER_MAX_TOKENS);
            let field = if newer { "max_completion_tokens" } else { "max_tokens" };
            body.insert(field.into(), json!(output_limit(request)));
        }
        if !request.tools.is_empty() {
            body.insert("tools".into(), tools(request));
        }
        let effort = effort(&self.provider, request);
        if let Some(effort) = effort.filter(|_| !quirks.has(Quirks::NO_EFFORT)) {
            body.insert("reasoning_effort".into(), json!(effort));
        }
        if self.provider == "openai" {
            body.insert("prompt_cache_key".into(), json!(request.session_id));
        }
        Value::Object(body)
    }

    fn decoder(&self, request: &Request, tried: &Tried) -> Box<dyn Decoder> {
        Box::new(ChatDecoder::new(request, tried.clone()))
    }

    fn quirk(&self, body: &str, known: Quirks) -> Option<Quirks> {
        let body = body.to_lowercase();
        let unknown_field = UNKNOWN_FIELD.iter().any(|text| body.contains(text));
        let max_tokens = body.contains("max_completion_tokens")
            || (body.contains("max_tokens") && body.contains("unsupported"));
        let usage = body.contains("stream_options") || body.contains("include_usage");
        let candidates = [
            (usage, Quirks::NO_USAGE_OPTION),
            (body.contains("reasoning_effort"), Quirks::NO_EFFORT),
            (max_tokens, Quirks::OTHER_MAX_TOKENS),
            (unknown_field, Quirks::NO_USAGE_OPTION),
        ];
        candidates
            .into_iter()
            .find(|(says, quirk)| *says && !known.has(*quirk))
            .map(|(_, quirk)| quirk)
    }
}

fn id_rule(provider: &str) -> IdRule {
    if provider == "mistral" { IdRule::Mistral } else { IdRule::OpenAi }
}

/// What the model may write: its limit, or what the window leaves beside the prompt.
fn output_limit(request: &Request) -> u64 {
    let prompt: u64 = request.messages.iter().map(|message| tokens::of_message(message)).sum();
    let prompt = prompt + tokens::of_text(&request.system);
    let left = request.model.context_window.saturating_sub(prompt).max(MIN_OUTPUT);
    request.model.max_output.min(left).max(1)
}

/// The effort to ask for, where the server has such a setting.
fn effort(provider: &str, request: &Request) -> Option<&'static str> {
    let has_setting = !matches!(provider, "mistral" | "deepseek" | "moonshot" | "xai");
    if !request.model.reasoning || !has_setting {
        return None;
    }
    match request.thinking {
        ThinkingLevel::Off => None,
        ThinkingLevel::Minimal if provider == "openai" => Some("minimal"),
        ThinkingLevel::Minimal | ThinkingLevel::Low => Some("low"),
        ThinkingLevel::Medium => Some("medium"),
        ThinkingLevel::High | ThinkingLevel::Xhigh | ThinkingLevel::Max => Some("high"),
    }
}

fn tools(request: &Request) -> Value {
    let tool = |tool: &crate::message::ToolSpec| {
        json!({"type": "function", "function": {
            "name": tool.name, "description": tool.description, "parameters": tool.parameters,
        }})
    };
    request.tools.iter().map(tool).collect()
}

fn messages(request: &Request, rule: IdRule) -> Vec<Value> {
    let mut out = Vec::new();
    if !request.system.trim().is_empty() {
        out.push(json!({"role": "system", "content": request.system}));
    }
    for item in prepare(request, API, rule) {
        match item {
            Item::User(parts) => push_user(&mut out, &parts),
            Item::Assistant(parts) => out.push(assistant(&parts)),
            Item::Results(replies) => push_results(&mut out, &replies),
        }
    }
    out
}

/// Adds a user message. Images of tools stand in a user message of their own, so two may meet.
fn push_user(out: &mut Vec<Value>, parts: &[Part]) {
    let content = user_content(parts);
    let last = out.last_mut().filter(|last| last["role"] == "user");
    let Some(last) = last.and_then(|last| last.get_mut("content")) else {
        out.push(json!({"role": "user", "content": content}));
        return;
    };
    let mut joined = as_list(last.take());
    joined.extend(as_list(content));
    *last = Value::Array(joined);
}

fn as_list(content: Value) -> Vec<Value> {
    match content {
        Value::Array(list) => list,
        text => vec![json!({"type": "text", "text": text})],
    }
}

/// A plain string where there is only text: not every server reads lists.
fn user_content(parts: &[Part]) -> Value {
    if parts.iter().all(|part| matches!(part, Part::Text { .. })) {
        return json!(joined_text(parts));
    }
    let part = |part: &Part| match part {
        Part::Text { text, .. } => Some(json!({"type": "text", "text": text})),
        Part::Image { data, mime_type } => {
            let url = format!("data:{mime_type};base64,{data}");
            Some(json!({"type": "image_url", "image_url": {"url": url}}))
        }
        _ => None,
    };
    parts.iter().filter_map(part).collect()
}

fn joined_text(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

fn assistant(parts: &[Part]) -> Value {
    let mut message = Map::new();
    message.insert("role".into(), json!("assistant"));
    // Null beside calls is refused by some servers, an empty string by none.
    message.insert("content".into(), json!(joined_text(parts)));
    for part in parts {
        // Thinking without a field name came in tags or from elsewhere; nobody wants it back.
        if let Part::Thinking { thinking, thinking_signature: Some(field), redacted: false } = part
            && THINKING_FIELDS.contains(&field.as_str())
        {
            let so_far = message.get(field).and_then(Value::as_str).unwrap_or_default();
            let all = format!("{so_far}{thinking}");
            message.insert(field.clone(), json!(all));
        }
    }
    let calls: Vec<Value> = parts
        .iter()
        .filter_map(|part| match part {
            Part::ToolCall(call) => Some(tool_call(call)),
            _ => None,
        })
        .collect();
    if !calls.is_empty() {
        message.insert("tool_calls".into(), Value::Array(calls));
    }
    Value::Object(message)
}

fn tool_call(call: &ToolCall) -> Value {
    let mut value = json!({"id": call.id, "type": "function", "function": {
        "name": call.name, "arguments": call.arguments.to_string(),
    }});
    if let Some(signature) = &call.thought_signature {
        value["extra_content"] = json!({"google": {"thought_signature": signature}});
    }
    value
}

/// Adds the results, then their images in one user message: `tool` messages carry text only.
fn push_results(out: &mut Vec<Value>, replies: &[Reply]) {
    let mut images = Vec::new();
    for reply in replies {
        let seen = reply.content.iter().filter(|part| matches!(part, Part::Image { .. })).cloned();
        let before = images.len();
        images.extend(seen);
        let mut text = joined_text(&reply.content);
        if text.is_empty() {
            text =
                if images.len() > before { "(see the image below)" } else { "(no output)" }.into();
        }
        out.push(json!({"role": "tool", "tool_call_id": reply.id, "content": text}));
    }
    if !images.is_empty() {
        images.insert(0, Part::text("Images of the tool results above:"));
        push_user(out, &images);
    }
}
