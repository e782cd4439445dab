//! Counts different transactions in bounded memory.
//!
//! Where steps vary (a table drawn for each statement), nearly all transactions differ. When the map is
//! full, one in two of all counted transactions is kept, later one in four, and so on. The counts of
//! frequent and rare transactions stay unbiased (Gibbons and Matias, "New Sampling-Based Summary
//! Statistics for Improving Approximate Query Answers", 1998, "concise samples").

use super::unit::Step;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Maximum number of different transactions.
const DIFFERENT_MAX: usize = 20_000;

/// Identity of a transaction.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    /// Its statements.
    pub steps: Vec<Step>,
    /// Whether it was rolled back.
    pub is_rolled_back: bool,
}

/// Counts of transactions by their [`Key`].
#[derive(Debug)]
pub struct Transactions {
    counts: HashMap<Key, u64>,
    /// One in 2^level is counted.
    level: u32,
    drawn: u64,
    different_max: usize,
}

impl Default for Transactions {
    fn default() -> Self {
        Self { counts: HashMap::new(), level: 0, drawn: 0, different_max: DIFFERENT_MAX }
    }
}

impl Transactions {
    /// Adds a transaction.
    pub fn add(&mut self, key: Key) {
        self.drawn += 1;
        if !is_kept(mixed(self.drawn), self.level) {
            return;
        }
        if let Some(count) = self.counts.get_mut(&key) {
            *count += 1;
            return;
        }
        while self.counts.len() >= self.different_max {
            self.thin();
            if !is_kept(mixed(self.drawn), self.level) {
                return;
            }
        }
        self.counts.insert(key, 1);
    }

    /// Keeps each transaction with a chance of one half.
    fn thin(&mut self) {
        self.level += 1;
        let level = self.level;
        self.counts.retain(|key, count| {
            // The seed depends on the key, because the order of a hash map is not reproducible.
            let mut hasher = DefaultHasher::new();
            (key, level).hash(&mut hasher);
            *count = half(*count, hasher.finish());
            *count > 0
        });
    }

    /// Sampling: one transaction in this many was counted.
    pub fn one_in(&self) -> u64 {
        1 << self.level
    }

    /// Each transaction with its count, which is an estimate if not all were counted.
    pub fn finish(self) -> impl Iterator<Item = (Key, u64)> {
        let level = self.level;
        self.counts.into_iter().map(move |(key, count)| (key, count << level))
    }
}

/// Whether number `drawn` is in the sample of one in 2^level. A sample is part of those at lower levels.
fn is_kept(drawn: u64, level: u32) -> bool {
    drawn.trailing_zeros() >= level
}

/// Number of heads in `count` tosses of a coin.
fn half(count: u64, seed: u64) -> u64 {
    let words = (0..count.div_ceil(64)).map(|word| {
        let bits = mixed(seed.wrapping_add(word));
        let left = count - word * 64;
        u64::from((if left < 64 { bits & ((1 << left) - 1) } else { bits }).count_ones())
    });
    words.sum()
}

/// Reproducible 64-bit pseudorandom numbers (Steele, Lea and Flood, "SplitMix").
fn mixed(n: u64) -> u64 {
    let x = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u32) -> Key {
        Key { steps: vec![Step { statement: n, repeat: 1 }], is_rolled_back: false }
    }

    fn counted(different_max: usize, all: impl Iterator<Item = u32>) -> (u64, HashMap<u32, u64>) {
        let mut kept = Transactions { different_max, ..Transactions::default() };
        all.for_each(|n| kept.add(key(n)));
        let one_in = kept.one_in();
        (one_in, kept.finish().map(|(key, count)| (key.steps[0].statement, count)).collect())
    }

    #[test]
    fn few_different_ones_are_exact() {
        let (one_in, counts) = counted(10, (0..1000).map(|n| n % 10));
        assert_eq!((one_in, counts.len()), (1, 10));
        assert!(counts.values().all(|&count| count == 100));
    }

    #[test]
    fn of_many_different_ones_counts_stay_fair() {
        // Every fifth is the same, all others differ.
        let all = (1..=100_000).map(|n| if n % 5 == 0 { 0 } else { n });
        let (one_in, counts) = counted(1000, all);
        assert!(one_in >= 64 && counts.len() <= 1000, "{one_in}");
        let total: u64 = counts.values().sum();
        // Five standard deviations of the sampling error.
        let within = |n: f64| 5.0 * (n * one_in as f64).sqrt();
        assert!((total as f64 - 1e5).abs() < within(1e5), "{total}");
        assert!((counts[&0] as f64 - 2e4).abs() < within(2e4), "{}", counts[&0]);
    }

    #[test]
    fn the_same_log_gives_the_same_counts() {
        let all = || (0..30_000).map(|n| n % 7000);
        assert_eq!(counted(500, all()), counted(500, all()));
    }

    #[test]
    fn half_of_the_coins_show_heads() {
        assert_eq!(half(0, 7), 0);
        let heads = half(1_000_001, 7);
        assert!(heads.abs_diff(500_000) < 2500, "{heads}");
        assert!((0..100).all(|seed| half(1, seed) <= 1));
    }
}
