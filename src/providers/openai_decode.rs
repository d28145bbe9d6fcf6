//! Reads the chunks of a chat completion, in all the ways servers write them: calls with sparse,
//! missing or repeated indexes, thinking in one of several fields or in tags, usage anywhere.

use serde_json::Value;

use crate::message::{AssistantMessage, Delta, StopReason, Usage};
use crate::providers::answer::Answer;
use crate::providers::classify::Tried;
use crate::providers::exchange::{Decoder, Step};
use crate::providers::openai_chat::{API, THINKING_FIELDS};
use crate::providers::sse::Event;
use crate::providers::think_tags::{Piece, ThinkTags};
use crate::providers::{ErrorKind, ProviderError, Request};

/// More calls in one answer are no answer but a runaway.
const MAX_CALLS: usize = 256;
/// How much of a broken event an error quotes, in characters.
const QUOTED: usize = 200;

pub(super) struct ChatDecoder {
    tried: Tried,
    answer: Answer,
    tags: ThinkTags,
    /// The field thinking came in first; the same text in another field is a copy.
    thinking_field: Option<&'static str>,
    calls: Vec<Call>,
    finish: Option<String>,
    usage: Option<Usage>,
}

#[derive(Default)]
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    /// The block, once the name is known.
    block: Option<usize>,
    /// Arguments that came before the name.
    early: String,
    signature: Option<String>,
}

impl ChatDecoder {
    pub(super) fn new(request: &Request, tried: Tried) -> Self {
        Self {
            tried,
            answer: Answer::new(request, API),
            tags: ThinkTags::default(),
            thinking_field: None,
            calls: Vec::new(),
            finish: None,
            usage: None,
        }
    }

    fn chunk(&mut self, chunk: &Value) -> Result<(), ProviderError> {
        let text = |key: &str| chunk.get(key).and_then(Value::as_str);
        self.answer.identify(text("id"), text("model"));
        let choice = chunk.pointer("/choices/0");
        for place in [
            chunk.get("usage"),
            choice.and_then(|choice| choice.get("usage")),
            chunk.pointer("/x_groq/usage"),
        ] {
            if let Some(usage) = place.filter(|usage| usage.is_object()) {
                self.usage = Some(usage_of(usage));
            }
        }
        let Some(choice) = choice else { return Ok(()) };
        // A server that does not stream sends `message` in place of `delta`.
        if let Some(delta) = choice.get("delta").or_else(|| choice.get("message")) {
            self.delta(delta)?;
        }
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str)
            && !reason.is_empty()
        {
            self.finish = Some(reason.to_owned());
        }
        Ok(())
    }

    fn delta(&mut self, delta: &Value) -> Result<(), ProviderError> {
        self.thinking(delta);
        match delta.get("content") {
            Some(Value::String(text)) => self.text(text),
            Some(Value::Array(parts)) => parts.iter().for_each(|part| self.part(part)),
            _ => {}
        }
        if let Some(refusal) = delta.get("refusal").and_then(Value::as_str) {
            self.text(refusal);
        }
        let fragments = delta.get("tool_calls").and_then(Value::as_array);
        for fragment in fragments.into_iter().flatten() {
            self.fragment(fragment)?;
        }
        Ok(())
    }

    fn thinking(&mut self, delta: &Value) {
        for field in THINKING_FIELDS {
            let Some(text) = delta.get(field).and_then(Value::as_str) else { continue };
            let known = *self.thinking_field.get_or_insert(field);
            if known == field && !text.is_empty() {
                self.answer.thinking(text, Some(field));
            }
        }
    }

    /// One block of a content list.
    fn part(&mut self, part: &Value) {
        match part.get("thinking") {
            Some(Value::Array(inner)) => {
                for piece in inner.iter().filter_map(|piece| piece.get("text")?.as_str()) {
                    self.answer.thinking(piece, None);
                }
            }
            Some(Value::String(piece)) => self.answer.thinking(piece, None),
            _ => {
                if let Some(text) = part.get("text").and_then(Value::as_str) {
                    self.text(text);
                }
            }
        }
    }

    fn text(&mut self, text: &str) {
        for piece in self.tags.push(text) {
            self.piece(&piece);
        }
    }

    fn piece(&mut self, piece: &Piece) {
        match piece {
            Piece::Thinking(text) => self.answer.thinking(text, None),
            Piece::Text(text) => self.answer.text(text),
        }
    }

    fn fragment(&mut self, fragment: &Value) -> Result<(), ProviderError> {
        let function = fragment.get("function").unwrap_or(fragment);
        let id = fragment.get("id").and_then(Value::as_str).unwrap_or_default();
        let name = function.get("name").and_then(Value::as_str).unwrap_or_default();
        let index = fragment.get("index").and_then(Value::as_u64);
        let at = self.call_of(index, id, name)?;
        let piece = match function.get("arguments") {
            Some(Value::String(text)) => text.clone(),
            Some(object @ Value::Object(_)) => object.to_string(),
            _ => String::new(),
        };
        // Taken ids first: a server that repeats an id would get two results for one call.
        let taken = self.calls.iter().enumerate().any(|(n, call)| n != at && call.id == id);
        let call = &mut self.calls[at];
        if call.id.is_empty() && !id.is_empty() {
            call.id = if taken { format!("{id}_{at}") } else { id.to_owned() };
        }
        if call.name.is_empty() {
            name.clone_into(&mut call.name);
        }
        if let Some(signature) =
            fragment.pointer("/extra_content/google/thought_signature").and_then(Value::as_str)
        {
            call.signature = Some(signature.to_owned());
        }
        call.early.push_str(&piece);
        if !call.name.is_empty() {
            flush_call(&mut self.answer, call, at);
        }
        Ok(())
    }

    /// Which call a fragment belongs to; a new one is made when it belongs to none.
    fn call_of(
        &mut self,
        index: Option<u64>,
        id: &str,
        name: &str,
    ) -> Result<usize, ProviderError> {
        let by_id = || self.calls.iter().rposition(|call| !id.is_empty() && call.id == id);
        let found = match index {
            Some(_) => match self.calls.iter().rposition(|call| call.index == index) {
                // All calls under one index: another id together with a name is another call.
                Some(at) if !id.is_empty() && !name.is_empty() && self.calls[at].id != id => {
                    by_id()
                }
                found => found,
            },
            None if !id.is_empty() => by_id(),
            None if !name.is_empty() => None,
            None => self.calls.len().checked_sub(1),
        };
        if let Some(at) = found {
            return Ok(at);
        }
        if self.calls.len() >= MAX_CALLS {
            return Err(self.tried.transient("the answer calls more than 256 tools at once"));
        }
        self.calls.push(Call { index, ..Call::default() });
        Ok(self.calls.len() - 1)
    }

    /// Everything that was held back.
    fn flush(&mut self) {
        if let Some(piece) = self.tags.end() {
            self.piece(&piece);
        }
        for (at, call) in self.calls.iter_mut().enumerate() {
            flush_call(&mut self.answer, call, at);
        }
        // A server that sends its thinking field empty wants it back empty.
        if let (Some(field), true) = (self.thinking_field, self.answer.calls_tools())
            && !self.answer.has_thinking()
        {
            self.answer.thinking("", Some(field));
        }
    }
}

