//! `sysbench.rand.unique`: all numbers of a range, each once, in an order determined by the seed.
//!
//! The order is a permutation computed per number, without memory of those gone: a Feistel network
//! over the bits that the range needs, walked until it falls into the range (Black and Rogaway,
//! "Ciphers with arbitrary finite domains", 2002). The domain is at most twice the range, so two
//! steps are enough on average.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};

/// The number of ranges whose position is stored; a script with more restarts one of them.
const RANGES_MAX: usize = 1024;
/// Odd, so that the halves of the network change places as often as not; enough that neighbours
/// have no visible relation (it need not resist anybody).
const ROUNDS: u64 = 7;

/// The position of the run in each range; shared by its sessions.
#[derive(Debug)]
pub struct Uniques {
    seed: u64,
    gone: Mutex<BTreeMap<(i64, u64), Arc<AtomicU64>>>,
}

impl Uniques {
    /// Creates the positions of a run with this seed.
    pub fn new(seed: u64) -> Self {
        Self { seed, gone: Mutex::default() }
    }

    /// Returns the range of `span + 1` numbers from `low`.
    pub(super) fn range(&self, low: i64, span: u64) -> Range {
        let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        if gone.len() >= RANGES_MAX && !gone.contains_key(&(low, span)) {
            gone.pop_first();
        }
        let gone = Arc::clone(gone.entry((low, span)).or_default());
        Range { low, order: Order::new(self.seed ^ low as u64, span), gone }
    }
}

/// A session's reference to a range.
#[derive(Debug)]
pub(super) struct Range {
    low: i64,
    order: Order,
    gone: Arc<AtomicU64>,
}

impl Range {
    pub(super) fn is(&self, low: i64, span: u64) -> bool {
        (self.low, self.order.span) == (low, span)
    }

    /// Returns the next number's distance from the lower end.
    pub(super) fn next(&self) -> u64 {
        let index = self.gone.fetch_add(1, Relaxed);
        self.order.place(match self.order.span.checked_add(1) {
            Some(n) => index % n,
            None => index,
        })
    }
}

/// A permutation of `0..=span`.
#[derive(Debug, Clone, Copy)]
struct Order {
    span: u64,
    seed: u64,
    low_bits: u32,
    high_bits: u32,
}

impl Order {
    fn new(seed: u64, span: u64) -> Self {
        let bits = 64 - span.leading_zeros();
        Self { span, seed, low_bits: bits / 2, high_bits: bits - bits / 2 }
    }

    fn place(&self, index: u64) -> u64 {
        debug_assert!(index <= self.span);
        let mut place = self.step(index);
        // A permutation of the domain leads back into the range, at the latest to `index` itself.
        while place > self.span {
            place = self.step(place);
        }
        place
    }

    /// A permutation of all numbers of `low_bits + high_bits` bits.
    fn step(&self, x: u64) -> u64 {
        let mask = |bits: u32| (1u64 << bits) - 1;
        let (mut high, mut low) = (x >> self.low_bits, x & mask(self.low_bits));
        for round in 0..ROUNDS {
            let changes_high = round % 2 == 0;
            if changes_high {
                high = (high ^ self.hash(round, low)) & mask(self.high_bits);
            } else {
                low = (low ^ self.hash(round, high)) & mask(self.low_bits);
            }
        }
        high << self.low_bits | low
    }

    fn hash(&self, round: u64, half: u64) -> u64 {
        let mut rng = dyno_core::random::rng::Rng::for_row(self.seed, round, half);
        rng.u64() >> 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_number_comes_once_before_any_comes_again(span in 0..3000u64, seed: u64, low: i64) {
            let uniques = Uniques::new(seed);
            // Two sessions share the position.
            let ranges = [uniques.range(low, span), uniques.range(low, span)];
            let mut had: Vec<u64> = (0..=span).map(|i| ranges[(i % 2) as usize].next()).collect();
            let first = had[0];
            prop_assert_eq!(ranges[0].next(), first, "then in the same order");
            had.sort_unstable();
            prop_assert_eq!(had, (0..=span).collect::<Vec<_>>());
        }

        #[test]
        fn large_ranges_stay_in_range(span: u64, seed: u64, index: u64) {
            let order = Order::new(seed, span);
            let index = span.checked_add(1).map_or(index, |n| index % n);
            prop_assert!(order.place(index) <= span);
        }
    }

    #[test]
    fn the_order_depends_on_the_seed() {
        let first = |seed| {
            let range = Uniques::new(seed).range(1, 999_999);
            [(); 5].map(|()| range.next())
        };
        assert_eq!(first(7), first(7));
        assert_ne!(first(7), first(8));
    }

    #[test]
    fn numbers_are_spread_evenly_from_the_beginning() {
        let range = Uniques::new(3).range(0, u64::from(u32::MAX));
        let mut counts = [0u32; 100];
        for _ in 0..100_000 {
            counts[((range.next() * 100) >> 32) as usize] += 1;
        }
        // 0.9999 quantile of chi-square with 99 degrees of freedom.
        let chi2: f64 = counts.iter().map(|&n| (f64::from(n) - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi2 < 161.3, "chi-square {chi2}");
    }
}
