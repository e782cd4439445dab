//! The moments a worker waits for. Few of them are ever due in the steady state: a closed-loop
//! session has one entry (its deadline), moved lazily when it comes up, not at each transaction.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Why a slot is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The session asked to be woken.
    Wake,
    /// A timed answer is due.
    Answer,
    /// Its transaction may be too old.
    Deadline,
    /// Time to connect (again).
    Connect,
    /// Connecting takes too long.
    ConnectTimeout,
}

/// An entry: of a slot, in one of the slot's eras (a connection's life; older entries are void).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timer {
    /// When.
    pub at_ns: u64,
    /// Whose.
    pub slot: u32,
    /// Of which connection.
    pub era: u32,
    /// Why.
    pub cause: Cause,
}

/// Timers by time; equal times by slot, so that simulations repeat exactly.
#[derive(Debug, Default)]
pub struct Timers(BinaryHeap<Reverse<Timer>>);

impl Timers {
    /// Adds one.
    pub fn add(&mut self, timer: Timer) {
        self.0.push(Reverse(timer));
    }

    /// When the first one is due.
    #[inline]
    pub fn first_ns(&self) -> Option<u64> {
        self.0.peek().map(|Reverse(timer)| timer.at_ns)
    }

    /// Takes the first one, if it is due.
    #[inline]
    pub fn take_due(&mut self, now_ns: u64) -> Option<Timer> {
        if self.first_ns()? > now_ns {
            return None;
        }
        self.0.pop().map(|Reverse(timer)| timer)
    }
}
