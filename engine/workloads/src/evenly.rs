//! Selects an evenly spaced share of a session's transactions, such as those that insert. The
//! selection and the number selected so far are pure functions of (session, index), so that each
//! session can number its inserts without gaps and independently of the other sessions' speed.

/// A share of the transactions. Transaction i is selected if `i x share` passes an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Evenly {
    /// In units of 2^-64; `1 << 64` selects all.
    share: u128,
}

impl Evenly {
    /// Creates a selection; `share` is clamped to 0 to 1.
    pub fn new(share: f64) -> Self {
        // Exact, since the factor is a power of two; at most 2^64.
        Self { share: (share.clamp(0.0, 1.0) * 18_446_744_073_709_551_616.0) as u128 }
    }

    /// The number of selected transactions among the first `index`. `phase` shifts the session's
    /// pattern, in units of 2^-64 of a selection.
    #[inline]
    pub fn before(&self, index: u64, phase: u64) -> u64 {
        // Below 2^128, since an index is below 2^63 and the phase below 2^64.
        ((self.share * u128::from(index >> 1) * 2
            + self.share * u128::from(index & 1)
            + u128::from(phase))
            >> 64) as u64
    }

    /// Whether transaction `index` is selected.
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
