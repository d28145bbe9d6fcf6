//! Exports: faithful where they are sessions, harmless where they are read, and without keys.

use std::path::Path;
use std::sync::Arc;

use harness_tui::message::{Message, Part, ToolResultMessage};
use harness_tui::ports::{Disk, FileSystem, MemoryFs};
use harness_tui::session::{
    Body, Export, Flush, NewFile, Redactor, Session, SessionError, SessionView,
};
use pretty_assertions::assert_eq;
use serde_json::Value;

use super::copies::{calls, result};
use super::{NOW, answer, assert_sound, open, place, stored, text_of, told, user};

fn export(session: &SessionView, what: Export) -> String {
    exported(session, what, &Redactor::new([]))
}

fn exported(session: &SessionView, what: Export, redactor: &Redactor) -> String {
    let mut out = Vec::new();
    session.export(what, redactor, NOW, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn hostile() -> Session {
    let files = MemoryFs::new();
    let mut session = Session::create(place(Arc::new(files)), Path::new("/work"));
    let attack = "</script><script>alert(1)</script><!-- \u{1b}[2J\u{202e} `x";
    let diff = ToolResultMessage {
        tool_call_id: "c".into(),
        tool_name: "</details><img src=x onerror=alert(2)>".into(),
        content: vec![Part::text("done")],
        details: Some(serde_json::json!({"diff": "+1 ```\n</script>"})),
        is_error: false,
        duration_ms: None,
        timestamp: NOW,
    };
    let image = Part::Image { data: "\"><script>".into(), mime_type: "image/svg+xml".into() };
    let mut asked = user(attack);
    if let Body::Message { message: Message::User(asked), .. } = &mut asked {
        asked.content.push(image);
    }
    let diff = Body::Message { message: Message::ToolResult(diff), harness: None };
    session.append(vec![asked, answer(attack), diff], Flush::Sync).unwrap();
    session.set_name("</title><script>alert(3)</script>").unwrap();
    session
}

#[test]
fn a_whole_export_is_the_file_byte_for_byte_but_for_a_torn_end() {
    let (files, path) = stored(3);
    let good = text_of(&files, &path);
    let read = || {
        let files: Arc<dyn FileSystem> = Arc::new(files.clone());
        SessionView::read(&files, &path).unwrap()
    };
    assert_eq!(export(&read(), Export::Whole), good);
    files.push(&path, b"{\"type\":\"mes");
    let torn = text_of(&files, &path);
    assert_eq!(export(&read(), Export::Whole), good);
    assert_eq!(text_of(&files, &path), torn, "exporting writes nothing");
    files.put(&path, good.trim_end());
    assert_eq!(export(&read(), Export::Whole), good, "a missing newline is given");
    files.put(&path, format!("{good}no json\n"));
    assert_eq!(export(&read(), Export::Whole), format!("{good}no json\n"));
}

#[test]
fn an_old_file_is_exported_as_it_is() {
    let v1 = "{\"type\":\"session\",\"id\":\"s\",\"cwd\":\"/w\"}\n\n{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"a\"}}\n";
    let files = MemoryFs::new();
    files.put(Path::new("/x.jsonl"), v1);
    let files: Arc<dyn FileSystem> = Arc::new(files);
    let view = SessionView::read(&files, Path::new("/x.jsonl")).unwrap();
    assert_eq!(export(&view, Export::Whole), v1);
}

#[test]
fn a_branch_export_is_a_session_of_its_own() {
    let (files, path) = stored(3);
    let mut session = open(&files, &path);
    let first = session.branch().unwrap()[0].id.clone();
    session.append_under(Some(&first), vec![user("other")], Flush::Sync).unwrap();
    let text = export(&session.snapshot(), Export::Branch);
    assert_sound(&text);
    files.put(Path::new("/out.jsonl"), text);
    let branch = open(&files, Path::new("/out.jsonl"));
    assert_eq!(told(&branch), ["message 1", "other"]);
    assert_ne!(branch.id(), session.id());
    assert_eq!(branch.header().parent_session.as_deref(), path.to_str());
}

#[test]
fn markdown_holds_no_html_of_others_and_no_control_bytes() {
    let text = export(&hostile().snapshot(), Export::Markdown);
    let folds =
        text.replace("<details><summary>", "").replace("</summary>", "").replace("</details>", "");
    let mut in_fence = "";
    for line in folds.lines() {
        let fence = &line[..line.len() - line.trim_start_matches('`').len()];
        match in_fence {
            "" if fence.len() >= 3 => in_fence = fence,
            "" => assert!(!line.contains('<'), "{line:?}"),
            open if fence.len() >= open.len() && line == fence => in_fence = "",
            _ => {}
        }
    }
    assert_eq!(in_fence, "", "every fence is closed");
    assert!(!text.chars().any(|c| c != '\n' && c.is_control()), "{text:?}");
    assert!(text.contains("␛") && text.contains("⟨U+202E⟩"), "an attempt is visible");
    assert!(text.contains("````diff\n+1 ```\n"), "{text}");
}

#[test]
fn the_page_runs_only_its_own_script_and_loads_nothing() {
    let text = export(&hostile().snapshot(), Export::Html);
    assert_eq!(text.matches("<script").count(), 3, "two for data, one of ours");
    assert_eq!(text.matches("</script>").count(), 3);
    assert_eq!(text.matches("<title>").count(), 1);
    assert!(text.contains("<title>&lt;/title&gt;"), "{text}");
    assert!(
        text.contains("default-src 'none'")
            && !text.contains("http://")
            && !text.contains("https://")
    );
    assert!(!text.contains("svg+xml"), "vector images may hold scripts");
    assert!(!text.chars().any(|c| c != '\n' && c.is_control()));
}

fn data(text: &str, id: &str) -> Value {
    let start = format!("<script type=\"application/json\" id=\"{id}\">");
    let rest = text.split(&start).nth(1).unwrap();
    serde_json::from_str(rest.split("</script>").next().unwrap()).unwrap()
}

#[test]
fn the_page_holds_every_branch_and_says_where_the_leaf_is() {
    let (files, path) = stored(2);
    let mut session = open(&files, &path);
    let first = session.branch().unwrap()[0].id.clone();
    session.set_label(&first, Some("start")).unwrap();
    session
        .append_under(Some(&first), vec![user("other"), calls(&["c"]), result("c")], Flush::Sync)
        .unwrap();
    let text = export(&session.snapshot(), Export::Html);
    let data_ = data(&text, "data");
    let rows: Vec<(&Value, &str)> = data_
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (&row["p"], row["v"].as_str().unwrap()))
        .collect();
    let (null, zero, two, three) = (Value::Null, 0.into(), 2.into(), 3.into());
    assert_eq!(
        rows,
        [(&null, "you"), (&zero, "you"), (&zero, "you"), (&two, "assistant"), (&three, "tool")]
    );
    assert_eq!(data_[0]["l"], "start");
    assert_eq!(data(&text, "about")["leaf"], 4);
}

#[test]
fn keys_never_travel() {
    let files = MemoryFs::new();
    let mut session = Session::create(place(Arc::new(files)), Path::new("/work"));
    let shaped = "sk-ant-api03-abcdefghijklmnopqrst";
    session.append(vec![user(&format!("my-own-secret and {shaped}"))], Flush::Sync).unwrap();
    let redactor = Redactor::new(["my-own-secret".to_owned()]);
    for what in [Export::Whole, Export::Branch, Export::Markdown, Export::Html] {
        let text = exported(&session.snapshot(), what, &redactor);
        assert!(!text.contains("my-own-secret"), "{what:?}");
        let is_for_people = matches!(what, Export::Markdown | Export::Html);
        assert_eq!(text.contains(shaped), !is_for_people, "{what:?}");
    }
}

#[test]
fn no_half_of_a_key_stays_where_a_text_is_cut() {
    let key = "my-own-secret-that-is-a-rather-long-one-and-must-not-be-cut-in-two";
    let redactor = Redactor::new([key.to_owned()]);
    for before in (60..200).step_by(10) {
        let said = format!("{}{key} and more", "word ".repeat(before / 5));
        let mut session = Session::create(place(Arc::new(MemoryFs::new())), Path::new("/work"));
        let mut called = calls(&["c"]);
        let mut told = result("c");
        if let Body::Message { message: Message::Assistant(answer), .. } = &mut called
            && let Some(Part::ToolCall(call)) = answer.content.last_mut()
        {
            call.arguments = serde_json::json!({"command": said});
            call.name.clone_from(&said);
        }
        if let Body::Message { message: Message::ToolResult(result), .. } = &mut told {
            result.tool_name.clone_from(&said);
        }
        session.append(vec![user(&said), called, told], Flush::Sync).unwrap();
        session.set_name(&said).unwrap();
        for what in [Export::Markdown, Export::Html] {
            let text = exported(&session.snapshot(), what, &redactor);
            assert!(!text.contains("my-own-s"), "{what:?} at {before}: {text}");
        }
    }
}

#[test]
fn an_export_takes_no_name_that_is_taken_and_a_failed_one_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let files: Arc<dyn FileSystem> = Arc::new(Disk);
    let path = dir.path().join("out.md");
    std::fs::write(&path, "mine").unwrap();
    let refused = NewFile::create(Arc::clone(&files), &path);
    assert!(matches!(refused, Err(SessionError::Exists { .. })));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    let other = dir.path().join("other.md");
    drop(NewFile::create(Arc::clone(&files), &other).unwrap());
    assert_eq!(files.list(dir.path()).unwrap(), [path]);
    let file = NewFile::create(Arc::clone(&files), &other).unwrap();
    assert_eq!(file.finish().unwrap(), other);
    assert_eq!(files.facts(&other).unwrap().mode, 0o600);
}

#[test]
fn a_page_of_many_entries_is_written_in_linear_time_and_holds_them_all() {
    let files = MemoryFs::new();
    let mut text =
        "{\"type\":\"session\",\"version\":3,\"id\":\"big\",\"cwd\":\"/w\"}\n".to_owned();
    for n in 0..20_000 {
        let parent = match n {
            0 => "null".to_owned(),
            n if n % 7 == 0 => "\"e0\"".to_owned(),
            n => format!("\"e{}\"", n - 1),
        };
        text.push_str(&format!("{{\"type\":\"message\",\"id\":\"e{n}\",\"parentId\":{parent},\"message\":{{\"role\":\"user\",\"content\":\"m{n}\"}}}}\n"));
    }
    files.put(Path::new("/x.jsonl"), text);
    let files: Arc<dyn FileSystem> = Arc::new(files);
    let view = SessionView::read(&files, Path::new("/x.jsonl")).unwrap();
    assert_eq!(data(&export(&view, Export::Html), "data").as_array().unwrap().len(), 20_000);
}
