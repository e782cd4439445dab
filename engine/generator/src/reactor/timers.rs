//! Timers of a worker. Few of them are ever due in the steady state: a closed-loop session has one
//! entry (its deadline), rescheduled lazily when it is due, not at each transaction.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Cause of a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The wake-up time of the session has come.
    Wake,
    /// A timed answer is due.
    Answer,
    /// The transaction may have exceeded its deadline.
    Deadline,
    /// Time to connect (again).
    Connect,
    /// Timeout of connecting.
    ConnectTimeout,
}

/// Timer of a slot in one of its eras (lives of its connection; entries of earlier eras are void).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timer {
    /// When it is due.
    pub at_ns: u64,
    /// Its slot.
    pub slot: u32,
    /// Its connection's era.
    pub era: u32,
    /// Its cause.
    pub cause: Cause,
}

/// Timers by time; equal times by slot, so that simulations are reproducible.
#[derive(Debug, Default)]
pub struct Timers(BinaryHeap<Reverse<Timer>>);

impl Timers {
    /// Adds a timer.
    pub fn add(&mut self, timer: Timer) {
        self.0.push(Reverse(timer));
    }

    /// When the first timer is due.
    #[inline]
    pub fn first_ns(&self) -> Option<u64> {
        self.0.peek().map(|Reverse(timer)| timer.at_ns)
    }

    /// Removes the first timer, if it is due.
    #[inline]
    pub fn take_due(&mut self, now_ns: u64) -> Option<Timer> {
        if self.first_ns()? > now_ns {
            return None;
        }
        self.0.pop().map(|Reverse(timer)| timer)
    }
}
