//! The whole program in a pseudo-terminal: a first run, typing into a stream, crashes, exits.

use harness_tui::session::{Body, Entry};
use nix::sys::signal::Signal;
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::support::pty::{Place, Term};

/// What must have been switched off when the program is gone.
const RESTORED: [&str; 4] = ["\x1b[?1049l", "\x1b[?2004l", "\x1b[?1006l", "\x1b[?25h"];

fn assert_restored(term: &Term) {
    let raw = String::from_utf8_lossy(&term.raw);
    for mode in RESTORED {
        let last_off = raw.rfind(mode);
        assert!(last_off.is_some(), "{mode:?} is missing at the end of {raw:?}");
        let on = mode.replace('l', "h");
        if mode.ends_with('l') {
            assert!(last_off > raw.rfind(&on), "{on:?} is still on");
        }
    }
}

/// A running turn shows its step in the status line.
async fn idle(term: &mut Term) {
    term.until("idle", |screen| !screen.contains("· step")).await;
}

async fn ready(place: &Place, args: &[&str]) -> Term {
    let mut term = place.start(args, 30, 100);
    term.sees("? help").await;
    term
}

#[tokio::test]
async fn a_first_run_on_the_demo_model_edits_a_file_after_a_yes_and_is_there_again() {
    let place = Place::new();
    std::fs::write(place.work.path().join("main.rs"), "fn main() {}\n").unwrap();
    let mut term = ready(&place, &[]).await;
    term.sees("Welcome").await;
    term.types("replace main with start in main.rs\r").await;
    term.sees("needs you").await;
    let before = std::fs::read_to_string(place.work.path().join("main.rs")).unwrap();
    assert_eq!(before, "fn main() {}\n", "nothing is changed before the yes");
    term.types("\x18g").await;
    term.sees("y once").await;
    // The letters work a moment after the card was fully seen, and are dim until then.
    term.until_bright("y once").await;
    term.types("y").await;
    term.sees("Offline demo").await;
    idle(&mut term).await;
    let after = std::fs::read_to_string(place.work.path().join("main.rs")).unwrap();
    assert_eq!(after, "fn start() {}\n");
    term.types("\x04").await;
    assert_eq!(term.ends().await, 0);
    assert_restored(&term);
    assert!(String::from_utf8_lossy(&term.raw).contains("harness-tui --session "));

    let mut again = ready(&place, &["-c"]).await;
    again.sees("replace main with start in main.rs").await;
}

#[tokio::test]
async fn what_is_typed_while_an_answer_streams_is_seen_at_once_and_sent_as_steering() {
    let place = Place::new();
    let long = "word ".repeat(2000);
    place.script(&json!({"turns": [
        {"text": long, "chunk_size": 5, "delay_ms": 20},
        {"text": "I read your note."},
    ]}));
    let mut term = ready(&place, &["go"]).await;
    term.sees("word word").await;
    term.types("a note").await;
    term.sees("> a note").await;
    term.types("\r").await;
    term.sees("steer").await;
    assert!(term.text().contains("word word"), "the stream goes on beside it");
    term.types("\x1b").await;
    idle(&mut term).await;
    term.sees("a note").await;
    term.signal(Signal::SIGTERM);
    assert_eq!(term.ends().await, 143);
    assert_restored(&term);
}

fn entries(place: &Place) -> Vec<Entry> {
    let text = std::fs::read_to_string(place.session_file()).unwrap();
    text.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn after_kill_9_in_a_running_tool_the_session_opens_settled_and_runs_nothing_again() {
    let place = Place::new();
    place.script(&json!({"turns": [
        {"text": "I run it.", "tool_calls": [
            {"name": "bash", "args": {"command": "echo $$ > pid; echo ran >> marker; exec sleep 300"}}
        ]},
    ], "routes": [{"when": "and now", "turns": [{"text": "All is well."}]}]}));
    let mut term = ready(&place, &["--approval", "full", "go"]).await;
    let marker = place.work.path().join("marker");
    term.until("the tool runs", |_| marker.exists()).await;
    term.signal(Signal::SIGKILL);
    assert_eq!(term.ends().await, -1);

    let mut again = ready(&place, &["-c", "--approval", "full"]).await;
    again.sees("interrupted").await;
    again.sees("Outcome unknown").await;
    again.types("and now?\r").await;
    again.sees("All is well.").await;
    idle(&mut again).await;
    assert_eq!(std::fs::read_to_string(&marker).unwrap(), "ran\n", "run once");
    let results = entries(&place)
        .iter()
        .filter(|entry| {
            matches!(&entry.body, Body::Message { message, .. }
            if matches!(message, harness_tui::message::Message::ToolResult(_)))
        })
        .count();
    assert_eq!(results, 1);
    again.types("\x04").await;
    again.ends().await;
    // The kill has left the tool alone in the world.
    let pid = std::fs::read_to_string(place.work.path().join("pid")).unwrap();
    let pid = nix::unistd::Pid::from_raw(pid.trim().parse().unwrap());
    let _ = nix::sys::signal::kill(pid, Signal::SIGKILL);
}

#[tokio::test]
async fn every_way_out_restores_the_terminal() {
    for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGINT, 130), (Signal::SIGHUP, 129)] {
        let place = Place::new();
        let mut term = ready(&place, &[]).await;
        term.signal(signal);
        assert_eq!(term.ends().await, code, "{signal}");
        assert_restored(&term);
    }
}

