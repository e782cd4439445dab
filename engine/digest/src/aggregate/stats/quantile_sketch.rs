//! Estimates quantiles in bounded memory: counts in buckets of equal relative width.
//!
//! An octave has 64 buckets of equal width, so that the middle of a bucket differs by at most 1/128
//! from any value in it (the layout of HdrHistogram, the error bound of Masson, Rim and Lee,
//! "DDSketch", 2019). Merging adds counts, so a sketch does not depend on the order of its values.

/// Largest relative error of a quantile.
pub const ERROR: f64 = 1.0 / 128.0;

const BITS: u32 = 6;
const PER_OCTAVE: u64 = 1 << BITS;
/// Up to this many values are stored as a list; more are counted in buckets.
const FEW: usize = 32;

/// Counts of values.
#[derive(Debug, Clone, Default)]
pub struct Sketch {
    /// Buckets of single values, with their weights, while there are few values.
    few: Vec<(u16, u32)>,
    /// Weights of the buckets from `first` on.
    counts: Vec<u32>,
    first: u16,
}

/// The bucket of a value.
#[inline]
fn bucket(value: u64) -> u16 {
    if value < PER_OCTAVE {
        return value as u16;
    }
    let shift = 63 - value.leading_zeros() - BITS;
    // At most (57 + 1) * 64 + 63: fits.
    (((shift + 1) as u64 * PER_OCTAVE) + ((value >> shift) & (PER_OCTAVE - 1))) as u16
}

/// The middle of a bucket.
fn middle(bucket: u16) -> f64 {
    let (octave, within) = (u64::from(bucket) / PER_OCTAVE, u64::from(bucket) % PER_OCTAVE);
    if octave == 0 {
        return within as f64;
    }
    let width = (octave as f64 - 1.0).exp2();
    ((PER_OCTAVE + within) as f64 + if width > 1.0 { 0.5 } else { 0.0 }) * width
}

impl Sketch {
    /// Adds a value with the weight `weight`.
    #[inline]
    pub fn add(&mut self, value: u64, weight: u32) {
        let bucket = bucket(value);
        let at = usize::from(bucket).wrapping_sub(usize::from(self.first));
        match self.counts.get_mut(at) {
            Some(count) => *count = count.saturating_add(weight),
            None => self.add_elsewhere(bucket, weight),
        }
    }

    #[cold]
    fn add_elsewhere(&mut self, bucket: u16, weight: u32) {
        if !self.counts.is_empty() {
            self.reach(bucket, bucket);
            self.count(bucket, weight);
            return;
        }
        if self.few.len() < FEW {
            self.few.push((bucket, weight));
            return;
        }
        let few = std::mem::take(&mut self.few);
        let buckets = || few.iter().map(|&(bucket, _)| bucket).chain([bucket]);
        self.reach(buckets().min().unwrap_or(bucket), buckets().max().unwrap_or(bucket));
        for (bucket, weight) in few.into_iter().chain([(bucket, weight)]) {
            self.count(bucket, weight);
        }
    }

    fn count(&mut self, bucket: u16, weight: u32) {
        let count = &mut self.counts[usize::from(bucket - self.first)];
        *count = count.saturating_add(weight);
    }

    /// Makes room for the buckets from `low` to `high`, in whole octaves, because growing is slow.
    fn reach(&mut self, low: u16, high: u16) {
        let step = PER_OCTAVE as u16;
        let (low, high) = (low / step * step, high / step * step + step);
        if self.counts.is_empty() {
            self.first = low;
        }
        let end = self.first + self.counts.len() as u16;
        if low < self.first {
            let more = usize::from(self.first - low);
            self.counts.splice(0..0, std::iter::repeat_n(0, more));
            self.first = low;
        }
        if high > end {
            self.counts.resize(usize::from(high - self.first), 0);
        }
    }

    /// Merges another sketch.
    pub fn merge(&mut self, other: &Sketch) {
        if !other.counts.is_empty() {
            self.spread();
            self.reach(other.first, other.first + other.counts.len() as u16 - 1);
            let at = usize::from(other.first - self.first);
            for (mine, theirs) in self.counts[at..].iter_mut().zip(&other.counts) {
                *mine = mine.saturating_add(*theirs);
            }
        }
        for &(bucket, weight) in &other.few {
            let at = usize::from(bucket).wrapping_sub(usize::from(self.first));
            match self.counts.get_mut(at) {
                Some(count) => *count = count.saturating_add(weight),
                None => self.add_elsewhere(bucket, weight),
            }
        }
    }

