//! The tools as the driver calls them: arguments as a model writes them, real files, real processes.

mod bash;
mod bash_end;
mod edit;
mod read;
mod search;
mod validate;
mod write;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use harness_tui::message::{ToolCall, ToolOutcome, plain_text};
use harness_tui::tools::{FileTracker, Tool, ToolContext, ToolUpdate, built_in, prepare};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// A folder to work in and what the calls of one session share.
pub(crate) struct Bench {
    dir: TempDir,
    spill: TempDir,
    files: Arc<FileTracker>,
    pub(crate) cancel: CancellationToken,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self {
            dir: TempDir::new().unwrap(),
            spill: TempDir::new().unwrap(),
            files: Arc::default(),
            cancel: CancellationToken::new(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(crate) fn spill_dir(&self) -> PathBuf {
        self.spill.path().join("outputs")
    }

    pub(crate) fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).unwrap()
    }

    pub(crate) fn context(&self) -> (ToolContext, mpsc::Receiver<ToolUpdate>) {
        let (updates, news) = mpsc::channel(4);
        let context = ToolContext {
            cwd: self.dir.path().to_owned(),
            cancel: self.cancel.clone(),
            updates,
            files: Arc::clone(&self.files),
            spill_dir: self.spill_dir(),
            hidden_env: Arc::from([String::from("HOME")]),
        };
        (context, news)
    }

    /// As the driver does it: repair, validate, run.
    pub(crate) async fn call(&self, name: &str, arguments: Value) -> ToolOutcome {
        let tool = tool(name);
        match prepare(tool.as_ref(), &call(name, arguments)) {
            Ok(arguments) => tool.run(arguments, self.context().0).await,
            Err(problem) => ToolOutcome::error(problem),
        }
    }

    /// The text of a call that succeeds.
    pub(crate) async fn good(&self, name: &str, arguments: Value) -> String {
        let outcome = self.call(name, arguments).await;
        assert!(!outcome.is_error, "{outcome:?}");
        plain_text(&outcome.content)
    }

    /// The text of a call that fails.
    pub(crate) async fn bad(&self, name: &str, arguments: Value) -> String {
        let outcome = self.call(name, arguments).await;
        assert!(outcome.is_error, "{outcome:?}");
        plain_text(&outcome.content)
    }
}

pub(crate) fn tool(name: &str) -> Arc<dyn Tool> {
    built_in().into_iter().find(|tool| tool.spec().name == name).unwrap()
}

pub(crate) fn call(name: &str, arguments: Value) -> ToolCall {
    ToolCall { id: "1".into(), name: name.into(), arguments, ..ToolCall::default() }
}

pub(crate) fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().unwrap().permissions().mode() & 0o7777
}
