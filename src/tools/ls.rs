//! `ls`: names the entries of one directory.

use std::path::Path;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::offload::offload;
use super::{Tool, ToolContext, paths, schema};
use crate::message::{Access, ToolOutcome, ToolSpec};
use crate::text::truncate::{self, Limits};

/// Entries shown when no limit is given.
const DEFAULT_LIMIT: i64 = 500;

/// The tool.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ls;

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// Directory to list; the working folder when absent.
    path: Option<String>,
    /// Entries to show, 500 when absent.
    limit: Option<i64>,
}

impl Tool for Ls {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "ls".to_owned(),
            description: "List a directory: all entries by name, dotfiles too, directories with a \
                          slash at the end."
                .to_owned(),
            parameters: schema::of::<Arguments>(),
        }
    }

    fn access(&self) -> Access {
        Access::Read
    }

    fn repair(&self, arguments: Value) -> Value {
        paths::mend_name(arguments)
    }

    fn summary(&self, arguments: &Value) -> String {
        paths::summary(paths::argument(arguments))
    }

    fn run(&self, arguments: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        offload(context.cancel.clone(), move |_| {
            let arguments: Arguments = match schema::parse("ls", arguments) {
                Ok(arguments) => arguments,
                Err(outcome) => return Ok(outcome),
            };
            let path = arguments.path.as_deref().unwrap_or(".");
            list(&paths::resolve_existing(path, &context.cwd), arguments.limit)
        })
    }
}

fn list(dir: &Path, limit: Option<i64>) -> Result<ToolOutcome, String> {
    let name = paths::shown(dir);
    let facts = dir.metadata().map_err(|error| format!("could not list {name}: {error}"))?;
    if !facts.is_dir() {
        return Err(format!("{name} is not a directory. Use read to see a file."));
    }
    let entries = dir.read_dir().map_err(|error| format!("could not list {name}: {error}"))?;
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| {
            // Through the link, so that a broken one is left out and one to a directory shows as one.
            let is_dir = entry.path().metadata().ok()?.is_dir();
            let name = paths::shown(Path::new(&entry.file_name()));
            Some(if is_dir { format!("{name}/") } else { name })
        })
        .collect();
    if names.is_empty() {
        return Ok(ToolOutcome::text("(empty directory)").with_details(json!({ "listing": true })));
    }
    names.sort_by_cached_key(|name| (name.to_lowercase(), name.clone()));
    let total = names.len();
    let limit = usize::try_from(limit.unwrap_or(DEFAULT_LIMIT)).unwrap_or(1).max(1);
    names.truncate(limit);
    Ok(listing(&names.join("\n"), |shown| {
        (shown < total)
            .then(|| format!("{shown} of {total} entries shown; raise limit to see more"))
    }))
}

/// Cuts a listing to its limits and adds the notice, if there is one, for the lines that are shown.
pub(super) fn listing(text: &str, notice: impl FnOnce(usize) -> Option<String>) -> ToolOutcome {
    let cut = truncate::head(text, Limits { lines: usize::MAX, ..Limits::default() });
    let mut notices = Vec::new();
    notices.extend(notice(cut.output_lines));
    if cut.truncated {
        notices.push(format!("{} limit reached", truncate::size(truncate::MAX_BYTES as u64)));
    }
    let mut text = cut.content.clone();
    if !notices.is_empty() {
        text.push_str(&format!("\n\n[{}]", notices.join(". ")));
    }
    let mut details = json!({ "listing": true });
    if cut.truncated {
        details["truncation"] = json!(cut);
    }
    ToolOutcome::text(text).with_details(details)
}
