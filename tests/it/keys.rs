//! Keys: what terminals send, what each key does in each place.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyEventState, KeyModifiers};
use harness_tui::harness::{
    Command, ErrorCode, Event, HarnessError, QueueKind, Reply, TurnStatus, Which,
};
use harness_tui::message::{Display, Part, ThinkingLevel};
use harness_tui::policy::Decision;
use harness_tui::ui::action::{Action, Asked, Effect};
use harness_tui::ui::chord::Chord;
use harness_tui::ui::state::{Focus, Tab};
use serde_json::json;

use crate::support::ui::{Ui, held, key, queued, session};

fn prompt(text: &str) -> Command {
    Command::Prompt { content: vec![Part::text(text)] }
}

fn steer(text: &str) -> Command {
    Command::Steer { text: text.into() }
}

fn abort() -> Command {
    Command::Abort { by: "user".into() }
}

fn name(code: KeyCode, modifiers: KeyModifiers) -> Option<String> {
    Chord::of_event(&KeyEvent::new(code, modifiers)).map(Chord::name)
}

#[test]
fn the_spellings_of_terminals_meet_in_one_name() {
    let (control, alt, shift) = (KeyModifiers::CONTROL, KeyModifiers::ALT, KeyModifiers::SHIFT);
    let none = KeyModifiers::NONE;
    let cases = [
        (KeyCode::Char('c'), control, "ctrl+c"),
        (KeyCode::Char('C'), control | shift, "ctrl+shift+c"),
        (KeyCode::Char('p'), control | shift, "ctrl+shift+p"),
        (KeyCode::Char('C'), shift, "C"),
        (KeyCode::Char('c'), shift, "C"),
        (KeyCode::Char('/'), control, "ctrl+/"),
        (KeyCode::Char('1'), control, "ctrl+1"),
        (KeyCode::Enter, shift, "shift+enter"),
        (KeyCode::Enter, alt, "alt+enter"),
        (KeyCode::Char(' '), control, "ctrl+space"),
        (KeyCode::Null, none, "ctrl+space"),
        (KeyCode::Char('4'), control, "ctrl+\\"),
        (KeyCode::Char('7'), control, "ctrl+_"),
        (KeyCode::Char('j'), control, "ctrl+j"),
        (KeyCode::Backspace, none, "backspace"),
        (KeyCode::Char('h'), control, "backspace"),
        (KeyCode::Char('b'), alt, "alt+b"),
        (KeyCode::Left, alt, "alt+left"),
        (KeyCode::Up, shift, "shift+up"),
        (KeyCode::BackTab, shift, "shift+tab"),
        (KeyCode::BackTab, none, "shift+tab"),
        (KeyCode::PageUp, none, "pgup"),
        (KeyCode::Home, control, "ctrl+home"),
        (KeyCode::F(1), none, "f1"),
    ];
    for (code, modifiers, expected) in cases {
        assert_eq!(name(code, modifiers).as_deref(), Some(expected), "{code:?} {modifiers:?}");
    }
}

#[test]
fn releases_unknown_keys_and_unsupported_modifiers_mean_nothing() {
    let release = KeyEvent {
        code: KeyCode::Enter,
        modifiers: KeyModifiers::NONE,
        kind: KeyEventKind::Release,
        state: KeyEventState::NONE,
    };
    assert_eq!(Chord::of_event(&release), None);
    let repeat = KeyEvent { kind: KeyEventKind::Repeat, code: KeyCode::Backspace, ..release };
    assert_eq!(Chord::of_event(&repeat).map(Chord::name).as_deref(), Some("backspace"));
    assert_eq!(name(KeyCode::F(13), KeyModifiers::NONE), None);
    assert_eq!(name(KeyCode::Char('c'), KeyModifiers::SUPER), None);
    assert_eq!(name(KeyCode::CapsLock, KeyModifiers::NONE), None);
}

