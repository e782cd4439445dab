//! Which connections are wanted, and how many are under way.

use std::collections::VecDeque;

/// Connections that are wanted, and how many are under way.
#[derive(Debug)]
pub struct ConnectQueue {
    waiting: VecDeque<u32>,
    under_way: usize,
    under_way_max: usize,
    has_sockets: bool,
}

impl ConnectQueue {
    /// None is wanted; at most `under_way_max` are made at the same time.
    pub fn new(under_way_max: usize) -> Self {
        let waiting = VecDeque::new();
        Self { waiting, under_way: 0, under_way_max: under_way_max.max(1), has_sockets: false }
    }

    /// One more is wanted.
    pub fn push(&mut self, wanted: u32) {
        self.waiting.push_back(wanted);
    }

    /// Whether the worker has had any socket at all.
    pub fn has_sockets(&self) -> bool {
        self.has_sockets
    }

    /// The next one that may be made now.
    pub fn pop(&mut self) -> Option<u32> {
        if self.under_way >= self.under_way_max {
            return None;
        }
        let wanted = self.waiting.pop_front()?;
        self.under_way += 1;
        Some(wanted)
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
