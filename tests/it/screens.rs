//! Whole screens at three sizes, and every screen at every size without a panic.

use std::sync::Arc;

use harness_tui::harness::{Event, Failure, QueueKind, Waiting};
use harness_tui::message::{Display, SessionId};
use harness_tui::ui::action::Action;
use harness_tui::ui::chord::Chord;
use harness_tui::ui::keymap::TABLE;
use proptest::prelude::*;
use serde_json::json;

use crate::support::ui::{Ui, chords, held, key, queued, snapshot};

const SIZES: [(u16, u16); 3] = [(160, 45), (100, 30), (80, 24)];

/// A screen at the three sizes as snapshots, each with a fact in words; then at sizes where only
/// "no panic" and "no row too wide" count.
fn check(name: &str, build: impl Fn(&mut Ui), fact: impl Fn(&str) -> bool) {
    for (columns, rows) in SIZES {
        let mut ui = Ui::new(columns, rows);
        build(&mut ui);
        let screen = ui.screen();
        assert!(fact(&screen), "{name} at {columns}x{rows}:\n{screen}");
        assert_eq!(ui.screen(), screen, "drawing twice is equal");
        insta::assert_snapshot!(format!("{name}_{columns}x{rows}"), screen);
        for (columns, rows) in [(40, 12), (20, 5), (1, 1), (0, 0), (3, 2), (300, 2), (2, 100)] {
            ui.resize(columns, rows);
        }
        ui.resize(columns, rows);
        assert_eq!(ui.screen(), screen, "growing again restores all");
    }
}

fn conversation(ui: &mut Ui) {
    ui.turn().user("fix the login bug");
}

fn tool(ui: &mut Ui) {
    conversation(ui);
    ui.runs(0, "read", "src/auth.rs", json!({"path": "src/auth.rs"}));
    ui.runs(1, "bash", "cargo test", json!({"command": "cargo test"})).wait(3_000);
    let output = "test auth::ok ... ok\ntest auth::bad ... FAILED\n";
    ui.event(Event::ToolExecutionUpdate { key: key(1), partial_result: output.into() });
}

fn approval(ui: &mut Ui) {
    conversation(ui);
    let diff = " 41     fn accepts_good_password() {\n+42     #[test]\n+43     fn rejects() {\n";
    let preview = Display::Diff { diff: diff.into(), first_changed_line: Some(42) };
    ui.event(Event::ApprovalRequested { held: held(0, "edit", "tests/auth.rs", preview) });
    ui.keys("also make sure the error text");
}

fn failure() -> Failure {
    Failure {
        kind: "rate_limited",
        message: "the provider answered 429: too many requests".into(),
        retryable: true,
        advice: "wait a minute, then /retry".into(),
    }
}

#[test]
fn the_welcome_names_the_demo_and_where_help_is() {
    check(
        "welcome",
        |_| {},
        |screen| screen.contains("offline demo") && screen.contains("run cargo --version"),
    );
}

#[test]
fn a_streaming_answer_shows_what_has_arrived_and_that_more_comes() {
    let build = |ui: &mut Ui| {
        conversation(ui);
        ui.answering().text("The check compares hashes with `==`, so ").wait(2_000);
    };
    check("streaming", build, |screen| {
        screen.contains("The check compares hashes") && screen.contains("working 2s · step 1/200")
    });
}

#[test]
fn waiting_says_for_whom_and_how_long() {
    let mut ui = Ui::new(80, 24);
    conversation(&mut ui);
    let waiting = Waiting::FirstByte;
    ui.event(Event::RequestWaiting { waiting, model: "anthropic/sonnet".into() }).wait(4_000);
    assert!(ui.screen().contains("waiting for sonnet 4s · step 1/200"));
}

#[test]
fn a_running_tool_shows_its_output_as_it_comes() {
    check("tool", tool, |screen| screen.contains("running 2 tools 3s"));
    let mut ui = Ui::new(100, 30);
    tool(&mut ui);
    assert!(ui.screen().contains("test auth::bad ... FAILED"), "the dock opened by itself");
}

#[test]
fn an_approval_stands_beside_an_untouched_draft() {
    check("approval", approval, |screen| {
        screen.contains("1 of 1")
            && screen.contains("> also make sure the error text")
            && screen.contains("held ")
    });
}

#[test]
fn a_focused_approval_shows_its_keys() {
    let mut ui = Ui::new(80, 24);
    approval(&mut ui);
    ui.keys("<ctrl+x>g");
    let screen = ui.screen();
    assert!(screen.contains("y once  s session  n no  m no, because…  x stop"), "{screen}");
    assert!(!screen.contains("always"));
}

