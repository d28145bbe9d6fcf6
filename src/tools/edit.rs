//! `edit`: replaces pieces of a file by exact text.
//!
//! Works on bytes: a file that is not UTF-8 keeps every byte that was not asked for, or the edit is
//! refused, because guessing an encoding destroys files quietly.

use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;
use memchr::memmem;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::change::{self, Plan, Planned};
use super::content::{self, BOM, Kind};
use super::replace::{self, Edit as Wish, Splice};
use super::{Images, Tool, ToolContext, paths, schema};
use crate::message::{Access, Display, ToolOutcome, ToolSpec};

/// Edits of one call; each costs a pass over the file.
const MAX_EDITS: usize = 200;

/// Bytes searched in one call, all its edits together; a second or so.
const MAX_SEARCHED_BYTES: usize = 1024 * 1024 * 1024;

/// The tool.
#[derive(Debug, Clone, Copy, Default)]
pub struct Edit;

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// File to change, relative to the working folder or absolute.
    path: String,
    /// Replacements, all matched against the file as it is now. They must not overlap.
    #[schemars(length(min = 1))]
    edits: Vec<Replacement>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Replacement {
    /// Text in the file, exact to the space. It must occur once; add lines around it if needed.
    old_text: String,
    /// Text to put in its place.
    new_text: String,
}

