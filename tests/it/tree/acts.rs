//! What the keys of the tree ask the engine for, and what comes of the answers.

use std::path::PathBuf;

use harness_tui::harness::{
    Command, CompactionDraft, CompactionReason, ErrorCode, Event, Failure, ForkPoint, HarnessError,
    Reply, Snapshot, Summary, Which,
};
use harness_tui::message::Message;
use harness_tui::message::{EntryId, Usage};
use harness_tui::session::{Body, Flush};
use harness_tui::ui::action::{Action, Asked, Effect};
use harness_tui::ui::state::Focus;
use harness_tui::ui::tree::ask;
use pretty_assertions::assert_eq;

use super::{SIZE, forked, joined, list, opened, read, selected};
use crate::support::ui::{Ui, snapshot};

fn id(id: &str) -> EntryId {
    id.into()
}

/// Puts the selection on the row that holds these words.
fn select(ui: &mut Ui, words: &str) {
    ui.keys("g");
    for _ in 0..50 {
        if selected(ui).contains(words) {
            return;
        }
        ui.keys("j");
    }
    panic!("{words} is in no row");
}

fn navigate(target: &str, summary: Summary) -> Vec<Command> {
    vec![Command::Navigate { target: Some(id(target)), summary, label: None }]
}

const GENERATED: Summary = Summary::Generated { instructions: None, replace: false };

#[test]
fn enter_on_the_leaf_says_so_and_asks_nothing() {
    let mut ui = opened(&forked());
    ui.keys("<enter>");
    assert!(ui.screen().contains("already here"));
    assert_eq!(ui.commands(), []);
    let mut lines = forked();
    lines.record("j", "a5");
    let mut ui = opened(&lines);
    ui.keys("<enter>");
    assert!(ui.screen().contains("already here"), "a record behind the answer changes nothing");
}

#[test]
fn enter_elsewhere_asks_how_and_every_way_is_one_command() {
    let own = Summary::Generated { instructions: Some("only the files".into()), replace: false };
    for (keys, summary) in [
        ("<enter>", Summary::None),
        ("1", Summary::None),
        ("<down><enter>", GENERATED),
        ("2", GENERATED),
        ("3only the files<enter>", own),
        ("4it failed<enter>", Summary::Own("it failed".into())),
    ] {
        let mut ui = opened(&forked());
        select(&mut ui, "done: a trait");
        ui.keys("<enter>");
        assert!(ui.screen().contains("no summary") && ui.screen().contains("in your own words"));
        ui.keys(keys);
        assert_eq!(ui.commands(), navigate("a2", summary), "{keys}");
    }
}

#[test]
fn esc_in_the_question_goes_back_to_the_tree_with_the_same_selection() {
    let mut ui = opened(&forked());
    select(&mut ui, "done: a trait");
    ui.keys("<enter><esc>");
    assert!(selected(&mut ui).contains("done: a trait"));
    assert_eq!(ui.state.surface.focus, Focus::Tree);
    ui.keys("S<esc>");
    assert!(selected(&mut ui).contains("done: a trait"));
    assert_eq!(ui.commands(), []);
}

#[test]
fn s_summarises_and_goes_and_capital_s_asks_for_instructions_first() {
    let mut ui = opened(&forked());
    select(&mut ui, "done: a trait");
    ui.keys("s");
    assert_eq!(ui.commands(), navigate("a2", GENERATED));
    ui.keys("Sbriefly<enter>");
    let summary = Summary::Generated { instructions: Some("briefly".into()), replace: false };
    assert_eq!(ui.commands(), navigate("a2", summary));
}

fn arrived(text: Option<&str>) -> Reply {
    Reply::Navigated {
        leaf: Some(id("a1")),
        editor_text: text.map(str::to_owned),
        summary_entry: None,
    }
}

fn go(edit: bool) -> Asked {
    Asked::Tree(ask::Asked::Go { edit })
}

#[test]
fn e_puts_a_message_of_the_person_into_the_composer() {
    let mut ui = opened(&forked());
    select(&mut ui, "with a trait");
    ui.keys("e");
    assert_eq!(ui.commands(), navigate("u2", Summary::None));
    ui.answer(go(true), Ok(arrived(Some("refactor a.rs with a trait"))));
    assert_eq!(ui.draft(), "refactor a.rs with a trait");
    assert_eq!(ui.state.surface.focus, Focus::Composer);
}

#[test]
fn e_elsewhere_or_over_a_draft_moves_nothing() {
    let mut ui = opened(&forked());
    select(&mut ui, "done: a trait");
    ui.keys("e");
    assert!(ui.screen().contains("only a message of yours"));
    ui.keys("<esc>half a thought<f2>");
    select(&mut ui, "with a trait");
    ui.keys("e");
    assert!(ui.screen().contains("your draft stays"));
    assert_eq!(ui.commands(), []);
    assert_eq!(ui.draft(), "half a thought");
}

