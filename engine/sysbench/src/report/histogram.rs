//! Histograms as scripts make them (`sysbench.histogram.new(size, min, max)`) and as `--histogram`
//! draws them: buckets of one ratio between `min` and `max`.
//!
//! Bucket i of n stands for `min * (max / min)^(i / (n - 1))`; a value belongs to the bucket whose
//! logarithm is nearest. What lies outside belongs to the first or last bucket. The run's own
//! latencies are kept in finer buckets (`dyno_core::histogram`); to be drawn they are put into
//! buckets of the ratio that 1,024 buckets from 0.001 ms to 100 s have, as many as they need.

use crate::tally::Spread;
use dyno_core::histogram::range_of;
use std::fmt::Write as _;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Buckets from [`DRAWN_MIN_MS`] to [`DRAWN_MAX_MS`] where latencies are drawn.
const DRAWN_SIZE: usize = 1024;
const DRAWN_MIN_MS: f64 = 0.001;
const DRAWN_MAX_MS: f64 = 100_000.0;
/// Width of the longest bar.
const BAR: u64 = 40;

/// Maps values to buckets.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Scale {
    min_log: f64,
    buckets_per_log: f64,
}

impl Scale {
    fn new(size: usize, min: f64, max: f64) -> Self {
        let min_log = min.ln();
        Self { min_log, buckets_per_log: (size - 1) as f64 / (max.ln() - min_log) }
    }

    fn bucket(self, value: f64) -> usize {
        // Zero and less have no logarithm; the cast takes minus infinity and NaN to 0.
        ((value.ln() - self.min_log) * self.buckets_per_log + 0.5).floor() as usize
    }

    fn value(self, bucket: usize) -> f64 {
        (bucket as f64 / self.buckets_per_log + self.min_log).exp()
    }
}

/// A histogram of a script; all sessions that have a reference share it.
#[derive(Debug)]
pub struct Histogram {
    scale: Scale,
    counts: Box<[AtomicU64]>,
}

impl Histogram {
    /// Creates `size` buckets from `min` to `max`; an error says what is wrong with them.
    pub fn new(size: usize, min: f64, max: f64) -> Result<Self, String> {
        if !(2..=1 << 24).contains(&size) {
            return Err(format!("histogram size must be 2 to {}, not {size}", 1 << 24));
        }
        if !(min > 0.0 && max > min && max.is_finite()) {
            return Err(format!("histogram range must be 0 < min < max, not {min} to {max}"));
        }
        let counts = (0..size).map(|_| AtomicU64::new(0)).collect();
        Ok(Self { scale: Scale::new(size, min, max), counts })
    }

    /// Counts one value.
    pub fn update(&self, value: f64) {
        let bucket = self.scale.bucket(value).min(self.counts.len() - 1);
        self.counts[bucket].fetch_add(1, Relaxed);
    }

    /// Returns the percentile: the value that `percent` of all do not exceed; 0 without values.
    pub fn percentile(&self, percent: f64) -> f64 {
        let counts = self.counts();
        let total: u64 = counts.iter().sum();
        let rank = ((percent / 100.0 * total as f64 * (1.0 - 1e-12)).ceil() as u64).max(1);
        let mut seen = 0;
        for (bucket, count) in counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return self.scale.value(bucket);
            }
        }
        0.0
    }

    /// Returns the drawing, with its heading; lines end with `\n`.
    pub fn draw(&self) -> String {
        draw(self.scale, &self.counts())
    }

    fn counts(&self) -> Vec<u64> {
        self.counts.iter().map(|count| count.load(Relaxed)).collect()
    }
}

/// Draws latencies, in milliseconds.
pub fn draw_latencies(latencies: &Spread) -> String {
    let scale = Scale::new(DRAWN_SIZE, DRAWN_MIN_MS, DRAWN_MAX_MS);
    let mut counts = Vec::new();
    for (bucket, &count) in latencies.histogram.counts().iter().enumerate() {
        if count == 0 {
            continue;
        }
        let (low, high) = range_of(bucket);
        let middle_ns = (low + high) as f64 / 2.0;
        // A bucket may reach beyond the extremes, which are exact.
        let middle_ns = middle_ns.clamp(latencies.min_ns as f64, latencies.max_ns as f64);
        let drawn = scale.bucket(middle_ns / 1e6);
        if counts.len() <= drawn {
            counts.resize(drawn + 1, 0);
        }
        counts[drawn] += count;
    }
    draw(scale, &counts)
}

fn draw(scale: Scale, counts: &[u64]) -> String {
    let largest = counts.iter().copied().max().unwrap_or(0);
    let mut out = String::from("       value  ------------- distribution ------------- count\n");
    for (bucket, &count) in counts.iter().enumerate().filter(|&(_, &count)| count > 0) {
        let bar = (u128::from(count) * u128::from(BAR) * 2 + u128::from(largest))
            / (2 * u128::from(largest));
        let bar = "*".repeat(bar as usize);
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{:12.3} |{bar:<40} {count}", scale.value(bucket));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_go_to_the_bucket_of_the_nearest_logarithm() {
        let histogram = Histogram::new(1000, 1.0, 10.0).expect("a range");
        for value in [1.0, 2.0, 0.0, 10.0, 100.0, 5.001] {
            histogram.update(value);
        }
        let full = "*".repeat(40);
        let half = format!("{:<40}", "*".repeat(20));
        assert_eq!(
            histogram.draw(),
            format!(
                "       value  ------------- distribution ------------- count
       1.000 |{full} 2
       2.001 |{half} 1
       4.997 |{half} 1
      10.000 |{full} 2
"
            )
        );
        let rounded = |percent| (histogram.percentile(percent) * 1e3).round() / 1e3;
        assert_eq!([1.0, 34.0, 50.0, 66.0, 100.0].map(rounded), [1.0, 2.001, 2.001, 4.997, 10.0]);
    }

    #[test]
    fn impossible_ranges_are_refused() {
        for (size, min, max) in
            [(1, 1.0, 2.0), (10, 0.0, 2.0), (10, 2.0, 2.0), (10, 1.0, f64::INFINITY)]
        {
            assert!(Histogram::new(size, min, max).is_err(), "{size} {min} {max}");
        }
        assert_eq!(Histogram::new(2, 1.0, 2.0).expect("a range").percentile(50.0), 0.0);
    }

    #[test]
    fn latencies_beyond_100_s_are_drawn_where_they_are() {
        let mut spread =
            Spread { min_ns: 250_000_000_000, max_ns: 250_000_000_000, ..Spread::default() };
        spread.histogram.record(250_000_000_000);
        let drawn = draw_latencies(&spread);
        let value: f64 = drawn
            .lines()
            .nth(1)
            .and_then(|line| line.trim().split(' ').next())
            .and_then(|value| value.parse().ok())
            .expect("a value");
        assert!((value / 250_000.0 - 1.0).abs() < 0.01, "{value}");
    }
}
