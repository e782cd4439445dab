//! The wait for another session's lock, which SQLite leaves to the caller.
//!
//! SQLite grants a free lock to the first session that tries, and a busy writer frees it for only
//! some tens of microseconds between two transactions. A session that tries seldom (SQLite's own
//! handler: every 100 ms in the end) starves, and the latency tail then shows the handler and not
//! SQLite. So pauses stay short; they grow only with the number of waiting sessions, which limits
//! all of them together to some 10,000 attempts per second.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Pauses begin short, since most locks are held for microseconds, and double.
const PAUSE_FIRST: Duration = Duration::from_micros(50);
/// Longest pause per waiting session.
const PAUSE_A_WAITER: Duration = Duration::from_micros(100);

/// Number of sessions of a group that wait for a lock.
#[derive(Debug, Default)]
pub struct Waiters(AtomicU32);

/// A bounded wait of one session.
pub struct Wait {
    until: Instant,
    pause: Duration,
    waiters: Arc<Waiters>,
    is_counted: bool,
}

impl Wait {
    /// A wait that has not begun; `until`: when to give up.
    pub fn new(until: Instant, waiters: Arc<Waiters>) -> Self {
        Self { until, pause: PAUSE_FIRST, waiters, is_counted: false }
    }

    /// Sleeps once; false when the time is up.
    pub fn again(&mut self) -> bool {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        if !self.is_counted {
            self.is_counted = true;
            self.waiters.0.fetch_add(1, Ordering::Relaxed);
        }
        std::thread::sleep(self.pause.min(left));
        self.pause = next_pause(self.pause, self.waiters.0.load(Ordering::Relaxed));
        true
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        if self.is_counted {
            self.waiters.0.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

fn next_pause(pause: Duration, waiters: u32) -> Duration {
    (pause * 2).min(PAUSE_A_WAITER * waiters.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_waiters_together_ask_no_more_often_than_one() {
        for waiters in [1, 4, 64, 1000] {
            let last = (0..20).fold(PAUSE_FIRST, |pause, _| next_pause(pause, waiters));
            assert_eq!(last, PAUSE_A_WAITER * waiters);
        }
        // When others get their lock, the rest tries more often again.
        assert_eq!(next_pause(PAUSE_A_WAITER * 64, 2), PAUSE_A_WAITER * 2);
    }

    #[test]
    fn who_waits_is_counted_until_it_ends() {
        let waiters = Arc::new(Waiters::default());
        let count = || waiters.0.load(Ordering::Relaxed);
        let mut over = Wait::new(Instant::now(), Arc::clone(&waiters));
        assert!(!over.again());
        assert_eq!(count(), 0);
        let mut wait = Wait::new(Instant::now() + Duration::from_secs(3600), Arc::clone(&waiters));
        assert_eq!(count(), 0, "nobody waits before the first refusal");
        assert!(wait.again() && wait.again());
        assert_eq!(count(), 1);
        drop(wait);
        assert_eq!(count(), 0);
    }
}
