//! `find`: looks for files by name.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::glob::{self, Glob};
use super::ls::listing;
use super::offload::offload;
use super::walk::{Ended, walk};
use super::{Tool, ToolContext, paths, schema};
use crate::message::{Access, ToolOutcome, ToolSpec};

/// Paths shown when no limit is given.
const DEFAULT_LIMIT: i64 = 1000;
/// The most that can be asked for; the byte limit cuts long before.
const MAX_LIMIT: usize = 20_000;

/// The tool.
#[derive(Debug, Clone, Copy, Default)]
pub struct Find;

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// Glob: `*.rs` at any depth, `src/**/*.rs` from the searched directory, or an exact path.
    pattern: String,
    /// Directory to search; the working folder when absent.
    path: Option<String>,
    /// Paths to show, 1000 when absent.
    limit: Option<i64>,
}

impl Tool for Find {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "find".to_owned(),
            description: "Find files and directories by glob. Hidden files are found, files that \
                          .gitignore excludes are not, unless named exactly."
                .to_owned(),
            parameters: schema::of::<Arguments>(),
        }
    }

    fn access(&self) -> Access {
        Access::Read
    }

    fn summary(&self, arguments: &Value) -> String {
        paths::search_summary(arguments)
    }

    fn run(&self, arguments: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        offload(context.cancel.clone(), move |cancel| {
            let arguments: Arguments = match schema::parse("find", arguments) {
                Ok(arguments) => arguments,
                Err(outcome) => return Ok(outcome),
            };
            let path = arguments.path.as_deref().unwrap_or(".");
            find(&paths::resolve_existing(path, &context.cwd), &arguments, cancel)
        })
    }
}

fn find(
    root: &Path,
    arguments: &Arguments,
    cancel: &CancellationToken,
) -> Result<ToolOutcome, String> {
    if !root.is_dir() {
        return Err(format!("{} is no directory to search", paths::shown(root)));
    }
    let inside = Path::new(&arguments.pattern).strip_prefix(root).ok().and_then(Path::to_str);
    let pattern = inside.unwrap_or(&arguments.pattern);
    let glob = Glob::new(pattern)?;
    let limit = usize::try_from(arguments.limit.unwrap_or(DEFAULT_LIMIT)).unwrap_or(1);
    let limit = limit.clamp(1, MAX_LIMIT);
    let mut found: BTreeSet<PathBuf> = exact(root, pattern).into_iter().collect();
    let (mut ignored, mut closed) = (0, 0);
    // One more than asked for, to know whether there is more.
    let ended = walk(root, cancel, |entry| {
        let matches = glob.matches(&entry.relative);
        if entry.is_ignored {
            let is_listed = found.contains(&entry.relative);
            ignored += usize::from(matches && !is_listed);
            closed += usize::from(entry.is_dir);
        } else if matches {
            found.insert(entry.relative.clone());
        }
        if found.len() > limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let has_more = found.len() > limit;
    let lines: Vec<String> = found
        .iter()
        .take(limit)
        .map(|path| {
            let slash = if root.join(path).is_dir() { "/" } else { "" };
            format!("{}{slash}", paths::shown(path))
        })
        .collect();
    let mut notices = Vec::new();
    if has_more {
        notices.push(format!(
            "{limit} results limit reached; use limit={} or a narrower pattern",
            limit * 2
        ));
    }
    if ended == Ended::TooMany {
        notices.push("the tree is too large and was not searched to its end".to_owned());
    }
    if ignored > 0 || lines.is_empty() && closed > 0 {
        notices.push(left_out(ignored, closed));
    }
    if lines.is_empty() {
        let mut text = "No files found matching pattern".to_owned();
        if !notices.is_empty() {
            text.push_str(&format!("\n\n[{}]", notices.join(". ")));
        }
        return Ok(ToolOutcome::text(text).with_details(json!({ "listing": true })));
    }
    let notice = (!notices.is_empty()).then(|| notices.join(". "));
    Ok(listing(&lines.join("\n"), |_| notice))
}

fn left_out(ignored: usize, closed: usize) -> String {
    format!(
        "left out by ignore files: {ignored} matching entries, {closed} directories not searched; \
         name a path exactly or search inside the directory to see them"
    )
}

/// The path that the pattern names exactly, ignored or not.
fn exact(root: &Path, pattern: &str) -> Option<PathBuf> {
    let relative = Path::new(pattern.trim_start_matches("./").trim_end_matches('/'));
    let is_inside =
        relative.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    let names_one = glob::is_literal(pattern) && is_inside && !relative.as_os_str().is_empty();
    (names_one && root.join(relative).symlink_metadata().is_ok()).then(|| relative.to_owned())
}
