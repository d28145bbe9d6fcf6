//! `harness-tui sessions …` as it was said.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// What to do with kept sessions. IDs may be shortened as long as they are clear.
#[derive(Debug, Clone, Args)]
pub(crate) struct Sessions {
    #[command(subcommand)]
    pub(crate) command: SessionsCommand,
    /// Print JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List sessions, newest first
    List {
        /// Of every folder, not only of this one
        #[arg(long)]
        all: bool,
        /// What is in the trash
        #[arg(long)]
        trash: bool,
        /// Only those that contain this: words, "a phrase", or re:PATTERN
        #[arg(long, value_name = "QUERY")]
        search: Option<String>,
    },
    /// Print the messages of the active branch
    Show { session: String },
    /// Print the tree
    Tree { session: String },
    /// Count messages, tokens, cost and time, of the active branch and of the whole tree
    Stats { session: String },
    /// Check a file and change nothing; exit code 1 when something is wrong
    Verify { session: String },
    /// Write a repaired copy
    Repair {
        session: String,
        /// The new file
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
    /// Write a session for reading elsewhere
    Export {
        session: String,
        #[arg(long, value_enum, default_value_t = Format::Jsonl)]
        format: Format,
        /// Only the active branch, as a session with a new id (jsonl)
        #[arg(long)]
        branch: bool,
        /// The new file; standard output without it
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Copy a session file into the sessions of its folder
    Import { file: PathBuf },
    /// Copy a session's path to an entry, or all of it, into a new session
    Fork {
        session: String,
        /// The path to this entry; before it when it is a message of yours
        #[arg(long, value_name = "ENTRY")]
        at: Option<String>,
        /// Every branch, for the folder given by --cwd
        #[arg(long, conflicts_with = "at")]
        tree: bool,
    },
    /// Name a session; an empty name takes it away
    Rename { session: String, name: String },
    /// Label an entry; without a label it is taken away
    Label { session: String, entry: String, label: Option<String> },
    /// Move sessions to the trash
    Rm {
        #[arg(required = true)]
        sessions: Vec<String>,
    },
    /// Bring a session back from the trash
    Restore { session: String },
    /// Delete what is in the trash for good
    Purge {
        /// Only what was put there more than this many days ago
        #[arg(long, value_name = "DAYS", default_value_t = 0)]
        older_than: u32,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Jsonl,
    Md,
    Html,
}
