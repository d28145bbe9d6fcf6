//! Sessions on a file system: what is written when, what survives, what is refused.

mod asked;
mod catalog;
mod checks;
mod commands;
mod copies;
mod damage;
mod exports;
mod facts;
mod faults;
mod interop;
mod operations;
mod pages;
mod tail;
mod trash;
mod tree;
mod two_writers;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use harness_tui::message::{AssistantMessage, Message, Part, StopReason, ToolCall};
use harness_tui::ports::{FileSystem, FixedClock, MemoryFs};
use harness_tui::session::{Body, Durability, Flush, Place, Session, SessionError};
use pretty_assertions::assert_eq;
use serde_json::Value;

/// 2026-11-30T16:51:02.123Z
pub(crate) const NOW: i64 = 1_796_057_462_123;

pub(crate) fn place(files: Arc<dyn FileSystem>) -> Place {
    Place {
        files,
        clock: Arc::new(FixedClock(NOW)),
        root: "/sessions".into(),
        durability: Durability::Commit,
    }
}

pub(crate) fn user(text: &str) -> Body {
    Body::Message { message: Message::user(text, NOW), harness: None }
}

pub(crate) fn answer(text: &str) -> Body {
    let message = AssistantMessage {
        content: vec![Part::text(text)],
        provider: "p".into(),
        model: "m".into(),
        stop_reason: StopReason::Stop,
        timestamp: NOW,
        ..AssistantMessage::default()
    };
    Body::Message { message: Message::Assistant(message), harness: None }
}

pub(crate) fn model(id: &str) -> Body {
    Body::ModelChange { provider: "p".into(), model_id: id.into() }
}

/// A session of `count` user messages in a memory file system, closed again.
pub(crate) fn stored(count: usize) -> (MemoryFs, PathBuf) {
    let files = MemoryFs::new();
    let mut session = Session::create(place(Arc::new(files.clone())), Path::new("/work"));
    for n in 1..=count {
        session.append(vec![user(&format!("message {n}"))], Flush::Sync).unwrap();
    }
    let path = session.path().unwrap().to_owned();
    (files, path)
}

pub(crate) fn open(files: &MemoryFs, path: &Path) -> Session {
    Session::open(place(Arc::new(files.clone())), path).unwrap()
}

pub(crate) fn text_of(files: &MemoryFs, path: &Path) -> String {
    String::from_utf8(files.read(path).unwrap()).unwrap()
}

pub(crate) fn told(session: &Session) -> Vec<String> {
    session
        .branch()
        .unwrap()
        .iter()
        .filter_map(|entry| match &entry.body {
            Body::Message { message, .. } => Some(message.text()),
            _ => None,
        })
        .collect()
}

/// Every line parses, ids are unique and every parent stands before its child.
pub(crate) fn assert_sound(text: &str) {
    assert!(text.ends_with('\n'), "the last line has its newline");
    let mut ids = std::collections::HashSet::new();
    for (number, line) in text.lines().enumerate() {
        let value: Value = serde_json::from_str(line).unwrap();
        if number == 0 {
            assert_eq!(value["type"], "session");
            continue;
        }
        assert_ne!(value["type"], "session", "there is one header");
        if let Some(parent) = value["parentId"].as_str() {
            assert!(ids.contains(parent), "line {number} has its parent before it");
        }
        assert!(ids.insert(value["id"].as_str().unwrap().to_owned()));
    }
}

#[test]
fn no_file_exists_before_the_first_user_message() {
    let files = MemoryFs::new();
    let mut session = Session::create(place(Arc::new(files.clone())), Path::new("/work"));
    session.append(vec![model("one")], Flush::Sync).unwrap();
    session
        .append(vec![Body::ThinkingLevelChange { thinking_level: "high".into() }], Flush::Sync)
        .unwrap();
    assert_eq!(files.paths(), Vec::<PathBuf>::new());
    assert_eq!(session.branch().unwrap().len(), 2);

    session.append(vec![user("hello")], Flush::Sync).unwrap();
    let path = session.path().unwrap().to_owned();
    let text = text_of(&files, &path);
    assert_sound(&text);
    let types: Vec<String> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].as_str().unwrap().into())
        .collect();
    assert_eq!(types, ["session", "model_change", "thinking_level_change", "message"]);
}

