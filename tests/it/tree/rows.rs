//! What is listed, in which order, how far in; filters, folds and the search.

use harness_tui::harness::{CallKey, Event};
use harness_tui::message::Message;
use harness_tui::session::{Body, Flush, Kind, Marks, Node, Role};
use harness_tui::ui::action::Action;
use harness_tui::ui::tree::Filter;
use harness_tui::ui::tree::entries::Class;
use pretty_assertions::assert_eq;

use super::{SIZE, forked, joined, list, opened, read, selected};
use crate::support::trees::Lines;

#[test]
fn the_active_branch_comes_first_and_only_branch_points_move_in() {
    let mut ui = opened(&forked());
    let rows = list(&mut ui);
    let expected = [
        "• you list the source files",
        "• ⚙ bash src",
        "• ◆ there are two files",
        "├⊟ • you write the changelog",
        "› │     • ◆ wrote the entry",
        "├⊟ you refactor a.rs with a trait",
        "│     ◆ done: a trait",
        "└⊟ you refactor a.rs with an enum",
        "◆ done: an enum",
        "you benchmark it",
        "◆ it is faster",
    ];
    assert_eq!(rows.len(), expected.len(), "{rows:#?}");
    for (row, begins) in rows.iter().zip(expected) {
        assert!(row.starts_with(begins), "{row} does not begin with {begins}");
    }
    assert!(rows[4].ends_with("◀"), "the leaf is marked");
    assert!(rows[3].contains("1.2k $0.02"), "what the branch cost: {}", rows[3]);
}

#[test]
fn the_line_of_an_open_branch_passes_by_what_hangs_from_it() {
    let mut ui = opened(&forked());
    let rows = list(&mut ui);
    let row = rows.iter().find(|row| row.contains("done: a trait")).unwrap();
    assert_eq!(row, "│     ◆ done: a trait");
}

#[test]
fn the_leaf_is_selected_when_the_tree_opens_and_a_record_gives_way_to_what_it_follows() {
    let mut ui = opened(&forked());
    assert!(selected(&mut ui).contains("wrote the entry"));
    let mut lines = forked();
    lines.model("m1", "a5", "other");
    let mut ui = opened(&lines);
    assert!(selected(&mut ui).contains("wrote the entry"), "the leaf is a change of the model");
}

#[test]
fn a_jump_is_followed_and_its_marker_never_shows() {
    let mut lines = forked();
    lines.leaf("l1", "a3");
    let mut ui = opened(&lines);
    assert!(selected(&mut ui).contains("done: an enum"));
    ui.keys("5");
    assert!(list(&mut ui).iter().all(|row| !row.contains("[leaf]")));
    let rows = list(&mut ui);
    let first = rows.iter().position(|row| row.contains("with an enum")).unwrap();
    let other = rows.iter().position(|row| row.contains("write the changelog")).unwrap();
    assert!(first < other, "the active branch comes first");
}

fn node(kind: Kind, role: Option<Role>, marks: Marks) -> Node {
    Node {
        id: "x".into(),
        parent: None,
        recovered: false,
        kind,
        role,
        offset: 0,
        len: 0,
        preview: "".into(),
        time_ms: 0,
        marks,
        spent: None,
    }
}

#[test]
fn an_answer_of_calls_only_is_told_apart_unless_it_went_wrong() {
    let calls = Marks { calls_only: true, ..Marks::default() };
    let failed = Marks { failed: true, ..calls };
    let of = |marks| Class::of(&node(Kind::Message, Some(Role::Assistant), marks));
    assert_ne!(of(calls), of(Marks::default()));
    assert_eq!(of(failed), of(Marks::default()));
    assert_eq!(of(Marks { aborted: true, ..calls }), of(Marks::default()));
    assert_eq!(of(Marks { cut: true, ..calls }), of(Marks::default()));
    let usage = Class::of(&node(Kind::Usage, None, Marks::default()));
    assert!(usage.is_record());
    assert!(!of(calls).is_record());
}

