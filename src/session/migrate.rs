//! Files of versions 1 and 2 as version 3, on raw JSON so that nothing unknown is lost.
//!
//! The result lives in memory; the file is rewritten only right before the first append. New ids
//! are made from the session id and the line, so they are the same each time the file is opened.

use std::collections::HashSet;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::{load, name, parse};

/// The version that is written.
pub(super) const VERSION: u32 = 3;

/// The file's lines as version 3. Blank lines are dropped, lines that are no JSON object are kept
/// as they stand; a torn last line is left out. Version 3 comes back as it is, but for those.
pub(super) fn to_v3(bytes: &[u8]) -> Vec<u8> {
    let mut lines = parsed(bytes);
    let version = lines
        .iter()
        .find_map(|line| line.object.as_ref())
        .and_then(|header| header.get("version"))
        .and_then(Value::as_u64)
        .unwrap_or(1);
    if version < 2 {
        link(&mut lines);
    }
    if version < u64::from(VERSION) {
        rename_roles(&mut lines);
    }
    let mut out = Vec::with_capacity(bytes.len());
    for (number, line) in lines.iter_mut().enumerate() {
        match &mut line.object {
            Some(object) => {
                if number == 0 || object.get("type").and_then(Value::as_str) == Some("session") {
                    object.insert("version".to_owned(), VERSION.into());
                }
                out.extend_from_slice(Value::Object(std::mem::take(object)).to_string().as_bytes());
            }
            None => out.extend_from_slice(line.raw),
        }
        out.push(b'\n');
    }
    out
}

struct RawLine<'a> {
    raw: &'a [u8],
    object: Option<Map<String, Value>>,
}

fn parsed(bytes: &[u8]) -> Vec<RawLine<'_>> {
    let mut lines = Vec::new();
    for raw in bytes.split_inclusive(|byte| *byte == b'\n') {
        let (line, ended) = match raw.strip_suffix(b"\n") {
            Some(line) => (line, true),
            None => (raw, false),
        };
        if line.trim_ascii().is_empty() {
            continue;
        }
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line);
        let object = serde_json::from_slice(&parse::readable(line)).ok();
        if object.is_some() || ended {
            lines.push(RawLine { raw: line, object });
        }
    }
    lines
}

/// Version 1 had no ids: each entry follows the one before it.
fn link(lines: &mut [RawLine<'_>]) {
    let objects: Vec<&mut Map<String, Value>> =
        lines.iter_mut().filter_map(|line| line.object.as_mut()).collect();
    let session = objects
        .first()
        .and_then(|header| header.get("id"))
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let mut ids: Vec<Option<String>> = Vec::with_capacity(objects.len());
    let mut taken = HashSet::new();
    let mut previous: Option<String> = None;
    for (number, object) in objects.into_iter().enumerate() {
        if object.get("type").and_then(Value::as_str) == Some("session") {
            ids.push(None);
            continue;
        }
        let id = line_id(&session, number, &mut taken);
        let mut linked = Map::new();
        linked.insert("id".to_owned(), id.clone().into());
        linked.insert("parentId".to_owned(), previous.take().map_or(Value::Null, Value::from));
        // An index counts all lines, the header included; one that names the header names nothing.
        if let Some(index) = object.remove("firstKeptEntryIndex").as_ref().and_then(Value::as_u64)
            && let Some(kept) = kept_id(&ids, &id, index)
        {
            linked.insert("firstKeptEntryId".to_owned(), kept.into());
        }
        linked.extend(
            std::mem::take(object).into_iter().filter(|(key, _)| key != "id" && key != "parentId"),
        );
        *object = linked;
        previous = Some(id.clone());
        ids.push(Some(id));
    }
}

fn kept_id(ids: &[Option<String>], own: &str, index: u64) -> Option<String> {
    let index = usize::try_from(index).ok()?;
    if index == ids.len() { Some(own.to_owned()) } else { ids.get(index)?.clone() }
}

fn line_id(session: &str, number: usize, taken: &mut HashSet<String>) -> String {
    let mut salt = 0_u32;
    loop {
        let digest = Sha256::digest(format!("{session}/{number}/{salt}"));
        let id = name::hex(&digest, 4);
        if taken.insert(id.clone()) {
            return id;
        }
        salt += 1;
    }
}

/// Version 2 called messages of programs `hookMessage`.
fn rename_roles(lines: &mut [RawLine<'_>]) {
    for object in lines.iter_mut().filter_map(|line| line.object.as_mut()) {
        if let Some(role) = object.get_mut("message").and_then(|message| message.get_mut("role"))
            && role.as_str() == Some("hookMessage")
        {
            *role = "custom".into();
        }
    }
}

/// Whether a header is of a version that must be migrated.
pub(super) fn is_old(header: &super::Header) -> bool {
    header.version < VERSION
}

/// Takes migrated bytes into a tree; the header line is passed over.
pub(super) fn take(bytes: &[u8], tree: &mut super::tree::Tree) {
    let mut offset = 0;
    let mut seen_header = false;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        if !seen_header && matches!(load::read_header(text), load::FirstLine::Header(_)) {
            seen_header = true;
            tree.pass();
        } else {
            tree.take(text, offset);
        }
        offset += line.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1: &str = concat!(
        "{\"type\":\"session\",\"id\":\"s\",\"timestamp\":\"t\",\"cwd\":\"/w\",\"extra\":1}\n",
        "{\"type\":\"message\",\"timestamp\":\"t\",\"message\":{\"role\":\"user\",\"content\":\"a\"}}\n",
        "\n",
        "no json\n",
        "{\"type\":\"compaction\",\"summary\":\"s\",\"firstKeptEntryIndex\":1}\n",
        "{\"type\":\"compaction\",\"summary\":\"s\",\"firstKeptEntryIndex\":0}\n",
    );

    #[test]
    fn version_one_is_linked_in_order_and_indexes_become_ids() {
        let out = String::from_utf8(to_v3(V1.as_bytes())).unwrap();
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines.len(), 5);
        let entry = |n: usize| serde_json::from_str::<Value>(lines[n]).unwrap();
        assert_eq!(
            lines[0],
            r#"{"type":"session","id":"s","timestamp":"t","cwd":"/w","extra":1,"version":3}"#
        );
        assert_eq!((&entry(1)["parentId"], lines[2]), (&Value::Null, "no json"));
        assert_eq!(entry(3)["parentId"], entry(1)["id"]);
        assert_eq!(entry(3)["firstKeptEntryId"], entry(1)["id"]);
        assert_eq!(entry(4)["parentId"], entry(3)["id"]);
        assert_eq!(entry(4).get("firstKeptEntryId"), None);
        assert_eq!(entry(4).get("firstKeptEntryIndex"), None);
    }

    #[test]
    fn a_second_migration_changes_nothing() {
        let once = to_v3(V1.as_bytes());
        assert_eq!(to_v3(&once), once);
    }

    #[test]
    fn version_two_renames_the_messages_of_programs() {
        let v2 = "{\"type\":\"session\",\"version\":2,\"id\":\"s\"}\n{\"type\":\"message\",\"id\":\"a\",\"parentId\":null,\"message\":{\"role\":\"hookMessage\",\"content\":\"x\"}}";
        let out = String::from_utf8(to_v3(v2.as_bytes())).unwrap();
        assert_eq!(
            out,
            "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n{\"type\":\"message\",\"id\":\"a\",\"parentId\":null,\"message\":{\"role\":\"custom\",\"content\":\"x\"}}\n"
        );
    }
}
