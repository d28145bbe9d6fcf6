//! One run of the program in a pseudo-terminal, and what the kernel counts of it.

use std::ffi::OsStr;
use std::fs;
use std::num::NonZeroU16;
use std::time::Duration;

use pty_process::{Pty, Size};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Child;
use tokio::time::{Instant, timeout_at};

const ROWS: u16 = 40;
const COLUMNS: u16 = 120;
/// Who waits longer than this for the screen has found a fault.
const PATIENCE: Duration = Duration::from_secs(30);

/// The running program; dropping it ends it.
pub(crate) struct Program {
    pty: Pty,
    child: Child,
    screen: vt100::Parser,
    _home: TempDir,
}

impl Program {
    /// Starts it in a new home, on a model that plays this scenario.
    pub(crate) fn start(scenario: &Value) -> Self {
        Self::start_in(tempfile::tempdir().expect("a home"), scenario, &[])
    }

    /// The same in a home that is there already, with arguments.
    pub(crate) fn start_in(home: TempDir, scenario: &Value, args: &[&OsStr]) -> Self {
        let config = home.path().join("config");
        let words =
            "model = \"play/m\"\n[providers.play]\nkind = \"script\"\nscript = \"play.json\"\n";
        fs::create_dir_all(&config).expect("a folder for the settings");
        fs::write(config.join("config.toml"), words).expect("settings");
        fs::write(config.join("play.json"), scenario.to_string()).expect("a scenario");
        let (pty, pts) = pty_process::open().expect("a pseudo-terminal");
        pty.resize(Size::new(ROWS, COLUMNS)).expect("its size");
        let child = pty_process::Command::new(env!("CARGO_BIN_EXE_harness-tui"))
            .args(args)
            .current_dir(home.path())
            .env("HARNESS_TUI_HOME", home.path())
            .env("TERM", "xterm-256color")
            .kill_on_drop(true)
            .spawn(pts)
            .expect("the program starts");
        let size = |n| NonZeroU16::new(n).expect("a size is not zero");
        let screen = vt100::Parser::new(size(ROWS), size(COLUMNS), 0);
        Self { pty, child, screen, _home: home }
    }

    /// Reads until the text is on the screen.
    pub(crate) async fn sees(&mut self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.screen.screen().contents().contains(text) {
            assert!(self.read(deadline).await, "{text:?} was never seen");
        }
    }

    /// Reads until the text is gone from the screen.
    pub(crate) async fn sees_no(&mut self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        while self.screen.screen().contents().contains(text) {
            assert!(self.read(deadline).await, "{text:?} never went");
        }
    }

    pub(crate) async fn reads_for(&mut self, time: Duration) {
        self.reads_until(Instant::now() + time).await;
    }

    /// Takes what the program writes, so that it never waits for its terminal.
    pub(crate) async fn reads_until(&mut self, deadline: Instant) {
        while self.read(deadline).await {}
    }

    pub(crate) async fn types(&mut self, keys: &str) {
        self.pty.write_all(keys.as_bytes()).await.expect("the terminal takes keys");
    }

    /// Reads some output; false when the time is over.
    async fn read(&mut self, deadline: Instant) -> bool {
        let mut bytes = [0; 65536];
        match timeout_at(deadline, self.pty.read(&mut bytes)).await {
            Ok(count) => {
                let count = count.expect("the program lives");
                self.screen.process(&bytes[..count]);
                true
            }
            Err(_) => false,
        }
    }

    /// Processor time of all its threads so far.
    pub(crate) fn cpu(&self) -> Duration {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.pid())).expect("its threads");
        let nanos = tasks.flatten().filter_map(|task| {
            let times = fs::read_to_string(task.path().join("schedstat")).ok()?;
            times.split(' ').next()?.parse::<u64>().ok()
        });
        Duration::from_nanos(nanos.sum())
    }

    /// Its share of memory in megabytes.
    pub(crate) fn memory_mb(&self) -> f64 {
        let rollup = fs::read_to_string(format!("/proc/{}/smaps_rollup", self.pid()));
        let rollup = rollup.unwrap_or_default();
        let kilobytes = rollup.lines().find_map(|line| line.strip_prefix("Pss:"));
        let kilobytes = kilobytes.and_then(|rest| rest.trim().strip_suffix(" kB"));
        kilobytes.and_then(|number| number.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
    }

    /// The most memory it ever had in megabytes, shared pages included.
    pub(crate) fn peak_mb(&self) -> f64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid()));
        let status = status.unwrap_or_default();
        let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = kilobytes.and_then(|rest| rest.trim().strip_suffix(" kB"));
        kilobytes.and_then(|number| number.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
    }

    fn pid(&self) -> u32 {
        self.child.id().expect("the program lives")
    }
}
