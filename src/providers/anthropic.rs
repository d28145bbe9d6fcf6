//! The messages API: typed content blocks, signed thinking, and cache marks on a stable prefix.

use secrecy::ExposeSecret;
use serde_json::{Map, Value, json};

use crate::message::{Part, ThinkingLevel};
use crate::providers::anthropic_decode::MessagesDecoder;
use crate::providers::classify::Tried;
use crate::providers::exchange::{Decoder, HttpProvider, Quirks, Wire};
use crate::providers::tool_ids::IdRule;
use crate::providers::transform::{Item, Reply, prepare};
use crate::providers::url::Route;
use crate::providers::{Endpoint, ProviderError, Request};

pub(super) const API: &str = "anthropic-messages";
/// The version of the API this file speaks.
const VERSION: &str = "2023-06-01";
/// The smallest thinking budget the API accepts.
const MIN_BUDGET: u64 = 1024;

/// # Errors
/// When the base URL or a header is no good.
pub(super) fn open(endpoint: &Endpoint) -> Result<HttpProvider, ProviderError> {
    HttpProvider::open(endpoint, Route::Messages, &key_headers(endpoint), Box::new(Messages))
}

/// The headers that carry the key and the version.
pub(super) fn key_headers(endpoint: &Endpoint) -> Vec<(&'static str, String)> {
    let key = endpoint.key.iter().map(|key| ("x-api-key", key.expose_secret().trim().to_owned()));
    key.chain([("anthropic-version", VERSION.to_owned())]).collect()
}

#[derive(Debug)]
struct Messages;

impl Wire for Messages {
    fn api(&self) -> &'static str {
        API
    }

    fn body(&self, request: &Request, quirks: Quirks) -> Value {
        let items = prepare(request, API, IdRule::Anthropic);
        let thinking = thinking(request, &items, quirks);
        let mut body = Map::new();
        body.insert("model".into(), json!(request.model.id));
        body.insert("max_tokens".into(), json!(request.model.max_output.max(1)));
        body.insert("stream".into(), json!(true));
        if !request.system.trim().is_empty() {
            let mut block = json!({"type": "text", "text": request.system});
            mark(&mut block);
            body.insert("system".into(), json!([block]));
        }
        if !request.tools.is_empty() {
            body.insert("tools".into(), tools(request));
        }
        let replay = thinking.is_some();
        if let Some((thinking, effort)) = thinking {
            body.insert("thinking".into(), thinking);
            if let Some(effort) = effort {
                body.insert("output_config".into(), json!({"effort": effort}));
            }
        }
        body.insert("messages".into(), Value::Array(messages(&items, replay)));
        Value::Object(body)
    }

    fn decoder(&self, request: &Request, tried: &Tried) -> Box<dyn Decoder> {
        Box::new(MessagesDecoder::new(request, tried.clone()))
    }

    fn quirk(&self, body: &str, known: Quirks) -> Option<Quirks> {
        let body = body.to_lowercase();
        let wants_adaptive = body.contains("adaptive")
            || (body.contains("thinking") && body.contains("not supported"));
        (wants_adaptive && !known.has(Quirks::ADAPTIVE_THINKING))
            .then_some(Quirks::ADAPTIVE_THINKING)
    }
}

