//! The answer under construction, for every wire format: blocks are opened, filled and closed in
//! the order of our own deltas, whatever order a server sends its pieces in.

use crate::message::{AssistantMessage, Delta, Part, Partial, StopReason, Usage};
use crate::ports::{Clock, SystemClock};
use crate::providers::{ModelSpec, Request};

/// Collects deltas and folds them into the message they make.
#[derive(Debug)]
pub(super) struct Answer {
    partial: Partial,
    out: Vec<Delta>,
    /// The text or thinking block that pieces are added to.
    open: Option<Open>,
    /// Open tool calls, by block index.
    calls: Vec<usize>,
    /// The signatures of finished calls, by block index.
    call_signatures: Vec<(usize, String)>,
    model: ModelSpec,
    message: AssistantMessage,
    has_content: bool,
    called: bool,
    thought: bool,
}

#[derive(Debug)]
enum Open {
    Text(usize),
    Thinking { index: usize, signature: Option<String> },
}

impl Answer {
    pub(super) fn new(request: &Request, api: &str) -> Self {
        Self {
            partial: Partial::default(),
            out: Vec::new(),
            open: None,
            calls: Vec::new(),
            call_signatures: Vec::new(),
            model: request.model.clone(),
            message: AssistantMessage {
                api: api.to_owned(),
                provider: request.model.provider.clone(),
                model: request.model.id.clone(),
                thinking_level: Some(request.thinking),
                ..AssistantMessage::default()
            },
            has_content: false,
            called: false,
            thought: false,
        }
    }

    /// The deltas since the last call.
    pub(super) fn take(&mut self) -> Vec<Delta> {
        std::mem::take(&mut self.out)
    }

    /// Whether anything was said, thought or called.
    pub(super) fn has_content(&self) -> bool {
        self.has_content
    }

    /// The id and the model that the server names; the first ones count.
    pub(super) fn identify(&mut self, id: Option<&str>, model: Option<&str>) {
        let first = |slot: &mut Option<String>, value: Option<&str>| {
            if let (None, Some(value)) = (&slot, value.filter(|value| !value.is_empty())) {
                *slot = Some(value.to_owned());
            }
        };
        first(&mut self.message.response_id, id);
        first(&mut self.message.response_model, model.filter(|name| *name != self.model.id));
    }

    pub(super) fn text(&mut self, piece: &str) {
        if piece.is_empty() {
            return;
        }
        let index = match self.open {
            Some(Open::Text(index)) => index,
            _ => {
                self.close();
                let index = self.partial.len();
                self.emit(Delta::TextStart { index });
                self.open = Some(Open::Text(index));
                index
            }
        };
        self.has_content |= !piece.trim().is_empty();
        self.emit(Delta::TextDelta { index, delta: piece.to_owned() });
    }

    /// A piece of thinking. `field` is what a server that wants its thinking back calls it.
    pub(super) fn thinking(&mut self, piece: &str, field: Option<&str>) {
        let index = match &self.open {
            Some(Open::Thinking { index, signature }) if signature.as_deref() == field => *index,
            _ => self.start_thinking(field),
        };
        if !piece.is_empty() {
            self.has_content = true;
            self.emit(Delta::ThinkingDelta { index, delta: piece.to_owned() });
        }
    }

    /// Opens a thinking block of its own.
    pub(super) fn start_thinking(&mut self, signature: Option<&str>) -> usize {
        self.close();
        let index = self.partial.len();
        self.thought = true;
        self.emit(Delta::ThinkingStart { index });
        self.open = Some(Open::Thinking { index, signature: signature.map(str::to_owned) });
        index
    }

    /// Adds to the open thinking block, whatever its signature is by now.
    pub(super) fn think_on(&mut self, piece: &str) {
        if let Some(Open::Thinking { index, .. }) = self.open
            && !piece.is_empty()
        {
            self.has_content = true;
            self.emit(Delta::ThinkingDelta { index, delta: piece.to_owned() });
        }
    }

