//! Very long sessions in the whole program: what it takes until the newest message is on the screen,
//! until the session is open, and what a key costs then.
//!
//! As in `program`: processor time of all threads, as the kernel counts it. Linux only.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench that cannot run has nothing to tell, and prints what it can"
)]

#[expect(dead_code, reason = "a bench needs a part of it")]
mod terminal;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use harness_tui::message::{
    AssistantMessage, Message, Part, StopReason, ToolCall, ToolResultMessage, Usage,
};
use harness_tui::ports::{Disk, SystemClock};
use harness_tui::session::{Body, Durability, Flush, Place, Session};
use serde_json::json;
use tempfile::TempDir;
use tokio::time::Instant;

use terminal::Program;

/// Entries and bytes of one: the same 100 MB in two shapes, and a shorter one.
const SHAPES: [(usize, usize); 3] = [(10_000, 1_000), (100_000, 1_000), (10_000, 10_000)];
/// What the last answer says.
const NEWEST: &str = "These are the newest words.";
/// What the status says while a session is being opened.
const OPENING: &str = "opening";
/// Runs of one shape; the median counts.
const RUNS: usize = 5;
/// Keys typed, and the time between two.
const KEYS: usize = 20;
const BETWEEN_KEYS: Duration = Duration::from_millis(50);

fn main() {
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    println!("{:<52} {:>10} {:>9}", "line", "measured", "floor");
    for (entries, bytes) in SHAPES {
        runtime.block_on(shape(entries, bytes));
    }
}

#[derive(Debug, Default)]
struct Measured {
    newest_cpu: Vec<f64>,
    newest_wall: Vec<f64>,
    newest_memory: Vec<f64>,
    open_cpu: Vec<f64>,
    open_wall: Vec<f64>,
    open_memory: Vec<f64>,
    peak: Vec<f64>,
    key_cpu: Vec<f64>,
    key_wall: Vec<f64>,
    top_cpu: Vec<f64>,
}

async fn shape(entries: usize, bytes: usize) {
    let mut all = Measured::default();
    for _ in 0..RUNS {
        run(entries, bytes, &mut all).await;
    }
    println!("{entries} entries of {bytes} bytes");
    line("  newest message on the screen: cpu", &mut all.newest_cpu, "ms", "150 ms");
    line("  newest message on the screen: wall clock", &mut all.newest_wall, "ms", "");
    line("  newest message on the screen: memory", &mut all.newest_memory, "MB", "100 MB");
    line("  open: cpu", &mut all.open_cpu, "ms", "");
    line("  open: wall clock", &mut all.open_wall, "ms", "");
    line("  open: memory", &mut all.open_memory, "MB", "100 MB");
    line("  open: peak memory", &mut all.peak, "MB", "");
    line("  key: cpu", &mut all.key_cpu, "ms", "4 ms");
    line("  key to screen: wall clock", &mut all.key_wall, "ms", "");
    line("  first message on the screen (ctrl+home): cpu", &mut all.top_cpu, "ms", "");
}

fn line(what: &str, values: &mut [f64], unit: &str, floor: &str) {
    values.sort_by(f64::total_cmp);
    let median = values.get(values.len() / 2).copied().unwrap_or_default();
    println!("{what:<52} {:>10} {floor:>9}", format!("{median:.1} {unit}"));
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

async fn run(entries: usize, bytes: usize, all: &mut Measured) {
    let home = tempfile::tempdir().expect("a home");
    let path = stored(&home, entries, bytes);
    let scenario = json!({"turns": [{"text": "hello"}]});
    let began = Instant::now();
    let args = [OsStr::new("--session"), path.as_os_str()];
    let mut program = Program::start_in(home, &scenario, &args);
    program.sees(NEWEST).await;
    all.newest_cpu.push(ms(program.cpu()));
    all.newest_wall.push(ms(began.elapsed()));
    all.newest_memory.push(program.memory_mb());
    program.sees_no(OPENING).await;
    program.sees("play/m").await;
    all.open_cpu.push(ms(program.cpu()));
    all.open_wall.push(ms(began.elapsed()));
    program.reads_for(Duration::from_millis(300)).await;
    all.open_memory.push(program.memory_mb());
    all.peak.push(program.peak_mb());

    let before = program.cpu();
    let mut typed = String::new();
    for n in 0..KEYS {
        let key = char::from(b'a' + u8::try_from(n % 26).unwrap_or(0));
        typed.push(key);
        let sent = Instant::now();
        program.types(&key.to_string()).await;
        program.sees(&typed).await;
        all.key_wall.push(ms(sent.elapsed()));
        program.reads_until(sent + BETWEEN_KEYS).await;
    }
    all.key_cpu.push(ms(program.cpu() - before) / KEYS as f64);

    let before = program.cpu();
    program.types("\x1b[1;5H").await;
    program.sees("Question 0:").await;
    all.top_cpu.push(ms(program.cpu() - before));
}

/// A session of prompts, calls, results and answers, each line about so long.
fn stored(home: &TempDir, entries: usize, bytes: usize) -> PathBuf {
    let place = Place {
        files: Arc::new(Disk),
        clock: Arc::new(SystemClock),
        root: home.path().join("sessions"),
        durability: Durability::Process,
    };
    let mut session = Session::create(place, Path::new("/"));
    let mut bodies: Vec<Body> = (0..entries - 1).map(|n| body(n, bytes)).collect();
    bodies.push(Body::Message { message: answer(Part::text(NEWEST)), harness: None });
    session.append(bodies, Flush::Lazy).expect("the session is written");
    session.path().expect("it has a file").to_owned()
}

fn body(n: usize, bytes: usize) -> Body {
    let id = format!("call_{}", n / 4);
    // The rest of a line is about this long.
    let text = "The session is opened once, \"by launch\".\n";
    let text = text.repeat(bytes.saturating_sub(250).div_ceil(text.len() + 3));
    let message = match n % 4 {
        0 => Message::user(format!("Question {n}: where is it?\n{text}"), 0),
        1 => answer(Part::ToolCall(ToolCall {
            id,
            name: "bash".into(),
            arguments: json!({"command": format!("cat {n}"), "note": text}),
            ..ToolCall::default()
        })),
        2 => Message::ToolResult(ToolResultMessage {
            tool_call_id: id,
            tool_name: "bash".into(),
            content: vec![Part::text(text)],
            details: None,
            is_error: false,
            duration_ms: Some(3),
            timestamp: 0,
        }),
        _ => answer(Part::text(text)),
    };
    Body::Message { message, harness: None }
}

fn answer(part: Part) -> Message {
    let is_call = matches!(part, Part::ToolCall(_));
    Message::Assistant(AssistantMessage {
        content: vec![part],
        api: "script".into(),
        provider: "play".into(),
        model: "m".into(),
        stop_reason: if is_call { StopReason::ToolUse } else { StopReason::Stop },
        usage: Usage { input: 900, output: 100, total_tokens: 1_000, ..Usage::default() },
        ..AssistantMessage::default()
    })
}
