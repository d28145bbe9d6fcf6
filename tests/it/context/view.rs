//! The repaired request view.

use std::sync::Arc;

use harness_tui::message::{
    AssistantMessage, BashExecution, CustomMessage, Message, Part, StopReason, SummaryMessage,
    ToolCall, ToolResultMessage,
};
use harness_tui::session::{Context, request_view, view};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

fn call(id: &str, arguments: Value) -> Part {
    Part::ToolCall(ToolCall {
        id: id.into(),
        name: "tool".into(),
        arguments,
        ..ToolCall::default()
    })
}

fn calls(ids: &[&str]) -> Message {
    answer(ids.iter().map(|id| call(id, json!({}))).collect(), StopReason::ToolUse)
}

fn answer(content: Vec<Part>, stop_reason: StopReason) -> Message {
    Message::Assistant(AssistantMessage { content, stop_reason, ..AssistantMessage::default() })
}

fn result(id: &str, text: &str) -> Message {
    Message::ToolResult(ToolResultMessage {
        tool_call_id: id.into(),
        tool_name: "tool".into(),
        content: vec![Part::text(text)],
        details: None,
        is_error: false,
        duration_ms: None,
        timestamp: 0,
    })
}

fn user(text: &str) -> Message {
    Message::user(text, 0)
}

/// The view of messages, checked, one word per message.
fn view(messages: Vec<Message>) -> Vec<String> {
    let context = Context {
        messages: messages.into_iter().map(|message| (None, Arc::new(message))).collect(),
        ..Context::default()
    };
    let view = request_view(&context);
    assert_eq!(view::check(&view), Ok(()));
    view.iter()
        .map(|message| match &**message {
            Message::User(_) => format!("user: {}", message.text()),
            Message::Assistant(answer) => {
                let ids: Vec<&str> = answer.tool_calls().map(|call| call.id.as_str()).collect();
                format!("assistant: {}[{}]", message.text(), ids.join(" "))
            }
            Message::ToolResult(result) => {
                let mark = if result.is_error { "!" } else { "" };
                format!("result{mark} {}: {}", result.tool_call_id, message.text())
            }
            other => panic!("never sent: {other:?}"),
        })
        .collect()
}

const UNKNOWN: &str =
    "no result was recorded for this call: its outcome is unknown, look before you repeat it";

#[test]
fn a_call_without_a_result_gets_one_right_after_its_answer() {
    let got = view(vec![user("u"), calls(&["a", "b"]), result("b", "rb"), user("next")]);
    let missing = format!("result! a: {UNKNOWN}");
    assert_eq!(got, ["user: u", "assistant: [a b]", &missing, "result b: rb", "user: next"]);
}

#[test]
fn results_go_in_call_order_whatever_order_they_came_in() {
    let want = ["user: u", "assistant: [a b]", "result a: ra", "result b: rb"];
    assert_eq!(
        view(vec![user("u"), calls(&["a", "b"]), result("a", "ra"), result("b", "rb")]),
        want
    );
    assert_eq!(
        view(vec![user("u"), calls(&["a", "b"]), result("b", "rb"), result("a", "ra")]),
        want
    );
}

#[test]
fn second_and_stray_results_are_left_out() {
    let got = view(vec![
        result("z", "before"),
        user("u"),
        result("z", "no call"),
        calls(&["a"]),
        result("a", "one"),
        result("a", "two"),
        result("z", "wrong id"),
        user("next"),
        result("a", "late"),
    ]);
    assert_eq!(got, ["user: u", "assistant: [a]", "result a: one", "user: next"]);
}

#[test]
fn provider_ids_that_repeat_are_matched_within_their_own_answer() {
    let got = view(vec![
        user("u"),
        calls(&["a", "a"]),
        result("a", "1"),
        result("a", "2"),
        calls(&["a"]),
        result("a", "3"),
    ]);
    let want = [
        "user: u",
        "assistant: [a a]",
        "result a: 1",
        "result a: 2",
        "assistant: [a]",
        "result a: 3",
    ];
    assert_eq!(got, want);
}