#[test]
fn every_filter_lists_its_kind_and_a_second_press_goes_back() {
    let mut lines = forked();
    lines.label("l1", "a5", "a2", "trait").record("j1", "l1").model("m1", "j1", "big");
    let mut ui = opened(&lines);
    let count = |ui: &mut crate::support::ui::Ui| list(ui).len();
    let default = count(&mut ui);
    ui.keys("3");
    let rows = list(&mut ui);
    assert_eq!(rows.len(), 5, "{rows:?}");
    assert!(rows.iter().all(|row| row.contains("you ")));
    ui.keys("4");
    assert_eq!(count(&mut ui), 1);
    assert!(list(&mut ui)[0].contains("[trait] ◆ done: a trait"));
    ui.keys("5");
    assert!(list(&mut ui).iter().any(|row| row.contains("[record] harness-tui.turn")));
    ui.keys("2");
    assert!(list(&mut ui).iter().all(|row| !row.contains("⚙")));
    ui.keys("2");
    assert_eq!(count(&mut ui), default);
    assert_eq!(ui.state.surface.tree.filter(), Filter::Default);
}

#[test]
fn the_selection_survives_filters_and_falls_to_the_nearest_ancestor_that_shows() {
    let mut ui = opened(&forked());
    ui.keys("/enum<enter>g");
    ui.keys("<esc>");
    assert!(selected(&mut ui).contains("refactor a.rs with an enum"));
    ui.keys("j");
    assert!(selected(&mut ui).contains("done: an enum"));
    ui.keys("3");
    assert!(selected(&mut ui).contains("refactor a.rs with an enum"));
    ui.keys("4");
    assert_eq!(list(&mut ui), ["nothing in this filter"]);
    ui.keys("1");
    assert!(selected(&mut ui).contains("done: an enum"), "back where it was");
}

#[test]
fn a_fold_hides_the_subtree_and_keeps_the_folds_inside() {
    let mut ui = opened(&forked());
    ui.keys("/with an enum<enter><esc>");
    // The only match was selected by nothing; go to its row.
    while !selected(&mut ui).contains("with an enum") {
        ui.keys("j");
    }
    ui.keys("<space>");
    assert!(selected(&mut ui).starts_with("└⊞ you refactor a.rs with an enum"));
    let folded = list(&mut ui).join("\n");
    assert!(!folded.contains("it is faster"));
    ui.keys("g<left>");
    assert_eq!(list(&mut ui).len(), 1, "the root hides everything");
    ui.keys("<right>");
    assert_eq!(list(&mut ui).join("\n").contains("it is faster"), false, "still folded inside");
    ui.keys("3");
    let rows = list(&mut ui).join("\n");
    assert!(rows.contains("benchmark it"), "a filter clears the folds: {rows}");
}

#[test]
fn left_goes_to_the_start_of_the_segment_and_right_to_the_next_branch() {
    let mut ui = opened(&forked());
    ui.keys("g<right>");
    assert!(selected(&mut ui).contains("write the changelog"));
    ui.keys("]");
    assert!(selected(&mut ui).contains("wrote the entry"), "the end of the chain");
    ui.keys("[");
    assert!(selected(&mut ui).contains("write the changelog"));
    ui.keys("[");
    assert!(selected(&mut ui).starts_with("├⊞"), "at the start it folds");
}

#[test]
fn moving_wraps_by_rows_and_stops_by_pages() {
    let mut ui = opened(&forked());
    ui.keys("gk");
    assert!(selected(&mut ui).contains("it is faster"));
    ui.keys("j");
    assert!(selected(&mut ui).contains("list the source files"));
    ui.keys("<pgup>");
    assert!(selected(&mut ui).contains("list the source files"));
    ui.keys("G<pgdn>");
    assert!(selected(&mut ui).contains("it is faster"));
}

#[test]
fn a_search_takes_every_word_in_labels_roles_and_first_words() {
    let mut lines = forked();
    lines.label("l1", "a5", "a2", "Trait Version");
    let mut ui = opened(&lines);
    ui.keys("/TRAIT version");
    assert_eq!(list(&mut ui).len(), 1);
    assert!(list(&mut ui)[0].contains("done: a trait"));
    ui.keys("<ctrl+u>user refactor");
    assert_eq!(list(&mut ui).len(), 2);
    ui.keys("<ctrl+u>nowhere");
    read(&mut ui);
    assert_eq!(list(&mut ui), ["nothing matches"]);
    assert!(ui.screen().contains("0 found"));
    ui.keys("<esc>");
    assert!(selected(&mut ui).contains("wrote the entry"), "kept across an empty result");
    assert!(ui.screen().contains("[Tree]"), "the first esc ended the search only");
    ui.keys("<esc>");
    assert!(ui.screen().contains("[Conversation]"));
}