#[test]
fn a_text_already_written_is_neither_lost_nor_mixed_with_the_old_message() {
    let mut ui = opened(&forked());
    ui.keys("<esc>my draft<f2>");
    select(&mut ui, "with a trait");
    ui.keys("<enter><enter>");
    ui.answer(go(false), Ok(arrived(Some("refactor a.rs with a trait"))));
    assert_eq!(ui.draft(), "my draft");
    assert!(ui.screen().contains("your draft stays"));
}

#[test]
fn a_refusal_leaves_the_tree_as_it_was() {
    let mut ui = opened(&forked());
    select(&mut ui, "done: a trait");
    ui.keys("s");
    let error = HarnessError::new(ErrorCode::BranchSummary, "the summary was stopped");
    ui.answer(go(false), Err(error));
    assert!(ui.screen().contains("going there: the summary was stopped"));
    assert!(selected(&mut ui).contains("done: a trait"));
    assert_eq!(ui.state.surface.focus, Focus::Tree);
}

#[test]
fn a_long_summary_tells_its_part_and_goes_on_behind_a_retry_without_the_step_of_the_turn_before() {
    let mut ui = opened(&forked());
    ui.event(Event::TurnStart { step: 7, max: 200 });
    ui.event(Event::CompactionStart { reason: CompactionReason::Manual }).wait(2_000);
    ui.event(Event::SummaryProgress { part: 3, parts: 9 });
    let status = |ui: &mut Ui| ui.screen().lines().last().unwrap_or_default().to_owned();
    assert!(status(&mut ui).contains("compacting 2s · part 3 of 9 "), "{}", status(&mut ui));
    assert!(!status(&mut ui).contains("step"));
    let error = Failure {
        kind: "transient",
        message: "down".into(),
        retryable: true,
        advice: String::new(),
    };
    ui.event(Event::RetryScheduled { attempt: 1, max_attempts: 3, delay_ms: 4_000, error });
    assert!(status(&mut ui).contains("retry 1/3 in 4s"));
    ui.event(Event::RetryAttemptStart { attempt: 1 }).event(Event::RetryFinished);
    assert!(status(&mut ui).contains("compacting 0s · part 3 of 9 "));
    ui.event(Event::CompactionEnd {
        reason: CompactionReason::Manual,
        entry: None,
        tokens_before: 9,
        tokens_after: 9,
        error: None,
        aborted: true,
    });
    assert!(!ui.state.busy());
}

#[test]
fn esc_stops_a_summary_and_stays_in_the_tree() {
    let mut ui = opened(&forked());
    select(&mut ui, "done: a trait");
    ui.keys("s");
    ui.effects();
    ui.event(Event::BranchSummaryStart { from: id("a5") }).wait(3_000);
    assert!(ui.screen().contains("summarising 3s"));
    ui.keys("<esc>");
    assert_eq!(ui.commands(), [Command::Abort { by: "user".into() }]);
    assert_eq!(ui.state.surface.focus, Focus::Tree);
    ui.event(Event::BranchSummaryEnd { error: None, aborted: true });
    ui.keys("<esc>");
    assert_eq!(ui.state.surface.focus, Focus::Composer);
}

#[test]
fn while_a_turn_runs_looking_is_free_and_going_stops_it_first() {
    let mut ui = opened(&forked());
    ui.turn().answering().text("half an answer");
    select(&mut ui, "done: a trait");
    assert_eq!(ui.commands(), []);
    ui.keys("<enter>");
    assert!(ui.screen().contains("stop the turn first?"));
    ui.keys("n");
    assert_eq!(ui.commands(), []);
    ui.keys("<enter>y");
    assert_eq!(ui.commands(), [Command::Abort { by: "user".into() }]);
    ui.keys("1");
    assert_eq!(ui.commands(), [], "it waits until the engine is idle");
    ui.event(Event::Settled);
    assert_eq!(ui.commands(), navigate("a2", Summary::None));
    ui.event(Event::Settled);
    assert_eq!(ui.commands(), [], "once");
}

#[test]
fn a_turn_that_stops_before_the_choice_is_made_makes_no_difference() {
    let mut ui = opened(&forked());
    ui.turn();
    select(&mut ui, "done: a trait");
    ui.keys("<enter>y");
    ui.effects();
    ui.event(Event::Settled);
    assert_eq!(ui.commands(), []);
    ui.keys("1");
    assert_eq!(ui.commands(), navigate("a2", Summary::None));
}

