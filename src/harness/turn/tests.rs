//! The machine in both orders of any two concurrent things. Effects are compared as a short script.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;
use crate::harness::batch::Ready;
use crate::harness::{ErrorCode, QueueKind, Reply};
use crate::message::{Part, StopReason};
use crate::policy::Decision;
use crate::providers::ErrorKind;
use crate::session::journal::Record;

pub(super) fn machine() -> Machine {
    let retry = RetryPolicy { max_retries: 2, ..RetryPolicy::default() };
    let limits = Limits { max_turns: 10, retry };
    Machine::new("s".into(), limits, Queue::default())
}

pub(super) fn fresh() -> Fresh {
    Fresh { now: 1, turn: "t".into(), ..Fresh::default() }
}

pub(super) fn begun() -> Machine {
    let mut machine = machine();
    machine.begin(Some(vec![Part::text("hi")]), fresh()).unwrap();
    machine.stored();
    machine
}

pub(super) fn answer(names: &[&str], stop_reason: StopReason) -> Box<AssistantMessage> {
    let mut content = vec![Part::text("text")];
    content.extend(names.iter().enumerate().map(|(at, name)| {
        Part::ToolCall(ToolCall {
            id: format!("c{at}"),
            name: (*name).into(),
            arguments: json!({}),
            ..ToolCall::default()
        })
    }));
    Box::new(AssistantMessage { content, stop_reason, ..AssistantMessage::default() })
}

fn finish(machine: &mut Machine, request: u64, names: &[&str]) -> Vec<Effect> {
    let reason = if names.is_empty() { StopReason::Stop } else { StopReason::ToolUse };
    machine.step(Input::Finished { request, message: answer(names, reason) }, 2)
}

fn ready(sequential: bool) -> Box<Ready> {
    Box::new(Ready {
        arguments: json!({}),
        summary: String::new(),
        hash: "h".into(),
        pre_image: None,
        post_image: None,
        idempotent: false,
        sequential,
        decision: None,
    })
}

fn allow(machine: &mut Machine, ordinal: usize) -> Vec<Effect> {
    machine.step(Input::Prepared { ordinal, prepared: Prepared::Ready(ready(false)) }, 3)
}

fn hold(machine: &mut Machine, ordinal: usize) -> Vec<Effect> {
    let held = HeldCall {
        key: key(u32::try_from(ordinal).unwrap()),
        tool: "bash".into(),
        arguments: json!({}),
        summary: String::new(),
        reason: "runs a command".into(),
        hash: "h".into(),
        preview: None,
        session_rule: "rule".into(),
        since: 0,
    };
    let prepared = Prepared::Held(ready(false), Box::new(held));
    machine.step(Input::Prepared { ordinal, prepared }, 3)
}

fn key(ordinal: u32) -> CallKey {
    CallKey { turn: "t".into(), step: 1, ordinal }
}

fn done(machine: &mut Machine, ordinal: u32) -> Vec<Effect> {
    let outcome = ToolOutcome::text("done");
    machine.step(Input::ToolDone { key: key(ordinal), outcome, duration_ms: 1 }, 4)
}

pub(super) fn transient() -> ProviderError {
    ProviderError {
        kind: ErrorKind::Transient,
        message: "reset".into(),
        status: None,
        retry_after: None,
    }
}

/// One word per effect; `!` marks an append that must be on disk.
pub(super) fn script(effects: &[Effect]) -> String {
    effects.iter().map(word).collect::<Vec<_>>().join(" ")
}

