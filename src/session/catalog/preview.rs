//! The last words of a session, for a look before it is opened.

use std::path::Path;

use super::look::last_lines;
use crate::ports::FileSystem;
use crate::session::index::Role;
use crate::session::{Body, SessionError, parse};

/// Messages shown: more than a tall screen has rows for.
const MESSAGES: usize = 24;
/// Characters of each.
const CHARS: usize = 2_000;

/// What somebody said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quote {
    pub role: Role,
    /// At most 2,000 characters; not cleaned for a terminal.
    pub text: String,
}

/// The last messages of people and models, in the order of the file; none when its last megabytes
/// hold none.
///
/// # Errors
/// What stopped the reading.
pub fn preview(files: &dyn FileSystem, path: &Path) -> Result<Vec<Quote>, SessionError> {
    let facts = files.facts(path).map_err(|error| SessionError::io("read", path, error))?;
    let found = last_lines(files, path, facts.len, |lines| {
        let mut said: Vec<Quote> =
            lines.rsplit(|byte| *byte == b'\n').filter_map(of_line).take(MESSAGES).collect();
        said.reverse();
        (!said.is_empty()).then_some(said)
    });
    Ok(found.unwrap_or_default())
}

fn of_line(line: &[u8]) -> Option<Quote> {
    let Body::Message { message, .. } = parse::entry(line)?.body else { return None };
    let role = match message {
        crate::message::Message::User(_) => Role::User,
        crate::message::Message::Assistant(_) => Role::Assistant,
        _ => return None,
    };
    let text: String = message.text().trim().chars().take(CHARS).collect();
    (!text.is_empty()).then_some(Quote { role, text })
}
