//! Random numbers that are the same on every machine and for ever: xoshiro256++ seeded through
//! SplitMix64. A plan stores a seed only, so a change of any output here would change what a stored
//! plan means: the golden values in the tests must never be edited.
//!
//! Sources: Blackman and Vigna, "Scrambled linear pseudorandom number generators" (2021), and their
//! public-domain description; Steele, Lea and Flood, "Fast splittable pseudorandom number
//! generators" (2014); Lemire, "Fast random integer generation in an interval" (2019).

/// Step of the SplitMix64 sequence: 2^64 divided by the golden ratio, odd.
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// Separates the draws of transactions from those of rows with the same numbers.
const DOMAIN_TRANSACTION: u64 = 0x7472_616E_7361_6374;
const DOMAIN_ROW: u64 = 0x726F_7773_726F_7773;

/// A small fast generator (32 bytes, about 1 ns a draw). Not for secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rng {
    state: [u64; 4],
}

/// SplitMix64's output function: a bijection of 64-bit words in which every input bit reaches
/// every output bit.
#[inline]
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Rng {
    /// A generator that depends on `seed` alone.
    #[inline]
    pub fn new(seed: u64) -> Self {
        let word = |n: u64| mix(seed.wrapping_add(GOLDEN.wrapping_mul(n)));
        // Four outputs of SplitMix64 are never all zero, the one state xoshiro must not have:
        // the function is a bijection and the four inputs differ.
        Self { state: [word(1), word(2), word(3), word(4)] }
    }

    /// The generator of transaction number `index` of session `session`. Its draws do not depend on
    /// earlier transactions or on the thread.
    #[inline]
    pub fn for_transaction(seed: u64, session: u32, index: u64) -> Self {
        Self::keyed(seed, DOMAIN_TRANSACTION, u64::from(session), index)
    }

    /// The generator of row `row` (0-based) of table number `table`; independent of the loading
    /// thread.
    #[inline]
    pub fn for_row(seed: u64, table: u64, row: u64) -> Self {
        Self::keyed(seed, DOMAIN_ROW, table, row)
    }

    /// Mixed after each key, so that neighbouring keys share no part of SplitMix64's sequence.
    #[inline]
    fn keyed(seed: u64, domain: u64, a: u64, b: u64) -> Self {
        let hash = mix(seed.wrapping_add(domain));
        let hash = mix(hash ^ a.wrapping_mul(GOLDEN));
        Self::new(mix(hash ^ b.wrapping_mul(GOLDEN)))
    }

    /// 64 random bits.
    #[inline]
    pub fn u64(&mut self) -> u64 {
        let [s0, s1, s2, s3] = self.state;
        let out = s0.wrapping_add(s3).rotate_left(23).wrapping_add(s0);
        let (s2, s3) = (s2 ^ s0, s3 ^ s1);
        self.state = [s0 ^ s3, s1 ^ s2, s2 ^ (s1 << 17), s3.rotate_left(45)];
        out
    }

    /// A number in `0..n`, every one equally likely (no modulo bias). `n` must not be 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "an empty range has no random element");
        let mut product = u128::from(self.u64()) * u128::from(n);
        if (product as u64) < n {
            // The slots do not divide 2^64 evenly: draws in the surplus are rejected. Rare, hence
            // the division is here and not above.
            let surplus = n.wrapping_neg() % n;
            while (product as u64) < surplus {
                product = u128::from(self.u64()) * u128::from(n);
            }
        }
        (product >> 64) as u64
    }

    /// A number in `low..=high`, every one equally likely. `low` must not be above `high`.
    #[inline]
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        assert!(low <= high, "an empty range has no random element");
        match (high - low).checked_add(1) {
            Some(n) => low + self.below(n),
            None => self.u64(),
        }
    }

    /// A number in `[0, 1)`, a multiple of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The state the authors' reference code reaches from the words 1, 2, 3, 4.
    #[test]
    fn follows_the_published_sequence_of_xoshiro256_plus_plus() {
        let mut rng = Rng { state: [1, 2, 3, 4] };
        let expected = [
            41943041,
            58720359,
            3588806011781223,
            3591011842654386,
            9228616714210784205,
            9973669472204895162,
            14011001112246962877,
            12406186145184390807,
            15849039046786891736,
            10450023813501588000,
        ];
        for value in expected {
            assert_eq!(rng.u64(), value);
        }
    }

    /// SplitMix64's published outputs from seed 1234567.
    #[test]
    fn seeds_through_the_published_sequence_of_splitmix64() {
        assert_eq!(
            Rng::new(1234567).state,
            [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
        );
    }

    /// A stored plan must replay for ever: never edit these.
    #[test]
    fn golden_draws_of_a_transaction_and_of_a_row() {
        let mut transaction = Rng::for_transaction(42, 3, 9);
        let mut row = Rng::for_row(42, 3, 9);
        assert_eq!(
            [transaction.u64(), transaction.u64()],
            [1450656489905688904, 4883267109031360604]
        );
        assert_eq!([row.u64(), row.u64()], [6871389251304923221, 10171367940018566199]);
    }

    #[test]
    fn neighbours_and_domains_do_not_meet() {
        let mut first = std::collections::HashSet::new();
        for seed in 0..8 {
            for session in 0..32 {
                for index in 0..64 {
                    assert!(first.insert(Rng::for_transaction(seed, session, index).u64()));
                    assert!(first.insert(Rng::for_row(seed, u64::from(session), index).u64()));
                }
            }
        }
        assert_eq!(first.len(), 2 * 8 * 32 * 64);
    }

    #[test]
    fn first_draws_of_successive_transactions_are_uniform() {
        // What a workload really does: a new generator for each transaction, few draws from each.
        let mut counts = [0u32; 100];
        for index in 0..200_000 {
            counts[Rng::for_transaction(42, 7, index).below(100) as usize] += 1;
        }
        // Chi-square with 99 degrees of freedom: 0.9999 quantile is 161.3.
        let chi2: f64 = counts.iter().map(|&n| (f64::from(n) - 2000.0).powi(2) / 2000.0).sum();
        assert!(chi2 < 161.3, "chi-square {chi2}");
        assert!(chi2 > 52.0, "suspiciously even: chi-square {chi2}");
    }

    #[test]
    fn every_bit_is_set_half_of_the_time_and_unit_has_the_right_moments() {
        let mut rng = Rng::new(3);
        let mut ones = [0u32; 64];
        let (mut sum, mut squares) = (0.0, 0.0);
        let n = 100_000;
        for _ in 0..n {
            let word = rng.u64();
            for (bit, count) in ones.iter_mut().enumerate() {
                *count += (word >> bit & 1) as u32;
            }
            let x = rng.unit();
            assert!((0.0..1.0).contains(&x));
            sum += x;
            squares += x * x;
        }
        for count in ones {
            assert!((i64::from(count) - 50_000).abs() < 800, "{count}");
        }
        let mean = sum / f64::from(n);
        let variance = squares / f64::from(n) - mean * mean;
        assert!((mean - 0.5).abs() < 0.005, "{mean}");
        assert!((variance - 1.0 / 12.0).abs() < 0.002, "{variance}");
    }

    #[test]
    fn below_is_unbiased_where_a_modulo_would_not_be() {
        // With n = 3 * 2^62, `u64 % n` returns a number below 2^62 in half of all draws; fair is 1/3.
        let mut rng = Rng::new(11);
        let n = 3 << 62;
        let low = (0..60_000).filter(|_| rng.below(n) < 1 << 62).count();
        assert!((19_300..20_700).contains(&low), "{low}");
        assert_eq!(rng.below(1), 0);
        assert!(rng.between(0, u64::MAX) != rng.between(0, u64::MAX));
        for _ in 0..1000 {
            assert!((5..=7).contains(&rng.between(5, 7)));
        }
    }
}
