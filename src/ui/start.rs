//! The first and the last thing the loop does: showing what is there, and giving everything back.

use std::path::Path;

use futures_util::FutureExt;

use crate::session::Tail;
use crate::text::sanitize::one_line;
use crate::ui::action::Action;
use crate::ui::options::{Exit, First, Options};
use crate::ui::popup::Popup;
use crate::ui::run::Loop;
use crate::ui::state::State;
use crate::ui::update::update;

impl Loop {
    pub(super) async fn start(&mut self, options: &Options) -> anyhow::Result<()> {
        let (columns, rows) = self.screen.size()?;
        self.apply([Action::Resize(columns, rows)]).await;
        match self.handle.take_tail() {
            Some(tail) => self.await_opening(tail),
            None => {
                let joined = self.rejoin().await;
                self.apply(joined).await;
            }
        }
        self.load_kept();
        if let Some(draft) = &options.draft {
            self.state.composer.put_before(draft);
        }
        self.show_first(&options.first).await;
        if let Some(prompt) = &options.initial_prompt {
            let effects = crate::ui::update::send_now(&mut self.state, prompt);
            self.perform(effects).await;
        }
        Ok(())
    }

    async fn show_first(&mut self, first: &First) {
        match first {
            First::Conversation => {}
            First::Picker { scope, why } => {
                let effects = crate::ui::sessions::open(&mut self.state, *scope);
                self.perform(effects).await;
                if let Some(why) = why {
                    self.state.tell(why.as_str());
                }
            }
            First::Missing { path, folder, prompt } => {
                let (path, folder) = (path.clone(), folder.clone());
                self.state.surface.carried = prompt.clone().map(|text| (path.clone(), text));
                self.state.surface.popup = Some(Popup::Missing { path, folder });
            }
        }
    }

    /// Gives the terminal back, keeps what is to be kept, and closes what is open.
    pub(super) async fn leave(self, options: &Options, code: i32) -> Exit {
        let Self { state, screen, handle, keep, input, writing, before, closing, failed, .. } =
            self;
        drop(input);
        drop(screen);
        if let Some(writing) = writing {
            let _ = writing.await;
        }
        // The debounce may not have come round; what is in the composer now must come back.
        let _ = keep.save_draft(&state.draft_key(), &state.composer.text());
        if let Some(before) = before {
            before.close().await;
        }
        for closing in closing {
            let _ = closing.await;
        }
        // What is only being opened has nothing to lose, and leaving must not wait for it.
        if !state.session.opening {
            handle.close().await;
        }
        let resume_hint = resume_hint(&state, &options.sessions);
        Exit { resume_hint, code, last_answer: state.transcript.last_answer(), failed }
    }

    /// Shows the end of a session that is being opened, and hears when it is.
    pub(super) fn await_opening(&mut self, tail: Tail) {
        let (handle, id) = (self.handle.clone(), tail.header.id.clone());
        update(&mut self.state, Action::Opening(Box::new(tail)));
        let opened = async move { Some(Action::Opened(id, handle.opened().await)) };
        self.answers.push(opened.boxed());
    }

    /// Brings back what earlier runs kept for the session that is open now.
    pub(super) fn load_kept(&mut self) {
        let kept = self.keep.load(&self.state.draft_key());
        let action = Action::Kept { draft: kept.draft, stash: kept.stash, history: kept.history };
        update(&mut self.state, action);
    }
}

/// How to come back, when there is something to come back to.
fn resume_hint(state: &State, sessions: &Path) -> Option<String> {
    let path = state.session.path.as_ref().filter(|path| path.exists())?;
    let which = if path.starts_with(sessions) {
        state.session.id.clone()
    } else {
        one_line(&path.display().to_string(), usize::MAX)
    };
    Some(format!("to go on: harness-tui --session {which}"))
}
