//! Takes a window of lines out of a stream of any size in constant memory.
//!
//! Lines are counted and hashed as they pass, so one pass gives the window, the totals and the state
//! of the file. A line of a gigabyte is counted and never held.

use std::io::{self, Read};

use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use super::files::Hash;
use crate::text::truncate::{MAX_BYTES, MAX_LINES, TruncatedBy};

/// Bytes of one read.
const CHUNK_BYTES: usize = 64 * 1024;
/// Bytes after which counting stops once the window is full; a second of disk at worst.
const MAX_COUNTED_BYTES: u64 = 32 * 1024 * 1024;
/// Bytes kept to compare with later; the tracker keeps no more.
const MAX_WHOLE_BYTES: usize = 512 * 1024;

/// A window and what was learnt on the way.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Window {
    /// Whole lines, at most 2000 and 50 KB, with their ends.
    pub(crate) bytes: Vec<u8>,
    pub(crate) lines: usize,
    pub(crate) cut: Option<TruncatedBy>,
    /// The first wanted line is longer than the byte limit; its length so far as it was read.
    pub(crate) long_line: Option<u64>,
    /// Lines and bytes up to where counting ended.
    pub(crate) total_lines: usize,
    pub(crate) total_bytes: u64,
    /// The totals are those of the whole file.
    pub(crate) is_complete: bool,
    /// Only of a file read to its end.
    pub(crate) hash: Option<Hash>,
    /// The whole content of a small file.
    pub(crate) whole: Option<Vec<u8>>,
}

struct Scan {
    first: usize,
    wanted: usize,
    out: Window,
    line: Vec<u8>,
    line_bytes: u64,
    is_full: bool,
    hasher: Sha256,
}

/// Reads up to `wanted` lines beginning with line `first` (from 1).
///
/// # Errors
/// Those of the reader; `Interrupted` when cancelled.
pub(crate) fn scan(
    mut reader: impl Read,
    first: usize,
    wanted: usize,
    cancel: &CancellationToken,
) -> io::Result<Window> {
    let mut scan = Scan {
        first,
        wanted: wanted.min(MAX_LINES),
        out: Window { whole: Some(Vec::new()), ..Window::default() },
        line: Vec::new(),
        line_bytes: 0,
        is_full: false,
        hasher: Sha256::new(),
    };
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        if cancel.is_cancelled() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if scan.is_full && scan.out.total_bytes > MAX_COUNTED_BYTES {
            return Ok(scan.end(false, wanted));
        }
        match reader.read(&mut chunk) {
            Ok(0) => return Ok(scan.end(true, wanted)),
            Ok(count) => scan.take(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

impl Scan {
    fn take(&mut self, chunk: &[u8]) {
        self.hasher.update(chunk);
        self.out.total_bytes += chunk.len() as u64;
        if let Some(whole) = &mut self.out.whole {
            if whole.len() + chunk.len() > MAX_WHOLE_BYTES {
                self.out.whole = None;
            } else {
                whole.extend_from_slice(chunk);
            }
        }
        let mut at = 0;
        for newline in memchr::memchr_iter(b'\n', chunk) {
            self.piece(&chunk[at..=newline]);
            self.line_end();
            at = newline + 1;
        }
        self.piece(&chunk[at..]);
    }

    fn piece(&mut self, piece: &[u8]) {
        self.line_bytes += piece.len() as u64;
        if !self.is_full && self.out.total_lines + 1 >= self.first {
            let room = (MAX_BYTES + 2).saturating_sub(self.line.len());
            self.line.extend_from_slice(&piece[..piece.len().min(room)]);
            if self.line.len() > MAX_BYTES + 1 {
                // Too long whatever follows: nothing more has to be held.
                self.close_by_bytes();
            }
        }
    }

    fn line_end(&mut self) {
        self.out.total_lines += 1;
        let length = std::mem::take(&mut self.line_bytes);
        if self.is_full {
            if self.out.total_lines == self.first && self.out.long_line.is_some() {
                self.out.long_line = Some(length);
            }
            return;
        }
        if self.out.total_lines < self.first {
            return;
        }
        let line = std::mem::take(&mut self.line);
        let body = line.strip_suffix(b"\n").unwrap_or(&line);
        if self.out.bytes.len() + body.len() > MAX_BYTES {
            self.close_by_bytes();
            if self.out.long_line.is_some() {
                self.out.long_line = Some(length);
            }
            return;
        }
        self.out.bytes.extend_from_slice(&line);
        self.out.lines += 1;
        self.is_full = self.out.lines == self.wanted;
    }

    fn close_by_bytes(&mut self) {
        self.is_full = true;
        self.out.cut = Some(TruncatedBy::Bytes);
        self.line = Vec::new();
        if self.out.lines == 0 {
            self.out.long_line = Some(self.line_bytes);
        }
    }

    fn end(mut self, is_complete: bool, wanted: usize) -> Window {
        if self.line_bytes > 0 {
            self.line_end();
        }
        let shown_to = self.first.saturating_sub(1) + self.out.lines;
        if self.out.cut.is_none() && self.out.lines == MAX_LINES && wanted > MAX_LINES {
            self.out.cut = (shown_to < self.out.total_lines).then_some(TruncatedBy::Lines);
        }
        self.out.is_complete = is_complete;
        self.out.hash = is_complete.then(|| self.hasher.finalize().into());
        if !is_complete {
            self.out.whole = None;
        }
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_line_is_counted_and_not_held() {
        let endless = io::repeat(b'x').take(200 * 1024 * 1024);
        let window = scan(endless, 1, usize::MAX, &CancellationToken::new()).unwrap();
        assert!(!window.is_complete && window.bytes.is_empty() && window.hash.is_none());
        assert!(window.long_line.is_some_and(|length| length > MAX_COUNTED_BYTES));
        assert!(window.total_bytes < 2 * MAX_COUNTED_BYTES);
    }

    #[test]
    fn a_cancel_ends_the_scan() {
        let cancel = CancellationToken::new();
        cancel.cancel();
        let ended = scan(io::repeat(b'\n'), 1, 1, &cancel);
        assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::Interrupted);
    }

    #[test]
    fn a_window_in_the_middle_counts_all_lines() {
        let window = scan(&b"a\nb\nc\nd"[..], 2, 2, &CancellationToken::new()).unwrap();
        assert_eq!((window.bytes.as_slice(), window.lines), (&b"b\nc\n"[..], 2));
        assert_eq!((window.total_lines, window.total_bytes, window.cut), (4, 7, None));
        assert_eq!(window.whole.as_deref(), Some(&b"a\nb\nc\nd"[..]));
    }
}