#[test]
fn a_search_finds_what_a_tool_printed_far_behind_its_first_words() {
    let mut lines = forked();
    let output = format!("{}needle in the output", "hay ".repeat(400));
    lines.call("c9", "a5", "bash", "x").result("r9", "c9", "bash", &output);
    let mut ui = opened(&lines);
    ui.keys("/NEEDLE");
    assert!(ui.screen().contains("searching…"));
    assert_eq!(list(&mut ui), ["nothing matches"]);
    read(&mut ui);
    assert_eq!(list(&mut ui).len(), 1);
    assert!(ui.screen().contains("1 found"));
    assert!(!ui.screen().contains("searching"));
}

#[test]
fn results_of_an_older_query_are_dropped() {
    let mut ui = opened(&forked());
    ui.keys("/faster");
    let old = ui.effects();
    ui.keys("<ctrl+u>changelog");
    for effect in old {
        if let harness_tui::ui::action::Effect::Read(job) = effect {
            let done = job.run(ui.state.tree.as_ref().unwrap());
            ui.act(Action::Read(done));
        }
    }
    read(&mut ui);
    let rows = list(&mut ui).join("\n");
    assert!(rows.contains("changelog") && !rows.contains("it is faster"), "{rows}");
}

/// A question, three reads in a row, an answer.
fn steps() -> Lines {
    let mut lines = Lines::new();
    lines.user("u", "", "look");
    for (n, file) in ["one", "two", "three"].into_iter().enumerate() {
        let parent = if n == 0 { "u".to_owned() } else { format!("r{}", n - 1) };
        let (call, result) = (format!("c{n}"), format!("r{n}"));
        lines.call(&call, &parent, "read", file).result(&result, &call, "read", "text");
    }
    lines
}

#[test]
fn tool_steps_that_follow_each_other_are_one_row_until_it_is_opened() {
    let mut lines = steps();
    lines.answer("a", "r2", "seen");
    let mut ui = opened(&lines);
    assert_eq!(list(&mut ui).len(), 3);
    ui.keys("k");
    assert!(selected(&mut ui).contains("⚙ 3 tool steps"));
    ui.keys("<space>");
    assert_eq!(list(&mut ui).len(), 5);
    ui.keys("jj");
    assert!(selected(&mut ui).contains("⚙ read three"));
    ui.keys("<space>");
    assert!(selected(&mut ui).contains("⚙ 3 tool steps"));
    ui.keys("/tool");
    assert_eq!(list(&mut ui).len(), 3, "a search lists them one by one");
}

#[test]
fn an_answer_of_calls_only_shows_at_the_leaf_alone_and_gives_way_when_the_turn_goes_on() {
    let mut lines = steps();
    lines.call("c9", "r2", "read", "four");
    let mut ui = opened(&lines);
    assert!(selected(&mut ui).contains("◆ read four"));
    let mut session = lines.session();
    let mut ui2 = joined(&lines, SIZE);
    ui2.act(Action::Tree(Box::new(session.tree()))).keys("<f2>");
    grown(&mut ui2, &mut session, "next");
    assert!(!list(&mut ui2).join("\n").contains("◆"));
    assert!(selected(&mut ui2).contains("next"));
}

#[test]
fn a_label_stands_out_of_a_run() {
    let mut lines = steps();
    lines.label("l", "r2", "r1", "here");
    let mut ui = opened(&lines);
    let rows = list(&mut ui);
    assert_eq!(rows.len(), 4);
    assert!(rows[2].contains("[here] ⚙ read two"));
}

#[test]
fn several_roots_stand_side_by_side_and_a_lost_parent_makes_one() {
    let mut lines = forked();
    lines.user("v1", "", "a second root").answer("w1", "v1", "its answer");
    lines.answer("o1", "gone", "an orphan").leaf("l", "a5");
    let mut ui = opened(&lines);
    ui.keys("G");
    let rows = list(&mut ui);
    let roots: Vec<&String> =
        rows.iter().filter(|row| row.contains("root") || row.contains("orphan")).collect();
    assert_eq!(roots.len(), 2, "{rows:?}");
    assert!(rows.last().unwrap().contains("(recovered) ◆ an orphan"), "{rows:?}");
}

