//! The session on the disk: opening is linear in its length, everything else must be flat.

#![expect(clippy::expect_used, reason = "a bench that cannot run has nothing to tell")]

mod support;

use divan::Bencher;
use harness_tui::session::{Body, Flush, request_view};

use support::{SIZES, Stored, message};

fn main() {
    divan::main();
}

fn next_entry() -> Vec<Body> {
    vec![Body::Message { message: message(0), harness: None }]
}

#[divan::bench(args = SIZES, max_time = 3)]
fn open(bencher: Bencher<'_, '_>, entries: usize) {
    let stored = Stored::new(entries);
    bencher.bench_local(|| stored.open());
}

/// The first context after opening: every body of the path is read and parsed.
#[divan::bench(args = SIZES, max_time = 3)]
fn open_and_context(bencher: Bencher<'_, '_>, entries: usize) {
    let stored = Stored::new(entries);
    bencher.bench_local(|| stored.open().context().expect("a context"));
}

#[divan::bench(args = SIZES, max_time = 3)]
fn append_one(bencher: Bencher<'_, '_>, entries: usize) {
    let stored = Stored::new(entries);
    let mut session = stored.open();
    bencher
        .with_inputs(next_entry)
        .bench_local_values(|entry| session.append(entry, Flush::Lazy).expect("appended"));
}

#[divan::bench(args = SIZES, max_time = 3)]
fn append_one_and_context(bencher: Bencher<'_, '_>, entries: usize) {
    let stored = Stored::new(entries);
    let mut session = stored.open();
    session.context().expect("a context");
    bencher.with_inputs(next_entry).bench_local_values(|entry| {
        session.append(entry, Flush::Lazy).expect("appended");
        // Not the context itself: whoever keeps one makes the next step copy it.
        session.context().expect("a context").messages.len()
    });
}

/// Everything that goes into one request: its messages, repaired.
#[divan::bench(args = SIZES, max_time = 3)]
fn view_of_a_path(bencher: Bencher<'_, '_>, entries: usize) {
    let context = Stored::new(entries).open().context().expect("a context");
    bencher.bench_local(|| request_view(&context));
}