#[test]
fn enter_sends_when_idle_and_steers_while_a_turn_runs() {
    let mut ui = Ui::new(80, 24);
    assert_eq!(ui.keys("hi<enter>").commands(), [prompt("hi")]);
    // The prompt is on its way: the next text belongs to the turn it starts.
    assert_eq!(ui.keys("more<enter>").commands(), [steer("more")]);
    ui.turn();
    assert_eq!(ui.keys("again<enter>").commands(), [steer("again")]);
    let follow_up = |text: &str| Command::FollowUp { text: text.into() };
    assert_eq!(ui.keys("later<alt+enter>").commands(), [follow_up("later")]);
    assert_eq!(ui.keys("last<ctrl+x>f").commands(), [follow_up("last")]);
    assert_eq!(ui.keys("  <enter>").commands(), []);
}

#[test]
fn escape_closes_then_leaves_then_stops() {
    let mut ui = Ui::new(100, 30);
    ui.turn().keys("<f3><f1>");
    assert_eq!(ui.keys("<esc>").commands(), []);
    assert_eq!((ui.state.surface.popup.clone(), ui.state.surface.focus), (None, Focus::Tools));
    assert_eq!(ui.keys("<esc>").commands(), []);
    assert_eq!(ui.state.surface.focus, Focus::Composer);
    assert_eq!(ui.keys("<esc>").commands(), [abort()]);
}

#[test]
fn escape_with_a_draft_stops_the_turn_and_keeps_the_draft() {
    let mut ui = Ui::new(80, 24);
    ui.turn();
    assert_eq!(ui.keys("a draft<esc>").commands(), [abort()]);
    assert_eq!(ui.draft(), "a draft");
    ui.event(Event::Settled);
    assert_eq!(ui.keys("<esc><esc>").commands(), []);
    assert_eq!(ui.draft(), "a draft");
}

#[test]
fn control_c_clears_then_stops_then_asks_to_quit() {
    let mut ui = Ui::new(80, 24);
    ui.turn();
    assert_eq!(ui.keys("three\\<enter>lines<ctrl+c>").commands(), []);
    assert_eq!(ui.draft(), "");
    assert_eq!(ui.keys("<ctrl+c>").commands(), [abort()]);
    ui.event(Event::Settled);
    assert_eq!(ui.keys("<ctrl+c>").effects(), []);
    assert!(ui.wait(5_000).screen().contains("ctrl+x menu"));
    assert_eq!(ui.keys("<ctrl+c>").effects(), [], "the first one was too long ago");
    assert_eq!(ui.keys("<ctrl+c>").effects(), [Effect::Quit(0)]);
    assert_eq!(ui.keys("<up>").draft(), "three\nlines");
}

#[test]
fn control_d_quits_only_when_the_composer_is_empty_and_asks_while_a_turn_runs() {
    let mut ui = Ui::new(80, 24);
    assert_eq!(ui.keys("ab<left><ctrl+d>").effects(), []);
    assert_eq!(ui.draft(), "a");
    ui.keys("<backspace>").turn();
    assert_eq!(ui.keys("<ctrl+d>").effects(), []);
    assert!(ui.screen().contains("A turn still runs"));
    assert_eq!(ui.keys("<enter>n").effects(), []);
    assert_eq!(
        ui.keys("<ctrl+d>y").effects(),
        [Effect::Send(abort(), Asked::Change("stop")), Effect::Quit(0)]
    );
}

#[test]
fn the_leader_reaches_actions_and_an_unknown_letter_does_nothing() {
    let mut ui = Ui::new(80, 24);
    assert!(ui.keys("<ctrl+x>").screen().contains("ctrl+x then"));
    assert!(!ui.keys("<esc>").screen().contains("ctrl+x then"));
    assert_eq!(ui.keys("draft<ctrl+x>W").effects(), []);
    assert_eq!(ui.draft(), "draft");
    let level = ThinkingLevel::Xhigh;
    assert_eq!(ui.keys("<ctrl+x>t").commands(), [Command::SetThinkingLevel { level }]);
    assert_eq!(ui.keys("<ctrl+x>e").effects(), [Effect::Edit("draft".into())]);
    assert_eq!(ui.keys("<ctrl+z>").effects(), [Effect::Suspend]);
    ui.act(Action::Edited(Ok("edited\n".into())));
    assert_eq!(ui.draft(), "edited");
}

