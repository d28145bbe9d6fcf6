//! The numbers and modes of the config, in the shape in which an engine takes them.

use std::time::Duration;

use harness_tui::config::{self, Config};
use harness_tui::harness::{Compaction, QueueMode};
use harness_tui::providers::{RetryPolicy, Timeouts};

pub(super) fn timeouts(config: &Config) -> Timeouts {
    Timeouts {
        connect: Duration::from_secs(config.timeouts.connect),
        first_byte: Duration::from_secs(config.timeouts.first_byte),
        idle: Duration::from_secs(config.timeouts.idle),
    }
}

pub(super) fn retry(config: &Config) -> RetryPolicy {
    RetryPolicy {
        enabled: config.retry.enabled,
        max_retries: config.retry.max_retries,
        base_delay: seconds(config.retry.base_delay),
        max_delay: seconds(config.retry.max_delay),
    }
}

/// What the config says for a model.
pub(super) fn compaction(config: &config::Compaction, model: &str) -> Compaction {
    let own = config.models.get(model).copied().unwrap_or_default();
    Compaction {
        enabled: config.enabled,
        reserve_tokens: own.reserve_tokens.unwrap_or(config.reserve_tokens),
        keep_recent_tokens: own.keep_recent_tokens.unwrap_or(config.keep_recent_tokens),
        preview: config.preview,
    }
}

/// How a queue is delivered; an unknown word is named and the default holds.
pub(super) fn queue_mode(value: Option<&str>, key: &str, notices: &mut Vec<String>) -> QueueMode {
    match value {
        None | Some("one-at-a-time") => QueueMode::OneAtATime,
        Some("all") => QueueMode::All,
        Some(other) => {
            notices.push(format!("config: {key} = {other:?} is neither one-at-a-time nor all"));
            QueueMode::OneAtATime
        }
    }
}

fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value).unwrap_or_default()
}