fn word(effect: &Effect) -> String {
    match effect {
        Effect::Append { bodies, flush } => {
            let names: Vec<String> = bodies.iter().map(body_word).collect();
            let mark = if *flush == Flush::Sync { "!" } else { "" };
            format!("+{}{mark}", names.join("+"))
        }
        Effect::Barrier => "|".into(),
        Effect::Emit(event) => {
            let value = serde_json::to_value(event).unwrap();
            value["type"].as_str().unwrap().to_owned()
        }
        Effect::Request { request } => format!("REQUEST{request}"),
        Effect::CancelRequest => "CANCEL_REQUEST".into(),
        Effect::Wait { attempt, .. } => format!("WAIT{attempt}"),
        Effect::CancelWait => "CANCEL_WAIT".into(),
        Effect::Prepare { ordinal, .. } => format!("PREPARE{ordinal}"),
        Effect::Run { key, .. } => format!("RUN{}", key.ordinal),
        Effect::CancelTools => "CANCEL_TOOLS".into(),
        Effect::Remember { .. } => "REMEMBER".into(),
        Effect::EndStep => "END_STEP".into(),
        Effect::EndRun => "END_RUN".into(),
        Effect::CancelJob => "CANCEL_JOB".into(),
        Effect::Send { request } => format!("SEND{request}"),
        Effect::Fold { job, .. } => format!("FOLD{job}"),
        Effect::EndFold { error, aborted, .. } => {
            let how = if *aborted {
                "aborted"
            } else if error.is_some() {
                "failed"
            } else {
                "ok"
            };
            format!("fold_end({how})")
        }
    }
}

fn body_word(body: &Body) -> String {
    let entry = crate::session::Entry {
        id: "e".into(),
        parent_id: None,
        timestamp: String::new(),
        body: body.clone(),
    };
    if let Some(record) = Record::of(&entry) {
        let value = serde_json::to_value(record).unwrap();
        let status = value["status"].as_str().map(|word| format!("({word})")).unwrap_or_default();
        return format!("{}{status}", value["event"].as_str().unwrap());
    }
    match body {
        Body::Message { message: Message::User(_), .. } => "user".into(),
        Body::Message { message: Message::Assistant(answer), .. } => {
            format!(
                "assistant({})",
                serde_json::to_value(answer.stop_reason).unwrap().as_str().unwrap()
            )
        }
        Body::Message { message: Message::ToolResult(result), harness } => {
            let at = harness.as_ref().unwrap().ordinal.unwrap();
            format!("result{at}{}", if result.is_error { "x" } else { "" })
        }
        other => format!("{other:?}"),
    }
}

const COMPLETED: &str = "+finished(completed)! END_RUN turn_completed | +notified settled";
const CANCELLED: &str = "+finished(cancelled)! END_RUN turn_completed | +notified settled";

#[test]
fn a_plain_turn_stores_the_prompt_before_the_request_and_ends_once() {
    let mut machine = machine();
    let (reply, effects) = machine.begin(Some(vec![Part::text("hi")]), fresh()).unwrap();
    assert_eq!(reply, Reply::Started { turn: "t".into() });
    assert_eq!(script(&effects), "turn_started agent_start +user+started! turn_start REQUEST1");
    let effects = finish(&mut machine, 1, &[]);
    assert_eq!(script(&effects), format!("+assistant(stop) END_STEP {COMPLETED}"));
    assert_eq!(machine.phase(), Phase::Idle);
    assert_eq!(script(&finish(&mut machine, 1, &[])), "", "a repeated end changes nothing");
}

#[test]
fn calls_start_together_after_one_record_and_either_may_finish_first() {
    for order in [[0, 1], [1, 0]] {
        let mut machine = begun();
        let effects = finish(&mut machine, 1, &["bash", "bash"]);
        assert_eq!(script(&effects), "+assistant(toolUse) PREPARE0");
        assert_eq!(script(&allow(&mut machine, 0)), "PREPARE1");
        assert_eq!(
            script(&allow(&mut machine, 1)),
            "+call! tool_execution_start RUN0 tool_execution_start RUN1"
        );
        let first = done(&mut machine, order[0]);
        assert_eq!(script(&first), format!("tool_execution_end +result{}", order[0]));
        assert_eq!(script(&done(&mut machine, order[0])), "", "a known key is a no-op");
        let second = done(&mut machine, order[1]);
        assert_eq!(
            script(&second),
            format!("tool_execution_end +result{} END_STEP turn_start REQUEST2", order[1])
        );
    }
}

