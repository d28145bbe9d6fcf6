//! One line of a session file as a value: the base every entry has and the body that tells them apart.
//!
//! Reading never fails on what it does not know: an unknown type is [`Body::Other`], and the line in
//! the file stays as it is. Field names are those of the JSONL format version 3.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::{EntryId, Message, Part, SessionId, TurnId, Usage, content_from_any};

/// The header, line 1 of the file. It is not part of the tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// 1 when absent; we write 3.
    #[serde(default = "version_one")]
    pub version: u32,
    pub id: SessionId,
    /// ISO-8601, UTC.
    #[serde(default)]
    pub timestamp: String,
    #[serde(default)]
    pub cwd: String,
    /// The path of the session this one was copied from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
    /// Application-owned, copied on fork.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

fn version_one() -> u32 {
    1
}

/// An entry of the tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    pub id: EntryId,
    /// `None` for a root.
    #[serde(default)]
    pub parent_id: Option<EntryId>,
    /// ISO-8601, UTC.
    #[serde(default)]
    pub timestamp: String,
    #[serde(flatten)]
    pub body: Body,
}

/// What an entry says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Body {
    Message {
        message: Message,
        /// Ours alone: which turn and step wrote it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        harness: Option<Origin>,
    },
    ModelChange {
        #[serde(default)]
        provider: String,
        #[serde(default)]
        model_id: String,
    },
    ThinkingLevelChange {
        #[serde(default)]
        thinking_level: String,
    },
    Compaction {
        #[serde(default)]
        summary: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        first_kept_entry_id: Option<EntryId>,
        #[serde(default)]
        tokens_before: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from_hook: Option<bool>,
        /// Read, never written: messages that stand for the kept part.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retained_tail: Option<Vec<Message>>,
    },
    BranchSummary {
        #[serde(default)]
        from_id: String,
        #[serde(default)]
        summary: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from_hook: Option<bool>,
    },
    Custom {
        #[serde(default)]
        custom_type: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<Value>,
    },
    CustomMessage {
        #[serde(default)]
        custom_type: String,
        #[serde(default, deserialize_with = "content_from_any")]
        content: Vec<Part>,
        #[serde(default)]
        display: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<Value>,
    },
    Label {
        target_id: EntryId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
    },
    SessionInfo {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    Usage {
        #[serde(default)]
        kind: String,
        #[serde(default)]
        provider: String,
        #[serde(default)]
        model: String,
        #[serde(default)]
        usage: Usage,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    ContextEdit {
        target_id: EntryId,
        /// Null leaves the message out; an object replaces its `content`.
        #[serde(default)]
        replacement: Option<Value>,
    },
    /// Read, never written.
    ActiveToolsChange {
        #[serde(default)]
        active_tool_names: Vec<String>,
    },
    /// Read, never written: another writer's leaf marker.
    Leaf {
        #[serde(default)]
        target_id: Option<EntryId>,
    },
    /// A type this version does not know.
    #[serde(other)]
    Other,
}

/// Which turn wrote a message (`harness` on the line). The key of a call is turn, step and ordinal.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub struct Origin {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The step: 1 for the turn's first request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// The position of the call in its assistant message, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ordinal: Option<u32>,
    /// SHA-256 of the file before an edit or write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pre_image: Option<String>,
    /// SHA-256 of the file after an edit or write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post_image: Option<String>,
    /// What hooks noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Value>,
}
