//! The journal of turns: the records that say what is about to happen and what became of it.
//!
//! Each is a `custom` entry of type `harness-tui.turn`, so other readers of the format keep it and
//! look past it. A record is written before the effect it announces; state is what folding the
//! records of the active branch gives, and there is no other truth.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Body, Entry};
use crate::message::{Message, SessionId, TurnId, Usage};

/// The `customType` of every record here.
pub const TURN: &str = "harness-tui.turn";
/// The `customType` of what was only told to the person.
pub const NOTICE: &str = "harness-tui.notice";
/// The version of the data we write.
const VERSION: u64 = 1;

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnStatus {
    Completed,
    Cancelled,
    Failed,
}

/// Which queue a message waits in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueKind {
    /// Delivered after the running tool batch.
    Steer,
    /// Delivered when the turn would end.
    FollowUp,
    /// Delivered in front of the next prompt.
    NextTurn,
}

/// One record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Record {
    /// A turn began; stands directly after its user message, in the same write.
    Started {
        turn: TurnId,
        /// The header id of the file it was written to. In a copy it differs, and the record is
        /// history.
        session: SessionId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        idempotency_key: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<Value>,
        #[serde(default)]
        depth: u32,
        #[serde(default)]
        options: Map<String, Value>,
    },
    /// These calls start together. Idempotent tools need none.
    Call {
        turn: TurnId,
        step: u32,
        calls: Vec<StartedCall>,
        owner: Owner,
    },
    /// A call waits for a person.
    Held {
        turn: TurnId,
        step: u32,
        call: String,
        ordinal: u32,
        reason: String,
        hash: String,
    },
    /// A call was refused.
    Denied {
        turn: TurnId,
        step: u32,
        call: String,
        ordinal: u32,
        /// `policy`, `once` or `unattended`.
        scope: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    Queued {
        id: String,
        session: SessionId,
        kind: QueueKind,
        message: Message,
    },
    /// Stands directly after the message entry it became, or alone when it was taken back.
    Dequeued {
        id: String,
    },
    /// Somebody stopped the turn; written before anything is cancelled.
    Stop {
        turn: TurnId,
        by: String,
    },
    /// The turn is over.
    Finished {
        turn: TurnId,
        status: TurnStatus,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        #[serde(default)]
        usage: Usage,
    },
    /// Subscribers were told that the turn is over.
    Notified {
        turn: TurnId,
    },
}

/// The records that are found without reading all others: what a turn begins and ends with, and what
/// waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Landmark {
    Started,
    Finished,
    Queued,
    Dequeued,
}

impl Landmark {
    pub(super) fn of(event: &str) -> Option<Self> {
        Some(match event {
            "started" => Self::Started,
            "finished" => Self::Finished,
            "queued" => Self::Queued,
            "dequeued" => Self::Dequeued,
            _ => return None,
        })
    }
}

/// One call of a [`Record::Call`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StartedCall {
    /// The provider's id.
    pub call: String,
    pub ordinal: u32,
    pub tool: String,
    /// SHA-256 of tool, arguments, working directory and pre-image.
    pub hash: String,
    /// Only when they differ from what the model wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// Who allowed it: `once`, `session`; absent when policy did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<String>,
    /// SHA-256 of the file before an edit or write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pre_image: Option<String>,
    /// SHA-256 of the file as the call would leave it: after a crash it tells whether it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post_image: Option<String>,
}

/// The process that runs calls, told apart from a later one with the same pid.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    pub pid: u32,
    /// The process's start time in clock ticks since boot; 0 where the system does not tell.
    #[serde(default)]
    pub start: u64,
    /// The boot's id; empty where the system does not tell.
    #[serde(default)]
    pub boot: String,
}

/// A notice to keep: shown, never sent.
pub fn notice(kind: &str, text: &str) -> Body {
    let data = serde_json::json!({"v": VERSION, "kind": kind, "text": text});
    Body::Custom { custom_type: NOTICE.to_owned(), data: Some(data) }
}

impl Record {
    /// The entry body to append.
    pub fn body(&self) -> Body {
        let mut data = Map::from_iter([("v".to_owned(), Value::from(VERSION))]);
        if let Ok(Value::Object(fields)) = serde_json::to_value(self) {
            data.extend(fields);
        }
        Body::Custom { custom_type: TURN.to_owned(), data: Some(Value::Object(data)) }
    }

    /// The record in an entry; `None` for other entries, unknown events and newer versions.
    pub fn of(entry: &Entry) -> Option<Self> {
        let Body::Custom { custom_type, data: Some(data) } = &entry.body else { return None };
        let version = data.get("v").and_then(Value::as_u64).unwrap_or(VERSION);
        if custom_type != TURN || version != VERSION {
            return None;
        }
        Self::deserialize(data).ok()
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    fn entry(body: Body) -> Entry {
        Entry { id: "e1".into(), parent_id: None, timestamp: String::new(), body }
    }

    #[test]
    fn a_record_survives_the_file() {
        let records = [
            Record::Started {
                turn: "t".into(),
                session: "s".into(),
                idempotency_key: None,
                parent: None,
                depth: 0,
                options: Map::from_iter([("max_turns".to_owned(), json!(16))]),
            },
            Record::Queued {
                id: "q".into(),
                session: "s".into(),
                kind: QueueKind::FollowUp,
                message: Message::user("later", 7),
            },
            Record::Finished {
                turn: "t".into(),
                status: TurnStatus::Cancelled,
                result: None,
                error: None,
                reason: Some("aborted".into()),
                usage: Usage::default(),
            },
        ];
        for record in records {
            let line = serde_json::to_string(&entry(record.body())).unwrap();
            let read: Entry = serde_json::from_str(&line).unwrap();
            assert_eq!(Record::of(&read), Some(record));
        }
    }

    #[test]
    fn the_stored_form_is_flat_and_versioned() {
        let body = Record::Dequeued { id: "q".into() }.body();
        let expected = json!({"v": 1, "event": "dequeued", "id": "q"});
        assert_eq!(body, Body::Custom { custom_type: TURN.into(), data: Some(expected) });
    }

    #[test]
    fn a_newer_version_or_another_type_is_no_record() {
        let newer = json!({"v": 2, "event": "dequeued", "id": "q"});
        let body = Body::Custom { custom_type: TURN.into(), data: Some(newer) };
        assert_eq!(Record::of(&entry(body)), None);
        let other = Body::Custom { custom_type: "todo".into(), data: Some(json!({"v": 1})) };
        assert_eq!(Record::of(&entry(other)), None);
    }
}
