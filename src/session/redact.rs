//! Keys never leave in an export: known ones exactly, others by the shape that providers give them.
//!
//! What is written to be read by people loses both. A session that is written to be opened again
//! loses only the known ones, because its bytes are otherwise as they were.

use std::borrow::Cow;

use memchr::memmem;
use regex::Regex;

/// What stands for a key.
const REDACTED: &str = "[redacted]";
/// Shorter secrets are words that may stand anywhere; no provider gives keys this short.
const MIN_SECRET: usize = 8;
/// The shapes of keys that providers and hosts hand out.
const SHAPES: &str = r#"(?x)
    \bsk-[A-Za-z0-9_-]{20,}
  | \bgh[opsur]_[A-Za-z0-9]{30,}
  | \bgithub_pat_[A-Za-z0-9_]{30,}
  | \bxox[abeoprs]-[A-Za-z0-9-]{10,}
  | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b
  | \bAIza[A-Za-z0-9_-]{35}
  | \bhf_[A-Za-z0-9]{30,}
  | \beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}
  | -----BEGIN\ [A-Z\ ]*PRIVATE\ KEY-----[\s\S]*?-----END\ [A-Z\ ]*PRIVATE\ KEY-----
  | (?i:\bauthorization:\s*(?:bearer|basic|token)\s+[^\s"']{8,})
"#;

/// Takes keys out of texts. Its `Debug` shows none.
pub struct Redactor {
    secrets: Vec<String>,
    shapes: Option<Regex>,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redactor").field("secrets", &self.secrets.len()).finish_non_exhaustive()
    }
}

impl Redactor {
    /// Knows these secrets. Those under 8 characters are passed over.
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut secrets: Vec<String> =
            secrets.into_iter().filter(|secret| secret.len() >= MIN_SECRET).collect();
        // The longer first: one may be the beginning of another.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        Self { secrets, shapes: Regex::new(SHAPES).ok() }
    }

    /// The text without known secrets and without what looks like one.
    pub fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut out = Cow::Borrowed(text);
        for secret in &self.secrets {
            if memmem::find(out.as_bytes(), secret.as_bytes()).is_some() {
                out = Cow::Owned(out.replace(secret.as_str(), REDACTED));
            }
        }
        let Some(shapes) = &self.shapes else { return out };
        match shapes.replace_all(&out, REDACTED) {
            Cow::Owned(clean) => Cow::Owned(clean),
            Cow::Borrowed(_) => out,
        }
    }

    /// A line of JSON without known secrets.
    pub(super) fn line<'l>(&self, line: &'l [u8]) -> Cow<'l, [u8]> {
        let mut out = Cow::Borrowed(line);
        for secret in &self.secrets {
            let quoted = serde_json::to_string(secret).unwrap_or_default();
            let spelled = quoted.trim_matches('"').as_bytes();
            if !spelled.is_empty() && memmem::find(&out, spelled).is_some() {
                out = Cow::Owned(replace(&out, spelled));
            }
        }
        out
    }
}

fn replace(line: &[u8], spelled: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(line.len());
    let mut copied = 0;
    for at in memmem::find_iter(line, spelled) {
        out.extend_from_slice(line.get(copied..at).unwrap_or_default());
        out.extend_from_slice(REDACTED.as_bytes());
        copied = at + spelled.len();
    }
    out.extend_from_slice(line.get(copied..).unwrap_or_default());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_secrets_go_everywhere_and_short_ones_are_no_secrets() {
        let redactor = Redactor::new(["hunter2-hunter2".to_owned(), "short".to_owned()]);
        assert_eq!(redactor.text("a hunter2-hunter2 short"), "a [redacted] short");
        assert_eq!(&*redactor.line(b"{\"k\":\"hunter2-hunter2\"}"), b"{\"k\":\"[redacted]\"}");
        assert!(!format!("{redactor:?}").contains("hunter2"));
    }

    #[test]
    fn what_looks_like_a_key_goes_from_texts_and_ordinary_words_stay() {
        let redactor = Redactor::new([]);
        for key in [
            "sk-ant-api03-abcdefghijklmnopqrst",
            "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
            "AKIAABCDEFGHIJKLMNOP",
            "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSMeKKF2QT4",
            "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
            "Authorization: Bearer abcdefgh12345",
        ] {
            assert_eq!(redactor.text(&format!("x {key} y")), "x [redacted] y", "{key}");
        }
        let plain = "task-force, risk-averse, sk-1, 0123456789abcdef0123456789abcdef";
        assert!(matches!(redactor.text(plain), Cow::Borrowed(_)));
    }
}
