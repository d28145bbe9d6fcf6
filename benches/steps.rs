//! Steps of a turn in process: time and syncs of each, on a memory file system and on the disk.
//!
//! No divan: one run is one turn, and the number of syncs stands beside its time.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench that cannot run has nothing to tell, and prints what it can"
)]

#[path = "../tests/it/support/syncs.rs"]
mod syncs;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use harness_tui::harness::{Compaction, Model, QueueMode, Setup, spawn};
use harness_tui::headless::{self, Mode};
use harness_tui::message::Part;
use harness_tui::policy::Profile;
use harness_tui::ports::{Disk, FileSystem, MemoryFs, SystemClock};
use harness_tui::prompt::Sources;
use harness_tui::providers::{ModelSpec, Provider, RetryPolicy, Script, Timeouts};
use harness_tui::session::{Durability, Place, Session};
use harness_tui::tools;
use serde_json::json;

use syncs::SyncCount;

/// Tool calls of one turn; the answer after them is one more step.
const CALLS: usize = 50;
/// Turns measured, each in a new session; the first is warming up.
const RUNS: usize = 11;

fn main() {
    // `cargo test --benches` runs this too, to see that it works; then once is enough.
    let runs = if std::env::args().any(|arg| arg == "--bench") { RUNS } else { 2 };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    println!("{:<10} {:<11} {:>12} {:>11}", "files", "durability", "ms per step", "syncs");
    for durability in [Durability::Commit, Durability::Process] {
        for memory in [true, false] {
            let mut steps: Vec<Duration> = Vec::new();
            let mut synced = 0;
            for _ in 0..runs {
                let (time, syncs) = runtime.block_on(turn(memory, durability));
                steps.push(time / (CALLS as u32 + 1));
                synced = syncs;
            }
            steps.remove(0);
            steps.sort_unstable();
            let median = steps[steps.len() / 2].as_secs_f64() * 1e3;
            let syncs = synced as f64 / (CALLS as f64 + 1.0);
            let files = if memory { "memory" } else { "disk" };
            println!("{files:<10} {:<11} {median:>12.3} {syncs:>11.2}", format!("{durability:?}"));
        }
    }
}

/// One turn of [`CALLS`] steps that read a file, and the answer: how long, and how many syncs.
async fn turn(memory: bool, durability: Durability) -> (Duration, u64) {
    let folder = tempfile::tempdir().expect("a folder for the bench");
    std::fs::write(folder.path().join("a.txt"), "one line\n".repeat(50)).expect("a file to read");
    let inner: Arc<dyn FileSystem> =
        if memory { Arc::new(MemoryFs::new()) } else { Arc::new(Disk) };
    let files = SyncCount::new(inner);
    let root = if memory { Path::new("/sessions").to_owned() } else { folder.path().join("data") };
    let place = Place {
        files: Arc::clone(&files) as Arc<dyn FileSystem>,
        clock: Arc::new(SystemClock),
        root,
        durability,
    };
    let handle = spawn(setup(Session::create(place, folder.path()), folder.path()))
        .expect("the engine starts");
    let started = Instant::now();
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let content = vec![Part::text("go")];
    let exit = headless::run(&handle, Mode::Text, content, &mut out, &mut err)
        .await
        .expect("the turn runs");
    let time = started.elapsed();
    assert_eq!((exit.code(), out.as_slice()), (0, b"All read.\n".as_slice()), "the turn went well");
    handle.close().await;
    (time, files.syncs())
}

fn setup(session: Session, cwd: &Path) -> Setup {
    let scenario = json!({"turns": [
        {"repeat": CALLS, "tool_calls": [{"name": "read", "args": {"path": "a.txt"}}]},
        {"text": "All read."},
    ]});
    let script = Arc::new(Script::parse(&scenario.to_string()).expect("a scenario"));
    Setup {
        session,
        models: Arc::new(move |_| {
            Ok(Model { provider: Arc::clone(&script) as Arc<dyn Provider>, spec: spec() })
        }),
        model: None,
        default_model: "play/m".into(),
        thinking: None,
        tools: tools::built_in(),
        profile: Profile::Full,
        unattended: true,
        prompt: Sources::default(),
        labels: serde_json::Map::new(),
        cwd: cwd.to_owned(),
        clock: Arc::new(SystemClock),
        state_dir: cwd.join("state"),
        hidden_env: Arc::new(|| Arc::from([])),
        secrets: Arc::new(Vec::new),
        timeouts: Timeouts::default(),
        retry: RetryPolicy::default(),
        compaction: Arc::new(|_| Compaction::default()),
        max_turns: 0,
        steering: QueueMode::OneAtATime,
        follow_up: QueueMode::OneAtATime,
        notices: Vec::new(),
    }
}

fn spec() -> ModelSpec {
    ModelSpec {
        provider: "play".into(),
        id: "m".into(),
        context_window: 1_000_000,
        max_output: 1_000,
        reasoning: false,
        images: false,
        price: [0.0; 4],
        known: true,
    }
}
