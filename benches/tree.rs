//! The tree pane: opening it is linear, a key stays within a frame at 100,000 entries, and an entry
//! at the leaf costs a row.

#![expect(clippy::expect_used, reason = "a bench that cannot run has nothing to tell")]

#[path = "../tests/it/support/trees.rs"]
#[expect(dead_code, reason = "the tests' trees; a bench needs two of them")]
mod trees;
#[path = "../tests/it/support/ui.rs"]
#[expect(dead_code, reason = "the tests' driver; a bench needs a part of it")]
mod ui;

use divan::Bencher;
use harness_tui::harness::Snapshot;
use harness_tui::message::Message;
use harness_tui::session::{Body, Flush, TreeView};
use harness_tui::ui::action::{Action, Effect};

use ui::Ui;

/// Entries of the sizes that tell flat from linear.
const SIZES: [usize; 3] = [1_000, 10_000, 100_000];
/// The terminal of all measurements.
const SIZE: (u16, u16) = (120, 40);
/// One chain, and ten entries a branch.
const SHAPES: [&str; 2] = ["chain", "branches"];

fn main() {
    divan::main();
}

fn lines(shape: &str, entries: usize) -> trees::Lines {
    if shape == "chain" { trees::chain(entries) } else { trees::branches(entries) }
}

fn cases() -> Vec<(&'static str, usize)> {
    SHAPES.iter().flat_map(|shape| SIZES.map(|size| (*shape, size))).collect()
}

fn joined(tree: &TreeView) -> Ui {
    let mut ui = Ui::new(SIZE.0, SIZE.1);
    ui.act(Action::Joined(Box::new(Snapshot { tree: tree.clone(), ..ui::snapshot() })));
    ui.draw();
    ui
}

/// The pane is open and what it reads beside the loop has come.
fn opened((shape, entries): (&str, usize)) -> Ui {
    let tree = lines(shape, entries).tree();
    let mut ui = joined(&tree);
    ui.keys("<f2>");
    for effect in ui.effects() {
        if let Effect::Read(job) = effect {
            ui.act(Action::Read(job.run(&tree)));
        }
    }
    ui
}

#[divan::bench(args = cases(), max_time = 3)]
fn open(bencher: Bencher<'_, '_>, (shape, entries): (&str, usize)) {
    let tree = lines(shape, entries).tree();
    bencher.with_inputs(|| joined(&tree)).bench_local_values(|mut ui| {
        ui.keys("<f2>");
        ui
    });
}

#[divan::bench(args = cases(), max_time = 3)]
fn move_and_frame(bencher: Bencher<'_, '_>, case: (&str, usize)) {
    let mut ui = opened(case);
    bencher.bench_local(|| _ = ui.keys("k"));
}

#[divan::bench(args = cases(), max_time = 3)]
fn fold_and_frame(bencher: Bencher<'_, '_>, case: (&str, usize)) {
    let mut ui = opened(case);
    ui.keys("g");
    bencher.bench_local(|| _ = ui.keys("<space>"));
}

#[divan::bench(args = cases(), max_time = 3)]
fn filter_and_frame(bencher: Bencher<'_, '_>, case: (&str, usize)) {
    let mut ui = opened(case);
    bencher.bench_local(|| _ = ui.keys("3"));
}

/// The letter that most entries hold, and esc: two keys.
#[divan::bench(args = cases(), max_time = 3)]
fn search_first_letter_and_end(bencher: Bencher<'_, '_>, case: (&str, usize)) {
    let mut ui = opened(case);
    bencher.bench_local(|| _ = ui.keys("/e<esc>"));
}

/// A letter typed and taken back: two keys.
#[divan::bench(args = cases(), max_time = 3)]
fn search_two_keys_and_frames(bencher: Bencher<'_, '_>, case: (&str, usize)) {
    let mut ui = opened(case);
    ui.keys("/an");
    bencher.bench_local(|| _ = ui.keys("s<backspace>"));
}

/// What the pane does while it is closed, once for a session.
#[divan::bench(args = cases(), max_time = 3)]
fn join(bencher: Bencher<'_, '_>, (shape, entries): (&str, usize)) {
    let tree = lines(shape, entries).tree();
    bencher.bench_local(|| joined(&tree));
}

/// The way from the root to the newest entry.
#[divan::bench(args = cases(), max_time = 1)]
fn path(bencher: Bencher<'_, '_>, (shape, entries): (&str, usize)) {
    let tree = lines(shape, entries).tree();
    bencher.bench_local(|| tree.index().path(tree.leaf));
}

/// Everything that was said, as the background reads it.
#[divan::bench(args = [1_000, 10_000], max_time = 3)]
fn search_bodies(bencher: Bencher<'_, '_>, entries: usize) {
    let tree = lines("chain", entries).tree();
    bencher.with_inputs(|| joined(&tree)).bench_local_values(|mut ui| {
        ui.keys("<f2>/needle");
        loop {
            let jobs = ui.effects();
            if jobs.is_empty() {
                return ui;
            }
            for job in jobs {
                if let Effect::Read(job) = job {
                    ui.act(Action::Read(job.run(&tree)));
                }
            }
        }
    });
}

#[divan::bench(args = cases(), max_time = 3)]
fn append_one_and_frame(bencher: Bencher<'_, '_>, (shape, entries): (&str, usize)) {
    let mut session = lines(shape, entries).session();
    let mut ui = joined(&session.tree());
    ui.keys("<f2>");
    bencher.bench_local(|| {
        let body = Body::Message { message: Message::user("more", 0), harness: None };
        session.append(vec![body], Flush::Lazy).expect("appended");
        ui.act(Action::Tree(Box::new(session.tree()))).draw();
    });
}
