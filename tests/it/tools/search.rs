//! `grep`, `find` and `ls`: what they see, what they leave out, and that they say so.

use serde_json::json;

use super::Bench;

fn project() -> Bench {
    let bench = Bench::new();
    bench.put(".gitignore", "*.log\ndist/\n");
    bench.put("sub/.gitignore", "!keep.log\n");
    bench.put("sub/keep.log", "needle kept\n");
    bench.put("sub/other.log", "needle\n");
    bench.put("dist/app.js", "needle built\n");
    bench.put("src/main.rs", "before\nneedle one\nafter\n");
    bench.put("src/Deep/x.rs", "needle two\n");
    bench.put(".hidden", "needle hidden\n");
    bench.put(".git/config", "needle git\n");
    std::os::unix::fs::symlink("..", bench.path("src/loop")).unwrap();
    bench
}

#[tokio::test]
async fn grep_sees_hidden_files_and_not_ignored_ones_also_outside_git() {
    let bench = project();
    let outcome = bench.call("grep", json!({"pattern": "needle"})).await;
    assert_eq!(outcome.details, json!({"listing": true}));
    let text = bench.good("grep", json!({"pattern": "needle"})).await;
    let all = ".hidden:1: needle hidden\nsrc/Deep/x.rs:1: needle two\nsrc/main.rs:2: needle one\n\
               sub/keep.log:1: needle kept";
    assert_eq!(text, all);
    let named = bench.good("grep", json!({"pattern": "needle", "path": "dist/app.js"})).await;
    assert_eq!(named, "app.js:1: needle built");
    let inside = bench.good("grep", json!({"pattern": "needle", "path": "dist"})).await;
    assert_eq!(inside, "app.js:1: needle built");
    let none = bench.good("grep", json!({"pattern": "nowhere"})).await;
    assert!(none.starts_with("No matches found\n\n[2 ignored files and directories"), "{none}");
}

#[tokio::test]
async fn grep_limits_are_exact() {
    let bench = Bench::new();
    bench.put("f", "x\ny\nx\n");
    let exact = bench.good("grep", json!({"pattern": "x", "limit": 2})).await;
    assert_eq!(exact, "f:1: x\nf:3: x");
    let more = bench.good("grep", json!({"pattern": "x", "limit": 1})).await;
    assert!(more.starts_with("f:1: x\n\n[1 matches limit reached; use limit=2"), "{more}");
    let around = bench.good("grep", json!({"pattern": "x", "limit": 1, "context": 1})).await;
    assert!(around.starts_with("f:1: x\nf-2- y\n\n[1 matches"), "{around}");
    let around = bench.good("grep", json!({"pattern": "x", "context": "1"})).await;
    assert_eq!(around, "f:1: x\nf-2- y\nf:3: x");
}

#[tokio::test]
async fn grep_sets_groups_apart() {
    let bench = Bench::new();
    bench.put("a", "x\n1\n2\n3\nx\n");
    bench.put("b", "x\n");
    let text = bench.good("grep", json!({"pattern": "x", "context": 1})).await;
    assert_eq!(text, "a:1: x\na-2- 1\n--\na-4- 3\na:5: x\n--\nb:1: x");
}

#[tokio::test]
async fn grep_takes_patterns_as_they_are_meant() {
    let bench = project();
    bench.put("src/odd.txt", "a.b -flag\naXb\n");
    let text = bench.good("grep", json!({"pattern": "-flag"})).await;
    assert_eq!(text, "src/odd.txt:1: a.b -flag");
    let text =
        bench.good("grep", json!({"pattern": "a.B", "literal": true, "ignoreCase": true})).await;
    assert_eq!(text, "src/odd.txt:1: a.b -flag");
    let text = bench.bad("grep", json!({"pattern": "a(b"})).await;
    assert!(text.contains("invalid pattern") && text.contains("unclosed group"), "{text}");
    let text = bench.good("grep", json!({"pattern": "needle", "glob": "src/*.rs"})).await;
    assert_eq!(text, "src/main.rs:2: needle one");
    let text = bench.good("grep", json!({"pattern": "needle", "glob": "*.{rs,log}"})).await;
    assert_eq!(text.lines().count(), 3);
    let text = bench.good("grep", json!({"pattern": "needle", "glob": "!*.rs"})).await;
    assert_eq!(text, ".hidden:1: needle hidden\nsub/keep.log:1: needle kept");
}

