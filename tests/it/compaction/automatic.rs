//! Folding by itself: before a prompt, between steps, after an overflow, and what keeps it from
//! running in circles.

use harness_tui::harness::{
    Command, Compaction, CompactionReason, Event, Phase, Reply, TurnStatus,
};
use harness_tui::providers::{ErrorKind, ProviderError};
use harness_tui::session::Body;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::{bench, compactions, entries, long, requests, summaries};
use crate::support::engine::{Bench, Engine, Step, word};

fn refused(kind: ErrorKind) -> ProviderError {
    ProviderError {
        kind,
        message: "the server says no".into(),
        status: Some(400),
        retry_after: None,
    }
}

fn ends(engine: &Engine) -> Vec<(TurnStatus, Option<String>)> {
    let end = |event: &std::sync::Arc<Event>| match &**event {
        Event::TurnCompleted { status, reason, .. } => Some((*status, reason.clone())),
        _ => None,
    };
    engine.seen.iter().filter_map(end).collect()
}

/// Compactions that were begun.
fn begun(engine: &Engine) -> usize {
    let starts = |event: &&std::sync::Arc<Event>| matches!(***event, Event::CompactionStart { .. });
    engine.seen.iter().filter(starts).count()
}

fn notices(engine: &Engine) -> Vec<String> {
    let notice = |event: &std::sync::Arc<Event>| match &**event {
        Event::Notice { text } => Some(text.clone()),
        Event::Error { error } => Some(format!("{}: {}", error.kind, error.message)),
        _ => None,
    };
    engine.seen.iter().filter_map(notice).collect()
}

#[tokio::test]
async fn a_prompt_that_would_go_over_the_limit_is_preceded_by_one_compaction() {
    let steps = vec![Step::Say("one"), Step::Count("two", 95_000), Step::Say("the summary")];
    let bench = bench(steps);
    let mut engine = bench.engine();
    engine.turn(&long("first", 30_000)).await;
    engine.turn(&long("second", 50_000)).await;
    let names = engine.turn("third").await;
    let story: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .filter(|name| name.contains("compaction") || name.contains("request"))
        .collect();
    assert_eq!(story, ["compaction_start", "compaction_end", "request_waiting"]);
    let asked = requests(&bench).pop().unwrap();
    assert!(asked[0].contains("the summary"), "{asked:?}");
    assert_eq!(asked.last().unwrap(), "user third");
    assert_eq!(compactions(&engine).await.len(), 1);
    // Two short turns on, nothing that was counted before the compaction starts another.
    engine.turn("fourth").await;
    engine.turn("fifth").await;
    assert_eq!(begun(&engine), 1);
}

#[tokio::test]
async fn the_meter_drops_at_once_to_an_estimate_that_says_so() {
    let bench = bench(vec![Step::Say("one"), Step::Count("two", 95_000), Step::Say("short")]);
    let mut engine = bench.engine();
    engine.turn(&long("first", 30_000)).await;
    engine.turn(&long("second", 50_000)).await;
    let before = engine.handle.snapshot().await.unwrap();
    assert_eq!((before.context_tokens, before.context_estimated), (95_000, false));
    engine.send(super::compact()).await.unwrap();
    let after = engine.handle.snapshot().await.unwrap();
    assert!(after.context_tokens < 60_000 && after.context_estimated, "{}", after.context_tokens);
    engine.until(|event| matches!(event, Event::UsageUpdate { estimated: true, .. })).await;
}

#[tokio::test]
async fn a_huge_result_is_folded_before_the_next_request_of_the_same_turn() {
    let huge = long("huge", 20_000);
    let call = |text: &str| Step::Call(vec![("look", json!({"path": text}))]);
    // Each call is in the context twice: as arguments and as a result.
    let steps = vec![call(&huge), call(&huge), call(&huge), Step::Say("told"), Step::Say("end")];
    let bench = bench(steps);
    let mut engine = bench.engine();
    engine.turn("do B").await;
    assert_eq!(begun(&engine), 1);
    let all = bench.player.requests.lock().unwrap();
    let last = all.last().unwrap();
    // The newest request is quoted, and the call that stays has its result.
    assert!(last.messages[0].text().contains("> do B"), "{}", last.messages[0].text());
    let words: Vec<String> = last.messages[1..].iter().map(|it| word(it)).collect();
    assert_eq!(words.len(), 2);
    assert!(words[0] == "toolUse look" && words[1].starts_with("result look"), "{words:?}");
    assert_eq!(ends(&engine), [(TurnStatus::Completed, None)]);
}

#[tokio::test]
async fn an_overflow_is_folded_once_and_the_failed_attempt_is_no_part_of_the_story() {
    let overflow = || Step::Fail(refused(ErrorKind::Overflow));
    let bench =
        bench(vec![Step::Say("one"), overflow(), Step::Say("the summary"), Step::Say("two")]);
    let mut engine = bench.engine();
    engine.turn("first, with some words to fold").await;
    engine.turn("second").await;
    assert_eq!(
        engine.told().await,
        ["user first, with some words to fold", "stop one", "user second", "stop two"]
    );
    let start = engine.seen.iter().find_map(|event| match &**event {
        Event::CompactionStart { reason } => Some(*reason),
        _ => None,
    });
    assert_eq!(start, Some(CompactionReason::Overflow));
    assert_eq!(requests(&bench).pop().unwrap().last().unwrap(), "user second");
}

