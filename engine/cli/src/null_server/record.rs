//! How long each request was here: from the return of the receive that completed it to the return of
//! the send that took the last byte of its answer. So a client's latencies, less what the wire and
//! the two kernels cost, are what stands here: the proof that the engine's are true.
//!
//! Two reads of the clock and a count a request; nothing at all where no record was asked for.

use dyno_core::clock::{Clock, MonotonicClock};
use dyno_core::histogram::Histogram;
use dyno_generator::machine;
use dyno_generator::metrics::hlog::Hlog;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

/// The tag of the one histogram in the file.
pub const TAG: &str = "receive-to-send";

/// Requests answered by one send.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Batch {
    /// When the last byte of them had been received.
    pub received_ns: u64,
    /// How many; logins do not count, nor commands that have no answer.
    pub requests: u32,
}

/// The record of a server's life.
#[derive(Debug)]
pub struct Record {
    histogram: Histogram,
    log: Hlog<BufWriter<File>>,
    begun_ns: u64,
}

impl Record {
    /// An empty one. The file is made at once, so that a path that cannot be written is an error
    /// before there are clients.
    pub fn create(path: &Path) -> io::Result<Self> {
        let log = Hlog::create(path, machine::unix_s())
            .map_err(|why| io::Error::new(why.kind(), format!("{}: {why}", path.display())))?;
        Ok(Self { histogram: Histogram::default(), log, begun_ns: MonotonicClock.now_ns() })
    }

    /// An answer has left.
    #[inline]
    pub fn sent(&mut self, batch: Batch) {
        let here_ns = MonotonicClock.now_ns().saturating_sub(batch.received_ns);
        for _ in 0..batch.requests {
            self.histogram.record(here_ns);
        }
    }

    /// How long requests were here so far.
    #[cfg(test)]
    pub fn histogram(&self) -> &Histogram {
        &self.histogram
    }

    /// Writes it down.
    pub fn write(mut self) -> io::Result<()> {
        let length_s = MonotonicClock.now_ns().saturating_sub(self.begun_ns) as f64 / 1e9;
        self.log.line(TAG, 0.0, length_s, &self.histogram)?;
        self.log.flush()
    }
}
