//! One whole line as an [`Entry`], whatever other programs made of it.
//!
//! A field of the wrong type costs that field, never the message: a history must not lose an answer
//! because its price is null. What cannot be read at all is [`Body::Other`]; the line in the file
//! stays as it is either way.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::line::Shape;
use super::{Body, Entry};
use crate::message::{EntryId, Message, Part};

/// Fields of an entry whose loss leaves the entry useful. The base and `message` are not here.
const ENTRY_FIELDS: &[&str] = &[
    "harness",
    "provider",
    "modelId",
    "thinkingLevel",
    "summary",
    "firstKeptEntryId",
    "tokensBefore",
    "details",
    "usage",
    "fromHook",
    "retainedTail",
    "fromId",
    "customType",
    "data",
    "content",
    "display",
    "label",
    "name",
    "kind",
    "model",
    "note",
    "replacement",
    "activeToolNames",
    "targetId",
];
/// The same for a message.
const MESSAGE_FIELDS: &[&str] = &[
    "api",
    "provider",
    "model",
    "responseModel",
    "responseId",
    "usage",
    "stopReason",
    "errorMessage",
    "thinkingLevel",
    "timestamp",
    "toolCallId",
    "toolName",
    "details",
    "isError",
    "durationMs",
    "command",
    "output",
    "exitCode",
    "cancelled",
    "truncated",
    "fullOutputPath",
    "excludeFromContext",
    "customType",
    "display",
    "summary",
];

/// The entry on a line that has a shape with an id. Never fails: see the file's head.
pub(super) fn entry(line: &[u8]) -> Option<Entry> {
    if let Ok(entry) = serde_json::from_slice::<Entry>(line) {
        return Some(entry);
    }
    let text = readable(line);
    if let Cow::Owned(text) = &text
        && let Ok(entry) = serde_json::from_slice::<Entry>(text)
    {
        return Some(entry);
    }
    if let Ok(Value::Object(object)) = serde_json::from_slice(&text)
        && let Some(entry) = repaired_entry(object)
    {
        return Some(entry);
    }
    let shape = Shape::of(&text)?;
    Some(Entry {
        id: EntryId::from(shape.id?.as_ref()),
        parent_id: shape.parent.as_deref().map(EntryId::from),
        timestamp: shape.timestamp.unwrap_or_default().into_owned(),
        body: Body::Other,
    })
}

fn repaired_entry(mut object: Map<String, Value>) -> Option<Entry> {
    for key in ["parentId", "timestamp"] {
        if object.get(key).is_some_and(|value| !value.is_string()) {
            object.remove(key);
        }
    }
    if let Some(Value::Object(message)) = object.get_mut("message") {
        repair_message(message);
    }
    if let Some(Value::Array(tail)) = object.get_mut("retainedTail") {
        for message in tail.iter_mut().filter_map(Value::as_object_mut) {
            repair_message(message);
        }
    }
    if let Some(content) = object.get_mut("content") {
        repair_content(content);
    }
    keep_what_reads::<Entry>(&mut object, ENTRY_FIELDS, &["message", "targetId"]);
    serde_json::from_value(Value::Object(object)).ok()
}

fn repair_message(message: &mut Map<String, Value>) {
    if let Some(content) = message.get_mut("content") {
        repair_content(content);
    }
    keep_what_reads::<Message>(message, MESSAGE_FIELDS, &["summary"]);
}

/// Turns blocks that do not read into blocks nobody knows, and other contents into none.
fn repair_content(content: &mut Value) {
    match content {
        Value::String(_) | Value::Null => {}
        Value::Array(blocks) => {
            blocks.retain(|block| serde_json::from_value::<Part>(block.clone()).is_ok())
        }
        _ => *content = Value::Null,
    }
}

/// Drops each of `fields` that stops the object from being read. `required` stay beside the one
/// that is tried, because without them nothing reads. Contents are left out of the trials: they
/// are long, and already mended.
fn keep_what_reads<T: DeserializeOwned>(
    object: &mut Map<String, Value>,
    fields: &[&str],
    required: &[&str],
) {
    const BASE: [&str; 5] = ["type", "role", "id", "parentId", "timestamp"];
    let base: Map<String, Value> = object
        .iter()
        .filter(|(key, _)| {
            (BASE.contains(&key.as_str()) && !fields.contains(&key.as_str()))
                || required.contains(&key.as_str())
        })
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    for field in fields.iter().filter(|field| **field != "content") {
        let Some(value) = object.get(*field) else { continue };
        let mut trial = base.clone();
        trial.insert((*field).to_owned(), value.clone());
        if serde_json::from_value::<T>(Value::Object(trial)).is_err() {
            object.remove(*field);
        }
    }
}

