//! Folding with a real engine: when it happens, what the model is asked, what stays, what stops it.

mod automatic;
mod cases;
mod property;

use std::sync::Arc;

use harness_tui::harness::{
    Command, Compaction, CompactionDraft, CompactionReason, ErrorCode, Event, Phase, Reply,
};
use harness_tui::message::EntryId;
use harness_tui::session::{Body, Entry};
use pretty_assertions::assert_eq;

use crate::support::engine::{Bench, Engine, Step, word};

/// A bench whose compactions keep next to nothing.
pub(super) fn bench(steps: Vec<Step>) -> Bench {
    let compaction =
        Compaction { reserve_tokens: 10_000, keep_recent_tokens: 8, ..Compaction::default() };
    Bench { compaction, ..Bench::new(steps) }
}

pub(super) fn compact() -> Command {
    Command::Compact { instructions: None, up_to: None }
}

/// Text of about so many tokens that begins with a word of its own.
pub(super) fn long(name: &str, tokens: usize) -> String {
    format!("{name} {}", "word ".repeat(tokens * 4 / 5))
}

/// The messages of each request, one word each, and cut: the long ones are long.
pub(super) fn requests(bench: &Bench) -> Vec<Vec<String>> {
    let requests = bench.player.requests.lock().unwrap();
    let short = |text: String| text.chars().take(200).collect::<String>();
    requests.iter().map(|it| it.messages.iter().map(|it| short(word(it))).collect()).collect()
}

/// Requests that ask for a summary.
pub(super) fn summaries(bench: &Bench) -> usize {
    requests(bench).iter().filter(|messages| messages[0].starts_with("user <conversation>")).count()
}

pub(super) async fn entries(engine: &Engine) -> Vec<Arc<Entry>> {
    engine.handle.snapshot().await.unwrap().branch
}

pub(super) async fn compactions(engine: &Engine) -> Vec<(String, EntryId)> {
    let fits = |entry: &Arc<Entry>| match &entry.body {
        Body::Compaction { summary, first_kept_entry_id: Some(first), .. } => {
            Some((summary.clone(), first.clone()))
        }
        _ => None,
    };
    entries(engine).await.iter().filter_map(fits).collect()
}

pub(super) async fn id_of(engine: &Engine, said: &str) -> EntryId {
    let says = |entry: &&Arc<Entry>| match &entry.body {
        Body::Message { message, .. } => message.text().starts_with(said),
        _ => false,
    };
    entries(engine).await.iter().find(says).unwrap().id.clone()
}

#[tokio::test]
async fn what_is_old_becomes_a_summary_and_what_is_new_stays_word_for_word() {
    let bench = bench(vec![Step::Say("one"), Step::Say("two"), Step::Say("the summary")]);
    let mut engine = bench.engine();
    engine.turn("first").await;
    engine.turn("second, which is long enough to be kept alone").await;
    let Reply::Stored { entry } = engine.send(compact()).await.unwrap() else { panic!() };
    let end = engine.until(|event| matches!(event, Event::CompactionEnd { .. })).await;
    let Event::CompactionEnd { entry: told, reason, error, aborted, .. } = &*end else { panic!() };
    assert_eq!(
        (told, *reason, error, *aborted),
        (&Some(entry.clone()), CompactionReason::Manual, &None, false)
    );
    let asked = requests(&bench)[2].join("\n");
    let text = "user <conversation>\n[User]: first\n\n[Assistant]: one\n</conversation>\n\nSumm";
    assert!(asked.starts_with(text), "{asked}");
    engine.turn("third").await;
    let asked = requests(&bench).pop().unwrap();
    assert!(asked[0].contains("<summary>\nthe summary\n</summary>"), "{asked:?}");
    assert_eq!(
        &asked[1..],
        ["user second, which is long enough to be kept alone", "stop two", "user third"]
    );
    assert_eq!(engine.handle.snapshot().await.unwrap().phase, Phase::Idle);
}