#[test]
fn question_mark_is_help_only_in_an_empty_composer() {
    let mut ui = Ui::new(80, 24);
    assert_eq!(ui.keys("why?").draft(), "why?");
    ui.keys("<ctrl+c>?");
    assert!(ui.screen().contains("composer"));
    assert_eq!(ui.draft(), "");
}

#[test]
fn the_queue_comes_back_into_the_composer_in_order_and_only_once() {
    let mut ui = Ui::new(80, 24);
    let queue = vec![queued("1", QueueKind::Steer, "A"), queued("2", QueueKind::FollowUp, "B")];
    ui.turn().event(Event::QueueUpdate { queue: queue.clone() }).keys("mine");
    let dequeue = |id: &str| Command::Dequeue { id: id.into() };
    // The last is asked for first, because each goes in front of what is there.
    assert_eq!(ui.keys("<ctrl+x>q").commands(), [dequeue("2"), dequeue("1")]);
    for one in queue.iter().rev() {
        let reply = Reply::Cleared { queued: vec![one.clone()] };
        ui.answer(Asked::TakeBack, Ok(reply));
    }
    assert_eq!(ui.draft(), "A\nB\nmine");
    ui.event(Event::Abort { cleared: queue.clone() });
    ui.answer(Asked::TakeBack, Ok(Reply::Cleared { queued: queue.clone() }));
    ui.answer(Asked::Change("stop"), Ok(Reply::Cleared { queued: queue }));
    assert_eq!(ui.draft(), "A\nB\nmine");
}

#[test]
fn text_refused_in_the_instant_between_two_states_goes_the_other_way_once() {
    let mut ui = Ui::new(80, 24);
    let refused = |code| Err(HarnessError::new(code, "no"));
    let (text, again) = ("x".to_owned(), false);
    ui.answer(Asked::Steer { text: text.clone(), again }, refused(ErrorCode::InvalidState));
    assert_eq!(
        ui.effects(),
        [Effect::Send(prompt("x"), Asked::Prompt { text: "x".into(), again: true })]
    );
    ui.answer(Asked::Prompt { text: text.clone(), again: true }, refused(ErrorCode::Busy));
    assert_eq!((ui.effects(), ui.draft()), (vec![], "x".to_owned()));
    ui.keys("<ctrl+c>").answer(Asked::Prompt { text, again }, refused(ErrorCode::Busy));
    assert_eq!(
        ui.effects(),
        [Effect::Send(steer("x"), Asked::Steer { text: "x".into(), again: true })]
    );
}

#[test]
fn a_burst_is_one_draft_and_the_enter_after_it_sends_once() {
    for running in [false, true] {
        let mut ui = Ui::new(80, 24);
        if running {
            ui.turn();
        }
        ui.wait(100).burst("line1<enter>line2<enter>line3").wait(100);
        assert_eq!(ui.commands(), []);
        assert_eq!(ui.draft(), "line1\nline2\nline3");
        let text = "line1\nline2\nline3";
        let expected = if running { steer(text) } else { prompt(text) };
        assert_eq!(ui.wait(200).keys("<enter>").wait(100).commands(), [expected]);
    }
}

#[test]
fn text_and_enter_typed_by_a_program_are_sent_when_nothing_follows() {
    let mut ui = Ui::new(80, 24);
    assert_eq!(ui.wait(100).burst("hi<enter>").commands(), []);
    assert!(ui.state.next_wake().is_some());
    assert_eq!(ui.wait(20).commands(), [prompt("hi")]);
}

