//! Metrics of one load thread: those of each group, and those of the thread itself.

use super::counter::Counter;
use super::group::GroupMetrics;
use super::live_histogram::LiveHistogram;
use std::sync::atomic::AtomicI32;
use std::sync::atomic::Ordering::Relaxed;

/// One load thread's metrics. Aligned so that two threads never write to one pair of cache lines.
#[derive(Debug)]
#[repr(align(128))]
pub struct ThreadMetrics {
    /// Metrics by group of the plan.
    pub groups: Box<[GroupMetrics]>,
    /// Upper bounds of how long answers waited unread.
    pub lag: LiveHistogram,
    /// Returns of the poll call.
    pub polls: Counter,
    /// Time spent spinning shortly before an arrival was due, nanoseconds.
    pub spun_ns: Counter,
    /// Calls that read from or wrote to a socket.
    pub syscalls: Counter,
    /// The thread's CPU clock, 0 until the thread runs.
    pub cpu_clock: AtomicI32,
    /// Whether the system under test runs in this thread (its CPU time is not the generator's alone).
    pub in_process: bool,
}

impl ThreadMetrics {
    /// Creates metrics for groups with these numbers of classes.
    pub fn new(classes: impl IntoIterator<Item = usize>, in_process: bool) -> Self {
        Self {
            groups: classes.into_iter().map(GroupMetrics::new).collect(),
            lag: LiveHistogram::default(),
            polls: Counter::default(),
            spun_ns: Counter::default(),
            syscalls: Counter::default(),
            cpu_clock: AtomicI32::new(0),
            in_process,
        }
    }

    /// A copy in which each transaction of a group counts in full or not at all, however many numbers it
    /// changes. The copy of a thread that never pauses between two entries may lack this property.
    pub fn settled(&self) -> Self {
        Self {
            groups: self.groups.iter().map(GroupMetrics::settled).collect(),
            lag: self.lag.clone(),
            polls: self.polls.clone(),
            spun_ns: self.spun_ns.clone(),
            syscalls: self.syscalls.clone(),
            cpu_clock: AtomicI32::new(self.cpu_clock.load(Relaxed)),
            in_process: self.in_process,
        }
    }

    /// Registers the calling thread as the writer.
    pub fn enter(&self) {
        self.cpu_clock.store(crate::machine::own_cpu_clock(), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::histogram::Histogram;
    use std::sync::atomic::AtomicBool;
    use std::sync::atomic::Ordering::{Acquire, Release};
    use std::time::Duration;

    #[test]
    fn a_settled_copy_has_no_half_of_a_transaction() {
        let metrics = ThreadMetrics::new([2], false);
        let group = &metrics.groups[0];
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
                let still = metrics.settled();
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
}
