//! The system prompt: identity, preset sections, tools, environment and context files, in one order.
//!
//! Assembly is pure and stable: the same sources give the same bytes, so that provider caches hold
//! for the whole session. What was read from disk is in [`Sources`]; nothing is read here but by
//! [`context_files()`].

mod context_files;
mod identity;

pub use context_files::{ContextFile, context_files};
pub use identity::Family;

use crate::message::ToolSpec;

/// What the prompt is made of. All texts are taken as they stand.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sources {
    /// The enabled sections of the preset, in order; empty bodies are left out.
    pub sections: Vec<String>,
    pub environment: Environment,
    pub context_files: Vec<ContextFile>,
    /// A prompt the caller gave instead of, or after, the assembled one.
    pub given: Option<Given>,
}

/// Where the agent runs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Environment {
    pub cwd: String,
    /// For instance `linux x86_64`.
    pub platform: String,
    /// The session's first day, `2026-11-30`; frozen, so that the prefix stays the same.
    pub date: String,
}

/// A caller's own system prompt.
#[derive(Debug, Clone, PartialEq)]
pub enum Given {
    /// Verbatim, alone: no preset, no context files. Tools stay.
    Override(String),
    /// After the assembled prompt.
    Enrich(String),
}

/// Assembles the prompt for a model.
///
/// Order: identity, sections (all but the last, `self_config`, come before the tools), tools,
/// environment, `self_config`, context files, the caller's addition.
pub fn assemble(sources: &Sources, family: Family, tools: &[ToolSpec]) -> String {
    if let Some(Given::Override(text)) = &sources.given {
        return text.clone();
    }
    let mut parts = vec![family.identity().trim().to_owned()];
    let (before, after) = split_sections(&sources.sections);
    parts.extend(before);
    parts.push(tool_rules(tools));
    parts.push(environment(&sources.environment));
    parts.extend(after);
    parts.extend(sources.context_files.iter().map(ContextFile::rendered));
    if let Some(Given::Enrich(text)) = &sources.given {
        parts.push(text.trim().to_owned());
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

/// The fixed five have `self_config` last, and it stands after the environment.
fn split_sections(sections: &[String]) -> (Vec<String>, Vec<String>) {
    let trimmed: Vec<String> = sections.iter().map(|body| body.trim().to_owned()).collect();
    let cut = trimmed.len().saturating_sub(1);
    let (before, after) = trimmed.split_at(cut);
    (before.to_vec(), after.to_vec())
}

fn tool_rules(tools: &[ToolSpec]) -> String {
    if tools.is_empty() {
        return "# Tools\nYou have no tools in this session: answer from what you are told.".into();
    }
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let has = |name: &str| names.contains(&name);
    let mut text = format!("# Tools\nYou have: {}.", names.join(", "));
    if has("edit") {
        text.push_str(
            "\n- Change existing files with edit; copy the old text exactly, with enough of it to be unique.",
        );
    }
    if has("write") {
        text.push_str("\n- Use write for new files or complete rewrites only.");
    }
    if has("bash") {
        text.push_str(
            "\n- bash starts in the working folder each time and has no input: use flags that do not ask.",
        );
    }
    if has("grep") && has("find") {
        text.push_str("\n- Prefer read, grep, find and ls over cat, grep, find and ls in bash.");
    }
    text
}

fn environment(environment: &Environment) -> String {
    format!(
        "# Environment\n- Working folder: {}\n- Platform: {}\n- Date at the start of this session: {}",
        environment.cwd, environment.platform, environment.date
    )
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn sources() -> Sources {
        Sources {
            sections: ["one", "two", "self"].map(str::to_owned).to_vec(),
            environment: Environment {
                cwd: "/proj".into(),
                platform: "linux".into(),
                date: "2026-11-30".into(),
            },
            context_files: vec![ContextFile {
                path: "/proj/AGENTS.md".into(),
                text: "rule".into(),
            }],
            given: None,
        }
    }

    #[test]
    fn the_order_is_identity_sections_tools_environment_self_config_context_files() {
        let prompt = assemble(&sources(), Family::Default, &[]);
        let at = |text: &str| prompt.find(text).unwrap();
        let order = [
            at("You are a coding agent"),
            at("one"),
            at("two"),
            at("# Tools"),
            at("# Environment"),
            at("self"),
            at("rule"),
        ];
        let mut sorted = order;
        sorted.sort_unstable();
        assert_eq!(order, sorted);
    }

    #[test]
    fn a_disabled_section_leaves_no_gap() {
        let mut with_empty = sources();
        with_empty.sections[1] = String::new();
        let mut without = sources();
        without.sections.remove(1);
        let family = Family::Gpt;
        assert_eq!(assemble(&with_empty, family, &[]), assemble(&without, family, &[]));
    }

    #[test]
    fn an_override_is_sent_verbatim_and_alone() {
        let given = Some(Given::Override("just this".into()));
        let prompt = assemble(&Sources { given, ..sources() }, Family::Anthropic, &[]);
        assert_eq!(prompt, "just this");
    }

    #[test]
    fn an_addition_comes_last() {
        let given = Some(Given::Enrich("and this".into()));
        let prompt = assemble(&Sources { given, ..sources() }, Family::Anthropic, &[]);
        assert!(prompt.ends_with("\n\nand this"), "{prompt}");
        assert!(prompt.contains("rule"));
    }
}
