//! What the bytes of a file are: text, an image, UTF-16, or something no text tool can show.
//!
//! Names lie, so only bytes decide. Every file tool asks here, and so gives the same answer.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use nix::fcntl::OFlag;

use super::paths;

/// Bytes looked at to tell text from data; what other tools look at too.
pub(crate) const SNIFF_BYTES: usize = 8 * 1024;
/// The UTF-8 byte order mark.
pub(crate) const BOM: &[u8] = b"\xef\xbb\xbf";

/// The kind of a content, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    /// With its MIME type.
    Image(&'static str),
    Utf16,
    Binary,
}

/// Judges the first [`SNIFF_BYTES`] of a file (or all of a shorter one).
pub(crate) fn kind(start: &[u8]) -> Kind {
    if let Some(mime) = image(start) {
        return Kind::Image(mime);
    }
    if start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff") {
        return Kind::Utf16;
    }
    match memchr::memchr(0, start) {
        Some(_) => Kind::Binary,
        None => Kind::Text,
    }
}

fn image(start: &[u8]) -> Option<&'static str> {
    if start.starts_with(b"\x89PNG\r\n\x1a\n") {
        Some("image/png")
    } else if start.starts_with(b"\xff\xd8\xff") {
        Some("image/jpeg")
    } else if start.starts_with(b"GIF87a") || start.starts_with(b"GIF89a") {
        Some("image/gif")
    } else if start.starts_with(b"RIFF") && start.get(8..12) == Some(b"WEBP") {
        Some("image/webp")
    } else if start.starts_with(b"BM") && start.get(6..10) == Some(&[0; 4]) {
        Some("image/bmp")
    } else {
        None
    }
}

/// Opens a regular file for reading. Looks before it opens, because opening a pipe or a device may
/// wait or act, and opens without waiting, because the file may have become one.
///
/// # Errors
/// Text for the model: what it is instead, and what to do.
pub(crate) fn open(path: &Path) -> Result<(File, Metadata), String> {
    let name = paths::shown(path);
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => format!("no such file: {name}. Use ls or find to look for it."),
        io::ErrorKind::PermissionDenied => format!("no permission to read {name}"),
        _ => format!("could not read {name}: {error}"),
    };
    let before = path.metadata().map_err(failed)?;
    special(&before).map_or(Ok(()), |what| Err(format!("{name} {what}")))?;
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let file =
        OpenOptions::new().read(true).custom_flags(flags.bits()).open(path).map_err(failed)?;
    let facts = file.metadata().map_err(failed)?;
    special(&facts).map_or(Ok(()), |what| Err(format!("{name} {what}")))?;
    Ok((file, facts))
}

/// What a file is when it is no regular one, with the way on.
fn special(facts: &Metadata) -> Option<&'static str> {
    let kind = facts.file_type();
    if kind.is_dir() {
        Some("is a directory. Use ls to list it.")
    } else if kind.is_fifo() {
        Some("is a named pipe and has no content of its own. Read it with bash and a timeout.")
    } else if kind.is_socket() {
        Some("is a socket and cannot be read as a file.")
    } else if kind.is_char_device() || kind.is_block_device() {
        Some("is a device and may never end. Read a part of it with bash, for instance head -c.")
    } else {
        None
    }
}
