//! Reads the events of the messages API: blocks by index, thinking with its signature, usage that
//! grows from event to event.

use std::collections::HashMap;

use serde_json::Value;

use crate::message::{AssistantMessage, Delta, StopReason, Usage};
use crate::providers::answer::Answer;
use crate::providers::anthropic::API;
use crate::providers::classify::Tried;
use crate::providers::exchange::{Decoder, Step};
use crate::providers::sse::Event;
use crate::providers::{ErrorKind, ProviderError, Request};

/// More blocks in one answer are no answer but a runaway.
const MAX_BLOCKS: usize = 1024;
/// How much of a broken event an error quotes, in characters.
const QUOTED: usize = 200;

pub(super) struct MessagesDecoder {
    tried: Tried,
    answer: Answer,
    /// Open blocks by the server's index.
    blocks: HashMap<u64, Block>,
    started: usize,
    stop: Option<String>,
    usage: Usage,
}

enum Block {
    Text,
    Thinking,
    Call {
        block: usize,
        /// The input given at the start, used when no pieces of it follow.
        whole: String,
        pieces: bool,
    },
}

impl MessagesDecoder {
    pub(super) fn new(request: &Request, tried: Tried) -> Self {
        Self {
            tried,
            answer: Answer::new(request, API),
            blocks: HashMap::new(),
            started: 0,
            stop: None,
            usage: Usage::default(),
        }
    }

    fn handle(&mut self, kind: &str, event: &Value) -> Result<Step, ProviderError> {
        let index = event.get("index").and_then(Value::as_u64).unwrap_or(0);
        match kind {
            "message_start" => {
                let message = event.get("message").unwrap_or(&Value::Null);
                let text = |key: &str| message.get(key).and_then(Value::as_str);
                self.answer.identify(text("id"), text("model"));
                self.count(message.get("usage"));
            }
            "content_block_start" => self.start(index, event.get("content_block"))?,
            "content_block_delta" => {
                if let Some(delta) = event.get("delta") {
                    self.delta(index, delta);
                }
            }
            "content_block_stop" => self.stop_block(index),
            "message_delta" => {
                self.count(event.get("usage"));
                if let Some(reason) = event.pointer("/delta/stop_reason").and_then(Value::as_str) {
                    self.stop = Some(reason.to_owned());
                    return Ok(Step::Tail);
                }
            }
            "message_stop" => return Ok(Step::Done),
            _ => {}
        }
        Ok(Step::More)
    }

    fn start(&mut self, index: u64, block: Option<&Value>) -> Result<(), ProviderError> {
        self.started += 1;
        if self.started > MAX_BLOCKS {
            return Err(self.tried.transient("the answer has more than 1024 blocks"));
        }
        let null = Value::Null;
        let block = block.unwrap_or(&null);
        let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
        let open = match text("type") {
            "text" => {
                self.answer.close();
                self.answer.text(text("text"));
                Block::Text
            }
            "thinking" => {
                self.answer.start_thinking(None);
                self.answer.thinking(text("thinking"), None);
                let signature = text("signature");
                if !signature.is_empty() {
                    self.answer.sign(signature);
                }
                Block::Thinking
            }
            "redacted_thinking" => {
                self.answer.redacted(text("data"));
                return Ok(());
            }
            "tool_use" => {
                let id = text("id");
                let id = if id.is_empty() { format!("call_{index}") } else { id.to_owned() };
                let input = block
                    .get("input")
                    .filter(|input| input.as_object().is_some_and(|object| !object.is_empty()));
                Block::Call {
                    block: self.answer.start_call(&id, text("name")),
                    whole: input.map(Value::to_string).unwrap_or_default(),
                    pieces: false,
                }
            }
            _ => return Ok(()),
        };
        self.blocks.insert(index, open);
        Ok(())
    }

    fn delta(&mut self, index: u64, delta: &Value) {
        let text = |key: &str| delta.get(key).and_then(Value::as_str).unwrap_or_default();
        match (text("type"), self.blocks.get_mut(&index)) {
            ("text_delta", Some(Block::Text)) => self.answer.text(text("text")),
            ("thinking_delta", Some(Block::Thinking)) => self.answer.think_on(text("thinking")),
            ("signature_delta", Some(Block::Thinking)) => self.answer.sign(text("signature")),
            ("input_json_delta", Some(Block::Call { block, pieces, .. })) => {
                let piece = text("partial_json");
                *pieces |= !piece.is_empty();
                self.answer.call_piece(*block, piece);
            }
            _ => {}
        }
    }

    fn stop_block(&mut self, index: u64) {
        match self.blocks.remove(&index) {
            Some(Block::Call { block, whole, pieces }) => {
                if !pieces {
                    self.answer.call_piece(block, &whole);
                }
                self.answer.end_call(block);
            }
            Some(Block::Text | Block::Thinking) => self.answer.close(),
            None => {}
        }
    }

    /// Later counts replace earlier ones; what an event leaves out stays.
    fn count(&mut self, usage: Option<&Value>) {
        let Some(usage) = usage else { return };
        let set = |slot: &mut u64, key: &str| {
            if let Some(count) = usage.get(key).and_then(Value::as_u64) {
                *slot = count;
            }
        };
        set(&mut self.usage.input, "input_tokens");
        set(&mut self.usage.output, "output_tokens");
        set(&mut self.usage.cache_read, "cache_read_input_tokens");
        set(&mut self.usage.cache_write, "cache_creation_input_tokens");
    }
}

impl Decoder for MessagesDecoder {
    fn event(&mut self, event: &Event) -> Result<Step, ProviderError> {
        let data = event.data.trim();
        let named = event.name.as_deref().unwrap_or_default();
        if data == "[DONE]" {
            return Ok(Step::Done);
        }
        let value: Value = match serde_json::from_str(data) {
            Ok(value) => value,
            Err(_) if named == "error" => Value::String(data.to_owned()),
            Err(error) => {
                let quoted: String = data.chars().take(QUOTED).collect();
                let text = format!("the stream is garbled ({error}): {quoted}");
                return Err(self.tried.transient(&text));
            }
        };
        let kind = value.get("type").and_then(Value::as_str).unwrap_or(named);
        if kind == "error" || named == "error" {
            return Err(self.tried.refused_in_stream(value.get("error").unwrap_or(&value)));
        }
        if let Some(error) = value.get("error").filter(|error| !error.is_null()) {
            return Err(self.tried.refused_in_stream(error));
        }
        self.handle(kind, &value)
    }

    fn take(&mut self) -> Vec<Delta> {
        self.answer.take()
    }

    fn end(&mut self) -> Result<AssistantMessage, ProviderError> {
        let Some(stop) = self.stop.take() else {
            return Err(if self.answer.has_content() {
                self.tried
                    .transient("the answer was cut off: the stream ended without a stop reason")
            } else {
                self.tried.transient("the answer is empty: the stream ended without any content")
            });
        };
        let mut open: Vec<u64> = self.blocks.keys().copied().collect();
        open.sort_unstable();
        for index in open {
            self.stop_block(index);
        }
        let stop = match stop.as_str() {
            "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
            "refusal" => {
                let text = "the model's safety filter stopped the answer; say it differently";
                return Err(self.tried.error(ErrorKind::Permanent, text));
            }
            _ if self.answer.calls_tools() => StopReason::ToolUse,
            _ => StopReason::Stop,
        };
        if !self.answer.has_content() && stop != StopReason::Length {
            return Err(self.tried.transient("the answer is empty"));
        }
        Ok(self.answer.finish(stop, std::mem::take(&mut self.usage)))
    }
}
