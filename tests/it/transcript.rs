//! The transcript as a reader sees it: whole screens, pairing of calls and results, the window.

mod pages;

use std::sync::Arc;

use harness_tui::harness::{CallKey, Event, Failure, HeldCall, RunningCall, TurnStatus};
use harness_tui::message::{
    AssistantMessage, BashExecution, Delta, Display, EntryId, Message, Part, SessionId, StopReason,
    ToolCall, ToolResultMessage, TurnId,
};
use harness_tui::session::{Body, Entry, Origin};
use harness_tui::text::width::swidth;
use harness_tui::ui::highlight::HighlightJob;
use harness_tui::ui::theme::Theme;
use harness_tui::ui::transcript::Transcript;
use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use serde_json::{Value, json};

const DIFF: &str = " 40 fn check() {\n-41   if a == b {\n+41   if a.ct_eq(b) {\n ...\n 99 }";

/// A branch under construction.
#[derive(Default)]
struct Branch {
    entries: Vec<Arc<Entry>>,
}

impl Branch {
    fn body(mut self, body: Body) -> Self {
        let id = EntryId::from(format!("{:08x}", self.entries.len()));
        let timestamp = String::new();
        self.entries.push(Arc::new(Entry { id, parent_id: None, timestamp, body }));
        self
    }

    fn message(self, message: Message) -> Self {
        self.body(Body::Message { message, harness: None })
    }

    fn user(self, text: &str) -> Self {
        self.message(Message::user(text, 0))
    }

    fn answer(self, content: Vec<Part>) -> Self {
        self.message(answer(content))
    }

    fn result(self, id: &str, text: &str, details: Value) -> Self {
        self.message(Message::ToolResult(result(id, text, details)))
    }

    fn open(&self) -> Transcript {
        let mut transcript = Transcript::new();
        transcript.load(&self.entries);
        transcript
    }
}

fn answer(content: Vec<Part>) -> Message {
    Message::Assistant(AssistantMessage { content, ..AssistantMessage::default() })
}

fn call(id: &str, name: &str, arguments: Value) -> Part {
    Part::ToolCall(ToolCall { id: id.into(), name: name.into(), arguments, ..ToolCall::default() })
}

fn thinking(text: &str) -> Part {
    Part::Thinking { thinking: text.into(), thinking_signature: None, redacted: false }
}

fn result(id: &str, text: &str, details: Value) -> ToolResultMessage {
    ToolResultMessage {
        tool_call_id: id.into(),
        tool_name: "tool".into(),
        content: vec![Part::text(text)],
        is_error: details.get("failed").is_some(),
        details: Some(details),
        duration_ms: Some(2),
        timestamp: 0,
    }
}

