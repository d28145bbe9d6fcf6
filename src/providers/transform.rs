//! The history as any API must get it: what another model alone understands is taken out, every
//! call has one result right after it, and neighbours of one kind stand together.
//!
//! It is one pass for all wire formats, so that the formats differ in spelling only. Sessions of
//! other programs and hand-made histories come through here too: nothing about their order is
//! taken for granted.

use serde_json::{Map, Value};

use crate::message::{AssistantMessage, Message, Part, StopReason, ToolCall, ToolResultMessage};
use crate::providers::Request;
use crate::providers::tool_ids::{IdRule, ToolIds};

/// What the model reads in place of an image it cannot see.
const USER_IMAGE: &str = "(image left out: this model reads no images)";
const TOOL_IMAGE: &str = "(image of the tool left out: this model reads no images)";
/// What stands in for a result that was never written.
const NO_RESULT: &str = "No result provided";

/// One turn of the conversation, ready to be spelled.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Item {
    /// Text and images; never empty.
    User(Vec<Part>),
    /// Text, thinking and calls; never empty. Arguments are always objects.
    Assistant(Vec<Part>),
    /// The results of the assistant message before, in the order of its calls; never empty.
    Results(Vec<Reply>),
}

/// One result.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reply {
    pub(super) id: String,
    pub(super) name: String,
    /// Text and images; may be empty.
    pub(super) content: Vec<Part>,
    pub(super) is_error: bool,
}

/// A call that waits for its result.
struct Waiting {
    original: String,
    reply: Reply,
    answered: bool,
}

struct Pass<'a> {
    request: &'a Request,
    api: &'a str,
    ids: ToolIds,
    waiting: Vec<Waiting>,
    items: Vec<Item>,
}

/// Prepares the messages of a request for an API.
pub(super) fn prepare(request: &Request, api: &str, rule: IdRule) -> Vec<Item> {
    let ids = ToolIds::new(rule);
    let mut pass = Pass { request, api, ids, waiting: Vec::new(), items: Vec::new() };
    for message in &request.messages {
        match &**message {
            Message::User(message) => pass.user(&message.content),
            Message::Custom(message) => pass.user(&message.content),
            Message::BranchSummary(message) | Message::CompactionSummary(message) => {
                pass.user(&[Part::text(message.summary.clone())]);
            }
            Message::Assistant(message) => pass.assistant(message),
            Message::ToolResult(message) => pass.result(message),
            Message::BashExecution(_) | Message::Unknown => {}
        }
    }
    pass.settle();
    pass.items
}

impl Pass<'_> {
    fn user(&mut self, content: &[Part]) {
        let parts = self.visible(content, USER_IMAGE);
        if parts.is_empty() {
            return;
        }
        self.settle();
        match self.items.last_mut() {
            Some(Item::User(last)) => last.extend(parts),
            _ => self.items.push(Item::User(parts)),
        }
    }

    fn assistant(&mut self, message: &AssistantMessage) {
        self.settle();
        if matches!(message.stop_reason, StopReason::Error | StopReason::Aborted) {
            return;
        }
        let model = &self.request.model;
        let same = message.provider == model.provider
            && message.api == self.api
            && message.model == model.id;
        let mut parts = Vec::new();
        for part in &message.content {
            match part {
                Part::Text { text, text_signature } if !text.trim().is_empty() => {
                    let text_signature = text_signature.clone().filter(|_| same);
                    parts.push(Part::Text { text: text.clone(), text_signature });
                }
                Part::Thinking { thinking, thinking_signature, redacted }
                    if same
                        && (*redacted || thinking_signature.is_some() || !thinking.is_empty()) =>
                {
                    parts.push(part.clone());
                }
                Part::ToolCall(call) => parts.push(Part::ToolCall(self.call(call, same))),
                _ => {}
            }
        }
        let only_thinking = parts.iter().all(|part| matches!(part, Part::Thinking { .. }));
        if !only_thinking {
            self.items.push(Item::Assistant(parts));
        }
    }

    fn call(&mut self, call: &ToolCall, same: bool) -> ToolCall {
        let id = self.ids.assign(&call.id);
        self.waiting.push(Waiting {
            original: call.id.clone(),
            reply: Reply {
                id: id.clone(),
                name: call.name.clone(),
                content: vec![Part::text(NO_RESULT)],
                is_error: true,
            },
            answered: false,
        });
        let arguments = match &call.arguments {
            object @ Value::Object(_) => object.clone(),
            _ => Value::Object(Map::new()),
        };
        ToolCall {
            id,
            // An empty name would be refused with the whole history.
            name: if call.name.is_empty() { "unknown".into() } else { call.name.clone() },
            arguments,
            thought_signature: call.thought_signature.clone().filter(|_| same),
            raw_arguments: None,
        }
    }

    /// A result of no open call is left out: a server would refuse the whole request.
    fn result(&mut self, message: &ToolResultMessage) {
        let content = self.visible(&message.content, TOOL_IMAGE);
        let open = self
            .waiting
            .iter_mut()
            .find(|waiting| !waiting.answered && waiting.original == message.tool_call_id);
        if let Some(waiting) = open {
            waiting.answered = true;
            waiting.reply.content = content;
            waiting.reply.is_error = message.is_error;
        }
    }

    /// Writes the results of the last assistant message.
    fn settle(&mut self) {
        if !self.waiting.is_empty() {
            let replies = self.waiting.drain(..).map(|waiting| waiting.reply).collect();
            self.items.push(Item::Results(replies));
        }
    }

    /// Text that says something, and images where the model sees them; a run of images that it
    /// cannot see becomes one placeholder.
    fn visible(&self, content: &[Part], placeholder: &str) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut in_run = false;
        for part in content {
            match part {
                Part::Text { text, .. } if !text.trim().is_empty() => {
                    parts.push(Part::text(text.clone()));
                    in_run = false;
                }
                Part::Image { .. } if self.request.model.images => parts.push(part.clone()),
                Part::Image { .. } if !in_run => {
                    parts.push(Part::text(placeholder));
                    in_run = true;
                }
                _ => {}
            }
        }
        parts
    }
}