/// Opens the block of a call if it is not open yet, and writes what came of its arguments.
fn flush_call(answer: &mut Answer, call: &mut Call, at: usize) {
    let block = match call.block {
        Some(block) => block,
        None => {
            if call.id.is_empty() {
                call.id = format!("call_{at}");
            }
            *call.block.insert(answer.start_call(&call.id, &call.name))
        }
    };
    answer.call_piece(block, &std::mem::take(&mut call.early));
    if let Some(signature) = call.signature.take() {
        answer.sign_call(block, &signature);
    }
}

impl Decoder for ChatDecoder {
    fn event(&mut self, event: &Event) -> Result<Step, ProviderError> {
        let data = event.data.trim();
        if data == "[DONE]" {
            return Ok(Step::Done);
        }
        let is_error = event.name.as_deref() == Some("error");
        let chunk: Value = match serde_json::from_str(data) {
            Ok(chunk) => chunk,
            Err(_) if is_error => Value::String(data.to_owned()),
            Err(error) => {
                let quoted: String = data.chars().take(QUOTED).collect();
                let text = format!("the stream is garbled ({error}): {quoted}");
                return Err(self.tried.transient(&text));
            }
        };
        let error = chunk.get("error").filter(|error| !error.is_null());
        if let Some(error) = error.or_else(|| is_error.then_some(&chunk)) {
            return Err(self.tried.refused_in_stream(error));
        }
        self.chunk(&chunk)?;
        Ok(if self.finish.is_some() { Step::Tail } else { Step::More })
    }

    fn take(&mut self) -> Vec<Delta> {
        self.answer.take()
    }

    fn end(&mut self) -> Result<AssistantMessage, ProviderError> {
        self.flush();
        let Some(finish) = self.finish.take() else {
            return Err(if self.answer.has_content() {
                self.tried
                    .transient("the answer was cut off: the stream ended without a finish reason")
            } else {
                self.tried.transient("the answer is empty: the stream ended without any content")
            });
        };
        let stop = match finish.as_str() {
            "length" | "max_tokens" | "model_length" => StopReason::Length,
            "content_filter" => {
                let text = "the provider's content filter stopped the answer; say it differently";
                return Err(self.tried.error(ErrorKind::Permanent, text));
            }
            "error" | "network_error" => {
                return Err(self.tried.transient("the server stopped the answer with an error"));
            }
            _ if self.answer.calls_tools() => StopReason::ToolUse,
            _ => StopReason::Stop,
        };
        if !self.answer.has_content() && stop != StopReason::Length {
            return Err(self.tried.transient("the answer is empty"));
        }
        Ok(self.answer.finish(stop, self.usage.take().unwrap_or_default()))
    }
}

/// Tokens, with the cached ones taken out of the input, wherever the server counts them.
fn usage_of(usage: &Value) -> Usage {
    let number = |path: &str| usage.pointer(path).and_then(Value::as_u64);
    let prompt = number("/prompt_tokens").unwrap_or(0);
    let cached = number("/prompt_tokens_details/cached_tokens")
        .or_else(|| number("/prompt_cache_hit_tokens"))
        .or_else(|| number("/cached_tokens"))
        .unwrap_or(0)
        .min(prompt);
    let written = number("/prompt_tokens_details/cache_write_tokens").unwrap_or(0);
    let written = written.min(prompt - cached);
    let output = number("/completion_tokens").unwrap_or(0);
    Usage {
        input: prompt - cached - written,
        output,
        cache_read: cached,
        cache_write: written,
        reasoning: number("/completion_tokens_details/reasoning_tokens").filter(|count| *count > 0),
        total_tokens: number("/total_tokens").unwrap_or(0).max(prompt.saturating_add(output)),
        ..Usage::default()
    }
}
