//! The session picker over 5,000 sessions: the list, a letter in the query, a look into all of them.

#![expect(clippy::expect_used, reason = "a bench that cannot run has nothing to tell")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use divan::{Bencher, black_box};
use harness_tui::harness::{Listed, Query, Scope};
use harness_tui::ports::Disk;
use harness_tui::session::{list, most_recent, scan, search};
use harness_tui::ui::line_input::LineInput;
use harness_tui::ui::sessions::Picker;

const SESSIONS: usize = 5_000;
/// Messages of each: a file of about 20 KB.
const MESSAGES: usize = 40;

fn main() {
    divan::main();
}

/// Sessions of 50 folders on the disk, gone when it is dropped.
fn shelf() -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a folder for the bench");
    for n in 0..SESSIONS {
        let folder = root.path().join(format!("--proj-{}--", n % 50));
        std::fs::create_dir_all(&folder).expect("a folder");
        let mut text = format!(
            "{{\"type\":\"session\",\"version\":3,\"id\":\"s{n}\",\"timestamp\":\"2026-01-01T00:00:00Z\",\"cwd\":\"/proj/{}\"}}\n",
            n % 50
        );
        for m in 0..MESSAGES {
            let role = ["user", "assistant", "toolResult", "assistant"][m % 4];
            let words = "where is the session opened and by whom ".repeat(10);
            text += &format!(
                "{{\"type\":\"message\",\"id\":\"{m}\",\"parentId\":null,\"message\":{{\"role\":\"{role}\",\"content\":[{{\"type\":\"text\",\"text\":\"{n} {words}\"}}],\"timestamp\":{}}}}}\n",
                n * 1_000 + m
            );
        }
        std::fs::write(folder.join(format!("{n}.jsonl")), text).expect("a session");
    }
    root
}

fn rows() -> Vec<Listed> {
    (0..SESSIONS)
        .map(|n| Listed {
            path: format!("/sessions/{n}.jsonl").into(),
            id: format!("0192-{n}").as_str().into(),
            cwd: format!("/proj/{}", n % 50),
            name: (n % 3 == 0).then(|| format!("name {n}")),
            parent_session: None,
            created_ms: 0,
            last_activity_ms: i64::try_from(n).unwrap_or_default(),
            message_count: 10,
            first_message: Some(format!("prompt {n}: where is the session opened, and by whom?")),
            is_whole: true,
        })
        .collect()
}

#[divan::bench(max_time = 3)]
fn list_of_all(bencher: Bencher<'_, '_>) {
    let root = shelf();
    bencher.bench_local(|| list(&Disk, root.path(), None));
}

#[divan::bench(max_time = 3)]
fn first_rows_of_a_scan(bencher: Bencher<'_, '_>) {
    let root = shelf();
    bencher.bench_local(|| {
        let stop = AtomicBool::new(false);
        let mut count = 0;
        scan(&Disk, root.path(), None, &stop, &mut |progress| {
            count += progress.rows.len();
            stop.store(count >= 40, std::sync::atomic::Ordering::Relaxed);
        });
        count
    });
}

#[divan::bench(max_time = 3)]
fn most_recent_of_a_folder(bencher: Bencher<'_, '_>) {
    let root = shelf();
    bencher.bench_local(|| most_recent(&Disk, root.path(), Path::new("/proj/7")));
}

#[divan::bench(max_time = 3)]
fn search_inside_all(bencher: Bencher<'_, '_>) {
    let root = shelf();
    let rows = list(&Disk, root.path(), None);
    let query = Query::parse("not-there \"session opened\"");
    bencher.bench_local(|| {
        search(&Disk, &rows, &query, &AtomicBool::new(false), &mut |searched| {
            black_box(searched);
        });
    });
}

#[divan::bench(max_time = 3)]
fn a_letter_in_the_query(bencher: Bencher<'_, '_>) {
    let mut picker = Picker::new(Scope::All, None);
    let _ = picker.load();
    let _ = picker.take_rows(1, rows(), (SESSIONS, SESSIONS), true);
    let texts = ["4", "49", "49 w", "49 whom"];
    let mut at = 0;
    bencher.bench_local(|| {
        at += 1;
        picker.input = LineInput::new(texts[at % texts.len()]);
        picker.queried()
    });
}

#[divan::bench(max_time = 3)]
fn rows_that_arrive(bencher: Bencher<'_, '_>) {
    let rows = Arc::new(rows());
    bencher.bench_local(|| {
        let mut picker = Picker::new(Scope::All, None);
        let _ = picker.load();
        for some in rows.chunks(500) {
            let _ = picker.take_rows(1, some.to_vec(), (0, SESSIONS), false);
        }
        picker.count()
    });
}
