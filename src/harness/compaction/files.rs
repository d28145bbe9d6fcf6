//! Which files a conversation read and changed, carried from summary to summary.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::message::Message;

/// Most files of a list that are carried on; the first in order of their names.
const MAX_FILES: usize = 500;
/// A longer path is no path.
const MAX_PATH: usize = 4096;
/// What the lists begin with in a summary's text.
const READ: &str = "<read-files>";
const MODIFIED: &str = "<modified-files>";

/// Files by what was done to them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::harness) struct Files {
    read: BTreeSet<String>,
    modified: BTreeSet<String>,
}

impl Files {
    /// Takes note of what the calls of an answer do.
    pub(in crate::harness) fn note(&mut self, message: &Message) {
        let Message::Assistant(answer) = message else { return };
        for call in answer.tool_calls() {
            let Some(path) = call.arguments.get("path").and_then(Value::as_str) else { continue };
            match call.name.as_str() {
                "read" => add(&mut self.read, path),
                "write" | "edit" => add(&mut self.modified, path),
                _ => {}
            }
        }
    }

    /// Takes over the lists of an earlier summary, from its details.
    pub(in crate::harness) fn take(&mut self, details: &Value) {
        for (name, list) in [("readFiles", &mut self.read), ("modifiedFiles", &mut self.modified)] {
            let paths = details.get(name).and_then(Value::as_array);
            for path in paths.into_iter().flatten().filter_map(Value::as_str) {
                add(list, path);
            }
        }
    }

    /// Read only, and changed; both sorted.
    pub(in crate::harness) fn lists(&self) -> (Vec<String>, Vec<String>) {
        let read = self.read.difference(&self.modified).take(MAX_FILES).cloned().collect();
        (read, self.modified.iter().take(MAX_FILES).cloned().collect())
    }

    /// The lists as a summary's details.
    pub(in crate::harness) fn details(&self) -> Value {
        let (read, modified) = self.lists();
        json!({"readFiles": read, "modifiedFiles": modified})
    }

    /// A summary's text with the lists behind it; an empty list is left out.
    pub(in crate::harness) fn behind(&self, summary: &str) -> String {
        let (read, modified) = self.lists();
        let mut text = summary.trim_end().to_owned();
        for (name, list) in [("read-files", read), ("modified-files", modified)] {
            if !list.is_empty() {
                text.push_str(&format!("\n\n<{name}>\n{}\n</{name}>", list.join("\n")));
            }
        }
        text
    }
}

/// A summary's text without the lists behind it.
pub(super) fn without_lists(summary: &str) -> &str {
    let ends = [READ, MODIFIED].iter().filter_map(|mark| summary.find(&format!("\n{mark}\n")));
    summary.get(..ends.min().unwrap_or(summary.len())).unwrap_or(summary).trim_end()
}

fn add(list: &mut BTreeSet<String>, path: &str) {
    // A line break would make two entries of one, and no tool takes such a path by accident.
    let is_path = !path.is_empty() && path.len() <= MAX_PATH && !path.contains(['\n', '\r']);
    if is_path {
        list.insert(path.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::message::{AssistantMessage, Part, ToolCall};

    fn call(name: &str, arguments: Value) -> Message {
        let call = ToolCall { id: "c".into(), name: name.into(), arguments, ..ToolCall::default() };
        let content = vec![Part::ToolCall(call)];
        Message::Assistant(AssistantMessage { content, ..AssistantMessage::default() })
    }

    #[test]
    fn a_file_that_was_read_and_changed_counts_as_changed() {
        let mut files = Files::default();
        files.note(&call("read", json!({"path": "a"})));
        files.note(&call("edit", json!({"path": "a"})));
        files.note(&call("write", json!({"path": "b"})));
        files.note(&call("bash", json!({"path": "c"})));
        files.note(&call("read", json!({"path": 7})));
        assert_eq!(files.lists(), (Vec::new(), vec!["a".to_owned(), "b".to_owned()]));
    }

    #[test]
    fn lists_grow_from_summary_to_summary_and_are_sorted() {
        let mut files = Files::default();
        files.note(&call("read", json!({"path": "z"})));
        files.take(&json!({"readFiles": ["m", "a", 3], "modifiedFiles": ["q"]}));
        files.take(&json!("nothing"));
        let read = ["a", "m", "z"].map(str::to_owned).to_vec();
        assert_eq!(files.lists(), (read, vec!["q".to_owned()]));
        let text = files.behind("said\n");
        assert_eq!(
            text,
            "said\n\n<read-files>\na\nm\nz\n</read-files>\n\n<modified-files>\nq\n</modified-files>"
        );
        assert_eq!(without_lists(&text), "said");
        assert_eq!(without_lists("plain"), "plain");
    }
}
