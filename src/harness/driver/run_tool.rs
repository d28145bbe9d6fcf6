//! Running one call as a task: live output, cancellation with a grace, panics as outcomes.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::message::{ToolCall, ToolOutcome};
use crate::tools::{ToolContext, ToolUpdate};

use super::Driver;
use super::inbox::Inside;
use crate::harness::event::millis;
use crate::harness::turn::Input;
use crate::harness::{CallKey, RunningCall};

/// How long a cancelled tool may take to end by itself: it has processes to kill.
const GRACE: Duration = Duration::from_secs(5);
/// Live outputs that may wait; older ones are worthless once newer ones exist.
const UPDATES: usize = 4;

impl Driver {
    pub(super) fn run_tool(
        &mut self,
        key: CallKey,
        call: &ToolCall,
        arguments: Value,
        summary: String,
    ) {
        let Some(tool) = self.tool(&call.name).cloned() else { return };
        self.running.insert(
            key.clone(),
            RunningCall {
                key: key.clone(),
                tool: call.name.clone(),
                summary,
                output: "".into(),
                since: self.now(),
            },
        );
        let (updates, news) = mpsc::channel(UPDATES);
        let cancel = self.tools.clone();
        let context = ToolContext {
            cwd: self.setup.cwd.clone(),
            cancel: cancel.clone(),
            updates,
            files: self.files.clone(),
            spill_dir: self.setup.state_dir.join("outputs"),
            hidden_env: (self.setup.hidden_env)(),
        };
        let inbox = self.inbox.clone();
        tokio::spawn(forward(news, key.clone(), inbox.clone()));
        let name = call.name.clone();
        tokio::spawn(async move {
            let started = Instant::now();
            let run = AssertUnwindSafe(tool.run(arguments, context)).catch_unwind();
            let outcome = tokio::select! {
                biased;
                ended = run => ended.unwrap_or_else(|_panic| {
                    ToolOutcome::error(format!("bug: the tool {name} failed inside; its outcome is unknown"))
                }),
                () = overdue(cancel) => ToolOutcome::error(format!(
                    "Operation aborted: {name} did not stop in time; its outcome is unknown."
                )),
            };
            let duration_ms = millis(started.elapsed());
            let _ = inbox.send(Inside::Input(Input::ToolDone { key, outcome, duration_ms })).await;
        });
    }
}

async fn overdue(cancel: CancellationToken) {
    cancel.cancelled().await;
    tokio::time::sleep(GRACE).await;
}

async fn forward(mut news: mpsc::Receiver<ToolUpdate>, key: CallKey, inbox: mpsc::Sender<Inside>) {
    while let Some(update) = news.recv().await {
        if inbox.send(Inside::Output(key.clone(), update.output)).await.is_err() {
            return;
        }
    }
}
