//! The parts a message is made of, and the lenient reading of `content`.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// One block of a message's content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Part {
    Text {
        #[serde(default)]
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text_signature: Option<String>,
    },
    Thinking {
        #[serde(default)]
        thinking: String,
        /// The provider's signature, or (for servers that want their reasoning back) the name of
        /// the field it came in, for instance `reasoning_content`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thinking_signature: Option<String>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        redacted: bool,
    },
    Image {
        /// Base64.
        #[serde(default)]
        data: String,
        #[serde(default)]
        mime_type: String,
    },
    ToolCall(ToolCall),
    /// A block this version does not know. Kept in the file, never sent.
    #[serde(other)]
    Unknown,
}

impl Part {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into(), text_signature: None }
    }
}

/// A tool the model asked to run. `id` is the provider's and may repeat within a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolCall {
    #[serde(default)]
    pub id: String,
    #[serde(default)]
    pub name: String,
    /// Always a JSON object in files we write; anything else is read as it stands and sent as `{}`.
    #[serde(default = "empty_object")]
    pub arguments: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought_signature: Option<String>,
    /// What the model wrote when it was no JSON object. The call gets an error result that quotes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_arguments: Option<String>,
}

fn empty_object() -> Value {
    Value::Object(Map::new())
}

/// The text parts joined by newlines.
pub fn plain_text(content: &[Part]) -> String {
    let mut out = String::new();
    for part in content {
        if let Part::Text { text, .. } = part {
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(text);
        }
    }
    out
}

/// Reads `content` from a string, a list of blocks, or null (which is an empty list).
pub fn content_from_any<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Part>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Content {
        Text(String),
        Parts(Vec<Part>),
    }
    Ok(match Option::<Content>::deserialize(deserializer)? {
        None => Vec::new(),
        Some(Content::Text(text)) => vec![Part::text(text)],
        Some(Content::Parts(parts)) => parts,
    })
}
