//! A text as a forgiving eye sees it: typographic quotes, dashes, wide letters and line-end spaces
//! made plain, with the way back to the exact bytes.
//!
//! Models retype such characters as ASCII. Only the comparison happens in this form; what is
//! written goes into the original text, so nothing outside the match is normalised.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

/// A stretch where both texts differ. Outside of these they are the same bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Bent {
    plain: Range<usize>,
    original: Range<usize>,
}

/// The plain form of a text and its way back.
#[derive(Debug, Default)]
pub(crate) struct Plain {
    pub(crate) text: String,
    bent: Vec<Bent>,
}

/// The plain form. `strip_last` also takes the spaces at the very end away, which for a piece of a
/// line may stand in the middle of it.
pub(crate) fn plain(original: &str, strip_last: bool) -> Plain {
    let mut out = Plain::default();
    let mut at = 0;
    for line in original.split_inclusive('\n') {
        let is_whole = line.ends_with('\n');
        let body = line.strip_suffix('\n').unwrap_or(line);
        let kept = if is_whole || strip_last { trim_end(body) } else { body };
        out.push_line(kept, at);
        if kept.len() < body.len() {
            let end = out.text.len();
            out.bent.push(Bent { plain: end..end, original: at + kept.len()..at + body.len() });
        }
        if is_whole {
            out.text.push('\n');
        }
        at += line.len();
    }
    out
}

/// A carriage return is data here, or the half of a line end; never a space to strip.
fn trim_end(line: &str) -> &str {
    line.trim_end_matches(|c: char| c.is_whitespace() && c != '\r')
}

impl Plain {
    fn push_line(&mut self, line: &str, start: usize) {
        if line.is_ascii() {
            self.text.push_str(line);
            return;
        }
        for (offset, cluster) in line.grapheme_indices(true) {
            let before = self.text.len();
            if cluster.is_ascii() {
                self.text.push_str(cluster);
                continue;
            }
            self.text.extend(cluster.nfkc().map(ascii_twin));
            if self.text[before..] != *cluster {
                let original = start + offset..start + offset + cluster.len();
                self.bent.push(Bent { plain: before..self.text.len(), original });
            }
        }
    }

    /// The original bytes of a range of the plain text. `None` when an end falls inside a character
    /// that became several.
    pub(crate) fn original(&self, range: &Range<usize>) -> Option<Range<usize>> {
        let start = self.back(range.start, true)?;
        let end = self.back(range.end, false)?;
        (start <= end).then_some(start..end)
    }

    /// A start lies behind stripped spaces, an end before them.
    fn back(&self, at: usize, is_start: bool) -> Option<usize> {
        let passed = self.bent.partition_point(|bent| {
            bent.plain.end < at
                || bent.plain.end == at && (is_start || bent.plain.start < bent.plain.end)
        });
        if self.bent.get(passed).is_some_and(|next| next.plain.start < at) {
            return None;
        }
        Some(match passed.checked_sub(1).and_then(|last| self.bent.get(last)) {
            None => at,
            Some(last) => last.original.end + (at - last.plain.end),
        })
    }
}

fn ascii_twin(c: char) -> char {
    match c {
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_lead_back_to_the_exact_bytes() {
        let text = "say \u{201c}hi\u{201d}  \nand \u{fb01}x\n";
        let form = plain(text, false);
        assert_eq!(form.text, "say \"hi\"\nand fix\n");
        let quoted = form.original(&(4..8)).unwrap();
        assert_eq!(&text[quoted], "\u{201c}hi\u{201d}");
        let across = form.original(&(8..12)).unwrap();
        assert_eq!(&text[across], "\nand");
        assert_eq!(form.original(&(14..16)), None);
    }

    #[test]
    fn a_piece_of_a_line_keeps_its_last_space_when_asked() {
        assert_eq!(plain("a  \nb ", false).text, "a\nb ");
        assert_eq!(plain("a  \nb ", true).text, "a\nb");
    }
}
