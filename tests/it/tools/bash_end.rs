//! How commands end: by themselves, by time, by cancel; and what of them may live on.

use std::path::Path;

use harness_tui::message::{ToolOutcome, plain_text};
use harness_tui::tools::Bash;
use harness_tui::tools::Tool;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use super::Bench;

/// Gone, or dead and only not yet collected.
fn is_dead(pid: i32) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat"));
    stat.map_or(true, |stat| stat.contains(") Z "))
}

fn pid_after(text: &str, word: &str) -> i32 {
    let rest = text.split(word).nth(1).unwrap_or_else(|| panic!("no {word} in {text}"));
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

/// Runs until `ready` is printed, then cancels.
async fn cancelled_when_ready(command: &str) -> ToolOutcome {
    let bench = Bench::new();
    let (context, mut news) = bench.context();
    let run = tokio::spawn(Bash::default().run(json!({"command": command}), context));
    while let Some(update) = news.recv().await {
        if update.output.contains("ready") {
            break;
        }
    }
    bench.cancel.cancel();
    run.await.unwrap()
}

#[tokio::test]
async fn a_background_child_that_holds_the_pipe_does_not_hold_the_call() {
    let bench = Bench::new();
    for command in ["sleep 300 & echo done", "setsid sleep 300 & echo done"] {
        let text = bench.good("bash", json!({"command": command})).await;
        assert!(
            text.starts_with("done\n\n[Still running in the background: sleep (pid "),
            "{text}"
        );
        kill(Pid::from_raw(pid_after(&text, "(pid ")), Signal::SIGKILL).unwrap();
    }
}

#[tokio::test]
async fn a_child_that_never_stops_printing_does_not_hold_the_call() {
    let bench = Bench::new();
    let command = "(while :; do echo x; sleep .05; done) & echo done";
    let text = bench.good("bash", json!({"command": command})).await;
    assert!(text.contains("done") && text.contains("Still running"), "{text}");
    for pid in text.split("(pid ").skip(1) {
        let pid = pid_after(&format!("(pid {pid}"), "(pid ");
        let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
    }
    let next = bench.good("bash", json!({"command": "echo next"})).await;
    assert_eq!(next, "next");
}

#[tokio::test]
async fn a_time_limit_ends_the_command_and_keeps_its_output() {
    let bench = Bench::new();
    let command = json!({"command": "echo begun; sleep 300", "timeout": "0.3"});
    let outcome = bench.call("bash", command).await;
    let text = plain_text(&outcome.content);
    assert_eq!(text, "begun\n\ncommand timed out after 0.3 seconds");
    assert_eq!(outcome.details, json!({"exitCode": null, "timedOut": true}));
    assert!(outcome.is_error);
}

#[tokio::test]
async fn a_cancel_keeps_the_output_so_far() {
    let outcome = cancelled_when_ready("echo ready; sleep 300").await;
    assert_eq!(plain_text(&outcome.content), "ready\n\ncommand aborted");
    assert_eq!(outcome.details, json!({"exitCode": null, "cancelled": true}));
    assert!(outcome.is_error);
}

#[tokio::test]
async fn a_cancel_kills_grandchildren_that_ignore_the_polite_signal() {
    let command = "bash -c 'trap \"\" TERM; echo pid:$$ ready; sleep 300; sleep 300' & wait";
    let text = plain_text(&cancelled_when_ready(command).await.content);
    assert!(is_dead(pid_after(&text, "pid:")));
}

#[tokio::test]
async fn a_cancel_kills_what_moved_to_a_session_of_its_own() {
    let command = "setsid sh -c 'echo pid:$$ ready; sleep 300; :' & wait";
    let text = plain_text(&cancelled_when_ready(command).await.content);
    assert!(is_dead(pid_after(&text, "pid:")));
}

#[tokio::test]
async fn a_polite_command_may_clean_up() {
    let command = "trap 'echo cleaned; exit' TERM; echo ready; sleep 300 & wait";
    let text = plain_text(&cancelled_when_ready(command).await.content);
    assert_eq!(text, "ready\ncleaned\n\ncommand aborted");
}

#[tokio::test]
async fn a_dropped_call_leaves_no_group_behind() {
    let bench = Bench::new();
    let (context, mut news) = bench.context();
    let command = json!({"command": "echo pid:$$ ready; sleep 300; :"});
    let run = tokio::spawn(Bash::default().run(command, context));
    let output = news.recv().await.unwrap().output;
    run.abort();
    assert!(run.await.unwrap_err().is_cancelled());
    let pid = Pid::from_raw(pid_after(&output, "pid:"));
    // The runtime collects it; until then it is a zombie, which counts as dead.
    while !is_dead(pid.as_raw()) {
        tokio::task::yield_now().await;
    }
}
