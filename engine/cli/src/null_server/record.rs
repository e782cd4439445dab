//! Records the time of each request in the server: from the return of the `recv` that completed it to the
//! return of the `send` of the last byte of its answer. A client's latencies must exceed these times only by
//! the cost of the wire and the two kernels, which validates the engine's latencies.
//!
//! The cost is two clock reads per batch and one histogram entry per request, and none without `--record`.

use dyno_core::clock::{Clock, MonotonicClock};
use dyno_core::histogram::Histogram;
use dyno_generator::machine;
use dyno_generator::metrics::hlog::Hlog;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

/// Tag of the only histogram in the file.
pub const TAG: &str = "receive-to-send";

/// Requests answered by one send.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Batch {
    /// When the last byte of the requests was received, on the monotonic clock.
    pub received_ns: u64,
    /// Number of requests, without logins and commands that have no answer.
    pub requests: u32,
}

/// The record of one server process.
#[derive(Debug)]
pub struct Record {
    histogram: Histogram,
    log: Hlog<BufWriter<File>>,
    begun_ns: u64,
}

impl Record {
    /// Creates an empty record. The file is created at once, so that an unwritable path fails before
    /// clients connect.
    pub fn create(path: &Path) -> io::Result<Self> {
        let log = Hlog::create(path, machine::unix_s())
            .map_err(|why| io::Error::new(why.kind(), format!("{}: {why}", path.display())))?;
        Ok(Self { histogram: Histogram::default(), log, begun_ns: MonotonicClock.now_ns() })
    }

    /// Records the time of requests whose answer has just been sent.
    #[inline]
    pub fn sent(&mut self, batch: Batch) {
        let here_ns = MonotonicClock.now_ns().saturating_sub(batch.received_ns);
        for _ in 0..batch.requests {
            self.histogram.record(here_ns);
        }
    }

    /// The times recorded so far, ns.
    #[cfg(test)]
    pub fn histogram(&self) -> &Histogram {
        &self.histogram
    }

    /// Writes the histogram to the file.
    pub fn write(mut self) -> io::Result<()> {
        let length_s = MonotonicClock.now_ns().saturating_sub(self.begun_ns) as f64 / 1e9;
        self.log.line(TAG, 0.0, length_s, &self.histogram)?;
        self.log.flush()
    }
}
