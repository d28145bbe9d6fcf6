//! The pieces of an answer as they arrive, and the fold that makes a message of them.
//!
//! Providers, the driver and the screen all see the same [`Delta`]s; [`Partial`] is the one fold,
//! so what is shown while it streams and what is stored at the end cannot differ.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Part, ToolCall};

/// One piece of an answer. `index` is the position of the block in the message's content; blocks
/// start in order 0, 1, 2, … and pieces of several open blocks may alternate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Delta {
    TextStart {
        index: usize,
    },
    TextDelta {
        index: usize,
        delta: String,
    },
    TextEnd {
        index: usize,
    },
    ThinkingStart {
        index: usize,
    },
    ThinkingDelta {
        index: usize,
        delta: String,
    },
    ThinkingEnd {
        index: usize,
        signature: Option<String>,
        redacted: bool,
    },
    ToolcallStart {
        index: usize,
        id: String,
        name: String,
    },
    /// A piece of the JSON text of the arguments.
    ToolcallDelta {
        index: usize,
        delta: String,
    },
    ToolcallEnd {
        index: usize,
    },
}

/// An answer under construction.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Partial {
    blocks: Vec<Block>,
}

#[derive(Debug, Clone, PartialEq)]
enum Block {
    Done(Part),
    ToolCall { id: String, name: String, json: String },
}

impl Partial {
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// How many blocks have started; the next block's index.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Adds one piece. A piece for a block that never started is ignored.
    pub fn apply(&mut self, delta: &Delta) {
        match delta {
            Delta::TextStart { .. } => self.blocks.push(Block::Done(Part::text(""))),
            Delta::ThinkingStart { .. } => self.blocks.push(Block::Done(Part::Thinking {
                thinking: String::new(),
                thinking_signature: None,
                redacted: false,
            })),
            Delta::ToolcallStart { id, name, .. } => self.blocks.push(Block::ToolCall {
                id: id.clone(),
                name: name.clone(),
                json: String::new(),
            }),
            Delta::TextDelta { index, delta } => {
                if let Some(Block::Done(Part::Text { text, .. })) = self.blocks.get_mut(*index) {
                    text.push_str(delta);
                }
            }
            Delta::ThinkingDelta { index, delta } => {
                if let Some(Block::Done(Part::Thinking { thinking, .. })) =
                    self.blocks.get_mut(*index)
                {
                    thinking.push_str(delta);
                }
            }
            Delta::ToolcallDelta { index, delta } => {
                if let Some(Block::ToolCall { json, .. }) = self.blocks.get_mut(*index) {
                    json.push_str(delta);
                }
            }
            Delta::ThinkingEnd { index, signature, redacted: is_redacted } => {
                if let Some(Block::Done(Part::Thinking { thinking_signature, redacted, .. })) =
                    self.blocks.get_mut(*index)
                {
                    thinking_signature.clone_from(signature);
                    *redacted = *is_redacted;
                }
            }
            Delta::TextEnd { .. } | Delta::ToolcallEnd { .. } => {}
        }
    }

    /// The content so far. Arguments that are no JSON object become `{}` with the text kept in
    /// `raw_arguments`; empty arguments are `{}`.
    pub fn content(&self) -> Vec<Part> {
        self.blocks
            .iter()
            .map(|block| match block {
                Block::Done(part) => part.clone(),
                Block::ToolCall { id, name, json } => Part::ToolCall(call(id, name, json)),
            })
            .collect()
    }

    /// The content for an answer that was cut off: tool calls are left out, because half of a call
    /// must never run, and so are empty blocks.
    pub fn content_without_calls(&self) -> Vec<Part> {
        self.content()
            .into_iter()
            .filter(|part| match part {
                Part::Text { text, .. } => !text.is_empty(),
                Part::Thinking { thinking, .. } => !thinking.is_empty(),
                _ => false,
            })
            .collect()
    }
}

fn call(id: &str, name: &str, json: &str) -> ToolCall {
    let (arguments, raw_arguments) = match serde_json::from_str::<Value>(json) {
        Ok(value @ Value::Object(_)) => (value, None),
        _ if json.trim().is_empty() => (Value::Object(Map::new()), None),
        _ => (Value::Object(Map::new()), Some(json.to_owned())),
    };
    ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments,
        thought_signature: None,
        raw_arguments,
    }
}
