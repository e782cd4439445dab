//! An open loop in the reports: arrivals due, the backlog, and the outcome of each arrival.
//!
//! The reporter iterates over its own copy of the arrivals, so that counting them costs the load threads
//! nothing. It computes the number of arrivals due, reads the number begun from the metrics, and reports
//! the difference as the backlog.
//!
//! At the end each arrival due in the measured phase counts once: as committed, given up
//! (`failed`), or `left`. Response times include the latter two with their ages, as lower bounds.

use crate::metrics::live_histogram::LiveHistogram;
use crate::metrics::open_loop::OpenLoopMetrics;
use crate::metrics::thread::ThreadMetrics;
use crate::metrics::totals::GroupTotals;
use crate::pacing::due_count::{DueCount, Walk};
use dyno_core::event::{OpenInterval, OpenTotal};
use dyno_core::histogram::Histogram;

/// Reporting state of an open group.
#[derive(Debug)]
pub struct OpenLoop<'a> {
    group: usize,
    due: DueCount<'a>,
    metrics: &'a [ThreadMetrics],
    stream: Walk<'a>,
    measure_ns: u64,
    /// Arrivals due before the measured phase.
    early: u64,
    /// Arrivals due by the end of the last interval.
    due_last: u64,
    backlog_max: u64,
}

/// How the measured phase and the drain ended.
#[derive(Debug, Clone, Copy)]
pub struct Ending {
    /// End of the measured phase: arrivals due later do not count.
    pub end_ns: u64,
    /// When the load threads ended.
    pub stopped_ns: u64,
}

/// Response times and dispatch delays, for the log.
#[derive(Debug, Default)]
pub struct OpenHistograms {
    /// Response times of arrivals that committed.
    pub response: Histogram,
    /// Ages of the other arrivals.
    pub censored: Histogram,
    /// See [`OpenTotal::dispatch_lag`].
    pub dispatch: Histogram,
}

impl<'a> OpenLoop<'a> {
    /// Creates the state of a group whose arrival source, or replay, is open.
    pub fn new(group: usize, due: DueCount<'a>, metrics: &'a [ThreadMetrics]) -> Self {
        let (stream, measure_ns) = due.count_along();
        let early = stream.clone().pass(0);
        let (due_last, backlog_max) = (0, 0);
        Self { group, due, metrics, stream, measure_ns, early, due_last, backlog_max }
    }

    /// Number of arrivals due before `now_ns`, including those of the warm-up.
    fn due_by(&mut self, now_ns: u64) -> u64 {
        let until_ns = now_ns.min(self.due.end_ns()).cast_signed();
        self.stream.pass(until_ns.saturating_sub_unsigned(self.measure_ns))
    }

    fn sum(&self, counter: impl Fn(&OpenLoopMetrics) -> u64) -> u64 {
        self.metrics.iter().map(|metrics| counter(&metrics.groups[self.group].open)).sum()
    }

    /// Samples the backlog at the end of a tick of the measured phase.
    pub fn tick(&mut self, now_ns: u64) {
        let begun = self.sum(|open| open.begun.get());
        self.backlog_max = self.backlog_max.max(self.due_by(now_ns).saturating_sub(begun));
    }

    /// Ends an interval; returns its open-loop part.
    pub fn interval(&mut self, now_ns: u64, now: &GroupTotals, last: &GroupTotals) -> OpenInterval {
        let due = self.due_by(now_ns);
        let before = std::mem::replace(&mut self.due_last, due);
        OpenInterval {
            due: due - before,
            backlog: due.saturating_sub(now.begun),
            response: now.response.since(&last.response).latency(),
        }
    }

    /// Whether all arrivals of the measured phase have ended. Call after the phase.
    pub fn is_drained(&mut self) -> bool {
        let due = self.due_by(u64::MAX) - self.early;
        self.sum(OpenLoopMetrics::ended) >= due
    }

    /// The final totals. `now`: totals at the end of the measured phase. Call once, after the load threads
    /// have ended.
    pub fn total(&mut self, now: &GroupTotals, ending: Ending) -> (OpenTotal, OpenHistograms) {
        let Ending { end_ns, stopped_ns } = ending;
        let due = self.due_by(end_ns);
        let mut histograms = OpenHistograms {
            response: self.histogram(|open| &open.response),
            censored: self.histogram(|open| &open.censored),
            dispatch: self.histogram(|open| &open.dispatch),
        };
        let left = self.due.leave(end_ns, stopped_ns, &mut histograms.censored);
        let backlog_end = due.saturating_sub(now.begun);
        let total = OpenTotal {
            due: due.saturating_sub(self.early),
            begun: now.begun_measured,
            failed: self.sum(|open| open.failed.get()),
            left,
            backlog_end,
            backlog_max: self.backlog_max.max(backlog_end),
            drain_s: stopped_ns.saturating_sub(end_ns) as f64 / 1e9,
            response: histograms.response.latency_with(&histograms.censored),
            dispatch_lag: histograms.dispatch.latency(),
        };
        let ended = self.sum(OpenLoopMetrics::ended);
        debug_assert_eq!(total.due, ended + total.left, "arrivals got lost");
        (total, histograms)
    }

    fn histogram(&self, of: impl Fn(&OpenLoopMetrics) -> &LiveHistogram) -> Histogram {
        let mut total = Histogram::default();
        for metrics in self.metrics {
            of(&metrics.groups[self.group].open).add_to(&mut total);
        }
        total
    }
}
