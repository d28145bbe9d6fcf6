//! What the first message and the system prompt are made of: arguments, files, standard input, preset.

use std::io::{self, IsTerminal, Read};
use std::path::Path;

use base64::Engine;
use harness_tui::harness::{ErrorCode, HarnessError};
use harness_tui::message::Part;
use harness_tui::preset;
use harness_tui::prompt::{Environment, Given, Sources, context_files};
use harness_tui::session::Session;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::Ground;

/// A file or a pipe put into a prompt is cut here: more would not fit a model.
const MAX_TEXT: u64 = 512 * 1024;
/// An image larger than this is refused by every provider.
const MAX_IMAGE: usize = 4_500_000;

/// The prompt of the command line: words joined by spaces, `@file` as the file's content.
pub(super) fn content(words: &[String], cwd: &Path) -> Result<Vec<Part>, String> {
    let mut text = Vec::new();
    let mut parts = Vec::new();
    for word in words {
        match word.strip_prefix('@').filter(|name| !name.is_empty()) {
            None => text.push(word.clone()),
            Some(name) => parts.push(file(name, cwd)?),
        }
    }
    if text.iter().any(|word| !word.trim().is_empty()) {
        parts.push(Part::text(text.join(" ")));
    }
    Ok(parts)
}

fn file(name: &str, cwd: &Path) -> Result<Part, String> {
    let path = cwd.join(name);
    let facts =
        std::fs::metadata(&path).map_err(|error| format!("cannot read @{name}: {error}"))?;
    if !facts.is_file() {
        return Err(format!("cannot read @{name}: it is no ordinary file"));
    }
    let handle =
        std::fs::File::open(&path).map_err(|error| format!("cannot read @{name}: {error}"))?;
    let mut bytes = Vec::new();
    handle
        .take(MAX_IMAGE as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("cannot read @{name}: {error}"))?;
    if let Some(mime_type) = image_type(&bytes) {
        if bytes.len() > MAX_IMAGE {
            return Err(format!("@{name} is an image of more than 4.5 MB: make it smaller first"));
        }
        let data = base64::engine::general_purpose::STANDARD.encode(&bytes);
        return Ok(Part::Image { data, mime_type: mime_type.to_owned() });
    }
    if bytes.contains(&0) {
        return Err(format!("@{name} is a binary file"));
    }
    let cut = bytes.len() as u64 > MAX_TEXT;
    bytes.truncate(usize::try_from(MAX_TEXT).unwrap_or(usize::MAX));
    let note = if cut { " (cut at 512 KB)" } else { "" };
    Ok(Part::text(format!("File {name}{note}:\n\n{}", String::from_utf8_lossy(&bytes))))
}

fn image_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// What was piped in, if anything.
pub(super) fn piped() -> Result<Option<String>, String> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    stdin
        .take(MAX_TEXT)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("cannot read standard input: {error}"))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok((!text.trim().is_empty()).then_some(text))
}

/// The sources of the system prompt, and what the turn's record says of them.
pub(super) fn sources(
    ground: &Ground,
    session: &Session,
    cwd: &Path,
    notices: &mut Vec<String>,
) -> Result<(Sources, Map<String, Value>), HarnessError> {
    let preset =
        preset::default_preset().map_err(|text| HarnessError::new(ErrorCode::Unknown, text))?;
    let sections = preset.bodies();
    let (files, unread) = context_files(&ground.paths.config, cwd);
    notices.extend(unread);
    let day: String = session.header().timestamp.chars().take(10).collect();
    let sources = Sources {
        environment: Environment {
            cwd: cwd.display().to_string(),
            platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            date: day,
        },
        context_files: files,
        given: given(ground)?,
        sections: sections.clone(),
    };
    let hash = Sha256::digest(sections.join("\n").as_bytes());
    let hash: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let labels = Map::from_iter([
        ("agent".to_owned(), json!("coder")),
        ("preset".to_owned(), json!({"id": preset.id, "hash": hash})),
    ]);
    Ok((sources, labels))
}

/// The system prompt of the command line.
pub(super) fn given(ground: &Ground) -> Result<Option<Given>, HarnessError> {
    let text = |value: &String| match value.strip_prefix('@') {
        None => Ok(value.clone()),
        Some(name) => std::fs::read_to_string(ground.cwd.join(name)).map_err(|error| {
            HarnessError::new(
                ErrorCode::InvalidArgument,
                format!("cannot read the system prompt {name}: {error}"),
            )
        }),
    };
    let full = ground.cli.system_prompt.as_ref().map(text).transpose()?;
    let more = ground.cli.append_system_prompt.as_ref().map(text).transpose()?;
    Ok(match (full.filter(|text| !text.trim().is_empty()), more) {
        (Some(full), Some(more)) => Some(Given::Override(format!("{full}\n\n{more}"))),
        (Some(full), None) => Some(Given::Override(full)),
        (None, Some(more)) => Some(Given::Enrich(more)),
        (None, None) => None,
    })
}
