//! When the event loop must act without an event.

use crate::conditions::Direction;
use crate::table::Key;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Due {
    /// The relay connects to the server.
    Connect(Key),
    /// Bytes of a connection have arrived, or more can be read.
    Flow(Key, Direction),
    /// The line of a listener takes the next piece.
    Line(Key, Direction),
    /// A name server has not answered a listener.
    Answer(Key),
    /// A connection learns that nobody is at the address of its server's name.
    Unreached(Key),
}

/// Timers by time; equal times in a fixed order.
#[derive(Debug, Default)]
pub struct Timers(BinaryHeap<Reverse<(u64, Due)>>);

impl Timers {
    /// Adds a timer.
    pub fn add(&mut self, at_ns: u64, due: Due) {
        self.0.push(Reverse((at_ns, due)));
    }

    /// When the first timer is due.
    pub fn first_ns(&self) -> Option<u64> {
        self.0.peek().map(|Reverse((at_ns, _))| *at_ns)
    }

    /// Removes the first timer, if it is due.
    pub fn take_due(&mut self, now_ns: u64) -> Option<(u64, Due)> {
        if self.first_ns()? > now_ns {
            return None;
        }
        self.0.pop().map(|Reverse(timer)| timer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_first_comes_first() {
        let key = |place| Key { place, life: 0 };
        let mut timers = Timers::default();
        timers.add(30, Due::Connect(key(1)));
        timers.add(10, Due::Flow(key(2), Direction::ToClient));
        timers.add(20, Due::Line(key(3), Direction::ToServer));
        assert_eq!((timers.first_ns(), timers.take_due(9)), (Some(10), None));
        let order: Vec<u64> = std::iter::from_fn(|| timers.take_due(25)).map(|it| it.0).collect();
        assert_eq!((order, timers.first_ns()), (vec![10, 20], Some(30)));
    }
}
