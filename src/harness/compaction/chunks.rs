//! Cutting a conversation into pieces of which each fits a request.
//!
//! Bounded in both directions: no piece is larger than its budget, and there are never more than
//! [`MAX_CHUNKS`], because each costs a request.

/// Most requests one summary may take. A window of 8,000 tokens folds about 60,000 with it.
pub(super) const MAX_CHUNKS: usize = 24;
/// Characters a block may have, tried in order until few enough pieces are left.
const BLOCK_LIMITS: [usize; 4] = [usize::MAX, 8_000, 2_000, 500];
/// What a cut leaves at the end of a block, of what it keeps.
const TAIL_SHARE: usize = 4;

/// What a text may cost in tokens at worst. The usual four characters a token hold for English prose
/// only, and a request that is too large is refused as a whole.
pub(super) fn worst_tokens(text: &str) -> u64 {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let others = text.chars().count().saturating_sub(ascii);
    (ascii.div_ceil(3) + others) as u64
}

/// Joins blocks to pieces of at most `budget` tokens. A block that is larger than that is cut, with
/// a note; when there are too many pieces, blocks are cut shorter, and in the end the middle is left
/// out, with a note too.
pub(super) fn chunks(blocks: &[String], budget: u64) -> Vec<String> {
    let budget = budget.max(1);
    let mut pieces = Vec::new();
    for limit in BLOCK_LIMITS {
        pieces = join(blocks, limit, budget);
        if pieces.len() <= MAX_CHUNKS {
            return pieces;
        }
    }
    let extra = pieces.len() - MAX_CHUNKS;
    pieces.drain(1..=extra);
    if let Some(second) = pieces.get_mut(1) {
        second.insert_str(0, "[... a long stretch of the conversation is left out here]\n\n");
    }
    pieces
}

fn join(blocks: &[String], limit: usize, budget: u64) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut used = 0;
    for block in blocks {
        let block = shorten(block, limit, budget);
        let cost = worst_tokens(&block) + 1;
        match pieces.last_mut().filter(|_| used + cost <= budget) {
            Some(last) => {
                last.push_str("\n\n");
                last.push_str(&block);
                used += cost;
            }
            None => {
                pieces.push(block);
                used = cost;
            }
        }
    }
    pieces
}

/// At most `limit` characters and about `budget` tokens of a block: its beginning and its end.
pub(super) fn shorten(block: &str, limit: usize, budget: u64) -> String {
    let cost = worst_tokens(block);
    let count = block.chars().count();
    let mut keep = count.min(limit);
    if cost > budget {
        // Characters cost unequally: what is kept is taken for as dense as the densest.
        let dense = if block.is_ascii() { 3 } else { 1 };
        let room = usize::try_from(budget.saturating_mul(dense)).unwrap_or(usize::MAX);
        keep = keep.min(room);
    }
    if keep >= count {
        return block.to_owned();
    }
    let tail = keep / TAIL_SHARE;
    let head: String = block.chars().take(keep - tail).collect();
    let end: String = block.chars().skip(count - tail).collect();
    format!("{head}\n[... {} characters left out]\n{end}", count - keep)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    fn owned(blocks: &[&str]) -> Vec<String> {
        blocks.iter().map(|block| (*block).to_owned()).collect()
    }

    #[test]
    fn blocks_share_a_piece_as_long_as_they_fit() {
        // Six characters cost two tokens, and one for what joins them.
        assert_eq!(
            chunks(&owned(&["aaaaaa", "bbbbbb", "cccccc"]), 6),
            ["aaaaaa\n\nbbbbbb", "cccccc"]
        );
    }

    #[test]
    fn a_block_larger_than_a_request_is_cut_with_a_note() {
        let text = format!("{}{}", "a".repeat(90), "z".repeat(10));
        let want = format!("{}\n[... 60 characters left out]\nzzzzzzzzzz", "a".repeat(30));
        assert_eq!(shorten(&text, 40, 1000), want);
        assert_eq!(chunks(&[text], 20).len(), 1);
    }

    #[test]
    fn however_long_the_conversation_the_number_of_requests_is_bounded() {
        let blocks: Vec<String> = (0..5000).map(|n| format!("{n} {}", "x".repeat(600))).collect();
        let pieces = chunks(&blocks, 200);
        assert_eq!(pieces.len(), MAX_CHUNKS);
        assert!(pieces[0].starts_with("0 ") && pieces[1].contains("left out here"));
        assert!(pieces[MAX_CHUNKS - 1].contains("4999 "));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]
        #[test]
        fn no_piece_is_much_larger_than_its_budget(
            blocks in prop::collection::vec("\\PC{0,400}", 0..20), budget in 20_u64..2000
        ) {
            // The notes come on top.
            for piece in chunks(&blocks, budget) {
                prop_assert!(worst_tokens(&piece) <= budget + 60, "{} > {budget}", worst_tokens(&piece));
            }
        }
    }
}
