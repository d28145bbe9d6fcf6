//! `edit`: only the asked bytes change.

use harness_tui::message::{Display, plain_text};
use serde_json::{Value, json};

use super::{Bench, tool};

fn one(path: &str, old: &str, new: &str) -> Value {
    json!({"path": path, "edits": [{"oldText": old, "newText": new}]})
}

#[tokio::test]
async fn a_unique_text_is_replaced_and_shown() {
    let bench = Bench::new();
    bench.put("f", "one\ntwo\nthree\n");
    let outcome = bench.call("edit", one("f", "two", "2 $& \\1")).await;
    assert!(!outcome.is_error, "{outcome:?}");
    assert_eq!(bench.text("f"), "one\n2 $& \\1\nthree\n");
    let details = &outcome.details;
    assert_eq!(details["diff"], json!(" 1 one\n-2 two\n+2 2 $& \\1\n 3 three"));
    assert_eq!(details["firstChangedLine"], json!(2));
    assert_eq!(details["preImage"], json!(sha256("one\ntwo\nthree\n")));
    assert_eq!(details["postImage"], json!(sha256("one\n2 $& \\1\nthree\n")));
    assert!(details["patch"].as_str().unwrap().contains("@@ -1,3 +1,3 @@"));
}

fn sha256(text: &str) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn refusals_name_the_edit_and_leave_the_file() {
    let bench = Bench::new();
    bench.put("f", "a b a\n\u{201c}q\u{201d} \"q\"\naaa\n");
    for (edits, problem) in [
        (json!([["zzz", "x"]]), "could not find the old text"),
        (json!([["a b", "x"], ["zzz", "x"]]), "edits[1]: could not find the old text"),
        (json!([["", "x"]]), "the old text is empty"),
        (json!([["a", "x"]]), "found 5 times"),
        (json!([["aa", "x"]]), "found 2 times"),
        (json!([["\"q\"", "x"]]), "found 2 times"),
        (json!([["a b", "x"], ["b a", "y"]]), "edits[0] and edits[1] overlap"),
        (json!([["b a", "y"], ["a b", "x"]]), "edits[0] and edits[1] overlap"),
        (json!([["a b", "a b"]]), "no change to make"),
    ] {
        let edits: Vec<Value> = edits
            .as_array()
            .unwrap()
            .iter()
            .map(|edit| json!({"oldText": edit[0], "newText": edit[1]}))
            .collect();
        let text = bench.bad("edit", json!({"path": "f", "edits": edits})).await;
        assert!(text.contains(problem), "{text}");
    }
    assert_eq!(bench.text("f"), "a b a\n\u{201c}q\u{201d} \"q\"\naaa\n");
    let text = bench.bad("edit", one("gone", "a", "b")).await;
    assert!(text.contains("no such file"), "{text}");
}

#[tokio::test]
async fn typographic_characters_are_found_and_those_around_stay() {
    let bench = Bench::new();
    for (before, old, new, after) in [
        (
            "say \u{201c}hi\u{201d}\nand \u{201c}bye\u{201d}\n",
            "say \"hi\"",
            "X",
            "X\nand \u{201c}bye\u{201d}\n",
        ),
        ("it\u{2019}s \u{2013} so\u{2014}\n", "it's - so-", "X", "X\n"),
        ("a\u{a0}b\u{3000}c\n", "a b c", "X", "X\n"),
        ("\u{ff21}\u{ff22}\u{ff11}\n", "AB1", "X", "X\n"),
        ("a  \nb\t\nc\n", "a\nb\nc", "X", "X\n"),
        ("a\nb\nc\n", "a  \nb", "X", "X\nc\n"),
        ("\u{201c}keep\u{201d} it\u{2019}s end\n", "it's", "is", "\u{201c}keep\u{201d} is end\n"),
    ] {
        bench.put("f", before);
        bench.good("edit", one("f", old, new)).await;
        assert_eq!(bench.text("f"), after);
    }
}

#[tokio::test]
async fn line_ends_follow_the_lines_they_replace() {
    let bench = Bench::new();
    for (before, old, new, after) in [
        ("a\r\nb\r\nc\r\n", "b\nc\n", "B\nC\nD\n", "a\r\nB\r\nC\r\nD\r\n"),
        ("a\nb\r\nc\r\n", "a\nb\nc", "a\nX\nc", "a\nX\r\nc\r\n"),
        ("a\r\nb\nc\r\n", "b", "b\nb2", "a\r\nb\nb2\nc\r\n"),
        ("p1\rp2\rdone\n", "done", "end\nmore", "p1\rp2\rend\nmore\n"),
        ("a\r\nlast", "last", "last\nnew", "a\r\nlast\r\nnew"),
        ("a\r\nb\r\n", "a\r\nb\r\n", "a\r\nB\r\n", "a\r\nB\r\n"),
    ] {
        bench.put("f", before);
        bench.good("edit", one("f", old, new)).await;
        assert_eq!(bench.text("f"), after, "{old:?} -> {new:?} in {before:?}");
    }
}

