//! Counts names in bounded memory, independent of the order of events.
//!
//! If there are too many names, those with the smallest hashes stay. A name that stays until the
//! end was never evicted, so its count is exact, and merging the counts of several threads gives
//! the same result.

use std::collections::BTreeMap;

/// The most names that are stored.
pub const NAMES: usize = 100;
/// The most bytes of a name that are stored; longer names are cut.
const NAME_BYTES: usize = 256;

/// Counts of names.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// Hash, name, count.
    all: Vec<(u64, Box<[u8]>, u64)>,
    /// Index of the last name: equal names often follow each other.
    last: usize,
    /// Counts of evicted names.
    rest: u64,
}

/// FNV-1a with a final mix, so that all bits affect which names stay.
fn hash(name: &[u8]) -> u64 {
    let hash = name.iter().fold(0xCBF2_9CE4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    });
    let hash = (hash ^ hash >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    hash ^ hash >> 29
}

impl Names {
    /// Counts a name; an empty name means unknown and is not counted.
    #[inline]
    pub fn add(&mut self, name: &[u8], count: u64) {
        if name.is_empty() {
            return;
        }
        let name = &name[..name.len().min(NAME_BYTES)];
        match self.all.get_mut(self.last) {
            Some((_, known, times)) if **known == *name => *times += count,
            _ => self.add_other(hash(name), name, count),
        }
    }

    fn add_other(&mut self, hash: u64, name: &[u8], count: u64) {
        let same = |(other, known, _): &(u64, Box<[u8]>, u64)| *other == hash && **known == *name;
        if let Some(at) = self.all.iter().position(same) {
            self.all[at].2 += count;
            self.last = at;
        } else if self.all.len() < NAMES {
            self.last = self.all.len();
            self.all.push((hash, name.into(), count));
        } else {
            let of = |(hash, name, _): &(u64, Box<[u8]>, u64)| (*hash, name.clone());
            let greatest = (0..NAMES).max_by_key(|&at| of(&self.all[at])).unwrap_or(0);
            if (hash, name) < (self.all[greatest].0, &*self.all[greatest].1) {
                self.rest += self.all[greatest].2;
                self.all[greatest] = (hash, name.into(), count);
                self.last = greatest;
            } else {
                self.rest += count;
            }
        }
    }

    /// Whether no name was counted.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Merges other counts.
    pub fn merge(&mut self, other: &Names) {
        self.rest += other.rest;
        for (hash, name, count) in &other.all {
            self.add_other(*hash, name, *count);
        }
    }

    /// Counts by name; evicted names are counted under the empty name.
    pub fn map(&self) -> BTreeMap<String, u64> {
        let mut map = BTreeMap::new();
        for (_, name, count) in &self.all {
            *map.entry(String::from_utf8_lossy(name).into_owned()).or_insert(0) += count;
        }
        if self.rest > 0 {
            map.insert(String::new(), self.rest);
        }
        map
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_are_not_counted() {
        let mut names = Names::default();
        names.add(b"", 3);
        names.add(b"app", 1);
        names.add(b"app", 1);
        assert_eq!(names.map(), BTreeMap::from([("app".to_owned(), 2)]));
    }

    #[test]
    fn of_many_names_the_same_stay_in_any_order_and_every_event_is_counted() {
        let count = |order: &mut dyn Iterator<Item = u32>| {
            let mut parts = [Names::default(), Names::default()];
            for n in order {
                let name = format!("host{}", n % 500);
                parts[n as usize % 2].add(name.as_bytes(), 1);
            }
            let [mut left, right] = parts;
            left.merge(&right);
            left.map()
        };
        let map = count(&mut (0..5000));
        assert_eq!(map, count(&mut (0..5000).rev()));
        assert_eq!(map.len(), NAMES + 1);
        assert_eq!(map.values().sum::<u64>(), 5000);
        assert!(map.iter().all(|(name, &count)| name.is_empty() || count == 10));
    }
}
