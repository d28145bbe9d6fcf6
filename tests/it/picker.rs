//! The session picker: the right session under the keys, whatever arrives in whatever order.

use std::path::PathBuf;

use harness_tui::harness::{Command, Hit, Listed, Quote, Scope, Which};
use harness_tui::session::Role;
use harness_tui::ui::action::{Action, Asked, Effect};
use harness_tui::ui::popup::Popup;
use harness_tui::ui::sessions::{Mode, News, Picker, Sort, Work};
use pretty_assertions::assert_eq;
use proptest::prelude::*;

use crate::support::ui::Ui;

const HOUR: i64 = 3_600_000;

fn path(id: &str) -> PathBuf {
    format!("/data/sessions/--w--/{id}.jsonl").into()
}

/// A session that was used last `hours` after the beginning.
fn listed(id: &str, hours: i64, first: &str) -> Listed {
    Listed {
        path: path(id),
        id: id.into(),
        cwd: "/w".into(),
        name: None,
        parent_session: None,
        created_ms: 0,
        last_activity_ms: hours * HOUR,
        message_count: 4,
        first_message: Some(first.into()),
        is_whole: true,
    }
}

fn named(id: &str, hours: i64, name: &str) -> Listed {
    Listed { name: Some(name.into()), ..listed(id, hours, "a prompt") }
}

fn rows(ticket: u64, rows: Vec<Listed>, finished: bool) -> Action {
    let (done, total) = (rows.len(), if finished { rows.len() } else { 100 });
    Action::Shelf(Box::new(News::Rows { ticket, rows, done, total, finished }))
}

/// An open picker with these sessions.
fn with(sessions: Vec<Listed>) -> Ui {
    sized(100, 30, sessions)
}

fn sized(columns: u16, rows_of_screen: u16, sessions: Vec<Listed>) -> Ui {
    let mut ui = Ui::new(columns, rows_of_screen);
    ui.act(Action::Clock(100 * HOUR));
    ui.keys("<ctrl+x>r");
    ui.act(rows(1, sessions, true));
    ui.effects();
    ui
}

fn picker(ui: &Ui) -> &Picker {
    ui.state.surface.picker.as_ref().unwrap()
}

/// The ids of what shows, in order.
fn shown(ui: &Ui) -> Vec<String> {
    let picker = picker(ui);
    let id = |shown: &_| picker.row(*shown).unwrap().listed.id.to_string();
    picker.shown().iter().map(id).collect()
}

fn selected(ui: &Ui) -> String {
    picker(ui).selected().map_or(String::new(), |row| row.listed.id.to_string())
}

/// What was asked of the shelf, previews apart.
fn work(ui: &mut Ui) -> Vec<Work> {
    let of = |effect| match effect {
        Effect::Shelf(Work::Preview { .. }) => None,
        Effect::Shelf(work) => Some(work),
        other => panic!("{other:?}"),
    };
    ui.effects().into_iter().filter_map(of).collect()
}

fn three() -> Vec<Listed> {
    vec![listed("a", 3, "first words"), named("b", 2, "login bug"), listed("c", 1, "the login")]
}

#[test]
fn the_newest_is_selected_until_somebody_moves() {
    let mut ui = with(vec![listed("a", 3, "x")]);
    ui.act(rows(1, vec![listed("new", 9, "x")], true));
    assert_eq!((selected(&ui).as_str(), shown(&ui)), ("new", vec!["new".into(), "a".into()]));
    ui.keys("<down>");
    ui.act(rows(1, vec![listed("newer", 10, "x"), listed("older", 1, "x")], true));
    assert_eq!(selected(&ui), "a", "rows that arrive put no other session under the keys");
}

#[test]
fn removing_names_the_session_that_was_asked_about_whatever_arrives_in_between() {
    let mut ui = with(three());
    ui.keys("<down><ctrl+d>");
    assert!(ui.screen().contains("\"login bug\" to the trash?"));
    ui.act(rows(1, vec![listed("new", 9, "x"), listed("b2", 8, "y")], true));
    assert_eq!(work(ui.keys("y")), [Work::Remove { path: path("b") }]);
    let removed = News::Removed { path: path("b"), outcome: Ok(()) };
    ui.act(Action::Shelf(Box::new(removed)));
    assert_eq!(shown(&ui), ["new", "b2", "a", "c"]);
    assert!(ui.screen().contains("in the trash"));
}

