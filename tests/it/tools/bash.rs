//! What a command's output becomes.

use harness_tui::message::plain_text;
use harness_tui::tools::{Bash, Tool};
use serde_json::json;

use super::{Bench, mode};

#[tokio::test]
async fn output_and_errors_share_one_stream_and_success_is_code_zero() {
    let bench = Bench::new();
    let outcome = bench.call("bash", json!({"command": "echo a; echo b >&2; echo c"})).await;
    assert_eq!(plain_text(&outcome.content), "a\nb\nc");
    assert_eq!((outcome.is_error, outcome.details), (false, json!({"exitCode": 0})));
    assert_eq!(bench.good("bash", json!({"command": "true"})).await, "(no output)");
}

#[tokio::test]
async fn a_failing_command_is_an_error_with_its_output_and_code() {
    let bench = Bench::new();
    let outcome = bench.call("bash", json!({"command": "echo oops; exit 3"})).await;
    assert_eq!(plain_text(&outcome.content), "oops\n\ncommand failed: exit code 3");
    assert_eq!((outcome.is_error, outcome.details), (true, json!({"exitCode": 3})));
    let killed = bench.call("bash", json!({"command": "kill -9 $$"})).await;
    assert_eq!(killed.details, json!({"exitCode": 137}));
}

#[tokio::test]
async fn a_missing_folder_and_a_bad_shell_are_told() {
    let bench = Bench::new();
    let (mut context, _news) = bench.context();
    context.cwd = bench.path("gone");
    let outcome = Bash::default().run(json!({"command": "true"}), context).await;
    assert!(outcome.is_error && plain_text(&outcome.content).contains("does not exist"));
    let bad = Bash::new(Some("/no/such/shell".into()), None);
    let outcome = bad.run(json!({"command": "true"}), bench.context().0).await;
    assert!(outcome.is_error);
    assert!(plain_text(&outcome.content).starts_with("could not start the shell /no/such/shell: "));
}

#[tokio::test]
async fn the_prefix_runs_on_a_line_of_its_own() {
    let bench = Bench::new();
    let bash = Bash::new(None, Some("x=1 # set".into()));
    let outcome = bash.run(json!({"command": "echo $x"}), bench.context().0).await;
    assert_eq!(plain_text(&outcome.content), "1");
}

#[tokio::test]
async fn commands_see_no_keys_no_pager_and_no_input() {
    let bench = Bench::new();
    let command = "echo home:$HOME pager:$PAGER prompt:$GIT_TERMINAL_PROMPT; \
                   cat; read x; echo got:$x; timeout 20 cat; echo rc=$?; \
                   (exec 3</dev/tty) 2>/dev/null || echo no terminal";
    let text = bench.good("bash", json!({"command": command})).await;
    assert_eq!(text, "home: pager:cat prompt:0\ngot:\nrc=0\nno terminal");
}

#[tokio::test]
async fn many_lines_leave_the_last_2000_and_a_private_file_with_all() {
    let bench = Bench::new();
    let outcome = bench.call("bash", json!({"command": "seq 3000"})).await;
    let text = plain_text(&outcome.content);
    let path = outcome.details["fullOutputPath"].as_str().unwrap().to_owned();
    assert!(text.starts_with("1001\n1002\n"), "{}", &text[..40]);
    let note = format!("3000\n\n[Showing lines 1001-3000 of 3000. Full output: {path}]");
    assert!(text.ends_with(&note));
    let whole: String = (1..=3000).map(|number| format!("{number}\n")).collect();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), whole);
    assert_eq!((mode(path.as_ref()), mode(&bench.spill_dir())), (0o600, 0o700));
    let truncation = &outcome.details["truncation"];
    assert_eq!(
        (&truncation["totalLines"], &truncation["outputLines"]),
        (&json!(3000), &json!(2000))
    );
    assert_eq!(truncation["truncatedBy"], json!("lines"));
}

#[tokio::test]
async fn one_long_line_shows_its_end_and_its_size() {
    let bench = Bench::new();
    let command = "head -c 5000000 /dev/zero | tr '\\0' x; echo";
    let outcome = bench.call("bash", json!({"command": command})).await;
    let text = plain_text(&outcome.content);
    assert!(text.contains("[Showing the last 50.0KB of line 1 (it has 4.8MB). Full output: "));
    assert!(text.len() < 52_000);
    assert_eq!(outcome.details["truncation"]["lastLinePartial"], json!(true));
    let path = outcome.details["fullOutputPath"].as_str().unwrap();
    assert_eq!(std::fs::metadata(path).unwrap().len(), 5_000_001);
}

#[tokio::test]
async fn bytes_that_are_no_text_are_marked_and_the_rest_is_intact() {
    let bench = Bench::new();
    let command = r"printf 'ok\xff\xfe\x80 caf\xe9\n'";
    let text = bench.good("bash", json!({"command": command})).await;
    assert!(text.starts_with("ok\u{fffd}\u{fffd}\u{fffd} caf\u{fffd}\n\n[Binary data"), "{text}");
    let text = bench.good("bash", json!({"command": r"printf 'a\0b'"})).await;
    assert!(text.starts_with("a\u{fffd}b\n\n[Binary data in the output: 1 places in 3B"), "{text}");
}

#[tokio::test]
async fn a_character_written_in_pieces_stays_whole() {
    let bench = Bench::new();
    let command = r"for b in '\xe2' '\x82' '\xac'; do printf $b; sleep 0.05; done";
    let outcome = bench.call("bash", json!({"command": command})).await;
    assert_eq!(plain_text(&outcome.content), "\u{20ac}");
}

#[tokio::test]
async fn binary_output_is_named_with_its_size_and_kept_in_a_file() {
    let bench = Bench::new();
    let outcome = bench.call("bash", json!({"command": "head -c 3000 /dev/zero"})).await;
    let path = outcome.details["fullOutputPath"].as_str().unwrap().to_owned();
    assert_eq!(
        plain_text(&outcome.content),
        format!("[Binary output, 2.9KB, not shown. Full output: {path}]")
    );
    assert_eq!(std::fs::read(path).unwrap(), vec![0; 3000]);
}

#[tokio::test]
async fn colours_stay_for_the_screen() {
    let bench = Bench::new();
    let text = bench.good("bash", json!({"command": r"printf '\033[31mred\033[0m\n'"})).await;
    assert_eq!(text, "\x1b[31mred\x1b[0m");
}

#[tokio::test]
async fn live_updates_show_the_output_so_far() {
    let bench = Bench::new();
    let (context, mut news) = bench.context();
    let run = Bash::default().run(json!({"command": "echo first; sleep 300"}), context);
    let run = tokio::spawn(run);
    assert_eq!(&*news.recv().await.unwrap().output, "first\n");
    bench.cancel.cancel();
    run.await.unwrap();
}
