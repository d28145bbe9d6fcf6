//! The whole program in a pseudo-terminal: what starting, idling and typing into a stream cost.
//!
//! No divan: the program is another process. What is counted is its processor time as the kernel
//! keeps it for each thread, in nanoseconds; the columns in `stat` count in ticks of ten
//! milliseconds, which is more than most of what is measured here. Linux only.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench that cannot run has nothing to tell, and prints what it can"
)]

#[expect(dead_code, reason = "a bench needs a part of it")]
mod terminal;

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use terminal::Program;

/// Starts measured.
const STARTS: usize = 21;
/// How long the idle program is watched.
const IDLE: Duration = Duration::from_secs(20);
/// How long a stream is watched without keys, and with them.
const STREAMED: Duration = Duration::from_secs(6);
/// Keys into the stream, and the time between two: a fast typist.
const KEYS: usize = 60;
const BETWEEN_KEYS: Duration = Duration::from_millis(100);
/// A hundred deltas a second of this many characters, for longer than everything that is measured.
const DELAY_MS: u64 = 10;
const CHUNK_SIZE: usize = 20;
const DELTAS: usize = 3_000;
/// Something that stands on the screen when it can be used.
const READY: &str = "? help";

fn main() {
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    println!("{:<48} {:>10} {:>9}", "line", "measured", "floor");
    runtime.block_on(async {
        start().await;
        idle().await;
        stream().await;
    });
}

fn line(what: &str, measured: f64, unit: &str, floor: &str) {
    println!("{what:<48} {:>10} {floor:>9}", format!("{measured:.2} {unit}"));
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The value below which that share of them lies.
fn percentile(values: &mut [Duration], percent: usize) -> Duration {
    values.sort_unstable();
    values[(values.len() - 1) * percent / 100]
}

async fn start() {
    let (mut cpu, mut wall) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        let began = Instant::now();
        let mut program = Program::start(&json!({"turns": [{"text": "hello"}]}));
        program.sees(READY).await;
        wall.push(began.elapsed());
        cpu.push(program.cpu());
    }
    line("exec to first frame, cpu, p50", ms(percentile(&mut cpu, 50)), "ms", "30 ms");
    line("exec to first frame, cpu, p95", ms(percentile(&mut cpu, 95)), "ms", "30 ms");
    line("exec to first frame, wall clock, p50", ms(percentile(&mut wall, 50)), "ms", "");
}

async fn idle() {
    let mut program = Program::start(&json!({"turns": [{"text": "hello"}]}));
    program.sees(READY).await;
    program.reads_for(Duration::from_secs(1)).await;
    let before = program.cpu();
    program.reads_for(IDLE).await;
    let used = (program.cpu() - before).as_secs_f64() / IDLE.as_secs_f64() * 100.0;
    line("idle cpu over 20 s", used, "%", "0.0 %");
    line("memory, idle (proportional)", program.memory_mb(), "MB", "");
}

async fn stream() {
    let text = include_str!("../ARCHITECTURE.md").repeat(20);
    let text: String = text.chars().take(DELTAS * CHUNK_SIZE).collect();
    let turn = json!({"text": text, "chunk_size": CHUNK_SIZE, "delay_ms": DELAY_MS});
    let mut program = Program::start(&json!({"turns": [turn]}));
    program.sees(READY).await;
    program.types("go\r").await;
    program.sees("Bird").await;

    let before = program.cpu();
    program.reads_for(STREAMED).await;
    let quiet = program.cpu() - before;

    let (before, began) = (program.cpu(), Instant::now());
    let mut echoes = Vec::new();
    let mut typed = String::new();
    for n in 0..KEYS {
        program.reads_until(began + BETWEEN_KEYS * u32::try_from(n).unwrap_or(0)).await;
        let key = char::from(b'a' + u8::try_from(n % 26).unwrap_or(0));
        typed.push(key);
        let sent = Instant::now();
        program.types(&key.to_string()).await;
        program.sees(&typed).await;
        echoes.push(sent.elapsed());
    }
    program.reads_until(began + STREAMED).await;
    let with_keys = program.cpu() - before;

    let seconds = STREAMED.as_secs_f64();
    line("100 deltas/s, cpu of one second", ms(quiet) / seconds, "ms", "");
    let more = ms(with_keys.saturating_sub(quiet)) / KEYS as f64;
    line("100 deltas/s, cpu of one key", more, "ms", "4 ms");
    line("100 deltas/s, key to screen, p50", ms(percentile(&mut echoes, 50)), "ms", "");
    line("100 deltas/s, key to screen, p95", ms(percentile(&mut echoes, 95)), "ms", "");
}
