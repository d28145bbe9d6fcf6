//! Finds the places that edits mean and computes the bytes that take their place. Pure.
//!
//! All edits are matched against the same, original text, so their order does not matter. Lines are
//! compared without their ends; what is inserted takes the ends of the lines it replaces, and every
//! byte that no edit asked for stays.

use std::ops::Range;

use memchr::memmem;

use super::fuzzy::{self, Plain};

/// Files compared in the forgiving form; its map costs memory.
const MAX_FUZZY_BYTES: usize = 4 * 1024 * 1024;

/// One wish: this text instead of that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Edit<'a> {
    pub(crate) old: &'a str,
    pub(crate) new: &'a str,
}

/// A replacement in bytes of the original.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Splice {
    pub(crate) range: Range<usize>,
    pub(crate) text: String,
}

/// The splices in ascending order, without overlaps.
///
/// # Errors
/// Text for the model that names the edit: empty, not found, found several times, overlapping, or
/// without effect.
pub(crate) fn find(original: &str, edits: &[Edit<'_>], path: &str) -> Result<Vec<Splice>, String> {
    let text = Unified::of(original);
    let form = (text.text.len() <= MAX_FUZZY_BYTES).then(|| fuzzy::plain(&text.text, false));
    let mut found = Vec::new();
    for (index, edit) in edits.iter().enumerate() {
        let place = if edits.len() == 1 { String::new() } else { format!("edits[{index}]: ") };
        let range = locate(&text, form.as_ref(), edit.old)
            .map_err(|problem| format!("{place}{problem} in {path}. Nothing was changed."))?;
        found.push((range, index));
    }
    found.sort_by_key(|(range, _)| range.start);
    for pair in found.windows(2) {
        if let [(first, one), (second, other)] = pair
            && second.start < first.end
        {
            let (low, high) = (one.min(other), one.max(other));
            return Err(format!(
                "edits[{low}] and edits[{high}] overlap in {path}. Join them into one edit. Nothing \
                 was changed."
            ));
        }
    }
    let splices: Vec<Splice> = found
        .into_iter()
        .filter_map(|(range, index)| splice(original, &text, range, edits[index].new))
        .collect();
    if splices.is_empty() {
        return Err(format!("the new text equals the old text in {path}: no change to make"));
    }
    Ok(splices)
}

/// The original with its splices done.
pub(crate) fn apply(original: &[u8], splices: &[Splice]) -> Vec<u8> {
    let mut out = Vec::with_capacity(original.len());
    let mut at = 0;
    for splice in splices {
        out.extend_from_slice(&original[at..splice.range.start]);
        out.extend_from_slice(splice.text.as_bytes());
        at = splice.range.end;
    }
    out.extend_from_slice(&original[at..]);
    out
}

/// A text with all line ends as LF, and where CRs were dropped.
struct Unified {
    text: String,
    /// Offsets in `text` of the LFs that were CRLF.
    pairs: Vec<usize>,
}

impl Unified {
    fn of(original: &str) -> Self {
        let mut text = String::with_capacity(original.len());
        let mut pairs = Vec::new();
        let mut at = 0;
        for pair in memmem::find_iter(original.as_bytes(), b"\r\n") {
            text.push_str(&original[at..pair]);
            pairs.push(text.len());
            at = pair + 1;
        }
        text.push_str(&original[at..]);
        Self { text, pairs }
    }

    fn original(&self, at: usize) -> usize {
        at + self.pairs.partition_point(|pair| *pair < at)
    }
}

fn locate(text: &Unified, form: Option<&Plain>, old: &str) -> Result<Range<usize>, String> {
    let old = Unified::of(old).text;
    if old.is_empty() {
        return Err("the old text is empty".to_owned());
    }
    let exact = occurrences(&text.text, &old);
    if exact.count > 1 {
        return Err(several(exact.count));
    }
    let found = if exact.count == 1 {
        // Unique to the byte, yet a reader could not tell the places apart.
        let alike =
            form.map_or(0, |form| occurrences(&form.text, &fuzzy::plain(&old, false).text).count);
        if alike > 1 {
            return Err(several(alike));
        }
        exact.first..exact.first + old.len()
    } else {
        forgiving(form, &old)?
    };
    Ok(found)
}

fn forgiving(form: Option<&Plain>, old: &str) -> Result<Range<usize>, String> {
    let not_found = || {
        "could not find the old text: it must match the file exactly, with spaces and line breaks. \
         Read the file again"
            .to_owned()
    };
    let form = form.ok_or_else(not_found)?;
    let wanted = fuzzy::plain(old, true).text;
    if wanted.trim().is_empty() {
        return Err(not_found());
    }
    let alike = occurrences(&form.text, &wanted);
    match alike.count {
        0 => Err(not_found()),
        1 => form.original(&(alike.first..alike.first + wanted.len())).ok_or_else(not_found),
        count => Err(several(count)),
    }
}

fn several(count: usize) -> String {
    format!("the old text was found {count} times; give more of the lines around to make it unique")
}

struct Occurrences {
    count: usize,
    first: usize,
}

/// Counts; a text that overlaps itself counts twice, because it is as ambiguous.
fn occurrences(text: &str, wanted: &str) -> Occurrences {
    if wanted.is_empty() {
        return Occurrences { count: 0, first: 0 };
    }
    let finder = memmem::Finder::new(wanted.as_bytes());
    let mut all = finder.find_iter(text.as_bytes());
    let Some(first) = all.next() else { return Occurrences { count: 0, first: 0 } };
    let mut count = 1 + all.count();
    if count == 1 && finder.find(&text.as_bytes()[first + 1..]).is_some() {
        count = 2;
    }
    Occurrences { count, first }
}

/// The smallest replacement by whole lines. `None` when nothing changes.
fn splice(original: &str, text: &Unified, range: Range<usize>, new: &str) -> Option<Splice> {
    let new = Unified::of(new).text;
    let old = &text.text[range.clone()];
    if old == new {
        return None;
    }
    let before = shared_lines(old.split_inclusive('\n'), new.split_inclusive('\n'));
    let (old_rest, new_rest) = (&old[before..], &new[before..]);
    let after =
        shared_lines(old_rest.split_inclusive('\n').rev(), new_rest.split_inclusive('\n').rev());
    let start = range.start + before;
    let end = range.end - after;
    let body = &new_rest[..new_rest.len() - after];
    let bytes = text.original(start)..text.original(end);
    let text = with_line_ends(body, original, &bytes);
    Some(Splice { range: bytes, text })
}

/// Bytes of the whole lines that both start with.
fn shared_lines<'a>(a: impl Iterator<Item = &'a str>, b: impl Iterator<Item = &'a str>) -> usize {
    a.zip(b).take_while(|(a, b)| a == b && a.ends_with('\n')).map(|(a, _)| a.len()).sum()
}

