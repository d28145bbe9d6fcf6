//! Cutting text to what a model or a screen can take: by lines, by bytes, by characters.
//!
//! Every tool cuts through these few functions, so that the numbers told to the model ("lines a-b
//! of n") are counted in one place and in one way. A final newline does not count as a line.

use std::borrow::Cow;

use serde::Serialize;

/// Lines of one tool result; with [`MAX_BYTES`] what a model reads without losing the thread.
pub const MAX_LINES: usize = 2000;
/// Bytes of one tool result, about 12,000 tokens.
pub const MAX_BYTES: usize = 50 * 1024;
/// Characters of one line in a search result; longer ones are minified files or data.
pub const MAX_LINE_CHARS: usize = 500;

/// How much may stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub lines: usize,
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { lines: MAX_LINES, bytes: MAX_BYTES }
    }
}

/// Which limit was met first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TruncatedBy {
    Lines,
    Bytes,
}

/// A cut text and its counts, in the stored spelling. The text itself is not stored a second time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Truncation {
    #[serde(skip)]
    pub content: String,
    pub truncated: bool,
    pub truncated_by: Option<TruncatedBy>,
    pub total_lines: usize,
    pub total_bytes: usize,
    pub output_lines: usize,
    pub output_bytes: usize,
    /// Only the end of the last line is kept ([`tail`]).
    pub last_line_partial: bool,
    /// The first line alone is over the limit, so nothing is kept ([`head`]).
    pub first_line_exceeds_limit: bool,
    pub max_lines: usize,
    pub max_bytes: usize,
}

impl Truncation {
    fn whole(text: &str, total_lines: usize, limits: Limits) -> Self {
        Self {
            content: text.to_owned(),
            truncated: false,
            truncated_by: None,
            total_lines,
            total_bytes: text.len(),
            output_lines: total_lines,
            output_bytes: text.len(),
            last_line_partial: false,
            first_line_exceeds_limit: false,
            max_lines: limits.lines,
            max_bytes: limits.bytes,
        }
    }

    fn cut(mut self, content: &str, lines: usize, by: TruncatedBy) -> Self {
        self.content = content.to_owned();
        self.truncated = true;
        self.truncated_by = Some(by);
        self.output_lines = lines;
        self.output_bytes = content.len();
        self
    }
}

/// Lines of a text; a final newline ends a line and starts none.
pub fn line_count(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count()
        + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

/// Keeps whole lines from the start. When the first line alone is too long nothing is kept.
pub fn head(text: &str, limits: Limits) -> Truncation {
    let total = line_count(text);
    let whole = Truncation::whole(text, total, limits);
    if total <= limits.lines && text.len() <= limits.bytes {
        return whole;
    }
    let (mut end, mut lines, mut by) = (0, 0, TruncatedBy::Lines);
    for line in text.split_inclusive('\n') {
        if lines == limits.lines {
            break;
        }
        if end + line.trim_end_matches('\n').len() > limits.bytes {
            by = TruncatedBy::Bytes;
            break;
        }
        end += line.len();
        lines += 1;
    }
    let kept = text[..end].strip_suffix('\n').unwrap_or(&text[..end]);
    let mut cut = whole.cut(kept, lines, by);
    cut.first_line_exceeds_limit = lines == 0 && by == TruncatedBy::Bytes;
    cut
}

/// Keeps whole lines from the end. When the last line alone is too long its end is kept.
pub fn tail(text: &str, limits: Limits) -> Truncation {
    let total = line_count(text);
    let whole = Truncation::whole(text, total, limits);
    if total <= limits.lines && text.len() <= limits.bytes {
        return whole;
    }
    let body = text.strip_suffix('\n').unwrap_or(text);
    let (mut start, mut lines) = (body.len(), 0);
    let mut by = TruncatedBy::Lines;
    let mut line_end = body.len();
    while lines < limits.lines {
        let line_start =
            memchr::memrchr(b'\n', &body.as_bytes()[..line_end]).map_or(0, |at| at + 1);
        if body.len() - line_start > limits.bytes {
            by = TruncatedBy::Bytes;
            break;
        }
        (start, lines) = (line_start, lines + 1);
        let Some(before) = line_start.checked_sub(1) else { break };
        line_end = before;
    }
    if lines == 0 && by == TruncatedBy::Bytes {
        let mut cut = whole.cut(suffix(body, limits.bytes), 1, by);
        cut.last_line_partial = true;
        return cut;
    }
    whole.cut(&body[start..], lines, by)
}

/// The longest start of at most `bytes` bytes that ends between two characters.
pub fn prefix(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// The longest end of at most `bytes` bytes that starts between two characters.
pub fn suffix(text: &str, bytes: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(bytes))..]
}

