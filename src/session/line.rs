//! The shallow look at one line: what it is, where it hangs, and the first words of what it says.
//!
//! Opening a session asks every line for this and nothing more, so nothing but these few fields is
//! ever built. Any JSON object gives a shape, however odd its fields: a field of the wrong type
//! counts as absent, and it is a matter for whoever reads the body.

use std::borrow::Cow;
use std::fmt;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::index::{Kind, Role};

/// Longest preview in characters: one row of a wide tree.
pub(super) const PREVIEW_CHARS: usize = 120;
/// The entry that moves the leaf.
pub(super) const LEAF_MARKER: &str = "harness-tui.leaf";

/// The few fields of a line that an index needs.
#[derive(Debug, Default)]
pub(super) struct Shape<'a> {
    pub(super) kind: Option<Cow<'a, str>>,
    pub(super) id: Option<Cow<'a, str>>,
    pub(super) parent: Option<Cow<'a, str>>,
    pub(super) timestamp: Option<Cow<'a, str>>,
    pub(super) custom_type: Option<Cow<'a, str>>,
    pub(super) target: Option<Cow<'a, str>>,
    /// `label` of a label, `name` of a session info, `summary`, or the words of a setting.
    pub(super) words: Option<Cow<'a, str>>,
    pub(super) said: Said,
}

/// The look at a message.
#[derive(Debug, Default)]
pub(super) struct Said {
    pub(super) role: Option<Role>,
    pub(super) preview: String,
    /// Unix milliseconds.
    pub(super) timestamp: Option<i64>,
}

impl<'a> Shape<'a> {
    /// Looks at a line; `None` when it is no JSON object.
    pub(super) fn of(line: &'a [u8]) -> Option<Self> {
        serde_json::from_slice::<Lenient<Self>>(line).ok()?.0
    }

    pub(super) fn kind(&self) -> Kind {
        match self.kind.as_deref().unwrap_or_default() {
            "message" => Kind::Message,
            "model_change" => Kind::ModelChange,
            "thinking_level_change" => Kind::ThinkingLevelChange,
            "compaction" => Kind::Compaction,
            "branch_summary" => Kind::BranchSummary,
            "custom" if self.custom_type.as_deref() == Some(LEAF_MARKER) => Kind::LeafMarker,
            "custom" => Kind::Custom,
            "custom_message" => Kind::CustomMessage,
            "label" => Kind::Label,
            "session_info" => Kind::SessionInfo,
            "usage" => Kind::Usage,
            "context_edit" => Kind::ContextEdit,
            "active_tools_change" => Kind::ActiveToolsChange,
            "leaf" => Kind::Leaf,
            _ => Kind::Other,
        }
    }

    /// Unix milliseconds: the message's own time, else the entry's; 0 when neither says.
    pub(super) fn time_ms(&self) -> i64 {
        let entry_time = || self.timestamp.as_deref().and_then(super::name::parse_iso);
        self.said.timestamp.or_else(entry_time).unwrap_or_default()
    }

    /// The words a tree shows. For a `custom` entry exactly its custom type.
    pub(super) fn preview(&self) -> String {
        match self.kind() {
            Kind::Message => self.said.preview.clone(),
            Kind::Custom | Kind::LeafMarker => {
                self.custom_type.as_deref().unwrap_or_default().into()
            }
            Kind::Other => {
                self.kind.as_deref().unwrap_or_default().chars().take(PREVIEW_CHARS).collect()
            }
            _ => one_line(self.words.as_deref().unwrap_or_default()),
        }
    }
}

/// One line of at most [`PREVIEW_CHARS`] characters: white space and control characters collapse.
pub(super) fn one_line(text: &str) -> String {
    let mut out = String::new();
    let mut chars = 0;
    let mut gap = false;
    // A long run of blanks must not be walked to its end for one row of text.
    for c in text.chars().take(PREVIEW_CHARS * 8) {
        if c.is_whitespace() || c.is_control() {
            gap = chars > 0;
            continue;
        }
        if gap {
            out.push(' ');
            chars += 1;
            gap = false;
        }
        if chars >= PREVIEW_CHARS {
            break;
        }
        out.push(c);
        chars += 1;
    }
    out
}

/// A value of the wanted type, or nothing when it is of another type.
struct Lenient<T>(Option<T>);

/// Takes any JSON value and keeps what it can use.
struct Any<T>(std::marker::PhantomData<T>);

/// What a [`Lenient`] value can be made from; everything not overridden gives nothing.
trait FromAny<'de>: Sized {
    fn from_text(_: Cow<'de, str>) -> Option<Self> {
        None
    }
    fn from_number(_: i64) -> Option<Self> {
        None
    }
    fn from_list<A: SeqAccess<'de>>(mut list: A) -> Result<Option<Self>, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }
    fn from_map<A: MapAccess<'de>>(mut map: A) -> Result<Option<Self>, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