#[test]
fn slash_commands_run_and_unknown_ones_are_not_sent() {
    let mut ui = Ui::new(80, 24);
    assert_eq!(
        ui.keys("/name my work<enter>").commands(),
        [Command::SetName { name: "my work".into() }]
    );
    assert_eq!(
        ui.keys("/model a/b<enter>").commands(),
        [Command::SetModel { reference: "a/b".into() }]
    );
    assert_eq!(ui.keys("/new<enter>").effects(), [Effect::Open(Which::New)]);
    assert_eq!(ui.keys("/retry<enter>").commands(), [Command::Retry]);
    assert_eq!(ui.keys("/next one<enter>").commands(), [Command::NextTurn { text: "one".into() }]);
    assert_eq!(ui.keys("/hepl<enter>").effects(), []);
    assert_eq!(ui.draft(), "/hepl");
    let screen = ui.screen();
    assert!(screen.contains("did you mean /help?"), "{screen}");
    assert_eq!(ui.keys("<ctrl+c>/usr/bin is full<enter>").commands(), [prompt("/usr/bin is full")]);
}

#[test]
fn tab_completes_a_command_and_its_argument() {
    let mut ui = Ui::new(80, 24);
    assert_eq!(ui.keys("/th<tab>").draft(), "/thinking ");
    assert_eq!(ui.keys("x<tab>").draft(), "/thinking xhigh");
}

#[test]
fn a_card_takes_no_key_until_it_is_focused() {
    let mut ui = Ui::new(80, 24);
    let call = held(0, "bash", "cargo test", Display::Text("cargo test".into()));
    ui.turn().event(Event::ApprovalRequested { held: call }).wait(1_000);
    assert_eq!(ui.keys("ysnmx").commands(), []);
    assert_eq!(ui.draft(), "ysnmx");
    ui.keys("<ctrl+x>g");
    assert_eq!(ui.state.surface.focus, Focus::Approval);
    assert_eq!(ui.keys("<enter>").commands(), [], "enter never answers");
    let decide = |decision| Command::Decide { key: key(0), decision };
    assert_eq!(ui.keys("yy").commands(), [decide(Decision::Once)]);
    assert_eq!(ui.draft(), "ysnmx", "the draft is as it was");
}

#[test]
fn letters_wait_until_the_card_has_stood_for_a_moment() {
    let mut ui = Ui::new(80, 24);
    let call = held(0, "bash", "ls", Display::Text("ls".into()));
    ui.turn().event(Event::ApprovalRequested { held: call });
    ui.act(Action::Key(Chord::parse("tab").unwrap())).draw();
    assert_eq!(ui.state.surface.focus, Focus::Approval);
    ui.wait(349).act(Action::Key(Chord::parse("y").unwrap()));
    assert_eq!(ui.commands(), []);
    ui.wait(1).act(Action::Key(Chord::parse("s").unwrap()));
    assert_eq!(ui.commands(), [Command::Decide { key: key(0), decision: Decision::Session }]);
}

#[test]
fn a_long_call_is_answered_only_after_its_last_line_was_seen() {
    let mut ui = Ui::new(60, 15);
    let text: String = (0..30).map(|n| format!("line {n}\n")).collect();
    let call = held(0, "bash", "script", Display::Text(text + "; touch P"));
    ui.turn().event(Event::ApprovalRequested { held: call });
    ui.keys("<tab>").wait(1_000);
    assert_eq!(ui.keys("y").commands(), []);
    for _ in 0..40 {
        if !ui.screen().contains("touch P") {
            ui.keys("<down>");
        }
    }
    assert_eq!(ui.keys("<esc><tab>y").commands().len(), 0, "350 ms have not passed");
    ui.wait(400);
    assert_eq!(ui.keys("y").commands().len(), 1);
}

