//! Stand-in until the real measures are merged.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Columns of a text, by grapheme cluster.
pub fn swidth(text: &str) -> usize {
    text.graphemes(true).map(UnicodeWidthStr::width).sum()
}

/// The rows of one paragraph.
pub fn wrap(text: &str, width: usize) -> Vec<Range<usize>> {
    let (mut rows, mut start, mut used) = (Vec::new(), 0, 0);
    for (at, grapheme) in text.grapheme_indices(true) {
        let columns = grapheme.width();
        if used + columns > width.max(1) && at > start {
            rows.push(start..at);
            (start, used) = (at, 0);
        }
        used += columns;
    }
    rows.push(start..text.len());
    rows
}

/// The text cut to `width` columns, with an ellipsis where something is missing.
pub fn truncate_to(text: &str, width: usize) -> String {
    if swidth(text) <= width {
        return text.to_owned();
    }
    let (mut out, mut used) = (String::new(), 0);
    for grapheme in text.graphemes(true) {
        let columns = grapheme.width();
        if used + columns + 1 > width {
            break;
        }
        used += columns;
        out.push_str(grapheme);
    }
    if width > 0 {
        out.push('…');
    }
    out
}
