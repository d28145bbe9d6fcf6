//! How long ago something was, short enough for a column of a list.

/// How long ago, in at most four characters: now, 5m, 3h, 2d, 1w, 4mo, 1y.
pub fn age(now: i64, then: i64) -> String {
    const MINUTE: i64 = 60_000;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    let passed = now.saturating_sub(then);
    match passed {
        ..MINUTE => "now".to_owned(),
        MINUTE..HOUR => format!("{}m", passed / MINUTE),
        HOUR..DAY => format!("{}h", passed / HOUR),
        _ => match passed / DAY {
            days @ ..7 => format!("{days}d"),
            days @ 7..30 => format!("{}w", days / 7),
            days @ 30..365 => format!("{}mo", days / 30),
            days => format!("{}y", (days / 365).min(999)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_takes_at_most_four_characters_and_the_future_is_now() {
        const MINUTE: i64 = 60_000;
        const DAY: i64 = 24 * 60 * MINUTE;
        let cases = [
            (-DAY, "now"),
            (MINUTE - 1, "now"),
            (5 * MINUTE, "5m"),
            (3 * 60 * MINUTE, "3h"),
            (DAY, "1d"),
            (2 * DAY, "2d"),
            (7 * DAY, "1w"),
            (29 * DAY, "4w"),
            (125 * DAY, "4mo"),
            (364 * DAY, "12mo"),
            (365 * DAY, "1y"),
            (i64::MAX, "999y"),
        ];
        for (passed, expected) in cases {
            assert_eq!(age(0, 0_i64.saturating_sub(passed)), expected, "{passed}");
        }
    }
}