#[test]
fn a_call_without_a_preview_shows_its_arguments() {
    for preview in [None, Some(Display::Text(String::new()))] {
        let mut ui = Ui::new(80, 24);
        let mut call = (*held(0, "post", "send", Display::Text(String::new()))).clone();
        call.arguments = json!({"url": "http://example.test/secret"});
        call.preview = preview;
        ui.turn().event(Event::ApprovalRequested { held: call.into() });
        assert!(ui.screen().contains("http://example.test/secret"));
    }
}

#[test]
fn the_tail_of_a_padded_command_must_be_seen() {
    let mut ui = Ui::new(60, 15);
    let line = format!("ls {}; touch P", "x ".repeat(350));
    let call = held(0, "bash", &line, Display::Text(line.clone()));
    ui.turn().event(Event::ApprovalRequested { held: call }).keys("<tab>").wait(1_000);
    assert!(!ui.screen().contains("touch P"));
    assert_eq!(ui.keys("y").commands(), []);
    for _ in 0..10 {
        if !ui.screen().contains("touch P") {
            ui.keys("<tab>").screen();
        }
    }
    assert!(ui.screen().contains("touch P"));
    assert_eq!(ui.wait(400).keys("y").commands().len(), 1);
}

#[test]
fn blanks_hide_nothing() {
    let mut ui = Ui::new(60, 15);
    let line = format!("ls{}; touch P", " ".repeat(700));
    let call = held(0, "bash", &line, Display::Text(line.clone()));
    ui.turn().event(Event::ApprovalRequested { held: call });
    assert!(ui.screen().contains("touch P"));
}

#[test]
fn a_screen_too_small_for_the_card_answers_nothing() {
    let mut ui = Ui::new(80, 24);
    let call = held(0, "bash", "ls", Display::Text("ls".into()));
    ui.turn().event(Event::ApprovalRequested { held: call });
    ui.keys("<tab>").resize(30, 5).wait(1_000);
    assert_eq!(ui.keys("ysn").commands(), []);
    ui.resize(80, 24).wait(1_000).draw();
    assert_eq!(ui.keys("n").commands().len(), 1);
}

#[test]
fn editing_the_reason_never_answers_and_escape_goes_one_level_back() {
    let mut ui = Ui::new(80, 24);
    let call = held(0, "bash", "ls", Display::Text("ls".into()));
    ui.turn().keys("half a draft").event(Event::ApprovalRequested { held: call });
    ui.keys("<ctrl+x>g").wait(400);
    ui.keys("mno<left><delete><backspace><backspace><backspace><up>");
    assert_eq!(ui.keys("<enter>").commands(), [], "an empty reason is none");
    ui.keys("<esc>");
    assert_eq!(ui.state.surface.focus, Focus::Approval);
    let message = Some("use rg".to_owned());
    assert_eq!(
        ui.keys("muse rg<enter>").commands(),
        [Command::Decide { key: key(0), decision: Decision::Deny { message } }]
    );
    ui.event(Event::ApprovalResolved { key: key(0), allowed: false });
    assert_eq!((ui.state.surface.focus, ui.draft().as_str()), (Focus::Composer, "half a draft"));
}

#[test]
fn held_calls_are_answered_one_after_the_other() {
    let mut ui = Ui::new(80, 24);
    ui.turn();
    for ordinal in 0..2 {
        let call = held(ordinal, "bash", &format!("cmd {ordinal}"), Display::Text("c".into()));
        ui.event(Event::ApprovalRequested { held: call });
    }
    assert!(ui.screen().contains("1 of 2"));
    ui.keys("<tab>").wait(400);
    assert_eq!(
        ui.keys("yy").commands(),
        [Command::Decide { key: key(0), decision: Decision::Once }],
        "the second card has just appeared"
    );
    ui.wait(400);
    assert_eq!(
        ui.keys("y").commands(),
        [Command::Decide { key: key(1), decision: Decision::Once }]
    );
    let error = HarnessError::new(ErrorCode::InvalidState, "the file has changed");
    ui.answer(Asked::Decision { key: key(1) }, Err(error));
    assert!(ui.screen().contains("the file has changed"));
}

