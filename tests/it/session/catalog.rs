//! Listing and finding sessions.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use harness_tui::ports::{FileSystem, MemoryFs};
use harness_tui::session::{
    Listed, Progress, Query, Quote, Role, Searched, SessionError, Tier, find_by_prefix, list,
    most_recent, preview, scan, search,
};
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
        is_whole: true,
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

/// A session larger than what is looked at from both ends.
fn long(files: &MemoryFs, id: &str, more_at_end: &str) {
    let filler = message("t", "toolResult", &"x".repeat(1_000), 0).repeat(600);
    let named = "{\"type\":\"session_info\",\"id\":\"i\",\"name\":\"deep inside\"}\n";
    let more = message("a", "user", "first", 5_000)
        + &filler
        + named
        + &filler
        + &message("b", "assistant", "answer", 9_000)
        + more_at_end;
    put(files, &format!("--w--/{id}.jsonl"), id, "/w", &more);
}

fn scanned(files: &MemoryFs, cwd: Option<&Path>) -> Vec<Progress> {
    let mut all = Vec::new();
    scan(files, Path::new(ROOT), cwd, &AtomicBool::new(false), &mut |each| all.push(each));
    all
}

#[test]
fn a_scan_tells_both_ends_at_once_and_what_stands_between_later() {
    let files = MemoryFs::new();
    long(&files, "long", "");
    let rows: Vec<Listed> = scanned(&files, None).into_iter().flat_map(|each| each.rows).collect();
    let [first, then] = rows.as_slice() else { panic!("{rows:?}") };
    assert_eq!((first.first_message.as_deref(), first.last_activity_ms), (Some("first"), 9_000));
    assert_eq!((first.name.as_deref(), first.is_whole), (None, false));
    assert_eq!((then.name.as_deref(), then.message_count), (Some("deep inside"), 2));
    assert_eq!(list(&files, Path::new(ROOT), None), std::slice::from_ref(then));
}

#[test]
fn the_last_name_counts_wherever_it_stands_and_also_when_it_is_taken_away() {
    for (end, name) in [("new", Some("new")), ("", None)] {
        let files = MemoryFs::new();
        long(
            &files,
            "a",
            &format!("{{\"type\":\"session_info\",\"id\":\"j\",\"name\":\"{end}\"}}\n"),
        );
        for row in scanned(&files, None).into_iter().flat_map(|each| each.rows) {
            assert_eq!(row.name.as_deref(), name);
        }
    }
}

#[test]
fn a_huge_last_line_does_not_hide_the_last_message() {
    let files = MemoryFs::new();
    long(&files, "a", &message("t", "toolResult", &"y".repeat(700_000), 0));
    let recent = most_recent(&files, Path::new(ROOT), Path::new("/w"));
    assert_eq!(recent, Some(Path::new(ROOT).join("--w--/a.jsonl")));
    let row = &scanned(&files, None)[1].rows[0];
    assert_eq!((row.last_activity_ms, row.is_whole), (9_000, false));
}

#[test]
fn thousands_of_sessions_are_listed_each_once_and_foreign_files_stop_nothing() {
    let files = MemoryFs::new();
    for n in 0..5_000_i64 {
        let folder = format!("--w{}--/{n:05}.jsonl", n % 50);
        put(&files, &folder, &format!("s{n}"), "/w", &message("a", "user", "x", n));
    }
    for (name, bytes) in [("zeros", vec![0; 5_000]), ("torn", b"{\"type\":\"ses".to_vec())] {
        files.put(&Path::new(ROOT).join(format!("--w0--/{name}.jsonl")), bytes);
    }
    let before = files.paths();
    let all = scanned(&files, Some(Path::new("/w")));
    let mut ids: Vec<String> =
        all.iter().flat_map(|each| &each.rows).map(|row| row.id.to_string()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 5_000);
    assert_eq!(all.last().map(|each| (each.done, each.total)), Some((5_002, 5_002)));
    assert!(all.len() > 10, "they come bit by bit");
    assert_eq!(files.paths(), before, "listing writes nothing");
}

