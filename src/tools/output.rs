//! What a command printed: a bounded tail in memory, all of it in a private file when it is long.
//!
//! Bytes are kept as bytes until the end, so a character split over two reads stays whole, and
//! memory stays the same for ten lines and for ten gigabytes.

use std::fs::{DirBuilder, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tokio::io::AsyncWriteExt;

use crate::text::truncate::{self, Limits, MAX_BYTES, MAX_LINES, TruncatedBy, Truncation};

/// Bytes kept in memory: twice what is shown, so that cutting at a line loses nothing.
const TAIL_BYTES: usize = 2 * MAX_BYTES;
/// Bytes of one full output file; a forgotten `yes` must not fill the disk.
const MAX_SPILL_BYTES: u64 = 256 * 1024 * 1024;
/// Bytes of a live update; a pane shows a screenful.
const LIVE_BYTES: usize = 16 * 1024;
/// Under this size odd bytes are shown with marks; a larger output of them is binary.
const BINARY_MIN_BYTES: usize = 512;
/// Share of bytes that are no text, in percent, from which an output is called binary.
const BINARY_PERCENT: usize = 30;

/// Collects output while a command runs.
#[derive(Debug)]
pub(crate) struct Capture {
    tail: Vec<u8>,
    total: u64,
    newlines: u64,
    /// Where the newest two lines start, counted in bytes from the beginning.
    line_starts: [u64; 2],
    spill: Spill,
    spill_dir: PathBuf,
}

#[derive(Debug)]
enum Spill {
    NotNeeded,
    Open { file: tokio::fs::File, path: PathBuf, written: u64 },
    Failed(String),
}

/// The end of a capture.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Captured {
    /// At most 2000 lines and 50 KB from the end, valid text, colours kept.
    pub(crate) text: String,
    /// One bracketed line for each thing the reader has to know.
    pub(crate) notes: Vec<String>,
    pub(crate) truncation: Option<Truncation>,
    pub(crate) full_output: Option<PathBuf>,
}

impl Capture {
    /// `spill_dir` is created, 0700, when the first long output needs it.
    pub(crate) fn new(spill_dir: PathBuf) -> Self {
        Self {
            tail: Vec::new(),
            total: 0,
            newlines: 0,
            line_starts: [0; 2],
            spill: Spill::NotNeeded,
            spill_dir,
        }
    }

    /// Adds a chunk. A full output file that cannot be written is a note in the end, not an error.
    pub(crate) async fn push(&mut self, chunk: &[u8]) {
        for at in memchr::memchr_iter(b'\n', chunk) {
            self.newlines += 1;
            self.line_starts = [self.line_starts[1], self.total + at as u64 + 1];
        }
        self.total += chunk.len() as u64;
        self.tail.extend_from_slice(chunk);
        if self.total > MAX_BYTES as u64 || self.newlines > MAX_LINES as u64 {
            self.write_full(chunk).await;
        }
        if self.tail.len() > 2 * TAIL_BYTES {
            self.tail.drain(..self.tail.len() - TAIL_BYTES);
        }
    }

    /// The newest output for a live pane.
    pub(crate) fn live(&self) -> String {
        let start = self.tail.len().saturating_sub(LIVE_BYTES);
        let mut bytes = after_split_char(&self.tail[start..], start > 0);
        if let Err(error) = std::str::from_utf8(bytes)
            && error.error_len().is_none()
        {
            bytes = &bytes[..error.valid_up_to()];
        }
        decode(bytes).0
    }

    async fn write_full(&mut self, chunk: &[u8]) {
        if let Spill::NotNeeded = self.spill {
            self.spill = match create_private(&self.spill_dir) {
                Err(error) => Spill::Failed(error.to_string()),
                Ok((file, path)) => {
                    Spill::Open { file: tokio::fs::File::from_std(file), path, written: 0 }
                }
            };
            let kept = std::mem::take(&mut self.tail);
            self.append(&kept).await;
            self.tail = kept;
        } else {
            self.append(chunk).await;
        }
    }

    async fn append(&mut self, bytes: &[u8]) {
        let Spill::Open { file, written, .. } = &mut self.spill else { return };
        let room = usize::try_from(MAX_SPILL_BYTES - *written).unwrap_or(usize::MAX);
        let bytes = &bytes[..bytes.len().min(room)];
        *written += bytes.len() as u64;
        if let Err(error) = file.write_all(bytes).await {
            self.spill = Spill::Failed(error.to_string());
        }
    }

