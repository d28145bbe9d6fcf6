//! A JSON reader for the shallow look: strict about what is JSON, and it decodes only what is asked
//! for.
//!
//! Opening a session passes over every byte of its file, and nearly all of them are inside texts of
//! which a few words are wanted. Those are neither copied nor checked for UTF-8 here; whoever reads
//! a body does that. What is nested inside unwanted values costs no recursion.

use std::fmt;

use serde::Deserializer;
use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

/// Asks for the bytes of a value as they stand in the line, by the name of a newtype.
pub(super) const RAW: &str = "harness-tui.raw";
/// Bytes of a string that are looked at together. Most strings are short: wider steps gain nothing.
const WORD: usize = 8;

/// The line is no JSON, or a wanted text is none.
#[derive(Debug)]
pub(super) struct NotJson;

impl fmt::Display for NotJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this is no json")
    }
}

impl std::error::Error for NotJson {}

impl de::Error for NotJson {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

/// Reads one value that is all of the line.
pub(super) fn read<'de, T: de::Deserialize<'de>>(line: &'de [u8]) -> Result<T, NotJson> {
    let mut scan = Scan { bytes: line, at: 0 };
    let value = T::deserialize(&mut scan)?;
    match scan.peek() {
        None => Ok(value),
        Some(_) => Err(NotJson),
    }
}

/// The rest of a line.
struct Scan<'de> {
    bytes: &'de [u8],
    at: usize,
}

/// What stands between the quotes of a string.
struct Quoted<'de> {
    inside: &'de [u8],
    /// With its quotes.
    whole: &'de [u8],
    escaped: bool,
}

impl<'de> Quoted<'de> {
    fn visit<V: Visitor<'de>>(&self, visitor: V) -> Result<V::Value, NotJson> {
        if self.escaped {
            let text: String = serde_json::from_slice(self.whole).map_err(de::Error::custom)?;
            return visitor.visit_str(&text);
        }
        visitor.visit_borrowed_str(std::str::from_utf8(self.inside).map_err(de::Error::custom)?)
    }
}

impl<'de> Scan<'de> {
    /// The next byte that is no white space.
    fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = *self.bytes.get(self.at)?;
            if !matches!(byte, b' ' | b'\n' | b'\t' | b'\r') {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    fn expect(&mut self, wanted: u8) -> Result<(), NotJson> {
        if self.peek() != Some(wanted) {
            return Err(NotJson);
        }
        self.at += 1;
        Ok(())
    }

    /// Passes over bytes that mean nothing in a string.
    fn plain(&mut self) {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let (words, _) = rest.as_chunks::<WORD>();
        for word in words {
            match special(u64::from_le_bytes(*word)) {
                WORD => self.at += WORD,
                found => {
                    self.at += found;
                    return;
                }
            }
        }
        let is_special = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at += rest.iter().position(is_special).unwrap_or(rest.len());
    }

    /// A string, from its first quote to its last.
    fn string(&mut self) -> Result<Quoted<'de>, NotJson> {
        self.expect(b'"')?;
        let start = self.at;
        let mut escaped = false;
        loop {
            self.plain();
            match self.bytes.get(self.at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.at += self.escape()?;
                }
                _ => return Err(NotJson),
            }
        }
        let inside = self.bytes.get(start..self.at).unwrap_or_default();
        self.at += 1;
        let whole = self.bytes.get(start - 1..self.at).unwrap_or_default();
        Ok(Quoted { inside, whole, escaped })
    }

    /// How long the escape is that begins here.
    fn escape(&self) -> Result<usize, NotJson> {
        match self.bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(2),
            Some(b'u') => {
                let digits = self.bytes.get(self.at + 2..self.at + 6).unwrap_or_default();
                let is_code = digits.len() == 4 && digits.iter().all(u8::is_ascii_hexdigit);
                if is_code { Ok(6) } else { Err(NotJson) }
            }
            _ => Err(NotJson),
        }
    }

    fn digits(&mut self) -> Result<(), NotJson> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        if count == 0 { Err(NotJson) } else { Ok(()) }
    }

    fn takes(&mut self, wanted: impl Fn(u8) -> bool) -> bool {
        let is_next = self.bytes.get(self.at).is_some_and(|byte| wanted(*byte));
        self.at += usize::from(is_next);
        is_next
    }

    fn number(&mut self) -> Result<(), NotJson> {
        self.takes(|byte| byte == b'-');
        if !self.takes(|byte| byte == b'0') {
            self.digits()?;
        }
        if self.takes(|byte| byte == b'.') {
            self.digits()?;
        }
        if self.takes(|byte| matches!(byte, b'e' | b'E')) {
            self.takes(|byte| matches!(byte, b'+' | b'-'));
            self.digits()?;
        }
        Ok(())
    }

    fn word(&mut self, word: &[u8]) -> Result<(), NotJson> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at += word.len();
        if rest.starts_with(word) { Ok(()) } else { Err(NotJson) }
    }

    /// Passes over a value of no parts.
    fn scalar(&mut self, first: u8) -> Result<(), NotJson> {
        match first {
            b'"' => self.string().map(drop),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => self.number(),
        }
    }

    fn key(&mut self) -> Result<(), NotJson> {
        self.string()?;
        self.expect(b':')
    }

    /// Passes over a value, however deep it is.
    fn skip(&mut self) -> Result<(), NotJson> {
        let mut open = Open::default();
        loop {
            let first = self.peek().ok_or(NotJson)?;
            if matches!(first, b'{' | b'[') {
                let is_object = first == b'{';
                self.at += 1;
                if self.peek() != Some(closing(is_object)) {
                    open.push(is_object);
                    if is_object {
                        self.key()?;
                    }
                    continue;
                }
                self.at += 1;
            } else {
                self.scalar(first)?;
            }
            loop {
                let Some(is_object) = open.top() else { return Ok(()) };
                let next = self.peek().ok_or(NotJson)?;
                self.at += 1;
                if next == b',' {
                    if is_object {
                        self.key()?;
                    }
                    break;
                }
                if next != closing(is_object) {
                    return Err(NotJson);
                }
                open.pop();
            }
        }
    }

    /// The bytes of a value.
    fn raw(&mut self) -> Result<&'de [u8], NotJson> {
        self.peek();
        let start = self.at;
        self.skip()?;
        Ok(self.bytes.get(start..self.at).unwrap_or_default())
    }
}

