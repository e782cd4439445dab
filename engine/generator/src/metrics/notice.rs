//! What load threads tell the reporter besides numbers: rare things, through a bounded queue.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Notices that may wait for the reporter; more are counted and dropped, never waited for.
const QUEUE: usize = 4096;

/// One rare thing. Times are on the load threads' clock.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// A thread saw an error code for the first time.
    Error {
        /// When.
        at_ns: u64,
        /// Number of the group.
        group: usize,
        /// The server's code, or `deadline`, `lost`.
        code: String,
        /// The server's text.
        message: String,
    },
    /// A session works again (`end_ns`), or did not until the end of the run.
    Outage {
        /// Number of the group.
        group: usize,
        /// Number within the group.
        session: u32,
        /// When it was noticed.
        start_ns: u64,
        /// When it ended.
        end_ns: Option<u64>,
        /// Why.
        cause: String,
    },
}

/// The load threads' end of the queue.
#[derive(Debug)]
pub struct Notices {
    sender: SyncSender<Notice>,
    dropped: AtomicU64,
}

impl Notices {
    /// The queue and the reporter's end of it.
    pub fn new() -> (Self, Receiver<Notice>) {
        let (sender, receiver) = sync_channel(QUEUE);
        (Self { sender, dropped: AtomicU64::new(0) }, receiver)
    }

    /// Tells, or counts that it could not be told.
    pub fn emit(&self, notice: Notice) {
        if self.sender.try_send(notice).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many notices found the queue full.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}
