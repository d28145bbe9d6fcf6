//! The tree by keyboard in the whole program: two branches, fold, filter, search, go, summarise,
//! label, compare, merge back, fork, and back again.

use crate::support::pty::{Place, Term};

const F2: &str = "\x1bOQ";

/// Puts the selection on the row that is found by these words.
async fn select(term: &mut Term, words: &str) {
    term.types("/").await;
    term.sees("enter list").await;
    term.types(words).await;
    term.until("found", |screen| screen.contains("found") && !screen.contains("searching")).await;
    term.types("\r").await;
    term.sees("enter go").await;
    term.types("\x1b").await;
    term.until("the search ends", |screen| !screen.contains(" found")).await;
    term.until("the row", |screen| {
        screen.lines().any(|row| row.contains('›') && row.contains(words))
    })
    .await;
}

async fn open_tree(term: &mut Term) {
    term.types(F2).await;
    term.sees("enter go").await;
}

#[tokio::test]
async fn the_tree_is_walked_from_end_to_end_by_keyboard() {
    let place = Place::new();
    std::fs::write(place.work.path().join("notes.txt"), "first line\n").unwrap();
    std::fs::write(place.work.path().join("other.txt"), "second text\n").unwrap();
    let mut term = place.start(&[], 40, 130);
    term.sees("? help").await;
    term.ask("read notes.txt", "first line").await;
    term.ask("read other.txt", "second text").await;

    // The first esc only says what a second one does.
    term.types("\x1b").await;
    term.sees("esc again opens the tree").await;
    term.types("\x1b").await;
    term.sees("┌ Tree").await;

    // Going before a message of one's own puts it into the composer and begins another branch.
    select(&mut term, "you read other").await;
    term.types("\r").await;
    term.sees("1 no summary").await;
    term.types("1").await;
    term.sees("> read other.txt").await;
    term.types("\x15").await;
    term.ask("find line", "notes.txt").await;

    look(&mut term).await;
    change(&mut term).await;
    leave(&mut term, &place).await;
}

/// Fold, filter, label, compare.
async fn look(term: &mut Term) {
    open_tree(term).await;
    term.sees("├").await;
    term.until("both branches", |screen| {
        screen.contains("you find line") && screen.contains("you read other.txt")
    })
    .await;

    // Fold, and unfold by a filter.
    select(term, "you read other").await;
    term.types(" ").await;
    term.sees("⊞").await;
    term.types("3").await;
    term.until("only prompts", |screen| screen.contains("user ·") && !screen.contains('⊞')).await;
    term.types("1").await;
    term.sees("default ·").await;

    // A label.
    term.types("l").await;
    term.sees("label; empty takes it away").await;
    term.types("my mark\r").await;
    term.sees("[my mark]").await;

    // Compare the node with the leaf.
    term.types("d").await;
    term.sees("(marked)").await;
    term.types("d").await;
    term.sees("parted after").await;
    term.types("\x1b").await;
    term.until("the comparison is closed", |screen| !screen.contains("parted after")).await;
}

/// Merge back, go with a summary, and come back.
async fn change(term: &mut Term) {
    // Bring the other branch here, in words of one's own.
    term.types("m").await;
    term.sees("in your own words").await;
    term.types("3").await;
    term.sees("what came of the branch").await;
    term.types("the other file was read\r").await;
    term.sees("brought here").await;
    term.until("the summary is a row", |screen| screen.contains("branch summary the other")).await;

    // Go to the other branch with a summary by the model.
    select(term, "read other.txt").await;
    term.types("j").await;
    term.types("s").await;
    term.sees("moved there").await;
    term.idle().await;
    open_tree(term).await;
    term.sees("branch summary").await;

    // And back.
    select(term, "you find line").await;
    term.types("\r").await;
    term.sees("1 no summary").await;
    term.types("1").await;
    term.sees("> find line").await;
    term.types("\x15").await;
}

/// A fork is a session of its own; then the end.
async fn leave(term: &mut Term, place: &Place) {
    open_tree(term).await;
    select(term, "you read other").await;
    let before = sessions(place);
    term.types("f").await;
    term.sees("> read other.txt").await;
    assert_eq!(sessions(place), before + 1);
    term.types("\x15").await;
    term.types("\x04").await;
    assert_eq!(term.ends().await, 0);
}

/// The session files there are.
fn sessions(place: &Place) -> usize {
    let mut count = 0;
    let mut folders = vec![place.home.path().join("data")];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "jsonl") {
                count += 1;
            }
        }
    }
    count
}