    /// Converts the list to buckets.
    fn spread(&mut self) {
        for (bucket, weight) in std::mem::take(&mut self.few) {
            self.reach(bucket, bucket);
            self.count(bucket, weight);
        }
    }

    /// Share of values in buckets whose middle is below `value`; 0 if there are no values.
    pub fn share_below(&self, value: f64) -> f64 {
        let all = self.buckets();
        let total: u64 = all.iter().map(|(_, count)| count).sum();
        let below = all.iter().filter(|(bucket, _)| middle(*bucket) < value);
        below.map(|(_, count)| count).sum::<u64>() as f64 / total.max(1) as f64
    }

    /// Buckets in ascending order, with their weights.
    fn buckets(&self) -> Vec<(u16, u64)> {
        let mut all: Vec<(u16, u64)> = if self.counts.is_empty() {
            self.few.iter().map(|&(bucket, weight)| (bucket, u64::from(weight))).collect()
        } else {
            let of = |(at, &count): (usize, &u32)| (self.first + at as u16, u64::from(count));
            self.counts.iter().enumerate().filter(|(_, count)| **count > 0).map(of).collect()
        };
        all.sort_unstable();
        all
    }

    /// The quantiles at `shares` (ascending, 0 to 1); `None` if there are no values. A quantile is
    /// the smallest value such that at least this share of the values is not above it.
    pub fn quantiles<const N: usize>(&self, shares: [f64; N]) -> Option<[f64; N]> {
        let all = self.buckets();
        let total: u64 = all.iter().map(|(_, count)| count).sum();
        if total == 0 {
            return None;
        }
        let (mut seen, mut left) = (0, all.iter());
        let mut at = 0;
        Some(shares.map(|share| {
            let rank = ((share * total as f64).ceil() as u64).clamp(1, total);
            while seen < rank {
                let Some(&(bucket, count)) = left.next() else { break };
                (at, seen) = (bucket, seen + count);
            }
            middle(at)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_value_is_within_the_error_of_its_bucket() {
        for value in (0..64).flat_map(|bit| {
            let power = 1_u64 << bit;
            [power, power - 1, power + power / 3, power | power >> 1 | power >> 7, u64::MAX >> bit]
        }) {
            let found = middle(bucket(value));
            assert!((found - value as f64).abs() <= value as f64 * ERROR, "{value}: {found}");
        }
    }

    #[test]
    fn quantiles_of_no_values_are_absent() {
        assert_eq!(Sketch::default().quantiles([0.5]), None);
    }

    #[test]
    fn a_weight_counts_as_so_many_values() {
        let mut sketch = Sketch::default();
        sketch.add(10, 99);
        sketch.add(50, 1);
        assert_eq!(sketch.quantiles([0.5, 0.99, 1.0]), Some([10.0, 10.0, 50.0]));
    }

    proptest! {
        #[test]
        fn quantiles_are_within_the_error_however_the_values_were_split(
            mut values in proptest::collection::vec(0_u64..1 << 40, 1..300),
            cut in 0_usize..300,
        ) {
            let cut = cut.min(values.len());
            let of = |values: &[u64]| {
                let mut sketch = Sketch::default();
                values.iter().for_each(|&value| sketch.add(value, 1));
                sketch
            };
            let (mut left, right, whole) = (of(&values[..cut]), of(&values[cut..]), of(&values));
            left.merge(&right);
            let shares = [0.0, 0.5, 0.95, 0.99, 1.0];
            let found = left.quantiles(shares).unwrap();
            prop_assert_eq!(found, whole.quantiles(shares).unwrap());
            values.sort_unstable();
            for (share, found) in shares.into_iter().zip(found) {
                let rank = ((share * values.len() as f64).ceil() as usize).clamp(1, values.len());
                let exact = values[rank - 1] as f64;
                prop_assert!((found - exact).abs() <= exact * ERROR, "{share}: {found} for {exact}");
            }
        }
    }
}