#[test]
fn the_file_lies_on_the_shelf_of_its_folder_and_is_named_by_time_and_id() {
    let (files, path) = stored(1);
    let session = open(&files, &path);
    let name = format!("/sessions/--work--/2026-11-30T16-51-02-123Z_{}.jsonl", session.id());
    assert_eq!(path, Path::new(&name));
    assert_eq!(session.header().cwd, "/work");
    assert_eq!(session.header().timestamp, "2026-11-30T16:51:02.123Z");
    assert_eq!(session.header().version, 3);
}

#[test]
fn a_chosen_id_is_kept_in_header_and_file_name_and_a_bad_one_is_refused() {
    let files = MemoryFs::new();
    let header = |id: &str| harness_tui::session::Header {
        version: 1,
        id: id.into(),
        timestamp: "2026-11-30T16:51:02.123Z".into(),
        cwd: "/work".into(),
        parent_session: Some("/old.jsonl".into()),
        metadata: None,
    };
    let mut session =
        Session::create_with(place(Arc::new(files.clone())), header("my.id-1")).unwrap();
    session.append(vec![user("x")], Flush::Sync).unwrap();
    let path = session.path().unwrap().to_owned();
    assert!(path.ends_with("2026-11-30T16-51-02-123Z_my.id-1.jsonl"));
    drop(session);
    assert_eq!(open(&files, &path).id().as_str(), "my.id-1");
    for bad in ["", "-a", "a/b", "a "] {
        let refused = Session::create_with(place(Arc::new(files.clone())), header(bad));
        assert!(matches!(refused, Err(SessionError::BadId { .. })), "{bad:?}");
    }
}

#[test]
fn what_was_appended_is_there_after_opening_again() {
    let files = MemoryFs::new();
    let mut session = Session::create(place(Arc::new(files.clone())), Path::new("/work"));
    session.append(vec![model("one"), user("a"), answer("b")], Flush::Sync).unwrap();
    session.append(vec![user("c")], Flush::Lazy).unwrap();
    session.set_name("my\nname ").unwrap();
    let (branch, leaf) = (session.branch().unwrap(), session.leaf().cloned());
    let context = session.context().unwrap();
    let path = session.path().unwrap().to_owned();
    drop(session);
    let mut again = open(&files, &path);
    assert_eq!(again.branch().unwrap(), branch);
    assert_eq!(again.leaf(), leaf.as_ref());
    assert_eq!(again.name(), Some("my name"));
    assert_eq!(again.context().unwrap(), context);
    assert_eq!(again.holder(), None);
    assert_eq!(again.take_notices(), []);
}

#[test]
fn a_session_in_memory_behaves_the_same_and_has_no_file() {
    let mut session = Session::in_memory(Arc::new(FixedClock(NOW)), Path::new("/work"));
    session.append(vec![user("a"), answer("b")], Flush::Sync).unwrap();
    let first = session.branch().unwrap()[0].id.clone();
    session.move_leaf(Some(&first), None).unwrap();
    session.append(vec![answer("c")], Flush::Sync).unwrap();
    assert_eq!(told(&session), ["a", "c"]);
    assert_eq!(session.path(), None);
}

#[test]
fn a_missing_file_is_not_found_and_an_empty_one_becomes_a_session_at_the_same_path() {
    let files = MemoryFs::new();
    let path = Path::new("/x/empty.jsonl");
    let missing = Session::open(place(Arc::new(files.clone())), path);
    assert!(matches!(missing, Err(SessionError::NotFound { .. })));
    files.put(path, "");
    let mut session = open(&files, path);
    session.append(vec![user("a")], Flush::Sync).unwrap();
    assert_sound(&text_of(&files, path));
    drop(session);
    assert_eq!(told(&open(&files, path)), ["a"]);
}

