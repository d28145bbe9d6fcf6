//! What a call may do: approval profiles, rules and the decisions people make.
//!
//! Pure: a call comes in, a verdict comes out. Globs and parsed command lines join here later.

use serde::{Deserialize, Serialize};

use crate::message::Access;
pub use crate::message::Profile;

/// What a person says to a held call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// This call.
    Once,
    /// This call, and every call of the same tool with the same target until the session ends.
    Session,
    /// Not this call. The model reads the message, when there is one.
    Deny { message: Option<String> },
}

/// What policy says to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    /// Wait for a person; the text says why.
    Hold(String),
    /// Refuse; the model reads the text.
    Deny(String),
}

/// The verdict of a profile alone.
pub fn judge(profile: Profile, access: Access) -> Verdict {
    match (profile, access) {
        (_, Access::Read) | (Profile::Full, _) => Verdict::Allow,
        (Profile::Confirm, Access::Write) => Verdict::Hold("changes a file".into()),
        (Profile::Confirm, Access::Execute) => Verdict::Hold("runs a command".into()),
        (Profile::ReadOnly, Access::Write) => {
            Verdict::Deny("the approval profile is read-only: files may not be changed".into())
        }
        (Profile::ReadOnly, Access::Execute) => {
            Verdict::Deny("the approval profile is read-only: commands may not be run".into())
        }
    }
}
