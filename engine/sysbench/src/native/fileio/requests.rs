//! The order of requests. Sequential position, read/write mix and syncs are common to all threads, as
//! in sysbench; random positions are per thread.

use super::plan::{Durability, Mode, Plan};
use dyno_core::random::rng::Rng;
use dyno_drivers::files::Place;
use std::sync::{Mutex, PoisonError};

/// An operation on one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Request {
    Read(Place),
    Write(Place),
    /// Make the file durable.
    Sync {
        file: usize,
    },
}

/// The source of requests, for all threads.
pub(super) struct Requests {
    mode: Mode,
    files: u64,
    file_bytes: u64,
    block_bytes: u64,
    /// The size of a sequential request.
    step_bytes: u64,
    blocks: u64,
    sync_every: u64,
    reads_a_write: f64,
    turn: Mutex<Turn>,
}

#[derive(Debug, Default)]
struct Turn {
    /// The position of the next sequential request.
    file: u64,
    offset: u64,
    reads: u64,
    writes: u64,
    /// Requests since the last synchronisation of files.
    unsynced: u64,
    /// The next file to synchronise, during a synchronisation.
    syncing: Option<u64>,
}

impl Requests {
    pub fn new(plan: &Plan) -> Self {
        let Durability { every, .. } = plan.durability;
        Self {
            mode: plan.mode,
            files: plan.files,
            file_bytes: plan.file_bytes,
            block_bytes: plan.block_bytes,
            step_bytes: plan.request_bytes_max(),
            blocks: plan.blocks(),
            sync_every: if plan.mode.writes() { every } else { 0 },
            reads_a_write: plan.reads_a_write,
            turn: Mutex::default(),
        }
    }

    /// Returns the next request of the thread that draws from `rng`.
    pub fn next(&self, rng: &mut Rng) -> Request {
        if self.mode == Mode::RandomRead {
            return Request::Read(self.anywhere(rng));
        }
        // No panic can happen while the lock is held.
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = self.to_sync(&mut turn) {
            return Request::Sync { file };
        }
        turn.unsynced += 1;
        match self.mode {
            Mode::SeqRead => Request::Read(self.in_order(&mut turn)),
            Mode::SeqWrite | Mode::SeqRewrite => Request::Write(self.in_order(&mut turn)),
            Mode::RandomMix if self.is_read(&mut turn) => Request::Read(self.anywhere(rng)),
            Mode::RandomRead | Mode::RandomWrite | Mode::RandomMix => {
                Request::Write(self.anywhere(rng))
            }
        }
    }

    /// After this many requests, synchronises all files in turn.
    fn to_sync(&self, turn: &mut Turn) -> Option<usize> {
        if turn.syncing.is_none() && self.sync_every > 0 && turn.unsynced >= self.sync_every {
            turn.syncing = Some(0);
        }
        let file = turn.syncing?;
        turn.syncing = Some(file + 1).filter(|&next| next < self.files);
        turn.unsynced = 0;
        Some(file as usize)
    }

    /// Reads come first; the ratio holds at any time.
    fn is_read(&self, turn: &mut Turn) -> bool {
        let is_read = (turn.reads as f64) < (turn.writes + 1) as f64 * self.reads_a_write;
        if is_read {
            turn.reads += 1;
        } else {
            turn.writes += 1;
        }
        is_read
    }

    /// From the begin of the first file to the end of the last, repeatedly.
    fn in_order(&self, turn: &mut Turn) -> Place {
        let (file, offset) = (turn.file, turn.offset);
        let bytes = self.step_bytes.min(self.file_bytes - offset);
        turn.offset += bytes;
        if turn.offset == self.file_bytes {
            (turn.offset, turn.file) = (0, (file + 1) % self.files);
        }
        Place { file: file as usize, offset, bytes }
    }

    /// Draws a block; all blocks of all files are equally likely.
    fn anywhere(&self, rng: &mut Rng) -> Place {
        let file = rng.below(self.files) as usize;
        let offset = rng.below(self.blocks) * self.block_bytes;
        Place { file, offset, bytes: self.block_bytes.min(self.file_bytes - offset) }
    }
}
