//! Large trees: one chain of 100,000 entries and 10,000 branches neither overflow nor slow down.

use super::{joined, list, read, selected};
use crate::support::trees::{branches, chain};

#[test]
fn a_chain_of_a_hundred_thousand_entries_opens_folds_filters_and_is_searched() {
    let mut ui = joined(&chain(100_000), (100, 30));
    ui.keys("<f2>");
    assert!(selected(&mut ui).contains("answer 99999"));
    ui.keys("g");
    assert!(selected(&mut ui).contains("question 0 about"));
    ui.keys("<space>");
    assert_eq!(list(&mut ui).len(), 1);
    ui.keys("<space>3");
    assert_eq!(ui.state.surface.tree.rows().len(), 25_000);
    ui.keys("1/answer 99995 explains");
    assert_eq!(ui.state.surface.tree.rows().len(), 1);
    read(&mut ui);
    ui.keys("<esc>G");
    assert!(selected(&mut ui).contains("answer 99999"));
}

#[test]
fn the_words_that_were_gathered_beside_the_loop_find_what_a_key_finds() {
    let lines = chain(10_000);
    let mut early = joined(&lines, (100, 30));
    early.keys("<f2>/answer 99 you");
    assert_eq!(early.state.surface.tree.rows().len(), 0);
    early.keys("<esc>/answer 999");
    let mut late = joined(&lines, (100, 30));
    late.keys("<f2>");
    read(&mut late);
    late.keys("/answer 999");
    let rows = |ui: &crate::support::ui::Ui| ui.state.surface.tree.rows().all().to_vec();
    // Every fourth entry is an answer: 999, 1999 to 9999, 9991 and 9995.
    assert_eq!(rows(&late).len(), 12);
    assert_eq!(rows(&early), rows(&late));
}

#[test]
fn ten_thousand_branches_stand_side_by_side() {
    let mut ui = joined(&branches(100_000), (100, 30));
    ui.keys("<f2>");
    assert_eq!(ui.state.surface.tree.rows().len(), 100_000);
    ui.keys("g<right>");
    assert!(selected(&mut ui).contains("try number 99991"), "the active branch comes first");
    ui.keys("<space>j");
    assert!(selected(&mut ui).contains("try number 1"));
    ui.keys("3/number 50001");
    assert_eq!(ui.state.surface.tree.rows().len(), 1);
}
