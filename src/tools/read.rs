//! `read`: shows a window of a text file, or an image.
//!
//! Whatever else it is given, it answers quickly with what the thing is and what to do instead.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::content::{self, BOM, Kind};
use super::files::FileTracker;
use super::lines::{self, Window};
use super::offload::offload;
use super::{Tool, ToolContext, paths, schema};
use crate::message::{Access, Part, ToolOutcome, ToolSpec};
use crate::text::truncate::{self, MAX_BYTES, MAX_LINES, TruncatedBy, Truncation};

/// The largest image sent; the strictest provider takes 5 MB of base64.
const MAX_IMAGE_BYTES: u64 = 3_750_000;

/// The tool.
#[derive(Debug, Clone, Copy, Default)]
pub struct Read;

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// File to read, relative to the working folder or absolute.
    path: String,
    /// First line to show, from 1.
    offset: Option<i64>,
    /// Lines to show.
    limit: Option<i64>,
}

impl Tool for Read {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "read".to_owned(),
            description: "Read a text file or an image (png, jpg, gif, webp, bmp). Text is cut to \
                          2000 lines or 50KB; the result then says with which offset to go on."
                .to_owned(),
            parameters: schema::of::<Arguments>(),
        }
    }

    fn access(&self) -> Access {
        Access::Read
    }

    fn repair(&self, arguments: Value) -> Value {
        paths::mend_name(arguments)
    }

    fn summary(&self, arguments: &Value) -> String {
        let number = |name: &str| arguments.get(name).and_then(Value::as_i64);
        let path = paths::argument(arguments);
        paths::summary(&match (number("offset"), number("limit")) {
            (None, None) => path.to_owned(),
            (offset, None) => format!("{path}:{}-", offset.unwrap_or(1)),
            (offset, Some(limit)) => {
                let first = offset.unwrap_or(1).max(1);
                format!("{path}:{first}-{}", first.saturating_add(limit.max(1) - 1))
            }
        })
    }

    fn run(&self, arguments: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        offload(context.cancel.clone(), move |cancel| {
            let arguments: Arguments = match schema::parse("read", arguments) {
                Ok(arguments) => arguments,
                Err(outcome) => return Ok(outcome),
            };
            let path = paths::resolve_existing(&arguments.path, &context.cwd);
            read(&path, &arguments, &context.files, cancel)
        })
    }
}

fn read(
    path: &Path,
    arguments: &Arguments,
    files: &FileTracker,
    cancel: &CancellationToken,
) -> Result<ToolOutcome, String> {
    let name = paths::shown(path);
    let (mut file, facts) = content::open(path)?;
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::WouldBlock => {
            format!(
                "{name} has nothing to read now and would wait. Read it with bash and a timeout."
            )
        }
        io::ErrorKind::Interrupted => "aborted".to_owned(),
        _ => format!("could not read {name}: {error}"),
    };
    let mut start = Vec::new();
    let sniff = content::SNIFF_BYTES as u64;
    (&mut file).take(sniff).read_to_end(&mut start).map_err(failed)?;
    let size = truncate::size(facts.len().max(start.len() as u64));
    match content::kind(&start) {
        Kind::Image(mime) => return image(start, file, mime, &name).map_err(failed),
        Kind::Utf16 => Err(format!(
            "{name} is UTF-16 text ({size}), which read cannot show. Use bash: iconv -f UTF-16 -t \
             UTF-8 {}",
            quoted(path)
        )),
        Kind::Binary => Err(format!(
            "{name} is a binary file ({size}). Use bash, for instance: file {path}; strings {path} \
             | head -50",
            path = quoted(path)
        )),
        Kind::Text => Ok(()),
    }?;
    let first =
        arguments.offset.and_then(|offset| usize::try_from(offset).ok()).unwrap_or(1).max(1);
    let limit = arguments.limit.map(|limit| usize::try_from(limit).unwrap_or(1).max(1));
    let stream = io::Cursor::new(start).chain(file);
    let window = lines::scan(stream, first, limit.unwrap_or(usize::MAX), cancel).map_err(failed)?;
    if let Some(hash) = window.hash {
        let whole = window.whole.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok());
        files.saw(&paths::real(path), hash, whole);
    }
    show(&window, path, first, limit)
}