/// The place of the first control character, quote or backslash in eight bytes, the lowest first; or
/// 8. A byte may borrow from the one above it, so only the lowest hit is exact.
fn special(bytes: u64) -> usize {
    const EACH: u64 = u64::MAX / 255;
    let below = |x: u64, bound: u8| x.wrapping_sub(EACH * u64::from(bound)) & !x;
    let same = |byte: u8| below(bytes ^ (EACH * u64::from(byte)), 1);
    let hits = (below(bytes, 0x20) | same(b'"') | same(b'\\')) & (EACH << 7);
    (hits.trailing_zeros() / 8) as usize
}

fn closing(is_object: bool) -> u8 {
    if is_object { b'}' } else { b']' }
}

/// Which of the open brackets are objects: a bit each, so that only what is nested deeper than any
/// honest value takes memory.
#[derive(Default)]
struct Open {
    bits: u64,
    depth: u32,
    full: Vec<u64>,
}

impl Open {
    fn push(&mut self, is_object: bool) {
        if self.depth == u64::BITS {
            self.full.push(self.bits);
            self.depth = 0;
        }
        self.bits = self.bits << 1 | u64::from(is_object);
        self.depth += 1;
    }

    fn top(&self) -> Option<bool> {
        (self.depth > 0).then_some(self.bits & 1 == 1)
    }

    fn pop(&mut self) {
        self.bits >>= 1;
        self.depth -= 1;
        if self.depth == 0
            && let Some(bits) = self.full.pop()
        {
            (self.bits, self.depth) = (bits, u64::BITS);
        }
    }
}

