//! Reading any JSON value for the few things that are wanted of it.
//!
//! A value of another type than the wanted one counts as absent and is passed over, so that an odd
//! field costs that field and never the line.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::one_line;

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
        let raw = <&RawValue>::deserialize(deserializer)?.get();
        let text = raw.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        Ok(Self(text.map(|text| one_line(Unescaped(text)))))
    }
}

/// The characters that the inside of a JSON string stands for. Half a pair is a replacement mark.
pub(super) struct Unescaped<'a>(pub(super) &'a str);

impl Unescaped<'_> {
    fn take(&mut self, len: usize) -> Option<&str> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    /// Four hex digits.
    fn unit(&mut self) -> Option<u32> {
        u32::from_str_radix(self.take(4)?, 16).ok()
    }

    fn pair(&mut self, high: u32) -> Option<char> {
        let before = self.0;
        if (0xD800..0xDC00).contains(&high) && self.take(2) == Some("\\u") {
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
        let first = self.0.chars().next()?;
        self.take(first.len_utf8())?;
        if first != '\\' {
            return Some(first);
        }
        let escaped = self.0.chars().next()?;
        self.take(escaped.len_utf8())?;
        Some(match escaped {
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
        Ok(Self(<&RawValue>::deserialize(deserializer)?.get()))
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