#[test]
fn a_scan_that_is_stopped_ends() {
    let files = MemoryFs::new();
    for n in 0..500 {
        put(&files, &format!("--w--/{n}.jsonl"), &format!("s{n}"), "/w", "");
    }
    let stop = AtomicBool::new(false);
    let mut rows = 0;
    scan(&files, Path::new(ROOT), None, &stop, &mut |each| {
        rows += each.rows.len();
        stop.store(true, Ordering::Relaxed);
    });
    assert!(rows < 500, "{rows}");
}

#[test]
fn a_file_cut_inside_a_character_is_listed_and_left_as_it_is() {
    let files = MemoryFs::new();
    let path = Path::new(ROOT).join("--w--/x.jsonl");
    put(&files, "--w--/x.jsonl", "s", "/w", &message("a", "user", "first", 5_000));
    files
        .push(&path, b"{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"caf\xC3");
    let bytes = files.read(&path).unwrap();
    assert_eq!(ids(&list(&files, Path::new(ROOT), None)), ["s"]);
    assert_eq!(preview(&files, &path).unwrap(), [Quote { role: Role::User, text: "first".into() }]);
    assert_eq!(files.read(&path).unwrap(), bytes);
    assert_eq!(files.paths(), [path]);
}

fn found(files: &MemoryFs, query: &str) -> Vec<(String, String)> {
    let rows = list(files, Path::new(ROOT), None);
    let mut hits = Vec::new();
    let mut take = |each: Searched| hits.extend(each.hits);
    search(files, &rows, &Query::parse(query), &AtomicBool::new(false), &mut take);
    let mut hits: Vec<_> = hits
        .into_iter()
        .map(|hit| (hit.path.file_stem().unwrap().to_string_lossy().into_owned(), hit.snippet))
        .collect();
    hits.sort();
    hits
}

#[test]
fn content_is_searched_as_people_read_it() {
    let files = MemoryFs::new();
    let told = message("a", "user", "hello", 1)
        + &message("b", "toolResult", "error:\\tcannot\\nopen \\\"caf\\u00e9\\\"", 2)
        + "{\"type\":\"compaction\",\"id\":\"c\",\"summary\":\"the Great Fold\"}\n";
    put(&files, "--w--/a.jsonl", "a", "/w", &told);
    put(&files, "--w--/b.jsonl", "b", "/w", &message("a", "user", "nothing of it", 1));
    let a = |snippet: &str| vec![("a".to_owned(), snippet.to_owned())];
    let result = "error: cannot open \"café\"";
    assert_eq!(found(&files, "\"cannot  open\""), a(result));
    assert_eq!(found(&files, "CAFÉ"), a(result));
    assert_eq!(found(&files, "re:cann.t\\s+open"), a(result));
    assert_eq!(found(&files, "great fold"), a("the Great Fold"));
    assert_eq!(found(&files, "hello fold"), a("the Great Fold"), "the row holds the rest");
    assert_eq!(found(&files, "hello"), [], "the row itself matches; that is no look inside");
    assert_eq!(found(&files, "toolResult"), [], "names of fields are no content");
    assert_eq!(found(&files, "re:("), []);
}

#[test]
fn a_name_is_nearer_than_a_first_prompt() {
    let row = |name: Option<&str>, first: &str| Listed {
        path: "/x.jsonl".into(),
        id: "0192".into(),
        cwd: "/proj/app".into(),
        name: name.map(str::to_owned),
        parent_session: None,
        created_ms: 0,
        last_activity_ms: 0,
        message_count: 1,
        first_message: Some(first.to_owned()),
        is_whole: true,
    };
    let tier = |query: &str, row: &Listed| Query::parse(query).tier(row);
    assert_eq!(tier("login bug", &row(Some("Login bug"), "x")), Some(Tier::Name));
    assert_eq!(tier("login bug", &row(Some("login"), "a bug")), Some(Tier::About));
    assert_eq!(tier("app 019", &row(None, "x")), Some(Tier::About));
    assert_eq!(tier("lgn", &row(Some("login"), "login")), None);
    assert!(Tier::Name < Tier::About && Tier::About < Tier::Content);
}
