//! When a session begins its next event: as soon as it can, or when the next one is due at a rate;
//! never after the last event or the end of the time.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// What a session that has ended an event does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Begin an event, due at `due_ns` (now, without a rate).
    Go {
        /// On the run's clock.
        due_ns: u64,
    },
    /// Ask again at this time: the next event is not due yet.
    Wait {
        /// On the run's clock.
        until_ns: u64,
    },
    /// There is none.
    Stop,
}

/// Shared by all sessions of a run.
#[derive(Debug)]
pub struct Pace {
    /// Events that may begin; `u64::MAX`: any number.
    events: u64,
    begun: AtomicU64,
    /// On the run's clock; `u64::MAX`: none.
    end_ns: AtomicU64,
}

impl Pace {
    /// At most `events` events (0: any number), at full speed; the time ends when [`ends`](Self::ends)
    /// says so.
    pub fn new(events: u64) -> Self {
        let events = if events == 0 { u64::MAX } else { events };
        Self { events, begun: AtomicU64::new(0), end_ns: AtomicU64::new(u64::MAX) }
    }

    /// The time is over at `end_ns`.
    pub fn ends(&self, end_ns: u64) {
        self.end_ns.store(end_ns, Relaxed);
    }

    /// What a session does at `now_ns`.
    pub fn next(&self, now_ns: u64) -> Next {
        if now_ns >= self.end_ns.load(Relaxed) {
            return Next::Stop;
        }
        if self.events != u64::MAX && self.begun.fetch_add(1, Relaxed) >= self.events {
            return Next::Stop;
        }
        Next::Go { due_ns: now_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_more_events_than_asked_for_nor_any_after_the_end() {
        let pace = Pace::new(2);
        assert_eq!([1, 2].map(|now| pace.next(now)), [1, 2].map(|due_ns| Next::Go { due_ns }));
        assert_eq!(pace.next(3), Next::Stop);
        let pace = Pace::new(0);
        pace.ends(10);
        assert_eq!((pace.next(9), pace.next(10)), (Next::Go { due_ns: 9 }, Next::Stop));
    }
}
