//! The command line as it was said; `launch` decides what it means.

mod sessions;

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use harness_tui::message::{Profile, ThinkingLevel};

pub(crate) use sessions::{Format, Sessions, SessionsCommand};

/// A coding agent in your terminal. Without options it opens the screen in this folder.
#[derive(Debug, Parser)]
#[command(
    name = "harness-tui",
    version,
    max_term_width = 100,
    args_conflicts_with_subcommands = true
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Sub>,

    /// The prompt; `@file` puts a file's content in. Sent at once.
    #[arg(value_name = "PROMPT | @FILE")]
    pub(crate) prompt: Vec<String>,

    /// Run the prompt without a screen and print the final text
    #[arg(short, long)]
    pub(crate) print: bool,
    /// Headless output: the final text, or every event as a JSON line
    #[arg(long, value_enum, value_name = "MODE")]
    pub(crate) mode: Option<OutputMode>,

    /// Go on with this folder's newest session
    #[arg(short = 'c', long = "continue", conflicts_with_all = ["session", "no_session"])]
    pub(crate) resume_last: bool,
    /// Choose a session from a list
    #[arg(short, long, conflicts_with_all = ["session", "no_session", "resume_last", "fork"])]
    pub(crate) resume: bool,
    /// Open a session by path or by the beginning of its id
    #[arg(long, value_name = "PATH | ID", conflicts_with = "no_session")]
    pub(crate) session: Option<String>,
    /// Copy a session, all its branches, into this folder and go on in the copy
    #[arg(long, value_name = "PATH | ID", conflicts_with_all = ["session", "no_session", "resume_last"])]
    pub(crate) fork: Option<String>,
    /// Keep this session in memory only
    #[arg(long)]
    pub(crate) no_session: bool,
    /// Keep sessions in this folder
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) session_dir: Option<PathBuf>,
    /// Name the session
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,

    /// Which model: provider/id, with :LEVEL for thinking
    #[arg(long, value_name = "PROVIDER/ID[:LEVEL]")]
    pub(crate) model: Option<String>,
    /// How much the model thinks: off, minimal, low, medium, high, xhigh, max
    #[arg(long, value_name = "LEVEL", value_parser = level)]
    pub(crate) thinking: Option<ThinkingLevel>,
    /// Take the key from this environment variable
    #[arg(long, value_name = "VAR")]
    pub(crate) api_key_env: Option<String>,
    /// Ask this server instead of the provider's own
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,

    /// Use this system prompt instead (text, or @file)
    #[arg(long, value_name = "TEXT | @FILE")]
    pub(crate) system_prompt: Option<String>,
    /// Add this to the system prompt (text, or @file)
    #[arg(long, value_name = "TEXT | @FILE")]
    pub(crate) append_system_prompt: Option<String>,

    /// Offer only these tools, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "no_tools")]
    pub(crate) tools: Option<Vec<String>>,
    /// Offer no tools
    #[arg(long)]
    pub(crate) no_tools: bool,
    /// How much runs without asking: read-only, confirm or full
    #[arg(long, value_name = "PROFILE", value_parser = profile)]
    pub(crate) approval: Option<Profile>,
    /// Stop a turn after this many steps; 0 for no cap
    #[arg(long, value_name = "N")]
    pub(crate) max_turns: Option<u32>,

    /// Work in this folder
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) cwd: Option<PathBuf>,
    /// Read this configuration file
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Write a log to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// Log more; twice for everything
    #[arg(short, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// A sub-command.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Sub {
    /// List, show, check, copy, export and remove kept sessions
    Sessions(Sessions),
}

/// `--mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputMode {
    Text,
    Json,
}

fn level(name: &str) -> Result<ThinkingLevel, String> {
    ThinkingLevel::parse(name).ok_or_else(|| {
        let names: Vec<&str> = ThinkingLevel::ALL.iter().map(|level| level.name()).collect();
        format!("one of {}", names.join(", "))
    })
}

fn profile(name: &str) -> Result<Profile, String> {
    Profile::parse(name).ok_or_else(|| {
        let names: Vec<&str> = Profile::ALL.iter().map(|profile| profile.name()).collect();
        format!("one of {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
