//! What a load thread writes and the reporter reads, at any time, without a lock.
//!
//! Each number has exactly one writer, which adds with a plain load and store (no locked
//! instruction, no shared cache line). The reporter reads the running totals and subtracts what it
//! read before, so every event lands in exactly one interval and nothing is ever swapped or reset.
//! See `docs/decisions/single-writer-recorders.md`.

use crate::intake::Arrival;
use dyno_core::histogram::{CHUNK, CHUNKS, Histogram, bucket_of};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicI32, AtomicU64, fence};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Kinds of errors kept by code; further ones count as [`OTHER`].
pub const CODES_MAX: usize = 64;
/// Where surplus codes and classes go.
pub const OTHER: &str = "other";

/// How often the reporter copies what a thread wrote until it finds it between two entries. Where
/// the system is within this program, a thread may leave no such moment.
const COPIES_MAX: usize = 1000;
/// How long it waits for a thread that was interrupted amid an entry.
const PATIENCE: Duration = Duration::from_millis(500);

/// A running total with one writer.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Clone for Counter {
    fn clone(&self) -> Self {
        Self(AtomicU64::new(self.get()))
    }
}

impl Counter {
    /// Adds; only the owning thread may.
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(n), Relaxed);
    }

    /// Adds, after everything that this thread wrote before.
    #[inline]
    fn add_last(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(n), Release);
    }

    /// Takes away; only the owning thread may.
    pub fn sub(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_sub(n), Relaxed);
    }

    /// Keeps the larger; only the owning thread may.
    pub fn raise(&self, to: u64) {
        self.0.store(self.0.load(Relaxed).max(to), Relaxed);
    }

    /// The total so far; what was written before it is visible too.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Acquire)
    }
}

type Chunk = [AtomicU64; CHUNK];

/// A histogram with one writer. Memory comes a doubling of values at a time (1 KiB), since a
/// session's latencies seldom span more than a few: thousands of threads stay small.
#[derive(Debug)]
pub struct LiveHistogram {
    chunks: [OnceLock<Box<Chunk>>; CHUNKS],
    sum_ns: Counter,
}

impl Default for LiveHistogram {
    fn default() -> Self {
        Self { chunks: [const { OnceLock::new() }; CHUNKS], sum_ns: Counter::default() }
    }
}

impl Clone for LiveHistogram {
    fn clone(&self) -> Self {
        let copy = |chunk: &Chunk| {
            Box::new(std::array::from_fn(|place| AtomicU64::new(chunk[place].load(Relaxed))))
        };
        let chunks = self.chunks.each_ref().map(|chunk| {
            chunk.get().map_or_else(OnceLock::new, |chunk| OnceLock::from(copy(chunk)))
        });
        Self { chunks, sum_ns: self.sum_ns.clone() }
    }
}

impl LiveHistogram {
    /// Counts one value; only the owning thread may.
    #[inline]
    pub fn record(&self, value_ns: u64) {
        let bucket = bucket_of(value_ns);
        let chunk = self.chunks[bucket / CHUNK]
            .get_or_init(|| Box::new([const { AtomicU64::new(0) }; CHUNK]));
        let cell = &chunk[bucket % CHUNK];
        cell.store(cell.load(Relaxed) + 1, Relaxed);
        self.sum_ns.add(value_ns);
    }

    /// Adds all that was recorded so far to `total`.
    pub fn add_to(&self, total: &mut Histogram) {
        for (number, chunk) in self.chunks.iter().enumerate() {
            let Some(chunk) = chunk.get() else { continue };
            for (place, cell) in chunk.iter().enumerate() {
                let count = cell.load(Relaxed);
                if count > 0 {
                    total.add_bucket(number * CHUNK + place, count);
                }
            }
        }
        total.add_sum(self.sum_ns.get());
    }
}

/// What an open loop counts beside, on one load thread, since the thread began.
#[derive(Debug, Default, Clone)]
pub struct OpenRecorder {
    /// Arrivals begun.
    pub begun: Counter,
    /// Of these, due in the measured phase.
    pub begun_measured: Counter,
    /// Arrivals due in the measured phase that committed.
    committed: Counter,
    /// Arrivals due in the measured phase that were given up.
    pub failed: Counter,
    /// From due time to the answer to the commit, of arrivals due in the measured phase.
    pub response: LiveHistogram,
    /// Age of each that was given up: its response would have been longer.
    pub censored: LiveHistogram,
    /// The same, of commits of earlier arrivals.
    pub early_response: LiveHistogram,
    /// From due time to the first byte sent, of arrivals due in the measured phase that a session
    /// waited for.
    pub dispatch: LiveHistogram,
}

impl OpenRecorder {
    /// The first byte of an arrival left at `now_ns`. `was_awaited`: a session had waited for it.
    #[inline]
    pub fn begin(&self, arrival: Arrival, now_ns: u64, was_awaited: bool) {
        self.begun.add(1);
        if arrival.is_measured {
            self.begun_measured.add(1);
            if was_awaited {
                self.dispatch.record(now_ns.saturating_sub(arrival.due_ns));
            }
        }
    }

