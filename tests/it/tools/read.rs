//! `read`: windows of text, images, and a quick answer for everything else.

use harness_tui::message::{Part, plain_text};
use nix::sys::stat::Mode;
use serde_json::{Value, json};

use super::Bench;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

fn lines(count: usize) -> String {
    (1..=count).map(|line| format!("line {line}\n")).collect()
}

#[tokio::test]
async fn small_files_come_whole_and_windows_say_how_to_go_on() {
    let bench = Bench::new();
    bench.put("f", lines(100));
    assert_eq!(bench.good("read", json!({"path": "f"})).await, lines(100));
    let rest = bench.good("read", json!({"path": "f", "offset": 51})).await;
    assert!(rest.starts_with("line 51\n") && rest.ends_with("line 100\n"));
    for (offset, limit, note) in [
        (Value::Null, 10, "line 10\n\n[90 more lines in the file. Go on with offset=11.]"),
        (json!(41), 20, "line 60\n\n[40 more lines in the file. Go on with offset=61.]"),
        (json!(0), 0, "line 1\n\n[99 more lines in the file. Go on with offset=2.]"),
    ] {
        let arguments = json!({"path": "f", "offset": offset, "limit": limit});
        let text = bench.good("read", arguments).await;
        assert!(text.ends_with(note), "{text}");
    }
    let exact = bench.good("read", json!({"path": "f", "limit": 100})).await;
    assert_eq!(exact, lines(100));
}

#[tokio::test]
async fn long_files_are_cut_by_lines_or_bytes() {
    let bench = Bench::new();
    bench.put("lines", lines(2500));
    let outcome = bench.call("read", json!({"path": "lines"})).await;
    let text = plain_text(&outcome.content);
    assert!(text.ends_with("line 2000\n\n[Showing lines 1-2000 of 2500. Go on with offset=2001.]"));
    assert_eq!(outcome.details["truncation"]["truncatedBy"], json!("lines"));
    bench.put("wide", format!("{}\n", "x".repeat(200)).repeat(500));
    let outcome = bench.call("read", json!({"path": "wide"})).await;
    let text = plain_text(&outcome.content);
    assert!(text.ends_with("[Showing lines 1-254 of 500 (50.0KB limit). Go on with offset=255.]"));
    assert_eq!(outcome.details["truncation"]["outputLines"], json!(254));
}

#[tokio::test]
async fn an_offset_behind_the_end_is_an_error_with_the_count() {
    let bench = Bench::new();
    bench.put("f", "a\nb\nc\n");
    let text = bench.bad("read", json!({"path": "f", "offset": 100})).await;
    assert!(text.ends_with("f has 3 lines"), "{text}");
    bench.put("empty", "");
    assert!(bench.good("read", json!({"path": "empty"})).await.ends_with("is empty.]"));
}

#[tokio::test]
async fn a_line_too_long_to_show_can_be_read_as_the_hint_says() {
    let bench = Bench::new();
    bench.put("it's", format!("first\n{}{}\n", "a".repeat(51_200), "b".repeat(10_000)));
    let text = bench.good("read", json!({"path": "it's"})).await;
    assert!(
        text.ends_with("[Showing lines 1-1 of 2 (50.0KB limit). Go on with offset=2.]"),
        "{text}"
    );
    let hint = bench.good("read", json!({"path": "it's", "offset": 2})).await;
    assert!(hint.starts_with("[Line 2 has 59.8KB, more than 50.0KB can be shown."), "{hint}");
    let commands: Vec<&str> =
        hint.trim_end_matches(']').lines().map(|line| &line[line.find("sed").unwrap()..]).collect();
    let pieces = [
        bench.good("bash", json!({"command": commands[0]})).await,
        bench.good("bash", json!({"command": commands[1]})).await,
    ];
    assert_eq!(pieces, ["a".repeat(51_200), "b".repeat(10_000)]);
}

#[tokio::test]
async fn line_ends_marks_and_foreign_bytes_are_told() {
    let bench = Bench::new();
    bench.put("crlf", "\u{feff}a\r\nb\r\n");
    let text = bench.good("read", json!({"path": "crlf"})).await;
    assert!(text.starts_with("a\nb\n\n[Line ends are CRLF."), "{text:?}");
    bench.put("latin", b"caf\xe9\n");
    let text = bench.good("read", json!({"path": "latin"})).await;
    assert!(text.starts_with("caf\u{fffd}\n\n[Not UTF-8"), "{text:?}");
    let euros = "\u{20ac}".repeat(15_000);
    bench.put("euros", &euros);
    assert_eq!(bench.good("read", json!({"path": "euros"})).await, euros);
}

#[tokio::test]
async fn images_are_known_by_their_bytes() {
    let bench = Bench::new();
    bench.put("picture.txt", PNG);
    let outcome = bench.call("read", json!({"path": "picture.txt"})).await;
    let Some(Part::Image { data, mime_type }) = outcome.content.get(1) else {
        panic!("{outcome:?}")
    };
    assert_eq!((data.as_str(), mime_type.as_str()), ("iVBORw0KGgoAAAANSUhEUg==", "image/png"));
    bench.put("text.png", "just text\n");
    assert_eq!(bench.good("read", json!({"path": "text.png"})).await, "just text\n");
    bench.put("huge.jpg", [b"\xff\xd8\xff".to_vec(), vec![1; 4_000_000]].concat());
    assert!(bench.bad("read", json!({"path": "huge.jpg"})).await.contains("too large to send"));
}

#[tokio::test]
async fn what_is_no_text_is_named_with_the_way_on() {
    let bench = Bench::new();
    bench.put("a.txt", b"\x7fELF\x02\x01\x01\0\0\0");
    bench.put("wide.txt", b"\xff\xfeh\0i\0");
    nix::unistd::mkfifo(&bench.path("pipe"), Mode::S_IRWXU).unwrap();
    let sparse = std::fs::File::create(bench.path("sparse")).unwrap();
    sparse.set_len(3 << 30).unwrap();
    for (path, what) in [
        (".", "is a directory. Use ls"),
        ("pipe", "is a named pipe"),
        ("/dev/zero", "is a device"),
        ("sparse", "is a binary file (3.0GB)"),
        ("a.txt", "is a binary file (10B)"),
        ("wide.txt", "is UTF-16 text (6B)"),
        ("gone", "no such file"),
        ("a\0b", "could not read"),
    ] {
        let text = bench.bad("read", json!({"path": path})).await;
        assert!(text.contains(what), "{path}: {text}");
    }
}

#[tokio::test]
async fn files_of_the_kernel_that_claim_no_size_are_read() {
    let bench = Bench::new();
    let text = bench.good("read", json!({"path": "/proc/self/status"})).await;
    assert!(text.starts_with("Name:"), "{text}");
    // Readable or not, empty or not: it answers.
    bench.call("read", json!({"path": "/proc/kmsg"})).await;
}
