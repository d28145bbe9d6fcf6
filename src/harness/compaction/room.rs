//! How much of a window a conversation may fill, and how much of it a compaction leaves.

/// How compaction is set for one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compaction {
    /// Whether it happens by itself.
    pub enabled: bool,
    /// Tokens kept free for the answer.
    pub reserve_tokens: u64,
    /// Recent tokens that stay as they are.
    pub keep_recent_tokens: u64,
    /// Not by itself, but said when it is time.
    pub preview: bool,
}

impl Default for Compaction {
    /// The defaults of the config.
    fn default() -> Self {
        Self { enabled: true, reserve_tokens: 16_384, keep_recent_tokens: 20_000, preview: false }
    }
}

/// The share of a window that the usual reserve may take: the usual numbers are made for large
/// windows, and a small one would have no room left.
const RESERVE_SHARE: u64 = 4;
/// The share of the limit that may stay: else a compaction would begin right where the last ended.
const KEEP_SHARE: u64 = 2;

/// The numbers for one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::harness) struct Room {
    pub(in crate::harness) reserve: u64,
    pub(in crate::harness) keep: u64,
    /// Above this many tokens it is time; `None` when nobody knows the window.
    pub(in crate::harness) limit: Option<u64>,
}

impl Compaction {
    /// The numbers for a window of so many tokens; 0 when nobody knows.
    pub(in crate::harness) fn room(&self, window: u64) -> Room {
        if window == 0 {
            let (reserve, keep) = (self.reserve_tokens, self.keep_recent_tokens);
            return Room { reserve, keep, limit: None };
        }
        let usual = Self::default().reserve_tokens;
        let reserve = if self.reserve_tokens > usual {
            // Asked for on purpose: it holds, as long as something is left.
            self.reserve_tokens.min(window - window / 10)
        } else {
            self.reserve_tokens.min(window / RESERVE_SHARE)
        };
        let limit = window.saturating_sub(reserve);
        Room { reserve, keep: self.keep_recent_tokens.min(limit / KEEP_SHARE), limit: Some(limit) }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_large_window_takes_the_numbers_as_they_are() {
        let room = Compaction { reserve_tokens: 10_000, ..Compaction::default() }.room(100_000);
        assert_eq!(room, Room { reserve: 10_000, keep: 20_000, limit: Some(90_000) });
    }

    #[test]
    fn a_small_window_keeps_room_for_a_conversation() {
        let room = Compaction::default().room(8_000);
        assert_eq!(room, Room { reserve: 2_000, keep: 3_000, limit: Some(6_000) });
    }

    #[test]
    fn a_reserve_larger_than_usual_was_meant_so() {
        let wish = Compaction { reserve_tokens: 120_000, ..Compaction::default() };
        let room = wish.room(128_000);
        assert_eq!(room, Room { reserve: 115_200, keep: 6_400, limit: Some(12_800) });
        assert_eq!(wish.room(0).limit, None, "an unknown window has no limit");
    }
}