fn image(start: Vec<u8>, file: File, mime: &str, name: &str) -> io::Result<ToolOutcome> {
    let mut bytes = start;
    file.take(MAX_IMAGE_BYTES + 1 - bytes.len() as u64).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_IMAGE_BYTES {
        let most = truncate::size(MAX_IMAGE_BYTES);
        return Ok(ToolOutcome::error(format!(
            "{name} is an image of more than {most}, too large to send. Make a smaller copy with \
             bash and read that."
        )));
    }
    let size = truncate::size(bytes.len() as u64);
    let data = STANDARD.encode(&bytes);
    Ok(ToolOutcome {
        content: vec![
            Part::text(format!("[Image {name}: {mime}, {size}.]")),
            Part::Image { data, mime_type: mime.to_owned() },
        ],
        ..ToolOutcome::default()
    })
}

fn show(
    window: &Window,
    path: &Path,
    first: usize,
    limit: Option<usize>,
) -> Result<ToolOutcome, String> {
    let (name, total) = (paths::shown(path), window.total_lines);
    if total == 0 && first == 1 {
        return Ok(ToolOutcome::text(format!("[{name} is empty.]")));
    }
    if first > total {
        return Err(format!("offset {first} is beyond the end: {name} has {total} lines"));
    }
    let details =
        window.cut.map_or(Value::Null, |by| json!({ "truncation": truncation(window, by) }));
    if let Some(length) = window.long_line {
        let (length, file) = (truncate::size(length), quoted(path));
        let next = MAX_BYTES + 1;
        return Ok(ToolOutcome::text(format!(
            "[Line {first} has {length}, more than {} can be shown. Read it in pieces with bash: \
             sed -n '{first}p' {file} | head -c {MAX_BYTES}\nand go on with: sed -n '{first}p' \
             {file} | tail -c +{next} | head -c {MAX_BYTES}]",
            truncate::size(MAX_BYTES as u64)
        ))
        .with_details(details));
    }
    let bytes = window.bytes.strip_prefix(BOM).filter(|_| first == 1).unwrap_or(&window.bytes);
    let text = String::from_utf8_lossy(bytes);
    let is_crlf = text.contains("\r\n");
    let mut shown = if is_crlf { text.replace("\r\n", "\n") } else { text.into_owned() };
    let notes = notes(window, first, limit, is_crlf);
    if !notes.is_empty() {
        shown.truncate(shown.trim_end_matches('\n').len());
        shown.push_str("\n\n");
        shown.push_str(&notes.join("\n"));
    }
    Ok(ToolOutcome::text(shown).with_details(details))
}

fn notes(window: &Window, first: usize, limit: Option<usize>, is_crlf: bool) -> Vec<String> {
    let mut notes = Vec::new();
    let last = first - 1 + window.lines;
    let total = if window.is_complete {
        window.total_lines.to_string()
    } else {
        format!("more than {}", window.total_lines)
    };
    if let Some(by) = window.cut {
        let why = match by {
            TruncatedBy::Lines => String::new(),
            TruncatedBy::Bytes => format!(" ({} limit)", truncate::size(MAX_BYTES as u64)),
        };
        let next = last + 1;
        notes.push(format!(
            "[Showing lines {first}-{last} of {total}{why}. Go on with offset={next}.]"
        ));
    } else if limit.is_some() && last < window.total_lines {
        let more = window.total_lines - last;
        let more = if window.is_complete { more.to_string() } else { format!("more than {more}") };
        notes.push(format!("[{more} more lines in the file. Go on with offset={}.]", last + 1));
    }
    if is_crlf {
        notes.push(
            "[Line ends are CRLF. edit keeps them; write stores what it is given.]".to_owned(),
        );
    }
    if std::str::from_utf8(&window.bytes).is_err() {
        notes.push(
            "[Not UTF-8: bytes of another encoding show as \u{fffd}. Do not write them back; edit \
             only ASCII text here.]"
                .to_owned(),
        );
    }
    notes
}

fn truncation(window: &Window, by: TruncatedBy) -> Truncation {
    Truncation {
        content: String::new(),
        truncated: true,
        truncated_by: Some(by),
        total_lines: window.total_lines,
        total_bytes: usize::try_from(window.total_bytes).unwrap_or(usize::MAX),
        output_lines: window.lines,
        output_bytes: window.bytes.len(),
        last_line_partial: false,
        first_line_exceeds_limit: window.long_line.is_some(),
        max_lines: MAX_LINES,
        max_bytes: MAX_BYTES,
    }
}

/// The path as one word of a shell line.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"))
}
