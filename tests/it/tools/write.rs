//! `write`: the given content, the old mode and link, and nothing lost that was not seen.

use std::os::unix::fs::PermissionsExt;

use harness_tui::message::Display;
use serde_json::json;

use super::{Bench, mode, tool};

#[tokio::test]
async fn a_new_file_gets_its_folders_and_the_usual_mode() {
    let bench = Bench::new();
    let outcome = bench.call("write", json!({"path": "a/b/f", "content": "x\r\ny"})).await;
    assert!(!outcome.is_error, "{outcome:?}");
    assert_eq!(bench.bytes("a/b/f"), b"x\r\ny");
    assert_eq!(outcome.details["diff"], json!("+1 x\n+2 y"));
    assert_eq!(outcome.details.get("preImage"), None);
    bench.put("beside", "");
    assert_eq!(mode(&bench.path("a/b/f")), mode(&bench.path("beside")));
}

#[tokio::test]
async fn mode_link_and_byte_order_mark_are_kept() {
    let bench = Bench::new();
    bench.put("target", b"\xef\xbb\xbfold\n");
    let executable = std::fs::Permissions::from_mode(0o751);
    std::fs::set_permissions(bench.path("target"), executable).unwrap();
    std::os::unix::fs::symlink("target", bench.path("link")).unwrap();
    bench.good("write", json!({"path": "link", "content": "new\n"})).await;
    assert!(bench.path("link").is_symlink());
    assert_eq!(bench.bytes("target"), b"\xef\xbb\xbfnew\n");
    assert_eq!(mode(&bench.path("target")), 0o751);
    std::os::unix::fs::symlink("later", bench.path("dangling")).unwrap();
    bench.good("write", json!({"path": "dangling", "content": "x"})).await;
    assert_eq!(bench.text("later"), "x");
    let names = std::fs::read_dir(bench.path("")).unwrap().count();
    assert_eq!(names, 4, "no temporary file stays");
}

#[tokio::test]
async fn a_file_changed_since_it_was_read_is_not_overwritten() {
    let bench = Bench::new();
    bench.put("f", "a\n");
    bench.good("read", json!({"path": "f"})).await;
    bench.put("f", "a\nline of somebody\n");
    let text = bench.bad("write", json!({"path": "f", "content": "mine\n"})).await;
    assert!(text.contains("changed on disk") && text.contains("+2 line of somebody"), "{text}");
    assert_eq!(bench.text("f"), "a\nline of somebody\n");
    bench.good("read", json!({"path": "f"})).await;
    bench.good("write", json!({"path": "f", "content": "mine\n"})).await;
    bench.good("write", json!({"path": "f", "content": "mine again\n"})).await;
    assert_eq!(bench.text("f"), "mine again\n");
}

#[tokio::test]
async fn a_new_time_without_a_new_content_is_no_obstacle() {
    let bench = Bench::new();
    bench.put("f", "a\n");
    bench.good("read", json!({"path": "f"})).await;
    let file = std::fs::File::options().write(true).open(bench.path("f")).unwrap();
    file.set_modified(std::time::UNIX_EPOCH).unwrap();
    bench.good("write", json!({"path": "f", "content": "b\n"})).await;
    assert_eq!(bench.text("f"), "b\n");
}

#[tokio::test]
async fn foreign_encodings_are_not_replaced_by_utf8() {
    let bench = Bench::new();
    bench.put("latin", b"na\xefve");
    let text = bench.bad("write", json!({"path": "latin", "content": "na\u{ef}ve!"})).await;
    assert!(text.contains("not UTF-8"), "{text}");
    assert_eq!(bench.bytes("latin"), b"na\xefve");
}

#[tokio::test]
async fn what_is_no_file_is_refused() {
    let bench = Bench::new();
    bench.put("d/f", "");
    nix::unistd::mkfifo(&bench.path("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    for (path, what) in [("d", "directory"), ("pipe", "named pipe"), ("", "names no file")] {
        let text = bench.bad("write", json!({"path": path, "content": "x"})).await;
        assert!(text.contains(what), "{text}");
    }
    let text = bench.bad("write", json!({"path": "d/f/x", "content": "x"})).await;
    assert!(text.contains("could not write"), "{text}");
}

#[tokio::test]
async fn a_cancelled_write_writes_nothing() {
    let bench = Bench::new();
    bench.cancel.cancel();
    let text = bench.bad("write", json!({"path": "f", "content": "x"})).await;
    assert!(text.contains("aborted") && !bench.path("f").exists());
}

#[tokio::test]
async fn an_edit_and_a_write_of_one_file_take_turns() {
    let bench = Bench::new();
    bench.put("f", "a\n");
    bench.good("read", json!({"path": "f"})).await;
    let edit = json!({"path": "f", "edits": [{"oldText": "a", "newText": "b"}]});
    let write = json!({"path": "./f", "content": "a\nc\n"});
    let (first, second) =
        tokio::join!(bench.call("edit", edit.clone()), bench.call("write", write.clone()));
    assert!(!first.is_error && !second.is_error, "{first:?} {second:?}");
    assert_eq!(bench.text("f"), "a\nc\n");
    let (first, second) = tokio::join!(bench.call("write", write), bench.call("edit", edit));
    assert!(!first.is_error && !second.is_error, "{first:?} {second:?}");
    assert_eq!(bench.text("f"), "b\nc\n");
}

#[test]
fn a_preview_of_a_new_file_is_all_added_and_makes_nothing() {
    let bench = Bench::new();
    let arguments = json!({"path": "new", "content": "a\nb\n"});
    let shown = tool("write").preview(&arguments, &bench.path(""));
    let diff = "+1 a\n+2 b".to_owned();
    assert_eq!(shown, Some(Display::Diff { diff, first_changed_line: Some(1) }));
    assert!(!bench.path("new").exists());
    let target = tool("write").target(&arguments, &bench.path("")).unwrap();
    assert_eq!(target, bench.path("").canonicalize().unwrap().join("new"));
}

#[test]
fn a_preview_of_the_same_content_says_that_nothing_changes() {
    let bench = Bench::new();
    std::fs::write(bench.path("f"), "same\n").unwrap();
    let arguments = json!({"path": "f", "content": "same\n"});
    let shown = tool("write").preview(&arguments, &bench.path(""));
    let expected = "no change: the file already has this content";
    assert_eq!(shown, Some(Display::Text(expected.into())));
}

#[test]
fn a_preview_that_would_hide_a_part_of_the_change_is_none() {
    let bench = Bench::new();
    bench.put("f", "a\n");
    let long_line = format!("{}; rm -rf ~\n", "x".repeat(1_000));
    let many_lines = "x\n".repeat(4_001);
    let far_too_many = "x\n".repeat(200_001);
    let many_bytes = format!("{}\n", "x".repeat(900)).repeat(300);
    for content in [long_line, many_lines, far_too_many, many_bytes] {
        for path in ["f", "new"] {
            let arguments = json!({"path": path, "content": content});
            assert_eq!(tool("write").preview(&arguments, &bench.path("")), None);
        }
    }
}
