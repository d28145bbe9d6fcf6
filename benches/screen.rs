//! The screen without a terminal: nothing it does may grow with the conversation, joining one
//! neither, since only its end and the pages around the reader are loaded.

#![expect(clippy::expect_used, reason = "a bench that cannot run has nothing to tell")]

mod support;
#[path = "../tests/it/support/ui.rs"]
#[expect(dead_code, reason = "the tests' driver; a bench needs a part of it")]
mod ui;

use divan::Bencher;
use harness_tui::harness::Snapshot;
use harness_tui::session::{Stretch, TreeView};
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

/// The state of an engine on a conversation, which is kept on the disk.
struct Conversation {
    _stored: Stored,
    tree: TreeView,
}

impl Conversation {
    fn new(entries: usize) -> Self {
        let stored = Stored::new(entries);
        let tree = stored.open().tree();
        Self { _stored: stored, tree }
    }

    fn joined(&self) -> Action {
        let last = self.tree.leaf.expect("a leaf");
        let page = self.tree.reader.last_page(Stretch { above: None, last }).expect("a page");
        let tree = self.tree.clone();
        Action::Joined(Box::new(Snapshot {
            branch: page.entries,
            older: page.above,
            tree,
            ..ui::snapshot()
        }))
    }

    /// A whole frame, with the page that the last one asked for.
    fn draw(&self, ui: &mut Ui) {
        ui.draw();
        if let Some(job) = ui.state.transcript.take_page_job() {
            ui.act(Action::Paged(Box::new(job.run(&self.tree.reader))));
        }
    }
}

/// A screen in the middle of an answer, below a conversation.
fn answering(entries: usize) -> Ui {
    let mut ui = Ui::new(SIZE.0, SIZE.1);
    ui.act(Conversation::new(entries).joined()).turn().answering().text(&paragraph(0)).draw();
    ui
}

#[divan::bench(args = SIZES, max_time = 3)]
fn load(bencher: Bencher<'_, '_>, entries: usize) {
    let conversation = Conversation::new(entries);
    let mut ui = Ui::new(SIZE.0, SIZE.1);
    bencher.bench_local(|| ui.act(conversation.joined()).draw());
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

/// Wheel steps through the conversation and back to its end, with the pages they need.
#[divan::bench(args = SIZES, max_time = 3)]
fn scroll_step(bencher: Bencher<'_, '_>, entries: usize) {
    let conversation = Conversation::new(entries);
    let mut ui = Ui::new(SIZE.0, SIZE.1);
    ui.act(conversation.joined()).draw();
    let mut steps = [[-3; 200], [3; 200]].concat().into_iter().cycle();
    bencher.bench_local(|| {
        let rows = steps.next().expect("a cycle has no end");
        ui.act(Action::Wheel { rows, column: 10, row: 10 });
        conversation.draw(&mut ui);
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
