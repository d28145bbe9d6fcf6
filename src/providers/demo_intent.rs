//! What a plain request asks the demo model for, by a few patterns in order.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// No prompt is looked at beyond this; the patterns are for one sentence.
const MAX_PROMPT: usize = 20_000;
/// Files read at once.
const MAX_FILES: usize = 5;

/// A request, understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Intent {
    Read(Vec<String>),
    List(Option<String>),
    FindFiles(String),
    Search {
        pattern: String,
        path: Option<String>,
    },
    Run(String),
    Write {
        path: String,
        content: String,
    },
    Replace {
        path: String,
        old: String,
        new: String,
    },
    /// Any small visible edit.
    Touch(String),
    Summarise,
    Greeting,
    Help,
    Other,
}

impl Intent {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Read(_) => "read files",
            Self::List(_) => "list a folder",
            Self::FindFiles(_) => "find files",
            Self::Search { .. } => "search",
            Self::Run(_) => "run a command",
            Self::Write { .. } => "write a file",
            Self::Replace { .. } => "replace text",
            Self::Touch(_) => "edit a file",
            Self::Summarise => "summarise",
            Self::Greeting => "a greeting",
            Self::Help => "help",
            Self::Other => "nothing I have a rule for",
        }
    }
}

type Make = fn(&Captures<'_>) -> Option<Intent>;
type Rule = (Regex, Make);

/// In order: the first that matches and agrees counts.
static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let rules: [(&str, Make); 13] = [
        (r"^(?:hi|hello|hey|good (?:morning|day|evening)|hallo)\b[\s\w]{0,20}[.!]*$", |_| {
            Some(Intent::Greeting)
        }),
        (r"^(?:help|what can you do|who are you|what are you)\b", |_| Some(Intent::Help)),
        (r"^(?:run|execute)\s+(?:the\s+command\s+)?(.+)$", |found| {
            Some(Intent::Run(unquote(&found[1]).to_owned()))
        }),
        (r"^[$!]\s*(.+)$", |found| Some(Intent::Run(found[1].trim().to_owned()))),
        (
            r"^(?:create|make|write)\s+(?:a\s+)?(?:new\s+)?(?:file\s+)?(\S+)\s+(?:with|containing)\s+(?:the\s+)?(?:(?:text|content|words?|line)\s+)?(.+)$",
            |found| {
                Some(Intent::Write {
                    path: path(&found[1])?,
                    content: unquote(&found[2]).to_owned(),
                })
            },
        ),
        (r"^write\s+(.+)\s+(?:to|into)\s+(?:the\s+)?(?:file\s+)?(\S+)$", |found| {
            Some(Intent::Write { path: path(&found[2])?, content: unquote(&found[1]).to_owned() })
        }),
        (r"^in\s+(\S+?)[,:]?\s+(?:replace|change)\s+(.+?)\s+(?:with|by|to)\s+(.+)$", |found| {
            replace(&found[1], &found[2], &found[3])
        }),
        (
            r"^(?:edit|replace|change)\s+(.+?)\s+(?:with|by|to)\s+(.+)\s+in\s+(?:the\s+)?(?:file\s+)?(\S+)$",
            |found| replace(&found[3], &found[1], &found[2]),
        ),
        (r"^(?:edit|change|modify|improve|touch)\s+(?:the\s+)?(?:file\s+)?(\S+)$", |found| {
            Some(Intent::Touch(path(&found[1])?))
        }),
        (
            r"^(?:read|show|open|cat|view|display|look at)\s+(?:me\s+)?(?:the\s+)?(?:files?\s+)?(.+)$",
            |found| {
                let paths: Vec<_> = found[1]
                    .split([' ', ',', '\n', '\t'])
                    .filter(|word| !matches!(*word, "and" | "then" | "the" | "please"))
                    .filter_map(path)
                    .take(MAX_FILES)
                    .collect();
                (!paths.is_empty()).then_some(Intent::Read(paths))
            },
        ),
        (
            r"^(?:list|ls|dir)\b(?:\s+(?:all\s+)?(?:the\s+)?(?:files?|folder|directory)?\s*(?:in|of|under)?\s*(?:the\s+)?(\S+)?)?$",
            |found| {
                let folder = found
                    .get(1)
                    .map(|folder| folder.as_str())
                    .filter(|name| !matches!(*name, "files" | "folder" | "directory" | "here"));
                Some(Intent::List(folder.and_then(path)))
            },
        ),
        (
            r"^(?:find|search|grep|look)\s+(?:for\s+)?(?:the\s+)?(?:word\s+|text\s+|files?\s+(?:named\s+|called\s+)?)?(.+?)(?:\s+in\s+(\S+))?$",
            |found| {
                let pattern = unquote(&found[1]);
                if pattern.contains('*') && !pattern.contains(' ') {
                    return Some(Intent::FindFiles(pattern.to_owned()));
                }
                let path = found.get(2).and_then(|place| path(place.as_str()));
                (!pattern.is_empty()).then(|| Intent::Search { pattern: pattern.to_owned(), path })
            },
        ),
        (r"^(?:give me a |write a )?summar(?:y|i[sz]e)\b", |_| Some(Intent::Summarise)),
    ];
    let compiled = rules
        .into_iter()
        .filter_map(|(pattern, make)| Some((Regex::new(&format!("(?is){pattern}")).ok()?, make)));
    compiled.collect()
});