/// The line as text that JSON readers take: bytes that are no UTF-8 and halves of surrogate pairs
/// become replacement characters. Some writers cut text in the middle of a pair.
pub(super) fn readable(line: &[u8]) -> Cow<'_, [u8]> {
    let text = String::from_utf8_lossy(line);
    match without_lone_surrogates(&text) {
        Some(mended) => Cow::Owned(mended.into_bytes()),
        None => match text {
            Cow::Borrowed(_) => Cow::Borrowed(line),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        },
    }
}

fn without_lone_surrogates(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut mended = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', bytes.get(at..)?) {
        at += found;
        let code = escape(bytes, at);
        let pair = matches!(code, Some(0xD800..=0xDBFF))
            && matches!(escape(bytes, at + 6), Some(0xDC00..=0xDFFF));
        if pair {
            at += 12;
        } else if matches!(code, Some(0xD800..=0xDFFF)) {
            mended.push_str(text.get(copied..at)?);
            mended.push_str("\\ufffd");
            at += 6;
            copied = at;
        } else {
            at += 2;
        }
    }
    if copied == 0 {
        return None;
    }
    mended.push_str(text.get(copied..)?);
    Some(mended)
}

/// The code unit of the `\uXXXX` that begins at `at`.
fn escape(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(line: &Value) -> Message {
        match entry(line.to_string().as_bytes()).unwrap().body {
            Body::Message { message, .. } => message,
            other => panic!("no message: {other:?}"),
        }
    }

    #[test]
    fn a_field_of_the_wrong_type_costs_only_that_field() {
        let line = json!({"type": "message", "id": "a", "parentId": 7, "timestamp": 5, "harness": 1,
            "message": {"role": "assistant", "content": [{"type": "text", "text": "hi"}, 4, {"type": "text", "text": 9}],
                "provider": "p", "usage": {"cost": {"total": null}}, "timestamp": "soon"}});
        let Message::Assistant(answer) = message(&line) else { panic!() };
        assert_eq!(answer.content, [Part::text("hi")]);
        assert_eq!((answer.provider.as_str(), answer.timestamp), ("p", 0));
    }

    #[test]
    fn a_broken_number_does_not_lose_a_compaction() {
        let line = json!({"type": "compaction", "id": "c", "summary": "s", "tokensBefore": 1.5});
        let body = entry(line.to_string().as_bytes()).unwrap().body;
        assert!(
            matches!(body, Body::Compaction { summary, tokens_before: 0, .. } if summary == "s")
        );
    }

    #[test]
    fn null_content_reads_as_none() {
        let line =
            json!({"type": "message", "id": "a", "message": {"role": "user", "content": null}});
        assert_eq!(
            message(&line),
            Message::User(crate::message::UserMessage { content: vec![], timestamp: 0 })
        );
    }

    #[test]
    fn halves_of_characters_become_replacement_marks() {
        let line = br#"{"type":"message","id":"a","message":{"role":"user","content":"x\ud83d \ud83d\ude00 \\ud83d"}}"#;
        let Some(Entry { body: Body::Message { message, .. }, .. }) = entry(line) else { panic!() };
        assert_eq!(message.text(), "x\u{fffd} 😀 \\ud83d");
        let line = b"{\"type\":\"message\",\"id\":\"a\",\"message\":{\"role\":\"user\",\"content\":\"caf\xc3\"}}";
        let Some(Entry { body: Body::Message { message, .. }, .. }) = entry(line) else { panic!() };
        assert_eq!(message.text(), "caf\u{fffd}");
    }

    #[test]
    fn what_cannot_be_read_is_kept_as_other() {
        for line in
            [r#"{"type":"label","id":"a"}"#, r#"{"type":"new","id":"a","x":[1]}"#, r#"{"id":"a"}"#]
        {
            assert_eq!(entry(line.as_bytes()).unwrap().body, Body::Other, "{line}");
        }
        assert_eq!(entry(b"{\"type\":\"label\"}"), None);
    }
}
