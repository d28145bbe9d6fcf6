//! What the benches measure with: one conversation of any length, so that their numbers compare.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use harness_tui::message::{
    AssistantMessage, Message, Part, StopReason, ToolCall, ToolResultMessage,
};
use harness_tui::ports::{Disk, SystemClock};
use harness_tui::session::{Body, Durability, Flush, Place, Session};
use serde_json::json;

/// Entries of the sizes that tell flat from linear.
pub(crate) const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

/// A session of `entries` entries on the disk, gone when it is dropped.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) path: PathBuf,
}

impl Stored {
    pub(crate) fn new(entries: usize) -> Self {
        let folder = tempfile::tempdir().expect("a folder for the bench");
        let mut session = Session::create(place(folder.path()), Path::new("/work"));
        session.append(conversation(entries), Flush::Lazy).expect("the session is written");
        let path = session.path().expect("it has a file").to_owned();
        Self { folder, path }
    }

    pub(crate) fn open(&self) -> Session {
        Session::open(place(self.folder.path()), &self.path).expect("the session opens")
    }
}

/// Without syncs: what a disk does is measured apart.
fn place(root: &Path) -> Place {
    Place {
        files: Arc::new(Disk),
        clock: Arc::new(SystemClock),
        root: root.to_owned(),
        durability: Durability::Process,
    }
}

/// Prompts, answers that read a file, results and answers in Markdown, about 700 bytes an entry.
pub(crate) fn conversation(entries: usize) -> Vec<Body> {
    (0..entries).map(|n| Body::Message { message: message(n), harness: None }).collect()
}

/// The message at this place of the conversation.
pub(crate) fn message(n: usize) -> Message {
    let id = format!("call_{}", n / 4);
    match n % 4 {
        0 => Message::user(format!("Question {n}: where is the session opened, and by whom?"), 0),
        1 => answer(
            Part::ToolCall(ToolCall {
                id,
                name: "read".into(),
                arguments: json!({"path": format!("src/session/file_{n}.rs"), "limit": 40}),
                ..ToolCall::default()
            }),
            StopReason::ToolUse,
        ),
        2 => Message::ToolResult(ToolResultMessage {
            tool_call_id: id,
            tool_name: "read".into(),
            content: vec![Part::text("    let opened = Session::open(place, path)?;\n".repeat(30))],
            details: None,
            is_error: false,
            duration_ms: Some(3),
            timestamp: 0,
        }),
        _ => answer(Part::text(paragraph(n)), StopReason::Stop),
    }
}

/// A heading, a list, code and prose.
pub(crate) fn paragraph(n: usize) -> String {
    format!(
        "## Finding {n}\n\nThe session is opened **once**, by `launch`, and owned by the engine.\n\n\
         - the lock is taken *before* anything is read\n- the tail comes first\n\n\
         ```rust\nfn open_{n}(place: Place) -> Result<Session, SessionError> {{\n    \
         Session::open(place, path)\n}}\n```\n\nNothing else writes to the file, so a screen may read \
         it at any time.\n\n"
    )
}

fn answer(part: Part, stop_reason: StopReason) -> Message {
    Message::Assistant(AssistantMessage {
        content: vec![part],
        api: "bench".into(),
        provider: "bench".into(),
        model: "m".into(),
        stop_reason,
        ..AssistantMessage::default()
    })
}
