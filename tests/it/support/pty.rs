//! The real binary in a pseudo-terminal, its screen read through a terminal emulator.

use std::num::NonZeroU16;
use std::path::Path;
use std::time::Duration;

use pty_process::{Pty, Size};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Child;
use tokio::time::{Instant, timeout_at};

/// A test that waits longer than this has failed; machines are slow, so it is generous.
const PATIENCE: Duration = Duration::from_secs(30);

/// A home and a working folder that outlive several starts.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) home: TempDir,
    pub(crate) work: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap(), work: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn config(&self, text: &str) {
        std::fs::create_dir_all(self.home.path().join("config")).unwrap();
        std::fs::write(self.home.path().join("config/config.toml"), text).unwrap();
    }

    /// Makes the model play a scenario.
    pub(crate) fn script(&self, scenario: &serde_json::Value) {
        self.config(
            "model = \"play/m\"\n[providers.play]\nkind = \"script\"\nscript = \"play.json\"\n",
        );
        std::fs::write(self.home.path().join("config/play.json"), scenario.to_string()).unwrap();
    }

    pub(crate) fn start(&self, args: &[&str], rows: u16, columns: u16) -> Term {
        let (pty, pts) = pty_process::open().unwrap();
        pty.resize(Size::new(rows, columns)).unwrap();
        let child = pty_process::Command::new(env!("CARGO_BIN_EXE_harness-tui"))
            .args(args)
            .current_dir(self.work.path())
            .env("HARNESS_TUI_HOME", self.home.path())
            .env("TERM", "xterm-256color")
            .env_remove("NO_COLOR")
            .env_remove("ANTHROPIC_API_KEY")
            .env_remove("OPENAI_API_KEY")
            .kill_on_drop(true)
            .spawn(pts)
            .unwrap();
        Term {
            pty: Some(pty),
            child,
            screen: vt100::Parser::new(size(rows), size(columns), 0),
            raw: Vec::new(),
        }
    }

    pub(crate) fn session_file(&self) -> std::path::PathBuf {
        find(&self.home.path().join("data")).expect("a session file")
    }
}

fn find(dir: &Path) -> Option<std::path::PathBuf> {
    std::fs::read_dir(dir).ok()?.flatten().map(|entry| entry.path()).find_map(|path| {
        if path.is_dir() {
            find(&path)
        } else {
            path.extension().is_some_and(|end| end == "jsonl").then_some(path)
        }
    })
}

fn size(n: u16) -> NonZeroU16 {
    NonZeroU16::new(n).unwrap()
}

/// One run of the program.
pub(crate) struct Term {
    pty: Option<Pty>,
    child: Child,
    screen: vt100::Parser,
    /// Every byte the program wrote.
    pub(crate) raw: Vec<u8>,
}

impl Term {
    /// The screen without the blanks at line ends, which depend on how a row was painted.
    pub(crate) fn text(&self) -> String {
        let text = self.screen.screen().contents();
        text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id().unwrap()).unwrap()
    }

    /// Reads until the screen fits.
    pub(crate) async fn until(&mut self, what: &str, fits: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !fits(&self.text()) {
            assert!(self.read(deadline).await, "{what}: never seen on\n{}", self.text());
        }
    }

    /// Reads until the first cell of `text` has the terminal's own colour: until a hint is no longer
    /// dimmed.
    pub(crate) async fn until_bright(&mut self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.is_bright(text) {
            assert!(self.read(deadline).await, "{text}: never bright on\n{}", self.text());
        }
    }

    fn is_bright(&self, text: &str) -> bool {
        let screen = self.screen.screen();
        let (rows, columns) = screen.size();
        (0..rows.get()).any(|row| {
            let line: String =
                screen.rows(0, columns.get()).nth(usize::from(row)).unwrap_or_default();
            let Some(at) = line.find(text) else { return false };
            let column = u16::try_from(line[..at].chars().count()).unwrap();
            screen
                .cell(row, column)
                .is_some_and(|cell| cell.fgcolor() == vt100::Color::Default && !cell.dim())
        })
    }

    pub(crate) async fn sees(&mut self, text: &str) {
        self.until(text, |screen| screen.contains(text)).await;
    }

    /// Nothing runs and nothing is told: the status line begins with the numbers.
    pub(crate) async fn idle(&mut self) {
        self.until("idle", |screen| {
            screen.lines().last().is_some_and(|row| row.trim_start().starts_with("ctx"))
        })
        .await;
    }

    /// Sends a prompt and waits until what is awaited is there and all is quiet.
    pub(crate) async fn ask(&mut self, prompt: &str, answer: &str) {
        self.types(prompt).await;
        self.sees(&format!("> {prompt}")).await;
        self.types("\r").await;
        self.sees(answer).await;
        self.idle().await;
    }

    /// Reads some output; false at its end or when patience is over.
    async fn read(&mut self, deadline: Instant) -> bool {
        let Some(pty) = &mut self.pty else { return false };
        // On the heap: a future that holds it is moved through every test that waits.
        let mut bytes = vec![0; 65536];
        match timeout_at(deadline, pty.read(&mut bytes)).await {
            Ok(Ok(count)) if count > 0 => {
                self.raw.extend_from_slice(&bytes[..count]);
                self.screen.process(&bytes[..count]);
                true
            }
            _ => false,
        }
    }

    pub(crate) async fn types(&mut self, keys: &str) {
        self.pty.as_mut().unwrap().write_all(keys.as_bytes()).await.unwrap();
    }

    pub(crate) fn resize(&mut self, rows: u16, columns: u16) {
        self.pty.as_ref().unwrap().resize(Size::new(rows, columns)).unwrap();
        self.screen.screen_mut().set_size(size(rows), size(columns));
    }

    pub(crate) fn signal(&self, signal: nix::sys::signal::Signal) {
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(self.pid()), signal).unwrap();
    }

    /// The terminal window is closed.
    pub(crate) fn hang_up(&mut self) {
        self.pty = None;
    }

    /// Reads to the end and gives the exit code; -1 for a signal.
    pub(crate) async fn ends(&mut self) -> i32 {
        let deadline = Instant::now() + PATIENCE;
        while self.read(deadline).await {}
        let status = timeout_at(deadline, self.child.wait()).await;
        status.expect("the program ends").unwrap().code().unwrap_or(-1)
    }
}