#[tokio::test]
async fn a_second_overflow_is_an_error_with_advice_and_no_loop() {
    let overflow = || Step::Fail(refused(ErrorKind::Overflow));
    let steps =
        vec![Step::Say("one"), overflow(), Step::Say("the summary"), overflow(), overflow()];
    let bench = bench(steps);
    let mut engine = bench.engine();
    engine.turn("first, with some words to fold").await;
    engine.turn("second").await;
    assert_eq!(requests(&bench).len(), 4);
    let overflowed = (TurnStatus::Failed, Some("overflow".to_owned()));
    assert_eq!(ends(&engine)[1..], [overflowed]);
    assert_eq!(engine.handle.snapshot().await.unwrap().phase, Phase::Idle);
}

#[tokio::test]
async fn switched_off_it_never_happens_and_an_overflow_is_a_card() {
    let off = Compaction { enabled: false, ..Compaction::default() };
    let steps = vec![Step::Count("one", 99_000), Step::Fail(refused(ErrorKind::Overflow))];
    let bench = Bench { compaction: off, ..bench(steps) };
    let mut engine = bench.engine();
    engine.turn(&long("first", 30_000)).await;
    engine.turn("second").await;
    assert_eq!((requests(&bench).len(), compactions(&engine).await.len()), (2, 0));
    assert_eq!(ends(&engine)[1].1.as_deref(), Some("overflow"));
}

#[tokio::test]
async fn fixed_overhead_larger_than_the_window_is_said_with_numbers_and_costs_no_request() {
    let bench = Bench { window: 8_000, ..Bench::new(vec![Step::Count("one", 9_000)]) };
    let mut engine = bench.engine();
    engine.turn("hi").await;
    engine.turn("and now").await;
    assert_eq!(requests(&bench).len(), 1);
    let said = notices(&engine).pop().unwrap();
    assert!(said.starts_with("overflow: ") && said.contains("of 8000 tokens"), "{said}");
    assert!(said.contains("fixed overhead (system prompt and tools) is 89"), "{said}");
}

#[tokio::test]
async fn a_provider_that_always_counts_too_much_gets_at_most_two_compactions_a_prompt() {
    let bench = Bench { window: 8_000, ..Bench::new(vec![]) };
    bench.player.steps.lock().unwrap().extend((0..60).map(|n| match n {
        // Summaries are among what is played, and tools cannot be called in them.
        n if n % 2 == 1 => Step::Count("told", 9_000),
        _ => Step::CountCall("a", 9_000),
    }));
    let mut engine = bench.engine();
    engine.turn(&long("do it", 2_000)).await;
    engine.turn("go on").await;
    engine.turn("go on").await;
    let turns = engine.seen.split(|event| matches!(**event, Event::Settled));
    let starts = |turn: &[std::sync::Arc<Event>]| {
        turn.iter().filter(|event| matches!(***event, Event::CompactionStart { .. })).count()
    };
    let counts: Vec<usize> = turns.map(starts).collect();
    assert!(counts.iter().all(|count| *count <= 2), "{counts:?}");
    assert!(requests(&bench).len() < 15, "{}", requests(&bench).len());
}

#[tokio::test]
async fn failing_summaries_stop_after_a_few_and_history_and_prompts_are_safe() {
    for (fault, said) in [
        (Step::Fail(refused(ErrorKind::Permanent)), "the server says no"),
        (Step::Say(""), "answered with nothing"),
        (Step::Cut("half"), "cut off"),
    ] {
        let call = || Step::Call(vec![("look", json!({}))]);
        let mut steps = vec![Step::Say("one"), Step::Count("two", 95_000)];
        for _ in 0..2 {
            steps.push(fault.clone());
            steps.push(call());
        }
        steps.extend([call(), call(), Step::Say("end")]);
        let bench = bench(steps);
        let mut engine = bench.engine();
        engine.turn(&long("first", 30_000)).await;
        engine.turn(&long("second", 50_000)).await;
        engine.turn("third").await;
        assert_eq!(summaries(&bench), 2);
        assert_eq!(ends(&engine).pop(), Some((TurnStatus::Completed, None)));
        assert!(notices(&engine).iter().any(|text| text.contains(said)), "{:?}", notices(&engine));
        assert_eq!(compactions(&engine).await, []);
        let kept = entries(&engine).await;
        let is_notice = |body: &Body| matches!(body, Body::Custom { custom_type, .. } if custom_type == "harness-tui.notice");
        assert_eq!(kept.iter().filter(|entry| is_notice(&entry.body)).count(), 2);
    }
}

