//! The look at a message: who speaks, how it ended, what it cost, and the first words of it.

use std::borrow::Cow;

use serde::de::{IgnoredAny, MapAccess, SeqAccess};

use super::lenient::{FromAny, Lenient, Scalar, Words};
use super::usage::Usage;
use super::{PREVIEW_CHARS, one_line};
use crate::session::index::{Marks, Role, Spent};

/// Calls of one answer that are remembered for their results: more than any model asks for at once.
const MAX_CALLS: usize = 64;
/// Longest id of a call that is remembered, in bytes: providers use up to 450.
const MAX_CALL_ID: usize = 512;
/// Arguments that tell what a call is about, the most telling first.
const TELLING: [&str; 9] =
    ["command", "pattern", "path", "file_path", "query", "url", "prompt", "description", "name"];

/// The look at a message.
#[derive(Debug, Default)]
pub(in crate::session) struct Said {
    pub(in crate::session) role: Option<Role>,
    /// The first words; of an answer without any its calls, of a tool result the first words of it.
    pub(in crate::session) preview: String,
    /// Unix milliseconds.
    pub(in crate::session) timestamp: Option<i64>,
    pub(in crate::session) marks: Marks,
    pub(in crate::session) spent: Option<Spent>,
    /// The calls of an answer.
    pub(in crate::session) calls: Vec<Called>,
    /// Which call a tool result answers.
    pub(in crate::session) answers: Option<String>,
    /// The tool of a tool result.
    pub(in crate::session) tool: Option<String>,
}

/// One call: its id and, in one short line, the tool and its main argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::session) struct Called {
    pub(in crate::session) id: String,
    pub(in crate::session) words: String,
}

/// Everything of a message that says something about it, before its role is known.
#[derive(Default)]
struct Found<'a> {
    said: Said,
    content: Content,
    command: Option<String>,
    error: Option<String>,
    stop: Option<Cow<'a, str>>,
    is_error: bool,
    has_diff: bool,
}

impl<'de> FromAny<'de> for Said {
    fn from_map<A: MapAccess<'de>>(mut map: A) -> Result<Option<Self>, A::Error> {
        let mut found = Found::default();
        while let Some(Lenient(key)) = map.next_key::<Lenient<Cow<'de, str>>>()? {
            match key.as_deref().unwrap_or_default() {
                "role" => {
                    let Lenient(role) = map.next_value::<Lenient<Cow<'de, str>>>()?;
                    found.said.role = role.map(|role| Role::of(&role));
                }
                "content" => {
                    found.content = map.next_value::<Lenient<Content>>()?.0.unwrap_or_default();
                }
                "command" => found.command = words(&mut map)?,
                "errorMessage" => found.error = words(&mut map)?,
                "timestamp" => found.said.timestamp = map.next_value::<Scalar<'_>>()?.whole(),
                "stopReason" => found.stop = map.next_value::<Lenient<_>>()?.0,
                "usage" => {
                    let Lenient(usage) = map.next_value::<Lenient<Usage>>()?;
                    found.said.spent = usage.and_then(|usage| usage.spent());
                }
                "toolCallId" => {
                    let Lenient(id) = map.next_value::<Lenient<Cow<'de, str>>>()?;
                    found.said.answers =
                        id.filter(|id| id.len() <= MAX_CALL_ID).map(Cow::into_owned);
                }
                "toolName" => found.said.tool = words(&mut map)?,
                "isError" => found.is_error = map.next_value::<Lenient<_>>()?.0.unwrap_or_default(),
                "details" => {
                    found.has_diff =
                        map.next_value::<Lenient<Details>>()?.0.is_some_and(|it| it.has_diff);
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Some(found.said()))
    }
}

fn words<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Option<String>, A::Error> {
    Ok(map.next_value::<Words>()?.0)
}

impl Found<'_> {
    /// What the fields mean under the role that speaks.
    fn said(self) -> Said {
        let Self { mut said, content, command, error, stop, is_error, has_diff } = self;
        let is_silent = content.text.is_empty();
        said.preview = match command {
            Some(command) => command,
            None if !is_silent => content.text,
            None if !content.calls.is_empty() => content.listed,
            None => error.unwrap_or_default(),
        };
        match said.role {
            Some(Role::Assistant) => {
                said.marks = Marks {
                    calls_only: is_silent && !content.calls.is_empty(),
                    failed: stop.as_deref() == Some("error"),
                    aborted: stop.as_deref() == Some("aborted"),
                    cut: stop.as_deref() == Some("length"),
                    ..Marks::default()
                };
                said.calls = content.calls;
            }
            Some(Role::ToolResult) => {
                let writes = matches!(said.tool.as_deref(), Some("edit" | "write"));
                let changes_file = !is_error && (writes || has_diff);
                said.marks = Marks { is_error, changes_file, ..Marks::default() };
                said.spent = None;
            }
            _ => said.spent = None,
        }
        said
    }
}

