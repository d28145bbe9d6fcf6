//! The nearest of some known words, for «did you mean».

/// More edits than this and it is another word.
const MAX_EDITS: usize = 2;

/// The known word closest to `word`, when it is close enough to be a slip of the fingers.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (edits(word, candidate), candidate))
        .filter(|(edits, candidate)| *edits <= MAX_EDITS && *edits < candidate.chars().count())
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions and replacements that turn `a` into `b`; quadratic in their lengths.
pub fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_another_word_is_not() {
        let known = ["model", "thinking", "approval"];
        assert_eq!(nearest("modle", known), Some("model"));
        assert_eq!(nearest("aproval", known), Some("approval"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest("", ["ab"]), None);
    }
}