    /// Adds to the signature of the open thinking block.
    pub(super) fn sign(&mut self, piece: &str) {
        if let Some(Open::Thinking { signature, .. }) = &mut self.open {
            signature.get_or_insert_default().push_str(piece);
        }
    }

    /// A block of thinking that only the provider can read.
    pub(super) fn redacted(&mut self, data: &str) {
        self.close();
        let index = self.partial.len();
        self.emit(Delta::ThinkingStart { index });
        let signature = Some(data.to_owned());
        self.emit(Delta::ThinkingEnd { index, signature, redacted: true });
    }

    /// Ends the open text or thinking block.
    pub(super) fn close(&mut self) {
        match self.open.take() {
            None => {}
            Some(Open::Text(index)) => self.emit(Delta::TextEnd { index }),
            Some(Open::Thinking { index, signature }) => {
                self.emit(Delta::ThinkingEnd { index, signature, redacted: false });
            }
        }
    }

    /// Starts a call and gives its block index.
    pub(super) fn start_call(&mut self, id: &str, name: &str) -> usize {
        self.close();
        self.has_content = true;
        self.called = true;
        let index = self.partial.len();
        self.emit(Delta::ToolcallStart { index, id: id.to_owned(), name: name.to_owned() });
        self.calls.push(index);
        index
    }

    pub(super) fn call_piece(&mut self, index: usize, piece: &str) {
        if !piece.is_empty() {
            self.emit(Delta::ToolcallDelta { index, delta: piece.to_owned() });
        }
    }

    pub(super) fn end_call(&mut self, index: usize) {
        if let Some(at) = self.calls.iter().position(|open| *open == index) {
            self.calls.remove(at);
            self.emit(Delta::ToolcallEnd { index });
        }
    }

    /// A signature that must come back with the call.
    pub(super) fn sign_call(&mut self, index: usize, signature: &str) {
        self.call_signatures.push((index, signature.to_owned()));
    }

    /// Whether a thinking block was opened.
    pub(super) fn has_thinking(&self) -> bool {
        self.thought
    }

    /// Whether the answer calls tools.
    pub(super) fn calls_tools(&self) -> bool {
        self.called
    }

    /// Ends every open block and gives the message.
    pub(super) fn finish(&mut self, stop: StopReason, usage: Usage) -> AssistantMessage {
        self.close();
        for index in std::mem::take(&mut self.calls) {
            self.emit(Delta::ToolcallEnd { index });
        }
        let mut content = self.partial.content();
        for (index, signature) in std::mem::take(&mut self.call_signatures) {
            if let Some(Part::ToolCall(call)) = content.get_mut(index) {
                call.thought_signature = Some(signature);
            }
        }
        AssistantMessage {
            content,
            usage: self.model.priced(usage),
            stop_reason: stop,
            timestamp: SystemClock.now_ms(),
            ..self.message.clone()
        }
    }

    fn emit(&mut self, delta: Delta) {
        self.partial.apply(&delta);
        self.out.push(delta);
    }
}

impl ModelSpec {
    /// The usage with its cost at this model's prices, and the total where a server sent none.
    pub(super) fn priced(&self, mut usage: Usage) -> Usage {
        const PER: f64 = 1_000_000.0;
        #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
        let cost = |tokens: u64, price: f64| tokens as f64 * price / PER;
        let [input, output, read, write] = self.price;
        usage.cost.input = cost(usage.input, input);
        usage.cost.output = cost(usage.output, output);
        usage.cost.cache_read = cost(usage.cache_read, read);
        usage.cost.cache_write = cost(usage.cache_write, write);
        usage.cost.total =
            usage.cost.input + usage.cost.output + usage.cost.cache_read + usage.cost.cache_write;
        usage.total_tokens = usage.context_tokens();
        usage
    }
}
