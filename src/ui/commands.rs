//! Slash commands of the composer: one table for parsing, completion and help.

use crate::message::ThinkingLevel;
use crate::policy::Profile;
use crate::text::nearest::edits;

/// What a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slash {
    Help,
    New,
    Name,
    Model,
    Thinking,
    Approval,
    Tools,
    Queue,
    Next,
    Retry,
    Copy,
    Resume,
    Session,
    Tree,
    Fork,
    Clone,
    Compact,
    Context,
    Export,
    Import,
    Verify,
    Repair,
    Quit,
}

/// One command.
#[derive(Debug, PartialEq, Eq)]
pub struct Spec {
    pub slash: Slash,
    pub name: &'static str,
    /// The argument, for people; empty when it takes none, in brackets when it can do without.
    pub argument: &'static str,
    pub title: &'static str,
}

const fn spec(
    slash: Slash,
    name: &'static str,
    argument: &'static str,
    title: &'static str,
) -> Spec {
    Spec { slash, name, argument, title }
}

/// Every command, in the order of help.
pub static COMMANDS: &[Spec] = &[
    spec(Slash::Help, "help", "", "keys and commands"),
    spec(Slash::New, "new", "", "start a new session"),
    spec(Slash::Name, "name", "<name>", "name the session"),
    spec(Slash::Model, "model", "<provider/id>", "change the model"),
    spec(Slash::Thinking, "thinking", "<level>", "how much the model thinks"),
    spec(Slash::Approval, "approval", "<profile>", "what runs without asking"),
    spec(Slash::Tools, "tools", "", "show or hide the tools pane"),
    spec(Slash::Queue, "queue", "<text>", "send when the turn would end"),
    spec(Slash::Next, "next", "<text>", "put in front of the next prompt"),
    spec(Slash::Retry, "retry", "", "ask again after a failure"),
    spec(Slash::Copy, "copy", "", "copy the last answer"),
    spec(Slash::Resume, "resume", "", "find and open another session"),
    spec(Slash::Session, "session", "", "what there is to know of this session"),
    spec(Slash::Tree, "tree", "", "show or hide the tree"),
    spec(Slash::Fork, "fork", "", "go on in a copy, from before a prompt of yours"),
    spec(Slash::Clone, "clone", "", "go on in a copy of this branch"),
    spec(Slash::Compact, "compact", "[instructions]", "fold the older part into a summary"),
    spec(Slash::Context, "context", "", "what fills the window"),
    spec(Slash::Export, "export", "[html|md|jsonl|branch|path]", "write the session to a file"),
    spec(Slash::Import, "import", "<path>", "take in a session from a file"),
    spec(Slash::Verify, "verify", "", "check the file of this session"),
    spec(Slash::Repair, "repair", "<path>", "write a repaired copy of this session"),
    spec(Slash::Quit, "quit", "", "leave"),
];

/// What an export can be called without a path.
pub const EXPORTS: [&str; 4] = ["html", "md", "jsonl", "branch"];

/// What the text of the composer is.
#[derive(Debug, PartialEq, Eq)]
pub enum Parsed<'a> {
    /// A message for the model.
    Text,
    /// A command and its trimmed argument.
    Known(&'static Spec, &'a str),
    /// Looks like a command and is none; the nearest names.
    Unknown(&'a str, Vec<&'static str>),
}

/// A line is a command only if it is `^/[a-z][a-z:-]*( |$)`; `/usr/bin` and `/ x` are text.
pub fn parse(text: &str) -> Parsed<'_> {
    let Some(rest) = text.strip_prefix('/') else { return Parsed::Text };
    let end = rest.find(|c: char| !matches!(c, 'a'..='z' | ':' | '-')).unwrap_or(rest.len());
    let (name, after) = rest.split_at(end);
    if !name.starts_with(|c: char| c.is_ascii_lowercase())
        || !(after.is_empty() || after.starts_with(' '))
    {
        return Parsed::Text;
    }
    match COMMANDS.iter().find(|spec| spec.name == name) {
        Some(spec) => Parsed::Known(spec, after.trim()),
        None => Parsed::Unknown(name, nearest(name)),
    }
}