/// Understands a prompt: the whole of it, or (when a file was piped in before it) its last line.
pub(super) fn intent(prompt: &str) -> Intent {
    let prompt = prompt.trim();
    if prompt.len() > MAX_PROMPT {
        return Intent::Other;
    }
    let last = prompt.lines().next_back().unwrap_or_default();
    let polite = |text: &str| {
        let text = text.trim();
        let start =
            ["please ", "can you ", "could you ", "now ", "then "].iter().find_map(|word| {
                text.get(..word.len()).filter(|start| start.eq_ignore_ascii_case(word))
            });
        text[start.map_or(0, str::len)..].trim().to_owned()
    };
    [prompt, last].iter().find_map(|text| by_rules(&polite(&polite(text)))).unwrap_or(Intent::Other)
}

fn by_rules(text: &str) -> Option<Intent> {
    RULES.iter().find_map(|(pattern, make)| make(&pattern.captures(text)?))
}

fn replace(file: &str, old: &str, new: &str) -> Option<Intent> {
    let (old, new) = (unquote(old), unquote(new));
    if old.is_empty() {
        return None;
    }
    Some(Intent::Replace { path: path(file)?, old: old.to_owned(), new: new.to_owned() })
}

/// A path as people write it in a sentence, without what belongs to the sentence.
fn path(word: &str) -> Option<String> {
    let word = unquote(word.trim_end_matches([',', ';', ':', '?', '!']));
    let word = word.strip_prefix('@').unwrap_or(word);
    let word = if matches!(word, "." | "..") { word } else { word.trim_end_matches('.') };
    (!word.is_empty()).then(|| word.to_owned())
}

/// The text without one pair of quotes around it.
fn unquote(text: &str) -> &str {
    let text = text.trim();
    for (open, close) in [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”'), ('«', '»')] {
        if let Some(inner) = text.strip_prefix(open).and_then(|text| text.strip_suffix(close)) {
            return inner;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_rule_compiles() {
        assert_eq!(RULES.len(), 13);
    }

    #[test]
    fn plain_requests_are_understood() {
        let s = str::to_owned;
        let read = |paths: &[&str]| Intent::Read(paths.iter().map(|path| s(path)).collect());
        let search = |pattern: &str, path: Option<&str>| Intent::Search {
            pattern: s(pattern),
            path: path.map(s),
        };
        let write =
            |path: &str, content: &str| Intent::Write { path: s(path), content: s(content) };
        let change = |path: &str, old: &str, new: &str| Intent::Replace {
            path: s(path),
            old: s(old),
            new: s(new),
        };
        for (prompt, want) in [
            ("hello", Intent::Greeting),
            ("Hi there!", Intent::Greeting),
            ("help", Intent::Help),
            ("what can you do?", Intent::Help),
            ("read Cargo.toml", read(&["Cargo.toml"])),
            ("Please read the file @src/main.rs.", read(&["src/main.rs"])),
            ("read a.txt, b.txt and `c.txt`", read(&["a.txt", "b.txt", "c.txt"])),
            ("list", Intent::List(None)),
            ("ls src", Intent::List(Some(s("src")))),
            ("list the files in src/ui", Intent::List(Some(s("src/ui")))),
            ("list files", Intent::List(None)),
            ("find TODO", search("TODO", None)),
            ("search for \"fn main\" in src", search("fn main", Some("src"))),
            ("find *.rs", Intent::FindFiles(s("*.rs"))),
            ("run cargo --version", Intent::Run(s("cargo --version"))),
            ("$ ls -l | wc", Intent::Run(s("ls -l | wc"))),
            ("run `echo hi`", Intent::Run(s("echo hi"))),
            ("write hello to a.txt", write("a.txt", "hello")),
            ("create a file notes.md with 'two words'", write("notes.md", "two words")),
            ("replace foo with bar in a.txt", change("a.txt", "foo", "bar")),
            ("edit one to two in a.txt", change("a.txt", "one", "two")),
            ("in a.txt, change x to y z", change("a.txt", "x", "y z")),
            ("edit README.md", Intent::Touch(s("README.md"))),
            ("summarise what we did", Intent::Summarise),
            ("line one of a pipe\nline two\nread x.txt", read(&["x.txt"])),
            ("what is the meaning of life", Intent::Other),
            ("", Intent::Other),
        ] {
            assert_eq!(intent(prompt), want, "{prompt:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]
        #[test]
        fn no_prompt_is_too_strange(prompt in "(read|find|write|edit|replace|in|with|to| |\\PC){0,12}") {
            intent(&prompt);
        }
    }
}
