//! Exports: a session for reading or opening elsewhere, written as a stream.
//!
//! Nothing is held but a block of lines, so the size of a session does not matter. What people read
//! is sanitised: no export can move a cursor, run a script or hide what it says.

mod html;
mod markdown;
mod pieces;

use std::io::{self, Write};
use std::path::Path;

use crate::session::SessionError;
use crate::session::redact::Redactor;
use crate::session::snapshot::SessionView;

/// Bytes of a file that are copied at once.
const BLOCK: usize = 1 << 20;

/// What an export looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Export {
    /// The file as it is, without a torn last line.
    Whole,
    /// The active branch as a session of its own, with a new id.
    Branch,
    /// The active branch, for people.
    Markdown,
    /// One self-contained page that shows the tree.
    Html,
}

impl Export {
    /// How a file of it ends.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Whole | Self::Branch => "jsonl",
            Self::Markdown => "md",
            Self::Html => "html",
        }
    }
}

impl SessionView {
    /// Writes the session to `out`. `now` is Unix milliseconds.
    ///
    /// # Errors
    /// [`SessionError::NothingToCopy`], what stopped the reading, or what `out` said.
    pub fn export(
        &self,
        what: Export,
        redactor: &Redactor,
        now: i64,
        out: &mut dyn Write,
    ) -> Result<(), SessionError> {
        if self.is_unborn {
            return Err(SessionError::NothingToCopy);
        }
        match what {
            Export::Whole => self.write_whole(redactor, out)?,
            Export::Branch => {
                let mut lines = Lines { redactor, out: &mut *out, line: Vec::new() };
                self.write_branch(now, &mut lines)?;
            }
            Export::Markdown => markdown::write(self, redactor, out)?,
            Export::Html => html::write(self, redactor, out)?,
        }
        out.flush().map_err(failed)
    }

    fn write_whole(&self, redactor: &Redactor, out: &mut dyn Write) -> Result<(), SessionError> {
        let mut lines = Lines { redactor, out, line: Vec::new() };
        let mut offset = 0;
        while offset < self.raw_end {
            let left = usize::try_from(self.raw_end - offset).unwrap_or(BLOCK);
            let bytes = self.raw.read(offset, left.min(BLOCK))?;
            if bytes.is_empty() {
                return Err(self.raw.changed());
            }
            offset += bytes.len() as u64;
            lines.write_all(&bytes).map_err(failed)?;
        }
        if !self.has_newline {
            lines.write_all(b"\n").map_err(failed)?;
        }
        lines.flush().map_err(failed)
    }
}

/// Passes lines on without the known secrets.
struct Lines<'a> {
    redactor: &'a Redactor,
    out: &'a mut dyn Write,
    /// The beginning of a line whose end is still to come.
    line: Vec<u8>,
}

impl Write for Lines<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(end) = memchr::memrchr(b'\n', bytes) else {
            self.line.extend_from_slice(bytes);
            return Ok(bytes.len());
        };
        let (whole, rest) = bytes.split_at_checked(end + 1).unwrap_or((bytes, &[]));
        self.line.extend_from_slice(whole);
        self.out.write_all(&self.redactor.line(&self.line))?;
        self.line.clear();
        self.line.extend_from_slice(rest);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.write_all(&self.redactor.line(&self.line))?;
        self.line.clear();
        self.out.flush()
    }
}

fn failed(error: io::Error) -> SessionError {
    SessionError::io("write", Path::new("the export"), error)
}
