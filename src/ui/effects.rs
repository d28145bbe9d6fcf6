//! What the loop does for the state: commands, files, the clipboard, other programs.

use std::ffi::OsString;
use std::io::Write;
use std::task::Poll;

use anyhow::Context;
use crossterm::event::EventStream;
use futures_util::FutureExt;

use crate::harness::{HarnessError, Which};
use crate::ui::action::{Action, Effect};
use crate::ui::run::Loop;
use crate::ui::terminal::COPY_BYTES;
use crate::ui::update::update;

impl Loop {
    /// Does one effect.
    pub(super) async fn effect(&mut self, effect: Effect) -> anyhow::Result<()> {
        match effect {
            Effect::Send(command, asked) => {
                let handle = self.handle.clone();
                let mut answer = async move { handle.send(command).await }.boxed();
                // The first poll puts the command into the mailbox, so commands keep their order.
                let answer = match futures_util::poll!(&mut answer) {
                    Poll::Ready(result) => std::future::ready(result).boxed(),
                    Poll::Pending => answer,
                };
                self.answers
                    .push(async move { Some(Action::Answered(asked, answer.await)) }.boxed());
            }
            Effect::Open(which) => self.open_other(which).await?,
            Effect::Shelf(work) => self.desk.begin(work)?,
            Effect::Rejoin => {
                self.let_go();
                self.take_over().await;
            }
            Effect::Read(job) => {
                let Some(view) = self.state.tree.clone() else { return Ok(()) };
                let work = tokio::task::spawn_blocking(move || job.run(&view));
                self.answers.push(async move { work.await.ok().map(Action::Read) }.boxed());
            }
            Effect::GoBack(error) => self.go_back(error).await,
            Effect::SaveDraft { session, text } => {
                let keep = self.keep.clone();
                self.write("the draft", move || keep.save_draft(&session, &text));
            }
            Effect::SaveStash(text) => {
                let keep = self.keep.clone();
                self.write("the stash", move || keep.save_stash(text.as_deref()));
            }
            Effect::Remember(text) => {
                let keep = self.keep.clone();
                self.write("the history", move || keep.remember(&text));
            }
            Effect::Copy(text) => self.copy(&text)?,
            Effect::Edit(text) => self.edit(&text).await,
            Effect::Suspend => self.suspend(),
            Effect::Redraw => self.screen.anew()?,
            Effect::Bell => self.screen.bell()?,
            Effect::Quit(code) => self.exit = Some(code),
        }
        Ok(())
    }

    fn copy(&mut self, text: &str) -> anyhow::Result<()> {
        if text.len() > COPY_BYTES {
            anyhow::bail!("too long for the terminal's clipboard ({} bytes)", text.len());
        }
        self.screen.copy(text).context("copying to the terminal's clipboard")?;
        self.state.tell("sent to the terminal's clipboard");
        Ok(())
    }

    /// Writes a small file beside the loop and tells only of failures.
    fn write(
        &mut self,
        what: &'static str,
        work: impl FnOnce() -> std::io::Result<()> + Send + 'static,
    ) {
        let before = self.writing.take();
        let (tell, told) = tokio::sync::oneshot::channel();
        self.writing = Some(tokio::spawn(async move {
            if let Some(before) = before {
                let _ = before.await;
            }
            if let Ok(Err(error)) = tokio::task::spawn_blocking(work).await {
                let _ = tell.send(Action::Told(format!("saving {what}: {error}")));
            }
        }));
        self.answers.push(async move { told.await.ok() }.boxed());
    }

    async fn open_other(&mut self, which: Which) -> anyhow::Result<()> {
        let handle = (self.open)(which).await.context("opening the session")?;
        let tail = handle.take_tail();
        let events = handle.subscribe();
        let snapshot = match tail {
            None => Some(handle.snapshot().await.context("opening the session")?),
            Some(_) => None,
        };
        let old = std::mem::replace(&mut self.handle, handle);
        self.guarded.send_replace(self.handle.clone());
        self.events = events;
        // The one that can be gone back to is the last that was open.
        if self.state.session.opening {
            tokio::spawn(async move { old.close().await });
        } else {
            self.before = Some(old);
        }
        self.state.composer.clear();
        match (snapshot, tail) {
            (Some(snapshot), _) => {
                self.let_go();
                update(&mut self.state, Action::Joined(Box::new(snapshot)));
            }
            (None, Some(tail)) => self.await_opening(tail),
            (None, None) => {}
        }
        self.load_kept();
        Ok(())
    }

    /// Closes the session before this one; nobody waits for it but the end of the program.
    fn let_go(&mut self) {
        if let Some(old) = self.before.take() {
            self.closing.retain(|closing| !closing.is_finished());
            self.closing.push(tokio::spawn(async move { old.close().await }));
        }
    }

    /// The session cannot be opened: the one before comes back, or the screen ends.
    async fn go_back(&mut self, error: HarnessError) {
        let Some(before) = self.before.take() else {
            self.failed = Some(error);
            self.exit = Some(1);
            return;
        };
        self.events = before.subscribe();
        self.guarded.send_replace(before.clone());
        self.handle = before;
        self.take_over().await;
        self.load_kept();
        self.state.tell(format!("opening the session: {error}"));
    }

    async fn take_over(&mut self) {
        for action in self.rejoin().await {
            update(&mut self.state, action);
        }
    }

    /// Stops the program as a shell expects it and goes on when it is continued.
    pub(super) fn suspend(&mut self) {
        self.input = None;
        self.screen.lend();
        if let Err(error) = nix::sys::signal::raise(nix::sys::signal::Signal::SIGSTOP) {
            self.state.tell(format!("suspending: {error}"));
        }
        self.resumed();
    }

    /// The program goes on after a stop: the shell may have changed everything.
    pub(super) fn resumed(&mut self) {
        self.input = None;
        if self.screen.retake().is_err() {
            self.exit = Some(129);
            return;
        }
        self.input = Some(EventStream::new());
        if let Ok((columns, rows)) = self.screen.size() {
            update(&mut self.state, Action::Resize(columns, rows));
        }
    }

    /// Lends the terminal to the person's editor.
    async fn edit(&mut self, text: &str) {
        self.input = None;
        self.screen.lend();
        let edited = edit_outside(text).await.map_err(|error| format!("{error:#}"));
        self.resumed();
        update(&mut self.state, Action::Edited(edited));
    }
}

/// Opens the text in `$VISUAL` or `$EDITOR` and gives back what was saved.
async fn edit_outside(text: &str) -> anyhow::Result<String> {
    let mut file = tempfile::Builder::new()
        .prefix("prompt-")
        .suffix(".md")
        .tempfile()
        .context("making a file for the editor")?;
    file.write_all(text.as_bytes()).context("writing the file for the editor")?;
    file.flush().context("writing the file for the editor")?;
    let editor = ["VISUAL", "EDITOR"]
        .into_iter()
        .filter_map(std::env::var_os)
        .find(|value| !value.is_empty())
        .unwrap_or_else(|| OsString::from("vi"));
    // The variable may hold arguments ("code --wait"); the shell splits it, the path is passed aside.
    let mut script = editor.clone();
    script.push(" \"$1\"");
    let status = tokio::process::Command::new("sh")
        .arg("-c")
        .arg(script)
        .arg("editor")
        .arg(file.path())
        .status()
        .await
        .with_context(|| format!("starting {}", editor.display()))?;
    if !status.success() {
        anyhow::bail!("{} ended with {status}; the text is as it was", editor.display());
    }
    let bytes = tokio::fs::read(file.path()).await.context("reading what the editor saved")?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