/// The thinking setting, and the effort that goes with adaptive thinking.
///
/// While a tool loop runs whose last answer came without thinking (from another model, say), the
/// API refuses thinking, so it stays off until the next prompt.
fn thinking(
    request: &Request,
    items: &[Item],
    quirks: Quirks,
) -> Option<(Value, Option<&'static str>)> {
    if request.thinking == ThinkingLevel::Off || !request.model.reasoning {
        return None;
    }
    if let [.., Item::Assistant(parts), Item::Results(_)] = items
        && !matches!(parts.first(), Some(Part::Thinking { .. }))
    {
        return None;
    }
    if quirks.has(Quirks::ADAPTIVE_THINKING) {
        let effort = match request.thinking {
            ThinkingLevel::Off | ThinkingLevel::Minimal | ThinkingLevel::Low => "low",
            ThinkingLevel::Medium => "medium",
            ThinkingLevel::High | ThinkingLevel::Xhigh => "high",
            ThinkingLevel::Max => "max",
        };
        return Some((json!({"type": "adaptive"}), Some(effort)));
    }
    let budget = match request.thinking {
        ThinkingLevel::Off | ThinkingLevel::Minimal => MIN_BUDGET,
        ThinkingLevel::Low => 2048,
        ThinkingLevel::Medium => 8192,
        ThinkingLevel::High => 16384,
        ThinkingLevel::Xhigh => 24576,
        ThinkingLevel::Max => 32000,
    };
    // The budget must leave room for the answer.
    let budget = budget.min(request.model.max_output / 2);
    (budget >= MIN_BUDGET).then(|| (json!({"type": "enabled", "budget_tokens": budget}), None))
}

/// Marks the end of a prefix that the server may keep.
fn mark(block: &mut Value) {
    block["cache_control"] = json!({"type": "ephemeral"});
}

fn tools(request: &Request) -> Value {
    let mut tools: Vec<Value> = request
        .tools
        .iter()
        .map(|tool| {
            json!({"name": tool.name, "description": tool.description,
                "input_schema": tool.parameters})
        })
        .collect();
    if let Some(last) = tools.last_mut() {
        mark(last);
    }
    Value::Array(tools)
}

/// `replay` sends thinking back; without it the API would refuse the blocks.
fn messages(items: &[Item], replay: bool) -> Vec<Value> {
    let mut out: Vec<(&str, Vec<Value>)> = Vec::new();
    for item in items {
        let (role, blocks) = match item {
            Item::User(parts) => ("user", parts.iter().filter_map(visible).collect()),
            Item::Assistant(parts) => {
                ("assistant", parts.iter().filter_map(|part| spoken(part, replay)).collect())
            }
            Item::Results(replies) => ("user", replies.iter().map(result).collect::<Vec<_>>()),
        };
        match out.last_mut() {
            Some((last, so_far)) if *last == role => so_far.extend(blocks),
            _ => out.push((role, blocks)),
        }
    }
    if out.first().is_some_and(|(role, _)| *role == "assistant") {
        out.insert(0, ("user", vec![json!({"type": "text", "text": "(conversation continues)"})]));
    }
    if let Some((_, blocks)) = out.iter_mut().rev().find(|(role, _)| *role == "user")
        && let Some(last) = blocks.last_mut()
    {
        mark(last);
    }
    out.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect()
}

fn visible(part: &Part) -> Option<Value> {
    match part {
        Part::Text { text, .. } => Some(json!({"type": "text", "text": text})),
        Part::Image { data, mime_type } => Some(json!({"type": "image", "source":
            {"type": "base64", "media_type": mime_type, "data": data}})),
        _ => None,
    }
}

fn spoken(part: &Part, replay: bool) -> Option<Value> {
    match part {
        Part::Thinking { thinking_signature: Some(data), redacted: true, .. } if replay => {
            Some(json!({"type": "redacted_thinking", "data": data}))
        }
        Part::Thinking { thinking, thinking_signature: Some(signature), redacted: false }
            if replay =>
        {
            Some(json!({"type": "thinking", "thinking": thinking, "signature": signature}))
        }
        Part::ToolCall(call) => Some(json!({"type": "tool_use", "id": call.id, "name": call.name,
            "input": call.arguments})),
        other => visible(other),
    }
}

fn result(reply: &Reply) -> Value {
    let mut content: Vec<Value> = reply.content.iter().filter_map(visible).collect();
    if content.is_empty() {
        content.push(json!({"type": "text", "text": "(no output)"}));
    }
    json!({"type": "tool_result", "tool_use_id": reply.id, "content": content,
        "is_error": reply.is_error})
}
