//! The one histogram of dbdyno: latencies from 1 ns to 1 h, each bucket less than 1 % wide.
//!
//! The layout is HdrHistogram's (lowest 1, highest 3.6e12, two significant digits), so that any
//! HdrHistogram tool reads our files: values below 256 have a bucket each; above, every doubling is
//! cut into 128 buckets. One configuration for everything: all histograms merge.
//! Source: the HdrHistogram Java implementation's documented layout (public domain, CC0).

use crate::event::Latency;

/// Largest distinct value: one hour in nanoseconds. Larger values count as this.
pub const HIGHEST_NS: u64 = 3_600_000_000_000;
/// Buckets: 36 chunks of [`CHUNK`].
pub const BUCKETS: usize = CHUNKS * CHUNK;
/// Buckets in a doubling, the unit in which recorders allocate.
pub const CHUNK: usize = 128;
/// Chunks that cover 1 ns to [`HIGHEST_NS`].
pub const CHUNKS: usize = 36;

/// The bucket of a value.
#[inline]
pub fn bucket_of(value_ns: u64) -> usize {
    let value = value_ns.min(HIGHEST_NS);
    // Number of doublings above the 256 exact buckets.
    let doubling = (56 - (value | 255).leading_zeros()) as usize;
    (doubling << 7) + (value >> doubling) as usize
}

/// Smallest and largest value of a bucket.
///
/// # Panics
/// In debug builds when `bucket` is not below [`BUCKETS`].
pub fn range_of(bucket: usize) -> (u64, u64) {
    debug_assert!(bucket < BUCKETS);
    let doubling = (bucket >> 7).saturating_sub(1);
    let lowest = ((bucket - (doubling << 7)) as u64) << doubling;
    (lowest, lowest + (1 << doubling) - 1)
}

/// Counts by bucket, with their exact sum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    counts: Box<[u64]>,
    count: u64,
    sum_ns: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS].into_boxed_slice(), count: 0, sum_ns: 0 }
    }
}

impl Histogram {
    /// Counts one value.
    #[inline]
    pub fn record(&mut self, value_ns: u64) {
        self.counts[bucket_of(value_ns)] += 1;
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(value_ns);
    }

    /// Adds `count` values to one bucket; their sum comes by [`add_sum`](Self::add_sum).
    #[inline]
    pub fn add_bucket(&mut self, bucket: usize, count: u64) {
        self.counts[bucket] += count;
        self.count += count;
    }

    /// Adds to the sum of all values.
    pub fn add_sum(&mut self, sum_ns: u64) {
        self.sum_ns = self.sum_ns.saturating_add(sum_ns);
    }

    /// Adds all of another histogram.
    pub fn merge(&mut self, other: &Self) {
        let expected = self.count + other.count;
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.count = expected;
        self.add_sum(other.sum_ns);
    }