#[tokio::test]
async fn grep_cuts_long_lines_and_skips_what_cannot_be_searched() {
    let bench = Bench::new();
    bench.put("min.js", format!("needle{}", "x".repeat(2_000_000)));
    bench.put("binary", b"\0needle\n");
    nix::unistd::mkfifo(&bench.path("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let text = bench.good("grep", json!({"pattern": "needle"})).await;
    let shown = format!("min.js:1: needle{}... [line of 2000006 characters]", "x".repeat(494));
    assert!(text.starts_with(&shown), "{}", &text[..600.min(text.len())]);
    assert!(text.ends_with("[some lines cut to 500 characters; use read to see them]"));
    let text = bench.bad("grep", json!({"pattern": "x", "path": "pipe"})).await;
    assert!(text.contains("named pipe"), "{text}");
}

#[tokio::test]
async fn grep_output_is_bounded_by_bytes() {
    let bench = Bench::new();
    bench.put("f", "needle and more\n".repeat(10_000));
    let outcome = bench.call("grep", json!({"pattern": "needle", "limit": 100_000})).await;
    let text = harness_tui::message::plain_text(&outcome.content);
    assert!(text.len() < 52_000 && text.ends_with("[50.0KB limit reached]"));
    assert_eq!(outcome.details["truncation"]["truncatedBy"], json!("bytes"));
}

#[tokio::test]
async fn find_sees_hidden_files_and_exact_paths_and_says_what_is_left_out() {
    let bench = project();
    let rust = bench.good("find", json!({"pattern": "*.rs"})).await;
    assert_eq!(rust, "src/Deep/x.rs\nsrc/main.rs");
    assert_eq!(bench.good("find", json!({"pattern": "src/**/*.rs"})).await, rust);
    assert_eq!(bench.good("find", json!({"pattern": "src/*.rs"})).await, "src/main.rs");
    assert_eq!(bench.good("find", json!({"pattern": "deep"})).await, "src/Deep/");
    assert_eq!(bench.good("find", json!({"pattern": ".hidden"})).await, ".hidden");
    assert_eq!(bench.good("find", json!({"pattern": "dist/app.js"})).await, "dist/app.js");
    let logs = bench.good("find", json!({"pattern": "**/*.log"})).await;
    let note = "sub/keep.log\n\n[left out by ignore files: 1 matching entries, 1 directories";
    assert!(logs.starts_with(note), "{logs}");
    let all = bench.good("find", json!({"pattern": "*"})).await;
    assert!(!all.contains("dist") && !all.contains(".git/") && all.contains("src/loop/"), "{all}");
    let none = bench.good("find", json!({"pattern": "*.zig"})).await;
    assert!(none.starts_with("No files found matching pattern\n\n[left out"), "{none}");
}

#[tokio::test]
async fn find_limits_are_exact() {
    let bench = Bench::new();
    bench.put("a", "");
    bench.put("b", "");
    assert_eq!(bench.good("find", json!({"pattern": "*", "limit": 2})).await, "a\nb");
    let more = bench.good("find", json!({"pattern": "*", "limit": -5})).await;
    assert!(more.starts_with("a\n\n[1 results limit reached; use limit=2"), "{more}");
    assert!(bench.bad("find", json!({"pattern": "a{"})).await.contains("invalid glob a{"));
    assert!(bench.bad("find", json!({"pattern": "*", "path": "a"})).await.contains("no directory"));
}

#[tokio::test]
async fn ls_sorts_marks_and_leaves_out_broken_links() {
    let bench = Bench::new();
    for name in ["b", "A", ".dot", "dir/x", "new\nline"] {
        bench.put(name, "");
    }
    std::os::unix::fs::symlink("nowhere", bench.path("broken")).unwrap();
    std::os::unix::fs::symlink("dir", bench.path("to-dir")).unwrap();
    let text = bench.good("ls", json!({})).await;
    assert_eq!(text, ".dot\nA\nb\ndir/\nnew\\nline\nto-dir/");
    let text = bench.good("ls", json!({"limit": 2, "path": null})).await;
    assert_eq!(text, ".dot\nA\n\n[2 of 6 entries shown; raise limit to see more]");
    std::fs::create_dir(bench.path("none")).unwrap();
    assert_eq!(bench.good("ls", json!({"path": "none"})).await, "(empty directory)");
    assert!(bench.bad("ls", json!({"path": "b"})).await.contains("is not a directory"));
}

#[tokio::test]
async fn a_cancelled_search_ends() {
    let bench = project();
    bench.cancel.cancel();
    for (tool, arguments) in
        [("grep", json!({"pattern": "x"})), ("find", json!({"pattern": "*"})), ("ls", json!({}))]
    {
        assert_eq!(bench.bad(tool, arguments).await, "aborted");
    }
}
