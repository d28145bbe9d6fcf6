//! Text on its way to the screen: Markdown that grows, sanitising, differences.

#[expect(dead_code, clippy::expect_used, reason = "of the conversation its Markdown is needed")]
mod support;

use divan::Bencher;
use divan::counter::BytesCount;
use harness_tui::text::{diff, sanitize::sanitize};
use harness_tui::ui::highlight::Plain;
use harness_tui::ui::markdown::Document;
use harness_tui::ui::theme::Theme;

/// Deltas of one answer, and bytes of each: 60 KB.
const DELTAS: usize = 3_000;
const DELTA_BYTES: usize = 20;
const MEGABYTE: usize = 1 << 20;
/// Cells of a conversation on a screen of 120.
const WIDTH: usize = 116;
/// Every so many lines one is changed before two texts are compared.
const CHANGED_EVERY: usize = 97;

fn main() {
    divan::main();
}

fn markdown(bytes: usize) -> String {
    let mut text = String::new();
    for n in 0.. {
        if text.len() >= bytes {
            break;
        }
        text.push_str(&support::paragraph(n));
    }
    text.truncate(bytes);
    text
}

/// Laid out again after every delta, which is more often than frames come.
#[divan::bench(sample_count = 5)]
fn markdown_of_3000_deltas(bencher: Bencher<'_, '_>) {
    let (text, theme) = (markdown(DELTAS * DELTA_BYTES), Theme::named("dark"));
    bencher.bench_local(|| {
        let mut document = Document::default();
        for n in 1..=DELTAS {
            document.update(&text[..n * DELTA_BYTES], WIDTH, &theme, &Plain, n < DELTAS);
        }
        document
    });
}

#[divan::bench(sample_count = 20)]
fn markdown_at_once(bencher: Bencher<'_, '_>) {
    let (text, theme) = (markdown(DELTAS * DELTA_BYTES), Theme::named("dark"));
    bencher.counter(BytesCount::of_str(text.as_str())).bench_local(|| {
        let mut document = Document::default();
        document.update(&text, WIDTH, &theme, &Plain, false);
        document
    });
}

#[divan::bench]
fn sanitize_1_mb_clean(bencher: Bencher<'_, '_>) {
    let text = markdown(MEGABYTE);
    bencher.counter(BytesCount::of_str(text.as_str())).bench_local(|| sanitize(&text).len());
}

#[divan::bench]
fn sanitize_1_mb_with_escapes(bencher: Bencher<'_, '_>) {
    let text = "\x1b[31mred\x1b[0m and \x1b]0;title\x07 plain words\r\n".repeat(MEGABYTE / 43);
    bencher.counter(BytesCount::of_str(text.as_str())).bench_local(|| sanitize(&text).len());
}

/// One line in the middle of a file, as an edit does it.
#[divan::bench(args = support::SIZES, max_time = 3)]
fn diff_of_one_line(bencher: Bencher<'_, '_>, lines: usize) {
    let (old, new) = (file(lines, |_| false), file(lines, |n| n == lines / 2));
    bencher.bench_local(|| diff::whole(&old, &new, "file.rs"));
}

#[divan::bench(args = support::SIZES, max_time = 3)]
fn diff_of_scattered_lines(bencher: Bencher<'_, '_>, lines: usize) {
    let (old, new) = (file(lines, |_| false), file(lines, |n| n % CHANGED_EVERY == 0));
    bencher.bench_local(|| diff::whole(&old, &new, "file.rs"));
}

fn file(lines: usize, changed: impl Fn(usize) -> bool) -> String {
    let word = |n| if changed(n) { "new" } else { "old" };
    (0..lines).map(|n| format!("    let value_{n} = {}({n});\n", word(n))).collect()
}