impl<'de, T: FromAny<'de>> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Any(std::marker::PhantomData)).map(Self)
    }
}

impl<'de, T: FromAny<'de>> Visitor<'de> for Any<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }
    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(T::from_number(number))
    }
    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(i64::try_from(number).ok().and_then(T::from_number))
    }
    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(T::from_text(Cow::Owned(text.to_owned())))
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(T::from_text(Cow::Borrowed(text)))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        T::from_list(list)
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::from_map(map)
    }
}

impl<'de> FromAny<'de> for Cow<'de, str> {
    fn from_text(text: Self) -> Option<Self> {
        Some(text)
    }
}

impl FromAny<'_> for i64 {
    fn from_number(number: i64) -> Option<Self> {
        Some(number)
    }
}

impl<'de> FromAny<'de> for Shape<'de> {
    fn from_map<A: MapAccess<'de>>(mut map: A) -> Result<Option<Self>, A::Error> {
        let mut shape = Self::default();
        while let Some(Lenient(key)) = map.next_key::<Lenient<Cow<'de, str>>>()? {
            match key.as_deref().unwrap_or_default() {
                "type" => shape.kind = map.next_value::<Lenient<_>>()?.0,
                "id" => shape.id = map.next_value::<Lenient<_>>()?.0,
                "parentId" => shape.parent = map.next_value::<Lenient<_>>()?.0,
                "timestamp" => shape.timestamp = map.next_value::<Lenient<_>>()?.0,
                "customType" => shape.custom_type = map.next_value::<Lenient<_>>()?.0,
                "targetId" => shape.target = map.next_value::<Lenient<_>>()?.0,
                "label" | "name" | "summary" | "modelId" | "thinkingLevel" | "kind" => {
                    shape.words = map.next_value::<Lenient<_>>()?.0;
                }
                "content" => {
                    let Lenient(words) = map.next_value::<Lenient<Words>>()?;
                    shape.words = words.map(|words| Cow::Owned(words.0));
                }
                "message" => {
                    shape.said = map.next_value::<Lenient<Said>>()?.0.unwrap_or_default();
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Some(shape))
    }
}

impl<'de> FromAny<'de> for Said {
    fn from_map<A: MapAccess<'de>>(mut map: A) -> Result<Option<Self>, A::Error> {
        let mut said = Self::default();
        let mut command = None;
        while let Some(Lenient(key)) = map.next_key::<Lenient<Cow<'de, str>>>()? {
            match key.as_deref().unwrap_or_default() {
                "role" => {
                    let Lenient(role) = map.next_value::<Lenient<Cow<'de, str>>>()?;
                    said.role = role.map(|role| Role::of(&role));
                }
                "content" => {
                    let Lenient(words) = map.next_value::<Lenient<Words>>()?;
                    said.preview = words.unwrap_or_default().0;
                }
                "command" => command = map.next_value::<Lenient<Cow<'de, str>>>()?.0,
                "timestamp" => said.timestamp = map.next_value::<Lenient<i64>>()?.0,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        if let Some(command) = command {
            said.preview = one_line(&command);
        }
        Ok(Some(said))
    }
}

/// The first words of a content: its first text that is not blank, else the names of its calls.
#[derive(Default)]
struct Words(String);

/// One block of a content.
struct Block {
    text: String,
    name: String,
}

impl<'de> FromAny<'de> for Words {
    fn from_text(text: Cow<'de, str>) -> Option<Self> {
        Some(Self(one_line(&text)))
    }

    fn from_list<A: SeqAccess<'de>>(mut list: A) -> Result<Option<Self>, A::Error> {
        let mut text = String::new();
        let mut names = String::new();
        while let Some(Lenient(block)) = list.next_element::<Lenient<Block>>()? {
            let Some(block) = block else { continue };
            if text.is_empty() {
                text = block.text;
            }
            if !block.name.is_empty() && names.len() < PREVIEW_CHARS {
                names.push_str(if names.is_empty() { "" } else { ", " });
                names.push_str(&block.name);
            }
        }
        Ok(Some(Self(if text.is_empty() { names } else { text })))
    }
}

impl<'de> FromAny<'de> for Block {
    fn from_map<A: MapAccess<'de>>(mut map: A) -> Result<Option<Self>, A::Error> {
        let mut block = Self { text: String::new(), name: String::new() };
        while let Some(Lenient(key)) = map.next_key::<Lenient<Cow<'de, str>>>()? {
            let slot = match key.as_deref().unwrap_or_default() {
                "text" => &mut block.text,
                "name" => &mut block.name,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            let Lenient(text) = map.next_value::<Lenient<Cow<'de, str>>>()?;
            *slot = one_line(text.as_deref().unwrap_or_default());
        }
        Ok(Some(block))
    }
}
