//! The distribution of numbers (widths of ranges, lengths of lists), as a few numbers with their shares.
//!
//! Up to 20 different numbers are counted exactly. Of more, a random sample is kept (Vitter, "Random
//! Sampling with a Reservoir", 1985, algorithm R). The sorted sample is reported as the means of groups
//! of equal size, which preserves the overall mean.

use schemars::JsonSchema;
use serde::Serialize;

/// Maximum number of different numbers that are counted exactly.
const FEW: usize = 20;
/// Number of groups of a larger set.
const GROUPS: usize = 40;
/// Size of the sample.
const SAMPLE: usize = 2000;

/// Collects numbers.
#[derive(Debug, Default)]
pub struct Numbers {
    count: u64,
    /// Different numbers with their counts, at most the first [`FEW`].
    counted: Vec<(f64, u64)>,
    is_many: bool,
    sample: Vec<f64>,
    state: u64,
}

/// Distribution of numbers: values with their shares.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Spread {
    /// Number of numbers.
    pub count: u64,
    /// Ascending: at most 20 exact values, or the means of 40 groups of equal size.
    pub values: Vec<f64>,
    /// Shares of `values`, 0 to 1, in the same order.
    pub shares: Vec<f64>,
}

impl Numbers {
    /// Adds a number.
    pub fn add(&mut self, number: f64) {
        self.count += 1;
        let has_room = self.counted.len() < FEW;
        match self.counted.iter_mut().find(|(known, _)| *known == number) {
            Some((_, count)) => *count += 1,
            None if has_room => self.counted.push((number, 1)),
            None => self.is_many = true,
        }
        if self.sample.len() < SAMPLE {
            self.sample.push(number);
            return;
        }
        let place = self.draw() % self.count;
        if let Some(kept) = self.sample.get_mut(place as usize) {
            *kept = number;
        }
    }

    /// Reproducible 64-bit pseudorandom numbers (Steele, Lea and Flood, "SplitMix").
    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// The distribution of the numbers.
    pub fn finish(mut self) -> Spread {
        if !self.is_many {
            self.counted.sort_by(|a, b| a.0.total_cmp(&b.0));
            let share = |&(_, count): &(f64, u64)| count as f64 / self.count as f64;
            return Spread {
                count: self.count,
                values: self.counted.iter().map(|(number, _)| *number).collect(),
                shares: self.counted.iter().map(share).collect(),
            };
        }
        self.sample.sort_by(f64::total_cmp);
        let n = self.sample.len();
        let borders = |group: usize| group * n / GROUPS..(group + 1) * n / GROUPS;
        let groups = (0..GROUPS).map(|group| &self.sample[borders(group)]);
        let groups: Vec<&[f64]> = groups.filter(|group| !group.is_empty()).collect();
        let mean = |group: &&[f64]| group.iter().sum::<f64>() / group.len() as f64;
        Spread {
            count: self.count,
            values: groups.iter().map(mean).collect(),
            shares: groups.iter().map(|group| group.len() as f64 / n as f64).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(numbers: impl IntoIterator<Item = f64>) -> Spread {
        let mut all = Numbers::default();
        numbers.into_iter().for_each(|number| all.add(number));
        all.finish()
    }

    #[test]
    fn few_different_numbers_are_exact() {
        let found = of((0..1000).map(|n| if n % 10 == 0 { 999.0 } else { 99.0 }));
        assert_eq!(found.values, [99.0, 999.0]);
        assert_eq!((found.shares, found.count), (vec![0.9, 0.1], 1000));
        assert_eq!(of([]), Spread::default());
    }

    #[test]
    fn of_many_the_quantiles_and_the_mean_come_back() {
        let found = of((0..100_000).map(|n| f64::from(n * 7919 % 100_000)));
        assert_eq!(found.values.len(), GROUPS);
        for (at, value) in found.values.iter().enumerate() {
            let expected = (at as f64 + 0.5) / GROUPS as f64 * 1e5;
            // Five standard deviations of a quantile of a sample of this size.
            let within = 5.0 * 0.5 / (SAMPLE as f64).sqrt() * 1e5;
            assert!((value - expected).abs() < within, "{at}: {value}");
        }
    }

    proptest! {
        #[test]
        fn shares_make_a_whole_and_values_lie_within_what_was_seen(
            numbers in prop::collection::vec(-1e6..1e6f64, 1..3000),
        ) {
            let found = of(numbers.iter().copied());
            prop_assert_eq!(found.values.len(), found.shares.len());
            prop_assert!((found.shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
            let greatest = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(found.values.windows(2).all(|pair| pair[0] <= pair[1]));
            prop_assert!(found.values[0] >= least - 1e-6);
            prop_assert!(found.values[found.values.len() - 1] <= greatest + 1e-6);
            if numbers.len() <= SAMPLE {
                let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
                let again: f64 = found.values.iter().zip(&found.shares).map(|(v, s)| v * s).sum();
                prop_assert!((mean - again).abs() < 1e-3, "{} {}", mean, again);
            }
        }
    }
}
