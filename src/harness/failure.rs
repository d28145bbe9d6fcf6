//! A provider's or the disk's failure as a card: what happened, whether a retry helps, what to do.

use crate::providers::{ErrorKind, ProviderError};

use super::Failure;
use super::compaction::summarise::Trouble;

impl Failure {
    pub(super) fn of_provider(error: &ProviderError) -> Self {
        let (kind, retryable, advice) = match error.kind {
            ErrorKind::Auth => (
                "auth",
                false,
                "check the key: set the provider's key variable or its api_key_env in the config, then /retry",
            ),
            ErrorKind::RateLimited => {
                ("rate_limited", true, "wait a little, then /retry, or choose another /model")
            }
            ErrorKind::Overflow => (
                "overflow",
                false,
                "the conversation no longer fits: /compact folds the older part; or choose a /model with a larger window, or start a /new session",
            ),
            ErrorKind::Transient => ("transient", true, "/retry asks again"),
            ErrorKind::Permanent => (
                "permanent",
                false,
                "the server refuses this request: check /model and the base URL",
            ),
        };
        Self { kind, message: error.message.clone(), retryable, advice: advice.to_owned() }
    }

    /// The request cannot be made to fit.
    pub(super) fn of_overflow(message: String) -> Self {
        Self {
            kind: "overflow",
            message,
            retryable: false,
            advice: "choose a /model with a larger window, fewer tools (--tools) or a shorter prompt; compaction.enabled = false sends it all the same"
                .to_owned(),
        }
    }

    /// Why a summary was not written.
    pub(super) fn of_summary(trouble: &Trouble) -> Self {
        let failure = |message: &str| Self {
            kind: "permanent",
            message: message.to_owned(),
            retryable: true,
            advice: "the conversation is as it was: try again, or choose another /model".to_owned(),
        };
        match trouble {
            Trouble::Aborted => failure("it was stopped"),
            Trouble::Unusable(why) => failure(why),
            Trouble::Provider(error) => Self {
                kind: Self::of_provider(error).kind,
                retryable: Self::of_provider(error).retryable,
                ..failure(&error.message)
            },
        }
    }

    /// The disk refused. `begun`: the turn's start is in the file, so it can go on from there.
    pub(super) fn of_session(message: &str, begun: bool) -> Self {
        let advice = if begun {
            "what was said so far is kept: make the disk writable or free some space, then /retry goes on"
        } else {
            "your text is kept: make the disk writable or free some space, then send again"
        };
        Self {
            kind: "session",
            message: message.to_owned(),
            retryable: begun,
            advice: advice.to_owned(),
        }
    }
}
