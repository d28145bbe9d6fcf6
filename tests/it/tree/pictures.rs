//! The tree at three sizes as snapshots, each with a fact in words.

use harness_tui::ui::theme::Theme;

use super::{forked, joined, read};
use crate::support::trees::Lines;
use crate::support::ui::Ui;

const SIZES: [(u16, u16); 3] = [(160, 45), (100, 30), (80, 24)];

/// Every kind of row: a label, a summary, a compaction, a run of steps, an edit, a lost parent.
fn everything() -> Lines {
    let mut lines = forked();
    lines.label("l1", "a5", "a3", "enum version");
    lines.call("c6", "l1", "edit", "src/auth.rs").edited("r6", "c6", "-1 old\n+1 new\n");
    lines.answer("a6", "r6", "edited it");
    let summary = serde_json::json!({
        "type": "branch_summary", "fromId": "a4", "summary": "the enum is 12% faster"
    });
    lines.entry("s1", "a6", summary);
    let compaction = serde_json::json!({
        "type": "compaction", "summary": "files were listed", "tokensBefore": 9_000,
        "firstKeptEntryId": "u5"
    });
    lines.entry("k1", "s1", compaction);
    lines.user("u9", "a1", "never answered").answer("o1", "gone", "an orphan");
    lines.leaf("l9", "k1");
    lines
}

/// A screen at the three sizes, painted twice, and at sizes where only "no panic" counts.
fn check(name: &str, keys: &str, fact: impl Fn(&str) -> bool) {
    for size in SIZES {
        let mut ui = joined(&everything(), size);
        ui.keys(keys);
        read(&mut ui);
        let screen = ui.screen();
        assert!(fact(&screen), "{name} at {size:?}:\n{screen}");
        assert_eq!(ui.screen(), screen, "drawing twice is equal");
        insta::assert_snapshot!(format!("{name}_{}x{}", size.0, size.1), screen);
        for (columns, rows) in [(40, 10), (20, 5), (1, 1), (0, 0), (300, 2), (2, 100)] {
            ui.resize(columns, rows);
        }
        let row = ui.state.surface.tree.selected_row();
        ui.resize(size.0, size.1);
        assert_eq!(ui.state.surface.tree.selected_row(), row);
    }
}

#[test]
fn the_tree_marks_what_a_person_looks_for() {
    check("tree", "<f2>", |screen| {
        let marks = ["[enum version]", "branch summary", "compaction", "± edit src/auth.rs", "◀"];
        let wide = ["unfinished", "(recovered)"];
        let tall = screen.lines().count() > 40;
        marks.iter().chain(wide.iter().filter(|_| tall)).all(|mark| screen.contains(mark))
    });
}

#[test]
fn the_question_before_a_jump_shows_its_four_ways() {
    check("tree_go", "<f2>g<enter>", |screen| {
        screen.contains("1 no summary") && screen.contains("4 in your own words")
    });
}

#[test]
fn two_branches_stand_side_by_side() {
    check("tree_compare", "<f2>/done: a trait<enter><esc>dd", |screen| {
        screen.contains("parted after: there are two files") && screen.contains("done: a trait")
    });
}

#[test]
fn in_plain_letters_every_mark_is_still_there() {
    let mut ui = joined(&everything(), (80, 24));
    ui.state.look.ascii = true;
    ui.state.look.theme = Theme::named("dark").with_ascii(true);
    ui.keys("<f2>");
    let screen = ui.screen();
    assert!(screen.contains("> ") && screen.contains("= compaction"), "{screen}");
    let pane: String = screen.lines().skip(1).take(16).collect();
    assert!(pane.is_ascii(), "{screen}");
}

#[test]
fn the_tree_goes_on_while_a_turn_runs() {
    let mut ui: Ui = joined(&everything(), (100, 30));
    ui.keys("<f2>").turn().answering().text("half");
    assert!(ui.screen().contains("working"));
    assert!(ui.screen().contains("┌ Tree"));
}
