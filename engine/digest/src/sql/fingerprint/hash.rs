//! The hash from which IDs are made. Users store IDs, so it must never change.
//!
//! Two lanes read the same bytes with different constants. Each folds the 128-bit product of two 64-bit
//! words (the multiply-mix step of wyhash, Wang Yi 2019). The hash does not resist an adversary who
//! chooses statements so that two classes collide. Among a million classes, a chance collision has a
//! probability below 1e-26.

/// Digits of pi after the point, in hexadecimal, 64 bits each.
const PI: [u64; 6] = [
    0x243F_6A88_85A3_08D3,
    0x1319_8A2E_0370_7344,
    0xA409_3822_299F_31D0,
    0x082E_FA98_EC4E_6C89,
    0x4528_21E6_38D0_1377,
    0xBE54_66CF_34E9_0C6C,
];

#[inline]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// The hash of `text`; `domain` separates equal texts of different languages.
#[inline]
pub fn hash(text: &[u8], domain: u64) -> u128 {
    let (mut one, mut two) = (PI[0] ^ domain, PI[1] ^ domain);
    let (blocks, rest) = text.as_chunks::<16>();
    for block in blocks {
        (one, two) = absorb(one, two, block);
    }
    let mut last = [0; 16];
    last[..rest.len()].copy_from_slice(rest);
    (one, two) = absorb(one, two, &last);
    let length = text.len() as u64;
    let one = mix(one ^ PI[4], length ^ PI[2]);
    let two = mix(two ^ PI[5], length ^ PI[3]);
    u128::from(one) << 64 | u128::from(two)
}

#[inline]
fn absorb(one: u64, two: u64, block: &[u8; 16]) -> (u64, u64) {
    let (low, high) =
        (u128::from_le_bytes(*block) as u64, (u128::from_le_bytes(*block) >> 64) as u64);
    (
        mix(low ^ PI[2] ^ one, high ^ PI[3]) ^ one.rotate_left(23),
        mix(low ^ PI[4], high ^ PI[5] ^ two) ^ two.rotate_left(29),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_never_changes() {
        assert_eq!(format!("{:032x}", hash(b"", 0)), "7db173363498dc5a0211089022bf5ad4");
        assert_eq!(format!("{:032x}", hash(b"select ?", 0)), "d9b6ca3f879e98b9e923d0865c94a9ac");
        assert_eq!(
            format!("{:032x}", hash(b"select c from sbtest1 where id = ?", 1)),
            "4755bc80d9141627d3bfdd3ae101e057"
        );
    }

    #[test]
    fn length_domain_and_each_bit_count() {
        let mut seen = std::collections::BTreeSet::new();
        let text = *b"select c from sbtest1 where id = ? -- thirty-three and more";
        for length in 0..text.len() {
            for domain in 0..3 {
                assert!(seen.insert(hash(&text[..length], domain)));
            }
        }
        for bit in 0..text.len() * 8 {
            let mut other = text;
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(seen.insert(hash(&other, 0)), "bit {bit}");
        }
        assert!(seen.insert(hash(&[0; 16], 0)) && seen.insert(hash(&[0; 17], 0)));
    }
}
