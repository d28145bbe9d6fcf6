//! Reading the file: values, unknown keys with a suggestion, and errors with line and column.

use std::io;
use std::path::Path;

use toml_edit::{DocumentMut, TableLike};

use super::Config;
use crate::text::nearest::nearest;

/// A config file is small; anything larger is a mistake.
const MAX_BYTES: u64 = 1024 * 1024;

const TOP: [&str; 12] = [
    "model",
    "thinking",
    "approval",
    "durability",
    "default_max_turns",
    "steering_mode",
    "follow_up_mode",
    "timeouts",
    "retry",
    "compaction",
    "providers",
    "ui",
];
const TIMEOUTS: [&str; 3] = ["connect", "first_byte", "idle"];
const RETRY: [&str; 4] = ["enabled", "max_retries", "base_delay", "max_delay"];
const COMPACTION: [&str; 5] =
    ["enabled", "reserve_tokens", "keep_recent_tokens", "preview", "models"];
const COMPACTION_MODEL: [&str; 2] = ["reserve_tokens", "keep_recent_tokens"];
const PROVIDER: [&str; 6] = ["kind", "base_url", "api_key_env", "headers", "models", "script"];
const UI: [&str; 5] = ["theme", "ascii", "mouse", "motion", "on_exit"];

/// What a file came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Loaded {
    pub config: Config,
    /// Unknown keys; the rest of the file holds.
    pub notices: Vec<String>,
}

/// Reads a file. A missing one is an empty one.
///
/// # Errors
/// A text that names the file and, where it is the content, line and column.
pub fn load(path: &Path) -> Result<Loaded, String> {
    let shown = path.display();
    match std::fs::metadata(path) {
        Ok(meta) if meta.len() > MAX_BYTES => {
            return Err(format!("{shown}: larger than 1 MB, so it is not read"));
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Loaded::default()),
        Err(error) => return Err(format!("cannot read {shown}: {error}")),
    }
    let bytes = std::fs::read(path).map_err(|error| format!("cannot read {shown}: {error}"))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        format!("{shown}: not UTF-8 at byte {}", error.utf8_error().valid_up_to())
    })?;
    parse(&text).map_err(|error| format!("{shown}{error}"))
}

/// Parses the text of a file.
///
/// # Errors
/// `:LINE:COLUMN: message`.
pub fn parse(text: &str) -> Result<Loaded, String> {
    let document: DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| place(text, error.span(), error.message()))?;
    let config = toml_edit::de::from_str::<Config>(text)
        .map_err(|error| place(text, error.span(), error.message()))?;
    let mut notices = Vec::new();
    check(document.as_table(), &TOP, "", &mut notices);
    let sections = [
        ("timeouts", &TIMEOUTS[..]),
        ("retry", &RETRY[..]),
        ("compaction", &COMPACTION[..]),
        ("ui", &UI[..]),
    ];
    for (name, keys) in sections {
        if let Some(table) = document.get(name).and_then(toml_edit::Item::as_table_like) {
            check(table, keys, &format!("{name}."), &mut notices);
        }
    }
    let models = document.get("compaction").and_then(|item| item.get("models"));
    check_each(models, &COMPACTION_MODEL, "compaction.models.", &mut notices);
    check_each(document.get("providers"), &PROVIDER, "providers.", &mut notices);
    Ok(Loaded { config, notices })
}

/// Checks each table of a table of tables.
fn check_each(
    item: Option<&toml_edit::Item>,
    known: &[&str],
    prefix: &str,
    notices: &mut Vec<String>,
) {
    let tables = item.and_then(toml_edit::Item::as_table_like);
    for (name, item) in tables.into_iter().flat_map(|tables| tables.iter()) {
        if let Some(table) = item.as_table_like() {
            check(table, known, &format!("{prefix}{name}."), notices);
        }
    }
}

fn check(table: &dyn TableLike, known: &[&str], prefix: &str, notices: &mut Vec<String>) {
    for (key, _) in table.iter() {
        if known.contains(&key) {
            continue;
        }
        let hint = nearest(key, known.iter().copied())
            .map(|near| format!(": did you mean {prefix}{near}?"))
            .unwrap_or_default();
        notices.push(format!("config: unknown key {prefix}{key}{hint}"));
    }
}

fn place(text: &str, span: Option<std::ops::Range<usize>>, message: &str) -> String {
    let Some(before) = span.and_then(|span| text.get(..span.start)) else {
        return format!(": {message}");
    };
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
    format!(":{line}:{column}: {}", message.lines().next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::message::{Profile, ThinkingLevel};

    #[test]
    fn an_empty_file_gives_the_defaults() {
        assert_eq!(parse("").unwrap(), Loaded::default());
        assert_eq!(Config::default().timeouts.first_byte, 120);
        assert_eq!(Config::default().retry.max_retries, 3);
    }

    #[test]
    fn values_are_read_and_the_rest_keeps_its_defaults() {
        let text = "model = \"ollama/qwen3\"\nthinking = \"high\"\napproval = \"read-only\"\n\
                    [timeouts]\nidle = 5\n[providers.mock]\nkind = \"openai-chat\"\n";
        let loaded = parse(text).unwrap();
        let config = loaded.config;
        assert_eq!(config.model.as_deref(), Some("ollama/qwen3"));
        assert_eq!(config.thinking, Some(ThinkingLevel::High));
        assert_eq!(config.approval, Some(Profile::ReadOnly));
        assert_eq!((config.timeouts.connect, config.timeouts.idle), (10, 5));
        assert_eq!(config.providers["mock"].kind.as_deref(), Some("openai-chat"));
        assert_eq!(loaded.notices, Vec::<String>::new());
    }

    #[test]
    fn an_unknown_key_is_named_with_the_nearest_one_and_the_rest_holds() {
        let loaded = parse("modle = \"x\"\nthinking = \"low\"\n[ui]\nzebra = 1\n").unwrap();
        assert_eq!(loaded.config.thinking, Some(ThinkingLevel::Low));
        assert_eq!(
            loaded.notices,
            ["config: unknown key modle: did you mean model?", "config: unknown key ui.zebra"]
        );
    }

    #[test]
    fn compaction_is_read_with_what_holds_for_one_model() {
        let text = "[compaction]\npreview = true\nreserve = 1\n[compaction.models.\"a/b\"]\n\
                    reserve_tokens = 5\nkeep = 2\n";
        let loaded = parse(text).unwrap();
        let compaction = loaded.config.compaction;
        assert_eq!((compaction.enabled, compaction.preview), (true, true));
        assert_eq!(compaction.models["a/b"].reserve_tokens, Some(5));
        assert_eq!(
            loaded.notices,
            [
                "config: unknown key compaction.reserve",
                "config: unknown key compaction.models.a/b.keep"
            ]
        );
    }

    #[test]
    fn errors_name_line_and_column() {
        let error = parse("model = \"x\"\nthinking = \"loud\"\n").unwrap_err();
        assert!(error.starts_with(":2:12: unknown variant `loud`"), "{error}");
        let error = parse("a = 1\nb = = 2\n").unwrap_err();
        assert!(error.starts_with(":2:"), "{error}");
    }

    #[test]
    fn a_file_that_is_not_text_is_refused_with_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        std::fs::write(&path, b"model = \"\xff\"").unwrap();
        let error = load(&path).unwrap_err();
        assert!(error.ends_with("config.toml: not UTF-8 at byte 9"), "{error}");
        assert_eq!(load(&dir.path().join("none")).unwrap(), Loaded::default());
    }
}