#[test]
fn a_card_says_what_the_session_would_allow() {
    let mut ui = Ui::new(80, 24);
    let mut call = (*held(0, "bash", "ls", Display::Text("ls".into()))).clone();
    call.session_rule = "bash ls *".into();
    ui.turn().event(Event::ApprovalRequested { held: call.into() });
    assert!(ui.screen().contains("s allows until the session ends: bash ls *"));
}

#[test]
fn what_was_noticed_while_opening_stands_under_the_welcome() {
    let mut ui = Ui::new(80, 24);
    let mut opened = snapshot();
    opened.notices = vec!["config: unknown key thme".into()];
    ui.act(Action::Joined(Box::new(opened)));
    let screen = ui.screen();
    assert!(screen.contains("Welcome") && screen.contains("unknown key thme"), "{screen}");
    ui.turn().user("hi");
    assert!(!ui.screen().contains("Welcome"));
}

#[test]
fn help_shows_the_real_keys() {
    check("help", |ui| _ = ui.keys("<f1>"), |screen| screen.contains("alt+enter · ctrl+x f"));
}

#[test]
fn help_holds_every_action_and_scrolls_to_the_last() {
    let mut ui = Ui::new(120, 200);
    let screen = ui.keys("<f1>").screen();
    for row in TABLE {
        assert!(screen.contains(row.title), "{}", row.name);
    }
    let mut ui = Ui::new(80, 24);
    assert!(ui.keys("<f1>G").screen().contains("/quit"));
}

#[test]
fn the_leader_menu_offers_every_leader_key() {
    let mut ui = Ui::new(80, 45);
    let screen = ui.keys("<ctrl+x>").screen();
    for row in TABLE.iter().filter(|row| !row.leader.is_empty()) {
        let title: String = row.title.chars().take(20).collect();
        assert!(screen.contains(&title), "{title}\n{screen}");
    }
}

#[test]
fn the_queue_strip_shows_what_waits() {
    let build = |ui: &mut Ui| {
        conversation(ui);
        ui.event(Event::QueueUpdate {
            queue: vec![
                queued("1", QueueKind::Steer, "keep the API"),
                queued("2", QueueKind::FollowUp, "then the changelog"),
            ],
        });
    };
    check("queue", build, |screen| screen.contains("↳ steer \"keep the API\""));
}

#[test]
fn an_error_says_what_failed_and_what_to_do() {
    let build = |ui: &mut Ui| {
        conversation(ui);
        ui.event(Event::Error { error: failure() }).event(Event::Settled);
    };
    check("error", build, |screen| screen.contains("429") && screen.contains("/retry"));
}

#[test]
fn the_palette_finds_by_words() {
    let build = |ui: &mut Ui| _ = ui.keys("<ctrl+p>level thinking");
    check("palette", build, |screen| screen.contains("next thinking level"));
}

#[test]
fn a_retry_counts_down() {
    let mut ui = Ui::new(80, 24);
    conversation(&mut ui);
    let error = failure();
    ui.event(Event::RetryScheduled { attempt: 2, max_attempts: 5, delay_ms: 5_000, error });
    assert!(ui.wait(2_000).screen().contains("retry 2/5 in 3s"));
}

#[test]
fn what_scrolls_away_is_marked_below() {
    let mut ui = Ui::new(80, 24);
    conversation(&mut ui);
    ui.answering();
    for number in 0..60 {
        ui.text(&format!("line {number}\n\n"));
    }
    ui.screen();
    ui.keys("<pgup>").text("more\n\n");
    assert!(ui.screen().contains("new below"));
    assert!(!ui.keys("<ctrl+end>").screen().contains("new below"));
}

#[test]
fn hostile_names_and_models_stay_text() {
    let mut ui = Ui::new(80, 24);
    let mut hostile = snapshot();
    hostile.name = Some("\u{1b}[31mred\n\u{202e}name".into());
    hostile.model = format!("x/{}", "\u{1b}]0;title\u{7}".repeat(200));
    hostile.session = SessionId::from("../../x");
    ui.act(Action::Joined(Box::new(hostile)));
    let call = held(0, "bash\u{1b}", "ls\r\u{1b}[2K", Display::Text("ls\u{202e}\r; rm".into()));
    ui.turn().event(Event::ApprovalRequested { held: call });
    let screen = ui.screen();
    assert!(screen.chars().all(|c| c == '\n' || !c.is_control()), "{screen}");
}

