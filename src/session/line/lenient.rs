//! Reading any JSON value for the few things that are wanted of it.
//!
//! A value of another type than the wanted one counts as absent and is passed over, so that an odd
//! field costs that field and never the line.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::scan::RAW;
use super::words_of;

/// A value of the wanted type, or nothing when it is of another type.
pub(super) struct Lenient<T>(pub(super) Option<T>);

/// Takes any JSON value and keeps what it can use.
struct Any<T>(PhantomData<T>);

/// What a [`Lenient`] value can be made from; everything not overridden gives nothing.
pub(super) trait FromAny<'de>: Sized {
    fn from_text(_: &str) -> Option<Self> {
        None
    }
    /// Text that stands in the line as it is.
    fn from_plain(text: &'de str) -> Option<Self> {
        Self::from_text(text)
    }
    fn from_bool(_: bool) -> Option<Self> {
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
        deserializer.deserialize_any(Any(PhantomData)).map(Self)
    }
}

impl<'de, T: FromAny<'de>> Visitor<'de> for Any<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }
    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(T::from_bool(value))
    }
    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(T::from_text(text))
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(T::from_plain(text))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
        T::from_list(list)
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::from_map(map)
    }
}

impl<'de> FromAny<'de> for Cow<'de, str> {
    fn from_text(text: &str) -> Option<Self> {
        Some(Cow::Owned(text.to_owned()))
    }
    fn from_plain(text: &'de str) -> Option<Self> {
        Some(Cow::Borrowed(text))
    }
}

impl FromAny<'_> for bool {
    fn from_bool(value: bool) -> Option<Self> {
        Some(value)
    }
}

/// A text as one short line; nothing when it is no text. However long it is, only the beginning is
/// decoded.
#[derive(Default)]
pub(super) struct Words(pub(super) Option<String>);

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = deserializer.deserialize_newtype_struct(RAW, Raw)?;
        let text = raw.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\""));
        Ok(Self(text.map(words_of)))
    }
}

/// Takes the bytes of a value.
struct Raw;

impl<'de> Visitor<'de> for Raw {
    type Value = &'de [u8];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes of a value")
    }
    fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
        Ok(bytes)
    }
}

/// The characters that the inside of a JSON string stands for. Half a pair is a replacement mark,
/// and so is a byte that is no UTF-8.
pub(super) struct Unescaped<'a>(pub(super) &'a [u8]);

impl Unescaped<'_> {
    fn take(&mut self, len: usize) -> Option<&[u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    /// A character of several bytes.
    fn wide(&mut self) -> char {
        let four = self.0.get(..4).unwrap_or(self.0);
        let chunk = four.utf8_chunks().next();
        let found = chunk.as_ref().and_then(|chunk| chunk.valid().chars().next());
        let bad = chunk.map_or(1, |chunk| chunk.invalid().len().max(1));
        self.take(found.map_or(bad, char::len_utf8));
        found.unwrap_or(char::REPLACEMENT_CHARACTER)
    }

    /// Four hex digits.
    fn unit(&mut self) -> Option<u32> {
        u32::from_str_radix(std::str::from_utf8(self.take(4)?).ok()?, 16).ok()
    }

    fn pair(&mut self, high: u32) -> Option<char> {
        let before = self.0;
        if (0xD800..0xDC00).contains(&high) && self.take(2) == Some(b"\\u") {
            let low = self.unit().filter(|low| (0xDC00..0xE000).contains(low));
            if let Some(low) = low {
                return char::from_u32(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00));
            }
        }
        self.0 = before;
        char::from_u32(high)
    }
}

impl Iterator for Unescaped<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        let first = *self.0.first()?;
        if !first.is_ascii() {
            return Some(self.wide());
        }
        self.take(1)?;
        if first != b'\\' {
            return Some(char::from(first));
        }
        let escaped = *self.0.first()?;
        self.take(1)?;
        Some(match char::from(escaped) {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let unit = self.unit()?;
                self.pair(unit).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            other => other,
        })
    }
}

/// The text of a value when it is no string, list or object. Numbers are read by those who know
/// what range they may have: one that no float holds must not cost the line.
pub(super) struct Scalar<'de>(pub(super) &'de str);

impl<'de> Deserialize<'de> for Scalar<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = deserializer.deserialize_newtype_struct(RAW, Raw)?;
        // What is no UTF-8 is no number either.
        Ok(Self(std::str::from_utf8(raw).unwrap_or_default()))
    }
}

impl Scalar<'_> {
    pub(super) fn whole<N: std::str::FromStr>(&self) -> Option<N> {
        self.0.parse().ok()
    }

    /// A finite number that is not negative.
    pub(super) fn amount(&self) -> Option<f64> {
        self.0.parse().ok().filter(|amount: &f64| amount.is_finite() && *amount >= 0.0)
    }

    pub(super) fn is_null(&self) -> bool {
        self.0 == "null"
    }
}
