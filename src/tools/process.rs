//! Runs one shell command to its end, or to the end of its time, and leaves nothing behind.
//!
//! The command gets a session of its own without a terminal, no input, one pipe for both outputs.
//! Waiting for the shell and reading the pipe are separate, because a background child may hold the
//! pipe long after the shell has ended.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop, ProcessSession};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until, timeout};

use super::output::{Capture, Captured};
use super::survivors::{self, MARK_NAME, Survivor};
use super::{ToolContext, ToolUpdate};

/// Between live updates; a pane that changes more often cannot be read.
const UPDATE_EVERY: Duration = Duration::from_millis(100);
/// After the shell's end a quiet pipe counts as finished.
const IDLE_AFTER_EXIT: Duration = Duration::from_millis(100);
/// After the shell's end a pipe that is still fed is left alone.
const MAX_AFTER_EXIT: Duration = Duration::from_millis(800);
/// Between TERM and KILL, enough to remove a lock file.
const TERM_GRACE: Duration = Duration::from_millis(500);
/// How often the grace looks whether all are gone.
const GRACE_POLL: Duration = Duration::from_millis(20);
/// The longest wait for the kernel to hand over a killed leader.
const REAP_LIMIT: Duration = Duration::from_secs(1);
/// Bytes of one read, the size of a pipe.
const READ_BYTES: usize = 64 * 1024;
/// No deadline: so far away that it never comes.
const NEVER: Duration = Duration::from_secs(60 * 60 * 24 * 365 * 10);
/// What shells add to the number of a signal.
const SIGNAL_BASE: i32 = 128;

/// What to run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Script<'a> {
    pub(crate) shell: &'a Path,
    pub(crate) text: &'a str,
    pub(crate) timeout: Option<Duration>,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The exit code, or 128 + the signal that killed the shell.
    Exited(i32),
    TimedOut,
    Cancelled,
}

/// The end of a run.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) end: End,
    pub(crate) output: Captured,
    /// What still runs after the shell ended by itself. Nothing does after a time-out or a cancel.
    pub(crate) survivors: Vec<Survivor>,
    /// Somebody unknown still holds the output pipe.
    pub(crate) pipe_held: bool,
}

/// Runs the script in `context.cwd`.
///
/// # Errors
/// Only when the shell cannot be started.
pub(crate) async fn run(script: Script<'_>, context: &ToolContext) -> io::Result<Finished> {
    let mark = uuid::Uuid::new_v4().simple().to_string();
    let (child, pipe) = spawn(script, context, &mark)?;
    let group = child.id().and_then(|id| i32::try_from(id).ok()).unwrap_or_default();
    let mut run = Running {
        group: Group { id: group, armed: group > 0 },
        child,
        pipe,
        pipe_open: true,
        capture: Capture::new(context.spill_dir.clone()),
    };
    let end = run.until_end(script.timeout, context).await;
    let mut left = Vec::new();
    match end {
        End::Exited(_) => {
            run.drain(IDLE_AFTER_EXIT, MAX_AFTER_EXIT).await;
            left = blocking(move || survivors::marked(&mark)).await.unwrap_or_default();
        }
        End::TimedOut | End::Cancelled => run.stop(mark).await,
    }
    run.group.armed = false;
    let Running { pipe, pipe_open, capture, .. } = run;
    let pipe_held = pipe_open && matches!(end, End::Exited(_));
    if pipe_held {
        tokio::spawn(discard(pipe));
    }
    Ok(Finished { end, output: capture.finish().await, survivors: left, pipe_held })
}

type Child = Box<dyn ChildWrapper>;