/// The up to three commands that a mistyped name is nearest to.
fn nearest(name: &str) -> Vec<&'static str> {
    // A longer name is no typing mistake, and the distance is quadratic in its length.
    const NAME_MAX: usize = 32;
    if name.len() > NAME_MAX {
        return Vec::new();
    }
    let mut ranked: Vec<(usize, &'static str)> =
        COMMANDS.iter().map(|spec| (distance(name, spec.name), spec.name)).collect();
    ranked.sort_by_key(|(distance, _)| *distance);
    let best = ranked.first().map_or(0, |(distance, _)| *distance);
    let close = |(distance, _): &(usize, &str)| *distance <= 3 && *distance == best;
    ranked.into_iter().filter(close).take(3).map(|(_, name)| name).collect()
}

/// Edits between two names; a prefix counts as one.
fn distance(a: &str, b: &str) -> usize {
    if b.starts_with(a) { 1 } else { edits(a, b) }
}

/// One line of the list above the composer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// What the composer would hold.
    pub text: String,
    pub title: &'static str,
}

/// What the text could become: command names, then the fixed values of an argument.
pub fn completions(text: &str) -> Vec<Completion> {
    let Some(rest) = text.strip_prefix('/') else { return Vec::new() };
    if rest.contains('\n') {
        return Vec::new();
    }
    let Some((name, argument)) = rest.split_once(' ') else {
        return COMMANDS
            .iter()
            .filter(|spec| spec.name.starts_with(rest))
            .map(|spec| {
                let blank = if spec.argument.starts_with('<') { " " } else { "" };
                Completion { text: format!("/{}{blank}", spec.name), title: spec.title }
            })
            .collect();
    };
    let values: Vec<&'static str> = match COMMANDS.iter().find(|spec| spec.name == name) {
        Some(Spec { slash: Slash::Thinking, .. }) => {
            ThinkingLevel::ALL.into_iter().map(ThinkingLevel::name).collect()
        }
        Some(Spec { slash: Slash::Approval, .. }) => {
            Profile::ALL.into_iter().map(Profile::name).collect()
        }
        Some(Spec { slash: Slash::Export, .. }) => EXPORTS.to_vec(),
        _ => Vec::new(),
    };
    if values.contains(&argument) {
        return Vec::new();
    }
    values
        .into_iter()
        .filter(|value| value.starts_with(argument))
        .map(|value| Completion { text: format!("/{name} {value}"), title: "" })
        .collect()
}

/// What tab makes of the text: as much as all completions share, else the first one.
pub fn complete(text: &str) -> Option<String> {
    let all = completions(text);
    let first = all.first()?;
    let shared = all.iter().fold(first.text.as_str(), |shared, other| {
        let same = shared.bytes().zip(other.text.bytes()).take_while(|(a, b)| a == b).count();
        &shared[..same]
    });
    let next = if shared.len() > text.len() { shared } else { first.text.as_str() };
    (next != text).then(|| next.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_lower_case_word_after_the_slash_is_a_command() {
        for text in ["/usr/bin", "/ x", "/", "/Help", "/help\nme", "say /help", "/1", "//help"] {
            assert_eq!(parse(text), Parsed::Text, "{text:?}");
        }
        let Parsed::Known(spec, argument) = parse("/name  my work ") else { panic!() };
        assert_eq!((spec.name, argument), ("name", "my work"));
        assert_eq!(parse("/skill:x y"), Parsed::Unknown("skill:x", vec![]));
    }

    #[test]
    fn a_mistyped_command_names_the_nearest() {
        assert_eq!(parse("/hepl"), Parsed::Unknown("hepl", vec!["help"]));
        assert_eq!(parse("/mod"), Parsed::Unknown("mod", vec!["model"]));
    }

    #[test]
    fn tab_completes_names_and_fixed_arguments() {
        assert_eq!(complete("/q"), Some("/qu".into()));
        assert_eq!(complete("/he"), Some("/help".into()));
        assert_eq!(complete("/thinking m"), Some("/thinking minimal".into()));
        assert_eq!(complete("/thinking high"), None);
        assert_eq!(complete("/approval "), Some("/approval read-only".into()));
        assert_eq!(complete("hello"), None);
    }
}
