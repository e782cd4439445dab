//! Notices: rare events that load threads send to the reporter through a bounded queue.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Capacity of the queue; further notices are counted and dropped, so that senders never wait.
const QUEUE: usize = 4096;

/// A rare event. Times are on the load threads' clock.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// An error code that is new on a thread.
    Error {
        /// Time of the error.
        at_ns: u64,
        /// Number of the group.
        group: usize,
        /// The server's code, or `deadline`, `lost`, `check`.
        code: String,
        /// The server's text.
        message: String,
    },
    /// A session's outage, which has ended at `end_ns` or lasted until the end of the run.
    Outage {
        /// Number of the group.
        group: usize,
        /// Number within the group.
        session: u32,
        /// When the worker noticed it.
        start_ns: u64,
        /// When it ended.
        end_ns: Option<u64>,
        /// Cause of the outage.
        cause: String,
    },
}

/// Sending end of the queue.
#[derive(Debug)]
pub struct Notices {
    sender: SyncSender<Notice>,
    dropped: AtomicU64,
}

impl Notices {
    /// Creates the queue; the second value is its receiving end.
    pub fn new() -> (Self, Receiver<Notice>) {
        let (sender, receiver) = sync_channel(QUEUE);
        (Self { sender, dropped: AtomicU64::new(0) }, receiver)
    }

    /// Sends a notice, or counts it as dropped if the queue is full.
    pub fn emit(&self, notice: Notice) {
        if self.sender.try_send(notice).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Number of notices dropped.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}