fn spawn(script: Script<'_>, context: &ToolContext, mark: &str) -> io::Result<(Child, Receiver)> {
    let (reader, writer) = io::pipe()?;
    let errors = writer.try_clone()?;
    let mut command = CommandWrap::with_new(script.shell, |command| {
        command
            .arg("-c")
            .arg(script.text)
            .current_dir(&context.cwd)
            .stdin(Stdio::null())
            .stdout(writer)
            .stderr(errors)
            .env("PAGER", "cat")
            .env("GIT_PAGER", "cat")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env(MARK_NAME, mark);
        for name in context.hidden_env.iter() {
            command.env_remove(name);
        }
    });
    let child = command.wrap(ProcessSession).wrap(KillOnDrop).spawn()?;
    // The command still owns our ends of the pipe, which would never end otherwise.
    drop(command);
    Ok((child, Receiver::from_owned_fd(reader.into())?))
}

/// Kills the group when the future is dropped before its end, for instance with the runtime.
#[derive(Debug)]
struct Group {
    id: i32,
    armed: bool,
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.armed {
            let _ = killpg(Pid::from_raw(self.id), Signal::SIGKILL);
        }
    }
}

struct Running {
    group: Group,
    child: Child,
    pipe: Receiver,
    pipe_open: bool,
    capture: Capture,
}

impl Running {
    async fn until_end(&mut self, limit: Option<Duration>, context: &ToolContext) -> End {
        let deadline = Instant::now() + limit.unwrap_or(NEVER).min(NEVER);
        let mut buffer = vec![0; READ_BYTES];
        let mut ticks = interval(UPDATE_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_new = false;
        loop {
            tokio::select! {
                () = context.cancel.cancelled() => return End::Cancelled,
                () = sleep_until(deadline) => return End::TimedOut,
                status = self.child.inner_mut().wait() => {
                    return End::Exited(status.map_or(-1, exit_code));
                }
                read = self.pipe.read(&mut buffer), if self.pipe_open => {
                    self.take(read, &buffer).await;
                    is_new = true;
                }
                _ = ticks.tick(), if is_new => {
                    is_new = false;
                    let update = ToolUpdate { output: Arc::from(self.capture.live()) };
                    let _ = context.updates.try_send(update);
                }
            }
        }
    }

    async fn take(&mut self, read: io::Result<usize>, buffer: &[u8]) {
        match read {
            Ok(0) | Err(_) => self.pipe_open = false,
            Ok(count) => self.capture.push(&buffer[..count]).await,
        }
    }

    /// Reads what is left until the pipe ends, is quiet, or the time is up.
    async fn drain(&mut self, idle: Duration, most: Duration) {
        let deadline = Instant::now() + most;
        let mut buffer = vec![0; READ_BYTES];
        while self.pipe_open {
            tokio::select! {
                () = sleep_until(deadline) => return,
                () = sleep(idle) => return,
                read = self.pipe.read(&mut buffer) => self.take(read, &buffer).await,
            }
        }
    }

    /// TERM, a grace, KILL; afterwards the leader is reaped and nothing of the tree runs.
    async fn stop(&mut self, mark: String) {
        let group = self.group.id;
        let (term_mark, kill_mark) = (mark.clone(), mark.clone());
        blocking(move || survivors::signal(group, &term_mark, Signal::SIGTERM)).await;
        let deadline = Instant::now() + TERM_GRACE;
        let _ = timeout(TERM_GRACE, self.child.inner_mut().wait()).await;
        while Instant::now() < deadline {
            let mark = mark.clone();
            if blocking(move || survivors::marked(&mark)).await.is_none_or(|left| left.is_empty()) {
                break;
            }
            self.drain(GRACE_POLL, GRACE_POLL).await;
            if !self.pipe_open {
                sleep(GRACE_POLL).await;
            }
        }
        blocking(move || survivors::kill_all(group, &kill_mark)).await;
        let _ = timeout(REAP_LIMIT, self.child.inner_mut().wait()).await;
        self.drain(IDLE_AFTER_EXIT, MAX_AFTER_EXIT).await;
    }
}

fn exit_code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| SIGNAL_BASE + signal)).unwrap_or(-1)
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::task::spawn_blocking(work).await.ok()
}

/// Keeps reading for a process left running, which a closed pipe would kill at its next line.
async fn discard(mut pipe: Receiver) {
    let mut buffer = vec![0; READ_BYTES];
    while let Ok(1..) = pipe.read(&mut buffer).await {}
}