impl Tool for Edit {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "edit".to_owned(),
            description:
                "Change a file by replacing exact pieces of text. Every oldText must occur \
                          exactly once. Put several changes of one file into one call. Line ends \
                          and encoding stay as they are."
                    .to_owned(),
            parameters: schema::of::<Arguments>(),
        }
    }

    fn access(&self) -> Access {
        Access::Write
    }

    fn repair(&self, arguments: Value) -> Value {
        repair(paths::mend_name(arguments))
    }

    fn summary(&self, arguments: &Value) -> String {
        let count = arguments.get("edits").and_then(Value::as_array).map_or(0, Vec::len);
        let path = paths::argument(arguments);
        let more = if count > 1 { format!(" ({count} edits)") } else { String::new() };
        paths::summary(&format!("{path}{more}"))
    }

    fn target(&self, arguments: &Value, cwd: &Path) -> Option<PathBuf> {
        let path = arguments.get("path")?.as_str()?;
        Some(paths::real(&paths::resolve_existing(path, cwd)))
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

/// Takes the forms models fall into: edits as JSON text, one edit without a list, the two texts at
/// the top, snake case.
fn repair(mut arguments: Value) -> Value {
    let Value::Object(map) = &mut arguments else { return arguments };
    rename(map);
    if let Some(Value::String(text)) = map.get("edits")
        && let Ok(parsed @ (Value::Array(_) | Value::Object(_))) = serde_json::from_str(text)
    {
        map.insert("edits".to_owned(), parsed);
    }
    let old = map.shift_remove("oldText");
    let new = map.shift_remove("newText");
    if let (Some(old), Some(new)) = (old, new) {
        let edit = json!({ "oldText": old, "newText": new });
        match map.get_mut("edits") {
            Some(Value::Array(edits)) => edits.push(edit),
            _ => {
                map.insert("edits".to_owned(), json!([edit]));
            }
        }
    }
    match map.get_mut("edits") {
        Some(Value::Array(edits)) => {
            edits.iter_mut().filter_map(Value::as_object_mut).for_each(rename);
        }
        Some(Value::Object(edit)) => rename(edit),
        _ => {}
    }
    arguments
}

fn rename(map: &mut Map<String, Value>) {
    for (wrong, right) in [
        ("old_text", "oldText"),
        ("new_text", "newText"),
        ("old_string", "oldText"),
        ("new_string", "newText"),
    ] {
        if !map.contains_key(right)
            && let Some(value) = map.shift_remove(wrong)
        {
            map.insert(right.to_owned(), value);
        }
    }
}

fn plan(arguments: Value, cwd: &Path) -> Result<(PathBuf, Plan), ToolOutcome> {
    let arguments: Arguments = schema::parse("edit", arguments)?;
    let count = arguments.edits.len();
    if count > MAX_EDITS {
        let text = format!("{count} edits are more than {MAX_EDITS} in one call; use several");
        return Err(ToolOutcome::error(text));
    }
    let path = paths::resolve_existing(&arguments.path, cwd);
    let name = paths::shown(&path);
    let plan: Plan = Box::new(move |before| {
        let before =
            before.ok_or_else(|| format!("no such file: {name}. Use write to make a new file."))?;
        if before.len().saturating_mul(count) > MAX_SEARCHED_BYTES {
            return Err(format!(
                "{count} edits are too many for the size of {name}; use several calls"
            ));
        }
        let wishes: Vec<Wish<'_>> = arguments
            .edits
            .iter()
            .map(|edit| Wish { old: &edit.old_text, new: &edit.new_text })
            .collect();
        let splices = splices(before, &wishes, &name)?;
        let blocks = if count == 1 { "1 block".to_owned() } else { format!("{count} blocks") };
        Ok(Planned {
            after: replace::apply(before, &splices),
            splices: Some(splices),
            done: format!("Replaced {blocks} in {name}."),
            needs_fresh: false,
        })
    });
    Ok((path, plan))
}

fn splices(before: &[u8], wishes: &[Wish<'_>], name: &str) -> Result<Vec<Splice>, String> {
    let start = if before.starts_with(BOM) { BOM.len() } else { 0 };
    if content::kind(before.get(..content::SNIFF_BYTES).unwrap_or(before)) == Kind::Utf16 {
        return Err(format!(
            "{name} is UTF-16, not UTF-8. Nothing was changed. Convert it first, for instance with \
             iconv in bash."
        ));
    }
    match std::str::from_utf8(&before[start..]) {
        Ok(text) => {
            let mut splices = replace::find(text, wishes, name)?;
            for splice in &mut splices {
                splice.range.start += start;
                splice.range.end += start;
            }
            Ok(splices)
        }
        Err(_) => in_foreign_encoding(before, wishes, name),
    }
}

/// Edits of a file in an unknown encoding: plain ASCII only, and only where no byte of a longer
/// character can be meant. Line ends must be given as they are.
fn in_foreign_encoding(
    before: &[u8],
    wishes: &[Wish<'_>],
    name: &str,
) -> Result<Vec<Splice>, String> {
    let mut splices: Vec<Splice> = Vec::new();
    for wish in wishes {
        let refused = |why: &str| {
            Err(format!(
                "{name} is not UTF-8, and {why}. Nothing was changed. Edit ASCII text only, or \
                 convert the file in bash first."
            ))
        };
        if wish.old.is_empty() {
            return refused("an old text is empty");
        }
        if !wish.old.is_ascii() || !wish.new.is_ascii() {
            return refused("the edit has other characters than ASCII");
        }
        let is_crlf = memmem::find(before, b"\r\n").is_some();
        let adapt = |text: &str| {
            let text = text.replace("\r\n", "\n");
            if is_crlf { text.replace('\n', "\r\n") } else { text }
        };
        let (old, new) = (adapt(wish.old), adapt(wish.new));
        let mut places = memmem::find_iter(before, old.as_bytes());
        let (Some(at), None) = (places.next(), places.next()) else {
            return refused("an old text was not found exactly once");
        };
        if at > 0 && !before[at - 1].is_ascii() {
            return refused("an old text begins right after a byte of unknown meaning");
        }
        splices.push(Splice { range: at..at + old.len(), text: new });
    }
    splices.sort_by_key(|splice| splice.range.start);
    if splices.windows(2).any(|pair| pair[1].range.start < pair[0].range.end) {
        return Err(format!("two edits overlap in {name}. Nothing was changed."));
    }
    if splices.iter().all(|splice| before[splice.range.clone()] == *splice.text.as_bytes()) {
        return Err(format!("the new text equals the old text in {name}: no change to make"));
    }
    Ok(splices)
}