#[test]
fn a_fork_stops_before_a_message_of_the_person_and_behind_anything_else() {
    for (words, at) in
        [("done: a trait", ForkPoint::At(id("a2"))), ("with a trait", ForkPoint::Before(id("u2")))]
    {
        let mut ui = opened(&forked());
        select(&mut ui, words);
        ui.keys("f");
        assert_eq!(ui.commands(), [Command::Fork { at }]);
    }
}

#[test]
fn a_fork_opens_and_the_text_of_its_message_is_in_the_new_composer_only() {
    let mut ui = opened(&forked());
    select(&mut ui, "with a trait");
    ui.keys("f");
    ui.effects();
    let path = PathBuf::from("/sessions/fork.jsonl");
    let reply = Reply::Written { path: path.clone(), editor_text: Some("with a trait".into()) };
    ui.answer(Asked::Fork, Ok(reply));
    assert!(ui.effects().contains(&Effect::Open(Which::Path(path.clone()))));
    assert_eq!(ui.draft(), "");
    let fork = Snapshot { session: "fork".into(), path: Some(path), ..snapshot() };
    ui.act(Action::Joined(Box::new(fork)));
    assert_eq!(ui.draft(), "with a trait");
    assert_eq!(ui.state.surface.focus, Focus::Composer);
    ui.act(Action::Joined(Box::new(Snapshot { session: "third".into(), ..snapshot() })));
    assert_eq!(ui.draft(), "with a trait", "once");
}

#[test]
fn a_label_is_set_changed_and_taken_away() {
    let mut lines = forked();
    lines.label("l", "a5", "a2", "old");
    let mut ui = opened(&lines);
    select(&mut ui, "done: a trait");
    ui.keys("l<ctrl+u>new one<enter>");
    let label = |label: Option<&str>| {
        vec![Command::SetLabel { target: id("a2"), label: label.map(str::to_owned) }]
    };
    assert_eq!(ui.commands(), label(Some("new one")));
    ui.keys("l<ctrl+u><enter>");
    assert_eq!(ui.commands(), label(None));
    ui.keys("l<esc>");
    assert_eq!(ui.commands(), []);
}

#[test]
fn merge_asks_by_whom_and_refuses_what_is_here_already() {
    let mut ui = opened(&forked());
    ui.keys("m");
    assert!(ui.screen().contains("on the active branch"));
    select(&mut ui, "done: a trait");
    ui.keys("m1");
    let merge = |summary| vec![Command::Merge { from: id("a2"), summary }];
    assert_eq!(ui.commands(), merge(GENERATED));
    ui.keys("m3it works<enter>");
    assert_eq!(ui.commands(), merge(Summary::Own("it works".into())));
    ui.answer(Asked::Tree(ask::Asked::Merge), Ok(Reply::Stored { entry: id("s") }));
    assert!(ui.screen().contains("brought here"));
}

fn draft() -> CompactionDraft {
    CompactionDraft {
        leaf: id("a5"),
        first_kept: id("u5"),
        summary: "the files were listed".into(),
        folded: 4,
        kept: 2,
        tokens_before: 9_000,
        tokens_after: 700,
        read_files: Vec::new(),
        modified_files: Vec::new(),
        usage: Usage::default(),
    }
}

#[test]
fn compacting_up_to_here_shows_the_draft_before_it_is_stored() {
    let mut ui = opened(&forked());
    select(&mut ui, "done: a trait");
    ui.keys("K");
    assert_eq!(ui.commands(), []);
    assert!(ui.screen().contains("only the active branch"));
    select(&mut ui, "write the changelog");
    ui.keys("K");
    let command = Command::DraftCompaction { instructions: None, up_to: Some(id("u5")) };
    assert_eq!(ui.commands(), [command]);
    ui.answer(Asked::Change("compaction"), Ok(Reply::Draft(Box::new(draft()))));
    assert!(ui.screen().contains("the files were listed"));
    ui.keys("<ctrl+s>");
    assert_eq!(ui.commands(), [Command::StoreCompaction { draft: Box::new(draft()) }]);
}

#[test]
fn y_copies_the_whole_text() {
    let mut ui = opened(&forked());
    ui.keys("y");
    assert_eq!(read(&mut ui), [Effect::Copy("wrote the entry".into())]);
}

