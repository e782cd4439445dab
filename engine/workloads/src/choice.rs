//! Weighted random choice by binary search in cumulative weights: O(log n) per draw, no allocation.

use dyno_core::random::rng::Rng;

/// A discrete distribution over the indexes 0 to n - 1.
#[derive(Debug, Clone, PartialEq)]
pub enum Choice {
    /// Uniform over this many indexes.
    Even(u64),
    /// Cumulative weights; the last one is the total.
    Weighted(Vec<f64>),
}

impl Choice {
    /// Uniform over `n` indexes. Panics if `n` is 0.
    pub fn even(n: usize) -> Self {
        assert!(n > 0, "nothing to choose from");
        Self::Even(n as u64)
    }

    /// Proportional to `weights`, none of which may be negative. `None` if the total is 0.
    pub fn weighted(weights: &[f64]) -> Option<Self> {
        let mut sum = 0.0;
        let cumulative: Vec<f64> = weights
            .iter()
            .map(|weight| {
                sum += weight;
                sum
            })
            .collect();
        let alike = weights.windows(2).all(|pair| pair[0] == pair[1]);
        (sum > 0.0)
            .then(|| if alike { Self::even(weights.len()) } else { Self::Weighted(cumulative) })
    }

    /// Draws an index. A uniform choice of one index does not advance `rng`.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> usize {
        match self {
            Self::Even(1) => 0,
            Self::Even(n) => rng.below(*n) as usize,
            Self::Weighted(cumulative) => {
                let sum = cumulative[cumulative.len() - 1];
                // Rounding may raise the product to the total, which lies beyond the last index.
                let x = (rng.unit() * sum).min(sum.next_down());
                cumulative.partition_point(|&upto| upto <= x)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::random::rng::Rng;
    use proptest::prelude::*;

    #[test]
    fn shares_follow_the_weights() {
        let choice = Choice::weighted(&[3.0, 0.0, 1.0, 0.0]).expect("a weight above 0");
        let mut rng = Rng::new(7);
        let mut counts = [0u32; 4];
        for _ in 0..40_000 {
            counts[choice.draw(&mut rng)] += 1;
        }
        assert_eq!((counts[1], counts[3]), (0, 0));
        assert!(counts[0].abs_diff(30_000) < 500, "{counts:?}");
        assert_eq!(Choice::weighted(&[0.0, 0.0]), None);
        assert_eq!(Choice::weighted(&[]), None);
        assert_eq!(Choice::weighted(&[2.0, 2.0]), Some(Choice::Even(2)));
    }

    proptest! {
        #[test]
        fn only_what_has_weight_is_chosen(
            weights in prop::collection::vec(prop_oneof![Just(0.0), 1e-9..1e12f64], 1..40),
            seed: u64,
        ) {
            let Some(choice) = Choice::weighted(&weights) else {
                prop_assert!(weights.iter().all(|&w| w == 0.0));
                return Ok(());
            };
            let mut rng = Rng::new(seed);
            for _ in 0..100 {
                prop_assert!(weights[choice.draw(&mut rng)] > 0.0);
            }
        }
    }
}