#[tokio::test]
async fn a_second_compaction_brings_the_first_summary_up_to_date_and_changes_no_old_byte() {
    let steps = ["one", "two", "summary A", "three", "summary B", "four"];
    let bench = bench(steps.map(Step::Say).to_vec());
    let mut engine = bench.engine();
    engine.turn("first").await;
    engine.turn("second which is long enough to be kept alone").await;
    engine.send(compact()).await.unwrap();
    engine.turn("third which is long enough to be kept alone").await;
    let path = engine.handle.snapshot().await.unwrap().path.unwrap();
    let before = bench.files.read(&path).unwrap();
    engine.send(compact()).await.unwrap();
    let after = bench.files.read(&path).unwrap();
    assert!(after.starts_with(&before));
    let asked = bench.player.requests.lock().unwrap()[4].messages[0].text();
    assert!(asked.contains("<previous-summary>\nsummary A\n</previous-summary>"), "{asked}");
    assert!(asked.contains("[User]: second") && !asked.contains("[User]: first"), "{asked}");
    // Between the two, the first summary is what counts.
    let third = id_of(&engine, "third").await;
    let summary = harness_tui::harness::Summary::None;
    let target = Some(third);
    engine.send(Command::Navigate { target, summary, label: None }).await.unwrap();
    engine.turn("other").await;
    let asked = requests(&bench).pop().unwrap();
    assert!(asked[0].contains("summary A") && !asked[0].contains("summary B"), "{asked:?}");
    assert!(asked[1].contains("second") && asked[3] == "user other", "{asked:?}");
}

#[tokio::test]
async fn there_is_nothing_to_do_right_after_a_compaction_or_in_a_short_session() {
    let bench = bench(vec![Step::Say("one"), Step::Say("two"), Step::Say("told")]);
    let mut engine = bench.engine();
    let error = engine.send(compact()).await.unwrap_err();
    assert_eq!(error.code, ErrorCode::Compaction);
    engine.turn("first").await;
    engine.turn("second which is long enough to be kept alone").await;
    engine.send(compact()).await.unwrap();
    let error = engine.send(compact()).await.unwrap_err();
    assert!(error.message.contains("compacted already"), "{error}");
    assert_eq!(engine.handle.snapshot().await.unwrap().phase, Phase::Idle);
}

#[tokio::test]
async fn a_person_may_say_up_to_where_and_what_matters() {
    let bench = bench(["one", "two", "three", "told"].map(Step::Say).to_vec());
    let mut engine = bench.engine();
    for text in ["first", "second", "third"] {
        engine.turn(text).await;
    }
    let up_to = Some(id_of(&engine, "second").await);
    let instructions = Some("the numbers".to_owned());
    engine.send(Command::Compact { instructions, up_to }).await.unwrap();
    let asked = bench.player.requests.lock().unwrap()[3].messages[0].text();
    assert!(asked.ends_with("Additional focus: the numbers"), "{asked}");
    assert!(asked.contains("[User]: first") && !asked.contains("[User]: second"), "{asked}");
    engine.turn("go").await;
    let last = requests(&bench).pop().unwrap();
    assert_eq!(&last[1..], ["user second", "stop two", "user third", "stop three", "user go"]);
    let folded = Some(id_of(&engine, "first").await);
    let command = Command::Compact { instructions: None, up_to: folded };
    assert_eq!(engine.send(command).await.unwrap_err().code, ErrorCode::InvalidArgument);
}

async fn draft(engine: &Engine) -> CompactionDraft {
    let command = Command::DraftCompaction { instructions: None, up_to: None };
    let Reply::Draft(draft) = engine.send(command).await.unwrap() else { panic!() };
    *draft
}

#[tokio::test]
async fn a_draft_stores_nothing_until_it_is_accepted_and_the_edited_words_count() {
    let bench = bench(["one", "two", "told", "three"].map(Step::Say).to_vec());
    let mut engine = bench.engine();
    engine.turn("first").await;
    engine.turn("second which is long enough to be kept alone").await;
    let path = engine.handle.snapshot().await.unwrap().path.unwrap();
    let before = bench.files.read(&path).unwrap();
    let mut made = draft(&engine).await;
    assert_eq!(bench.files.read(&path).unwrap(), before);
    assert_eq!((made.summary.as_str(), made.folded, made.kept), ("told", 2, 2));
    assert!(made.tokens_after < made.tokens_before + 20, "{made:?}");
    engine.until(|event| matches!(event, Event::CompactionEnd { entry: None, .. })).await;
    made.summary = "edited".into();
    let empty = CompactionDraft { summary: " ".into(), ..made.clone() };
    let command = Command::StoreCompaction { draft: Box::new(empty) };
    assert_eq!(engine.send(command).await.unwrap_err().code, ErrorCode::InvalidArgument);
    // A turn meanwhile changes nothing of what the draft stands for.
    engine.turn("third").await;
    let store = Command::StoreCompaction { draft: Box::new(made.clone()) };
    engine.send(store.clone()).await.unwrap();
    assert_eq!(compactions(&engine).await, [("edited".to_owned(), made.first_kept)]);
    let error = engine.send(store).await.unwrap_err();
    assert!(error.message.contains("has changed"), "{error}");
    engine.turn("fourth").await;
    let last = requests(&bench).pop().unwrap();
    assert!(last[0].contains("edited") && last[3] == "user third", "{last:?}");
}