    /// The values recorded since `earlier`, a former state of the same histogram.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let counts: Box<[u64]> =
            self.counts.iter().zip(&earlier.counts).map(|(now, then)| now - then).collect();
        Self {
            counts,
            count: self.count - earlier.count,
            sum_ns: self.sum_ns.saturating_sub(earlier.sum_ns),
        }
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        self.count = 0;
        self.sum_ns = 0;
    }

    /// How many values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Sum of all values in nanoseconds.
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// Counts by bucket, [`BUCKETS`] of them.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Upper bound of the bucket that holds quantile `q` (0 to 1): at least `q` of the values are at
    /// most this. 0 when empty.
    pub fn quantile_ns(&self, q: f64) -> u64 {
        self.bucket_of_rank(self.rank_of(q)).map_or(0, |bucket| range_of(bucket).1)
    }

    /// Which of the values in their order quantile `q` is, from 1 on.
    fn rank_of(&self, q: f64) -> u64 {
        // The rounding forgives what binary fractions cost: 0.95 * 100 is a little over 95.
        ((q * self.count as f64 * (1.0 - 1e-12)).ceil() as u64).clamp(1, self.count.max(1))
    }

    /// The bucket of the value with this rank; none if there are fewer values.
    fn bucket_of_rank(&self, rank: u64) -> Option<usize> {
        let mut seen = 0;
        self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        })
    }

    /// Upper bound of the largest value's bucket; 0 when empty.
    pub fn max_ns(&self) -> u64 {
        self.counts.iter().rposition(|&count| count > 0).map_or(0, |bucket| range_of(bucket).1)
    }

    /// Lower bound of the smallest value's bucket; 0 when empty.
    pub fn min_ns(&self) -> u64 {
        self.counts.iter().position(|&count| count > 0).map_or(0, |bucket| range_of(bucket).0)
    }

    /// Mean in nanoseconds, 0 when empty. Computed from the exact sum and clamped to the smallest
    /// and largest bucket, because a snapshot of a live recorder may have a sum one value ahead of
    /// its counts.
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        let mean = self.sum_ns as f64 / self.count as f64;
        mean.clamp(self.min_ns() as f64, self.max_ns() as f64)
    }

    /// The summary that events carry; `None` when empty. A percentile q needs 10 / (1 - q) values.
    pub fn latency(&self) -> Option<Latency> {
        let quantile = |q: f64, needs: u64| (self.count >= needs).then(|| self.quantile_ns(q));
        (self.count > 0).then(|| Latency {
            count: self.count,
            mean_ns: self.mean_ns(),
            p50_ns: quantile(0.50, 20),
            p95_ns: quantile(0.95, 200),
            p99_ns: quantile(0.99, 1_000),
            p999_ns: quantile(0.999, 10_000),
            max_ns: self.max_ns(),
            censored: 0,
            at_least: vec![],
        })
    }

    /// The summary of these values and of `ages`, which are censored values (lower bounds). A
    /// statistic that would grow by more than a bucket if the censored values were infinite is a
    /// lower bound too.
    pub fn latency_with(&self, ages: &Self) -> Option<Latency> {
        let mut all = self.clone();
        all.merge(ages);
        let mut latency = all.latency()?;
        if ages.count == 0 {
            return Some(latency);
        }
        let percentiles = [
            ("p50_ns", 0.50, latency.p50_ns),
            ("p95_ns", 0.95, latency.p95_ns),
            ("p99_ns", 0.99, latency.p99_ns),
            ("p999_ns", 0.999, latency.p999_ns),
        ];
        let is_bound = |&(_, q, low): &(&str, f64, Option<u64>)| {
            low.is_some_and(|low_ns| {
                let high = self.bucket_of_rank(all.rank_of(q));
                high.is_none_or(|bucket| bucket > bucket_of(low_ns) + 1)
            })
        };
        latency.censored = ages.count;
        latency.at_least = std::iter::once("mean_ns")
            .chain(percentiles.iter().filter(|p| is_bound(p)).map(|p| p.0))
            .map(str::to_owned)
            .collect();
        Some(latency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_tile_the_range_without_gap() {
        let mut next = 0;
        for bucket in 0..BUCKETS {
            let (low, high) = range_of(bucket);
            assert_eq!(low, next, "bucket {bucket}");
            assert!(high == low || (high - low + 1) as f64 / low as f64 <= 1.0 / 128.0);
            next = high + 1;
        }
        assert!(next > HIGHEST_NS);
        assert_eq!(bucket_of(u64::MAX), bucket_of(HIGHEST_NS));
    }

    #[test]
    fn a_percentile_needs_values_behind_it() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.latency(), None);
        (1..=200).for_each(|value| histogram.record(value));
        let latency = histogram.latency().unwrap();
        assert_eq!((latency.p50_ns, latency.p95_ns, latency.p99_ns), (Some(100), Some(190), None));
        assert_eq!((latency.mean_ns, latency.max_ns), (100.5, 200));
    }

    #[test]
    fn what_was_given_up_makes_lower_bounds_of_the_percentiles_it_could_move() {
        let (mut known, mut ages) = (Histogram::default(), Histogram::default());
        (0..9_920).for_each(|_| known.record(5_000_000));
        (0..80).for_each(|_| ages.record(200_000_000));
        let latency = known.latency_with(&ages).unwrap();
        assert_eq!((latency.count, latency.censored), (10_000, 80));
        assert_eq!(latency.at_least, ["mean_ns", "p999_ns"]);
        assert!(latency.p999_ns.unwrap() >= 200_000_000 && latency.p99_ns.unwrap() < 5_100_000);
        // An immediate failure affects the tail alone.
        let mut ages = Histogram::default();
        ages.record(1_000);
        let latency = known.latency_with(&ages).unwrap();
        assert_eq!((latency.censored, latency.at_least), (1, vec!["mean_ns".to_owned()]));
        assert_eq!(latency.p999_ns, known.latency().unwrap().p999_ns);
        // Nothing committed: nothing but bounds.
        let nothing = Histogram::default();
        (0..30).for_each(|_| ages.record(1_000));
        assert_eq!(nothing.latency_with(&ages).unwrap().at_least, ["mean_ns", "p50_ns"]);
        assert_eq!(nothing.latency_with(&nothing), None);
    }

    fn values() -> impl Strategy<Value = Vec<u64>> {
        prop::collection::vec(
            (0_u32..42, 1_u64..1000).prop_map(|(s, v)| (v << s).min(HIGHEST_NS)),
            1..400,
        )
    }

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        values.iter().for_each(|&value| histogram.record(value));
        histogram
    }

    proptest! {
        #[test]
        fn a_value_lies_in_its_bucket(value in 0..=HIGHEST_NS) {
            let (low, high) = range_of(bucket_of(value));
            prop_assert!(low <= value && value <= high);
        }

        #[test]
        fn a_merge_loses_nothing(a in values(), b in values()) {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            let both: Vec<u64> = a.iter().chain(&b).copied().collect();
            prop_assert_eq!(&merged, &of(&both));
            prop_assert_eq!(merged.count(), merged.counts().iter().sum::<u64>());
            prop_assert_eq!(merged.since(&of(&a)), of(&b));
        }

        #[test]
        fn quantiles_are_within_a_percent(mut values in values(), q in 0.0..=1.0_f64) {
            let got = of(&values).quantile_ns(q);
            values.sort_unstable();
            let rank = ((q * values.len() as f64 * (1.0 - 1e-12)).ceil() as usize).max(1);
            let exact = values[rank - 1];
            prop_assert!(got >= exact && (got - exact) as f64 <= 0.01 * exact as f64, "{} for {}", got, exact);
        }
    }
}
