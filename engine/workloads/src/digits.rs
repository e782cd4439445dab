//! Random decimal digits in the format of sysbench's columns: groups of eleven joined by dashes
//! (`68487932199-96439406143-...`). One multiplication yields eight digits, since a million rows
//! need 165 million.

use dyno_core::random::rng::Rng;

/// Digits in a group.
const GROUP: usize = 11;
/// Groups in column `c`.
pub const C_GROUPS: usize = 10;
/// Groups in column `pad`.
pub const PAD_GROUPS: usize = 5;
/// Length of column `c`: 119 bytes.
pub const C_BYTES: usize = C_GROUPS * (GROUP + 1) - 1;
/// Length of column `pad`: 59 bytes.
pub const PAD_BYTES: usize = PAD_GROUPS * (GROUP + 1) - 1;

/// The eight decimal digits of `n < 10^8` in ASCII, most significant first. Three steps split all
/// parts in parallel: into four and four digits, two and two, one and one. The multiplications by
/// rounded-up reciprocals are exact in their ranges.
#[inline]
fn eight_digits(n: u32) -> [u8; 8] {
    debug_assert!(n < 100_000_000);
    let n = u64::from(n);
    let (high, low) = (n / 10_000, n % 10_000);
    let fours = high | low << 32;
    let hundreds = ((fours * 10_486) >> 20) & 0x0000_007F_0000_007F;
    let twos = hundreds | (fours - hundreds * 100) << 16;
    let tens = ((twos * 103) >> 10) & 0x000F_000F_000F_000F;
    let ones = tens | (twos - tens * 10) << 8;
    (ones | 0x3030_3030_3030_3030).to_le_bytes()
}

/// Writes sixteen random digits from one draw to the first 16 bytes of `out`. The draw is a fraction of
/// 2^64; each multiplication by 10^8 yields its next eight digits. The bias is below
/// 10^16 / 2^64 = 0.06 %.
#[inline]
pub fn sixteen_digits(rng: &mut Rng, out: &mut [u8]) {
    let first = u128::from(rng.u64()) * 100_000_000;
    let second = u128::from(first as u64) * 100_000_000;
    out[..8].copy_from_slice(&eight_digits((first >> 64) as u32));
    out[8..16].copy_from_slice(&eight_digits((second >> 64) as u32));
}

/// `GROUPS` groups of eleven random digits joined by dashes. `BYTES` must be `12 * GROUPS - 1`.
#[inline]
pub fn groups<const GROUPS: usize, const BYTES: usize>(rng: &mut Rng) -> [u8; BYTES] {
    const { assert!(BYTES == GROUPS * (GROUP + 1) - 1 && GROUPS <= C_GROUPS) };
    let mut digits = [0u8; (C_GROUPS * GROUP).next_multiple_of(16)];
    for chunk in digits[..(GROUPS * GROUP).next_multiple_of(16)].chunks_exact_mut(16) {
        sixteen_digits(rng, chunk);
    }
    let mut out = [b'-'; BYTES];
    for group in 0..GROUPS {
        let to = group * (GROUP + 1);
        out[to..to + GROUP].copy_from_slice(&digits[group * GROUP..][..GROUP]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_digits_agree_with_the_formatter() {
        let mut rng = Rng::new(1);
        let edges = [0, 9, 10, 99, 100, 9_999, 10_000, 12_345_678, 99_999_999];
        for n in edges.into_iter().chain((0..200_000).map(|_| rng.below(100_000_000) as u32)) {
            assert_eq!(eight_digits(n), format!("{n:08}").as_bytes());
        }
        for n in 0..10_000 {
            assert_eq!(eight_digits(n * 10_000 + n), format!("{n:04}{n:04}").as_bytes());
        }
    }

    #[test]
    fn columns_have_sysbenchs_shape_and_even_digits() {
        let mut rng = Rng::new(2);
        let mut counts = [0u32; 10];
        for _ in 0..2000 {
            let c: [u8; C_BYTES] = groups::<C_GROUPS, C_BYTES>(&mut rng);
            let pad: [u8; PAD_BYTES] = groups::<PAD_GROUPS, PAD_BYTES>(&mut rng);
            for (text, groups) in [(&c[..], 10), (&pad[..], 5)] {
                let parts: Vec<_> = text.split(|&b| b == b'-').collect();
                assert_eq!(parts.len(), groups);
                for digit in parts.iter().flat_map(|part| {
                    assert_eq!(part.len(), 11);
                    part.iter()
                }) {
                    assert!(digit.is_ascii_digit());
                    counts[usize::from(digit - b'0')] += 1;
                }
            }
        }
        // 330,000 digits: 33,000 each, standard deviation 172.
        assert!(counts.iter().all(|n| n.abs_diff(33_000) < 1000), "{counts:?}");
    }
}
