//! What sessions count while they run. Each tally has one writer at a time, the thread that drives
//! its session; the reporter, and the watchdog at the deadline, read it at any time
//! (docs/decisions/single-writer-recorders.md).

use dyno_load::recorder::{Counter, LiveHistogram};

/// What one statement was, as the report counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// It returned rows.
    Read,
    /// It changed rows.
    Write,
    /// Neither.
    Other,
}

/// One session's numbers since it began; those of the warm-up are subtracted by who reads.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Tally {
    /// Statements that returned rows.
    pub reads: Counter,
    /// Statements that changed rows.
    pub writes: Counter,
    /// All other statements.
    pub others: Counter,
    /// Errors that were ignored, so that the event began again.
    pub errors: Counter,
    /// Connections made anew.
    pub reconnects: Counter,
    /// Bytes read from files or memory by a native test.
    pub bytes_read: Counter,
    /// Bytes written by a native test.
    pub bytes_written: Counter,
    /// Events done: written last, so who reads it sees what belongs to them.
    pub events: Counter,
    /// Time within events, nanoseconds.
    pub busy_ns: Counter,
}

impl Tally {
    /// Counts a statement.
    #[inline]
    pub fn statement(&self, sort: Sort) {
        match sort {
            Sort::Read => self.reads.add(1),
            Sort::Write => self.writes.add(1),
            Sort::Other => self.others.add(1),
        }
    }
}

/// The latencies of all sessions that one thread drives; one writer.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Latencies {
    /// From an event's begin to its end.
    pub events: LiveHistogram,
    /// With a rate: from when an event was due to its end.
    pub responses: LiveHistogram,
}

/// Everything that a run counts: a tally a session, latencies a load thread.
#[derive(Debug)]
pub struct Tallies {
    /// By session.
    pub sessions: Box<[Tally]>,
    /// By load thread.
    pub threads: Box<[Latencies]>,
}

impl Tallies {
    /// For this many sessions and load threads.
    pub fn new(sessions: usize, threads: usize) -> Self {
        Self {
            sessions: (0..sessions).map(|_| Tally::default()).collect(),
            threads: (0..threads).map(|_| Latencies::default()).collect(),
        }
    }
}
