//! What exports for people say of an entry: its title, its pieces, clean and without keys.
//!
//! Markdown and HTML tell the same story, so the story is told once and here.

use crate::message::{AssistantMessage, Display, Message, Part, ToolCall, ToolResultMessage};
use crate::text::sanitize::{one_line, sanitize};

use crate::session::redact::Redactor;
use crate::session::{Body, Entry};

/// Longest name, argument or title in characters.
const SHORT: usize = 120;

/// Who an entry is by, for headings and colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Voice {
    You,
    Assistant,
    Tool,
    Summary,
    Note,
}

impl Voice {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::You => "you",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
            Self::Summary => "summary",
            Self::Note => "note",
        }
    }
}

/// One thing an entry says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// Words, in Markdown.
    Text(String),
    Thinking(String),
    Call {
        name: String,
        arguments: String,
    },
    /// What a tool gave, or another text that stands for itself.
    Output(String),
    Diff(String),
    /// MIME type and base64.
    Image {
        mime: String,
        data: String,
    },
}

/// An entry as people read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) voice: Voice,
    pub(super) title: String,
    pub(super) is_error: bool,
    pub(super) pieces: Vec<Piece>,
}

impl Told {
    /// The beginning of its words, for a list. From the clean pieces: what the index keeps is cut, and
    /// half a key would not be known any more.
    pub(super) fn words(&self, width: usize) -> String {
        let text = self.pieces.iter().find_map(|piece| match piece {
            Piece::Text(text) | Piece::Output(text) => Some(one_line(text, width)),
            _ => None,
        });
        let call = || {
            self.pieces.iter().find_map(|piece| match piece {
                Piece::Call { name, arguments } => {
                    Some(one_line(&format!("{name} {arguments}"), width))
                }
                Piece::Thinking(text) | Piece::Diff(text) => Some(one_line(text, width)),
                _ => None,
            })
        };
        text.or_else(call).unwrap_or_default()
    }
}

/// What an entry says; `None` for entries that say nothing to people.
pub(super) fn told(entry: &Entry, redactor: &Redactor) -> Option<Told> {
    let clean = Clean { redactor };
    let told = match &entry.body {
        Body::Message { message, .. } => return clean.message(message),
        Body::CustomMessage { custom_type, content, display: true, .. } => {
            return Some(Told {
                title: clean.short(custom_type),
                voice: Voice::Note,
                is_error: false,
                pieces: clean.parts(content),
            });
        }
        Body::Compaction { summary, .. } => (Voice::Summary, "Compaction", clean.text(summary)),
        Body::BranchSummary { summary, .. } => {
            (Voice::Summary, "Summary of another branch", clean.text(summary))
        }
        Body::ModelChange { provider, model_id } => {
            (Voice::Note, "Model", clean.text(&format!("{provider}/{model_id}")))
        }
        Body::ThinkingLevelChange { thinking_level } => {
            (Voice::Note, "Thinking", clean.text(thinking_level))
        }
        _ => return None,
    };
    let (voice, title, text) = told;
    let pieces = vec![Piece::Text(text)];
    Some(Told { voice, title: title.to_owned(), is_error: false, pieces })
}

struct Clean<'a> {
    redactor: &'a Redactor,
}

impl Clean<'_> {
    fn text(&self, text: &str) -> String {
        // Keys first: what the gate shows of a control character could hide one.
        sanitize(&self.redactor.text(text)).into_owned()
    }

    fn short(&self, text: &str) -> String {
        // Keys before the cut: half a key would not be known any more.
        let clean = self.text(text);
        clean.chars().take(SHORT).collect::<String>().replace('\n', " ")
    }

    fn message(&self, message: &Message) -> Option<Told> {
        let told = |voice, title: &str, is_error, pieces| {
            Some(Told { voice, title: title.to_owned(), is_error, pieces })
        };
        match message {
            Message::User(user) => told(Voice::You, "You", false, self.parts(&user.content)),
            Message::Assistant(answer) => Some(self.answer(answer)),
            Message::ToolResult(result) => Some(self.result(result)),
            Message::BashExecution(run) => {
                let title = format!("You ran {}", self.short(&run.command));
                let failed = run.cancelled || run.exit_code.is_some_and(|code| code != 0);
                told(Voice::You, &title, failed, vec![Piece::Output(self.text(&run.output))])
            }
            Message::Custom(custom) if custom.display => {
                let title = self.short(&custom.custom_type);
                told(Voice::Note, &title, false, self.parts(&custom.content))
            }
            Message::BranchSummary(summary) | Message::CompactionSummary(summary) => {
                let pieces = vec![Piece::Text(self.text(&summary.summary))];
                told(Voice::Summary, "Summary", false, pieces)
            }
            Message::Custom(_) | Message::Unknown => None,
        }
    }

    fn answer(&self, answer: &AssistantMessage) -> Told {
        let mut pieces = self.parts(&answer.content);
        if let Some(error) = &answer.error_message {
            pieces.push(Piece::Output(self.text(error)));
        }
        let title = match answer.model.as_str() {
            "" => "Assistant".to_owned(),
            model => format!("Assistant ({})", self.short(model)),
        };
        let is_error = answer.error_message.is_some();
        Told { voice: Voice::Assistant, title, is_error, pieces }
    }

    fn result(&self, result: &ToolResultMessage) -> Told {
        let mut pieces = Vec::new();
        match Display::of(&result.content, result.details.as_ref()) {
            Display::Diff { diff, .. } => pieces.push(Piece::Diff(self.text(&diff))),
            _ => pieces.extend(self.parts(&result.content).into_iter().map(|piece| match piece {
                Piece::Text(text) => Piece::Output(text),
                other => other,
            })),
        }
        let title = format!("Result of {}", self.short(&result.tool_name));
        Told { voice: Voice::Tool, title, is_error: result.is_error, pieces }
    }

    fn parts(&self, parts: &[Part]) -> Vec<Piece> {
        parts.iter().filter_map(|part| self.part(part)).collect()
    }

    fn part(&self, part: &Part) -> Option<Piece> {
        match part {
            Part::Text { text, .. } if text.trim().is_empty() => None,
            Part::Text { text, .. } => Some(Piece::Text(self.text(text))),
            Part::Thinking { thinking, .. } if thinking.trim().is_empty() => None,
            Part::Thinking { thinking, .. } => Some(Piece::Thinking(self.text(thinking))),
            Part::Image { data, mime_type } => is_image(mime_type, data)
                .then(|| Piece::Image { mime: mime_type.clone(), data: data.clone() }),
            Part::ToolCall(call) => Some(self.call(call)),
            Part::Unknown => None,
        }
    }

    fn call(&self, call: &ToolCall) -> Piece {
        let arguments = serde_json::to_string_pretty(&call.arguments).unwrap_or_default();
        Piece::Call { name: self.short(&call.name), arguments: self.text(&arguments) }
    }
}

/// Whether a part is what it says: a raster image in base64. Vector images can hold scripts.
fn is_image(mime: &str, data: &str) -> bool {
    let known = ["image/png", "image/jpeg", "image/gif", "image/webp"];
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    known.contains(&mime) && data.bytes().all(is_base64)
}
