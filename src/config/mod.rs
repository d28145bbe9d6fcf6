//! Settings: one documented struct, read from one TOML file, watched while the program runs.
//!
//! A file that does not parse never stops the program: the last good values hold and the notice names
//! file, line and column. Values are plain here; what they mean is decided where they are used.

mod auth;
mod load;
mod paths;
mod watch;

pub use auth::{stored_key, stored_secrets};
pub use load::{Loaded, load, parse};
pub use paths::Paths;
pub use watch::{Live, Watching, watch};

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::message::{Profile, ThinkingLevel};

/// Everything `config.toml` can say. A missing key has the default named beside it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Config {
    /// `provider/id`. Default: the offline model `demo/demo`.
    pub model: Option<String>,
    /// `off` to `max`. Default: `off`.
    pub thinking: Option<ThinkingLevel>,
    /// `read-only`, `confirm` or `full`. Default: `confirm`.
    pub approval: Option<Profile>,
    /// `commit` (every promise is synced) or `process`. Default: `commit`.
    pub durability: Option<String>,
    /// Steps a turn; 0 for no cap. Default: 200.
    pub default_max_turns: Option<u32>,
    /// How queued steering is delivered: `one-at-a-time` or `all`. Default: `one-at-a-time`.
    pub steering_mode: Option<String>,
    /// The same for follow-ups.
    pub follow_up_mode: Option<String>,
    pub timeouts: Timeouts,
    pub retry: Retry,
    pub compaction: Compaction,
    /// `[providers.<name>]`; adds to or replaces the known ones.
    pub providers: BTreeMap<String, Provider>,
    pub ui: Ui,
}

/// `[timeouts]`, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Timeouts {
    /// Default: 10.
    pub connect: u64,
    /// From the request to the first data. Default: 120.
    pub first_byte: u64,
    /// Between two pieces of an answer. Default: 120.
    pub idle: u64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect: 10, first_byte: 120, idle: 120 }
    }
}

/// `[retry]`, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(default)]
pub struct Retry {
    /// Default: true.
    pub enabled: bool,
    /// Attempts after the first. Default: 3.
    pub max_retries: u32,
    /// Doubles with every attempt. Default: 2.
    pub base_delay: f64,
    /// A server that asks for more is not waited for. Default: 60.
    pub max_delay: f64,
}

impl Default for Retry {
    fn default() -> Self {
        Self { enabled: true, max_retries: 3, base_delay: 2.0, max_delay: 60.0 }
    }
}

/// `[compaction]`: folding the older part of a long conversation into a summary. The numbers are
/// those other tools of this session format use.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Compaction {
    /// Whether it happens by itself. Off: a conversation that no longer fits is an error card.
    /// Default: true.
    pub enabled: bool,
    /// Tokens kept free for the answer; above the window less these it begins. Default: 16384.
    pub reserve_tokens: u64,
    /// Recent tokens that stay as they are. Default: 20000.
    pub keep_recent_tokens: u64,
    /// By itself only as a draft that a person accepts or edits. Default: false.
    pub preview: bool,
    /// `[compaction.models."provider/id"]`.
    pub models: BTreeMap<String, CompactionOverride>,
}

impl Default for Compaction {
    fn default() -> Self {
        Self {
            enabled: true,
            reserve_tokens: 16_384,
            keep_recent_tokens: 20_000,
            preview: false,
            models: BTreeMap::new(),
        }
    }
}

/// What holds for one model instead.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CompactionOverride {
    pub reserve_tokens: Option<u64>,
    pub keep_recent_tokens: Option<u64>,
}

/// One `[providers.<name>]`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Provider {
    /// `openai-chat`, `anthropic`, `demo` or `script`.
    pub kind: Option<String>,
    pub base_url: Option<String>,
    /// The environment variable that holds the key.
    pub api_key_env: Option<String>,
    pub headers: BTreeMap<String, String>,
    /// Ids this provider serves, for names without `provider/`.
    pub models: Vec<String>,
    /// For kind `script`: the scenario file.
    pub script: Option<String>,
}

/// `[ui]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Ui {
    /// `dark`, `light` or `high-contrast`. Default: `dark`.
    pub theme: String,
    /// Plain characters for poor fonts. Default: false.
    pub ascii: bool,
    /// Mouse reports; false leaves selection to the terminal. Default: true.
    pub mouse: bool,
    /// Spinners. Default: true.
    pub motion: bool,
    /// What is printed when the program ends: `none` or `last` (the last answer). Default: `none`.
    pub on_exit: String,
}

impl Default for Ui {
    fn default() -> Self {
        Self {
            theme: "dark".into(),
            ascii: false,
            mouse: true,
            motion: true,
            on_exit: "none".into(),
        }
    }
}
