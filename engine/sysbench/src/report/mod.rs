//! Reports: the counts as texts that wrappers of sysbench parse.
//!
//! A [`Watch`](watch::Watch) observes a run and prints. Its [`Reporter`] reads the tallies and
//! subtracts its previous reading; a [`Stat`] is such a difference with its times. Texts are pure
//! functions of a [`Form`] and a `Stat`. Labels and layout are those that sysbench's program prints
//! and its test suite compares.

pub mod histogram;
pub mod hooks;
pub mod json;
pub mod percentiles;
pub mod record;
pub mod text;
pub mod watch;

use crate::drive::progress::Progress;
use crate::tally::{Reading, Share, Spread, Tallies};
use percentiles::Percentiles;
use std::sync::Arc;

/// The version of sysbench whose final report is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compat {
    /// sysbench 1.0: "General statistics".
    V1_0,
    /// sysbench 1.1, its development head: "Throughput".
    V1_1,
}

/// The kind of test, as far as reports differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A script. After one of its sessions has requested a database driver, reports show statements.
    Script,
    /// The native test `cpu`.
    Cpu,
    /// The native test `memory`.
    Memory {
        /// Bytes that an event reads or writes.
        block_bytes: u64,
        /// Whether events transfer data (`--memory-oper` is not `none`).
        transfers: bool,
    },
    /// The native test `fileio`; its tally's `reads`, `writes` and `others` are reads, writes and
    /// fsyncs.
    Fileio,
    /// The native test `threads`.
    Threads,
    /// The native test `mutex`.
    Mutex,
}

/// The format of a run's reports.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// The version of the final report.
    pub compat: Compat,
    /// The kind of test.
    pub kind: Kind,
    /// The percentiles that are printed.
    pub percentiles: Percentiles,
    /// Whether the final report draws the histogram (`--histogram`).
    pub histogram: bool,
    /// Whether events are due at a rate: latencies then count from the due time, and interval lines
    /// show the queue.
    pub rated: bool,
}

/// The state of the drive at the time of a report, in addition to the tallies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gauges {
    /// Sessions that have not ended.
    pub threads_running: u64,
    /// With a rate: events that are due and not begun.
    pub queue_length: u64,
    /// With a rate: events begun and not ended.
    pub concurrency: u64,
}

impl From<&Progress> for Gauges {
    fn from(at: &Progress) -> Self {
        Self {
            threads_running: u64::from(at.running),
            queue_length: at.backlog,
            concurrency: at.concurrency,
        }
    }
}

/// The data of one report.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stat {
    /// Time since the first event might begin, warm-up excluded, seconds.
    pub time_total_s: f64,
    /// Length of the interval of `counts`, seconds.
    pub time_interval_s: f64,
    /// The state at the end of the interval.
    pub gauges: Gauges,
    /// The counts of the interval.
    pub counts: Reading,
    /// Whether events were due at a rate.
    pub rated: bool,
}

impl Stat {
    /// The latencies that reports print: with a rate, from the time when an event was due.
    pub fn latency(&self) -> &Spread {
        if self.rated { &self.counts.response } else { &self.counts.latency }
    }

    /// Returns `count` per second of the interval; 0 if the interval is empty.
    pub fn per_s(&self, count: u64) -> f64 {
        if self.time_interval_s > 0.0 { count as f64 / self.time_interval_s } else { 0.0 }
    }
}

/// Reads the tallies for successive reports. Resets nothing in the tallies.
#[derive(Debug)]
pub struct Reporter {
    tallies: Arc<Tallies>,
    rated: bool,
    /// When the measured part began, on the run's clock.
    begin_ns: u64,
    interval_ns: u64,
    interval: Reading,
    checkpoint_ns: u64,
    checkpoint: Reading,
}

impl Reporter {
    /// Reports on all that `tallies` count, in a time that begins at `begin_ns` of the run's clock. A
    /// warm-up counts in other tallies, and the work of sessions before and after their events belongs
    /// to the whole: so the result does not depend on the time of this call.
    pub fn new(tallies: Arc<Tallies>, rated: bool, begin_ns: u64) -> Self {
        let sessions = vec![Share::default(); tallies.sessions.len()].into();
        let nothing = Reading { sessions, ..Reading::default() };
        Self {
            tallies,
            rated,
            begin_ns,
            interval_ns: begin_ns,
            interval: nothing.clone(),
            checkpoint_ns: begin_ns,
            checkpoint: nothing,
        }
    }

    /// The counts since the last interval.
    pub fn interval(&mut self, now_ns: u64, gauges: Gauges) -> Stat {
        let reading = self.tallies.read();
        let stat = self.stat(now_ns, self.interval_ns, reading.since(&self.interval), gauges);
        (self.interval_ns, self.interval) = (now_ns, reading);
        stat
    }

    /// The counts since the last checkpoint, or the begin; the final report uses this too.
    pub fn checkpoint(&mut self, now_ns: u64, gauges: Gauges) -> Stat {
        let reading = self.tallies.read();
        let stat = self.stat(now_ns, self.checkpoint_ns, reading.since(&self.checkpoint), gauges);
        (self.checkpoint_ns, self.checkpoint) = (now_ns, reading);
        stat
    }

    /// The counts since the begin.
    pub fn whole(&self, now_ns: u64, gauges: Gauges) -> Stat {
        self.stat(now_ns, self.begin_ns, self.tallies.read(), gauges)
    }

    fn stat(&self, now_ns: u64, from_ns: u64, counts: Reading, gauges: Gauges) -> Stat {
        let seconds = |from_ns: u64| now_ns.saturating_sub(from_ns) as f64 / 1e9;
        Stat {
            time_total_s: seconds(self.begin_ns),
            time_interval_s: seconds(from_ns),
            gauges,
            counts,
            rated: self.rated,
        }
    }
}

#[cfg(test)]
mod tests;