    /// An arrival committed at `now_ns`.
    #[inline]
    pub fn commit(&self, arrival: Arrival, now_ns: u64) {
        let response_ns = now_ns.saturating_sub(arrival.due_ns);
        if arrival.is_measured {
            self.response.record(response_ns);
            self.committed.add_last(1);
        } else {
            self.early_response.record(response_ns);
        }
    }

    /// An arrival was given up at `now_ns`.
    pub fn give_up(&self, arrival: Arrival, now_ns: u64) {
        if arrival.is_measured {
            self.censored.record(now_ns.saturating_sub(arrival.due_ns));
            self.failed.add_last(1);
        }
    }

    /// Arrivals due in the measured phase that have ended.
    pub fn ended(&self) -> u64 {
        self.committed.get() + self.failed.get()
    }
}

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

/// One group's numbers on one load thread, since the thread began.
#[derive(Debug, Clone)]
pub struct GroupRecorder {
    /// Entries begun, and ended: equal while nothing is half written.
    entries_begun: Counter,
    entries_ended: Counter,
    /// Committed transactions: written last, so who reads it sees their histograms.
    committed: Counter,
    /// Operations of committed transactions.
    pub operations: Counter,
    /// Rows that committed transactions returned.
    pub rows: Counter,
    /// Failed attempts.
    pub errors: Counter,
    /// Attempts begun again.
    pub retries: Counter,
    /// Transactions given up.
    pub failed: Counter,
    /// Sessions without a connection now.
    pub lost: Counter,
    /// Age of the oldest transaction in flight when the thread stopped.
    pub in_flight_oldest_ns: Counter,
    /// Committed transactions.
    pub latency: LiveHistogram,
    /// Failed attempts.
    pub error_latency: LiveHistogram,
    /// Transactions given up: the age of each, from its first attempt's start.
    pub censored: LiveHistogram,
    /// Operations of committed transactions by class, and behind them committed transactions by kind.
    pub classes: Box<[LiveHistogram]>,
    /// Transactions given up by kind, at the same places.
    pub censored_kinds: Box<[LiveHistogram]>,
    /// Stays empty in a closed loop.
    pub open: OpenRecorder,
    codes: Codes,
}

impl GroupRecorder {
    /// With this many classes (0 on a thread that does not serve the group).
    pub fn new(classes: usize) -> Self {
        Self {
            entries_begun: Counter::default(),
            entries_ended: Counter::default(),
            committed: Counter::default(),
            operations: Counter::default(),
            rows: Counter::default(),
            errors: Counter::default(),
            retries: Counter::default(),
            failed: Counter::default(),
            lost: Counter::default(),
            in_flight_oldest_ns: Counter::default(),
            latency: LiveHistogram::default(),
            error_latency: LiveHistogram::default(),
            censored: LiveHistogram::default(),
            classes: (0..classes).map(|_| LiveHistogram::default()).collect(),
            censored_kinds: (0..classes).map(|_| LiveHistogram::default()).collect(),
            open: OpenRecorder::default(),
            codes: Codes::default(),
        }
    }

    /// What `write` records is in a [`Recorder::settled`] copy as a whole, or not at all.
    #[inline]
    pub fn entry<T>(&self, write: impl FnOnce(&Self) -> T) -> T {
        self.entries_begun.add(1);
        fence(Release);
        let value = write(self);
        self.entries_ended.add_last(1);
        value
    }

    /// A copy between two entries.
    fn settled(&self) -> Self {
        let begun = Instant::now();
        for _ in 0..COPIES_MAX {
            let ended = self.entries_ended.get();
            let copy = self.clone();
            fence(Acquire);
            if self.entries_begun.0.load(Relaxed) == ended {
                return copy;
            }
            // The thread may need this CPU to end its entry.
            while self.entries_begun.get() != self.entries_ended.get() && begun.elapsed() < PATIENCE
            {
                std::thread::yield_now();
            }
        }
        self.clone()
    }

    /// A transaction committed. Its operations' classes must be recorded before.
    #[inline]
    pub fn commit(&self, latency_ns: u64, operations: u64, rows: u64) {
        self.latency.record(latency_ns);
        self.operations.add(operations);
        self.rows.add(rows);
        self.committed.add_last(1);
    }

    /// A transaction was given up at this age; `kind`: its place among the kinds, if it has one.
    pub fn give_up(&self, age_ns: u64, kind: Option<usize>) {
        self.entry(|to| {
            if let Some(place) = kind {
                to.censored_kinds[place].record(age_ns);
            }
            to.censored.record(age_ns);
            to.failed.add_last(1);
        });
    }

