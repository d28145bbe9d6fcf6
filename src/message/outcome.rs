//! What a tool gives back, and the shapes in which a screen can show it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Part, ToolResultMessage, plain_text};

/// A tool as the model sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON schema of the arguments, an object schema.
    pub parameters: Value,
}

/// What a tool may do to the world; approval profiles decide by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Looks only.
    Read,
    /// Changes files it names.
    Write,
    /// Runs a command, which may do anything.
    Execute,
}

/// The end of one execution. A tool's failure is an outcome with `is_error`, never a Rust error.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolOutcome {
    /// What the model reads.
    pub content: Vec<Part>,
    /// What is stored beside it for people: `diff`, `patch`, `firstChangedLine`, `truncation`,
    /// `fullOutputPath`, `exitCode`, … [`Display`] is rebuilt from it. Null when there is nothing.
    pub details: Value,
    pub is_error: bool,
    /// When every result of a batch says so, the turn ends after the batch.
    pub terminate: bool,
}

impl ToolOutcome {
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Part::text(text)], ..Self::default() }
    }

    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = details;
        self
    }
}

/// How a result is shown. Screens match on the shape, so a new tool touches no screen code.
#[derive(Debug, Clone, PartialEq)]
pub enum Display {
    Text(String),
    /// A numbered display diff (`-12 old`, `+12 new`, ` 13 same`), see `text::diff`.
    Diff {
        diff: String,
        first_changed_line: Option<u64>,
    },
    /// One name per line, as `ls`, `find` and `grep` give.
    Listing(String),
    /// Raw terminal output with its colours.
    Terminal {
        output: String,
        exit_code: Option<i64>,
    },
    /// Base64 and MIME type.
    Image {
        data: String,
        mime_type: String,
    },
}

impl Display {
    /// Rebuilds the shape from what is stored, so that old and foreign sessions show diffs too.
    pub fn of(content: &[Part], details: Option<&Value>) -> Self {
        if let Some(details) = details {
            if let Some(diff) = details.get("diff").and_then(Value::as_str) {
                return Self::Diff {
                    diff: diff.to_owned(),
                    first_changed_line: details.get("firstChangedLine").and_then(Value::as_u64),
                };
            }
            if details.get("exitCode").is_some() {
                return Self::Terminal {
                    output: plain_text(content),
                    exit_code: details.get("exitCode").and_then(Value::as_i64),
                };
            }
            if details.get("listing").and_then(Value::as_bool) == Some(true) {
                return Self::Listing(plain_text(content));
            }
        }
        for part in content {
            if let Part::Image { data, mime_type } = part {
                return Self::Image { data: data.clone(), mime_type: mime_type.clone() };
            }
        }
        Self::Text(plain_text(content))
    }

    pub fn of_result(result: &ToolResultMessage) -> Self {
        Self::of(&result.content, result.details.as_ref())
    }
}
