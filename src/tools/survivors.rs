//! Finding what a command left running, even when it moved to a session of its own.
//!
//! A process group is not the whole tree: `setsid` leaves it and an orphan has no parent to follow.
//! So each command carries a mark in its environment, which every descendant inherits.

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

/// The environment variable that holds the mark of one command.
pub(crate) const MARK_NAME: &str = "HARNESS_TUI_CALL";
/// Survivors named in a result; more would be a list nobody reads.
const MAX_NAMED: usize = 10;
/// Passes of a kill: a tree that forks meanwhile is caught by the next one.
const KILL_PASSES: usize = 4;

/// A process that outlived its shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Survivor {
    pub(crate) pid: i32,
    /// The name of its program.
    pub(crate) name: String,
}

/// The processes that carry the mark, zombies excepted. Empty where there is no `/proc`.
pub(crate) fn marked(mark: &str) -> Vec<Survivor> {
    let wanted = format!("{MARK_NAME}={mark}");
    let own = std::process::id().to_string();
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| {
            let file_name = entry.file_name();
            let pid = file_name.to_str().filter(|name| *name != own)?.parse().ok()?;
            let environ = std::fs::read(entry.path().join("environ")).ok()?;
            let has_mark = environ.split(|byte| *byte == 0).any(|var| var == wanted.as_bytes());
            let name = std::fs::read(entry.path().join("comm")).ok()?;
            has_mark
                .then(|| Survivor { pid, name: String::from_utf8_lossy(&name).trim().to_owned() })
        })
        .collect()
}

/// Sends a signal to the group and to everything marked. A target that is gone is no failure.
pub(crate) fn signal(group: i32, mark: &str, signal: Signal) {
    let _ = killpg(Pid::from_raw(group), signal);
    for survivor in marked(mark) {
        let _ = kill(Pid::from_raw(survivor.pid), signal);
    }
}

/// Kills the group and everything marked, and looks again for what was forked meanwhile.
pub(crate) fn kill_all(group: i32, mark: &str) {
    for _ in 0..KILL_PASSES {
        signal(group, mark, Signal::SIGKILL);
        if marked(mark).is_empty() {
            return;
        }
    }
}

/// `sleep (pid 12), python3 (pid 15)`.
pub(crate) fn list(survivors: &[Survivor]) -> String {
    let mut names: Vec<String> = survivors
        .iter()
        .take(MAX_NAMED)
        .map(|survivor| format!("{} (pid {})", survivor.name, survivor.pid))
        .collect();
    if survivors.len() > MAX_NAMED {
        names.push(format!("{} more", survivors.len() - MAX_NAMED));
    }
    names.join(", ")
}