#[test]
fn unknown_types_and_fields_survive_in_the_file() {
    let (files, path) = stored(1);
    let mut text = text_of(&files, &path);
    let parent = open(&files, &path).leaf().unwrap().clone();
    text.push_str(&format!(
        "{{\"type\":\"moon\",\"id\":\"m\",\"parentId\":\"{parent}\",\"phase\":[1]}}\n"
    ));
    files.put(&path, text.as_bytes());
    let mut session = open(&files, &path);
    session.append(vec![user("next")], Flush::Sync).unwrap();
    assert!(text_of(&files, &path).starts_with(&text));
    assert_eq!(session.branch().unwrap().last().unwrap().parent_id, Some("m".into()));
    assert_eq!(told(&session), ["message 1", "next"]);
}

#[test]
fn types_that_are_only_read_are_refused_and_change_nothing() {
    let (files, path) = stored(1);
    let mut session = open(&files, &path);
    let before = text_of(&files, &path);
    for body in [
        Body::Other,
        Body::Leaf { target_id: None },
        Body::ActiveToolsChange { active_tool_names: vec![] },
    ] {
        let refused = session.append(vec![user("x"), body], Flush::Sync);
        assert!(matches!(refused, Err(SessionError::Unwritable { .. })));
    }
    assert_eq!(text_of(&files, &path), before);
    assert_eq!(told(&session), ["message 1"]);
}

#[test]
fn a_compaction_that_keeps_nothing_names_itself() {
    let mut session = Session::in_memory(Arc::new(FixedClock(NOW)), Path::new("/work"));
    session.append(vec![user("a")], Flush::Sync).unwrap();
    let body = Body::Compaction {
        summary: "s".into(),
        first_kept_entry_id: None,
        tokens_before: 1,
        details: None,
        usage: None,
        from_hook: None,
        retained_tail: None,
    };
    let entry = session.append(vec![body], Flush::Sync).unwrap().remove(0);
    let Body::Compaction { first_kept_entry_id, .. } = &entry.body else { panic!() };
    assert_eq!(first_kept_entry_id.as_ref(), Some(&entry.id));
}

#[test]
fn arguments_too_deep_to_be_read_back_are_kept_as_text() {
    let (files, path) = stored(1);
    let mut session = open(&files, &path);
    let deep = (0..126).fold(serde_json::json!(1), |inner, _| serde_json::json!([inner]));
    let arguments = serde_json::json!({ "a": deep });
    let call = ToolCall { id: "c".into(), arguments: arguments.clone(), ..ToolCall::default() };
    let message = AssistantMessage { content: vec![Part::ToolCall(call)], ..Default::default() };
    let body = Body::Message { message: Message::Assistant(message), harness: None };
    session.append(vec![body], Flush::Sync).unwrap();
    let branch = session.branch().unwrap();
    drop(session);
    assert_eq!(open(&files, &path).branch().unwrap(), branch);
    let Body::Message { message: Message::Assistant(answer), .. } = &branch[1].body else {
        panic!()
    };
    let call = answer.tool_calls().next().unwrap();
    assert_eq!(call.arguments, serde_json::json!({}));
    assert_eq!(call.raw_arguments, Some(arguments.to_string()));
}

#[test]
fn a_price_that_is_no_number_is_written_as_none() {
    let (files, path) = stored(1);
    let mut session = open(&files, &path);
    let mut message = AssistantMessage::default();
    message.usage.cost.total = f64::NAN;
    message.usage.cost.input = f64::INFINITY;
    let body = Body::Message { message: Message::Assistant(message), harness: None };
    session.append(vec![body], Flush::Sync).unwrap();
    let branch = session.branch().unwrap();
    drop(session);
    assert_eq!(open(&files, &path).branch().unwrap(), branch);
}

#[test]
fn files_and_folders_are_private_and_an_open_one_is_tightened() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let on_disk = Place { root: dir.path().join("s"), ..place(Arc::new(harness_tui::ports::Disk)) };
    let mut session = Session::create(on_disk.clone(), Path::new("/work"));
    session.append(vec![user("a")], Flush::Sync).unwrap();
    let path = session.path().unwrap().to_owned();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(
        (mode(&path), mode(path.parent().unwrap()), mode(&on_disk.root)),
        (0o600, 0o700, 0o700)
    );
    drop(session);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let mut session = Session::open(on_disk, &path).unwrap();
    assert_eq!(mode(&path), 0o600);
    let notices = session.take_notices();
    assert_eq!(notices.len(), 1);
    assert!(notices[0].text.contains("mode 644"), "{notices:?}");
}
