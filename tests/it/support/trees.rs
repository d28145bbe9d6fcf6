//! Session trees written line by line, so that a test says exactly which entry hangs from which.

use std::path::Path;
use std::sync::Arc;

use harness_tui::ports::{FixedClock, MemoryFs};
use harness_tui::session::{Durability, Place, Session, TreeView};
use serde_json::{Value, json};

/// The first entry's time, Unix milliseconds; each later line is a second later.
pub(crate) const START: i64 = 1_700_000_000_000;

/// The lines of a session file.
#[derive(Debug, Clone)]
pub(crate) struct Lines {
    text: String,
    count: i64,
}

impl Lines {
    pub(crate) fn new() -> Self {
        let header = json!({
            "type": "session", "version": 3, "id": "0192-session",
            "timestamp": "2026-11-30T16:51:02.123Z", "cwd": "/work",
        });
        Self { text: format!("{header}\n"), count: 0 }
    }

    fn time(&self) -> i64 {
        START + self.count * 1_000
    }

    /// An entry of any kind; an empty `parent` makes a root.
    pub(crate) fn entry(&mut self, id: &str, parent: &str, mut body: Value) -> &mut Self {
        let parent = if parent.is_empty() { Value::Null } else { json!(parent) };
        body["id"] = json!(id);
        body["parentId"] = parent;
        body["timestamp"] = json!("2026-11-30T16:51:02.123Z");
        self.text.push_str(&format!("{body}\n"));
        self.count += 1;
        self
    }

    pub(crate) fn message(&mut self, id: &str, parent: &str, mut message: Value) -> &mut Self {
        if message.get("timestamp").is_none() {
            message["timestamp"] = json!(self.time());
        }
        self.entry(id, parent, json!({"type": "message", "message": message}))
    }

    pub(crate) fn user(&mut self, id: &str, parent: &str, text: &str) -> &mut Self {
        self.message(id, parent, json!({"role": "user", "content": text}))
    }

    pub(crate) fn answer(&mut self, id: &str, parent: &str, text: &str) -> &mut Self {
        let content = json!([{"type": "text", "text": text}]);
        let usage = json!({
            "input": 1_000, "output": 200, "totalTokens": 1_200, "cost": {"total": 0.02}
        });
        let message = json!({
            "role": "assistant", "content": content, "stopReason": "stop", "usage": usage
        });
        self.message(id, parent, message)
    }

    /// An answer that only calls a tool.
    pub(crate) fn call(&mut self, id: &str, parent: &str, tool: &str, path: &str) -> &mut Self {
        let call = json!({
            "type": "toolCall", "id": format!("c-{id}"), "name": tool,
            "arguments": {"path": path}
        });
        let message = json!({"role": "assistant", "content": [call], "stopReason": "toolUse"});
        self.message(id, parent, message)
    }

    /// What the call of the entry above gave.
    pub(crate) fn result(&mut self, id: &str, parent: &str, tool: &str, text: &str) -> &mut Self {
        let message = json!({
            "role": "toolResult", "toolCallId": format!("c-{parent}"), "toolName": tool,
            "content": [{"type": "text", "text": text}], "isError": false
        });
        self.message(id, parent, message)
    }

    /// An edit that was done.
    pub(crate) fn edited(&mut self, id: &str, parent: &str, diff: &str) -> &mut Self {
        let message = json!({
            "role": "toolResult", "toolCallId": format!("c-{parent}"), "toolName": "edit",
            "content": [{"type": "text", "text": "done"}], "isError": false,
            "details": {"diff": diff, "firstChangedLine": 1}
        });
        self.message(id, parent, message)
    }

    pub(crate) fn label(&mut self, id: &str, parent: &str, target: &str, text: &str) -> &mut Self {
        self.entry(id, parent, json!({"type": "label", "targetId": target, "label": text}))
    }

    pub(crate) fn record(&mut self, id: &str, parent: &str) -> &mut Self {
        let body = json!({"type": "custom", "customType": "harness-tui.turn", "data": {}});
        self.entry(id, parent, body)
    }

    pub(crate) fn model(&mut self, id: &str, parent: &str, model: &str) -> &mut Self {
        let body = json!({"type": "model_change", "provider": "p", "modelId": model});
        self.entry(id, parent, body)
    }

    /// Moves the leaf.
    pub(crate) fn leaf(&mut self, id: &str, target: &str) -> &mut Self {
        let body = json!({"type": "custom", "customType": "harness-tui.leaf", "data": {"v": 1}});
        self.entry(id, target, body)
    }

    /// The session as it opens.
    pub(crate) fn session(&self) -> Session {
        let files = MemoryFs::new();
        let path = Path::new("/sessions/proj/one.jsonl");
        files.put(path, self.text.as_bytes());
        let place = Place {
            files: Arc::new(files),
            clock: Arc::new(FixedClock(START)),
            root: "/sessions".into(),
            durability: Durability::Process,
        };
        Session::open(place, path).expect("the session opens")
    }

    pub(crate) fn tree(&self) -> TreeView {
        self.session().tree()
    }
}

/// One chain of that many entries: prompts, calls, results and answers in turn.
pub(crate) fn chain(entries: usize) -> Lines {
    let mut lines = Lines::new();
    for n in 0..entries {
        let (id, parent) = (format!("e{n}"), parent(n));
        match n % 4 {
            0 => lines.user(&id, &parent, &format!("question {n} about the session")),
            1 => lines.call(&id, &parent, "read", &format!("src/file_{n}.rs")),
            2 => lines.result(&id, &parent, "read", &format!("contents of file {n}")),
            _ => lines.answer(&id, &parent, &format!("answer {n} explains what was found")),
        };
    }
    lines
}

fn parent(n: usize) -> String {
    n.checked_sub(1).map(|n| format!("e{n}")).unwrap_or_default()
}

/// Ten entries a branch: a prompt and what follows; every branch hangs from one first entry.
pub(crate) fn branches(entries: usize) -> Lines {
    let mut lines = Lines::new();
    lines.user("root", "", "where it all begins");
    let mut parent = "root".to_owned();
    for n in 1..entries {
        if n % 10 == 1 {
            parent = "root".into();
        }
        let id = format!("e{n}");
        if n % 2 == 1 {
            lines.user(&id, &parent, &format!("try number {n}"));
        } else {
            lines.answer(&id, &parent, &format!("what came of {n}"));
        }
        parent = id;
    }
    lines
}
