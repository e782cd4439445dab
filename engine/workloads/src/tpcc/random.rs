//! Random values as the specification defines them: non-uniform numbers, strings, last names.
//!
//! Source: TPC Benchmark C, revision 5.11, clauses 2.1.6, 4.3.2 and 4.3.3.

use dyno_core::random::rng::Rng;

/// The constant C of last names when loading. Clause 2.1.6.1 restricts its distance from the run's.
pub const C_LAST_LOADED: u64 = 157;
/// Allowed distances of the run's constant from the load's, except [`DISTANCES_BARRED`].
const DISTANCES: std::ops::RangeInclusive<u64> = 65..=119;
const DISTANCES_BARRED: [u64; 2] = [96, 112];
/// The specification's A for last names, the maximum of their constant.
const A_LAST: u64 = 255;
const A_CUSTOMER: u64 = 1023;
const A_ITEM: u64 = 8191;

const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
const ALPHANUMERIC: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Characters per draw: 62^8 is far enough below 2^64 that the bias is negligible.
const PER_DRAW: usize = 8;

/// The constants C of NURand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Constants {
    pub last: u64,
    pub customer: u64,
    pub item: u64,
}

impl Constants {
    /// Constants of a run; that of last names is uniform over those that the specification allows with
    /// [`C_LAST_LOADED`].
    pub fn of_run(rng: &mut Rng) -> Self {
        let allowed = |c: &u64| {
            let distance = c.abs_diff(C_LAST_LOADED);
            DISTANCES.contains(&distance) && !DISTANCES_BARRED.contains(&distance)
        };
        let lasts: Vec<u64> = (0..=A_LAST).filter(allowed).collect();
        Self { last: lasts[rng.below(lasts.len() as u64) as usize], ..Self::anew(rng) }
    }

    /// Constants drawn uniformly, without regard to the load's.
    pub fn anew(rng: &mut Rng) -> Self {
        Self {
            last: rng.between(0, A_LAST),
            customer: rng.between(0, A_CUSTOMER),
            item: rng.between(0, A_ITEM),
        }
    }

    /// Draws the number of a last name, 0 to `names` - 1.
    pub fn last(&self, names: u64, rng: &mut Rng) -> u64 {
        nurand(A_LAST, self.last, 0, names - 1, rng)
    }

    /// Draws the number of a customer, 1 to `customers`.
    pub fn customer(&self, customers: u64, rng: &mut Rng) -> u64 {
        nurand(A_CUSTOMER, self.customer, 1, customers, rng)
    }

    /// Draws the number of an item, 1 to `items`.
    pub fn item(&self, items: u64, rng: &mut Rng) -> u64 {
        nurand(A_ITEM, self.item, 1, items, rng)
    }
}

/// The specification's NURand(A, x, y) with constant `c`.
pub fn nurand(a: u64, c: u64, x: u64, y: u64, rng: &mut Rng) -> u64 {
    ((rng.between(0, a) | rng.between(x, y)) + c) % (y - x + 1) + x
}

/// Appends last name `number` (0 to 999), one syllable per digit.
pub fn put_last_name(number: u64, out: &mut Vec<u8>) {
    for digit in [number / 100 % 10, number / 10 % 10, number % 10] {
        out.extend_from_slice(SYLLABLES[digit as usize].as_bytes());
    }
}

/// Appends `low` to `high` random letters and digits.
pub fn put_a_string(low: u64, high: u64, rng: &mut Rng, out: &mut Vec<u8>) {
    let end = out.len() + rng.between(low, high) as usize;
    while out.len() < end {
        let mut draw = rng.u64();
        for _ in 0..PER_DRAW.min(end - out.len()) {
            let product = u128::from(draw) * ALPHANUMERIC.len() as u128;
            out.push(ALPHANUMERIC[(product >> 64) as usize]);
            draw = product as u64;
        }
    }
}

