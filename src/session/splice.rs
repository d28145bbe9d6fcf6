//! Changing one field of a line and no other byte of it.
//!
//! A copied line keeps its order of fields, its spelling of numbers and every field of other
//! programs; only the link that would point nowhere is set anew.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer as _;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::parse;

/// The line with its top-level `field` set to a string, or to null. A field that is not there is put
/// in front. `None` when the line is no JSON object.
pub(super) fn set(line: &[u8], field: &str, value: Option<&str>) -> Option<Vec<u8>> {
    let value = serde_json::to_vec(&value).ok()?;
    match set_raw(line, field, &value) {
        Some(line) => Some(line),
        None => match parse::readable(line) {
            Cow::Owned(text) => set_raw(&text, field, &value),
            Cow::Borrowed(_) => None,
        },
    }
}

fn set_raw(line: &[u8], field: &str, value: &[u8]) -> Option<Vec<u8>> {
    let mut json = serde_json::Deserializer::from_slice(line);
    let found = json.deserialize_map(Places { field }).ok()?;
    let mut out = Vec::with_capacity(line.len() + value.len());
    let mut copied = 0;
    for raw in &found {
        // Where the value stands in the line it was borrowed from.
        let start = (raw.get().as_ptr() as usize).checked_sub(line.as_ptr() as usize)?;
        out.extend_from_slice(line.get(copied..start)?);
        out.extend_from_slice(value);
        copied = start + raw.get().len();
    }
    if found.is_empty() {
        let brace = memchr::memchr(b'{', line)?;
        out.extend_from_slice(line.get(..=brace)?);
        serde_json::to_writer(&mut out, field).ok()?;
        out.push(b':');
        out.extend_from_slice(value);
        copied = brace + 1;
        if !line.get(copied..)?.trim_ascii_start().starts_with(b"}") {
            out.push(b',');
        }
    }
    out.extend_from_slice(line.get(copied..)?);
    Some(out)
}

/// Finds the values of one field of an object.
struct Places<'f> {
    field: &'f str,
}

impl<'de> Visitor<'de> for Places<'_> {
    type Value = Vec<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = Vec::new();
        while let Some(is_it) = map.next_key_seed(Key { field: self.field })? {
            if is_it {
                found.push(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// Whether a key is the one that is looked for.
struct Key<'f> {
    field: &'f str,
}

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = bool;

    fn deserialize<D: serde::Deserializer<'de>>(self, key: D) -> Result<bool, D::Error> {
        key.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.field)
    }
}

#[cfg(test)]
mod tests {
    fn set(line: &str, value: Option<&str>) -> Option<String> {
        super::set(line.as_bytes(), "parentId", value).map(|out| String::from_utf8(out).unwrap())
    }

    #[test]
    fn only_the_value_changes() {
        let line = r#"{ "x":{"parentId":"in"},"parentId" : "a\u0041" ,"n":1.50,"id":"b"}"#;
        let want = r#"{ "x":{"parentId":"in"},"parentId" : null ,"n":1.50,"id":"b"}"#;
        assert_eq!(set(line, None).as_deref(), Some(want));
        let want = r#"{ "x":{"parentId":"in"},"parentId" : "q\"" ,"n":1.50,"id":"b"}"#;
        assert_eq!(set(line, Some("q\"")).as_deref(), Some(want));
    }

    #[test]
    fn doubles_and_odd_values_are_all_set_and_a_missing_field_is_put_in_front() {
        let line = r#"{"parentId":[1],"parent\u0049d":{}}"#;
        assert_eq!(
            set(line, Some("p")).as_deref(),
            Some(r#"{"parentId":"p","parent\u0049d":"p"}"#)
        );
        assert_eq!(set(r#"{"id":"b"}"#, None).as_deref(), Some(r#"{"parentId":null,"id":"b"}"#));
        assert_eq!(set(" {}", None).as_deref(), Some(r#" {"parentId":null}"#));
    }

    #[test]
    fn what_is_no_object_is_refused_and_broken_text_is_mended() {
        assert_eq!(set("[1]", None), None);
        assert_eq!(set("{", None), None);
        let out = super::set(b"{\"parentId\":\"caf\xc3\",\"t\":\"\xc3\"}", "parentId", Some("b"));
        let out = String::from_utf8_lossy(&out.unwrap()).into_owned();
        assert_eq!(out, "{\"parentId\":\"b\",\"t\":\"\u{fffd}\"}");
    }
}
