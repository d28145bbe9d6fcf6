//! `bash`: runs a command in the session's folder and gives its output.
//!
//! Here stands only what the model sees: arguments, notes and exit codes. How a command is started,
//! read and ended is in `process`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::process::{self, End, Finished, Script};
use super::{Tool, ToolContext, paths, schema, survivors};
use crate::message::{Access, ToolOutcome, ToolSpec};

/// The longest time-out in seconds: what timers of 32-bit milliseconds can hold, about 24 days.
const MAX_TIMEOUT_SECONDS: f64 = 2_147_483.647;

/// The tool. [`Default`] takes bash where there is one, else sh.
#[derive(Debug, Clone, Default)]
pub struct Bash {
    shell: Option<PathBuf>,
    prefix: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// Shell command line. Runs in the working folder, without a terminal and without input.
    command: String,
    /// Stop the command after so many seconds. No limit when absent.
    #[schemars(range(min = 0.001, max = 2_147_483.647))]
    timeout: Option<f64>,
}

impl Bash {
    /// With a shell of the user's choice and lines to run before each command.
    pub fn new(shell: Option<PathBuf>, prefix: Option<String>) -> Self {
        Self { shell, prefix }
    }

    fn shell(&self) -> PathBuf {
        let known = Path::new("/bin/bash");
        if let Some(shell) = &self.shell {
            return shell.clone();
        }
        let on_path = || {
            let path = std::env::var_os("PATH")?;
            std::env::split_paths(&path).map(|dir| dir.join("bash")).find(|file| file.is_file())
        };
        if known.is_file() { known.to_owned() } else { on_path().unwrap_or_else(|| "sh".into()) }
    }
}

impl Tool for Bash {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "bash".to_owned(),
            description: "Run a shell command and get its output (stdout and stderr together). \
                          Long output is cut to the last 2000 lines or 50KB; the whole is then in \
                          a file that the result names. Input is empty; start long-lived processes \
                          with & and redirect their output."
                .to_owned(),
            parameters: schema::of::<Arguments>(),
        }
    }

    fn access(&self) -> Access {
        Access::Execute
    }

    fn summary(&self, arguments: &Value) -> String {
        paths::summary(arguments.get("command").and_then(Value::as_str).unwrap_or_default())
    }

    fn run(&self, arguments: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        let (shell, prefix) = (self.shell(), self.prefix.clone());
        Box::pin(async move {
            let arguments: Arguments = match schema::parse("bash", arguments) {
                Ok(arguments) => arguments,
                Err(outcome) => return outcome,
            };
            if context.cancel.is_cancelled() {
                return ToolOutcome::error("command aborted before it started");
            }
            if !context.cwd.is_dir() {
                return ToolOutcome::error(format!(
                    "the working folder {} does not exist (any more), so the command did not run",
                    paths::shown(&context.cwd)
                ));
            }
            let text = match prefix {
                Some(prefix) => format!("{prefix}\n{}", arguments.command),
                None => arguments.command,
            };
            let limit = arguments.timeout.map(|limit| limit.clamp(0.0, MAX_TIMEOUT_SECONDS));
            let timeout = limit.and_then(|limit| Duration::try_from_secs_f64(limit).ok());
            match process::run(Script { shell: &shell, text: &text, timeout }, &context).await {
                Ok(finished) => outcome(finished, limit),
                Err(error) => ToolOutcome::error(format!(
                    "could not start the shell {}: {error}",
                    paths::shown(&shell)
                )),
            }
        })
    }
}

fn outcome(finished: Finished, limit: Option<f64>) -> ToolOutcome {
    let Finished { end, output, survivors, pipe_held } = finished;
    let mut notes = output.notes;
    let output_notes = notes.len();
    if !survivors.is_empty() {
        let list = survivors::list(&survivors);
        notes.push(format!("[Still running in the background: {list}.]"));
    } else if pipe_held {
        notes.push("[A background process still runs and holds the output.]".to_owned());
    }
    let mut details = Map::new();
    match end {
        End::Exited(code) => {
            details.insert("exitCode".to_owned(), json!(code));
            if code != 0 {
                notes.push(format!("command failed: exit code {code}"));
            }
        }
        End::TimedOut => {
            details.insert("exitCode".to_owned(), Value::Null);
            details.insert("timedOut".to_owned(), json!(true));
            notes.push(format!("command timed out after {} seconds", limit.unwrap_or_default()));
        }
        End::Cancelled => {
            details.insert("exitCode".to_owned(), Value::Null);
            details.insert("cancelled".to_owned(), json!(true));
            notes.push("command aborted".to_owned());
        }
    }
    if let Some(truncation) = output.truncation {
        details.insert("truncation".to_owned(), json!(truncation));
    }
    if let Some(path) = output.full_output {
        details.insert("fullOutputPath".to_owned(), json!(path.to_string_lossy()));
    }
    let is_error = end != End::Exited(0);
    let mut text = output.text.trim_end_matches('\n').to_owned();
    if text.is_empty() && output_notes == 0 {
        "(no output)".clone_into(&mut text);
    }
    for (at, note) in notes.iter().enumerate() {
        text.push_str(if at == 0 && !text.is_empty() {
            "\n\n"
        } else if at == 0 {
            ""
        } else {
            "\n"
        });
        text.push_str(note);
    }
    ToolOutcome { is_error, ..ToolOutcome::text(text) }.with_details(Value::Object(details))
}
