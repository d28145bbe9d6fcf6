//! `write`: makes a file or replaces its whole content, byte for byte as given.
//!
//! What the model cannot see is kept all the same: the byte order mark, the mode, the link. A file
//! that changed since it was read is not overwritten.

use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::change::{self, Plan, Planned};
use super::content::{self, BOM, Kind};
use super::{Images, Tool, ToolContext, paths, schema};
use crate::message::{Access, Display, ToolOutcome, ToolSpec};
use crate::text::truncate;

/// The tool.
#[derive(Debug, Clone, Copy, Default)]
pub struct Write;

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// File to write, relative to the working folder or absolute. Folders are made as needed.
    path: String,
    /// The whole new content.
    content: String,
}

impl Tool for Write {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "write".to_owned(),
            description:
                "Write a whole file: makes it, or replaces all of its content. For changes \
                          inside a file use edit."
                    .to_owned(),
            parameters: schema::of::<Arguments>(),
        }
    }

    fn access(&self) -> Access {
        Access::Write
    }

    fn repair(&self, arguments: Value) -> Value {
        paths::mend_name(arguments)
    }

    fn summary(&self, arguments: &Value) -> String {
        paths::summary(paths::argument(arguments))
    }

    fn target(&self, arguments: &Value, cwd: &Path) -> Option<PathBuf> {
        Some(paths::real(&paths::resolve(arguments.get("path")?.as_str()?, cwd)))
    }

    fn preview(&self, arguments: &Value, cwd: &Path) -> Option<Display> {
        let (path, plan) = plan(arguments.clone(), cwd).ok()?;
        change::preview(&path, plan)
    }

    fn images(&self, arguments: &Value, cwd: &Path) -> Option<Images> {
        let (path, plan) = plan(arguments.clone(), cwd).ok()?;
        change::images(&path, plan)
    }

    fn run(&self, arguments: Value, context: ToolContext) -> BoxFuture<'static, ToolOutcome> {
        Box::pin(async move {
            match plan(arguments, &context.cwd) {
                Ok((path, plan)) => change::perform(path, plan, context).await,
                Err(outcome) => outcome,
            }
        })
    }
}

fn plan(arguments: Value, cwd: &Path) -> Result<(PathBuf, Plan), ToolOutcome> {
    let arguments: Arguments = schema::parse("write", arguments)?;
    if arguments.path.is_empty() || arguments.path.ends_with('/') {
        return Err(ToolOutcome::error("the path names no file"));
    }
    let path = paths::resolve(&arguments.path, cwd);
    let name = paths::shown(&path);
    let plan: Plan = Box::new(move |before| {
        let text = arguments.content;
        let before = before.unwrap_or_default();
        let is_utf16 =
            content::kind(before.get(..content::SNIFF_BYTES).unwrap_or(before)) == Kind::Utf16;
        if is_utf16 || std::str::from_utf8(before).is_err() && !text.is_ascii() {
            return Err(format!(
                "{name} is not UTF-8; writing it would change its encoding, so nothing was written. \
                 Edit its ASCII text with edit, or convert it in bash first."
            ));
        }
        let mut after = Vec::with_capacity(BOM.len() + text.len());
        if before.starts_with(BOM) && !text.as_bytes().starts_with(BOM) {
            after.extend_from_slice(BOM);
        }
        after.extend_from_slice(text.as_bytes());
        let (lines, size) = (truncate::line_count(&text), truncate::size(after.len() as u64));
        Ok(Planned {
            after,
            splices: None,
            done: format!("Wrote {name} ({lines} lines, {size})."),
            needs_fresh: true,
        })
    });
    Ok((path, plan))
}