#[test]
fn nothing_is_removed_without_a_clear_yes() {
    for keys in ["<ctrl+d>n", "<ctrl+d><esc>", "<ctrl+d><enter><esc>", "<ctrl+d>xq<esc>"] {
        let mut ui = with(three());
        assert_eq!(work(ui.keys(keys)), [], "{keys}");
        assert_eq!(picker(&ui).mode, Mode::Browse);
        assert_eq!(picker(&ui).input.text(), "");
    }
}

#[test]
fn a_failure_is_said_and_the_row_stays() {
    let mut ui = with(three());
    let error = "it is in use: process 7".to_owned();
    let news = News::Removed { path: path("a"), outcome: Err(error) };
    ui.act(Action::Shelf(Box::new(news)));
    assert!(ui.screen().contains("not removed: it is in use"));
    assert_eq!(shown(&ui), ["a", "b", "c"]);
}

#[test]
fn letters_are_the_query_and_names_come_first_by_relevance() {
    let mut ui = with(three());
    ui.keys("login");
    assert_eq!(shown(&ui), ["b", "c"], "recent keeps its order");
    assert_eq!(picker(&ui).sort, Sort::Recent);
    ui.keys("<ctrl+s><ctrl+s>");
    assert_eq!(picker(&ui).sort, Sort::Relevance);
    ui.act(rows(1, vec![listed("d", 90, "login again")], true));
    assert_eq!(shown(&ui), ["b", "d", "c"], "ties by time");
    ui.keys("<ctrl+w>");
    assert_eq!(shown(&ui).len(), 4);
}

#[test]
fn what_only_the_content_holds_is_looked_for_behind_the_keys() {
    let mut ui = with(three());
    ui.keys("f");
    assert_eq!(picker(&ui).searching, None, "one letter is in everything");
    ui.keys("ail");
    let asked = work(&mut ui).pop();
    let Some(Work::Search { query, sessions, ticket }) = asked else { panic!("{asked:?}") };
    let ids: Vec<&str> = sessions.iter().map(|listed| listed.id.as_str()).collect();
    assert_eq!((query.as_str(), ids), ("fail", vec!["a", "b", "c"]));
    let hit = Hit { path: path("c"), snippet: "test FAILED here".into() };
    let found =
        |ticket, hits| Action::Shelf(Box::new(News::Found { ticket, hits, done: 3, total: 3 }));
    ui.act(found(ticket - 1, vec![Hit { path: path("a"), snippet: "old".into() }]));
    assert_eq!(shown(&ui), Vec::<String>::new(), "news of an older search are old");
    ui.act(found(ticket, vec![hit]));
    assert_eq!(shown(&ui), ["c"]);
    assert!(ui.screen().contains("test FAILED here"));
}

#[test]
fn a_broken_pattern_shows_nothing_and_says_why() {
    let mut ui = with(three());
    ui.keys("re:(");
    assert_eq!(shown(&ui), Vec::<String>::new());
    assert!(ui.screen().contains("no pattern"), "{}", ui.screen());
    ui.keys("log|bug)");
    assert_eq!(shown(&ui), ["b", "c"]);
}

#[test]
fn a_name_of_blanks_is_no_name() {
    let mut ui = with(vec![named("a", 3, "real"), named("b", 2, "  ")]);
    ui.keys("<ctrl+n>");
    assert_eq!(shown(&ui), ["a"]);
    assert!(ui.keys("<ctrl+n>").screen().contains("  a prompt") || shown(&ui).len() == 2);
}

