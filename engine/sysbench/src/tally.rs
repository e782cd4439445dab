//! Counters of running sessions. Each tally has one writer at a time, the thread that drives its
//! session; the reporter, and the watchdog at the deadline, read it at any time
//! (docs/decisions/single-writer-recorders.md).

use dyno_core::histogram::Histogram;
use dyno_generator::metrics::counter::Counter;
use dyno_generator::metrics::group::{CODES_MAX, OTHER};
use dyno_generator::metrics::live_histogram::LiveHistogram;
use dyno_generator::metrics::notice::Notices;
use dyno_generator::metrics::thread::ThreadMetrics;
use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The kind of a statement, as the report counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// The statement returned rows.
    Read,
    /// The statement changed rows.
    Write,
    /// Neither.
    Other,
}

/// One session's counters. A warm-up counts in tallies of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Tally {
    /// Statements that returned rows.
    pub reads: Counter,
    /// Statements that changed rows.
    pub writes: Counter,
    /// All other statements.
    pub others: Counter,
    /// Errors that were ignored, after which the event restarted.
    pub errors: Counter,
    /// Reconnects.
    pub reconnects: Counter,
    /// 1 once the session has requested a database driver.
    pub database: Counter,
    /// Bytes read from files or memory by a native test.
    pub bytes_read: Counter,
    /// Bytes written by a native test.
    pub bytes_written: Counter,
    /// Completed events: written last, so a reader of this counter sees the counts of those events.
    pub events: Counter,
    /// Time spent in events, nanoseconds.
    pub busy_ns: Counter,
}

impl Tally {
    /// The session requests a database driver: from now on reports show statements.
    pub fn uses_database(&self) {
        self.database.raise(1);
    }

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

/// Latencies with one writer: a histogram, and the exact extremes.
#[derive(Debug, Default)]
pub struct LiveSpread {
    histogram: LiveHistogram,
    max_ns: Counter,
    /// `!min`, so that 0 means "none yet" and the counter only increases.
    min_complement: Counter,
}

impl LiveSpread {
    /// Records one value; only the owning thread may call it.
    #[inline]
    pub fn record(&self, value_ns: u64) {
        self.histogram.record(value_ns);
        self.max_ns.raise(value_ns);
        self.min_complement.raise(!value_ns);
    }

    fn add_to(&self, total: &mut Spread) {
        self.histogram.add_to(&mut total.histogram);
        total.max_ns = total.max_ns.max(self.max_ns.get());
        total.min_ns = total.min_ns.min(!self.min_complement.get());
    }
}

/// Counters of all sessions of one thread together; one writer.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Latencies {
    /// From the begin of an event to its end.
    pub events: LiveSpread,
    /// With a rate: from the time when an event was due to its end.
    pub responses: LiveSpread,
    codes: Mutex<BTreeMap<String, u64>>,
}

impl Latencies {
    /// Counts an error by its code; codes after the first [`CODES_MAX`] count as [`OTHER`].
    pub fn error(&self, code: &str) {
        // Locked by this thread and, rarely, by the reporter.
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = codes.get_mut(code) {
            *count += 1;
            return;
        }
        let code = if codes.len() < CODES_MAX - 1 { code } else { OTHER };
        *codes.entry(code.to_owned()).or_default() += 1;
    }
}

/// All counters of a run: a tally for each session, latencies for each load thread.
#[derive(Debug)]
pub struct Tallies {
    /// By session.
    pub sessions: Box<[Tally]>,
    /// By load thread.
    pub threads: Box<[Latencies]>,
    /// By session: latencies of sessions that have moved to a thread of their own.
    own: Box<[OnceLock<Box<Latencies>>]>,
    /// In a trial of an experiment: the metrics for its reporter.
    pub trial: Option<Trial>,
}

/// The metrics of a trial of an experiment, warm-up included; the script is the only group.
#[derive(Debug)]
pub struct Trial {
    /// By load thread.
    pub metrics: Box<[ThreadMetrics]>,
    /// Rare occurrences, such as errors.
    pub notices: Notices,
}

impl Tallies {
    /// Creates tallies for this many sessions and load threads.
    pub fn new(sessions: usize, threads: usize) -> Self {
        Self {
            sessions: (0..sessions).map(|_| Tally::default()).collect(),
            threads: (0..threads).map(|_| Latencies::default()).collect(),
            trial: None,
            own: (0..sessions).map(|_| OnceLock::new()).collect(),
        }
    }

