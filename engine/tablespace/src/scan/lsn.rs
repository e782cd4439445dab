//! Log sequence numbers of pages, as a histogram whose bins double when the range outgrows them.

use crate::document::Lsn;

const BINS: usize = 1024;

/// The histogram.
#[derive(Debug, Clone)]
pub struct Ages {
    counts: Vec<u64>,
    /// log2 of a bin's width.
    shift: u32,
    /// Number of the first bin, counted from LSN 0.
    first: u64,
    min: u64,
    max: u64,
}

impl Default for Ages {
    fn default() -> Self {
        Self { counts: vec![0; BINS], shift: 0, first: 0, min: u64::MAX, max: 0 }
    }
}

impl Ages {
    /// Adds a page.
    pub fn add(&mut self, lsn: u64) {
        if self.min > self.max {
            self.first = lsn;
        }
        (self.min, self.max) = (self.min.min(lsn), self.max.max(lsn));
        while (self.max >> self.shift) - (self.min >> self.shift) >= BINS as u64 {
            self.halve();
        }
        let bin = self.min >> self.shift;
        if bin < self.first {
            // Bins at the end are empty: the range fits.
            self.counts.rotate_right((self.first - bin) as usize);
            self.first = bin;
        }
        self.counts[((lsn >> self.shift) - self.first) as usize] += 1;
    }

    /// Doubles the width of the bins.
    fn halve(&mut self) {
        let mut counts = vec![0; BINS];
        let first = self.first >> 1;
        for (at, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let bin = ((self.first + at as u64) >> 1) - first;
            counts[bin as usize] += count;
        }
        (self.counts, self.first, self.shift) = (counts, first, self.shift + 1);
    }

    /// The distribution; `None` without pages.
    pub fn found(&self) -> Option<Lsn> {
        let total: u64 = self.counts.iter().sum();
        (total > 0).then(|| Lsn {
            min: self.min,
            max: self.max,
            age_deciles: std::array::from_fn(|at| self.age_of(total * (at as u64 + 1) / 10)),
        })
    }

    /// The age that `rank` pages do not exceed.
    fn age_of(&self, rank: u64) -> u64 {
        let mut seen = 0;
        for (at, count) in self.counts.iter().enumerate().rev() {
            seen += count;
            if seen >= rank.max(1) {
                let oldest = (self.first + at as u64) << self.shift;
                return self.max - oldest.clamp(self.min, self.max);
            }
        }
        self.max - self.min
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn deciles_of_a_narrow_range_are_exact() {
        let mut ages = Ages::default();
        (0..1000).rev().for_each(|lsn| ages.add(5_000_000 + lsn));
        let found = ages.found().unwrap();
        assert_eq!((found.min, found.max), (5_000_000, 5_000_999));
        assert_eq!(found.age_deciles, [99, 199, 299, 399, 499, 599, 699, 799, 899]);
    }

    proptest! {
        #[test]
        fn deciles_are_near_those_of_all_numbers(
            mut all in prop::collection::vec(any::<u64>(), 1..200), shift in 0_u32..64
        ) {
            all.iter_mut().for_each(|lsn| *lsn >>= shift);
            let mut ages = Ages::default();
            all.iter().for_each(|&lsn| ages.add(lsn));
            let found = ages.found().unwrap();
            all.sort_unstable();
            prop_assert_eq!((found.min, found.max), (all[0], all[all.len() - 1]));
            let error = (found.max - found.min) / 512 + 1;
            for (at, age) in found.age_deciles.into_iter().enumerate() {
                let rank = (all.len() * (at + 1) / 10).max(1);
                let exact = found.max - all[all.len() - rank];
                prop_assert!(age.abs_diff(exact) <= error, "{} {} {}", at, age, exact);
            }
        }
    }
}