#[test]
fn copies_stand_under_what_they_came_from_and_families_by_their_latest() {
    let child = |id: &str, hours, of: &str| Listed {
        parent_session: Some(path(of).display().to_string()),
        ..listed(id, hours, id)
    };
    let sessions = vec![
        listed("old", 1, "old"),
        child("copy", 9, "old"),
        child("copy2", 2, "copy"),
        listed("lone", 5, "lone"),
        child("orphan", 4, "gone"),
        child("x", 3, "y"),
        child("y", 2, "x"),
    ];
    let mut ui = with(sessions);
    ui.keys("<ctrl+s>");
    assert_eq!(shown(&ui), ["old", "copy", "copy2", "lone", "orphan", "x", "y"]);
    let depths: Vec<usize> = picker(&ui).shown().iter().map(|shown| shown.depth).collect();
    assert_eq!(depths, [0, 1, 2, 0, 0, 0, 1]);
    ui.keys("copy");
    let depths: Vec<usize> = picker(&ui).shown().iter().map(|shown| shown.depth).collect();
    assert_eq!(depths, [0, 0], "found rows are no tree");
}

#[test]
fn the_scope_changes_while_it_loads_and_does_not_jump_back() {
    let mut ui = Ui::new(100, 30);
    ui.keys("<ctrl+x>r");
    assert_eq!(work(&mut ui), [Work::Scan { scope: Scope::Folder, ticket: 1 }]);
    ui.act(rows(1, vec![listed("a", 1, "x")], false));
    assert!(ui.screen().contains("Loading 1/100"));
    assert_eq!(work(ui.keys("<tab>")), [Work::Scan { scope: Scope::All, ticket: 2 }]);
    ui.act(rows(1, vec![listed("late", 2, "x")], true));
    assert_eq!((picker(&ui).scope, shown(&ui)), (Scope::All, Vec::new()));
    ui.act(rows(2, vec![listed("b", 2, "x")], true));
    assert_eq!(shown(&ui), ["b"]);
}

#[test]
fn a_session_is_renamed_in_place_and_the_open_one_by_its_engine() {
    let mut ui = with(three());
    let asked = work(ui.keys("<down><ctrl+r><ctrl+u>better<enter>"));
    assert_eq!(asked, [Work::Rename { path: path("b"), name: "better".into() }]);
    let row = Some(named("b", 2, "better"));
    ui.act(Action::Shelf(Box::new(News::Renamed { path: path("b"), row: Ok(row) })));
    assert!(ui.screen().contains("better") && selected(&ui) == "b");
    ui.state.surface.picker.as_mut().unwrap().current = Some(path("b"));
    let name = Command::SetName { name: "mine".into() };
    let effects = ui.keys("<ctrl+r><ctrl+u>mine<enter>").effects();
    assert_eq!(effects, [Effect::Send(name, Asked::Change("name"))]);
}

#[test]
fn enter_looks_for_the_folder_and_opens_once() {
    let mut ui = with(three());
    assert_eq!(work(ui.keys("<enter><enter>"))[0], Work::Check { path: path("a") });
    let checked = || Action::Shelf(Box::new(News::Checked { path: path("a"), missing: None }));
    let opens = [Effect::Shelf(Work::Stop), Effect::Open(Which::Path(path("a")))];
    assert_eq!(ui.act(checked()).effects(), opens);
    assert_eq!(ui.act(checked()).effects(), [Effect::Shelf(Work::Stop)], "once is enough");
}

#[test]
fn a_running_turn_is_not_left_without_a_question() {
    let mut ui = with(three());
    ui.turn();
    assert_eq!(work(ui.keys("<enter>")), []);
    assert!(ui.screen().contains("A turn runs here"));
    assert_eq!(work(ui.keys("n")), []);
    assert_eq!(work(ui.keys("<enter>y")), [Work::Check { path: path("a") }]);
}

