//! The shallow look at one line: what it is, where it hangs, and the first words of what it says.
//!
//! Opening a session asks every line for this and nothing more, so nothing but these few fields is
//! ever built. Any JSON object gives a shape, however odd its fields: a field of the wrong type
//! counts as absent, and it is a matter for whoever reads the body.

mod lenient;
mod said;
mod usage;

use std::borrow::Cow;

use serde::de::{IgnoredAny, MapAccess};

use super::index::{Kind, Role, Spent};
use super::journal::{self, Landmark};
use lenient::{FromAny, Lenient};
pub(super) use said::{Called, Said};

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
    /// What a summary or a usage entry cost.
    spent: Option<Spent>,
    /// The `event` of a custom entry's data.
    event: Option<Cow<'a, str>>,
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

    /// Who speaks, when it is a message.
    pub(super) fn role(&self) -> Option<Role> {
        self.said.role.filter(|_| self.kind() == Kind::Message)
    }

    /// Unix milliseconds: the message's own time, else the entry's; 0 when neither says.
    pub(super) fn time_ms(&self) -> i64 {
        let entry_time = || self.timestamp.as_deref().and_then(super::name::parse_iso);
        self.said.timestamp.or_else(entry_time).unwrap_or_default()
    }

    /// What the entry cost; `None` where nothing was spent.
    pub(super) fn spent(&self) -> Option<Spent> {
        match self.kind() {
            Kind::Message => self.said.spent,
            Kind::Compaction | Kind::BranchSummary | Kind::Usage => self.spent,
            _ => None,
        }
    }

    /// What a record of a turn says, when it is one that must be found again.
    pub(super) fn landmark(&self) -> Option<Landmark> {
        let event = self.event.as_deref().filter(|_| self.kind() == Kind::Custom)?;
        Landmark::of(event).filter(|_| self.custom_type.as_deref() == Some(journal::TURN))
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
            _ => one_line(self.words.as_deref().unwrap_or_default().chars()),
        }
    }
}

/// One line of at most [`PREVIEW_CHARS`] characters: white space and control characters collapse.
pub(super) fn one_line(text: impl Iterator<Item = char>) -> String {
    let mut out = String::with_capacity(PREVIEW_CHARS);
    let mut chars = 0;
    let mut gap = false;
    // A long run of blanks must not be walked to its end for one row of text.
    for c in text.take(PREVIEW_CHARS * 8) {
        // Most characters are plain, and plain ones need no look into tables.
        if !c.is_ascii_graphic() && (c.is_whitespace() || c.is_control()) {
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
                    let Lenient(content) = map.next_value::<Lenient<said::Content>>()?;
                    shape.words = content.map(|content| Cow::Owned(content.text));
                }
                "data" => {
                    shape.event =
                        map.next_value::<Lenient<Data<'_>>>()?.0.and_then(|data| data.event)
                }
                "usage" => {
                    let Lenient(usage) = map.next_value::<Lenient<usage::Usage>>()?;
                    shape.spent = usage.and_then(|usage| usage.spent());
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

/// The data of a custom entry.
struct Data<'a> {
    event: Option<Cow<'a, str>>,
}

impl<'de> FromAny<'de> for Data<'de> {
    fn from_map<A: MapAccess<'de>>(mut map: A) -> Result<Option<Self>, A::Error> {
        let mut data = Self { event: None };
        while let Some(Lenient(key)) = map.next_key::<Lenient<Cow<'de, str>>>()? {
            if key.as_deref() == Some("event") {
                data.event = map.next_value::<Lenient<_>>()?.0;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Some(data))
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::session::parse::readable;

    fn preview(line: &str) -> Option<String> {
        Shape::of(line.as_bytes()).map(|shape| shape.preview())
    }

    #[test]
    fn escapes_and_halves_of_pairs_read_as_people_see_them() {
        let said = |text: &str| {
            let line = format!(
                r#"{{"type":"message","message":{{"role":"user","content":[{{"type":"text","text":"{text}"}}]}}}}"#
            );
            preview(&line).unwrap()
        };
        assert_eq!(said(r#"a\"b\\c\/d\u00e9\ud83d\ude00"#), "a\"b\\c/dé😀");
        assert_eq!(said(r"\ud83d"), "\u{fffd}");
        assert_eq!(said(r"\ude00x\ud83d\u0041"), "\u{fffd}x\u{fffd}A");
        assert_eq!(said(r"\n\t  a\n\nb\r"), "a b");
    }

    #[test]
    fn only_whole_objects_have_a_shape() {
        for line in
            ["", "x", "[]", "1", "{", "{}x", r#"{"a":1,}"#, r#"{"a":tru}"#, "{\"a\":\"\n\"}"]
        {
            assert!(Shape::of(line.as_bytes()).is_none(), "{line}");
        }
        assert!(Shape::of(b"{}").is_some());
    }

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-z \\n\"\\\\é😀]{0,20}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 6, |inner| {
            let key = prop_oneof![
                Just("content".to_owned()),
                Just("message".to_owned()),
                Just("role".to_owned()),
                Just("usage".to_owned()),
                Just("data".to_owned()),
                Just("arguments".to_owned()),
                Just("details".to_owned()),
                Just("text".to_owned()),
                Just("cost".to_owned()),
                "[a-z]{1,4}",
            ];
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                proptest::collection::vec((key, inner), 0..6)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_line_has_a_shape_exactly_when_it_is_an_object(value in value(), cut in 0usize..400, byte in any::<u8>()) {
            let mut line = value.to_string().into_bytes();
            prop_assert_eq!(Shape::of(&line).is_some(), value.is_object());
            if let Some(at) = line.get_mut(cut) {
                *at = byte;
            }
            let line = readable(&line);
            let is_object = serde_json::from_slice::<Value>(&line).is_ok_and(|value| value.is_object());
            prop_assert_eq!(Shape::of(&line).is_some(), is_object);
        }

        #[test]
        fn the_words_of_any_text_are_its_beginning(text in ".{0,300}") {
            let line = json!({"type": "branch_summary", "summary": text}).to_string();
            let block = json!({"type": "message", "message": {"role": "user", "content": [{"text": text}]}});
            let words = one_line(text.chars());
            prop_assert_eq!(preview(&line).unwrap(), &*words);
            prop_assert_eq!(preview(&block.to_string()).unwrap(), words);
        }
    }
}
