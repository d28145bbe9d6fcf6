//! The comparison of texts behind `edit` and `write`.

use harness_tui::text::diff::{Replaced, around, whole};
use proptest::prelude::*;

/// What a patch program makes of `old`.
fn patched(old: &str, patch: &str) -> String {
    let mut left = old.split_inclusive('\n');
    let (mut out, mut line) = (String::new(), 0);
    let body = patch.replace("\n\\ No newline at end of file\n", "\u{0}");
    for row in body.split_inclusive(['\n', '\u{0}']).skip(2) {
        let text = row[1..].trim_end_matches('\u{0}');
        if let Some(place) = row.strip_prefix("@@ -") {
            let (start, rest) = place.split_once(',').unwrap();
            let is_after = rest.starts_with("0 ");
            while line + usize::from(!is_after) < start.parse().unwrap() {
                out.push_str(left.next().unwrap());
                line += 1;
            }
        } else if row.starts_with('+') {
            out.push_str(text);
        } else {
            assert_eq!(left.next(), Some(text));
            out.push_str(if row.starts_with(' ') { text } else { "" });
            line += 1;
        }
    }
    out.extend(left);
    out
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_patch_leads_from_the_old_to_the_new_text(
        pieces in prop::collection::vec(("(a|b|\n){0,90}", "(a|b|\n){0,3}", "(a|b|\n){0,3}"), 0..4),
        end in "(a|b|\n){0,90}",
    ) {
        let (mut old, mut new, mut replaced) = (String::new(), String::new(), Vec::new());
        for (same, before, after) in &pieces {
            old.push_str(same);
            new.push_str(same);
            let starts = (old.len(), new.len());
            old.push_str(before);
            new.push_str(after);
            replaced.push(Replaced { old: starts.0..old.len(), new: starts.1..new.len() });
        }
        old.push_str(&end);
        new.push_str(&end);
        for found in [around(&old, &new, &replaced, "f"), whole(&old, &new, "f")] {
            prop_assert_eq!(patched(&old, &found.patch), new.clone());
        }
    }
}
