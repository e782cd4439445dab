//! Delayed answers in a heap by due time, so that delays are independent of each other.

use super::record::Batch;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::fd::RawFd;

/// A delayed answer. Answers are ordered by due time, then by age.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Answer {
    /// When the answer must be sent, on the monotonic clock.
    pub due_ns: u64,
    /// Sequence number of the answer.
    number: u64,
    /// The client's file descriptor.
    pub socket: RawFd,
    /// The connection's serial number, since descriptors are reused.
    pub serial: u64,
    /// The bytes of the answer.
    pub bytes: Box<[u8]>,
    /// The requests that it answers.
    pub batch: Batch,
}

/// All delayed answers. A client that waits for each answer has at most one. The number is bounded, since
/// the server does not read from a client faster than the client reads.
#[derive(Debug, Default)]
pub struct Held {
    heap: BinaryHeap<Reverse<Answer>>,
    number: u64,
}

impl Held {
    /// Adds an answer. Returns whether it is now the first one due.
    pub fn add(
        &mut self,
        due_ns: u64,
        (socket, serial): (RawFd, u64),
        bytes: Box<[u8]>,
        batch: Batch,
    ) -> bool {
        self.number += 1;
        let number = self.number;
        self.heap.push(Reverse(Answer { due_ns, number, socket, serial, bytes, batch }));
        self.heap.peek().is_some_and(|Reverse(first)| first.number == number)
    }

    /// Due time of the first answer.
    pub fn first_ns(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse(first)| first.due_ns)
    }

    /// Removes and returns the first answer, if it is due.
    pub fn take_due(&mut self, now_ns: u64) -> Option<Answer> {
        if self.first_ns()? > now_ns {
            return None;
        }
        self.heap.pop().map(|Reverse(first)| first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_due_leaves_first_and_equal_ones_in_their_order() {
        let mut held = Held::default();
        let mut add = |due_ns, serial| {
            held.add(due_ns, (3, serial), Box::default(), Batch { received_ns: 0, requests: 1 })
        };
        assert_eq!([add(50, 1), add(20, 2), add(50, 3), add(20, 4)], [true, true, false, false]);
        assert_eq!(held.first_ns(), Some(20));
        assert!(held.take_due(19).is_none());
        let order: Vec<u64> =
            std::iter::from_fn(|| held.take_due(50)).map(|answer| answer.serial).collect();
        assert_eq!(order, [2, 4, 1, 3]);
    }
}
