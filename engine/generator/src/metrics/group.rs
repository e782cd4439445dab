//! Metrics of one group on one load thread: transactions, operations, errors, and their times.

use super::counter::Counter;
use super::live_histogram::LiveHistogram;
use super::open_loop::OpenLoopMetrics;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::atomic::fence;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Error codes counted separately; further ones count as [`OTHER`].
pub const CODES_MAX: usize = 64;
/// Name under which surplus codes and classes count.
pub const OTHER: &str = "other";

/// Attempts of the reporter to copy a thread's metrics between two entries. A thread that contains the
/// system under test may have no pause between entries.
const COPIES_MAX: usize = 1000;
/// How long the reporter waits for a thread that was interrupted during an entry.
const PATIENCE: Duration = Duration::from_millis(500);

/// Failed attempts by code.
#[derive(Debug, Default)]
struct Codes(Mutex<BTreeMap<String, u64>>);

impl Clone for Codes {
    fn clone(&self) -> Self {
        Self(Mutex::new(self.lock().clone()))
    }
}

impl Codes {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One group's metrics on one load thread, since the thread began.
#[derive(Debug, Clone)]
pub struct GroupMetrics {
    /// Entries begun, and ended: equal while no entry is incomplete.
    entries_begun: Counter,
    entries_ended: Counter,
    /// Committed transactions: written last, so that a reader also sees their histograms.
    committed: Counter,
    /// Operations of committed transactions.
    pub operations: Counter,
    /// Rows that committed transactions returned.
    pub rows: Counter,
    /// Failed attempts.
    pub errors: Counter,
    /// Failed attempts whose commit was refused.
    pub refused_commits: Counter,
    /// Retries begun.
    pub retries: Counter,
    /// Transactions given up.
    pub failed: Counter,
    /// Writes of sessions that pipeline.
    pub writes: Counter,
    /// Operations in these writes.
    pub written: Counter,
    /// Sessions without a connection now.
    pub lost: Counter,
    /// Age in nanoseconds of the oldest transaction in progress when the thread stopped.
    pub in_flight_oldest_ns: Counter,
    /// Latencies of committed transactions.
    pub latency: LiveHistogram,
    /// Ages of failed attempts.
    pub error_latency: LiveHistogram,
    /// Ages of transactions given up, from the first attempt's start.
    pub censored: LiveHistogram,
    /// Times of committed transactions' operations by class, followed by those of committed transactions by
    /// kind.
    pub classes: Box<[LiveHistogram]>,
    /// Ages of transactions given up by kind, at the same indices.
    pub censored_kinds: Box<[LiveHistogram]>,
    /// Metrics of an open loop; empty in a closed loop.
    pub open: OpenLoopMetrics,
    codes: Codes,
}

impl GroupMetrics {
    /// Creates metrics with `classes` histograms (0 on a thread that does not serve the group).
    pub fn new(classes: usize) -> Self {
        Self {
            entries_begun: Counter::default(),
            entries_ended: Counter::default(),
            committed: Counter::default(),
            operations: Counter::default(),
            rows: Counter::default(),
            errors: Counter::default(),
            refused_commits: Counter::default(),
            retries: Counter::default(),
            failed: Counter::default(),
            writes: Counter::default(),
            written: Counter::default(),
            lost: Counter::default(),
            in_flight_oldest_ns: Counter::default(),
            latency: LiveHistogram::default(),
            error_latency: LiveHistogram::default(),
            censored: LiveHistogram::default(),
            classes: (0..classes).map(|_| LiveHistogram::default()).collect(),
            censored_kinds: (0..classes).map(|_| LiveHistogram::default()).collect(),
            open: OpenLoopMetrics::default(),
            codes: Codes::default(),
        }
    }

    /// Writes an entry: a `ThreadMetrics::settled` copy contains all that `write` records, or nothing of it.
    #[inline]
    pub fn entry<T>(&self, write: impl FnOnce(&Self) -> T) -> T {
        self.entries_begun.add(1);
        fence(Release);
        let value = write(self);
        self.entries_ended.add_last(1);
        value
    }

    /// Copies the metrics between two entries.
    pub(super) fn settled(&self) -> Self {
        let begun = Instant::now();
        for _ in 0..COPIES_MAX {
            let ended = self.entries_ended.get();
            let copy = self.clone();
            fence(Acquire);
            if self.entries_begun.get_unordered() == ended {
                return copy;
            }
            // The thread may need this CPU to complete its entry.
            while self.entries_begun.get() != self.entries_ended.get() && begun.elapsed() < PATIENCE
            {
                std::thread::yield_now();
            }
        }
        self.clone()
    }

    /// Counts a committed transaction. Record the classes of its operations before.
    #[inline]
    pub fn commit(&self, latency_ns: u64, operations: u64, rows: u64) {
        self.latency.record(latency_ns);
        self.operations.add(operations);
        self.rows.add(rows);
        self.committed.add_last(1);
    }

    /// Counts a transaction given up at this age; `kind`: the index of its kind, if it has one.
    pub fn give_up(&self, age_ns: u64, kind: Option<usize>) {
        self.entry(|to| {
            if let Some(place) = kind {
                to.censored_kinds[place].record(age_ns);
            }
            to.censored.record(age_ns);
            to.failed.add_last(1);
        });
    }

    /// Counts a failed attempt. Returns whether the code is new on this thread.
    pub fn fail(&self, code: &str, age_ns: u64) -> bool {
        self.errors.add(1);
        self.error_latency.record(age_ns);
        // Only this thread and, at the end of the trial, the reporter lock it: never contended.
        let mut codes = self.codes.lock();
        if let Some(count) = codes.get_mut(code) {
            *count += 1;
            return false;
        }
        let code = if codes.len() < CODES_MAX - 1 { code } else { OTHER };
        let count = codes.entry(code.to_owned()).or_default();
        *count += 1;
        *count == 1
    }

    /// Committed transactions so far.
    pub fn committed(&self) -> u64 {
        self.committed.get()
    }

    /// Failed attempts by code so far.
    pub fn add_codes_to(&self, total: &mut BTreeMap<String, u64>) {
        let codes = self.codes.lock();
        for (code, count) in codes.iter() {
            *total.entry(code.clone()).or_default() += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::histogram::Histogram;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn a_reader_beside_the_writer_counts_every_event_once() {
        const EVENTS: u64 = 200_000;
        let metrics = GroupMetrics::new(0);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                (0..EVENTS).for_each(|n| metrics.commit(n, 1, 2));
                done.store(true, Release);
            });
            let (mut before, mut seen) = (Histogram::default(), 0);
            loop {
                let last = done.load(Acquire);
                let committed = metrics.committed();
                let mut now = Histogram::default();
                metrics.latency.add_to(&mut now);
                assert!(now.count() >= committed, "a counted commit must be in the histogram");
                seen += now.since(&before).count();
                before = now;
                if last {
                    break;
                }
            }
            assert_eq!(seen, EVENTS);
        });
        assert_eq!((metrics.operations.get(), metrics.rows.get()), (EVENTS, 2 * EVENTS));
    }

    #[test]
    fn surplus_error_codes_count_as_other() {
        let metrics = GroupMetrics::new(0);
        for code in 0..200 {
            metrics.fail(&code.to_string(), 1);
        }
        let mut codes = BTreeMap::new();
        metrics.add_codes_to(&mut codes);
        assert_eq!(codes.len(), CODES_MAX);
        assert_eq!(codes[OTHER], 200 - (CODES_MAX as u64 - 1));
        assert_eq!(codes.values().sum::<u64>(), metrics.errors.get());
    }
}