/// Gives each LF the end of the line it replaces; further ones the last of these, or the end of the
/// line where the replacement starts, or of the line before.
fn with_line_ends(text: &str, original: &str, range: &Range<usize>) -> String {
    if !text.contains('\n') {
        return text.to_owned();
    }
    let mut replaced = line_ends(&original[range.clone()]);
    let near = || {
        let next = line_ends(&original[range.start..]).next();
        next.unwrap_or_else(|| {
            let before = &original.as_bytes()[..range.start];
            let last = memchr::memrchr(b'\n', before);
            if last.is_some_and(|at| before[..at].ends_with(b"\r")) { "\r\n" } else { "\n" }
        })
    };
    let mut end = None;
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for newline in memchr::memchr_iter(b'\n', text.as_bytes()) {
        out.push_str(&text[at..newline]);
        let current = replaced.next().or(end).unwrap_or_else(near);
        end = Some(current);
        out.push_str(current);
        at = newline + 1;
    }
    out.push_str(&text[at..]);
    out
}

fn line_ends(text: &str) -> impl Iterator<Item = &'static str> {
    memchr::memchr_iter(b'\n', text.as_bytes())
        .map(|at| if text.as_bytes()[..at].ends_with(b"\r") { "\r\n" } else { "\n" })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ORDERS: [[usize; 3]; 6] =
        [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

    fn done(text: &str, edits: &[Edit<'_>]) -> Result<String, String> {
        let splices = find(text, edits, "f")?;
        Ok(String::from_utf8(apply(text.as_bytes(), &splices)).unwrap())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn disjoint_edits_change_nothing_else_in_any_order(
            around in prop::array::uniform4("([a-c ]|\u{201c}|\u{e9}|\u{fb01}|\n|\r\n|\r){0,12}"),
            new in prop::array::uniform3("([x-z]|\u{e9}|\n){0,6}"),
        ) {
            let [a, b, c, d] = &around;
            let text = format!("{a}<1>{b}<2>{c}<3>{d}");
            let marks = ["<1>", "<2>", "<3>"];
            let results = ORDERS.map(|order| {
                let edits = order.map(|at| Edit { old: marks[at], new: &new[at] });
                done(&text, &edits).unwrap()
            });
            prop_assert!(results.iter().all(|result| *result == results[0]));
            // Only the ends of inserted lines may differ from the plain replacement.
            let mut rest = results[0].as_str();
            for (at, part) in around.iter().enumerate() {
                prop_assert!(rest.starts_with(part.as_str()));
                rest = &rest[part.len()..];
                for piece in new.get(at).map_or("", String::as_str).split_inclusive('\n') {
                    let line = piece.trim_end_matches('\n');
                    prop_assert!(rest.starts_with(line));
                    rest = &rest[line.len()..];
                    if piece.ends_with('\n') {
                        let end = if rest.starts_with("\r\n") { 2 } else { 1 };
                        prop_assert_eq!(&rest[end - 1..end], "\n");
                        rest = &rest[end..];
                    }
                }
            }
            prop_assert_eq!(rest, "");
        }

        #[test]
        fn any_edit_of_any_text_keeps_what_is_outside_its_match(
            text in "([ab ]|\u{201d}|\u{3000}|\u{fb01}|e\u{301}|\n|\r\n|\r){0,20}",
            old in "([ab ]|\"|fi|\u{e9}|\n|\r\n){1,4}",
            new in "(\\PC|\n|\r){0,4}",
        ) {
            let edits = [Edit { old: &old, new: &new }];
            if let Ok(splices) = find(&text, &edits, "f") {
                let [splice] = splices.as_slice() else { panic!("{splices:?}") };
                let result = done(&text, &edits).unwrap();
                prop_assert!(result.starts_with(&text[..splice.range.start]));
                prop_assert!(result.ends_with(&text[splice.range.end..]));
            }
        }
    }
}
