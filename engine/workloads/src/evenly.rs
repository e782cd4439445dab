//! Which transactions of a session do something (insert, write), spread evenly: each session numbers
//! them without a gap and knows how many it has made, as a pure function of (session, index), where a
//! counter that all sessions share would depend on who was faster.

/// A share of the transactions: number i is one where `i x share` passes a whole number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evenly {
    /// In units of 2^-64; `1 << 64` is all.
    share: u128,
}

impl Evenly {
    /// A share from 0 to 1.
    pub fn new(share: f64) -> Self {
        // Exact: a power of two. Rounded down to 2^64 at most.
        Self { share: (share.clamp(0.0, 1.0) * 18_446_744_073_709_551_616.0) as u128 }
    }

    /// How many of the first `index` transactions are chosen, where `phase` (any number) tells where
    /// in its rhythm the session begins.
    #[inline]
    pub fn before(&self, index: u64, phase: u64) -> u64 {
        // Below 2^128: an index is below 2^63, and the phase below one.
        ((self.share * u128::from(index >> 1) * 2
            + self.share * u128::from(index & 1)
            + u128::from(phase))
            >> 64) as u64
    }

    /// Whether transaction `index` is chosen.
    #[inline]
    pub fn is_chosen(&self, index: u64, phase: u64) -> bool {
        self.before(index + 1, phase) > self.before(index, phase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn counts_are_sums_and_shares_hold(share in 0.0..=1.0f64, phase: u64, start in 0..1u64 << 60) {
            let evenly = Evenly::new(share);
            let first = evenly.before(start, phase);
            let mut count = 0;
            for index in start..start + 500 {
                prop_assert_eq!(evenly.before(index, phase), first + count);
                count += u64::from(evenly.is_chosen(index, phase));
            }
            prop_assert!((count as f64 - 500.0 * share).abs() <= 1.0, "{} of {}", count, share);
        }
    }

    #[test]
    fn none_and_all() {
        assert_eq!(Evenly::new(0.0).before(1 << 62, u64::MAX), 0);
        assert_eq!(Evenly::new(1.0).before(1 << 62, 0), 1 << 62);
        assert!((0..100).all(|index| Evenly::new(1.0).is_chosen(index, 7)));
    }
}
