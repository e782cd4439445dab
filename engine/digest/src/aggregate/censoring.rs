//! Detects a logging threshold: whether the server left statements out of its log by its settings.
//!
//! Most slow logs do not state their threshold, but durations show it. If a setting cuts off faster
//! statements, the fastest of many is just above a round time and many others are near it. In a
//! complete log the fastest statements are rare, and some statement takes less than a second.

use crate::aggregate::stats::quantile_sketch::Sketch;
use crate::document::Censored;
use crate::facts::Facts;

/// Fewest statements for the detection of a threshold below one second.
const MANY: u64 = 100;
/// Thresholds are round: one of these factors times a power of ten.
const ROUND: [f64; 6] = [1.0, 1.5, 2.0, 2.5, 3.0, 5.0];
/// Smallest threshold that is detected, seconds.
const LEAST_S: f64 = 1e-3;
/// Largest ratio of the fastest statement to the threshold; the next two are the fewest statements
/// within that ratio, as a share and as a count.
const NEAR: f64 = 1.1;
const NEAR_SHARE: f64 = 0.02;
const NEAR_COUNT: f64 = 10.0;
/// If all statements are logged, at least one of this many is faster than `LONG_S` seconds.
const FEW: u64 = 20;
const LONG_S: f64 = 1.0;
/// By format: the server's default threshold, seconds. Source: MongoDB manual, `slowOpThresholdMs`.
const DEFAULTS_S: [(&str, f64); 1] = [("mongodb", 0.1)];

/// All durations of a log, before filters.
#[derive(Debug, Default, Clone)]
pub struct Durations {
    /// Distribution of the durations.
    pub sketch: Sketch,
    /// Number of durations.
    pub count: u64,
    /// The largest weight of an event.
    pub weight_max: u32,
    /// The shortest duration plus 1, nanoseconds; 0: no durations.
    least_ns: u64,
}

impl Durations {
    /// Adds one duration.
    #[inline]
    pub fn add(&mut self, duration_ns: u64) {
        self.sketch.add(duration_ns, 1);
        self.count += 1;
        let least = duration_ns.saturating_add(1);
        self.least_ns = if self.least_ns == 0 { least } else { self.least_ns.min(least) };
    }

    /// Merges other durations.
    pub fn merge(&mut self, other: &Durations) {
        self.sketch.merge(&other.sketch);
        self.count += other.count;
        self.weight_max = self.weight_max.max(other.weight_max);
        self.least_ns = match (self.least_ns, other.least_ns) {
            (0, least) | (least, 0) => least,
            (mine, theirs) => mine.min(theirs),
        };
    }

    /// The threshold that cut off faster statements of a log in this format, seconds, if durations
    /// show one.
    fn threshold_s(&self, format: &str) -> Option<f64> {
        if self.count < FEW {
            return None;
        }
        let least_s = (self.least_ns - 1) as f64 / 1e9;
        if let Some(default) = DEFAULTS_S.iter().find(|one| one.0 == format && least_s >= one.1) {
            return Some(default.1);
        }
        let power = 10_f64.powf(least_s.log10().floor());
        // Logs round to microseconds, so the fastest statement may be slightly below the threshold.
        let round_s = ROUND.iter().map(|times| times * power).rfind(|&at| at <= least_s + 1e-6)?;
        if round_s >= LONG_S || self.count < MANY {
            return (round_s >= LONG_S).then_some(round_s);
        }
        let near = self.sketch.share_below(round_s * NEAR * 1e9) * self.count as f64;
        let is_cut = round_s >= LEAST_S
            && least_s <= round_s * NEAR
            && near >= NEAR_COUNT.max(self.count as f64 * NEAR_SHARE);
        is_cut.then_some(round_s)
    }
}

/// Returns the reasons why statements are missing from log `input`, which has this format.
pub fn censored(input: u32, format: &str, facts: &Facts, durations: &Durations) -> Vec<Censored> {
    let of = |kind: &str, value: f64, evidence: &str| Censored {
        input,
        kind: kind.to_owned(),
        value,
        evidence: evidence.to_owned(),
    };
    let said_s = facts.threshold_ns.filter(|&ns| ns > 0).map(|ns| ns as f64 / 1e9);
    let threshold = match said_s {
        Some(said_s) => Some(of("threshold", said_s, "said")),
        None => durations.threshold_s(format).map(|seen_s| of("threshold", seen_s, "seen")),
    };
    let one_of = facts.sampled_one_of.unwrap_or(0).max(durations.weight_max);
    let sampled = (one_of > 1).then(|| of("sampled", f64::from(one_of), "said"));
    threshold.into_iter().chain(sampled).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(durations_s: impl Iterator<Item = f64>) -> Durations {
        let mut all = Durations::default();
        durations_s.for_each(|s| all.add((s * 1e9) as u64));
        all
    }

    /// Values of an exponential distribution with a mean of 0.1 s, ascending.
    fn exponential() -> impl Iterator<Item = f64> {
        (0..10_000).map(|n| -0.1 * (1.0 - (f64::from(n) + 0.5) / 10_000.0).ln())
    }

    #[test]
    fn a_log_that_begins_at_a_round_time_was_cut_off_there() {
        let seen = |cut: f64| of(exponential().filter(|s| *s >= cut)).threshold_s("");
        assert_eq!(seen(0.1), Some(0.1));
        assert_eq!(seen(0.05), Some(0.05));
        assert!((seen(0.25).unwrap() - 0.25).abs() < 1e-9);
    }

    #[test]
    fn a_whole_log_was_not_cut_off() {
        assert_eq!(of(exponential()).threshold_s(""), None);
        assert_eq!(of(exponential().map(|s| s + 0.137)).threshold_s(""), None);
        assert_eq!(of([0.1; 50].into_iter()).threshold_s(""), None);
        assert_eq!(Durations::default().threshold_s(""), None);
        assert_eq!(of([0.0; 500].into_iter()).threshold_s(""), None);
    }

    #[test]
    fn a_log_without_a_statement_below_a_second_was_cut_off() {
        let evenly =
            |from_s: f64, count: u32| of((0..count).map(move |n| from_s + f64::from(n) / 80.0));
        assert_eq!(evenly(1.0, 400).threshold_s(""), Some(1.0));
        assert_eq!(evenly(11.0, 20).threshold_s(""), Some(10.0));
        assert_eq!(evenly(11.0, 19).threshold_s(""), None);
        assert_eq!(evenly(0.9, 400).threshold_s(""), None);
    }

    #[test]
    fn a_server_that_leaves_out_by_default_does_so() {
        let operations = |from_s: f64| of((0..50).map(move |n| from_s + f64::from(n) / 26.0));
        assert_eq!(operations(0.101).threshold_s("mongodb"), Some(0.1));
        assert_eq!(operations(0.101).threshold_s("mysql-slow"), None);
        assert_eq!(operations(0.05).threshold_s("mongodb"), None);
    }

    #[test]
    fn what_the_log_says_goes_before_what_is_seen() {
        let facts = Facts {
            threshold_ns: Some(2_000_000_000),
            sampled_one_of: Some(10),
            ..Facts::default()
        };
        let found = censored(3, "", &facts, &of(exponential().filter(|s| *s >= 0.1)));
        let told: Vec<_> = found.iter().map(|c| (&*c.kind, c.value, &*c.evidence)).collect();
        assert_eq!(told, [("threshold", 2.0, "said"), ("sampled", 10.0, "said")]);
    }
}