#[tokio::test]
async fn without_counts_an_estimate_drives_the_meter_and_the_trigger() {
    let bench = bench(vec![Step::Say("one"), Step::Say("two"), Step::Say("the summary")]);
    let mut engine = bench.engine();
    engine.turn(&long("first", 30_000)).await;
    engine.turn(&long("second", 40_000)).await;
    let snapshot = engine.handle.snapshot().await.unwrap();
    assert!(snapshot.context_tokens > 70_000 && snapshot.context_estimated);
    engine.turn(&long("third", 30_000)).await;
    assert_eq!(begun(&engine), 1);
    assert_eq!(compactions(&engine).await.len(), 1);
}

#[tokio::test]
async fn the_size_of_the_context_is_that_of_the_last_answer_not_the_sum_of_all() {
    let bench = bench(vec![Step::Count("one", 10_000), Step::Count("two", 10_100)]);
    let mut engine = bench.engine();
    engine.turn("first").await;
    engine.turn("second").await;
    assert_eq!(engine.handle.snapshot().await.unwrap().context_tokens, 10_100);
}

#[tokio::test]
async fn a_smaller_model_after_a_switch_compacts_first_with_requests_that_fit_it() {
    let bench = bench(vec![Step::Say("one"), Step::Count("two", 60_000)]);
    let mut engine = bench.engine();
    engine.turn(&long("first", 30_000)).await;
    engine.turn(&long("second", 30_000)).await;
    engine.send(Command::SetModel { reference: "test/small".into() }).await.unwrap();
    engine.turn("go on").await;
    let all = bench.player.requests.lock().unwrap();
    assert!(all.len() > 3, "the history needs several requests");
    for request in all.iter().skip(2) {
        assert_eq!(request.model.id, "small");
        let chars: usize = request.messages.iter().map(|it| it.text().len()).sum();
        assert!(chars / 4 + request.system.len() / 4 < 10_000, "{chars} characters");
    }
    assert_eq!(all.last().unwrap().messages.last().unwrap().text(), "go on");
}

#[tokio::test]
async fn with_preview_it_is_said_that_it_is_time_and_a_person_decides() {
    let compaction = Compaction { preview: true, keep_recent_tokens: 8, ..Compaction::default() };
    let steps = vec![Step::Say("one"), Step::Count("two", 90_000), Step::Count("three", 101_000)];
    let bench = Bench { compaction, ..bench(steps) };
    let mut engine = bench.engine();
    engine.turn(&long("first", 30_000)).await;
    engine.turn(&long("second", 50_000)).await;
    engine.turn("third").await;
    assert!(notices(&engine).iter().any(|text| text.contains("/compact")));
    engine.turn("fourth").await;
    assert_eq!(requests(&bench).len(), 3, "what does not fit waits for the person");
    assert_eq!(ends(&engine).pop(), Some((TurnStatus::Completed, Some("compaction".into()))));
    let Reply::Draft(draft) =
        engine.send(Command::DraftCompaction { instructions: None, up_to: None }).await.unwrap()
    else {
        panic!()
    };
    engine.send(Command::StoreCompaction { draft }).await.unwrap();
    engine.send(Command::Retry).await.unwrap();
    engine.settled().await;
    assert_eq!(requests(&bench).pop().unwrap().last().unwrap(), "user fourth");
}

#[tokio::test]
async fn stopping_a_turn_while_it_folds_ends_it_and_leaves_no_entry() {
    let steps = vec![Step::Say("one"), Step::Count("two", 95_000), Step::Hang("half")];
    let bench = bench(steps);
    let mut engine = bench.engine();
    engine.turn(&long("first", 30_000)).await;
    engine.turn(&long("second", 50_000)).await;
    engine.prompt("third").await.unwrap();
    engine.until(|event| matches!(event, Event::CompactionStart { .. })).await;
    assert_eq!(engine.handle.snapshot().await.unwrap().phase, Phase::Compaction);
    engine.send(Command::Abort { by: "esc".into() }).await.unwrap();
    engine.settled().await;
    assert_eq!(ends(&engine).pop(), Some((TurnStatus::Cancelled, Some("aborted".into()))));
    assert_eq!(compactions(&engine).await, []);
}

#[tokio::test]
async fn what_is_typed_while_a_turn_folds_comes_next_and_keeps_its_kind() {
    let steps = vec![
        Step::Say("one"),
        Step::Count("two", 95_000),
        Step::Fail(refused(ErrorKind::Transient)),
    ];
    let bench = bench(steps);
    let mut engine = bench.engine();
    engine.turn(&long("first", 30_000)).await;
    engine.turn(&long("second", 50_000)).await;
    engine.prompt("third").await.unwrap();
    // The summary waits for its second attempt.
    engine.until(|event| matches!(event, Event::CompactionStart { .. })).await;
    engine.send(Command::FollowUp { text: "after".into() }).await.unwrap();
    engine.send(Command::Steer { text: "now".into() }).await.unwrap();
    engine.settled().await;
    let told = engine.told().await;
    assert_eq!(
        &told[4..],
        ["user third", "stop done", "user now", "stop done", "user after", "stop done"]
    );
}