#[test]
fn a_session_whose_folder_is_gone_asks_where_it_works_on() {
    let missing = || {
        let (path, missing) = (path("a"), Some("/p/old".into()));
        Action::Shelf(Box::new(News::Checked { path, missing }))
    };
    let mut ui = with(three());
    ui.keys("<enter>").effects();
    assert_eq!(ui.act(missing()).effects(), []);
    assert!(ui.screen().contains("/p/old") && ui.screen().contains("c continue here"));
    let opens = [Effect::Shelf(Work::Stop), Effect::Open(Which::Path(path("a")))];
    assert_eq!(ui.keys("c").effects(), opens);
    let mut ui = with(three());
    ui.keys("<enter>").effects();
    ui.act(missing());
    assert_eq!(work(ui.keys("xf")), [Work::ForkHere { path: path("a") }]);
    let outcome = Ok(path("copy"));
    let effects = ui.act(Action::Shelf(Box::new(News::Copied { outcome }))).effects();
    assert_eq!(effects, [Effect::Shelf(Work::Stop), Effect::Open(Which::Path(path("copy")))]);
    let mut ui = with(three());
    ui.keys("<enter>").effects();
    ui.act(missing());
    assert_eq!(ui.keys("<esc>").effects(), []);
    assert_eq!(ui.state.surface.popup, None);
}

#[test]
fn the_trash_gives_back_and_opens_nothing() {
    let mut ui = with(three());
    ui.keys("<tab><tab>").effects();
    ui.act(rows(3, three(), true));
    assert_eq!(work(ui.keys("<enter>")), []);
    assert!(ui.screen().contains("ctrl+r brings it back"));
    assert_eq!(work(ui.keys("<ctrl+d>")), []);
    assert_eq!(work(ui.keys("<ctrl+r>")), [Work::Restore { path: path("a") }]);
    let news = News::Restored { path: path("a"), outcome: Ok("/w/a.jsonl".into()) };
    ui.act(Action::Shelf(Box::new(news)));
    assert_eq!(shown(&ui), ["b", "c"]);
}

#[test]
fn the_open_session_is_marked_and_neither_opened_again_nor_removed() {
    let mut ui = with(three());
    ui.state.surface.picker.as_mut().unwrap().current = Some(path("a"));
    assert_eq!(work(ui.keys("<ctrl+d>")), []);
    assert!(ui.screen().contains("this session is open"));
    assert_eq!(work(ui.keys("<enter>")), []);
    assert_eq!(ui.state.surface.popup, None);
}

#[test]
fn the_preview_follows_the_selection_and_late_ones_are_left_out() {
    let mut ui = with(three());
    let previews = |ui: &mut Ui| -> Vec<PathBuf> {
        let of = |effect| match effect {
            Effect::Shelf(Work::Preview { path }) => Some(path),
            _ => None,
        };
        ui.effects().into_iter().filter_map(of).collect()
    };
    assert_eq!(previews(ui.keys("<down>")), [path("b")]);
    let said = |id: &str, text: &str| {
        let said = Ok(vec![Quote { role: Role::User, text: text.into() }]);
        Action::Shelf(Box::new(News::Preview { path: path(id), said }))
    };
    ui.act(said("a", "words of a"));
    assert!(!ui.screen().contains("words of a"));
    ui.act(said("b", "words of \u{1b}[31mb"));
    assert!(ui.screen().contains("words of ␛[31mb"), "control codes are shown, not done");
}

#[test]
fn closing_ends_the_work_and_so_do_news_for_nobody() {
    let mut ui = with(three());
    assert_eq!(work(ui.keys("<esc>")), [Work::Stop]);
    assert_eq!(work(ui.act(rows(1, three(), false))), [Work::Stop]);
}

#[test]
fn hostile_names_reach_the_screen_as_plain_text() {
    let name = "evil\u{1b}]0;title\u{7}\u{202e}\n\tname";
    let long = "界".repeat(5_000);
    let mut ui = with(vec![named("a", 3, name), named("b", 2, &long)]);
    let screen = ui.screen();
    assert!(screen.contains("evil") && !screen.contains('\u{1b}') && !screen.contains('\u{202e}'));
    for size in [(40, 10), (20, 5), (1, 1), (300, 3), (110, 20)] {
        ui.resize(size.0, size.1);
    }
}

#[test]
fn five_thousand_sessions_scroll_and_filter_to_the_right_one() {
    let many = (0..5_000).map(|n| listed(&format!("s{n}"), n, &format!("prompt {n}"))).collect();
    let mut ui = with(many);
    ui.keys("<pgdn><pgdn><down>");
    let at = picker(&ui).selected_at();
    assert_eq!(selected(&ui), format!("s{}", 4_999 - at));
    assert!(ui.screen().contains(&format!("> prompt {}", 4_999 - at)));
    ui.keys("<ctrl+end>");
    assert_eq!(selected(&ui), "s0");
    ui.keys("4321");
    assert_eq!(shown(&ui), ["s4321"]);
}