#[test]
fn failed_and_aborted_answers_are_left_out_with_their_results() {
    for stop in [StopReason::Error, StopReason::Aborted] {
        let got = view(vec![
            user("u"),
            answer(vec![Part::text("half"), call("a", json!({}))], stop),
            result("a", "r"),
            user("next"),
        ]);
        assert_eq!(got, ["user: u", "user: next"]);
    }
}

#[test]
fn what_stands_between_a_call_and_its_result_goes_behind_the_results() {
    let summary = SummaryMessage { summary: "s".into(), timestamp: 0 };
    let got = view(vec![
        user("u"),
        calls(&["a"]),
        Message::CompactionSummary(summary),
        result("a", "r"),
        user("next"),
    ]);
    assert_eq!(got.len(), 5);
    assert_eq!((got[2].as_str(), got[4].as_str()), ("result a: r", "user: next"));
    assert!(got[3].ends_with("\n\n<summary>\ns\n</summary>"), "{got:?}");
}

#[test]
fn arguments_that_are_no_object_become_one_and_the_result_quotes_them() {
    let odd = || answer(vec![call("a", json!("{\"pa"))], StopReason::ToolUse);
    let quote = "the arguments were no JSON object and were read as {}; they were: {\"pa";
    let got = view(vec![user("u"), odd(), result("a", "r"), odd()]);
    assert_eq!(got[2], format!("result a: r\n{quote}"));
    assert_eq!(got[4], format!("result! a: {UNKNOWN}\n{quote}"));
}

#[test]
fn arguments_that_were_kept_as_text_are_quoted_unless_the_result_did_so() {
    let odd = || {
        let raw_arguments = Some("{\"pa".to_owned());
        let call =
            ToolCall { id: "a".into(), arguments: json!({}), raw_arguments, ..ToolCall::default() };
        answer(vec![Part::ToolCall(call)], StopReason::ToolUse)
    };
    let got =
        view(vec![user("u"), odd(), result("a", "cannot read {\"pa"), odd(), result("a", "no")]);
    assert_eq!(got[2], "result a: cannot read {\"pa");
    assert!(got[4].starts_with("result a: no\nthe arguments were"), "{got:?}");
}

#[test]
fn empty_messages_and_unknown_roles_are_left_out() {
    let thinking =
        Part::Thinking { thinking: "t".into(), thinking_signature: None, redacted: false };
    let got = view(vec![
        user(" \n"),
        user("u"),
        Message::Unknown,
        answer(vec![], StopReason::Stop),
        answer(vec![thinking], StopReason::Length),
        answer(vec![Part::text(""), Part::Unknown, Part::text("a")], StopReason::Stop),
        Message::CompactionSummary(SummaryMessage { summary: String::new(), timestamp: 0 }),
        calls(&["c"]),
        result("c", ""),
    ]);
    assert_eq!(got, ["user: u", "assistant: a[]", "assistant: [c]", "result c: (no output)"]);
}

#[test]
fn a_history_without_its_beginning_gets_one_from_the_user() {
    let got = view(vec![answer(vec![Part::text("a")], StopReason::Stop), user("u")]);
    assert_eq!(
        got,
        ["user: (the beginning of this conversation is missing)", "assistant: a[]", "user: u"]
    );
}

#[test]
fn a_command_reads_as_words_of_the_user_unless_it_is_private() {
    let run = |output: &str, exit_code, cancelled, private| {
        Message::BashExecution(BashExecution {
            command: "ls".into(),
            output: output.into(),
            exit_code,
            cancelled,
            truncated: true,
            full_output_path: Some("/o".into()),
            exclude_from_context: Some(private),
            timestamp: 0,
        })
    };
    let note = "\n\n[Output truncated. Full output: /o]";
    assert_eq!(
        view(vec![
            run("a\n", Some(0), false, false),
            run("", Some(2), false, false),
            run("```", None, true, false),
            run("x", None, false, true),
        ]),
        [
            format!("user: Ran `ls`\n```\na\n```{note}"),
            format!("user: Ran `ls`\n(no output)\n\nCommand exited with code 2{note}"),
            format!("user: Ran `ls`\n````\n```\n````\n\n(command cancelled){note}"),
        ]
    );
}