#[test]
fn one_sequential_tool_makes_the_batch_sequential() {
    let mut machine = begun();
    finish(&mut machine, 1, &["a", "b"]);
    allow(&mut machine, 0);
    let prepared = Prepared::Ready(ready(true));
    let effects = machine.step(Input::Prepared { ordinal: 1, prepared }, 3);
    assert_eq!(script(&effects), "+call! tool_execution_start RUN0");
    assert_eq!(
        script(&done(&mut machine, 0)),
        "tool_execution_end +result0 +call! tool_execution_start RUN1"
    );
}

#[test]
fn an_abort_before_the_answer_keeps_the_partial_and_ignores_the_late_answer() {
    let mut machine = begun();
    machine.step(Input::Delta { request: 1, delta: Delta::TextStart { index: 0 } }, 2);
    let delta = Delta::TextDelta { index: 0, delta: "half".into() };
    machine.step(Input::Delta { request: 1, delta }, 2);
    let (cleared, effects) = machine.abort("esc", 3);
    assert_eq!(cleared, Vec::new());
    assert_eq!(
        script(&effects),
        format!("+stop! abort | CANCEL_REQUEST +assistant(aborted) END_STEP {CANCELLED}")
    );
    assert_eq!(script(&finish(&mut machine, 1, &["bash"])), "");
}

#[test]
fn an_abort_after_the_answer_closes_its_calls() {
    let mut machine = begun();
    finish(&mut machine, 1, &["bash"]);
    let (_, effects) = machine.abort("esc", 3);
    assert_eq!(
        script(&effects),
        format!(
            "+stop! abort | tool_execution_start tool_execution_end +result0x END_STEP {CANCELLED}"
        )
    );
    assert_eq!(script(&allow(&mut machine, 0)), "", "a late preparation starts nothing");
}

#[test]
fn an_abort_waits_for_running_tools_and_closes_the_others_at_once() {
    let mut machine = begun();
    finish(&mut machine, 1, &["bash", "bash"]);
    allow(&mut machine, 0);
    hold(&mut machine, 1);
    let (_, effects) = machine.abort("esc", 3);
    assert_eq!(
        script(&effects),
        "+stop! abort | approval_resolved tool_execution_start tool_execution_end +result1x \
         CANCEL_TOOLS"
    );
    assert_eq!(machine.phase(), Phase::Turn);
    assert_eq!(
        script(&done(&mut machine, 0)),
        format!("tool_execution_end +result0 END_STEP {CANCELLED}")
    );
}

#[test]
fn an_abort_after_the_last_result_finds_the_next_request() {
    let mut machine = begun();
    finish(&mut machine, 1, &["bash"]);
    allow(&mut machine, 0);
    done(&mut machine, 0);
    let (_, effects) = machine.abort("esc", 3);
    assert_eq!(
        script(&effects),
        format!("+stop! abort | CANCEL_REQUEST +assistant(aborted) END_STEP {CANCELLED}")
    );
}

#[test]
fn a_second_abort_only_hands_back_what_was_queued_since() {
    let mut machine = begun();
    finish(&mut machine, 1, &["bash"]);
    allow(&mut machine, 0);
    machine.abort("esc", 3);
    machine.enqueue(QueueKind::Steer, "wait".into(), fresh()).unwrap();
    let (cleared, effects) = machine.abort("esc", 4);
    assert_eq!(cleared.len(), 1);
    assert_eq!(script(&effects), "+dequeued! queue_update abort | CANCEL_TOOLS");
}

