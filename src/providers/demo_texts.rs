//! The words of the demo model, in Markdown so that a newcomer sees how answers are shown.

use std::fmt::Write as _;

/// Lines of a file or a list that an answer shows.
const SHOWN_LINES: usize = 12;
/// Lines of a command's output.
const RUN_LINES: usize = 20;
/// A longer line is cut; the tool's pane has the whole.
const SHOWN_CHARS: usize = 160;
/// Prompts that a summary quotes.
const SHOWN_PROMPTS: usize = 20;

const FOOTER: &str =
    "*Offline demo: this answer comes from a few fixed rules, not from a language model.*";

pub(super) const GREETING: &str = "# Hello\n\nI am the built-in **offline demo**. I am no language \
    model, but I can use the real tools, so you can try everything here. For instance:\n\n\
    - `read Cargo.toml`\n- `find TODO`\n- `run date`\n\nType `help` for the whole list.";

pub(super) const HELP: &str = "# What the demo can do\n\n\
    | say | what happens |\n|---|---|\n\
    | `read FILE` (or several) | reads and shows the beginning |\n\
    | `list` or `list DIR` | lists a folder |\n\
    | `find TEXT`, `find *.rs` | searches in files, finds files |\n\
    | `run COMMAND` | runs a command, after your yes |\n\
    | `write TEXT to FILE` | creates a file |\n\
    | `replace A with B in FILE` | reads, then edits |\n\
    | `edit FILE` | reads, then makes a small visible edit |\n\
    | `summarise` | tells what you asked so far |\n\n\
    To work with a real model, name one:\n\n```sh\nharness-tui --model PROVIDER/MODEL\n```";

pub(super) const OTHER: &str = "I am the **offline demo** and have no rule for that, so I will not \
    pretend to know. What I can do:\n\n\
    - read, list and search files: `read README.md`, `list src`, `find TODO`\n\
    - change files: `write hello to hello.txt`, `replace hello with goodbye in hello.txt`\n\
    - run commands: `run date`\n\n\
    For real answers choose a real model:\n\n```sh\nharness-tui --model PROVIDER/MODEL\n```";

/// The text with the demo's mark under it.
pub(super) fn finish(text: &str) -> String {
    format!("{}\n\n{FOOTER}", text.trim_end())
}

/// A code block whose fence is longer than any inside.
pub(super) fn fence(language: &str, text: &str) -> String {
    let mut longest = 0;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    let ticks = "`".repeat((longest + 1).max(3));
    format!("{ticks}{language}\n{}\n{ticks}", text.trim_end_matches('\n'))
}

/// The first lines, each cut to a bearable length.
pub(super) fn head(text: &str, lines: usize) -> String {
    text.lines().take(lines).map(cut).collect::<Vec<_>>().join("\n")
}

/// The last lines, each cut to a bearable length.
pub(super) fn tail(text: &str, lines: usize) -> String {
    let mut last: Vec<String> = text.lines().rev().take(lines).map(cut).collect();
    last.reverse();
    last.join("\n")
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(SHOWN_CHARS) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

/// What stands in a file.
pub(super) fn file(path: &str, output: &str) -> String {
    let count = output.lines().count();
    let language = path.rsplit_once('.').map_or("", |(_, ending)| match ending {
        "rs" => "rust",
        "md" => "markdown",
        "toml" | "json" | "py" | "js" | "ts" | "sh" | "c" | "go" | "html" | "css" => ending,
        _ => "",
    });
    let shown = fence(language, &head(output, SHOWN_LINES));
    let more = count.saturating_sub(SHOWN_LINES);
    let more = if more > 0 { format!("\n\n… and {more} more lines.") } else { String::new() };
    format!("## {path}\n\n- lines read: {count}\n- it begins so:\n\n{shown}{more}")
}

/// What is in a folder.
pub(super) fn listing(path: &str, output: &str) -> String {
    matches("Folder", path, output)
}

/// How a command ended.
pub(super) fn ran(command: &str, output: &str) -> String {
    let shown = fence("text", &tail(output, RUN_LINES));
    format!("## {}\n\nIt ended well:\n\n{shown}", code(&head(command, 1)))
}

/// What was written.
pub(super) fn written(path: &str, content: &str, output: &str) -> String {
    let shown = fence("", &head(content, SHOWN_LINES));
    format!("## Written\n\n`{path}` now holds:\n\n{shown}\n\n{}", head(output, 1))
}

/// A list of what was found.
pub(super) fn matches(title: &str, what: &str, output: &str) -> String {
    let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    let mut text = format!("## {title}: {}\n\n", code(what));
    for line in lines.iter().take(SHOWN_LINES) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "- {}", code(&cut(line.trim())));
    }
    if lines.len() > SHOWN_LINES {
        let _ = writeln!(text, "\n… and {} more lines.", lines.len() - SHOWN_LINES);
    }
    if lines.is_empty() {
        text.push_str("Nothing was found.");
    }
    text
}

fn code(text: &str) -> String {
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}

/// A tool failed or was not allowed: no second attempt behind the person's back.
pub(super) fn failed(tool: &str, output: &str) -> String {
    let said = if output.trim().is_empty() { "no result" } else { output };
    format!(
        "## That did not work\n\nThe tool `{tool}` answered:\n\n{}\n\n\
         I stop here. You can say it differently, or allow the step and ask again.",
        fence("text", &tail(said, SHOWN_LINES))
    )
}

/// A comment after the first line that stands only once, or its removal when it is there already.
pub(super) fn small_edit(path: &str, text: &str) -> Result<(String, String), String> {
    const NOTE: &str = "touched by the harness-tui demo";
    let comment = match path.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "rs" | "js" | "ts" | "tsx" | "c" | "h" | "cpp" | "go" | "java" | "swift" | "kt" => {
            format!("// {NOTE}")
        }
        "md" | "html" | "xml" | "svg" => format!("<!-- {NOTE} -->"),
        "css" => format!("/* {NOTE} */"),
        "json" => return Err("JSON has no comments to add; try `replace A with B in FILE`".into()),
        "txt" => NOTE.to_owned(),
        _ => format!("# {NOTE}"),
    };
    let lines = text.lines().take(100);
    let line = lines
        .filter(|line| !line.trim().is_empty() && !line.contains(NOTE))
        .find(|line| text.matches(line).nth(1).is_none())
        .ok_or("it has no line that stands only once")?;
    let with = format!("{line}\n{comment}");
    Ok(if text.contains(&with) { (with, line.to_owned()) } else { (line.to_owned(), with) })
}

/// What the person asked for so far.
pub(super) fn conversation(prompts: &[String]) -> String {
    let mut text = format!("## So far\n\nYou wrote {} messages:\n\n", prompts.len());
    let skipped = prompts.len().saturating_sub(SHOWN_PROMPTS);
    for (n, prompt) in prompts.iter().enumerate().skip(skipped) {
        let _ = writeln!(text, "{}. {}", n + 1, head(prompt, 1));
    }
    text
}
