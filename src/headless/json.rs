//! Events as JSON lines. The first line is the session's header; text pieces come as deltas only.

use std::io::{self, Write};

use serde_json::json;

use crate::harness::{Event, Snapshot};

pub(super) fn header(snapshot: &Snapshot, out: &mut dyn Write) -> io::Result<()> {
    let header = json!({
        "type": "session",
        "version": 3,
        "id": snapshot.session,
        "cwd": snapshot.cwd.to_string_lossy(),
        "path": snapshot.path.as_ref().map(|path| path.to_string_lossy()),
        "model": snapshot.model,
    });
    writeln!(out, "{header}")?;
    out.flush()
}

pub(super) fn event(event: &Event, out: &mut dyn Write) -> io::Result<()> {
    // One write a line, so that a reader never sees half an event.
    let mut line = serde_json::to_vec(event).map_err(io::Error::other)?;
    line.push(b'\n');
    out.write_all(&line)?;
    out.flush()
}