#[test]
fn steering_is_delivered_after_the_batch_or_instead_of_the_end() {
    let mut machine = begun();
    finish(&mut machine, 1, &["bash"]);
    allow(&mut machine, 0);
    let (_, effects) = machine.enqueue(QueueKind::Steer, "left".into(), fresh()).unwrap();
    assert_eq!(script(&effects), "+queued! queue_update");
    assert_eq!(
        script(&done(&mut machine, 0)),
        "tool_execution_end +result0 END_STEP +user+dequeued! queue_update turn_start REQUEST2"
    );
    machine.enqueue(QueueKind::Steer, "right".into(), fresh()).unwrap();
    assert_eq!(
        script(&finish(&mut machine, 2, &[])),
        "+assistant(stop) END_STEP +user+dequeued! queue_update turn_start REQUEST3"
    );
    finish(&mut machine, 3, &[]);
    let error = machine.enqueue(QueueKind::Steer, "late".into(), fresh()).unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidState);
}

#[test]
fn a_follow_up_before_the_end_goes_on_and_after_it_starts_a_turn() {
    let mut machine = begun();
    machine.enqueue(QueueKind::FollowUp, "then".into(), fresh()).unwrap();
    assert_eq!(
        script(&finish(&mut machine, 1, &[])),
        "+assistant(stop) END_STEP +user+dequeued! queue_update turn_start REQUEST2"
    );
    finish(&mut machine, 2, &[]);
    let (reply, _) = machine.enqueue(QueueKind::FollowUp, "again".into(), fresh()).unwrap();
    assert_eq!(reply, Reply::Started { turn: "t".into() });
}

#[test]
fn queues_deliver_one_at_a_time_or_all_in_the_order_of_typing() {
    for (mode, expected) in [
        (crate::harness::QueueMode::OneAtATime, "+user+dequeued! queue_update"),
        (crate::harness::QueueMode::All, "+user+dequeued+user+dequeued! queue_update"),
    ] {
        let mut machine = begun();
        machine.queue.follow_up = mode;
        machine.enqueue(QueueKind::FollowUp, "1".into(), fresh()).unwrap();
        machine.enqueue(QueueKind::FollowUp, "2".into(), fresh()).unwrap();
        let effects = finish(&mut machine, 1, &[]);
        assert_eq!(
            script(&effects),
            format!("+assistant(stop) END_STEP {expected} turn_start REQUEST2")
        );
    }
}

#[test]
fn next_turn_messages_survive_an_abort_and_stand_before_the_prompt() {
    let mut machine = begun();
    machine.enqueue(QueueKind::NextTurn, "first".into(), fresh()).unwrap();
    let (cleared, _) = machine.abort("esc", 3);
    assert_eq!(cleared, Vec::new());
    let (_, effects) = machine.begin(Some(vec![Part::text("second")]), fresh()).unwrap();
    let Some(Effect::Append { bodies, .. }) = effects.get(2) else { panic!("{effects:?}") };
    let texts: Vec<String> = bodies
        .iter()
        .filter_map(|body| match body {
            Body::Message { message, .. } => Some(message.text()),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["first", "second"]);
}

#[test]
fn a_message_is_taken_back_or_delivered_never_both() {
    let mut machine = begun();
    let (reply, _) = machine.enqueue(QueueKind::FollowUp, "x".into(), fresh()).unwrap();
    let Reply::Queued { queued } = reply else { panic!("{reply:?}") };
    let mut other = machine.clone();
    machine.dequeue(&queued.id).unwrap();
    assert_eq!(
        script(&finish(&mut machine, 1, &[])),
        format!("+assistant(stop) END_STEP {COMPLETED}")
    );
    finish(&mut other, 1, &[]);
    assert_eq!(other.dequeue(&queued.id).unwrap_err().code, ErrorCode::InvalidArgument);
}

#[test]
fn a_decision_and_an_abort_in_both_orders() {
    let mut machine = begun();
    finish(&mut machine, 1, &["bash"]);
    assert_eq!(script(&hold(&mut machine, 0)), "+held! approval_requested");
    assert_eq!(machine.held().len(), 1);
    let mut other = machine.clone();
    let (_, effects) = machine.decide(&key(0), Decision::Once, 4).unwrap();
    assert_eq!(script(&effects), "approval_resolved +call! tool_execution_start RUN0");
    let (_, effects) = machine.abort("esc", 5);
    assert_eq!(script(&effects), "+stop! abort | CANCEL_TOOLS");
    other.abort("esc", 4);
    let error = other.decide(&key(0), Decision::Once, 5).unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidState);
}

