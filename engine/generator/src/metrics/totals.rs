//! Running totals over all load threads at one time: the difference of two is an interval.

use crate::machine;
use crate::metrics::group::GroupMetrics;
use crate::metrics::live_histogram::LiveHistogram;
use crate::metrics::open_loop::OpenLoopMetrics;
use crate::metrics::thread::ThreadMetrics;
use dyno_core::histogram::Histogram;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// Running totals at one time.
#[derive(Debug, Clone)]
pub struct Totals {
    /// When they were read.
    pub at_ns: u64,
    /// By group of the plan.
    pub groups: Vec<GroupTotals>,
    /// Lag of all answers.
    pub lag: Histogram,
    /// Returns of the poll call.
    pub polls: u64,
    /// Calls that read from or wrote to a socket.
    pub syscalls: u64,
    /// CPU time of each load thread, nanoseconds.
    pub cpu_ns: Vec<u64>,
    /// CPU time of each load thread spent spinning before arrivals were due, nanoseconds.
    pub spun_ns: Vec<u64>,
}

/// Totals of one group.
#[derive(Debug, Clone)]
pub struct GroupTotals {
    /// Latencies of committed transactions.
    pub latency: Histogram,
    /// Operations of committed transactions.
    pub operations: u64,
    /// Rows that committed transactions returned.
    pub rows: u64,
    /// Failed attempts.
    pub errors: u64,
    /// Failed attempts whose commit was refused.
    pub refused_commits: u64,
    /// Retries begun.
    pub retries: u64,
    /// Writes of sessions that pipeline.
    pub writes: u64,
    /// Operations in these writes.
    pub written: u64,
    /// Ages of the transactions given up.
    pub censored: Histogram,
    /// Sessions without a connection.
    pub lost: u32,
    /// Open loop: arrivals begun.
    pub begun: u64,
    /// Open loop: arrivals begun that fell due in the measured phase.
    pub begun_measured: u64,
    /// Open loop: times from due time to the answer to the commit.
    pub response: Histogram,
}

/// Totals of one group that are read only at the edges of the measured phase.
#[derive(Debug, Clone)]
pub struct Details {
    /// Ages of failed attempts.
    pub error_latency: Histogram,
    /// Times of operations by class, followed by those of transactions by kind.
    pub classes: Vec<Histogram>,
    /// Ages of transactions given up by kind, at the same indices.
    pub censored_kinds: Vec<Histogram>,
    /// Failed attempts by code.
    pub codes: BTreeMap<String, u64>,
}

impl Totals {
    /// Reads all metrics. For a thread that has ended, the CPU time is that of `earlier`.
    pub fn read(metrics: &[ThreadMetrics], groups: usize, at_ns: u64, earlier: &[u64]) -> Self {
        Self {
            at_ns,
            groups: (0..groups).map(|group| GroupTotals::read(metrics, group)).collect(),
            lag: histogram(metrics, |metrics| Some(&metrics.lag)),
            polls: metrics.iter().map(|metrics| metrics.polls.get()).sum(),
            syscalls: metrics.iter().map(|metrics| metrics.syscalls.get()).sum(),
            cpu_ns: cpu_ns(metrics, earlier),
            spun_ns: spun_ns(metrics),
        }
    }
}

impl GroupTotals {
    fn read(metrics: &[ThreadMetrics], group: usize) -> Self {
        let of = |live: fn(&OpenLoopMetrics) -> &LiveHistogram| {
            histogram(metrics, move |metrics| Some(live(&metrics.groups[group].open)))
        };
        let mut response = of(|open| &open.response);
        response.merge(&of(|open| &open.early_response));
        let sum = |counter: fn(&GroupMetrics) -> u64| {
            metrics.iter().map(|metrics| counter(&metrics.groups[group])).sum()
        };
        Self {
            operations: sum(|group| group.operations.get()),
            rows: sum(|group| group.rows.get()),
            errors: sum(|group| group.errors.get()),
            refused_commits: sum(|group| group.refused_commits.get()),
            retries: sum(|group| group.retries.get()),
            writes: sum(|group| group.writes.get()),
            written: sum(|group| group.written.get()),
            begun: sum(|group| group.open.begun.get()),
            begun_measured: sum(|group| group.open.begun_measured.get()),
            response,
            lost: u32::try_from(sum(|group| group.lost.get())).unwrap_or(u32::MAX),
            latency: histogram(metrics, |metrics| Some(&metrics.groups[group].latency)),
            censored: histogram(metrics, |metrics| Some(&metrics.groups[group].censored)),
        }
    }
}

impl Details {
    /// Reads the details of one group with `classes` histograms.
    pub fn read(metrics: &[ThreadMetrics], group: usize, classes: usize) -> Self {
        let mut codes = BTreeMap::new();
        for metrics in metrics {
            metrics.groups[group].add_codes_to(&mut codes);
        }
        let each = |of: fn(&GroupMetrics) -> &[LiveHistogram]| {
            let at = move |place| histogram(metrics, move |r| of(&r.groups[group]).get(place));
            (0..classes).map(at).collect()
        };
        Self {
            error_latency: histogram(metrics, |r| Some(&r.groups[group].error_latency)),
            classes: each(|group| &group.classes),
            censored_kinds: each(|group| &group.censored_kinds),
            codes,
        }
    }
}

/// Commits of a group so far.
pub fn committed(metrics: &[ThreadMetrics], group: usize) -> u64 {
    metrics.iter().map(|metrics| metrics.groups[group].committed()).sum()
}

/// CPU time of each load thread; for one that has ended, the value in `earlier`.
pub fn cpu_ns(metrics: &[ThreadMetrics], earlier: &[u64]) -> Vec<u64> {
    let clocks = metrics.iter().map(|metrics| metrics.cpu_clock.load(Ordering::Relaxed));
    clocks
        .enumerate()
        .map(|(place, clock)| {
            let before = earlier.get(place).copied().unwrap_or(0);
            machine::cpu_time_ns(clock).unwrap_or(before).max(before)
        })
        .collect()
}

/// Time that each load thread spent spinning before arrivals were due.
pub fn spun_ns(metrics: &[ThreadMetrics]) -> Vec<u64> {
    metrics.iter().map(|metrics| metrics.spun_ns.get()).collect()
}

fn histogram<'a>(
    metrics: &'a [ThreadMetrics],
    of: impl Fn(&'a ThreadMetrics) -> Option<&'a LiveHistogram>,
) -> Histogram {
    let mut total = Histogram::default();
    metrics.iter().filter_map(of).for_each(|live| live.add_to(&mut total));
    total
}