fn text(lines: &[Line<'_>]) -> Vec<String> {
    lines.iter().map(|line| line.to_string().trim_end().to_owned()).collect()
}

fn screen(transcript: &mut Transcript, width: u16, height: u16) -> Vec<String> {
    transcript.layout(width, height, &Theme::default());
    assert!(transcript.visible().len() <= usize::from(height));
    // Measured by us and painted by the screen library, a line must end in the same column.
    let mut painted = Buffer::empty(Rect::new(0, 0, 300, 1));
    for line in transcript.visible() {
        let cells: usize = line.spans.iter().map(|span| swidth(&span.content)).sum();
        assert!(cells <= usize::from(width.max(1)), "{cells} > {width}: {line:?}");
        assert_eq!(usize::from(painted.set_line(0, 0, line, 300).0), cells, "{line:?}");
    }
    text(transcript.visible())
}

fn conversation() -> Branch {
    Branch::default()
        .body(Body::ModelChange { provider: "p".into(), model_id: "m".into() })
        .user("fix the login bug")
        .answer(vec![
            thinking("where is it?\nin auth.rs"),
            Part::text("The check compares hashes with `==`, so timing tells."),
            call("1", "read", json!({"path": "src/auth.rs"})),
            call("2", "edit", json!({"path": "src/auth.rs", "edits": []})),
            call("3", "bash", json!({"command": "cargo test"})),
        ])
        .result("1", &"line\n".repeat(120), json!({}))
        .result("2", "edited", json!({"diff": DIFF}))
        .result(
            "3",
            "\u{1b}[32mok\u{1b}[0m 1\nok 2\nFAILED 3\n",
            json!({"exitCode": 101, "failed": true}),
        )
        .answer(vec![Part::text("Two tests pass.")])
}

#[test]
fn a_conversation_reads_like_the_design() {
    assert_eq!(
        screen(&mut conversation().open(), 48, 40),
        [
            "▌fix the login bug",
            "",
            "▸ thinking · 2 lines",
            "",
            "The check compares hashes with ==, so timing",
            "tells.",
            "",
            "▸ read src/auth.rs              120 lines · 2 ms",
            "▾ edit src/auth.rs                  +1 −1 · 2 ms",
            "  40   fn check() {",
            "  41 -   if a == b {",
            "  41 +   if a.ct_eq(b) {",
            "       ...",
            "  99   }",
            "✘ bash cargo test      3 lines · exit 101 · 2 ms",
            "  ok 1",
            "  ok 2",
            "  FAILED 3",
            "",
            "Two tests pass.",
        ]
    );
}

#[test]
fn folds_go_from_preview_over_full_to_one_line() {
    let mut transcript = conversation().open();
    transcript.toggle_tools();
    transcript.toggle_thinking();
    let full = screen(&mut transcript, 48, 400);
    assert!(full.contains(&"where is it? in auth.rs".into()));
    assert_eq!(full.iter().filter(|line| *line == "  line").count(), 120);
    transcript.toggle_tools();
    transcript.toggle_thinking();
    let collapsed = screen(&mut transcript, 48, 400);
    assert_eq!(collapsed.len(), 12);
    transcript.toggle_tools();
    assert_eq!(screen(&mut transcript, 48, 400).len(), 20);
}

/// A branch with one of each kind that is no plain message.
fn other_kinds() -> Branch {
    let shell = BashExecution {
        command: "ls -l".into(),
        output: "a\nb\n".into(),
        exit_code: Some(0),
        cancelled: false,
        truncated: false,
        full_output_path: None,
        exclude_from_context: None,
        timestamp: 0,
    };
    let failed = AssistantMessage {
        stop_reason: StopReason::Error,
        error_message: Some("the server\u{1b}[2J said 529".into()),
        ..AssistantMessage::default()
    };
    Branch::default()
        .user("hi")
        .message(Message::BashExecution(shell))
        .body(Body::Compaction {
            summary: "# Goal\nship".into(),
            first_kept_entry_id: None,
            tokens_before: 1200,
            details: None,
            usage: None,
            from_hook: None,
            retained_tail: None,
        })
        .body(Body::CustomMessage {
            custom_type: "x".into(),
            content: vec![Part::text("from a program")],
            display: true,
            details: None,
        })
        .body(Body::CustomMessage {
            custom_type: "x".into(),
            content: vec![Part::text("hidden")],
            display: false,
            details: None,
        })
        .message(Message::Assistant(failed))
}

#[test]
fn other_kinds_have_their_cards() {
    let mut transcript = other_kinds().open();
    let error = Failure {
        kind: "rate_limited",
        message: "too many requests".into(),
        retryable: true,
        advice: "Wait a minute.".into(),
    };
    assert_eq!(
        screen(&mut transcript, 40, 40),
        [
            "▌hi",
            "",
            "▾ ! ls -l                        2 lines",
            "  a",
            "  b",
            "",
            "▸ compaction · was 1200 tokens   2 lines",
            "",
            "▎from a program",
            "",
            "✘ error: the server␛[2J said 529",
        ]
    );
    assert!(transcript.apply(&Event::Error { error }));
    assert_eq!(
        screen(&mut transcript, 60, 40)[10..],
        [
            "✘ error · rate limited: too many requests",
            "  Wait a minute. Asking again may help: /retry",
        ]
    );
}

fn key(ordinal: u32) -> CallKey {
    CallKey { turn: TurnId::from("t"), step: 1, ordinal }
}

fn update(delta: Delta) -> Event {
    Event::MessageUpdate { assistant_message_event: delta }
}

fn end(message: Message, entry: &str) -> Event {
    Event::MessageEnd { message: Arc::new(message), entry: EntryId::from(entry) }
}

fn start_turn(transcript: &mut Transcript) {
    let (session, turn) = (SessionId::from("s"), TurnId::from("t"));
    transcript.apply(&Event::TurnStarted { session, turn });
    transcript.apply(&Event::TurnStart { step: 1, max: 0 });
    transcript.apply(&end(Message::user("go", 0), "u"));
    transcript.apply(&Event::MessageStart { message: Arc::new(answer(vec![])) });
}

fn stream_call(transcript: &mut Transcript) {
    for delta in [
        Delta::ToolcallStart { index: 0, id: "1".into(), name: "bash".into() },
        Delta::ToolcallDelta { index: 0, delta: "{\"command\":\"ma".into() },
        Delta::ToolcallDelta { index: 0, delta: "ke\"}".into() },
    ] {
        transcript.apply(&update(delta));
    }
}

fn held() -> HeldCall {
    HeldCall {
        key: key(0),
        tool: "bash".into(),
        arguments: json!({}),
        summary: "make".into(),
        reason: String::new(),
        hash: String::new(),
        preview: Some(Display::Diff { diff: "+1 x".into(), first_changed_line: None }),
        session_rule: String::new(),
        since: 0,
    }
}

#[test]
fn a_call_is_followed_from_its_first_letter_to_its_result() {
    let mut transcript = Transcript::new();
    start_turn(&mut transcript);
    stream_call(&mut transcript);
    let last = |transcript: &mut Transcript| screen(transcript, 40, 20).split_off(2);
    assert_eq!(last(&mut transcript), ["▶ bash                           writing"]);
    transcript.apply(&update(Delta::ToolcallEnd { index: 0 }));
    assert_eq!(last(&mut transcript), ["▸ bash make                      waiting"]);
    let content = vec![call("1", "bash", json!({"command": "make"}))];
    transcript.apply(&end(answer(content), "a"));
    transcript.apply(&Event::ApprovalRequested { held: Arc::new(held()) });
    assert_eq!(last(&mut transcript), ["‖ bash make                  +1 −0  held", "  1 + x"]);
    transcript.apply(&Event::ApprovalResolved { key: key(0), allowed: true });
    transcript.apply(&Event::ToolExecutionStart {
        key: key(0),
        tool_call_id: "1".into(),
        tool_name: "bash".into(),
        args: json!({}),
        summary: "make all".into(),
    });
    let partial_result: Arc<str> = (0..9).map(|n| format!("{n}\n")).collect::<String>().into();
    transcript.apply(&Event::ToolExecutionUpdate { key: key(0), partial_result });
    assert_eq!(
        last(&mut transcript),
        ["▶ bash make all                  running", "  4", "  5", "  6", "  7", "  8"]
    );
    let done = result("1", "8", json!({"exitCode": 0}));
    transcript.apply(&Event::ToolExecutionEnd {
        key: key(0),
        tool_call_id: "1".into(),
        tool_name: "bash".into(),
        result: Arc::new(done.clone()),
        is_error: false,
    });
    let finished = ["▾ bash make all            1 line · 2 ms", "  8"];
    assert_eq!(last(&mut transcript), finished);
    transcript.apply(&end(Message::ToolResult(done.clone()), "r"));
    assert_eq!(last(&mut transcript), finished);
    let harness = Some(Origin {
        turn: Some("t".into()),
        step: Some(1),
        ordinal: Some(0),
        ..Origin::default()
    });
    let entry = Entry {
        id: "r".into(),
        parent_id: None,
        timestamp: String::new(),
        body: Body::Message { message: Message::ToolResult(done), harness },
    };
    assert!(!transcript.apply(&Event::EntryAppended { entry: Arc::new(entry) }));
    assert_eq!(last(&mut transcript), finished);
}

#[test]
fn results_find_their_calls_by_key_when_ids_repeat() {
    let origin = |step, ordinal| {
        Some(Origin { turn: Some("t".into()), step: Some(step), ordinal, ..Origin::default() })
    };
    let message = |message, harness| Body::Message { message, harness };
    let asks = |name: &str| answer(vec![call("same", name, json!({}))]);
    let told = |text: &str| Message::ToolResult(result("same", text, json!({})));
    let mut transcript = Branch::default()
        .body(message(asks("first"), origin(1, None)))
        .body(message(asks("second"), origin(2, None)))
        .body(message(told("1\n2\n3"), origin(1, Some(0))))
        .open();
    assert_eq!(
        screen(&mut transcript, 40, 9),
        ["▸ first                   3 lines · 2 ms", "▸ second                       no result"]
    );
    let mut transcript = Branch::default()
        .body(message(asks("first"), None))
        .body(message(asks("second"), None))
        .body(message(told("1\n2\n3"), None))
        .open();
    assert_eq!(
        screen(&mut transcript, 40, 9),
        ["▸ first                        no result", "▸ second                  3 lines · 2 ms"]
    );
}

#[test]
fn a_discarded_answer_leaves_nothing_and_a_cancelled_one_its_text() {
    let mut transcript = Transcript::new();
    start_turn(&mut transcript);
    stream_call(&mut transcript);
    assert!(transcript.apply(&Event::MessageDiscarded));
    assert_eq!(screen(&mut transcript, 40, 9), ["▌go"]);
    transcript.apply(&Event::MessageStart { message: Arc::new(answer(vec![])) });
    transcript.apply(&update(Delta::TextStart { index: 0 }));
    transcript.apply(&update(Delta::TextDelta { index: 0, delta: "half".into() }));
    let cut = AssistantMessage {
        content: vec![Part::text("half")],
        stop_reason: StopReason::Aborted,
        ..AssistantMessage::default()
    };
    transcript.apply(&end(Message::Assistant(cut), "a"));
    transcript.apply(&Event::TurnCompleted {
        session: SessionId::from("s"),
        turn: TurnId::from("t"),
        status: TurnStatus::Cancelled,
        result: None,
        error: None,
        reason: Some("aborted".into()),
    });
    assert_eq!(screen(&mut transcript, 40, 9), ["▌go", "", "half", "", "· stopped"]);
    assert_eq!(transcript.last_answer(), Some("half".into()));
}

#[test]
fn a_reader_that_joins_late_goes_on_with_what_had_streamed() {
    let mut transcript = Branch::default().user("go").open();
    transcript.resume_partial(&[thinking("hm"), Part::text("one ")]);
    transcript.apply(&update(Delta::TextDelta { index: 1, delta: "two".into() }));
    assert_eq!(screen(&mut transcript, 40, 9)[4..], ["one two"]);
    let mut transcript =
        Branch::default().answer(vec![call("1", "bash", json!({"command": "make"}))]).open();
    assert_eq!(screen(&mut transcript, 40, 9), ["▸ bash make                    no result"]);
    transcript.resume_held(&[Arc::new(held())]);
    assert_eq!(screen(&mut transcript, 40, 9)[0], "‖ bash make                  +1 −0  held");
    let output = Arc::from("out");
    let call =
        RunningCall { key: key(0), tool: "bash".into(), summary: String::new(), output, since: 0 };
    transcript.resume_running(&[call]);
    assert_eq!(
        screen(&mut transcript, 40, 9),
        ["▶ bash make                      running", "  out"]
    );
}

#[test]
fn a_stored_result_before_the_end_of_its_execution_is_the_same_card() {
    let mut transcript =
        Branch::default().answer(vec![call("1", "bash", json!({"command": "make"}))]).open();
    let done = result("1", "8", json!({"exitCode": 0}));
    assert!(transcript.apply(&end(Message::ToolResult(done.clone()), "r")));
    let finished = screen(&mut transcript, 40, 9);
    assert!(!transcript.apply(&Event::ToolExecutionEnd {
        key: key(0),
        tool_call_id: "1".into(),
        tool_name: "bash".into(),
        result: Arc::new(done),
        is_error: false,
    }));
    assert_eq!(screen(&mut transcript, 40, 9), finished);
}

fn long(prompts: usize) -> Branch {
    (0..prompts).fold(Branch::default(), |branch, n| {
        branch.user(&format!("prompt {n}")).answer(vec![Part::text(format!("answer {n}\n\nmore"))])
    })
}

#[test]
fn the_window_follows_the_end_until_the_reader_goes_up() {
    let mut transcript = long(9).open();
    assert_eq!(screen(&mut transcript, 20, 3), ["answer 8", "", "more"]);
    transcript.scroll(-1);
    assert_eq!(screen(&mut transcript, 20, 3), ["", "answer 8", ""]);
    assert!(!transcript.following() && !transcript.new_below());
    transcript.apply(&Event::Notice { text: "news".into() });
    assert_eq!(screen(&mut transcript, 20, 3), ["", "answer 8", ""]);
    assert!(transcript.new_below());
    transcript.scroll(100);
    assert_eq!(screen(&mut transcript, 20, 3), ["more", "", "· news"]);
    assert!(transcript.following() && !transcript.new_below());
    transcript.to_top();
    assert_eq!(screen(&mut transcript, 20, 3), ["▌prompt 0", "", "answer 0"]);
    transcript.page(1);
    assert_eq!(screen(&mut transcript, 20, 3), ["answer 0", "", "more"]);
    transcript.scroll(-100);
    assert_eq!(screen(&mut transcript, 20, 3), ["▌prompt 0", "", "answer 0"]);
}

#[test]
fn prompts_can_be_visited_in_both_directions() {
    let mut transcript = long(4).open();
    screen(&mut transcript, 20, 4);
    for n in [3, 2, 1, 0, 0] {
        transcript.previous_prompt();
        assert_eq!(screen(&mut transcript, 20, 4)[0], format!("▌prompt {n}"));
    }
    transcript.next_prompt();
    transcript.next_prompt();
    assert_eq!(screen(&mut transcript, 20, 4)[0], "▌prompt 2");
    transcript.next_prompt();
    transcript.next_prompt();
    assert_eq!(screen(&mut transcript, 20, 4)[3], "more");
    assert!(transcript.following());
}

#[test]
fn a_resize_keeps_the_anchor_and_shows_what_a_fresh_start_shows() {
    let mut transcript = long(40).open();
    screen(&mut transcript, 40, 12);
    for _ in 0..10 {
        transcript.previous_prompt();
    }
    let before = screen(&mut transcript, 40, 12);
    for (width, height) in [(7, 3), (200, 50), (1, 1), (3, 2), (0, 0), (37, 12)] {
        screen(&mut transcript, width, height);
    }
    assert_eq!(screen(&mut transcript, 40, 12), before);
    transcript.to_bottom();
    screen(&mut transcript, 9, 5);
    assert_eq!(screen(&mut transcript, 40, 12), screen(&mut long(40).open(), 40, 12));
}

#[test]
fn a_hundred_thousand_blocks_are_not_laid_out_to_be_shown() {
    // One entry that would take long to lay out, shared by all: only those on screen may be.
    let heavy: String = (0..2000).map(|n| format!("- item **{n}**\n")).collect();
    let seed = Branch::default().user("go").answer(vec![Part::text(heavy)]);
    let mut entries = Vec::new();
    for _ in 0..50_000 {
        entries.extend(seed.entries.iter().cloned());
    }
    let mut transcript = Transcript::new();
    transcript.load(&entries);
    assert_eq!(screen(&mut transcript, 80, 2), ["• item 1998", "• item 1999"]);
    transcript.to_top();
    assert_eq!(screen(&mut transcript, 80, 3), ["▌go", "", "• item 0"]);
    transcript.next_prompt();
    assert_eq!(screen(&mut transcript, 80, 3), ["▌go", "", "• item 0"]);
}

#[test]
fn code_is_coloured_when_its_job_is_done_and_a_theme_without_colour_has_none() {
    let mut transcript =
        Branch::default().answer(vec![Part::text("```rust\nfn main() {}\n```\n")]).open();
    assert_eq!(screen(&mut transcript, 30, 9), ["rust", "  fn main() {}"]);
    let jobs = transcript.take_jobs();
    assert_eq!(jobs.len(), 1);
    jobs.into_iter().map(HighlightJob::run).for_each(|done| transcript.highlighted(done));
    screen(&mut transcript, 30, 9);
    let keyword = Theme::default().syntax.keyword;
    assert!(transcript.visible()[1].spans.iter().any(|span| span.style == keyword));
    assert!(transcript.take_jobs().is_empty());
    let mut transcript = conversation().open();
    transcript.layout(60, 40, &Theme::default().without_color().with_ascii(true));
    for span in transcript.visible().iter().flat_map(|line| &line.spans) {
        assert_eq!((span.style.fg, span.style.bg), (None, None));
    }
    assert!(text(transcript.visible()).concat().is_ascii());
}

/// Words, marks and hostile text.
fn words() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "word ",
        "日本語 ",
        "\n",
        "\n\n",
        "- ",
        "```sh\n",
        "```\n",
        "| a | b |\n|---|---|\n",
        "**",
        "👨\u{200d}👩",
        "\u{1b}[31m",
        "\r",
        "\t",
        "longlonglonglonglong",
        "> ",
        "e\u{301}",
    ]);
    prop::collection::vec(pieces, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn any_text_in_any_place_holds_the_width(text in words(), width in 1u16..120, height in 0u16..30) {
        let mut transcript = Branch::default()
            .user(&text)
            .answer(vec![
                thinking(&text),
                Part::text(text.as_str()),
                call("1", &text, json!({"command": text})),
                call("2", "edit", json!({})),
                call("3", "ls", json!({})),
            ])
            .result("1", &text, json!({"exitCode": 1}))
            .result("2", "", json!({"diff": text}))
            .result("3", &text, json!({"failed": true}))
            .open();
        transcript.apply(&Event::Notice { text: text.clone() });
        for _ in 0..3 {
            screen(&mut transcript, width, height);
            transcript.scroll(-7);
            for line in screen(&mut transcript, width, height) {
                prop_assert!(!line.chars().any(char::is_control));
            }
            transcript.toggle_tools();
            transcript.toggle_thinking();
        }
    }

    #[test]
    fn what_streams_ends_as_what_is_loaded(
        first in words(), second in words(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let content = vec![thinking(&first), Part::text(second.as_str())];
        let mut streamed = Transcript::new();
        start_turn(&mut streamed);
        streamed.apply(&update(Delta::ThinkingStart { index: 0 }));
        streamed.apply(&update(Delta::TextStart { index: 1 }));
        for (index, text) in [(0, &first), (1, &second)] {
            let mut ends: Vec<usize> =
                cuts.iter().map(|cut| text.floor_char_boundary(cut.index(text.len() + 1))).collect();
            ends.push(text.len());
            ends.sort_unstable();
            let mut from = 0;
            for end in ends {
                let delta = text[from..end].to_owned();
                from = end;
                streamed.apply(&update(if index == 0 {
                    Delta::ThinkingDelta { index, delta }
                } else {
                    Delta::TextDelta { index, delta }
                }));
                screen(&mut streamed, 30, 50);
            }
        }
        streamed.apply(&end(answer(content.clone()), "a"));
        streamed.layout(30, 50, &Theme::default());
        let mut loaded = Branch::default().user("go").answer(content).open();
        loaded.layout(30, 50, &Theme::default());
        prop_assert_eq!(streamed.visible(), loaded.visible());
    }
}

/// What can happen to a transcript, in any order and with any ids.
#[derive(Debug, Clone)]
enum Step {
    Event(Box<Event>),
    Scroll(i32),
    Tools,
    Thinking,
    Previous,
    Next,
    Top,
    Bottom,
    Screen(u16, u16),
}

fn any_delta() -> impl Strategy<Value = Delta> {
    (0usize..3, words(), 0..8).prop_map(|(index, delta, which)| match which {
        0 => Delta::TextStart { index },
        1 => Delta::ThinkingStart { index },
        2 => Delta::ToolcallStart { index, id: index.to_string(), name: delta },
        3 => Delta::ToolcallDelta { index, delta },
        4 => Delta::ToolcallEnd { index },
        5 => Delta::ThinkingEnd { index, signature: None, redacted: true },
        6 => Delta::ThinkingDelta { index, delta },
        _ => Delta::TextDelta { index, delta },
    })
}

fn any_tool_event() -> impl Strategy<Value = Event> {
    (0u32..3, words(), 0..5).prop_map(|(n, text, which)| match which {
        0 => Event::ToolExecutionStart {
            key: key(n),
            tool_call_id: n.to_string(),
            tool_name: text.clone(),
            args: json!({}),
            summary: text,
        },
        1 => Event::ToolExecutionUpdate { key: key(n), partial_result: text.into() },
        2 => Event::ApprovalRequested { held: Arc::new(held()) },
        3 => Event::ApprovalResolved { key: key(n), allowed: false },
        _ => Event::ToolExecutionEnd {
            key: key(n),
            tool_call_id: n.to_string(),
            tool_name: text.clone(),
            result: Arc::new(result(&n.to_string(), &text, json!({"exitCode": n}))),
            is_error: false,
        },
    })
}

fn any_event() -> impl Strategy<Value = Event> {
    let message = (0u32..3, words(), "[a-f]", 0..4).prop_map(|(n, text, entry, which)| {
        let message = match which {
            0 => Message::user(text, 0),
            1 => answer(vec![Part::text(text), call(&n.to_string(), "ls", json!({}))]),
            2 => answer(vec![call(&n.to_string(), "ls", json!({}))]),
            _ => Message::ToolResult(result(&n.to_string(), &text, json!({"diff": text}))),
        };
        end(message, &entry)
    });
    let begin = Just(Event::MessageStart { message: Arc::new(answer(vec![])) });
    let notice = words().prop_map(|text| Event::Notice { text });
    prop_oneof![
        6 => any_delta().prop_map(update),
        4 => any_tool_event(),
        3 => message,
        1 => begin,
        1 => notice,
        1 => Just(Event::MessageDiscarded),
    ]
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => any_event().prop_map(|event| Step::Event(Box::new(event))),
        2 => (-40i32..40).prop_map(Step::Scroll),
        1 => Just(Step::Tools),
        1 => Just(Step::Thinking),
        1 => Just(Step::Previous),
        1 => Just(Step::Next),
        1 => Just(Step::Top),
        1 => Just(Step::Bottom),
        4 => (0u16..60, 0u16..20).prop_map(|(width, height)| Step::Screen(width, height)),
    ]
}