    /// Creates tallies for a trial of an experiment. `in_process`: the system runs in the load threads.
    #[must_use]
    pub fn for_trial(mut self, in_process: bool, notices: Notices) -> Self {
        let metrics = self.threads.iter().map(|_| ThreadMetrics::new([0], in_process)).collect();
        self.trial = Some(Trial { metrics, notices });
        self
    }

    /// The latencies of a session that has a thread of its own.
    pub fn own(&self, session: u32) -> &Latencies {
        self.own[session as usize].get_or_init(Box::default)
    }

    /// Reads all counts so far; may be called at any time, from any thread.
    pub fn read(&self) -> Reading {
        let mut total = Reading {
            sessions: self
                .sessions
                .iter()
                .map(|tally| Share { events: tally.events.get(), busy_ns: tally.busy_ns.get() })
                .collect(),
            ..Reading::default()
        };
        total.events = total.sessions.iter().map(|share| share.events).sum();
        for tally in &self.sessions {
            total.reads += tally.reads.get();
            total.writes += tally.writes.get();
            total.others += tally.others.get();
            total.errors += tally.errors.get();
            total.reconnects += tally.reconnects.get();
            total.bytes_read += tally.bytes_read.get();
            total.bytes_written += tally.bytes_written.get();
            total.has_database |= tally.database.get() > 0;
        }
        let own = self.own.iter().filter_map(OnceLock::get).map(|own| &**own);
        for thread in self.threads.iter().chain(own) {
            thread.events.add_to(&mut total.latency);
            thread.responses.add_to(&mut total.response);
            let codes = thread.codes.lock().unwrap_or_else(PoisonError::into_inner);
            for (code, count) in codes.iter() {
                *total.codes.entry(code.clone()).or_default() += count;
            }
        }
        total
    }
}

/// A histogram of latencies, and their extremes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spread {
    /// By bucket, with the exact sum.
    pub histogram: Histogram,
    /// Smallest value; `u64::MAX` if there is none.
    pub min_ns: u64,
    /// Largest value; 0 if there is none.
    pub max_ns: u64,
}

impl Default for Spread {
    fn default() -> Self {
        Self { histogram: Histogram::default(), min_ns: u64::MAX, max_ns: 0 }
    }
}

impl Spread {
    /// The values recorded since `earlier`. An extreme from before `earlier` is known by its bucket
    /// only (less than 1 % wide); a newer one is exact.
    fn since(&self, earlier: &Self) -> Self {
        let histogram = self.histogram.since(&earlier.histogram);
        if histogram.count() == 0 {
            return Self { histogram, ..Self::default() };
        }
        let is_newer = (self.min_ns < earlier.min_ns, self.max_ns > earlier.max_ns);
        let min_ns = if is_newer.0 { self.min_ns } else { histogram.min_ns().max(self.min_ns) };
        let max_ns = if is_newer.1 { self.max_ns } else { histogram.max_ns().min(self.max_ns) };
        Self { histogram, min_ns, max_ns }
    }

    /// The percentile: the upper bound of its bucket, but never above the largest value. 0 without
    /// values.
    pub fn percentile_ns(&self, percent: f64) -> u64 {
        self.histogram.quantile_ns(percent / 100.0).min(self.max_ns)
    }
}

/// The counts of one session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Share {
    /// Completed events.
    pub events: u64,
    /// Time spent in events, nanoseconds.
    pub busy_ns: u64,
}

/// The tallies at one time, or the differences between two times.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    /// Completed events.
    pub events: u64,
    /// Statements that returned rows.
    pub reads: u64,
    /// Statements that changed rows.
    pub writes: u64,
    /// All other statements.
    pub others: u64,
    /// Errors that were ignored.
    pub errors: u64,
    /// Reconnects.
    pub reconnects: u64,
    /// Bytes read by a native test.
    pub bytes_read: u64,
    /// Bytes written by a native test.
    pub bytes_written: u64,
    /// Whether a session has requested a database driver so far.
    pub has_database: bool,
    /// By session.
    pub sessions: Box<[Share]>,
    /// From the begin of events to their end.
    pub latency: Spread,
    /// With a rate: from the time when events were due to their end.
    pub response: Spread,
    /// Errors by code.
    pub codes: BTreeMap<String, u64>,
}

