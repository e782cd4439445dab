//! Spreads the hot keys of a skewed distribution over its range, since adjacent keys would share pages.
//!
//! Rank r maps to `r * step mod n`, where `step` is the largest number that is coprime to n and at most
//! n divided by the golden ratio. The mapping is a bijection, so that the distribution keeps its exact
//! shape (hashing, as in YCSB, merges some keys and omits others). By the three-gap theorem it spaces
//! the hottest k keys almost evenly for every k.

/// A permutation of `0..n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scatter {
    n: u64,
    step: u64,
}

impl Scatter {
    /// Creates a permutation of `n` keys; `n` must be at least 1.
    pub fn new(n: u64) -> Self {
        const GOLDEN: f64 = 0.618_033_988_749_894_8;
        let near = ((n as f64 * GOLDEN) as u64).clamp(1, n);
        // Coprime numbers are dense, so that the search takes few steps.
        let step = (0..near).map(|off| near - off).find(|&step| gcd(step, n) == 1).unwrap_or(1);
        Self { n, step }
    }

    /// The position of `rank`, which must be below n.
    #[inline]
    pub fn place(&self, rank: u64) -> u64 {
        debug_assert!(rank < self.n);
        match rank.checked_mul(self.step) {
            Some(product) => product % self.n,
            None => (u128::from(rank) * u128::from(self.step) % u128::from(self.n)) as u64,
        }
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_place_is_taken_once(n in 1..3000u64) {
            let scatter = Scatter::new(n);
            let mut places: Vec<u64> = (0..n).map(|rank| scatter.place(rank)).collect();
            places.sort_unstable();
            prop_assert_eq!(places, (0..n).collect::<Vec<_>>());
        }

        #[test]
        fn large_ranges_stay_in_range(n in 1..=u64::MAX, rank: u64) {
            prop_assert!(Scatter::new(n).place(rank % n) < n);
        }
    }

    #[test]
    fn the_hottest_keys_lie_far_apart() {
        for n in [1000, 65_536, 1_000_000] {
            let scatter = Scatter::new(n);
            let mut places: Vec<u64> = (0..10).map(|rank| scatter.place(rank)).collect();
            places.sort_unstable();
            let nearest = places.windows(2).map(|pair| pair[1] - pair[0]).min();
            assert!(nearest > Some(n / 30), "{n}: {places:?}");
        }
    }
}
