//! Front ends without a screen: one prompt in, text or JSON lines out, an exit code at the end.
//!
//! Both read the same events as the screen. Standard output carries the answer only; everything else
//! goes to the second writer.

mod exit;
mod json;
mod print;

pub use exit::Exit;

use std::io::{self, Write};
use std::sync::Arc;

use tokio::sync::mpsc;

use crate::harness::{Command, Event, Handle, Update};
use crate::message::Part;

/// How the answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The final text, as the model wrote it.
    Text,
    /// The final text for a terminal: what a terminal would obey is made visible.
    Terminal,
    /// A header, then one event a line.
    Json,
}

/// Sends one prompt and follows the turn to its end.
///
/// # Errors
/// When `out` or `err` cannot be written; a closed `out` is [`Exit::Closed`] instead.
pub async fn run(
    handle: &Handle,
    mode: Mode,
    content: Vec<Part>,
    out: &mut (dyn Write + Send),
    err: &mut (dyn Write + Send),
) -> io::Result<Exit> {
    match follow(handle, mode, content, out, err).await {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Exit::Closed),
        other => other,
    }
}

async fn follow(
    handle: &Handle,
    mode: Mode,
    content: Vec<Part>,
    out: &mut (dyn Write + Send),
    err: &mut (dyn Write + Send),
) -> io::Result<Exit> {
    let mut events = collect(handle);
    let snapshot = match handle.snapshot().await {
        Ok(snapshot) => snapshot,
        Err(error) => {
            print::say(&error.to_string(), err)?;
            return Ok(Exit::Failed);
        }
    };
    for notice in &snapshot.notices {
        print::say(notice, err)?;
    }
    if let Some(holder) = &snapshot.read_only {
        print::say(&format!("the session cannot be written: {holder}"), err)?;
        return Ok(Exit::Held);
    }
    if mode == Mode::Json {
        json::header(&snapshot, out)?;
    }
    if let Err(error) = handle.send(Command::Prompt { content }).await {
        print::say(&error.to_string(), err)?;
        return Ok(Exit::Failed);
    }
    let mut exit = exit::Watch::default();
    while let Some(event) = events.recv().await {
        exit.see(&event);
        match mode {
            Mode::Json => json::event(&event, out)?,
            Mode::Text => print::event(&event, false, out, err)?,
            Mode::Terminal => print::event(&event, true, out, err)?,
        }
        if exit.over() {
            break;
        }
    }
    out.flush()?;
    Ok(exit.verdict())
}

/// Takes events as they come, so that a reader of the output who is slow loses none. The queue has no
/// bound of its own: it holds one turn, whose parts are bounded and shared with the session.
fn collect(handle: &Handle) -> mpsc::UnboundedReceiver<Arc<Event>> {
    let (sender, receiver) = mpsc::unbounded_channel();
    let mut events = handle.subscribe();
    tokio::spawn(async move {
        while let Some(update) = events.next().await {
            let sent = match update {
                Update::Event(event) => sender.send(event),
                // Only a machine that starves this very task can get here; better said than silent.
                Update::Missed(count) => {
                    let text = format!("bug: {count} events were lost");
                    sender.send(Arc::new(Event::Notice { text }))
                }
            };
            if sent.is_err() {
                return;
            }
        }
    });
    receiver
}
