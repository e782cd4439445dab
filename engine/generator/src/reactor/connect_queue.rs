//! Which sessions wait for a connection, and how many connections are under way.

use std::collections::VecDeque;

/// SessionNumbers that want a connection, and how many are on their way to one.
#[derive(Debug)]
pub struct ConnectQueue {
    waiting: VecDeque<u32>,
    under_way: usize,
    under_way_max: usize,
    has_sockets: bool,
}

impl ConnectQueue {
    /// All of `slots` wait; at most `under_way_max` are connected at the same time.
    pub fn new(under_way_max: usize, slots: u32) -> Self {
        let waiting = (0..slots).collect();
        Self { waiting, under_way: 0, under_way_max: under_way_max.max(1), has_sockets: false }
    }

    /// A slot wants a connection.
    pub fn push(&mut self, slot: u32) {
        self.waiting.push_back(slot);
    }

    /// Whether the worker has had any socket at all.
    pub fn has_sockets(&self) -> bool {
        self.has_sockets
    }

    /// The next slot that may connect now.
    pub fn pop(&mut self) -> Option<u32> {
        if self.under_way >= self.under_way_max {
            return None;
        }
        let slot = self.waiting.pop_front()?;
        self.under_way += 1;
        Some(slot)
    }

    /// A connection is no longer on its way: it came up, or it failed.
    pub fn settle(&mut self) {
        self.under_way -= 1;
    }

    /// The worker has a socket.
    pub fn note_socket(&mut self) {
        self.has_sockets = true;
    }
}
