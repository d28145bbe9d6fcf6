//! Listing and finding sessions.

use std::path::Path;

use harness_tui::ports::MemoryFs;
use harness_tui::session::{Listed, SessionError, find_by_prefix, list, most_recent};
use pretty_assertions::assert_eq;

const ROOT: &str = "/sessions";

fn put(files: &MemoryFs, name: &str, id: &str, cwd: &str, more: &str) {
    let text = format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":\"{id}\",\"timestamp\":\"1970-01-01T00:00:01Z\",\"cwd\":\"{cwd}\"}}\n{more}"
    );
    files.put(&Path::new(ROOT).join(name), text);
}

fn message(id: &str, role: &str, text: &str, time: i64) -> String {
    format!(
        "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":null,\"message\":{{\"role\":\"{role}\",\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}],\"timestamp\":{time}}}}}\n"
    )
}

fn ids(listed: &[Listed]) -> Vec<&str> {
    listed.iter().map(|listed| listed.id.as_str()).collect()
}

#[test]
fn a_list_tells_name_first_message_and_last_activity() {
    let files = MemoryFs::new();
    let more = message("a", "user", "first\\nwords", 5_000)
        + "{\"type\":\"session_info\",\"id\":\"i\",\"parentId\":\"a\",\"name\":\"old\"}\n"
        + &message("b", "assistant", "answer", 9_000)
        + &message("c", "toolResult", "late", 99_000)
        + "{\"type\":\"session_info\",\"id\":\"j\",\"parentId\":\"a\",\"name\":\"new\"}\n";
    put(&files, "--w--/x.jsonl", "s1", "/w", &more);
    let want = Listed {
        path: Path::new(ROOT).join("--w--/x.jsonl"),
        id: "s1".into(),
        cwd: "/w".into(),
        name: Some("new".into()),
        parent_session: None,
        created_ms: 1_000,
        last_activity_ms: 9_000,
        message_count: 2,
        first_message: Some("first words".into()),
    };
    assert_eq!(list(&files, Path::new(ROOT), None), [want]);
}

#[test]
fn a_cleared_name_is_none_and_activity_falls_back_to_creation() {
    let files = MemoryFs::new();
    let more = "{\"type\":\"session_info\",\"id\":\"i\",\"name\":\"old\"}\n{\"type\":\"session_info\",\"id\":\"j\",\"name\":\"\"}\n";
    put(&files, "--w--/x.jsonl", "s1", "/w", more);
    let listed = list(&files, Path::new(ROOT), None);
    assert_eq!((listed[0].name.as_deref(), listed[0].last_activity_ms), (None, 1_000));
}

#[test]
fn other_files_and_invalid_ones_are_passed_over_and_the_newest_comes_first() {
    let files = MemoryFs::new();
    put(&files, "--w--/old.jsonl", "old", "/w", &message("a", "user", "x", 5_000));
    put(&files, "--w--/new.jsonl", "new", "/w", &message("a", "user", "x", 7_000));
    put(&files, "--w--/new.jsonl.lock", "lock", "/w", "");
    put(&files, "stray.jsonl", "stray", "/v", &message("a", "user", "x", 6_000));
    files.put(Path::new("/sessions/--w--/bad.jsonl"), "garbage\n");
    files.put(Path::new("/sessions/--w--/empty.jsonl"), "");
    assert_eq!(ids(&list(&files, Path::new(ROOT), None)), ["new", "stray", "old"]);
    assert_eq!(list(&files, Path::new("/nowhere"), None), []);
}

#[test]
fn the_header_and_not_the_folder_says_whose_session_it_is() {
    let files = MemoryFs::new();
    put(&files, "--a-b-c--/1.jsonl", "dash", "/a/b-c", &message("a", "user", "x", 5_000));
    put(&files, "--a-b-c--/2.jsonl", "slash", "/a-b/c", &message("a", "user", "x", 7_000));
    let of = |cwd: &str| list(&files, Path::new(ROOT), Some(Path::new(cwd)));
    assert_eq!(ids(&of("/a/b-c")), ["dash"]);
    assert_eq!(ids(&of("/a-b/c")), ["slash"]);
    let recent = most_recent(&files, Path::new(ROOT), Path::new("/a/b-c"));
    assert_eq!(recent, Some(Path::new(ROOT).join("--a-b-c--/1.jsonl")));
    assert_eq!(most_recent(&files, Path::new(ROOT), Path::new("/c")), None);
}

#[test]
fn a_header_longer_than_a_block_is_found_and_one_over_a_mebibyte_is_passed_over() {
    let files = MemoryFs::new();
    for (name, size) in [("long", 5_000), ("huge", 2 << 20)] {
        let text = format!(
            "{{\"type\":\"session\",\"version\":3,\"pad\":\"{}\",\"id\":\"{name}\",\"cwd\":\"/w\"}}\n",
            "x".repeat(size)
        );
        files.put(&Path::new(ROOT).join(format!("--w--/{name}.jsonl")), text);
    }
    assert_eq!(ids(&list(&files, Path::new(ROOT), None)), ["long"]);
    let huge = Path::new(ROOT).join("--w--/huge.jsonl");
    assert_eq!(super::open(&files, &huge).id().as_str(), "huge", "opening it directly works");
}

#[test]
fn a_prefix_finds_one_session_and_says_when_it_is_not_enough() {
    let files = MemoryFs::new();
    for id in ["abc", "abcd", "xyz"] {
        put(&files, &format!("--w--/{id}.jsonl"), id, "/w", "");
    }
    let find = |prefix: &str| find_by_prefix(&files, Path::new(ROOT), prefix);
    assert_eq!(find("x").unwrap(), Path::new(ROOT).join("--w--/xyz.jsonl"));
    assert_eq!(find("abc").unwrap(), Path::new(ROOT).join("--w--/abc.jsonl"));
    assert!(matches!(find("ab"), Err(SessionError::Ambiguous { count: 2, .. })));
    assert!(matches!(find("q"), Err(SessionError::NoMatch { .. })));
    assert!(matches!(find(""), Err(SessionError::NoMatch { .. })));
}