#[tokio::test]
async fn foreign_encodings_keep_every_other_byte_or_are_refused() {
    let bench = Bench::new();
    bench.put("latin", b"n = 1\n# na\xefve\n");
    bench.good("edit", one("latin", "n = 1", "n = 2")).await;
    assert_eq!(bench.bytes("latin"), b"n = 2\n# na\xefve\n");
    bench.put("gbk", b"x = 1\r\n\xc4\xe3\xba\xc3\r\ny = 2\r\n");
    bench.good("edit", one("gbk", "y = 2\n", "y = 3\nz = 4\n")).await;
    assert_eq!(bench.bytes("gbk"), b"x = 1\r\n\xc4\xe3\xba\xc3\r\ny = 3\r\nz = 4\r\n");
    for (old, new) in [("y = 3", "\u{e9}"), ("na\u{ef}ve", "x"), ("", "x"), ("zzz", "x")] {
        let text = bench.bad("edit", one("gbk", old, new)).await;
        assert!(text.contains("not UTF-8"), "{text}");
    }
    let utf16 = b"\xff\xfea\0b\0";
    bench.put("utf16", utf16);
    let text = bench.bad("edit", one("utf16", "a", "b")).await;
    assert!(text.contains("UTF-16") && bench.bytes("utf16") == utf16, "{text}");
}

#[tokio::test]
async fn a_byte_order_mark_stays_and_line_one_is_found() {
    let bench = Bench::new();
    bench.put("f", b"\xef\xbb\xbffirst\nsecond\n");
    bench.good("edit", one("f", "first\n", "1st\n")).await;
    assert_eq!(bench.bytes("f"), b"\xef\xbb\xbf1st\nsecond\n");
}

#[tokio::test]
async fn arguments_in_the_forms_models_fall_into_are_understood() {
    let bench = Bench::new();
    for arguments in [
        json!({"path": "f", "edits": "[{\"oldText\": \"a\", \"newText\": \"b\"}]"}),
        json!({"path": "f", "edits": {"oldText": "a", "newText": "b"}}),
        json!({"path": "@f", "oldText": "a", "newText": "b"}),
        json!({"file_path": "f", "old_string": "a", "new_string": "b"}),
        json!({"path": "f", "edits": [{"old_text": "a", "new_text": "b"}]}),
    ] {
        bench.put("f", "a\n");
        bench.good("edit", arguments).await;
        assert_eq!(bench.text("f"), "b\n");
    }
}

#[tokio::test]
async fn parallel_edits_of_one_file_are_all_kept() {
    let bench = Bench::new();
    bench.put("f", "l1\nl2\nl3\nl4\nl5\nl6\n");
    std::os::unix::fs::symlink("f", bench.path("link")).unwrap();
    bench.good("read", json!({"path": "f"})).await;
    let edits = (1..=6).map(|line| {
        let path = if line % 2 == 0 { "f" } else { "link" };
        bench.call("edit", one(path, &format!("l{line}\n"), &format!("L{line}\n")))
    });
    let outcomes = futures_util::future::join_all(edits).await;
    assert!(outcomes.iter().all(|outcome| !outcome.is_error), "{outcomes:?}");
    assert_eq!(bench.text("f"), "L1\nL2\nL3\nL4\nL5\nL6\n");
    let text = bench.good("edit", one("f", "L6", "end")).await;
    assert!(!text.contains("changed on disk"), "{text}");
    assert!(bench.path("link").is_symlink());
}

#[tokio::test]
async fn an_edit_that_still_fits_is_made_on_the_fresh_text() {
    let bench = Bench::new();
    bench.put("f", "a\nb\n");
    bench.good("read", json!({"path": "f"})).await;
    bench.put("f", "a\nb\nfrom outside\n");
    let text = bench.good("edit", one("f", "a\n", "A\n")).await;
    assert!(text.contains("changed on disk"), "{text}");
    assert_eq!(bench.text("f"), "A\nb\nfrom outside\n");
    // What came from outside was still not seen, so a whole write stays refused.
    let text = bench.bad("write", json!({"path": "f", "content": "x"})).await;
    assert!(text.contains("+3 from outside"), "{text}");
}

#[tokio::test]
async fn a_preview_shows_the_diff_and_does_nothing() {
    let bench = Bench::new();
    bench.put("f", "a\nb\n");
    let (tool, cwd) = (tool("edit"), bench.path(""));
    let arguments = one("f", "b", "B");
    let shown = tool.preview(&arguments, &cwd);
    let diff = " 1 a\n-2 b\n+2 B".to_owned();
    assert_eq!(shown, Some(Display::Diff { diff, first_changed_line: Some(2) }));
    let images = tool.images(&arguments, &cwd).unwrap();
    assert_eq!((images.before, images.after), (Some(sha256("a\nb\n")), sha256("a\nB\n")));
    assert_eq!(bench.text("f"), "a\nb\n");
    let failing = tool.preview(&one("f", "zzz", "B"), &cwd);
    assert!(matches!(failing, Some(Display::Text(text)) if text.contains("could not find")));
}

#[tokio::test]
async fn a_file_of_one_line_of_megabytes_does_not_hang() {
    let bench = Bench::new();
    let long = "x".repeat(4 << 20);
    bench.put("f", format!("{long}MARK{long}"));
    let outcome = bench.call("edit", one("f", "MARK", "DONE")).await;
    assert!(
        plain_text(&outcome.content).starts_with("Replaced 1 block in "),
        "{:?}",
        outcome.content
    );
    assert!(outcome.details["diff"].as_str().unwrap().len() < 10_000);
    assert_eq!(bench.text("f"), format!("{long}DONE{long}"));
}