fn action() -> impl Strategy<Value = Action> {
    let all_keys: Vec<Chord> = TABLE
        .iter()
        .flat_map(|row| row.keys.split_whitespace().chain([row.leader]))
        .filter_map(Chord::parse)
        .chain(chords("<ctrl+x><ctrl+x><ctrl+x>/qaz日é<enter><esc>ysnm "))
        .collect();
    let size = prop_oneof![0u16..12, 0u16..200];
    prop_oneof![
        8 => proptest::sample::select(all_keys).prop_map(Action::Key),
        1 => (size.clone(), 0u16..60).prop_map(|(columns, rows)| Action::Resize(columns, rows)),
        1 => any::<String>().prop_map(Action::Paste),
        1 => (0i64..5_000).prop_map(Action::Clock),
        1 => (-9i32..9, size.clone(), size.clone())
            .prop_map(|(rows, column, row)| Action::Wheel { rows, column, row }),
        1 => (size.clone(), size).prop_map(|(column, row)| Action::Click { column, row }),
        4 => event().prop_map(|event| Action::Engine(Arc::new(event))),
        1 => Just(Action::Joined(Box::new(snapshot()))),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let turn = || "t1".into();
    prop_oneof![
        Just(Event::TurnStarted { session: "s".into(), turn: turn() }),
        any::<u32>().prop_map(|step| Event::TurnStart { step, max: step / 2 }),
        Just(Event::Settled),
        Just(Event::Error { error: failure() }),
        (0u32..4, any::<String>()).prop_map(|(ordinal, text)| Event::ApprovalRequested {
            held: held(ordinal, "bash", &text, Display::Text(text.clone())),
        }),
        (0u32..4, any::<bool>())
            .prop_map(|(ordinal, allowed)| Event::ApprovalResolved { key: key(ordinal), allowed }),
        (0u32..4, any::<String>()).prop_map(|(ordinal, text)| Event::ToolExecutionStart {
            key: key(ordinal),
            tool_call_id: text.clone(),
            tool_name: text.clone(),
            args: json!({"command": text}),
            summary: text,
        }),
        (0u32..4, any::<String>()).prop_map(|(ordinal, text)| Event::ToolExecutionUpdate {
            key: key(ordinal),
            partial_result: text.into(),
        }),
        any::<String>().prop_map(|text| Event::QueueUpdate {
            queue: vec![queued(&text, QueueKind::NextTurn, &text)],
        }),
        any::<(u64, u64, u64, u64)>().prop_map(|(context_tokens, input, output, cache_read)| {
            Event::UsageUpdate {
                context_tokens,
                estimated: false,
                input,
                output,
                cache_read,
                cost: 1e300,
            }
        }),
        any::<u64>().prop_map(|delay_ms| Event::RetryScheduled {
            attempt: 1,
            max_attempts: 3,
            delay_ms,
            error: failure(),
        }),
        any::<String>().prop_map(|text| Event::Abort {
            cleared: vec![queued(&text, QueueKind::Steer, &text)],
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_actions_paint_the_same_screen_twice_and_never_panic(
        actions in prop::collection::vec(action(), 0..40),
    ) {
        let mut ui = Ui::new(100, 30);
        for action in actions {
            match action {
                Action::Resize(columns, rows) => _ = ui.resize(columns, rows),
                Action::Clock(ms) => _ = ui.wait(ms),
                other => _ = ui.act(other),
            }
            ui.draw();
        }
        let screen = ui.screen();
        prop_assert_eq!(ui.screen(), screen.clone());
        let clean = screen.chars().all(|c| c == '\n' || !c.is_control());
        prop_assert!(clean);
    }
}

#[test]
fn a_stream_that_falls_silent_says_for_how_long() {
    let mut ui = Ui::new(80, 24);
    conversation(&mut ui);
    ui.event(Event::TurnStart { step: 1, max: 0 });
    let delta = harness_tui::message::Delta::TextStart { index: 0 };
    ui.event(Event::MessageUpdate { assistant_message_event: delta });
    ui.wait(1_500);
    assert!(ui.screen().contains("working 1s"), "{}", ui.screen());
    ui.wait(3_000);
    assert!(ui.screen().contains("nothing heard for 4s"), "{}", ui.screen());
}

#[test]
fn a_profile_that_asks_nothing_says_so_all_the_time() {
    let mut ui = Ui::new(100, 30);
    let profile = harness_tui::policy::Profile::Full;
    assert!(!ui.screen().contains("asks nothing"));
    ui.event(Event::ApprovalProfileUpdate { profile });
    assert!(ui.screen().lines().next().unwrap().contains("full: asks nothing"), "{}", ui.screen());
}