#[test]
fn messages_that_need_no_change_are_shared() {
    let context = Context {
        messages: [user("u"), calls(&["a"]), result("a", "r")]
            .into_iter()
            .map(|message| (None, Arc::new(message)))
            .collect(),
        ..Context::default()
    };
    let view = request_view(&context);
    for (sent, (_, stored)) in view.iter().zip(&context.messages) {
        assert!(Arc::ptr_eq(sent, stored));
    }
}

#[test]
fn the_check_names_each_broken_rule() {
    let bad = |messages: Vec<Message>| {
        let messages: Vec<Arc<Message>> = messages.into_iter().map(Arc::new).collect();
        view::check(&messages).unwrap_err()
    };
    assert!(bad(vec![calls(&["a"])]).contains("not the user's"));
    assert!(bad(vec![user("u"), calls(&["a"])]).contains("no result at the end"));
    assert!(bad(vec![user("u"), calls(&["a"]), user("v")]).contains("no result before"));
    assert!(bad(vec![user("u"), result("a", "r")]).contains("out of place"));
    assert!(bad(vec![user("")]).contains("empty"));
    assert!(bad(vec![user("u"), Message::Unknown]).contains("never sent"));
    let odd = answer(vec![call("a", json!([]))], StopReason::ToolUse);
    assert!(bad(vec![user("u"), odd]).contains("no object"));
}

mod any_mix {
    use super::*;
    use proptest::prelude::*;

    fn part() -> impl Strategy<Value = Part> {
        prop_oneof![
            "[a ]{0,2}".prop_map(Part::text),
            Just(Part::Unknown),
            Just(Part::Image { data: String::new(), mime_type: String::new() }),
            Just(Part::Image { data: "x".into(), mime_type: "image/png".into() }),
            ("[a ]{0,1}", any::<bool>()).prop_map(|(thinking, redacted)| Part::Thinking {
                thinking,
                thinking_signature: None,
                redacted
            }),
            ("[abc]?", prop_oneof![Just(json!({})), Just(json!("x")), Just(Value::Null)])
                .prop_map(|(id, arguments)| call(&id, arguments)),
        ]
    }

    fn parts() -> impl Strategy<Value = Vec<Part>> {
        prop::collection::vec(part(), 0..4)
    }

    fn message() -> impl Strategy<Value = Message> {
        let stop = prop_oneof![
            Just(StopReason::Stop),
            Just(StopReason::ToolUse),
            Just(StopReason::Error),
            Just(StopReason::Unknown)
        ];
        let summary = |summary| SummaryMessage { summary, timestamp: 0 };
        prop_oneof![
            parts().prop_map(|content| Message::User(harness_tui::message::UserMessage {
                content,
                timestamp: 0
            })),
            (parts(), stop).prop_map(|(content, stop)| answer(content, stop)),
            ("[abc]?", parts()).prop_map(|(id, content)| {
                let Message::ToolResult(result) = result(&id, "") else { unreachable!() };
                Message::ToolResult(ToolResultMessage { content, ..result })
            }),
            parts().prop_map(|content| Message::Custom(CustomMessage {
                custom_type: "x".into(),
                content,
                display: true,
                timestamp: 0
            })),
            "[a ]?".prop_map(move |text| Message::BranchSummary(summary(text))),
            "[a ]?".prop_map(move |text| Message::CompactionSummary(summary(text))),
            Just(Message::Unknown),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn any_history_gives_a_view_that_passes_the_check(messages in prop::collection::vec(message(), 0..16)) {
            let context = Context { messages: messages.into_iter().map(|m| (None, Arc::new(m))).collect(), ..Context::default() };
            prop_assert_eq!(view::check(&request_view(&context)), Ok(()));
        }
    }
}