#[test]
fn two_equal_calls_are_two_questions() {
    let mut ui = Ui::new(80, 24);
    ui.turn();
    for ordinal in 0..2 {
        let mut call = (*held(ordinal, "bash", "ls", Display::Text("ls".into()))).clone();
        call.hash = "equal".into();
        ui.event(Event::ApprovalRequested { held: call.into() });
    }
    ui.keys("<tab>").wait(400);
    assert_eq!(ui.keys("y").commands().len(), 1);
    assert!(ui.screen().contains("1 of 1"));
    ui.wait(400).event(Event::ApprovalResolved { key: key(0), allowed: true });
    ui.draw();
    let decision = Decision::Once;
    assert_eq!(ui.keys("y").commands(), [Command::Decide { key: key(1), decision }]);
}

#[test]
fn the_tools_pane_opens_copies_and_gives_its_command_to_the_composer() {
    let mut ui = Ui::new(160, 45);
    ui.turn().runs(0, "bash", "cargo test", json!({"command": "cargo test"}));
    ui.event(Event::ToolExecutionUpdate { key: key(0), partial_result: "ok\n".into() });
    assert_eq!(ui.keys("<f3>y").effects(), [Effect::Copy("ok\n".into())]);
    assert_eq!(ui.keys("e").draft(), "cargo test");
    assert_eq!(ui.state.surface.focus, Focus::Composer);
    ui.keys("<f3><f3>");
    assert_eq!(ui.state.tools_open, Some(false));
}

#[test]
fn a_narrow_screen_shows_one_pane_and_keys_and_clicks_change_it() {
    let mut ui = Ui::new(80, 24);
    ui.keys("<ctrl+x>3");
    assert_eq!(ui.state.surface.tab, Tab::Tools);
    ui.keys("<ctrl+x>1");
    assert_eq!(ui.state.surface.tab, Tab::Conversation);
    ui.act(Action::Click { column: 18, row: 1 });
    assert_eq!(ui.state.surface.tab, Tab::Tree);
    ui.act(Action::Click { column: 25, row: 1 });
    assert_eq!(ui.state.surface.tab, Tab::Tools);
    ui.act(Action::Click { column: 3, row: 1 });
    assert_eq!(ui.state.surface.tab, Tab::Conversation);
}

#[test]
fn a_failed_turn_offers_to_ask_again() {
    let mut ui = Ui::new(80, 24);
    ui.turn().event(Event::TurnCompleted {
        session: session(),
        turn: "t1".into(),
        status: TurnStatus::Failed,
        result: None,
        error: None,
        reason: None,
    });
    assert!(ui.screen().contains("/retry asks again"));
}

#[test]
fn the_history_search_finds_and_keeps_the_draft() {
    let mut ui = Ui::new(80, 24);
    let history = vec!["first idea".into(), "second thought".into()];
    ui.act(Action::Kept { draft: String::new(), stash: None, history });
    assert_eq!(ui.keys("draft<ctrl+r>idea<esc>").draft(), "draft");
    assert_eq!(ui.keys("<ctrl+r>IDEA<enter>").draft(), "first idea");
    assert_eq!(ui.keys("<up>").draft(), "draft");
}

#[test]
fn an_idle_screen_wakes_for_nothing() {
    let mut ui = Ui::new(80, 24);
    assert_eq!(ui.state.next_wake(), None);
    ui.keys("x");
    assert!(ui.state.next_wake().is_some(), "the draft is to be kept");
    ui.wait(500);
    assert_eq!(
        ui.all_effects(),
        [Effect::SaveDraft { session: "new in ~/proj".into(), text: "x".into() }]
    );
    assert_eq!(ui.state.next_wake(), None);
    ui.turn();
    assert!(ui.state.next_wake().is_some(), "the spinner turns");
}