#[tokio::test]
async fn a_stopped_compaction_leaves_nothing_and_the_next_prompt_is_taken_at_once() {
    let bench = bench(vec![Step::Say("one"), Step::Say("two"), Step::Hang("half")]);
    let mut engine = bench.engine();
    engine.turn("first").await;
    engine.turn("second which is long enough to be kept alone").await;
    let path = engine.handle.snapshot().await.unwrap().path.unwrap();
    let before = bench.files.read(&path).unwrap();
    let handle = engine.handle.clone();
    let asking = tokio::spawn(async move { handle.send(compact()).await });
    engine.until(|event| matches!(event, Event::CompactionStart { .. })).await;
    assert_eq!(engine.handle.snapshot().await.unwrap().phase, Phase::Compaction);
    assert_eq!(engine.prompt("now").await.unwrap_err().code, ErrorCode::Busy);
    engine.send(Command::Abort { by: "esc".into() }).await.unwrap();
    assert_eq!(asking.await.unwrap().unwrap_err().code, ErrorCode::Compaction);
    assert_eq!(bench.files.read(&path).unwrap(), before);
    engine.settled().await;
    engine.turn("third").await;
    assert_eq!(compactions(&engine).await, []);
}

#[tokio::test]
async fn closing_during_a_compaction_leaves_a_session_that_opens_and_goes_on() {
    let bench = bench(vec![Step::Say("one"), Step::Say("two"), Step::Hang("half")]);
    let mut engine = bench.engine();
    engine.turn("first").await;
    engine.turn("second which is long enough to be kept alone").await;
    let path = engine.handle.snapshot().await.unwrap().path.unwrap();
    let handle = engine.handle.clone();
    let asking = tokio::spawn(async move { handle.send(compact()).await });
    engine.until(|event| matches!(event, Event::CompactionStart { .. })).await;
    engine.handle.close().await;
    asking.await.unwrap().unwrap_err();
    let mut engine = bench.reopened(&path);
    engine.turn("third").await;
    assert_eq!(compactions(&engine).await, []);
    assert_eq!(engine.told().await.len(), 6);
}

#[tokio::test]
async fn idle_is_waited_for_until_the_compaction_has_ended() {
    let bench = bench(vec![Step::Say("one"), Step::Say("two"), Step::Hang("half")]);
    let mut engine = bench.engine();
    engine.turn("first").await;
    engine.turn("second which is long enough to be kept alone").await;
    let handle = engine.handle.clone();
    let asking = tokio::spawn(async move { handle.send(compact()).await });
    engine.until(|event| matches!(event, Event::CompactionStart { .. })).await;
    let handle = engine.handle.clone();
    let waiting = tokio::spawn(async move { handle.wait_for_idle().await });
    engine.handle.snapshot().await.unwrap();
    assert!(!waiting.is_finished());
    engine.send(Command::Abort { by: "esc".into() }).await.unwrap();
    waiting.await.unwrap();
    asking.await.unwrap().unwrap_err();
}

#[tokio::test]
async fn the_report_names_the_parts_and_where_the_next_compaction_begins() {
    let bench = bench(vec![Step::CountCall("a", 5_000), Step::Count("one", 6_000)]);
    let mut engine = bench.engine();
    engine.turn("first").await;
    let Reply::Context(report) = engine.send(Command::ReportContext).await.unwrap() else {
        panic!()
    };
    let names: Vec<&str> = report.parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(
        names,
        ["system prompt", "tools", "your messages", "answers", "tool calls", "tool results: look"]
    );
    assert_eq!((report.used, report.estimated, report.window), (6_000, false, 100_000));
    assert_eq!(report.parts.iter().map(|part| part.tokens).sum::<u64>(), 6_000);
    assert_eq!((report.compacts_at, report.keep_recent), (Some(90_000), 8));
}