#[test]
fn a_turn_without_an_answer_is_marked_as_unfinished() {
    let mut lines = forked();
    lines.user("u9", "a1", "never answered").leaf("l", "a5");
    let mut ui = opened(&lines);
    let rows = list(&mut ui);
    let row = rows.iter().find(|row| row.contains("never answered")).unwrap();
    assert!(row.ends_with("unfinished"), "{row}");
    assert_eq!(rows.iter().filter(|row| row.contains("unfinished")).count(), 1);
}

#[test]
fn the_label_times_are_shown_when_asked_for() {
    let mut lines = forked();
    lines.label("l1", "a5", "a2", "trait");
    let mut ui = opened(&lines);
    ui.keys("T");
    read(&mut ui);
    let rows = list(&mut ui).join("\n");
    assert!(rows.contains("[trait 26/11/30] ◆ done: a trait"), "{rows}");
    ui.keys("T");
    assert!(list(&mut ui).join("\n").contains("[trait] ◆"));
}

fn grown(ui: &mut crate::support::ui::Ui, session: &mut harness_tui::session::Session, text: &str) {
    let message = Message::user(text, 0);
    let body = Body::Message { message, harness: None };
    session.append(vec![body], Flush::Lazy).unwrap();
    ui.act(Action::Tree(Box::new(session.tree())));
}

#[test]
fn what_is_appended_shows_at_once_and_the_selection_follows_only_from_the_leaf() {
    let mut session = forked().session();
    let mut ui = joined(&forked(), SIZE);
    ui.act(Action::Tree(Box::new(session.tree())));
    ui.keys("<f2>");
    grown(&mut ui, &mut session, "the next question");
    assert!(selected(&mut ui).contains("the next question"));
    ui.keys("g");
    grown(&mut ui, &mut session, "and another");
    assert!(selected(&mut ui).contains("list the source files"), "it stays where it was put");
    assert!(list(&mut ui).join("\n").contains("and another"));
}

#[test]
fn deep_rows_pan_so_that_their_words_show_and_the_cursor_stays() {
    let mut lines = Lines::new();
    lines.user("n0", "", "bottom 0");
    for n in 1..40 {
        let (id, parent) = (format!("n{n}"), format!("n{}", n - 1));
        lines.user(&format!("s{n}"), &parent, "side");
        lines.user(&id, &parent, &format!("level {n} of many"));
    }
    let mut ui = opened(&lines);
    assert!(selected(&mut ui).contains("level 39 of many"));
    assert!(list(&mut ui).iter().any(|row| row.starts_with("› ")));
    ui.keys("g");
    assert!(list(&mut ui)[0].contains("bottom 0"), "and back");
}

#[test]
fn hostile_and_wide_words_stay_in_their_row() {
    let mut lines = Lines::new();
    let wide = "日本語の長いラベル".repeat(20);
    lines.user("u", "", &format!("\u{1b}[31mred\u{202e} {wide} 👨‍👩‍👧‍👦")).answer("a", "u", &wide);
    lines.label("l", "a", "u", &wide);
    for size in [(40, 10), (41, 12), (100, 30), (160, 45)] {
        let mut ui = joined(&lines, size);
        ui.keys("<f2>T/a<enter>");
        read(&mut ui);
        let screen = ui.screen();
        assert!(!screen.contains('\u{1b}') && !screen.contains('\u{202e}'));
        for row in screen.lines() {
            assert!(harness_tui::text::width::swidth(row) <= usize::from(size.0), "{row}");
        }
    }
}

#[test]
fn the_pane_shows_the_selected_entry_in_full_when_there_is_room() {
    let mut lines = forked();
    let long = format!("{} and its very end", "word ".repeat(30));
    lines.answer("a9", "a5", &long);
    let mut ui = joined(&lines, (100, 40));
    ui.keys("<f2>");
    read(&mut ui);
    assert!(ui.screen().contains("its very end"), "{}", ui.screen());
}

#[test]
fn what_runs_while_the_tree_is_open_does_not_take_its_place() {
    let mut ui = joined(&forked(), (100, 30));
    ui.keys("<f2>").turn();
    let key = CallKey { turn: "t1".into(), step: 1, ordinal: 0 };
    ui.event(Event::ToolExecutionUpdate { key, partial_result: "x".into() });
    ui.runs(0, "bash", "ls", serde_json::json!({}));
    assert!(ui.screen().contains("┌ Tree"));
}