#[test]
fn a_held_call_does_not_stop_its_sibling_and_a_denial_is_read_by_the_model() {
    let mut machine = begun();
    finish(&mut machine, 1, &["bash", "read"]);
    assert_eq!(script(&hold(&mut machine, 0)), "+held! approval_requested PREPARE1");
    assert_eq!(script(&allow(&mut machine, 1)), "+call! tool_execution_start RUN1");
    assert_eq!(script(&done(&mut machine, 1)), "tool_execution_end +result1");
    let deny = Decision::Deny { message: Some("use make".into()) };
    let (_, effects) = machine.decide(&key(0), deny, 4).unwrap();
    assert_eq!(
        script(&effects),
        "approval_resolved tool_execution_start tool_execution_end +denied+result0x END_STEP \
         turn_start REQUEST2"
    );
}

#[test]
fn a_session_decision_is_remembered() {
    let mut machine = begun();
    finish(&mut machine, 1, &["bash"]);
    hold(&mut machine, 0);
    let (_, effects) = machine.decide(&key(0), Decision::Session, 4).unwrap();
    assert_eq!(script(&effects), "approval_resolved REMEMBER +call! tool_execution_start RUN0");
}

#[test]
fn a_transient_failure_is_tried_again_and_the_streamed_text_is_not_doubled() {
    let mut machine = begun();
    machine.step(Input::Delta { request: 1, delta: Delta::TextStart { index: 0 } }, 2);
    let effects = machine.step(Input::Failed { request: 1, error: transient() }, 3);
    assert_eq!(script(&effects), "message_discarded WAIT1");
    assert_eq!(machine.phase(), Phase::Retry);
    let effects = machine.step(Input::RetryDue { request: 1 }, 4);
    assert_eq!(script(&effects), "retry_attempt_start REQUEST2");
    machine.step(Input::Failed { request: 2, error: transient() }, 5);
    machine.step(Input::RetryDue { request: 2 }, 6);
    let effects = machine.step(Input::Failed { request: 3, error: transient() }, 7);
    assert_eq!(
        script(&effects),
        "+assistant(error) END_STEP error +finished(failed)! END_RUN turn_completed | +notified settled"
    );
}

#[test]
fn a_retry_and_an_abort_in_both_orders() {
    let mut machine = begun();
    machine.step(Input::Failed { request: 1, error: transient() }, 3);
    let mut other = machine.clone();
    let (_, effects) = machine.abort("esc", 4);
    assert_eq!(
        script(&effects),
        format!("+stop! abort | CANCEL_WAIT +assistant(error) END_STEP {CANCELLED}")
    );
    assert_eq!(script(&machine.step(Input::RetryDue { request: 1 }, 5)), "");
    other.step(Input::RetryDue { request: 1 }, 4);
    let (_, effects) = other.abort("esc", 5);
    assert_eq!(
        script(&effects),
        format!("+stop! abort | CANCEL_REQUEST +assistant(aborted) END_STEP {CANCELLED}")
    );
}

#[test]
fn a_server_that_asks_for_more_than_the_cap_is_not_waited_for() {
    let mut machine = begun();
    let error = ProviderError { retry_after: Some(Duration::from_secs(3600)), ..transient() };
    let effects = machine.step(Input::Failed { request: 1, error }, 3);
    assert!(script(&effects).contains("finished(failed)"), "{}", script(&effects));
}

