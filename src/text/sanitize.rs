//! Stand-in until the real sanitiser is merged.

use std::borrow::Cow;

/// Text without control characters but `\n`.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| c == '\n' || !c.is_control()) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(
        text.replace("\r\n", "\n")
            .chars()
            .map(|c| if c != '\n' && c.is_control() { '·' } else { c })
            .collect(),
    )
}

/// One line of at most `max_width` columns.
pub fn one_line(text: &str, max_width: usize) -> String {
    let flat = sanitize(text).replace('\n', " ");
    super::width::truncate_to(&flat, max_width)
}
