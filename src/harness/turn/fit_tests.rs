//! Folding and jobs in both orders of any two things that meet. Effects are compared as a script.

use pretty_assertions::assert_eq;

use super::fit::{Folded, Size};
use super::tests::{answer, begun, fresh, machine, script, transient};
use super::{Effect, Input, Machine};
use crate::harness::{ErrorCode, Failure, Phase, QueueKind};
use crate::message::{Part, StopReason};
use crate::providers::{ErrorKind, ProviderError};
use crate::session::Body;

/// A request of so many tokens for a window of 100,000 of which 90,000 may be used.
fn size(tokens: u64, gain: u64) -> Size {
    Size {
        tokens,
        estimated: false,
        fixed: 1_000,
        window: 100_000,
        guessed: false,
        limit: Some(90_000),
        gain,
        enabled: true,
        preview: false,
    }
}

fn measured(machine: &mut Machine, request: u64, size: Size) -> String {
    script(&machine.step(Input::Measured { request, size }, 2))
}

fn folded(tokens_after: u64) -> Box<Folded> {
    let body = Body::SessionInfo { name: None };
    Box::new(Folded { body, tokens_before: 95_000, tokens_after })
}

fn compacted(machine: &mut Machine, job: u64, tokens_after: u64) -> String {
    let effects = machine.step(Input::Compacted { job, outcome: Ok(folded(tokens_after)) }, 3);
    script(&effects).replace("SessionInfo { name: None }", "compaction")
}

fn failed(machine: &mut Machine, job: u64) -> String {
    let failure = Failure::of_overflow("no".into());
    let effects = machine.step(Input::Compacted { job, outcome: Err(failure) }, 3);
    let notice = |effect: &Effect| {
        matches!(effect, Effect::Append { bodies, .. }
            if matches!(&bodies[0], Body::Custom { custom_type, .. } if custom_type == "harness-tui.notice"))
    };
    assert_eq!(effects.iter().filter(|effect| notice(effect)).count(), 1);
    let rest: Vec<Effect> = effects.into_iter().filter(|effect| !notice(effect)).collect();
    script(&rest)
}

fn overflow() -> ProviderError {
    ProviderError { kind: ErrorKind::Overflow, ..transient() }
}

const FAILED: &str = "error +finished(failed)! END_RUN turn_completed | +notified settled";
const CANCELLED: &str = "+finished(cancelled)! END_RUN turn_completed | +notified settled";

#[test]
fn a_request_that_fits_is_sent_and_one_over_the_limit_is_preceded_by_a_fold() {
    let mut machine = begun();
    assert_eq!(measured(&mut machine, 1, size(90_000, 0)), "SEND1");
    let mut machine = begun();
    assert_eq!(measured(&mut machine, 1, size(90_001, 50_000)), "compaction_start FOLD1");
    assert_eq!(machine.phase(), Phase::Compaction);
    assert_eq!(compacted(&mut machine, 1, 20_000), "+compaction! fold_end(ok) REQUEST2");
    assert_eq!(measured(&mut machine, 2, size(20_000, 0)), "SEND2");
    assert_eq!(machine.phase(), Phase::Turn);
    assert_eq!(compacted(&mut machine, 1, 20_000), "", "a late one changes nothing");
}

#[test]
fn an_abort_and_the_summary_may_come_in_either_order() {
    let mut machine = begun();
    measured(&mut machine, 1, size(95_000, 50_000));
    let (_, effects) = machine.abort("esc", 3);
    assert_eq!(
        script(&effects),
        format!("+stop! abort | CANCEL_JOB fold_end(aborted) {CANCELLED}")
    );
    assert_eq!(compacted(&mut machine, 1, 20_000), "");
    let mut machine = begun();
    measured(&mut machine, 1, size(95_000, 50_000));
    compacted(&mut machine, 1, 20_000);
    let (_, effects) = machine.abort("esc", 3);
    assert_eq!(
        script(&effects),
        format!("+stop! abort | CANCEL_REQUEST +assistant(aborted) END_STEP {CANCELLED}")
    );
}

#[test]
fn a_fold_that_won_too_little_is_not_followed_by_another() {
    let mut machine = begun();
    measured(&mut machine, 1, size(95_000, 50_000));
    compacted(&mut machine, 1, 91_000);
    // It still fits the window, so it is sent, with one word.
    assert_eq!(measured(&mut machine, 2, size(91_000, 50_000)), "notice SEND2");
    let mut machine = begun();
    let large = Size { fixed: 95_000, ..size(120_000, 20_000) };
    measured(&mut machine, 1, large);
    compacted(&mut machine, 1, 101_000);
    let large = Size { fixed: 95_000, ..size(130_000, 20_000) };
    assert_eq!(measured(&mut machine, 2, large), FAILED);
}