#[test]
fn the_output_limit_runs_no_call_and_the_model_is_told() {
    let mut machine = begun();
    let message = answer(&["write"], StopReason::Length);
    let effects = machine.step(Input::Finished { request: 1, message }, 2);
    assert_eq!(
        script(&effects),
        "+assistant(length) tool_execution_start tool_execution_end +result0x notice END_STEP \
         turn_start REQUEST2"
    );
    let message = answer(&[], StopReason::Length);
    let effects = machine.step(Input::Finished { request: 2, message }, 2);
    assert_eq!(script(&effects), format!("+assistant(length) END_STEP notice {COMPLETED}"));
}

#[test]
fn the_cap_ends_the_turn_with_all_calls_closed() {
    let mut machine = begun();
    machine.limits.max_turns = 1;
    finish(&mut machine, 1, &["bash"]);
    allow(&mut machine, 0);
    assert_eq!(
        script(&done(&mut machine, 0)),
        format!("tool_execution_end +result0 END_STEP notice {COMPLETED}")
    );
}

#[test]
fn the_same_failing_call_three_times_pauses_and_a_success_in_between_does_not() {
    for (failures, pauses) in [([true, true, true], true), ([true, false, true], false)] {
        let mut machine = begun();
        let mut last = String::new();
        for (step, fails) in (1u32..).zip(failures) {
            finish(&mut machine, u64::from(step), &["bash"]);
            allow(&mut machine, 0);
            let outcome = if fails { ToolOutcome::error("no") } else { ToolOutcome::text("yes") };
            let key = CallKey { turn: "t".into(), step, ordinal: 0 };
            last = script(&machine.step(Input::ToolDone { key, outcome, duration_ms: 1 }, 4));
        }
        assert_eq!(last.ends_with(COMPLETED), pauses, "{last}");
    }
}

#[test]
fn when_every_result_asks_to_end_the_turn_ends() {
    let mut machine = begun();
    finish(&mut machine, 1, &["bash"]);
    allow(&mut machine, 0);
    let outcome = ToolOutcome { terminate: true, ..ToolOutcome::text("bye") };
    let effects = machine.step(Input::ToolDone { key: key(0), outcome, duration_ms: 1 }, 4);
    assert_eq!(script(&effects), format!("tool_execution_end +result0 END_STEP {COMPLETED}"));
}

#[test]
fn a_refused_call_gets_its_result_and_its_record_without_running() {
    let mut machine = begun();
    finish(&mut machine, 1, &["bash"]);
    let outcome = ToolOutcome::error("read-only");
    let prepared = Prepared::Refused { outcome, scope: Some("policy") };
    let effects = machine.step(Input::Prepared { ordinal: 0, prepared }, 3);
    assert_eq!(
        script(&effects),
        "tool_execution_start tool_execution_end +denied+result0x END_STEP turn_start REQUEST2"
    );
}

#[test]
fn prompts_are_refused_while_a_turn_runs_and_when_empty() {
    let mut machine = begun();
    let error = machine.begin(Some(vec![Part::text("x")]), fresh()).unwrap_err();
    assert_eq!(error.code, ErrorCode::Busy);
    let error = self::machine().begin(Some(vec![Part::text(" \n")]), fresh()).unwrap_err();
    assert_eq!(error.code, ErrorCode::InvalidArgument);
}

