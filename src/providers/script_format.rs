//! The scenario file of the `script` provider, as `docs/script-format.md` describes it.
//!
//! Unknown keys are errors: a misspelt key in a test would otherwise pass for another test.

use std::time::Duration;

use regex::Regex;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::message::StopReason;
use crate::providers::ErrorKind;

/// A turn may stand for at most this many copies of itself.
const MAX_REPEAT: usize = 10_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    #[serde(default)]
    #[expect(dead_code, reason = "for the reader of the file")]
    name: Option<String>,
    #[serde(default)]
    turns: Vec<Turn>,
    #[serde(default)]
    routes: Vec<RawRoute>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRoute {
    #[serde(default)]
    #[expect(dead_code, reason = "for the reader of the file")]
    name: Option<String>,
    #[serde(default)]
    when: String,
    turns: Vec<Turn>,
}

/// One answer.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Turn {
    pub(super) text: String,
    pub(super) thinking: String,
    pub(super) tool_calls: Vec<Call>,
    /// Characters per delta.
    pub(super) chunk_size: Option<usize>,
    pub(super) delay_ms: u64,
    pub(super) first_delay_ms: u64,
    pub(super) usage: Option<Counts>,
    pub(super) stop: Option<StopReason>,
    pub(super) fault: Option<Fault>,
    /// After this many requests at this step the fault is gone; without it, never.
    pub(super) fault_times: Option<u64>,
    repeat: Option<usize>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    #[serde(default)]
    pub(super) id: Option<String>,
    pub(super) name: String,
    #[serde(default)]
    pub(super) args: Map<String, Value>,
    /// The text of the arguments as it stands, for instance broken JSON.
    #[serde(default)]
    pub(super) raw_args: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Counts {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cache_read: u64,
    pub(super) cache_write: u64,
    pub(super) reasoning: Option<u64>,
}

/// A failure, as a bare name or with details.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "RawFault")]
pub(super) struct Fault {
    pub(super) kind: FaultKind,
    /// Deltas before it happens.
    pub(super) after_chunks: usize,
    pub(super) message: Option<String>,
    pub(super) status: Option<u16>,
    pub(super) retry_after: Option<Duration>,
    /// For a stall: how long; without it until the time-out.
    pub(super) seconds: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FaultKind {
    Auth,
    RateLimited,
    Overflow,
    Transient,
    Permanent,
    /// Nothing comes any more.
    Stall,
    /// The stream ends in the middle.
    Close,
}

impl FaultKind {
    pub(super) fn error_kind(self) -> ErrorKind {
        match self {
            Self::Auth => ErrorKind::Auth,
            Self::RateLimited => ErrorKind::RateLimited,
            Self::Overflow => ErrorKind::Overflow,
            Self::Permanent => ErrorKind::Permanent,
            Self::Transient | Self::Stall | Self::Close => ErrorKind::Transient,
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RawFault {
    Name(FaultKind),
    Full(FullFault),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FullFault {
    #[serde(rename = "type")]
    kind: FaultKind,
    #[serde(default)]
    after_chunks: usize,
    message: Option<String>,
    status: Option<u16>,
    retry_after_ms: Option<u64>,
    seconds: Option<u64>,
}

impl From<RawFault> for Fault {
    fn from(raw: RawFault) -> Self {
        let full = match raw {
            RawFault::Full(full) => full,
            RawFault::Name(kind) => FullFault {
                kind,
                after_chunks: 0,
                message: None,
                status: None,
                retry_after_ms: None,
                seconds: None,
            },
        };
        Self {
            kind: full.kind,
            after_chunks: full.after_chunks,
            message: full.message,
            status: full.status,
            retry_after: full.retry_after_ms.map(Duration::from_millis),
            seconds: full.seconds,
        }
    }
}

/// A scenario: routes in order, the last of which answers when no other does.
#[derive(Debug)]
pub(super) struct Scenario {
    routes: Vec<(Option<Regex>, Vec<Turn>)>,
}

impl Scenario {
    /// # Errors
    /// What is wrong with the text, with line and column where there are some.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let raw: Raw = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let mut routes = Vec::new();
        for route in raw.routes {
            let when = Regex::new(&route.when)
                .map_err(|error| format!("\"when\": {:?} is no regex: {error}", route.when))?;
            routes.push((Some(when), expand(route.turns)?));
        }
        if !raw.turns.is_empty() {
            routes.push((None, expand(raw.turns)?));
        }
        if routes.iter().all(|(_, turns)| turns.is_empty()) {
            return Err("it has no turns; give it \"turns\": [{\"text\": \"hello\"}]".into());
        }
        Ok(Self { routes })
    }

    /// The turn at `step` of the route for `text`, with the positions of both. When the turns are
    /// used up, the last one is played again.
    pub(super) fn turn(&self, text: &str, step: usize) -> Option<((usize, usize), &Turn)> {
        let matches = |(when, _): &(Option<Regex>, Vec<Turn>)| {
            when.as_ref().is_none_or(|when| when.is_match(text))
        };
        let route =
            self.routes.iter().position(matches).or_else(|| self.routes.len().checked_sub(1))?;
        let turns = &self.routes[route].1;
        let step = step.min(turns.len().checked_sub(1)?);
        Some(((route, step), &turns[step]))
    }
}

/// Copies of turns with `repeat`, with `{i}` replaced by the number of the copy from 0.
fn expand(turns: Vec<Turn>) -> Result<Vec<Turn>, String> {
    let mut out = Vec::new();
    for turn in turns {
        let Some(times) = turn.repeat else {
            out.push(turn);
            continue;
        };
        if times > MAX_REPEAT {
            return Err(format!("\"repeat\": {times} is more than {MAX_REPEAT}"));
        }
        out.extend((0..times).map(|i| numbered(&turn, &i.to_string())));
    }
    Ok(out)
}

fn numbered(turn: &Turn, i: &str) -> Turn {
    let mut turn = turn.clone();
    turn.text = turn.text.replace("{i}", i);
    turn.thinking = turn.thinking.replace("{i}", i);
    for call in &mut turn.tool_calls {
        call.args.values_mut().for_each(|value| number_value(value, i));
        call.raw_args = call.raw_args.as_ref().map(|text| text.replace("{i}", i));
    }
    turn
}

fn number_value(value: &mut Value, i: &str) {
    match value {
        Value::String(text) => *text = text.replace("{i}", i),
        Value::Array(list) => list.iter_mut().for_each(|value| number_value(value, i)),
        Value::Object(map) => map.values_mut().for_each(|value| number_value(value, i)),
        _ => {}
    }
}