/// A content: its first text that is not blank, and its calls.
#[derive(Default)]
pub(super) struct Content {
    pub(super) text: String,
    calls: Vec<Called>,
    /// The words of the calls, one after the other.
    listed: String,
}

impl<'de> FromAny<'de> for Content {
    fn from_text(text: &str) -> Option<Self> {
        Some(Self { text: one_line(text.chars()), ..Self::default() })
    }

    fn from_list<A: SeqAccess<'de>>(mut list: A) -> Result<Option<Self>, A::Error> {
        let mut content = Self::default();
        while let Some(Lenient(block)) = list.next_element::<Lenient<Block>>()? {
            let Some(block) = block else { continue };
            if content.text.is_empty() {
                content.text = block.text;
            }
            if block.name.is_empty() {
                continue;
            }
            let called = Called { words: block.argument.words(&block.name), id: block.id };
            if content.listed.len() < PREVIEW_CHARS {
                let gap = if content.listed.is_empty() { "" } else { ", " };
                let listed = format!("{}{gap}{}", content.listed, called.words);
                content.listed = one_line(listed.chars());
            }
            if content.calls.len() < MAX_CALLS {
                content.calls.push(called);
            }
        }
        Ok(Some(content))
    }
}

/// One block of a content.
#[derive(Default)]
struct Block {
    text: String,
    name: String,
    id: String,
    argument: Argument,
}

impl<'de> FromAny<'de> for Block {
    fn from_map<A: MapAccess<'de>>(mut map: A) -> Result<Option<Self>, A::Error> {
        let mut block = Self::default();
        while let Some(Lenient(key)) = map.next_key::<Lenient<Cow<'de, str>>>()? {
            match key.as_deref().unwrap_or_default() {
                "text" => block.text = words(&mut map)?.unwrap_or_default(),
                "name" => block.name = words(&mut map)?.unwrap_or_default(),
                "id" => {
                    let Lenient(id) = map.next_value::<Lenient<Cow<'de, str>>>()?;
                    let id = id.filter(|id| id.len() <= MAX_CALL_ID);
                    block.id = id.map(Cow::into_owned).unwrap_or_default();
                }
                "arguments" => {
                    block.argument = map.next_value::<Lenient<Argument>>()?.0.unwrap_or_default();
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Some(block))
    }
}

/// What a call is about: its most telling argument, and for a file which lines of it.
#[derive(Default)]
struct Argument {
    /// Its place in [`TELLING`], or the length of that for another one.
    rank: usize,
    words: String,
    offset: Option<u64>,
    limit: Option<u64>,
}

impl Argument {
    /// `read src/a.rs:1-40`.
    fn words(&self, tool: &str) -> String {
        let lines = match (tool, self.offset, self.limit) {
            ("read", None, None) => String::new(),
            ("read", offset, None) => format!(":{}-", offset.unwrap_or(1)),
            ("read", offset, Some(limit)) => {
                let first = offset.unwrap_or(1);
                format!(":{first}-{}", first.saturating_add(limit).saturating_sub(1))
            }
            _ => String::new(),
        };
        one_line(format!("{tool} {}{lines}", self.words).chars())
    }
}

impl<'de> FromAny<'de> for Argument {
    fn from_map<A: MapAccess<'de>>(mut map: A) -> Result<Option<Self>, A::Error> {
        let mut argument = Self { rank: TELLING.len() + 1, ..Self::default() };
        while let Some(Lenient(key)) = map.next_key::<Lenient<Cow<'de, str>>>()? {
            let key = key.as_deref().unwrap_or_default();
            match key {
                "offset" => argument.offset = map.next_value::<Scalar<'_>>()?.whole(),
                "limit" => argument.limit = map.next_value::<Scalar<'_>>()?.whole(),
                _ => {
                    let rank = TELLING.iter().position(|name| *name == key);
                    let rank = rank.unwrap_or(TELLING.len());
                    if rank >= argument.rank {
                        map.next_value::<IgnoredAny>()?;
                    } else if let Some(words) = words(&mut map)? {
                        (argument.rank, argument.words) = (rank, words);
                    }
                }
            }
        }
        Ok(Some(argument))
    }
}

/// The details of a tool result.
struct Details {
    has_diff: bool,
}

impl<'de> FromAny<'de> for Details {
    fn from_map<A: MapAccess<'de>>(mut map: A) -> Result<Option<Self>, A::Error> {
        let mut details = Self { has_diff: false };
        while let Some(Lenient(key)) = map.next_key::<Lenient<Cow<'de, str>>>()? {
            if matches!(key.as_deref(), Some("diff" | "patch")) {
                details.has_diff |= !map.next_value::<Scalar<'_>>()?.is_null();
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Some(details))
    }
}