#[test]
fn a_full_disk_at_the_start_leaves_no_turn_and_in_the_middle_ends_it() {
    let failed = || Input::AppendFailed { message: "no space".into() };
    let mut machine = machine();
    machine.begin(Some(vec![Part::text("hi")]), fresh()).unwrap();
    let effects = machine.step(failed(), 2);
    assert_eq!(
        script(&effects),
        "error CANCEL_REQUEST CANCEL_WAIT CANCEL_TOOLS CANCEL_JOB settled"
    );
    assert_eq!(machine.phase(), Phase::Idle);
    let mut machine = begun();
    let effects = machine.step(failed(), 2);
    assert_eq!(
        script(&effects),
        "error CANCEL_REQUEST CANCEL_WAIT CANCEL_TOOLS CANCEL_JOB END_RUN turn_completed settled"
    );
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]
    /// Whatever comes in whatever order: each call gets at most one result, exactly one once the
    /// turn is over, and nothing runs that was not announced.
    #[test]
    fn any_order_of_inputs_leaves_every_call_with_one_result(
        steps in proptest::collection::vec((0u8..10, 0u32..3), 1..60)
    ) {
        let mut machine = begun();
        let mut effects = Vec::new();
        for (what, n) in steps {
            let request = machine.requests;
            let at = n as usize;
            effects.extend(match what {
                0 => finish(&mut machine, request, &["a", "b", "c"][..=at]),
                1 => finish(&mut machine, request, &[]),
                2 | 3 => allow(&mut machine, at),
                4 => hold(&mut machine, at),
                5 => {
                    let key = CallKey { step: machine.step_number(), ..key(n) };
                    let outcome = ToolOutcome::text("done");
                    machine.step(Input::ToolDone { key, outcome, duration_ms: 1 }, 4)
                }
                6 => machine.abort("esc", 5).1,
                7 => machine.step(Input::Failed { request, error: transient() }, 6),
                8 => machine.step(Input::RetryDue { request }, 7),
                _ => machine.begin(Some(vec![Part::text("next")]), fresh()).map_or(Vec::new(), |it| it.1),
            });
        }
        effects.extend(machine.abort("end", 8).1);
        for ordinal in 0..3 {
            let key = CallKey { step: machine.step_number(), ..key(ordinal) };
            let outcome = ToolOutcome::text("done");
            effects.extend(machine.step(Input::ToolDone { key, outcome, duration_ms: 1 }, 9));
        }
        proptest::prop_assert_eq!(machine.phase(), Phase::Idle);
        check_results(&effects)?;
    }
}

fn check_results(effects: &[Effect]) -> Result<(), proptest::test_runner::TestCaseError> {
    let mut open: Vec<u32> = Vec::new();
    for body in effects.iter().flat_map(|effect| match effect {
        Effect::Append { bodies, .. } => bodies.as_slice(),
        _ => &[],
    }) {
        match body {
            Body::Message { message: Message::Assistant(answer), .. } => {
                proptest::prop_assert!(open.is_empty(), "an answer while calls are open");
                open = (0..).take(answer.tool_calls().count()).collect();
            }
            Body::Message { message: Message::ToolResult(_), harness } => {
                let at = harness.as_ref().and_then(|origin| origin.ordinal);
                let position = open.iter().position(|open| Some(*open) == at);
                proptest::prop_assert!(position.is_some(), "a second or stray result");
                position.map(|position| open.remove(position));
            }
            _ => {}
        }
    }
    proptest::prop_assert!(open.is_empty(), "calls without a result: {open:?}");
    Ok(())
}

#[test]
fn a_refused_write_leaves_the_queue_as_the_file_has_it() {
    let mut machine = begun();
    let (reply, _) = machine.enqueue(QueueKind::Steer, "kept".into(), fresh()).unwrap();
    let Reply::Queued { queued } = reply else { panic!("not queued") };
    machine.stored();
    let kept = vec![queued.clone()];
    let refuse = |machine: &mut Machine| {
        machine.step(Input::AppendFailed { message: "disk full".into() }, 5);
        machine.queue.list()
    };
    machine.enqueue(QueueKind::FollowUp, "given back to its sender".into(), fresh()).unwrap();
    assert_eq!(refuse(&mut machine), kept);
    machine.begin(Some(vec![Part::text("would deliver it")]), fresh()).unwrap();
    assert_eq!(refuse(&mut machine), kept);
    machine.abort("user", 5);
    assert_eq!(refuse(&mut machine), kept);
    machine.dequeue(&queued.id).unwrap();
    assert_eq!(refuse(&mut machine), kept);
}
