//! The offline summary: what can be lifted from the text of a conversation by plain rules, in the
//! sections that were asked for.
//!
//! It is honest about what it is: it lists requests, files and last words, and claims no insight.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::LazyLock;

use regex::Regex;

use crate::providers::demo_texts::head;

/// Requests and files that are listed; the newest requests, the first files by name.
const SHOWN: usize = 20;

/// The path of a call, as conversations are written down for summaries.
static PATH: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"\b(\w+)\([^)]*?path="([^"\n]{1,200})""#).ok());

/// What was found in the text of a conversation.
#[derive(Debug, Default)]
struct Found {
    asked: Vec<String>,
    answered: Option<String>,
    files: BTreeSet<String>,
    /// What the summary before says was done.
    before: Vec<String>,
    goal: Option<String>,
}

/// The request that a summary quotes because it is being worked on; `None` for other texts.
pub(super) fn quoted(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("newest request, word for word")?;
    let quote = rest.lines().skip_while(|line| !line.starts_with("> "));
    let quote: Vec<&str> = quote.map_while(|line| line.strip_prefix('>')).map(str::trim).collect();
    text.contains("<summary>").then(|| quote.join("\n")).filter(|quote| !quote.is_empty())
}

/// The summary of what the prompt quotes; without a quote, of the requests so far.
pub(super) fn summary(prompt: &str, prompts: &[String]) -> String {
    let (conversation, task) = prompt.split_once("</conversation>").unwrap_or((prompt, ""));
    let mut found = look(conversation, task);
    // The summary before has sections of its own.
    let task = task.rsplit_once("</previous-summary>").map_or(task, |(_, task)| task);
    if found.asked.is_empty() && found.before.is_empty() {
        let earlier = prompts.len().saturating_sub(1);
        found.asked = prompts.iter().take(earlier).map(|text| head(text, 1)).collect();
    }
    if task.contains("## Original Request") { found.turn() } else { found.history(task) }
}

fn look(conversation: &str, task: &str) -> Found {
    let mut found = Found::default();
    for line in conversation.lines() {
        if let Some(text) = line.strip_prefix("[User]: ") {
            found.asked.push(head(text, 1));
        } else if let Some(text) = line.strip_prefix("[Assistant]: ") {
            found.answered = Some(head(text, 1));
        } else if let (Some(calls), Some(path)) =
            (line.strip_prefix("[Assistant tool calls]: "), PATH.as_ref())
        {
            let named =
                path.captures_iter(calls).map(|call| format!("{} ({})", &call[2], &call[1]));
            found.files.extend(named);
        }
    }
    let before = task.split_once("<previous-summary>").map(|(_, rest)| rest);
    if let Some((before, _)) = before.and_then(|rest| rest.split_once("</previous-summary>")) {
        let mut lines = before.lines();
        while let Some(line) = lines.next() {
            if line == "## Goal" {
                found.goal = lines.next().map(|goal| head(goal, 1));
            } else if line == "## Original Request" {
                found.before.extend(lines.next().map(|asked| head(asked, 1)));
            } else if let Some(done) = line.strip_prefix("- [x] ") {
                found.before.push(head(done, 1));
            }
        }
    }
    found
}

impl Found {
    fn history(self, task: &str) -> String {
        let first = self.asked.first().cloned();
        let goal = self.goal.or(first).unwrap_or_else(|| "(not stated)".into());
        let done: Vec<String> = self.before.into_iter().chain(self.asked).collect();
        let skipped = done.len().saturating_sub(SHOWN);
        let done = list("- [x] ", done.into_iter().skip(skipped), "- [x] (nothing)");
        let mut text = format!(
            "## Goal\n{goal}\n\n## Constraints & Preferences\n- (none stated)\n\n## Progress\n\
             ### Done\n{done}\n### In Progress\n- (nothing)\n\n### Blocked\n- (nothing)\n\n\
             ## Key Decisions\n- (none recorded)\n\n## Next Steps\n1. Go on with what follows this summary.\n"
        );
        let files = list("- file: ", self.files.into_iter().take(SHOWN), "- no files were named");
        let last = self.answered.map(|said| format!("- last answer: {said}\n")).unwrap_or_default();
        let heading = if task.contains("## Critical Context") || task.is_empty() {
            "## Critical Context"
        } else {
            "## Found"
        };
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\n{heading}\n{files}{last}- This summary was written by the offline demo: it lists what \
             was asked and touched, and knows nothing of what it means."
        );
        text
    }

    fn turn(self) -> String {
        let asked = self.asked.last().cloned().unwrap_or_else(|| "(not stated)".into());
        let files = list("- ", self.files.into_iter().take(SHOWN), "- no files were named");
        let last = self.answered.unwrap_or_else(|| "(nothing was said yet)".into());
        format!(
            "## Original Request\n{asked}\n\n## Progress So Far\n{files}\n\
             ## Context Needed to Continue\n- last answer: {last}\n\
             - This summary was written by the offline demo."
        )
    }
}

fn list(mark: &str, items: impl Iterator<Item = String>, none: &str) -> String {
    let text: String = items.map(|item| format!("{mark}{item}\n")).collect();
    if text.is_empty() { format!("{none}\n") } else { text }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn requests_files_and_the_last_answer_are_told_and_the_summary_before_is_carried_on() {
        let prompt = "<conversation>\n[User]: fix it\n\n[Assistant tool calls]: read(path=\"a.rs\"); \
            edit(path=\"b.rs\", edits=[])\n\n[Assistant]: fixed\n</conversation>\n\n\
            <previous-summary>\n## Goal\nthe old goal\n- [x] the first step\n</previous-summary>\n\
            ## Critical Context";
        let text = summary(prompt, &[]);
        for part in [
            "## Goal\nthe old goal\n",
            "### Done\n- [x] the first step\n- [x] fix it\n",
            "- file: a.rs (read)\n- file: b.rs (edit)\n- last answer: fixed\n",
            "offline demo",
        ] {
            assert!(text.contains(part), "{part:?} in {text}");
        }
    }

    #[test]
    fn a_request_under_work_is_taken_from_the_summary_that_quotes_it() {
        let text = "<summary>\nold\n\n**The user's newest request, word for word; it is being \
            worked on:**\n\n> read a.txt\n> now\n\n<read-files>";
        assert_eq!(quoted(text).as_deref(), Some("read a.txt\nnow"));
        assert_eq!(quoted("read a.txt"), None);
    }

    #[test]
    fn the_first_part_of_a_turn_has_sections_of_its_own() {
        let prompt = "<conversation>\n[User]: do B\n</conversation>\n## Original Request\n";
        assert!(
            summary(prompt, &[]).starts_with("## Original Request\ndo B\n\n## Progress So Far\n")
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]
        #[test]
        fn no_text_is_too_strange(
            prompt in "(<conversation>|</conversation>|\\[User\\]: |\\[Assistant tool calls\\]: |path=\"|<previous-summary>|## Goal|\n|\\PC){0,20}"
        ) {
            summary(&prompt, &[]);
            quoted(&prompt);
        }
    }
}