#[test]
fn d_marks_and_the_second_d_compares_messages_and_files() {
    let mut lines = forked();
    lines.call("c6", "a2", "edit", "src/auth.rs");
    lines.edited("r6", "c6", "-1 old\n+1 new\n+2 more\n").answer("a6", "r6", "edited it");
    lines.leaf("l", "a5");
    for size in [(160, 45), (80, 24)] {
        let mut ui = joined(&lines, size);
        ui.keys("<f2>");
        select(&mut ui, "edited it");
        ui.keys("d");
        assert!(ui.screen().contains("(marked)"));
        ui.keys("d");
        read(&mut ui);
        let screen = ui.screen();
        assert!(screen.contains("parted after: there are two files"), "{screen}");
        assert!(screen.contains("src/auth.rs +2 -1"), "{screen}");
        assert_eq!(screen.contains("no file changed"), size.0 == 160, "the other side");
        ui.keys("<tab>");
        assert!(ui.screen().contains("wrote the entry"));
        ui.keys("jjjkG<pgup>g<esc>");
        assert!(selected(&mut ui).contains("edited it"));
    }
    let mut ui = opened(&lines);
    select(&mut ui, "edited it");
    ui.keys("d");
    select(&mut ui, "it is faster");
    ui.keys("d");
    read(&mut ui);
    assert!(ui.screen().contains("edited it"));
    ui.keys("<tab>");
    assert!(ui.screen().contains("benchmark it"));
}

#[test]
fn esc_esc_opens_the_tree_from_an_empty_idle_composer() {
    let mut ui = joined(&forked(), SIZE);
    ui.keys("<esc>");
    assert!(ui.screen().contains("esc again opens the tree"));
    assert_eq!(ui.state.surface.focus, Focus::Composer);
    ui.keys("<esc>");
    assert_eq!(ui.state.surface.focus, Focus::Tree);
    assert!(selected(&mut ui).contains("wrote the entry"));
}

#[test]
fn a_slow_second_esc_a_key_between_a_text_or_a_turn_keep_it_closed() {
    let mut ui = joined(&forked(), SIZE);
    ui.keys("<esc>").wait(3_000).keys("<esc>");
    assert_eq!(ui.state.surface.focus, Focus::Composer);
    ui.wait(3_000).keys("<esc><left><esc>");
    assert_eq!(ui.state.surface.focus, Focus::Composer);
    ui.wait(3_000).keys("text<esc><esc>");
    assert_eq!(ui.state.surface.focus, Focus::Composer);
    ui.keys("<ctrl+u>").turn().keys("<esc><esc>");
    assert_eq!(ui.state.surface.focus, Focus::Composer);
}

#[test]
fn an_esc_that_closed_something_does_not_count() {
    let mut ui = joined(&forked(), SIZE);
    ui.keys("<f1><esc><esc>");
    assert_eq!(ui.state.surface.focus, Focus::Composer);
    ui.keys("<esc>");
    assert_eq!(ui.state.surface.focus, Focus::Tree);
}

#[test]
fn what_is_shown_as_selected_is_what_is_gone_to_whatever_came_between() {
    let mut session = forked().session();
    let mut ui = joined(&forked(), SIZE);
    ui.act(Action::Tree(Box::new(session.tree())));
    ui.keys("<f2>");
    select(&mut ui, "done: a trait");
    for text in ["status", "help"] {
        let body = Body::Message { message: Message::user(text, 0), harness: None };
        session.append(vec![body], Flush::Lazy).unwrap();
        ui.act(Action::Tree(Box::new(session.tree())));
    }
    ui.keys("<enter>1");
    assert_eq!(ui.commands(), navigate("a2", Summary::None));
}

#[test]
fn the_tree_docks_left_hides_again_and_the_mouse_reaches_it() {
    let mut ui = joined(&forked(), (160, 45));
    ui.keys("<f2>");
    assert!(ui.screen().lines().nth(1).unwrap().starts_with("┌ Tree"));
    let area = ui.state.surface.tree.parts.list;
    ui.act(Action::Click { column: area.x + 5, row: area.y });
    ui.draw();
    assert!(ui.state.surface.tree.selected_row() == Some(0));
    ui.act(Action::Wheel { rows: 3, column: area.x, row: area.y });
    assert!(ui.state.surface.tree.selected_row() == Some(3));
    ui.keys("<f2>");
    assert!(!ui.screen().contains("┌ Tree"));
    ui.keys("<ctrl+x>2");
    assert!(ui.screen().contains("┌ Tree"));
    let mut ui = joined(&forked(), SIZE);
    ui.act(Action::Click { column: 18, row: 1 });
    assert!(!list(&mut ui).is_empty());
    assert!(ui.screen().contains("[Tree]"));
}

#[test]
fn an_empty_session_has_an_empty_tree_and_no_key_panics() {
    let mut ui = Ui::new(80, 24);
    ui.keys("<f2>");
    assert!(ui.screen().contains("nothing has been said yet"));
    ui.keys("jkgG<pgup><pgdn><left><right><space>esSflmdyK12345T/x<enter><esc><esc>");
    assert_eq!(ui.commands(), []);
}
