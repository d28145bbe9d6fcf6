//! The screen without a terminal: what a delta, a key and a scroll cost must not grow with the
//! conversation; loading one may.

#![expect(clippy::expect_used, reason = "a bench that cannot run has nothing to tell")]

mod support;
#[path = "../tests/it/support/ui.rs"]
#[expect(dead_code, reason = "the tests' driver; a bench needs a part of it")]
mod ui;

use std::sync::Arc;

use divan::Bencher;
use harness_tui::harness::Snapshot;
use harness_tui::session::Entry;
use harness_tui::ui::action::Action;

use support::{SIZES, Stored, paragraph};
use ui::Ui;

/// The terminal of all measurements.
const SIZE: (u16, u16) = (120, 40);
/// Deltas of the streamed answer, and those of one frame: 250 a second, 60 frames a second.
const DELTAS: usize = 3_000;
const DELTAS_A_FRAME: usize = 4;
/// Bytes of one delta; all of them are 60 KB.
const DELTA_BYTES: usize = 20;

fn main() {
    divan::main();
}

fn branch(entries: usize) -> Vec<Arc<Entry>> {
    Stored::new(entries).open().branch().expect("the branch")
}

fn joined(branch: &[Arc<Entry>]) -> Action {
    Action::Joined(Box::new(Snapshot { branch: branch.to_vec(), ..ui::snapshot() }))
}

/// A screen in the middle of an answer, below a conversation.
fn answering(entries: usize) -> Ui {
    let mut ui = Ui::new(SIZE.0, SIZE.1);
    ui.act(joined(&branch(entries))).turn().answering().text(&paragraph(0)).draw();
    ui
}

#[divan::bench(args = SIZES, max_time = 3)]
fn load(bencher: Bencher<'_, '_>, entries: usize) {
    let branch = branch(entries);
    let mut ui = Ui::new(SIZE.0, SIZE.1);
    bencher.with_inputs(|| joined(&branch)).bench_local_values(|joined| ui.act(joined).draw());
}

#[divan::bench(args = SIZES, max_time = 3)]
fn delta_and_frame(bencher: Bencher<'_, '_>, entries: usize) {
    let mut ui = answering(entries);
    bencher.bench_local(|| ui.wait(16).text("a word and one more ").draw());
}

/// One key in the composer, with the delta that came in the meantime.
#[divan::bench(args = SIZES, max_time = 3)]
fn key_amid_deltas(bencher: Bencher<'_, '_>, entries: usize) {
    let mut ui = answering(entries);
    let keys = [ui::chords("a"), ui::chords("<backspace>")].concat();
    let mut keys = keys.iter().cycle();
    bencher.bench_local(|| {
        let key = keys.next().expect("a cycle has no end");
        ui.wait(80).text("a word and one more ").act(Action::Key(*key)).draw();
    });
}

/// Wheel steps through the conversation and back to its end.
#[divan::bench(args = SIZES, max_time = 3)]
fn scroll_step(bencher: Bencher<'_, '_>, entries: usize) {
    let mut ui = answering(entries);
    let mut steps = [[-3; 200], [3; 200]].concat().into_iter().cycle();
    bencher.bench_local(|| {
        let rows = steps.next().expect("a cycle has no end");
        ui.act(Action::Wheel { rows, column: 10, row: 10 }).draw();
    });
}

/// A whole answer of 60 KB in Markdown, as fast as it can be shown.
#[divan::bench(sample_count = 5)]
fn stream_3000_deltas(bencher: Bencher<'_, '_>) {
    let text: String = (0..).map(paragraph).take(DELTAS * DELTA_BYTES / 200).collect();
    let deltas: Vec<&str> =
        (0..DELTAS).map(|n| &text[n * DELTA_BYTES..(n + 1) * DELTA_BYTES]).collect();
    bencher.with_inputs(|| answering(100)).bench_local_values(|mut ui| {
        for frame in deltas.chunks(DELTAS_A_FRAME) {
            for delta in frame {
                ui.text(delta);
            }
            ui.wait(16).draw();
        }
        ui
    });
}