    /// Cuts, decodes and names what it is.
    pub(crate) async fn finish(mut self) -> Captured {
        let start = self.tail.len().saturating_sub(TAIL_BYTES);
        let bytes =
            after_split_char(&self.tail[start..], start > 0 || self.total > self.tail.len() as u64);
        let (decoded, odd) = decode(bytes);
        let length = bytes.len();
        let is_binary = length >= BINARY_MIN_BYTES && odd * 100 > length * BINARY_PERCENT;
        let mut cut = truncate::tail(&decoded, Limits::default());
        if (is_binary || cut.truncated) && matches!(self.spill, Spill::NotNeeded) {
            self.write_full(&[]).await;
        }
        let lines = self.newlines + u64::from(self.total > self.line_starts[1]);
        cut.total_lines = usize::try_from(lines).unwrap_or(usize::MAX);
        cut.total_bytes = usize::try_from(self.total).unwrap_or(usize::MAX);
        let full_output = self.close().await;
        let place = self.place(full_output.as_deref());
        let mut notes = Vec::new();
        if is_binary {
            let size = truncate::size(self.total);
            notes.push(format!("[Binary output, {size}, not shown.{place}]"));
            (cut.content, cut.output_lines, cut.output_bytes) = (String::new(), 0, 0);
            cut.truncated = true;
        } else {
            notes.extend(self.cut_note(&cut, &place));
            if odd > 0 {
                let size = truncate::size(self.total);
                notes.push(format!(
                    "[Binary data in the output: {odd} places in {size} are no UTF-8 text and show as \u{fffd}.]"
                ));
            }
        }
        let text = std::mem::take(&mut cut.content);
        Captured { text, notes, truncation: cut.truncated.then_some(cut), full_output }
    }

    fn cut_note(&self, cut: &Truncation, place: &str) -> Option<String> {
        let by = cut.truncated_by?;
        let total = cut.total_lines;
        if cut.last_line_partial {
            let last = if self.total > self.line_starts[1] {
                self.total - self.line_starts[1]
            } else {
                (self.line_starts[1] - self.line_starts[0]).saturating_sub(1)
            };
            let (kept, line) = (truncate::size(cut.output_bytes as u64), truncate::size(last));
            return Some(format!(
                "[Showing the last {kept} of line {total} (it has {line}).{place}]"
            ));
        }
        let first = (total + 1).saturating_sub(cut.output_lines);
        let limit = match by {
            TruncatedBy::Lines => String::new(),
            TruncatedBy::Bytes => format!(" ({} limit)", truncate::size(MAX_BYTES as u64)),
        };
        Some(format!("[Showing lines {first}-{total} of {total}{limit}.{place}]"))
    }

    fn place(&self, path: Option<&Path>) -> String {
        match (&self.spill, path) {
            (Spill::Failed(why), _) => format!(" The full output could not be kept: {why}."),
            (_, Some(path)) if self.total > MAX_SPILL_BYTES => {
                let kept = truncate::size(MAX_SPILL_BYTES);
                format!(" The first {kept} of the output: {}", path.display())
            }
            (_, Some(path)) => format!(" Full output: {}", path.display()),
            (_, None) => String::new(),
        }
    }

    async fn close(&mut self) -> Option<PathBuf> {
        let Spill::Open { file, path, .. } = &mut self.spill else { return None };
        match file.flush().await {
            Ok(()) => Some(path.clone()),
            Err(error) => {
                self.spill = Spill::Failed(error.to_string());
                None
            }
        }
    }
}

/// Drops the rest of a character whose beginning was cut away.
fn after_split_char(bytes: &[u8], was_cut: bool) -> &[u8] {
    const MAX_CONTINUATIONS: usize = 3;
    let is_rest = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
    let rest = bytes.iter().take(MAX_CONTINUATIONS).take_while(is_rest).count();
    if was_cut { &bytes[rest..] } else { bytes }
}

/// The text, and how many places of it are no text (NUL or invalid), each marked U+FFFD.
fn decode(bytes: &[u8]) -> (String, usize) {
    let mut text = String::with_capacity(bytes.len());
    let mut odd = 0;
    for chunk in bytes.utf8_chunks() {
        odd += memchr::memchr_iter(0, chunk.valid().as_bytes()).count();
        text.extend(chunk.valid().chars().map(|c| if c == '\0' { '\u{fffd}' } else { c }));
        if !chunk.invalid().is_empty() {
            odd += 1;
            text.push('\u{fffd}');
        }
    }
    (text, odd)
}

/// A new 0600 file in a 0700 directory, whatever the umask.
fn create_private(dir: &Path) -> io::Result<(std::fs::File, PathBuf)> {
    const PRIVATE_DIR: u32 = 0o700;
    const PRIVATE_FILE: u32 = 0o600;
    DirBuilder::new().recursive(true).mode(PRIVATE_DIR).create(dir)?;
    std::fs::set_permissions(dir, Permissions::from_mode(PRIVATE_DIR))?;
    let path = dir.join(format!("bash-{}.log", uuid::Uuid::new_v4().simple()));
    let file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE_FILE).open(&path)?;
    Ok((file, path))
}