#[test]
fn where_nothing_can_be_won_nothing_is_asked() {
    let mut machine = begun();
    assert_eq!(measured(&mut machine, 1, size(95_000, 100)), "notice SEND1");
    let mut machine = begun();
    assert_eq!(measured(&mut machine, 1, size(100_001, 100)), FAILED);
    assert_eq!(machine.phase(), Phase::Idle);
}

#[test]
fn a_guessed_window_refuses_nothing_by_an_estimate() {
    let mut machine = begun();
    let guess = Size { guessed: true, estimated: true, ..size(150_000, 0) };
    assert_eq!(measured(&mut machine, 1, guess), "notice SEND1");
    let mut machine = begun();
    let unknown = Size { window: 0, limit: None, ..size(150_000, 50_000) };
    assert_eq!(measured(&mut machine, 1, unknown), "SEND1");
}

#[test]
fn after_two_failures_it_is_quiet_until_a_person_acts_and_then_there_is_one_more() {
    let mut machine = begun();
    measured(&mut machine, 1, size(95_000, 50_000));
    // What still fits is sent all the same.
    assert_eq!(failed(&mut machine, 1), "fold_end(failed) notice SEND2");
    let message = answer(&["x"], StopReason::Length);
    machine.step(Input::Finished { request: 2, message }, 4);
    // One failure so far: a second is allowed, a third is not.
    let request = machine_request(&machine);
    assert_eq!(measured(&mut machine, request, size(95_000, 50_000)), "compaction_start FOLD2");
    failed(&mut machine, 2);
    machine.step(
        Input::Finished { request: request + 1, message: answer(&["x"], StopReason::Length) },
        4,
    );
    let request = machine_request(&machine);
    assert_eq!(
        measured(&mut machine, request, size(95_000, 50_000)),
        format!("notice SEND{request}")
    );
    machine.abort("esc", 5);
    machine.begin(Some(vec![Part::text("again")]), fresh()).unwrap();
    let request = machine_request(&machine);
    assert_eq!(measured(&mut machine, request, size(95_000, 50_000)), "compaction_start FOLD3");
}

/// The number of the request that is due.
fn machine_request(machine: &Machine) -> u64 {
    machine.requests
}

#[test]
fn a_failed_fold_of_what_does_not_fit_ends_the_turn() {
    let mut machine = begun();
    measured(&mut machine, 1, size(120_000, 50_000));
    assert_eq!(failed(&mut machine, 1), format!("fold_end(failed) {FAILED}"));
}

#[test]
fn an_overflow_drops_the_attempt_and_folds_once_and_the_second_ends_the_turn() {
    let mut machine = begun();
    measured(&mut machine, 1, size(50_000, 0));
    let effects = machine.step(Input::Failed { request: 1, error: overflow() }, 3);
    assert_eq!(script(&effects), "compaction_start FOLD1");
    assert_eq!(compacted(&mut machine, 1, 20_000), "+compaction! fold_end(ok) REQUEST2");
    measured(&mut machine, 2, size(20_000, 0));
    let effects = machine.step(Input::Failed { request: 2, error: overflow() }, 3);
    assert_eq!(script(&effects), format!("+assistant(error) END_STEP {FAILED}"));
}

#[test]
fn an_overflow_that_cannot_be_folded_tells_the_attempt() {
    let mut machine = begun();
    measured(&mut machine, 1, size(50_000, 0));
    machine.step(Input::Failed { request: 1, error: overflow() }, 3);
    assert_eq!(
        failed(&mut machine, 1),
        format!("fold_end(failed) +assistant(error) END_STEP {FAILED}")
    );
}

#[test]
fn switched_off_an_overflow_is_an_error() {
    let mut machine = begun();
    measured(&mut machine, 1, Size { enabled: false, ..size(95_000, 50_000) });
    let effects = machine.step(Input::Failed { request: 1, error: overflow() }, 3);
    assert_eq!(script(&effects), format!("+assistant(error) END_STEP {FAILED}"));
}

#[test]
fn an_empty_answer_at_the_end_of_the_window_is_an_overflow() {
    let mut machine = begun();
    measured(&mut machine, 1, size(50_000, 0));
    let mut message = answer(&[], StopReason::Length);
    message.content.clear();
    message.usage.input = 99_000;
    let effects = machine.step(Input::Finished { request: 1, message }, 3);
    assert_eq!(script(&effects), "compaction_start FOLD1");
}

#[test]
fn where_nobody_knows_the_window_an_answer_of_nothing_is_an_overflow_too() {
    let unknown = Size { window: 0, limit: None, ..size(50_000, 0) };
    let guessed = Size { guessed: true, ..size(50_000, 0) };
    for (size, want) in [(unknown, true), (guessed, true), (self::size(50_000, 0), false)] {
        let mut machine = begun();
        measured(&mut machine, 1, size);
        let mut message = answer(&[], StopReason::Length);
        message.content.clear();
        message.usage.input = 40_000;
        message.usage.output = 0;
        let effects = machine.step(Input::Finished { request: 1, message }, 3);
        assert_eq!(script(&effects) == "compaction_start FOLD1", want, "{}", script(&effects));
    }
}