/// Appends `length` random lower-case letters.
pub fn put_letters(length: u64, rng: &mut Rng, out: &mut Vec<u8>) {
    out.extend((0..length).map(|_| b'a' + rng.below(26) as u8));
}

/// Appends a random letter `low` to `high` times.
pub fn put_padding(low: u64, high: u64, rng: &mut Rng, out: &mut Vec<u8>) {
    let letter = b'a' + rng.below(26) as u8;
    out.resize(out.len() + rng.between(low, high) as usize, letter);
}

/// Appends `length` random digits.
pub fn put_n_string(length: usize, rng: &mut Rng, out: &mut Vec<u8>) {
    out.extend((0..length).map(|_| b'0' + rng.below(10) as u8));
}

/// Appends a ZIP code: four random digits, then `11111`.
pub fn put_zip(rng: &mut Rng, out: &mut Vec<u8>) {
    put_n_string(4, rng, out);
    out.extend_from_slice(b"11111");
}

/// Appends 26 to 50 letters and digits, with `ORIGINAL` at a random position in 10 % of cases.
pub fn put_data(rng: &mut Rng, out: &mut Vec<u8>) {
    const MARK: &[u8] = b"ORIGINAL";
    let start = out.len();
    put_a_string(26, 50, rng, out);
    if rng.below(10) == 0 {
        let at = start + rng.below((out.len() - start - MARK.len() + 1) as u64) as usize;
        out[at..at + MARK.len()].copy_from_slice(MARK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop_assert, proptest};

    #[test]
    fn names_have_a_syllable_a_digit() {
        let name = |number| {
            let mut out = vec![];
            put_last_name(number, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(name(0), "BARBARBAR");
        assert_eq!(name(371), "PRICALLYOUGHT");
        assert_eq!(name(999), "EINGEINGEING");
    }

    #[test]
    fn the_runs_constant_keeps_its_distance_from_the_loads() {
        for seed in 0..2_000 {
            let constants = Constants::of_run(&mut Rng::new(seed));
            let distance = constants.last.abs_diff(C_LAST_LOADED);
            assert!((65..=119).contains(&distance) && distance != 96 && distance != 112);
            assert!(constants.last <= 255 && constants.customer <= 1023 && constants.item <= 8191);
        }
    }

    #[test]
    fn non_uniform_numbers_stay_in_range_and_favour_bits_that_are_set() {
        let mut rng = Rng::new(5);
        let constants = Constants { last: 0, customer: 0, item: 0 };
        let draws: Vec<u64> = (0..100_000).map(|_| constants.last(1000, &mut rng)).collect();
        assert!(draws.iter().all(|&n| n < 1000));
        // A bit is set in 3 of 4 results of `|`; the three low bits survive mod 1000.
        for bit in 0..3 {
            let share = draws.iter().filter(|&&n| n >> bit & 1 == 1).count() as f64 / 1e5;
            assert!((0.72..0.78).contains(&share), "bit {bit}: {share}");
        }
        let ones: Vec<u64> = (0..10_000).map(|_| constants.customer(30, &mut rng)).collect();
        assert!(ones.iter().all(|n| (1..=30).contains(n)));
    }

    #[test]
    fn a_tenth_of_the_data_is_marked_original() {
        let (mut rng, mut marked) = (Rng::new(9), 0);
        for _ in 0..10_000 {
            let mut out = vec![];
            put_data(&mut rng, &mut out);
            assert!((26..=50).contains(&out.len()));
            marked += usize::from(out.windows(8).any(|window| window == b"ORIGINAL"));
        }
        assert!((900..1_100).contains(&marked), "{marked}");
    }

    proptest! {
        #[test]
        fn strings_have_their_length_and_characters(seed: u64, low in 0..40_u64, more in 0..40_u64) {
            let mut out = vec![];
            put_a_string(low, low + more, &mut Rng::new(seed), &mut out);
            prop_assert!((low..=low + more).contains(&(out.len() as u64)));
            prop_assert!(out.iter().all(u8::is_ascii_alphanumeric));
        }
    }
}
