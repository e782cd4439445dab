//! Hash slots of Redis Cluster: which of 16384 a key belongs to.
//!
//! Source: Redis documentation, "Redis cluster specification", key distribution model and hash
//! tags: CRC16 (XMODEM) of the key modulo 16384; of a key with `{...}`, only what stands between
//! the first `{` and the first `}` after it is hashed, unless that is empty.

use memchr::memchr;

/// Number of slots.
pub(super) const SLOTS: u16 = 1 << 14;

/// CRC16 of each byte alone: polynomial 0x1021, not reflected, initially 0.
const TABLE: [u16; 256] = table();

const fn table() -> [u16; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = (byte as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

/// CRC16 of `bytes` after those that gave `crc`.
#[inline]
fn crc16(crc: u16, bytes: &[u8]) -> u16 {
    bytes.iter().fold(crc, |crc, &byte| crc << 8 ^ TABLE[usize::from((crc >> 8) as u8 ^ byte)])
}

/// What the names of many keys begin with, hashed once.
#[derive(Debug)]
pub(super) struct Prefix {
    crc: u16,
}

impl Prefix {
    /// `None` for a prefix with a brace: then the hash of all its keys would depend on what
    /// follows.
    pub fn new(text: &[u8]) -> Option<Self> {
        let has_brace = text.iter().any(|byte| b"{}".contains(byte));
        (!has_brace).then(|| Self { crc: crc16(0, text) })
    }

    /// The slot of the key of this prefix and `rest`.
    #[inline]
    pub fn slot(&self, rest: &[u8]) -> u16 {
        tag(rest).map_or_else(|| crc16(self.crc, rest), |tag| crc16(0, tag)) % SLOTS
    }
}

/// The part of a key that is hashed alone, if there is one.
#[inline]
fn tag(key: &[u8]) -> Option<&[u8]> {
    let after = &key[memchr(b'{', key)? + 1..];
    let end = memchr(b'}', after)?;
    (end > 0).then(|| &after[..end])
}

/// For each slot a number whose decimal digits belong to it: as a hash tag it makes a key of any
/// slot.
#[derive(Debug)]
pub(super) struct Tags(Vec<u32>);

impl Tags {
    /// Finds them: the smallest ones.
    pub fn new() -> Self {
        let mut found = vec![u32::MAX; usize::from(SLOTS)];
        let mut left = found.len();
        let mut digits = itoa::Buffer::new();
        for number in 0.. {
            if left == 0 {
                break;
            }
            let slot = crc16(0, digits.format(number).as_bytes()) % SLOTS;
            let place = &mut found[usize::from(slot)];
            if *place == u32::MAX {
                *place = number;
                left -= 1;
            }
        }
        Self(found)
    }

    /// That of a slot.
    #[inline]
    pub fn of(&self, slot: u16) -> u32 {
        self.0[usize::from(slot)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The slot of a key whose first `split` bytes are a prefix.
    fn slot(key: &str, split: usize) -> u16 {
        let (prefix, rest) = key.as_bytes().split_at(split);
        Prefix::new(prefix).expect("no brace").slot(rest)
    }

    #[test]
    fn the_crc_is_that_of_the_specification() {
        assert_eq!(crc16(0, b"123456789"), 0x31C3);
        assert_eq!(crc16(crc16(0, b"1234"), b"56789"), 0x31C3);
    }

    #[test]
    fn slots_are_those_that_redis_documents() {
        // From the page of CLUSTER KEYSLOT, and redis-cli against a server.
        for split in 0..4 {
            assert_eq!(slot("somekey", split), 11_058);
        }
        assert_eq!(slot("foo{hash_tag}", 3), 2_515);
        assert_eq!(slot("bar{hash_tag}", 0), 2_515);
        assert_eq!(slot("{hash_tag}", 0), 2_515);
    }

    #[test]
    fn tags_are_those_of_the_specification() {
        // Its examples: `foo{}{bar}` is hashed whole, of `foo{{bar}}zap` it is `{bar`, and of
        // `foo{bar}{zap}` it is `bar`.
        assert_eq!(tag(b"{user1000}.following"), Some(&b"user1000"[..]));
        assert_eq!(tag(b"foo{}{bar}"), None);
        assert_eq!(tag(b"foo{{bar}}zap"), Some(&b"{bar"[..]));
        assert_eq!(tag(b"foo{bar}{zap}"), Some(&b"bar"[..]));
        assert_eq!(tag(b"foo{bar"), None);
        assert_eq!(tag(b"foo}bar"), None);
        assert_eq!(slot("foo{}{bar}", 2), crc16(0, b"foo{}{bar}") % SLOTS);
        assert!(Prefix::new(b"a{").is_none() && Prefix::new(b"a}").is_none());
    }

    #[test]
    fn every_slot_has_a_tag() {
        let tags = Tags::new();
        for number in [0, 1, 2_515, 16_383] {
            let key = format!("dbdyno_audit:{{{}}}", tags.of(number));
            assert_eq!(slot(&key, 13), number);
        }
        assert!((0..SLOTS).all(|number| tags.of(number) < 1_000_000));
    }
}