#[derive(Debug, Clone)]
enum Step {
    Key(&'static str),
    Rows(Vec<(u8, u8)>),
    Gone(u8),
}

fn step() -> impl Strategy<Value = Step> {
    let keys = ["<up>", "<down>", "<pgdn>", "<ctrl+s>", "<ctrl+n>", "p", "<backspace>"];
    prop_oneof![
        prop::sample::select(keys.to_vec()).prop_map(Step::Key),
        prop::collection::vec((0..20_u8, any::<u8>()), 0..6).prop_map(Step::Rows),
        (0..20_u8).prop_map(Step::Gone),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..Default::default() })]

    /// After a move, whatever arrives, the same session is selected as long as it shows.
    #[test]
    fn what_arrives_never_changes_the_selected_session(steps in prop::collection::vec(step(), 1..40)) {
        let mut ui = sized(60, 14, three());
        ui.keys("<down>");
        for step in steps {
            let before = selected(&ui);
            match step {
                Step::Key(keys) => {
                    ui.keys(keys).keys("<down>");
                    continue;
                }
                Step::Rows(new) => {
                    let new = new.iter().map(|(id, hours)| {
                        listed(&format!("r{id}"), i64::from(*hours), "p")
                    });
                    ui.act(rows(1, new.collect(), true));
                }
                Step::Gone(id) => {
                    let path = path(&format!("r{id}"));
                    let news = News::Removed { path, outcome: Ok(()) };
                    ui.act(Action::Shelf(Box::new(news)));
                }
            }
            ui.draw();
            if shown(&ui).contains(&before) {
                prop_assert_eq!(selected(&ui), before);
            }
        }
    }
}

fn snapshot(name: &str, build: impl Fn(&mut Ui), fact: &str) {
    for (columns, rows_of_screen) in [(160, 45), (100, 30), (80, 24)] {
        let child = Listed {
            parent_session: Some(path("b").display().to_string()),
            ..listed("d", 97, "try constant time")
        };
        let mut sessions = three();
        sessions.extend([child, Listed { is_whole: false, ..named("e", 20, "a long one") }]);
        let mut ui = sized(columns, rows_of_screen, sessions);
        build(&mut ui);
        let screen = ui.screen();
        assert!(screen.contains(fact), "{name} at {columns}x{rows_of_screen}:\n{screen}");
        assert_eq!(ui.screen(), screen, "drawing twice is equal");
        insta::assert_snapshot!(format!("{name}_{columns}x{rows_of_screen}"), screen);
        for (columns, rows) in [(40, 10), (20, 5), (1, 1), (3, 2), (300, 2), (2, 100)] {
            ui.resize(columns, rows);
        }
    }
}

#[test]
fn the_picker_at_three_sizes() {
    let said = |ui: &mut Ui| {
        let said = vec![
            Quote { role: Role::User, text: "try constant time".into() },
            Quote {
                role: Role::Assistant,
                text: "Done, the tests pass.\nNothing else changed.".into(),
            },
        ];
        let path = picker(ui).selected().unwrap().listed.path.clone();
        ui.act(Action::Shelf(Box::new(News::Preview { path, said: Ok(said) })));
    };
    snapshot("picker", said, "Nothing else changed.");
    snapshot(
        "picker_threaded",
        |ui| drop(ui.keys("<ctrl+s><ctrl+p>").effects()),
        "└ try constant time",
    );
    snapshot(
        "picker_remove",
        |ui| drop(ui.keys("<ctrl+d>").effects()),
        "to the trash?   y yes   n no",
    );
}

#[test]
fn only_the_picker_itself_is_open_after_it_was_called() {
    let mut ui = Ui::new(100, 30);
    ui.keys("/resume<enter>");
    assert_eq!(ui.state.surface.popup, Some(Popup::Sessions));
}
