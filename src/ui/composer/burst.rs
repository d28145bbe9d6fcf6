//! Pastes that the terminal does not mark: keys that come faster than anyone types are a paste, and
//! a line end inside one must not send half a text.
//!
//! The first Enter of a burst waits one gap: if more text follows at once it was a line end, if
//! nothing does it was the person (or a program typing for one) sending.

/// Keys closer than this are one burst. Fast typists leave 30 ms, key repeat 25 ms, a burst under 5.
pub const BURST_GAP_MS: i64 = 12;

/// What Enter means right now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnterMeans {
    Send,
    /// Ask again when the gap is over, see [`Burst::due`].
    Wait,
    Newline,
}

/// The keys that came in a row.
#[derive(Debug, Clone, Default)]
pub struct Burst {
    last_ms: Option<i64>,
    typed: usize,
    line_ends: usize,
    waiting: Option<i64>,
}

impl Burst {
    fn continues(&self, now: i64) -> bool {
        self.last_ms.is_some_and(|last| now.saturating_sub(last) <= BURST_GAP_MS)
    }

    /// A character was typed. `true` when the Enter that waited was a line end of a paste.
    pub fn typed(&mut self, now: i64) -> bool {
        let continues = self.continues(now);
        let line_end = self.waiting.take().is_some() && continues;
        if continues {
            self.typed += 1;
            self.line_ends += usize::from(line_end);
        } else {
            (self.typed, self.line_ends) = (1, 0);
        }
        self.last_ms = Some(now);
        line_end
    }

    /// So many characters and line ends came with the last one.
    pub fn pasted(&mut self, typed: usize, line_ends: usize) {
        self.typed += typed;
        self.line_ends += line_ends;
    }

    /// The program was busy with the last key until now, so a gap begins only here.
    pub fn busy_until(&mut self, now: i64) {
        if self.last_ms.is_some() {
            self.last_ms = Some(now);
        }
        if let Some(waiting) = &mut self.waiting {
            *waiting = now;
        }
    }

    /// Enter was pressed.
    pub fn enter(&mut self, now: i64) -> EnterMeans {
        let continues = self.continues(now);
        self.last_ms = Some(now);
        if !continues || self.typed < 2 {
            self.typed = 0;
            return EnterMeans::Send;
        }
        if self.line_ends > 0 || self.waiting.is_some() {
            self.line_ends += 1;
            return EnterMeans::Newline;
        }
        self.waiting = Some(now);
        EnterMeans::Wait
    }

    /// When the waiting Enter is to be decided, Unix milliseconds.
    pub fn due(&self) -> Option<i64> {
        self.waiting.map(|since| since + BURST_GAP_MS + 1)
    }

    /// Takes the waiting Enter if its time has come, or if another key settles it (`now` = `None`).
    pub fn settle(&mut self, now: Option<i64>) -> bool {
        let over = match (self.due(), now) {
            (Some(due), Some(now)) => now >= due,
            (Some(_), None) => true,
            (None, _) => false,
        };
        if over {
            *self = Self::default();
        }
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_end_inside_a_burst_is_no_send_and_one_after_a_pause_is() {
        let mut burst = Burst::default();
        assert!(!burst.typed(0));
        assert!(!burst.typed(1));
        assert_eq!(burst.enter(2), EnterMeans::Wait);
        assert!(burst.typed(3));
        assert_eq!(burst.enter(4), EnterMeans::Newline);
        assert_eq!(burst.enter(304), EnterMeans::Send);
    }

    #[test]
    fn a_burst_that_ends_with_its_only_enter_is_sent_when_the_gap_is_over() {
        let mut burst = Burst::default();
        burst.typed(0);
        burst.typed(0);
        assert_eq!(burst.enter(0), EnterMeans::Wait);
        assert!(!burst.settle(Some(BURST_GAP_MS)));
        assert!(burst.settle(Some(BURST_GAP_MS + 1)));
        assert!(!burst.settle(Some(BURST_GAP_MS + 2)));
    }
}