impl Reading {
    /// The counts since `earlier`, a previous reading of the same tallies.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        assert_eq!(self.sessions.len(), earlier.sessions.len(), "readings of different runs");
        let share = |(now, then): (&Share, &Share)| Share {
            events: now.events - then.events,
            busy_ns: now.busy_ns - then.busy_ns,
        };
        let code = |(code, now): (&String, &u64)| {
            let count = now - earlier.codes.get(code).unwrap_or(&0);
            (count > 0).then(|| (code.clone(), count))
        };
        Self {
            events: self.events - earlier.events,
            reads: self.reads - earlier.reads,
            writes: self.writes - earlier.writes,
            others: self.others - earlier.others,
            errors: self.errors - earlier.errors,
            reconnects: self.reconnects - earlier.reconnects,
            bytes_read: self.bytes_read - earlier.bytes_read,
            bytes_written: self.bytes_written - earlier.bytes_written,
            has_database: self.has_database,
            sessions: self.sessions.iter().zip(&earlier.sessions).map(share).collect(),
            latency: self.latency.since(&earlier.latency),
            response: self.response.since(&earlier.response),
            codes: self.codes.iter().filter_map(code).collect(),
        }
    }

    /// The number of statements of all kinds.
    pub fn queries(&self) -> u64 {
        self.reads + self.writes + self.others
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(tallies: &Tallies, session: usize, latency_ns: u64) {
        let tally = &tallies.sessions[session];
        tally.statement(Sort::Read);
        tally.busy_ns.add(latency_ns);
        tally.events.add(1);
        tallies.threads[0].events.record(latency_ns);
    }

    #[test]
    fn parts_of_a_run_add_up_to_the_whole() {
        let tallies = Tallies::new(2, 1);
        let none = tallies.read();
        counted(&tallies, 0, 1_000);
        tallies.threads[0].error("1213");
        let first = tallies.read();
        counted(&tallies, 0, 5_000);
        counted(&tallies, 1, 700);
        tallies.threads[0].error("1213");
        tallies.threads[0].error("1205");
        let both = tallies.read();
        assert_eq!(both.since(&none), both);
        let second = both.since(&first);
        assert_eq!((second.events, second.reads, second.queries()), (2, 2, 2));
        assert_eq!(second.sessions[0], Share { events: 1, busy_ns: 5_000 });
        assert_eq!(second.sessions[1], Share { events: 1, busy_ns: 700 });
        assert_eq!((second.latency.min_ns, second.latency.max_ns), (700, 5_000));
        let codes: Vec<_> = second.codes.iter().map(|(code, &n)| (code.as_str(), n)).collect();
        assert_eq!(codes, [("1205", 1), ("1213", 1)]);
        assert_eq!(both.since(&both).latency, Spread::default());
    }

    #[test]
    fn an_extreme_from_before_is_replaced_by_the_bound_of_a_bucket() {
        let tallies = Tallies::new(1, 1);
        counted(&tallies, 0, 100);
        counted(&tallies, 0, 9_000_000);
        let before = tallies.read();
        counted(&tallies, 0, 1_000_001);
        let part = tallies.read().since(&before).latency;
        assert!(part.min_ns <= 1_000_001 && part.min_ns > 992_000, "{}", part.min_ns);
        assert!(part.max_ns >= 1_000_001 && part.max_ns < 1_010_000, "{}", part.max_ns);
    }

    #[test]
    fn percentiles_are_neither_capped_nor_above_the_maximum() {
        let tallies = Tallies::new(1, 1);
        counted(&tallies, 0, 250_000_000_123);
        let latency = tallies.read().latency;
        assert_eq!(
            (latency.percentile_ns(50.0), latency.max_ns),
            (250_000_000_123, 250_000_000_123)
        );
    }

    #[test]
    fn codes_are_bounded() {
        let latencies = Latencies::default();
        for code in 0..2 * CODES_MAX {
            latencies.error(&code.to_string());
        }
        let codes = latencies.codes.lock().expect("one thread");
        assert_eq!((codes.len(), codes[OTHER]), (CODES_MAX, CODES_MAX as u64 + 1));
    }
}
