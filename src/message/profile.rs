//! Approval profiles: how much runs without asking. Named by config, policy, engine and screen alike.

use serde::{Deserialize, Serialize};

/// How much runs without asking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// Reads run; everything else is refused.
    ReadOnly,
    /// Reads run; writes and commands need a yes.
    #[default]
    Confirm,
    /// Everything runs.
    Full,
}

impl Profile {
    pub const ALL: [Self; 3] = [Self::ReadOnly, Self::Confirm, Self::Full];

    /// The profile of that exact name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Confirm => "confirm",
            Self::Full => "full",
        }
    }
}