#[tokio::test]
async fn a_terminal_that_goes_away_ends_the_program_and_its_tools() {
    let place = Place::new();
    place.script(&json!({"turns": [
        {"tool_calls": [{"name": "bash", "args": {"command": "echo $$ > pid; sleep 301"}}]},
    ]}));
    let mut term = ready(&place, &["--approval", "full", "go"]).await;
    let pid_file = place.work.path().join("pid");
    let written = || std::fs::read_to_string(&pid_file).is_ok_and(|text| text.ends_with('\n'));
    term.until("the tool runs", |_| written()).await;
    let pid: i32 = std::fs::read_to_string(&pid_file).unwrap().trim().parse().unwrap();
    term.hang_up();
    term.ends().await;
    let alive = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), None).is_ok();
    assert!(!alive, "the tool's shell is gone");
    // The lock is free and the turn has its end.
    let mut again = ready(&place, &["-c"]).await;
    again.types("hello\r").await;
    again.sees("hello").await;
}

#[tokio::test]
async fn a_storm_of_sizes_ends_on_the_screen_that_a_fresh_start_shows() {
    let place = Place::new();
    let mut term = ready(&place, &["hello"]).await;
    term.sees("Offline demo").await;
    idle(&mut term).await;
    for (rows, columns) in [(40, 120), (1, 1), (12, 37), (2, 3), (50, 200), (10, 40), (24, 80)] {
        term.resize(rows, columns);
        term.types("x\x7f").await;
    }
    // The last key is typed after the last size, so its frame is the last one.
    term.types("end").await;
    term.until("the last frame", |screen| {
        screen.contains("> end") && screen.contains("[Conversation]")
    })
    .await;
    let stormed = term.text();
    term.signal(Signal::SIGTERM);
    term.ends().await;
    // The draft is kept, so a fresh start has it too.
    let mut fresh = place.start(&["-c"], 24, 80);
    fresh.until("the same", |screen| screen == stormed).await;
}

#[tokio::test]
async fn control_sequences_of_a_model_and_a_tool_never_reach_the_terminal() {
    let place = Place::new();
    let evil =
        "\x1b]52;c;aGk=\x07 \x1b]0;OWNED\x07 \x1b[2J \x1bc \u{9b}31m \x1b[?1049l end-of-text";
    let printf =
        "printf '\\033]0;OWNED\\007\\033]52;c;aGk=\\007\\033[2J\\033c\\033[6nend-of-tool\\n'";
    place.script(&json!({"turns": [
        {"text": evil, "tool_calls": [{"name": "bash", "args": {"command": printf}}]},
        {"text": "that was all"},
    ]}));
    let mut term = ready(&place, &["--approval", "full", "go"]).await;
    term.sees("that was all").await;
    assert!(term.text().contains("end-of-text"));
    let raw = String::from_utf8_lossy(&term.raw).into_owned();
    for bad in ["\x1b]52", "OWNED\x07", "\x1b[2J ", "\x1bc", "\u{9b}", "\x1b[6n"] {
        assert!(!raw.contains(bad), "{bad:?} reached the terminal");
    }
    assert!(!raw.contains("\x1b[?1049l"), "the alternate screen was left");
}

#[tokio::test]
async fn a_paste_without_marks_is_one_draft_and_a_line_with_its_enter_is_sent() {
    let place = Place::new();
    let mut term = ready(&place, &[]).await;
    let lines: Vec<String> = (0..400).map(|n| format!("{n} some pasted line of text")).collect();
    term.types(&lines.join("\r")).await;
    term.sees("[pasted").await;
    // A key that shows something comes behind the whole paste.
    term.types("\x1bOP").await;
    term.sees("┌ help").await;
    term.types("\x1b").await;
    term.until("help is closed", |screen| !screen.contains("┌ help")).await;
    term.types(" tail").await;
    term.sees("tail").await;
    assert!(!term.text().contains("· step"), "nothing was sent: {}", term.text());
    term.types("\r").await;
    term.sees("Offline demo").await;
    idle(&mut term).await;
    term.types("please say hello to me in the plainest words you know\r").await;
    term.until("the second prompt", |screen| screen.contains("▌please say hello")).await;
    idle(&mut term).await;
    term.types("\x04").await;
    assert_eq!(term.ends().await, 0);
    let prompts: Vec<String> = entries(&place)
        .iter()
        .filter_map(|entry| match &entry.body {
            Body::Message { message: message @ harness_tui::message::Message::User(_), .. } => {
                Some(message.text())
            }
            _ => None,
        })
        .collect();
    assert_eq!(prompts.len(), 2, "{prompts:#?}");
    assert_eq!(prompts[0], format!("{} tail", lines.join("\n")));
}

#[tokio::test]
async fn an_unsent_draft_outlives_kill_9_also_before_there_is_a_session() {
    let place = Place::new();
    let mut term = ready(&place, &[]).await;
    term.types("half a thought").await;
    let kept = || find_text(&place.home.path().join("state/drafts"), "half a thought");
    // The save comes a moment after the last key; the screen has nothing to tell of it.
    while !kept() {
        tokio::task::yield_now().await;
    }
    term.signal(Signal::SIGKILL);
    term.ends().await;
    let mut again = ready(&place, &[]).await;
    again.sees("> half a thought").await;
    again.types("\r").await;
    again.sees("Offline demo").await;
    idle(&mut again).await;
    again.types("\x04").await;
    again.ends().await;
    let mut third = ready(&place, &[]).await;
    third.sees("Welcome").await;
    assert!(!third.text().contains("half a thought"), "it was sent");
}

fn find_text(dir: &std::path::Path, text: &str) -> bool {
    std::fs::read_dir(dir).into_iter().flatten().flatten().any(|entry| {
        // A dot file is one that is still being written.
        let whole = !entry.file_name().to_string_lossy().starts_with('.');
        whole && std::fs::read_to_string(entry.path()).is_ok_and(|content| content == text)
    })
}
