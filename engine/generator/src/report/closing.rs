//! The result of a trial, from the readings at both edges of its measured phase.

use super::{Names, cpu_s};
use crate::machine;
use crate::metrics::group::{CODES_MAX, OTHER};
use crate::metrics::totals::{Details, GroupTotals, Totals};
use dyno_core::event::{GeneratorTotal, GroupTotal, Latency};
use dyno_core::histogram::Histogram;
use std::collections::BTreeMap;

/// Busy share of a load thread within a second above which the generator may have shaped the results.
const BUSY_BOUND: f64 = 0.8;
/// Ratio of the lag's median or 99th percentile to the fastest group's above which it may have done so.
const LAG_BOUND: f64 = 0.1;

/// The measured phase between two readings.
pub struct Closing {
    pub(super) base: (Totals, Vec<Details>),
    pub(super) end: (Totals, Vec<Details>),
    pub(super) busy_max: f64,
    pub(super) ended: Ended,
}

/// Why a trial's measured phase ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Its planned time ended.
    InTime,
    /// A request ended it early, after enough measurements.
    Asked,
    /// A signal interrupted it.
    Interrupted,
}

impl Closing {
    pub(super) fn generator(&self, lag: &Histogram) -> GeneratorTotal {
        let (base, end) = (&self.base.0, &self.end.0);
        let groups = end.groups.iter().zip(&base.groups);
        let latencies: Vec<Histogram> =
            groups.map(|(now, then)| now.latency.since(&then.latency)).collect();
        GeneratorTotal {
            cpu_s: cpu_s(end, base),
            busy_max: self.busy_max,
            lag: lag.latency(),
            polls: end.polls - base.polls,
            syscalls: end.syscalls - base.syscalls,
            generator_bound: self.busy_max > BUSY_BOUND || is_late(lag, &latencies),
            rss_max_bytes: machine::rss_max_bytes(),
        }
    }
}

/// Whether the lag is large enough to distort any group's latencies: compares each percentile with the
/// same percentile of the lag.
fn is_late(lag: &Histogram, latencies: &[Histogram]) -> bool {
    let is_late_at = |q: f64| {
        let seen = latencies.iter().filter(|latency| latency.count() > 0);
        let fastest_ns = seen.map(|latency| latency.quantile_ns(q)).min().unwrap_or(u64::MAX);
        lag.quantile_ns(q) as f64 > LAG_BOUND * fastest_ns as f64
    };
    lag.count() > 0 && (is_late_at(0.5) || is_late_at(0.99))
}

impl Details {
    pub(super) fn since(&self, earlier: &Self) -> Self {
        let since = |now: &[Histogram], then: &[Histogram]| {
            now.iter().zip(then).map(|(now, then)| now.since(then)).collect()
        };
        let codes = self.codes.iter().map(|(code, count)| {
            (code.clone(), count - earlier.codes.get(code).copied().unwrap_or(0))
        });
        Self {
            error_latency: self.error_latency.since(&earlier.error_latency),
            classes: since(&self.classes, &earlier.classes),
            censored_kinds: since(&self.censored_kinds, &earlier.censored_kinds),
            codes: codes.filter(|(_, count)| *count > 0).collect(),
        }
    }
}

pub(super) fn total_of(
    now: &GroupTotals,
    last: &GroupTotals,
    names: &Names<'_>,
    details: Details,
    in_flight_oldest_ns: u64,
) -> GroupTotal {
    let latency = now.latency.since(&last.latency);
    let censored = now.censored.since(&last.censored);
    let named = |names: &[String], latencies: Vec<Option<Latency>>| {
        names.iter().cloned().zip(latencies).collect::<BTreeMap<_, _>>()
    };
    let (writes, written) = (now.writes - last.writes, now.written - last.written);
    let (classes, kinds) = details.classes.split_at(names.classes.len());
    let kinds = kinds.iter().zip(&details.censored_kinds[names.classes.len()..]);
    GroupTotal {
        transactions: latency.count(),
        operations: now.operations - last.operations,
        rows: now.rows - last.rows,
        errors: bounded(details.codes),
        refused_commits: now.refused_commits - last.refused_commits,
        retries: now.retries - last.retries,
        failed: censored.count(),
        operations_per_write: (writes > 0).then(|| written as f64 / writes as f64),
        in_flight_oldest_ns,
        latency: latency.latency_with(&censored),
        error_latency: details.error_latency.latency(),
        classes: named(&names.classes, classes.iter().map(Histogram::latency).collect()),
        kinds: named(&names.kinds, kinds.map(|(all, ages)| all.latency_with(ages)).collect()),
        open: None,
    }
}

/// At most [`CODES_MAX`] codes, the most frequent ones; the rest as `other`.
fn bounded(mut codes: BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    if codes.len() <= CODES_MAX {
        return codes;
    }
    let mut counts: Vec<(String, u64)> = std::mem::take(&mut codes).into_iter().collect();
    counts.sort_by_key(|(code, count)| (code == OTHER, std::cmp::Reverse(*count)));
    for (place, (code, count)) in counts.into_iter().enumerate() {
        let code = if place < CODES_MAX - 1 { code } else { OTHER.to_owned() };
        *codes.entry(code).or_default() += count;
    }
    codes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hundred values, the last two of which are `last_ns`.
    fn of(most_ns: u64, last_ns: u64) -> Histogram {
        let mut histogram = Histogram::default();
        (0..98).for_each(|_| histogram.record(most_ns));
        (0..2).for_each(|_| histogram.record(last_ns));
        histogram
    }

    #[test]
    fn each_percentile_is_held_against_its_own_lag() {
        let latencies = [of(1_000_000, 3_000_000), of(5_000_000, 9_000_000)];
        assert!(!is_late(&of(90_000, 280_000), &latencies));
        assert!(is_late(&of(110_000, 110_000), &latencies), "the median is 10 % too high");
        assert!(is_late(&of(1_000, 320_000), &latencies), "the 99th percentile is");
        assert!(!is_late(&Histogram::default(), &latencies));
        assert!(!is_late(&of(1_000, 1_000), &[Histogram::default()]));
    }
}