/// One line cut to `chars` characters, with a mark that tells its length.
pub fn line(text: &str, chars: usize) -> Cow<'_, str> {
    match text.char_indices().nth(chars) {
        None => Cow::Borrowed(text),
        Some((at, _)) => {
            let all = chars + text[at..].chars().count();
            Cow::Owned(format!("{}... [line of {all} characters]", &text[..at]))
        }
    }
}

/// A text cut to about `bytes` bytes, with a mark that tells how much is missing.
pub fn excerpt(text: &str, bytes: usize) -> Cow<'_, str> {
    if text.len() <= bytes {
        return Cow::Borrowed(text);
    }
    let kept = prefix(text, bytes);
    Cow::Owned(format!("{kept}... [{} more]", size((text.len() - kept.len()) as u64)))
}

/// `12B`, `3.4KB`, `5.6MB`, `7.8GB`.
pub fn size(bytes: u64) -> String {
    const UNIT: f64 = 1024.0;
    let amount = bytes as f64;
    if amount < UNIT {
        format!("{bytes}B")
    } else if amount < UNIT * UNIT {
        format!("{:.1}KB", amount / UNIT)
    } else if amount < UNIT * UNIT * UNIT {
        format!("{:.1}MB", amount / UNIT / UNIT)
    } else {
        format!("{:.1}GB", amount / UNIT / UNIT / UNIT)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn limits(lines: usize, bytes: usize) -> Limits {
        Limits { lines, bytes }
    }

    #[test]
    fn the_head_keeps_whole_lines_and_counts_them() {
        let cut = head("a\nb\nc\n", limits(2, 100));
        assert_eq!((cut.content.as_str(), cut.output_lines, cut.total_lines), ("a\nb", 2, 3));
        assert_eq!(cut.truncated_by, Some(TruncatedBy::Lines));
        assert!(!head("a\nb\n", limits(2, 100)).truncated);
    }

    #[test]
    fn the_tail_keeps_the_end_and_cuts_one_long_line_between_characters() {
        assert_eq!(tail("a\nb\nc\n", limits(2, 100)).content, "b\nc");
        let cut = tail("x\n\u{20ac}\u{20ac}", limits(5, 4));
        assert_eq!((cut.content.as_str(), cut.last_line_partial), ("\u{20ac}", true));
    }

    #[test]
    fn a_first_line_over_the_limit_leaves_nothing() {
        let cut = head(&"x".repeat(20), limits(5, 10));
        assert_eq!((cut.content.as_str(), cut.first_line_exceeds_limit), ("", true));
    }

    #[test]
    fn sizes_read_as_people_write_them() {
        let sizes = [0, 1023, 1024, 51200, 5 << 20, 3 << 30].map(size);
        assert_eq!(sizes, ["0B", "1023B", "1.0KB", "50.0KB", "5.0MB", "3.0GB"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn no_cut_exceeds_its_limits(text in "(\\PC|\n|\r){0,60}", lines in 0_usize..8, bytes in 0_usize..40) {
            for cut in [head(&text, limits(lines, bytes)), tail(&text, limits(lines, bytes))] {
                if cut.truncated {
                    prop_assert!(cut.content.len() <= bytes && line_count(&cut.content) <= lines.max(1));
                    prop_assert!(text.contains(&cut.content));
                } else {
                    prop_assert_eq!(&cut.content, &text);
                }
            }
            prop_assert!(prefix(&text, bytes).len() <= bytes && suffix(&text, bytes).len() <= bytes);
        }
    }
}
