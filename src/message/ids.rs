//! Ids as types of their own, so that an entry id can never be passed where a turn id is meant.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }
    };
}

id!(
    /// The id of one entry of a session file. Any string is accepted; ours are 8 hex digits.
    EntryId
);
id!(
    /// The id of a session: a UUIDv7 in sessions we create.
    SessionId
);
id!(
    /// The id of a turn: a UUIDv7.
    TurnId
);

impl SessionId {
    /// A new id; later ids of one process sort after earlier ones.
    pub fn new() -> Self {
        Self::from(uuid::Uuid::now_v7().to_string())
    }
}

impl Default for SessionId {
    fn default() -> Self {
        Self::new()
    }
}

impl TurnId {
    pub fn new() -> Self {
        Self::from(uuid::Uuid::now_v7().to_string())
    }
}

impl Default for TurnId {
    fn default() -> Self {
        Self::new()
    }
}
