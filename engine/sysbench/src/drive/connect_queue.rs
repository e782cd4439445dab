//! Which connections sessions wait for, and how many are being made.

use std::collections::VecDeque;

/// Connections that are wanted, and how many are being made.
#[derive(Debug)]
pub(crate) struct ConnectQueue {
    waiting: VecDeque<(u32, usize)>,
    under_way: usize,
    under_way_max: usize,
    has_sockets: bool,
}

impl ConnectQueue {
    /// Nothing is wanted; at most `under_way_max` are made at the same time.
    pub fn new(under_way_max: usize) -> Self {
        let (waiting, under_way_max) = (VecDeque::new(), under_way_max.max(1));
        Self { waiting, under_way: 0, under_way_max, has_sockets: false }
    }

    /// Whether the thread has had any socket at all.
    pub fn has_sockets(&self) -> bool {
        self.has_sockets
    }

    /// The connection that may be made next: of a session, at a place.
    pub fn pop(&mut self) -> Option<(u32, usize)> {
        if self.under_way >= self.under_way_max {
            return None;
        }
        let wanted = self.waiting.pop_front()?;
        self.under_way += 1;
        Some(wanted)
    }

    /// A session wants its connection `place`.
    pub fn push(&mut self, session: u32, place: usize) {
        self.waiting.push_back((session, place));
    }

    /// A connection is no longer being made: it came up, or it failed.
    pub fn settle(&mut self) {
        self.under_way -= 1;
    }

    /// The thread has a socket.
    pub fn note_socket(&mut self) {
        self.has_sockets = true;
    }
}