    /// An attempt failed. Returns whether this thread sees the code for the first time.
    pub fn fail(&self, code: &str, age_ns: u64) -> bool {
        self.errors.add(1);
        self.error_latency.record(age_ns);
        // Locked by this thread and, at the end of the trial, by the reporter: never contended.
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

/// One load thread's numbers. Aligned so that two threads never write to one pair of cache lines.
#[derive(Debug)]
#[repr(align(128))]
pub struct Recorder {
    /// By group of the plan.
    pub groups: Box<[GroupRecorder]>,
    /// How long answers may have lain unread.
    pub lag: LiveHistogram,
    /// Returns of the poll call.
    pub polls: Counter,
    /// Time spent looking for sockets in vain shortly before an arrival was due, nanoseconds.
    pub spun_ns: Counter,
    /// Calls that read from or wrote to a socket.
    pub syscalls: Counter,
    /// The thread's CPU clock, 0 until it runs.
    pub cpu_clock: AtomicI32,
    /// Whether the system under test works in this thread (its CPU is not the generator's alone).
    pub in_process: bool,
}

impl Recorder {
    /// For a thread whose groups have these many classes.
    pub fn new(classes: impl IntoIterator<Item = usize>, in_process: bool) -> Self {
        Self {
            groups: classes.into_iter().map(GroupRecorder::new).collect(),
            lag: LiveHistogram::default(),
            polls: Counter::default(),
            spun_ns: Counter::default(),
            syscalls: Counter::default(),
            cpu_clock: AtomicI32::new(0),
            in_process,
        }
    }

    /// A copy in which each transaction of a group counts in full or not at all, however many
    /// numbers it changes. A thread that never pauses between two entries is copied as it is.
    pub fn settled(&self) -> Self {
        Self {
            groups: self.groups.iter().map(GroupRecorder::settled).collect(),
            lag: self.lag.clone(),
            polls: self.polls.clone(),
            spun_ns: self.spun_ns.clone(),
            syscalls: self.syscalls.clone(),
            cpu_clock: AtomicI32::new(self.cpu_clock.load(Relaxed)),
            in_process: self.in_process,
        }
    }

    /// The calling thread is the one that writes here.
    pub fn enter(&self) {
        self.cpu_clock.store(crate::machine::own_cpu_clock(), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::atomic::AtomicBool;

    proptest! {
        #[test]
        fn live_and_plain_histograms_agree(values in prop::collection::vec(any::<u64>(), 0..300)) {
            let (live, mut plain) = (LiveHistogram::default(), Histogram::default());
            for value in values {
                live.record(value >> 20);
                plain.record(value >> 20);
            }
            let mut read = Histogram::default();
            live.add_to(&mut read);
            prop_assert_eq!(read, plain);
        }
    }

    #[test]
    fn a_reader_beside_the_writer_counts_every_event_once() {
        const EVENTS: u64 = 200_000;
        let recorder = GroupRecorder::new(0);
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                (0..EVENTS).for_each(|n| recorder.commit(n, 1, 2));
                done.store(true, Release);
            });
            let (mut before, mut seen) = (Histogram::default(), 0);
            loop {
                let last = done.load(Acquire);
                let committed = recorder.committed();
                let mut now = Histogram::default();
                recorder.latency.add_to(&mut now);
                assert!(now.count() >= committed, "a counted commit must be in the histogram");
                seen += now.since(&before).count();
                before = now;
                if last {
                    break;
                }
            }
            assert_eq!(seen, EVENTS);
        });
        assert_eq!((recorder.operations.get(), recorder.rows.get()), (EVENTS, 2 * EVENTS));
    }

    #[test]
    fn a_settled_copy_has_no_half_of_a_transaction() {
        let recorder = Recorder::new([2], false);
        let group = &recorder.groups[0];
        let done = AtomicBool::new(false);
        let mut copies = 0;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Acquire) {
                    group.entry(|to| {
                        to.classes[0].record(1);
                        to.classes[1].record(1);
                        std::thread::yield_now();
                        to.classes[1].record(1_000_000);
                        to.commit(2, 3, 5);
                    });
                    std::thread::sleep(Duration::from_micros(50));
                }
            });
            while copies < 200 {
                let still = recorder.settled();
                let of = |live: &LiveHistogram| {
                    let mut histogram = Histogram::default();
                    live.add_to(&mut histogram);
                    histogram.count()
                };
                let group = &still.groups[0];
                let n = group.committed();
                assert_eq!(group.classes.iter().map(of).collect::<Vec<_>>(), [n, 2 * n]);
                assert_eq!((of(&group.latency), group.operations.get()), (n, 3 * n));
                copies += u64::from(n > 0);
            }
            done.store(true, Release);
        });
        assert!(copies > 0);
    }

    #[test]
    fn surplus_error_codes_count_as_other() {
        let recorder = GroupRecorder::new(0);
        for code in 0..200 {
            recorder.fail(&code.to_string(), 1);
        }
        let mut codes = BTreeMap::new();
        recorder.add_codes_to(&mut codes);
        assert_eq!(codes.len(), CODES_MAX);
        assert_eq!(codes[OTHER], 200 - (CODES_MAX as u64 - 1));
        assert_eq!(codes.values().sum::<u64>(), recorder.errors.get());
    }
}
