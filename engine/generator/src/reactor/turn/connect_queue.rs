//! Queue of requested connections, with a limit on those in progress.

use std::collections::VecDeque;

/// Queue of requested connections, with a limit on those in progress.
#[derive(Debug)]
pub struct ConnectQueue {
    waiting: VecDeque<u32>,
    under_way: usize,
    under_way_max: usize,
    has_sockets: bool,
}

impl ConnectQueue {
    /// An empty queue; at most `under_way_max` connections are in progress at the same time.
    pub fn new(under_way_max: usize) -> Self {
        let waiting = VecDeque::new();
        Self { waiting, under_way: 0, under_way_max: under_way_max.max(1), has_sockets: false }
    }

    /// Requests a connection.
    pub fn push(&mut self, wanted: u32) {
        self.waiting.push_back(wanted);
    }

    /// Whether the worker has ever had a socket.
    pub fn has_sockets(&self) -> bool {
        self.has_sockets
    }

    /// The next connection to make, if the limit allows one.
    pub fn pop(&mut self) -> Option<u32> {
        if self.under_way >= self.under_way_max {
            return None;
        }
        let wanted = self.waiting.pop_front()?;
        self.under_way += 1;
        Some(wanted)
    }

    /// Counts a connection attempt as ended, whether it succeeded or failed.
    pub fn settle(&mut self) {
        self.under_way -= 1;
    }

    /// Notes that the worker has a socket.
    pub fn note_socket(&mut self) {
        self.has_sockets = true;
    }
}