impl<'de> Deserializer<'de> for &mut Scan<'de> {
    type Error = NotJson;

    /// Numbers are given as nothing: those who want one ask for its bytes.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotJson> {
        match self.peek().ok_or(NotJson)? {
            b'{' => {
                self.at += 1;
                visitor.visit_map(Parts { scan: self, fresh: true })
            }
            b'[' => {
                self.at += 1;
                visitor.visit_seq(Parts { scan: self, fresh: true })
            }
            b'"' => self.string()?.visit(visitor),
            first => {
                self.scalar(first)?;
                match first {
                    b't' | b'f' => visitor.visit_bool(first == b't'),
                    _ => visitor.visit_unit(),
                }
            }
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, NotJson> {
        self.skip()?;
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, NotJson> {
        if name == RAW {
            return visitor.visit_borrowed_bytes(self.raw()?);
        }
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct seq tuple tuple_struct map struct enum identifier
    }
}

/// The parts of an object or a list. Whoever takes them takes them all.
struct Parts<'a, 'de> {
    scan: &'a mut Scan<'de>,
    fresh: bool,
}

impl Parts<'_, '_> {
    /// Whether another part comes; takes the comma before it, or the bracket behind the last.
    fn more(&mut self, is_object: bool) -> Result<bool, NotJson> {
        let fresh = std::mem::replace(&mut self.fresh, false);
        match self.scan.peek().ok_or(NotJson)? {
            byte if byte == closing(is_object) => {
                self.scan.at += 1;
                Ok(false)
            }
            b',' if !fresh => {
                self.scan.at += 1;
                Ok(true)
            }
            _ if fresh => Ok(true),
            _ => Err(NotJson),
        }
    }
}

impl<'de> SeqAccess<'de> for Parts<'_, 'de> {
    type Error = NotJson;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, NotJson> {
        if !self.more(false)? {
            return Ok(None);
        }
        seed.deserialize(&mut *self.scan).map(Some)
    }
}

impl<'de> MapAccess<'de> for Parts<'_, 'de> {
    type Error = NotJson;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, NotJson> {
        if !self.more(true)? {
            return Ok(None);
        }
        if self.scan.peek() != Some(b'"') {
            return Err(NotJson);
        }
        seed.deserialize(&mut *self.scan).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, NotJson> {
        self.scan.expect(b':')?;
        seed.deserialize(&mut *self.scan)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::de::IgnoredAny;

    use super::*;

    fn is_json(line: &[u8]) -> bool {
        read::<IgnoredAny>(line).is_ok()
    }

    #[test]
    fn only_json_is_taken() {
        for line in [
            r#" {"a" : [1, -0.5e+3, {"b":{}}, [], true, null], "c":"\u00e9\n"} "#,
            "0",
            "\"\\ud83d\"",
            "[[[[]]]]",
        ] {
            assert!(is_json(line.as_bytes()), "{line}");
        }
        for line in [
            "",
            "{",
            "[1,]",
            "[,1]",
            "[1 2]",
            r#"{"a"}"#,
            r#"{"a":1,}"#,
            "{1:2}",
            "01",
            "1.",
            "-",
            "1e",
            "tru",
            "nul",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"\t\"",
            "\"",
            "[}",
            "{]",
            "[] []",
        ] {
            assert!(!is_json(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn brackets_as_deep_as_a_line_is_long_cost_no_recursion() {
        let n = 100_000;
        let line = format!("{}1{}", "[{\"a\":".repeat(n), "}]".repeat(n));
        assert!(is_json(line.as_bytes()));
        assert!(!is_json(line.replacen("}]}]", "}]]}", 1).as_bytes()));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn eight_bytes_are_looked_at_as_one_at_a_time(
            bytes in prop::array::uniform8(prop_oneof![
                any::<u8>(), Just(b'"'), Just(b'\\'), Just(0x1f_u8), Just(0x20), Just(0xff), Just(b'#')
            ]),
        ) {
            let first = bytes.iter().position(|byte| *byte < 0x20 || b"\"\\".contains(byte));
            prop_assert_eq!(special(u64::from_le_bytes(bytes)), first.unwrap_or(WORD));
        }

        #[test]
        fn any_bytes_are_json_here_when_they_are_elsewhere(
            start in r#"[\[{ ]{0,3}("[a-c"\\é]{0,40}"|[0-9.eE+-]{1,6}|true|null)?"#,
            rest in r#"([,:\[\]{} ]|"[a-z\\/u0-9]{0,6}"|[0-9]|true){0,12}"#,
            at in 0_usize..60,
            byte in any::<u8>(),
        ) {
            let mut line = format!("{start}{rest}").into_bytes();
            for _ in 0..2 {
                let known = serde_json::from_slice::<IgnoredAny>(&line).is_ok();
                prop_assert_eq!(is_json(&line), known, "{:?}", String::from_utf8_lossy(&line));
                if let Some(changed) = line.get_mut(at) {
                    *changed = byte;
                }
            }
        }
    }
}
