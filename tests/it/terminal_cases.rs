//! What goes wrong with a session in daily use, with the whole program in a pseudo-terminal.

use std::collections::HashMap;

use harness_tui::message::{EntryId, Message, StopReason};
use harness_tui::session::{Body, Entry};
use nix::sys::signal::Signal;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::support::pty::{Place, Term};

const F2: &str = "\x1bOQ";

/// The scripted model, and compactions that keep next to nothing.
fn script(place: &Place, routes: &Value) {
    place.script(&json!({"routes": routes}));
    place.config(concat!(
        "model = \"play/m\"\n[providers.play]\nkind = \"script\"\nscript = \"play.json\"\n",
        "[compaction]\nkeep_recent_tokens = 10\n",
    ));
}

async fn ready(place: &Place, args: &[&str]) -> Term {
    let mut term = place.start(args, 40, 130);
    term.sees("? help").await;
    term
}

/// A run without a screen.
fn told(place: &Place, args: &[&str]) {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_harness-tui"))
        .args(args)
        .current_dir(place.work.path())
        .env("HARNESS_TUI_HOME", place.home.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn entries(place: &Place) -> Vec<Entry> {
    let text = std::fs::read_to_string(place.session_file()).unwrap();
    text.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The row of the tree that is shown as selected.
fn selected(screen: &str) -> Option<&str> {
    screen.lines().find(|row| row.contains('›'))
}

/// Moves up in the tree to the row with these words.
async fn up_to(term: &mut Term, words: &str) {
    for _ in 0..20 {
        let before = selected(&term.text()).map(str::to_owned);
        if before.as_deref().is_some_and(|row| row.contains(words)) {
            return;
        }
        term.types("k").await;
        term.until("the next row", |screen| selected(screen) != before.as_deref()).await;
    }
    panic!("{words}: never selected on\n{}", term.text());
}

#[tokio::test]
async fn the_second_of_two_screens_reads_only_and_names_the_process_that_writes() {
    let place = Place::new();
    let large = "head -c 200000 /dev/zero | tr '\\0' x";
    let call = json!({"name": "bash", "args": {"command": large}});
    script(
        &place,
        &json!([
            {"when": "^large", "turns": [{"tool_calls": [call]}, {"text": "That was large."}]},
            {"when": "", "turns": [{"text": "I heard it."}]},
        ]),
    );
    let mut first = ready(&place, &["--approval", "full", "hello"]).await;
    first.sees("I heard it.").await;
    first.idle().await;
    let mut second = ready(&place, &["-c", "--approval", "full"]).await;
    second.sees("read-only").await;
    second.types("me too\r").await;
    let pid = format!("process {} on", first.pid());
    second.sees(&pid).await;
    assert!(second.text().contains("> me too"), "the draft stays: {}", second.text());
    first.ask("large", "That was large.").await;
    second.types("\x15\x04").await;
    assert_eq!(second.ends().await, 0);
    let told = entries(&place).len();
    first.signal(Signal::SIGKILL);
    first.ends().await;

    // The lock of a dead process keeps nobody out.
    let mut third = ready(&place, &["-c"]).await;
    assert!(!third.text().contains("read-only"), "{}", third.text());
    third.ask("and now", "▌and now").await;
    let now = entries(&place);
    assert!(now.len() > told && now.iter().all(|entry| entry.body != Body::Other));
}

#[tokio::test]
async fn after_kill_9_in_a_compaction_the_session_opens_as_it_was_and_goes_on() {
    let place = Place::new();
    let hangs = json!({"when": "^<conversation>", "turns": [{"fault": "stall"}]});
    let tells = json!({"when": "^<conversation>", "turns": [{"text": "What was said so far."}]});
    let heard = json!({"when": "", "turns": [{"text": "I heard it."}]});
    script(&place, &json!([hangs, heard]));
    let mut term = ready(&place, &["some words to begin with"]).await;
    term.sees("I heard it.").await;
    term.idle().await;
    term.ask("more words to go on with", "▌more words").await;
    let before = std::fs::read(place.session_file()).unwrap();
    term.types("/compact\r").await;
    term.sees("compacting").await;
    term.signal(Signal::SIGKILL);
    assert_eq!(term.ends().await, -1);
    assert_eq!(std::fs::read(place.session_file()).unwrap(), before);

    script(&place, &json!([tells, heard]));
    let mut again = ready(&place, &["-c"]).await;
    again.sees("more words to go on with").await;
    again.ask("the third", "▌the third").await;
    again.types("/compact\r").await;
    again.sees("What was said so far.").await;
    again.types("\x13").await;
    again.sees("folded ").await;
    let made = |entry: &Entry| matches!(entry.body, Body::Compaction { .. });
    assert_eq!(entries(&place).iter().filter(|entry| made(entry)).count(), 1);
    assert!(std::fs::read(place.session_file()).unwrap().starts_with(&before));
}

#[tokio::test]
async fn after_kill_9_while_a_turn_folds_the_next_prompt_folds_and_is_answered() {
    let place = Place::new();
    let hangs = json!({"when": "^<conversation>", "turns": [{"fault": "stall"}]});
    let tells = json!({"when": "^<conversation>", "turns": [{"text": "What was said so far."}]});
    // A history that fills the window of 128,000 tokens, as the last answer says too.
    let long = json!({"when": "^long", "turns": [
        {"text": "word ".repeat(96_000), "usage": {"input": 10, "output": 96_000}},
    ]});
    let full = json!({"when": "^full", "turns": [
        {"text": "The window is full.", "usage": {"input": 120_000, "output": 5}},
    ]});
    let heard = json!({"when": "", "turns": [{"text": "I heard it."}]});
    script(&place, &json!([hangs, long, full, heard]));
    told(&place, &["-p", "long"]);
    told(&place, &["-c", "-p", "full"]);
    let mut term = ready(&place, &["-c"]).await;
    term.sees("The window is full.").await;
    term.types("go on\r").await;
    term.sees("compacting").await;
    term.signal(Signal::SIGKILL);
    assert_eq!(term.ends().await, -1);

    script(&place, &json!([tells, long, full, heard]));
    let mut again = ready(&place, &["-c"]).await;
    again.sees("interrupted").await;
    again.ask("once more", "I heard it.").await;
    let kinds: Vec<&str> = entries(&place)
        .iter()
        .filter_map(|entry| match &entry.body {
            Body::Message { message: Message::User(_), .. } => Some("user"),
            Body::Message { message: Message::Assistant(_), .. } => Some("answer"),
            Body::Compaction { .. } => Some("compaction"),
            _ => None,
        })
        .collect();
    let turn = ["user", "answer"];
    let folded = ["user", "user", "compaction", "answer"];
    assert_eq!(kinds, [&turn[..], &turn, &folded].concat());
}

/// The prompt under which an entry hangs.
fn prompt_of<'a>(by_id: &HashMap<&'a EntryId, &'a Entry>, entry: &'a Entry) -> String {
    let mut at = entry;
    loop {
        if let Body::Message { message: message @ Message::User(_), .. } = &at.body {
            return message.text();
        }
        at = by_id[at.parent_id.as_ref().expect("a prompt above")];
    }
}

#[tokio::test]
async fn a_jump_while_an_answer_streams_asks_first_and_the_half_answer_stays_under_its_prompt() {
    let place = Place::new();
    let long = "word ".repeat(4_000);
    script(
        &place,
        &json!([
            {"when": "^second", "turns": [{"text": long, "chunk_size": 5, "delay_ms": 20}]},
            {"when": "", "turns": [{"text": "I heard it."}]},
        ]),
    );
    let mut term = ready(&place, &["first"]).await;
    term.sees("I heard it.").await;
    term.idle().await;
    term.types("second\r").await;
    term.sees("word word").await;
    term.types(F2).await;
    term.sees("enter go").await;
    up_to(&mut term, "you first").await;
    term.types("\r").await;
    term.sees("stop the turn first?").await;
    assert!(term.text().contains("working"), "it streams on: {}", term.text());
    term.types("n").await;
    term.until("no", |screen| !screen.contains("stop the turn first?")).await;
    assert!(term.text().contains("working"), "looking stops nothing: {}", term.text());
    term.types("\r").await;
    term.sees("stop the turn first?").await;
    term.types("y").await;
    term.sees("1 no summary").await;
    term.types("1").await;
    term.sees("> first").await;
    assert!(!term.text().contains("working"), "{}", term.text());
    let all = entries(&place);
    let by_id: HashMap<&EntryId, &Entry> = all.iter().map(|entry| (&entry.id, entry)).collect();
    let answers: Vec<(StopReason, String)> = all
        .iter()
        .filter_map(|entry| match &entry.body {
            Body::Message { message: Message::Assistant(answer), .. } => {
                Some((answer.stop_reason, prompt_of(&by_id, entry)))
            }
            _ => None,
        })
        .collect();
    let want = [(StopReason::Stop, "first"), (StopReason::Aborted, "second")];
    assert_eq!(answers, want.map(|(reason, prompt)| (reason, prompt.to_owned())));
    term.types("\x15").await;
    term.ask("other", "I heard it.").await;
    let all = entries(&place);
    let last = all.iter().rev().find(|entry| {
        matches!(&entry.body, Body::Message { message: message @ Message::User(_), .. }
            if message.text() == "other")
    });
    let by_id: HashMap<&EntryId, &Entry> = all.iter().map(|entry| (&entry.id, entry)).collect();
    let mut above = last.unwrap().parent_id.as_ref();
    while let Some(id) = above {
        assert!(!matches!(by_id[id].body, Body::Message { .. }), "a new beginning");
        above = by_id[id].parent_id.as_ref();
    }
}

#[tokio::test]
async fn esc_esc_and_enter_restore_exactly_the_prompt_that_is_shown_also_after_a_compaction() {
    let place = Place::new();
    script(
        &place,
        &json!([
            {"when": "^<conversation>", "turns": [{"text": "What was said so far."}]},
            {"when": "", "turns": [{"text": "I heard it."}]},
        ]),
    );
    let mut term = ready(&place, &[]).await;
    for (at, prompt) in ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"].iter().enumerate() {
        term.ask(prompt, &format!("▌{prompt}")).await;
        if at % 2 == 1 {
            // What is shown beside the conversation is no message.
            term.types("/session\r").await;
            term.sees("of yours").await;
            term.types("\x1b").await;
            term.until("closed", |screen| !screen.contains("of yours")).await;
        }
    }
    for (back, with_compaction) in [("epsilon", false), ("delta", true), ("beta", false)] {
        if with_compaction {
            term.types("/compact\r").await;
            term.sees("compaction, not stored yet").await;
            term.types("\x13").await;
            term.sees("folded ").await;
        }
        term.types("\x1b").await;
        term.sees("esc again opens the tree").await;
        term.types("\x1b").await;
        term.sees("enter go").await;
        up_to(&mut term, &format!("you {back}")).await;
        term.types("\r").await;
        term.sees("1 no summary").await;
        term.types("1").await;
        term.sees(&format!("> {back}")).await;
        term.types("\x15").await;
        term.until("an empty composer", |screen| !screen.contains(&format!("> {back}"))).await;
    }
}

#[tokio::test]
async fn going_back_changes_the_conversation_and_no_file() {
    let place = Place::new();
    let command = "printf mine > a.txt; printf other > c.txt";
    let call = json!({"name": "bash", "args": {"command": command}});
    script(
        &place,
        &json!([
            {"when": "^change", "turns": [{"tool_calls": [call]}, {"text": "I changed it."}]},
            {"when": "", "turns": [{"text": "I heard it."}]},
        ]),
    );
    let write =
        |name: &str, text: &str| std::fs::write(place.work.path().join(name), text).unwrap();
    write("a.txt", "before");
    let mut term = ready(&place, &["--approval", "full", "change"]).await;
    term.sees("I changed it.").await;
    term.idle().await;
    write("a.txt", "by hand");
    write("b.txt", "mine too");
    term.types(F2).await;
    term.sees("enter go").await;
    up_to(&mut term, "you change").await;
    term.types("\r").await;
    term.sees("1 no summary").await;
    term.types("1").await;
    term.sees("> change").await;
    let read = |name: &str| std::fs::read_to_string(place.work.path().join(name)).unwrap();
    assert_eq!(["a.txt", "b.txt", "c.txt"].map(read), ["by hand", "mine too", "other"]);
}

#[tokio::test]
async fn the_model_that_is_shown_is_that_of_the_branch_one_went_to() {
    let place = Place::new();
    script(&place, &json!([{"when": "", "turns": [{"text": "I heard it."}]}]));
    let mut term = ready(&place, &["alpha"]).await;
    term.sees("I heard it.").await;
    term.idle().await;
    term.types("/model play/other\r").await;
    let header = |screen: &str| screen.lines().next().unwrap_or_default().to_owned();
    term.until("the other model", |screen| header(screen).contains("play/other")).await;
    term.ask("beta", "▌beta").await;
    term.types(F2).await;
    term.sees("enter go").await;
    up_to(&mut term, "you alpha").await;
    term.types("\r").await;
    term.sees("1 no summary").await;
    term.types("1").await;
    term.until("the model of that time", |screen| {
        screen.contains("> alpha")
            && header(screen).contains("play/m")
            && !header(screen).contains("other")
    })
    .await;
}

#[tokio::test]
async fn esc_esc_enter_at_one_stroke_moves_nothing_that_was_not_seen() {
    let place = Place::new();
    script(&place, &json!([{"when": "", "turns": [{"text": "I heard it."}]}]));
    let mut term = ready(&place, &["alpha"]).await;
    term.sees("I heard it.").await;
    term.idle().await;
    term.ask("beta", "▌beta").await;
    let before = std::fs::read(place.session_file()).unwrap();
    // Keys that arrive together are one esc to a terminal program, and one only arms.
    for _ in 0..5 {
        term.types("\x1b\x1b\r").await;
        // A key that shows something, so that those before it are done.
        term.types("\x1bOP").await;
        term.sees("┌ help").await;
        term.types("\x1b").await;
        term.until("help is closed", |screen| !screen.contains("┌ help")).await;
    }
    assert_eq!(std::fs::read(place.session_file()).unwrap(), before);
}
