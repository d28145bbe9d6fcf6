//! The words that every layer shares: messages, parts, tool calls, outcomes, usage and ids.
//!
//! They stand below everything else, so that neither the providers nor the screen own the
//! vocabulary. The JSON form of [`Message`] is the form stored in session files; reading is lenient
//! (`content` may be a string or null), writing is strict.

mod delta;
mod ids;
mod outcome;
mod part;
mod profile;
mod usage;

pub use delta::{Delta, Partial};
pub use ids::{EntryId, SessionId, TurnId};
pub use outcome::{Access, Display, ToolOutcome, ToolSpec};
pub use part::{Part, ToolCall, content_from_any, plain_text};
pub use profile::Profile;
pub use usage::{Cost, StopReason, ThinkingLevel, Usage};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One message of a conversation, as it is stored and as it is sent.
///
/// `user`, `assistant`, `toolResult` and `bashExecution` are stored in `message` entries. `custom`,
/// `branchSummary` and `compactionSummary` are made from entries of their own when a context is
/// built. A role this version does not know reads as [`Message::Unknown`] and is never sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum Message {
    User(UserMessage),
    Assistant(AssistantMessage),
    ToolResult(ToolResultMessage),
    BashExecution(BashExecution),
    Custom(CustomMessage),
    BranchSummary(SummaryMessage),
    CompactionSummary(SummaryMessage),
    #[serde(other)]
    Unknown,
}

impl Message {
    /// A user message of one text part. `timestamp` is Unix milliseconds.
    pub fn user(text: impl Into<String>, timestamp: i64) -> Self {
        Self::User(UserMessage { content: vec![Part::text(text)], timestamp })
    }

    /// The text parts joined by newlines; summaries and commands give their text.
    pub fn text(&self) -> String {
        match self {
            Self::User(message) => plain_text(&message.content),
            Self::Assistant(message) => plain_text(&message.content),
            Self::ToolResult(message) => plain_text(&message.content),
            Self::BashExecution(message) => message.command.clone(),
            Self::Custom(message) => plain_text(&message.content),
            Self::BranchSummary(message) | Self::CompactionSummary(message) => {
                message.summary.clone()
            }
            Self::Unknown => String::new(),
        }
    }
}

/// What the person (or a program in their name) said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserMessage {
    #[serde(default, deserialize_with = "content_from_any")]
    pub content: Vec<Part>,
    /// Unix milliseconds.
    #[serde(default)]
    pub timestamp: i64,
}

/// One answer of a model: the text, the thinking and the calls it asked for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AssistantMessage {
    #[serde(default, deserialize_with = "content_from_any")]
    pub content: Vec<Part>,
    /// The wire format that produced it, for instance `openai-completions` or `anthropic-messages`.
    #[serde(default)]
    pub api: String,
    #[serde(default)]
    pub provider: String,
    #[serde(default)]
    pub model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    #[serde(default)]
    pub usage: Usage,
    #[serde(default)]
    pub stop_reason: StopReason,
    /// Why it ended in `error` or `aborted`; shown to people, never sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<ThinkingLevel>,
    /// Unix milliseconds.
    #[serde(default)]
    pub timestamp: i64,
}

impl AssistantMessage {
    /// The tool calls in the order the model wrote them.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            _ => None,
        })
    }
}

/// What a tool answered to one call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultMessage {
    #[serde(default)]
    pub tool_call_id: String,
    #[serde(default)]
    pub tool_name: String,
    #[serde(default, deserialize_with = "content_from_any")]
    pub content: Vec<Part>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    #[serde(default)]
    pub is_error: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Unix milliseconds.
    #[serde(default)]
    pub timestamp: i64,
}

/// A command the person ran with `!`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BashExecution {
    #[serde(default)]
    pub command: String,
    #[serde(default)]
    pub output: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    #[serde(default)]
    pub cancelled: bool,
    #[serde(default)]
    pub truncated: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclude_from_context: Option<bool>,
    #[serde(default)]
    pub timestamp: i64,
}

/// A message that a program added to the conversation; the model reads it as a user message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CustomMessage {
    #[serde(default)]
    pub custom_type: String,
    #[serde(default, deserialize_with = "content_from_any")]
    pub content: Vec<Part>,
    #[serde(default)]
    pub display: bool,
    #[serde(default)]
    pub timestamp: i64,
}

/// A summary that stands for older messages or for another branch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SummaryMessage {
    pub summary: String,
    #[serde(default)]
    pub timestamp: i64,
}