#[test]
fn with_preview_a_person_is_told_and_what_does_not_fit_waits() {
    let mut machine = begun();
    let wish = |tokens| Size { preview: true, ..size(tokens, 50_000) };
    assert_eq!(measured(&mut machine, 1, wish(95_000)), "notice SEND1");
    let mut machine = begun();
    assert_eq!(
        measured(&mut machine, 1, wish(100_001)),
        "notice +finished(completed)! END_RUN turn_completed | +notified settled"
    );
}

#[test]
fn during_a_job_nothing_begins_and_what_is_typed_waits() {
    let mut machine = machine();
    let job = machine.start_job(Phase::BranchSummary).unwrap();
    assert_eq!(machine.phase(), Phase::BranchSummary);
    let refusal = machine.begin(Some(vec![Part::text("hi")]), fresh()).unwrap_err();
    assert_eq!(refusal.code, ErrorCode::Busy);
    assert_eq!(machine.start_job(Phase::Compaction).unwrap_err().code, ErrorCode::Busy);
    for (kind, text) in [
        (QueueKind::FollowUp, "a"),
        (QueueKind::Steer, "b"),
        (QueueKind::NextTurn, "c"),
        (QueueKind::FollowUp, "d"),
    ] {
        let (_, effects) = machine.enqueue(kind, text.into(), fresh()).unwrap();
        assert_eq!(script(&effects), "+queued! queue_update");
    }
    // The next-turn message stands before the prompt, the steering behind it, the follow-up waits.
    let effects = machine.end_job(job, true, fresh());
    assert_eq!(
        script(&effects),
        "turn_started agent_start +user+dequeued+user+dequeued+started+user+dequeued! queue_update turn_start REQUEST1"
    );
    let left: Vec<(QueueKind, String)> =
        machine.queue.list().into_iter().map(|queued| (queued.kind, queued.text)).collect();
    assert_eq!(left, [(QueueKind::FollowUp, "d".to_owned())]);
    assert_eq!(script(&machine.end_job(job, true, fresh())), "", "it ends once");
}

#[test]
fn a_message_may_come_just_before_or_just_after_the_end_of_a_job() {
    let mut machine = machine();
    let job = machine.start_job(Phase::Compaction).unwrap();
    assert_eq!(script(&machine.end_job(job, true, fresh())), "settled");
    let late = machine.enqueue(QueueKind::Steer, "x".into(), fresh()).unwrap_err();
    assert_eq!(late.code, ErrorCode::InvalidState);
    let (_, effects) = machine.enqueue(QueueKind::FollowUp, "x".into(), fresh()).unwrap();
    assert!(script(&effects).ends_with("REQUEST1"));
}

#[test]
fn after_a_failed_job_the_messages_still_wait() {
    let mut machine = machine();
    let job = machine.start_job(Phase::Compaction).unwrap();
    machine.enqueue(QueueKind::FollowUp, "x".into(), fresh()).unwrap();
    assert_eq!(script(&machine.end_job(job, false, fresh())), "settled");
    assert_eq!((machine.phase(), machine.queue.list().len()), (Phase::Idle, 1));
}

#[test]
fn stopping_a_job_hands_the_messages_back_and_its_end_comes_too_late() {
    let mut machine = machine();
    let job = machine.start_job(Phase::Compaction).unwrap();
    machine.enqueue(QueueKind::Steer, "x".into(), fresh()).unwrap();
    let (cleared, effects) = machine.abort("esc", 2);
    assert_eq!(cleared.len(), 1);
    assert_eq!(script(&effects), "+dequeued! queue_update abort | CANCEL_JOB settled");
    assert_eq!(script(&machine.end_job(job, true, fresh())), "");
    assert!(machine.begin(Some(vec![Part::text("hi")]), fresh()).is_ok());
}

#[test]
fn a_full_disk_during_a_job_takes_back_the_message_and_not_the_job() {
    let mut machine = machine();
    let job = machine.start_job(Phase::Compaction).unwrap();
    machine.enqueue(QueueKind::FollowUp, "x".into(), fresh()).unwrap();
    let effects = machine.step(Input::AppendFailed { message: "full".into() }, 2);
    assert_eq!(script(&effects), "error queue_update");
    assert_eq!(machine.phase(), Phase::Compaction);
    assert_eq!(script(&machine.end_job(job, true, fresh())), "settled");
}

#[test]
fn a_full_disk_while_a_turn_folds_ends_the_turn_and_the_fold() {
    let mut machine = begun();
    measured(&mut machine, 1, size(95_000, 50_000));
    let effects = machine.step(Input::AppendFailed { message: "full".into() }, 2);
    assert_eq!(
        script(&effects),
        "error CANCEL_REQUEST CANCEL_WAIT CANCEL_TOOLS CANCEL_JOB fold_end(aborted) END_RUN turn_completed settled"
    );
    assert_eq!(compacted(&mut machine, 1, 20_000), "");
}