fn take(transcript: &mut Transcript, step: &Step) {
    match step {
        Step::Event(event) => {
            transcript.apply(event);
        }
        Step::Scroll(rows) => transcript.scroll(*rows),
        Step::Tools => transcript.toggle_tools(),
        Step::Thinking => transcript.toggle_thinking(),
        Step::Previous => transcript.previous_prompt(),
        Step::Next => transcript.next_prompt(),
        Step::Top => transcript.to_top(),
        Step::Bottom => transcript.to_bottom(),
        Step::Screen(width, height) => {
            screen(transcript, *width, *height);
            let jobs = transcript.take_jobs();
            jobs.into_iter().map(HighlightJob::run).for_each(|done| transcript.highlighted(done));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 128, ..ProptestConfig::default() })]
    #[test]
    fn whatever_happened_nothing_stale_is_shown(steps in prop::collection::vec(any_step(), 0..40)) {
        let (mut used, mut fresh) = (Transcript::new(), Transcript::new());
        for step in &steps {
            take(&mut used, step);
            // The fresh one hears the same but is never laid out before the end.
            if matches!(step, Step::Event(_) | Step::Tools | Step::Thinking) {
                take(&mut fresh, step);
            }
        }
        used.to_bottom();
        fresh.to_bottom();
        prop_assert_eq!(screen(&mut used, 33, 200), screen(&mut fresh, 33, 200));
    }
}
