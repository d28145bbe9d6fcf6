//! When to ask again: pure arithmetic, so that the driver owns the waiting and tests own the dice.

use std::time::Duration;

use crate::providers::{ErrorKind, ProviderError};

/// How failures that may pass are tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    pub enabled: bool,
    /// Retries after the first attempt.
    pub max_retries: u32,
    /// The wait before the first retry; it doubles each time.
    pub base_delay: Duration,
    /// No wait is longer, whatever the server asks for.
    pub max_delay: Duration,
}

impl Default for RetryPolicy {
    /// The defaults of the config: on, 3, 2 s, 60 s.
    fn default() -> Self {
        Self {
            enabled: true,
            max_retries: 3,
            base_delay: Duration::from_secs(2),
            max_delay: Duration::from_secs(60),
        }
    }
}

/// The part of a wait that jitter may take away, so that many clients do not come back at once.
const JITTER: f64 = 0.25;

impl RetryPolicy {
    /// Whether retry number `attempt` (from 1) may be made after this failure. A server that asks for
    /// a longer wait than `max_delay` is not waited for.
    pub fn allows(&self, attempt: u32, error: &ProviderError) -> bool {
        self.enabled
            && attempt <= self.max_retries
            && matches!(error.kind, ErrorKind::RateLimited | ErrorKind::Transient)
            && error.retry_after.is_none_or(|asked| asked <= self.max_delay)
    }

    /// The wait before retry number `attempt` (from 1). What the server asked for counts up to
    /// `max_delay`; without it the wait doubles each time, less up to a quarter by `random01`.
    pub fn delay(&self, attempt: u32, retry_after: Option<Duration>, random01: f64) -> Duration {
        if let Some(asked) = retry_after.filter(|asked| !asked.is_zero()) {
            return asked.min(self.max_delay);
        }
        let doublings = attempt.saturating_sub(1).min(31);
        let full = self.base_delay.saturating_mul(1 << doublings).min(self.max_delay);
        let random = if random01.is_finite() { random01.clamp(0.0, 1.0) } else { 0.0 };
        full.mul_f64(1.0 - JITTER * random)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn secs(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn the_wait_doubles_up_to_the_cap() {
        let policy = RetryPolicy::default();
        let waits: Vec<_> = (1..=7).map(|n| policy.delay(n, None, 0.0).as_secs()).collect();
        assert_eq!(waits, [2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(policy.delay(0, None, 0.0), secs(2));
        assert_eq!(policy.delay(u32::MAX, None, 0.0), secs(60));
    }

    #[test]
    fn jitter_takes_at_most_a_quarter_and_odd_dice_do_no_harm() {
        let policy = RetryPolicy::default();
        assert_eq!(policy.delay(1, None, 1.0), Duration::from_millis(1500));
        assert_eq!(policy.delay(1, None, 99.0), Duration::from_millis(1500));
        assert_eq!(policy.delay(1, None, f64::NAN), secs(2));
        assert_eq!(policy.delay(1, None, -1.0), secs(2));
    }

    #[test]
    fn what_the_server_asks_for_counts_up_to_the_cap() {
        let policy = RetryPolicy::default();
        assert_eq!(policy.delay(3, Some(secs(1)), 0.5), secs(1));
        assert_eq!(policy.delay(1, Some(secs(3600)), 0.5), secs(60));
        assert_eq!(policy.delay(1, Some(Duration::ZERO), 0.0), secs(2));
    }

    #[test]
    fn only_failures_that_may_pass_are_tried_again() {
        let policy = RetryPolicy::default();
        let of =
            |kind| ProviderError { kind, message: String::new(), status: None, retry_after: None };
        assert!(policy.allows(3, &of(ErrorKind::Transient)));
        assert!(policy.allows(1, &of(ErrorKind::RateLimited)));
        assert!(!policy.allows(4, &of(ErrorKind::Transient)));
        for kind in [ErrorKind::Auth, ErrorKind::Overflow, ErrorKind::Permanent] {
            assert!(!policy.allows(1, &of(kind)));
        }
        let off = RetryPolicy { enabled: false, ..policy };
        assert!(!off.allows(1, &of(ErrorKind::Transient)));
    }
}
