//! What the demo model answers: the last prompt and the tool results so far in, a [`Reply`] out.

use serde_json::{Value, json};

use crate::providers::demo_intent::{Intent, intent};
use crate::providers::demo_summary;
use crate::providers::demo_texts::{self as texts, finish, head};

/// What has happened so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Scene {
    pub(super) system: String,
    /// The names of the tools that may be called.
    pub(super) tools: Vec<String>,
    /// What the person said, the newest last.
    pub(super) prompts: Vec<String>,
    /// The calls since the newest prompt.
    pub(super) done: Vec<Done>,
}

/// One call and its result. A call without a result counts as failed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Done {
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) arguments: Value,
    pub(super) output: String,
    pub(super) is_error: bool,
}

/// The next answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Reply {
    pub(super) thinking: String,
    pub(super) text: String,
    pub(super) calls: Vec<(String, Value)>,
    /// Nobody reads along, so it comes at once.
    pub(super) at_once: bool,
}

impl Reply {
    fn say(text: &str) -> Self {
        Self { text: finish(text), ..Self::default() }
    }
}

/// Decides the next answer.
pub(super) fn reply(scene: &Scene) -> Reply {
    let prompt = scene.prompts.last().map(String::as_str).unwrap_or_default();
    if wants_summary(scene, prompt) {
        let text = demo_summary::summary(prompt, &scene.prompts);
        return Reply { text, at_once: true, ..Reply::default() };
    }
    let intent = intent(prompt);
    let mut reply = next(scene, &intent);
    reply.thinking = match (&reply.calls[..], scene.done.len()) {
        ([], 0) => format!("The request reads as: {}. No tool is needed.", intent.name()),
        ([], _) => "The tools are done; I tell what came out.".into(),
        ([(tool, _), ..], _) => {
            format!("The request reads as: {}. The next step is `{tool}`.", intent.name())
        }
    };
    reply
}

/// A request for a summary of the session, as compaction sends it: there are no tools in it. A
/// system prompt that merely mentions summaries does not turn a chat into one.
fn wants_summary(scene: &Scene, prompt: &str) -> bool {
    let mentions = |text: &str| text.to_lowercase().contains("summar");
    prompt.contains("<conversation>")
        || (scene.tools.is_empty()
            && (mentions(&scene.system) || (mentions(prompt) && prompt.len() > 400)))
}

fn next(scene: &Scene, intent: &Intent) -> Reply {
    if let Some(failed) = scene.done.iter().find(|done| done.is_error) {
        return Reply::say(&texts::failed(&failed.tool, &failed.output));
    }
    match intent {
        Intent::Read(paths) => each(
            scene,
            "read",
            paths.iter().map(|path| json!({"path": path})).collect(),
            "I read it first.",
            |done| texts::file(argument(done, "path"), &done.output),
        ),
        Intent::List(path) => each(
            scene,
            "ls",
            vec![path.as_ref().map_or_else(|| json!({}), |path| json!({"path": path}))],
            "I look into the folder.",
            |done| texts::listing(path.as_deref().unwrap_or("."), &done.output),
        ),
        Intent::FindFiles(glob) => {
            each(scene, "find", vec![json!({"pattern": glob})], "I look for files.", |done| {
                texts::matches("Files", glob, &done.output)
            })
        }
        Intent::Search { pattern, path } => {
            let mut arguments = json!({"pattern": pattern, "literal": true});
            if let Some(path) = path {
                arguments["path"] = json!(path);
            }
            each(scene, "grep", vec![arguments], "I search the files.", |done| {
                texts::matches("Matches", pattern, &done.output)
            })
        }
        Intent::Run(command) => {
            each(scene, "bash", vec![json!({"command": command})], "I run it.", |done| {
                texts::ran(command, &done.output)
            })
        }
        Intent::Write { path, content } => {
            let arguments = vec![json!({"path": path, "content": with_newline(content)})];
            each(scene, "write", arguments, "I write the file.", |done| {
                texts::written(path, content, &done.output)
            })
        }
        Intent::Replace { path, old, new } => edit(scene, path, &|text| {
            locate(text, old).map(|found| (found.clone(), found.replacen(old, new, 1)))
        }),
        Intent::Touch(path) => edit(scene, path, &|text| texts::small_edit(path, text)),
        Intent::Summarise => Reply::say(&texts::conversation(&scene.prompts)),
        Intent::Greeting => Reply::say(texts::GREETING),
        Intent::Help => Reply::say(texts::HELP),
        Intent::Other => Reply::say(texts::OTHER),
    }
}

/// Calls one tool with each of the arguments at once, then tells about each result.
fn each(
    scene: &Scene,
    tool: &str,
    arguments: Vec<Value>,
    before: &str,
    tell: impl Fn(&Done) -> String,
) -> Reply {
    if !scene.done.is_empty() {
        let parts: Vec<String> = scene.done.iter().map(tell).collect();
        return Reply::say(&parts.join("\n\n"));
    }
    call(scene, tool, arguments, before)
}

fn call(scene: &Scene, tool: &str, arguments: Vec<Value>, before: &str) -> Reply {
    if !scene.tools.iter().any(|name| name == tool) {
        return Reply::say(&format!(
            "This needs the tool `{tool}`, which is not switched on here, so I leave it."
        ));
    }
    let calls = arguments.into_iter().map(|arguments| (tool.to_owned(), arguments)).collect();
    Reply { text: before.into(), calls, ..Reply::default() }
}

/// The old and the new text, or why there is none.
type Change = Result<(String, String), String>;

/// Read, edit, tell.
fn edit(scene: &Scene, path: &str, change: &dyn Fn(&str) -> Change) -> Reply {
    match scene.done.as_slice() {
        [] => {
            call(scene, "read", vec![json!({"path": path})], "I read the file before I change it.")
        }
        [read] => match change(&read.output) {
            Ok((old, new)) => {
                let edits = json!([{"oldText": old, "newText": new}]);
                let arguments = vec![json!({"path": path, "edits": edits})];
                call(scene, "edit", arguments, "Now the edit.")
            }
            Err(why) => Reply::say(&format!("I changed nothing in `{path}`: {why}.")),
        },
        [.., last] => Reply::say(&format!(
            "## Edited\n\n- file: `{path}`\n- steps: read, then edit\n\n{}",
            head(&last.output, 3)
        )),
    }
}

/// The text to replace, made longer by its line and the next ones until it stands only once.
fn locate(text: &str, old: &str) -> Result<String, String> {
    /// How many further lines make a text unique or nothing does.
    const MAX_LINES: usize = 5;
    let Some(at) = text.find(old) else {
        return Err(format!("`{}` is not in it", head(old, 1)));
    };
    if !text[at + old.len()..].contains(old) {
        return Ok(old.to_owned());
    }
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let mut end = at + old.len();
    for _ in 0..MAX_LINES {
        end = text[end..].find('\n').map_or(text.len(), |next| end + next);
        let candidate = &text[start..end];
        if text.matches(candidate).nth(1).is_none() {
            return Ok(candidate.to_owned());
        }
        end = (end + 1).min(text.len());
    }
    Err(format!("`{}` stands in it more than once", head(old, 1)))
}

fn argument<'a>(done: &'a Done, name: &str) -> &'a str {
    done.arguments.get(name).and_then(Value::as_str).unwrap_or("?")
}

fn with_newline(content: &str) -> String {
    if content.ends_with('\n') { content.to_owned() } else { format!("{content}\n") }
}
