//! A hash table from 128-bit keys to sums, which grows without moving the sums.
//!
//! Keys are hashes already. Sums are in blocks that never move; the index has 8 bytes per slot
//! (some bits of the key, position of the sum), so that a probe seldom reads a sum in vain.

const BLOCK: usize = 4096;
const EMPTY: u32 = u32::MAX;

/// A value that contains its key.
pub trait Keyed {
    /// The key.
    fn key(&self) -> u128;
}

/// The table.
#[derive(Debug)]
pub struct Table<T> {
    /// (bits of the key, position) per slot; the number of slots is a power of two, at most three
    /// quarters used.
    index: Vec<(u32, u32)>,
    blocks: Vec<Vec<T>>,
    len: usize,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { index: vec![(0, EMPTY); 64], blocks: Vec::new(), len: 0 }
    }
}

impl<T: Keyed> Table<T> {
    /// Number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The position of a key.
    #[inline]
    pub fn find(&self, key: u128) -> Option<usize> {
        let mask = self.index.len() - 1;
        let (mut slot, tag) = (key as usize & mask, (key >> 96) as u32);
        loop {
            let (there, position) = self.index[slot];
            if position == EMPTY {
                return None;
            }
            if there == tag && self.at(position as usize).key() == key {
                return Some(position as usize);
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Inserts a value whose key must be absent; returns its position.
    ///
    /// # Panics
    /// With 2^32 - 1 values, which take 400 GB.
    pub fn insert(&mut self, value: T) -> usize {
        if (self.len + 1) * 4 > self.index.len() * 3 {
            self.grow();
        }
        let position = self.len;
        assert!(position < EMPTY as usize, "more than 2^32 classes");
        self.place(value.key(), position as u32);
        match self.blocks.last_mut() {
            Some(block) if block.len() < BLOCK => block.push(value),
            _ => {
                // Small tables, of which each thread has one, start small.
                let room = if self.blocks.is_empty() { 64 } else { BLOCK };
                let mut block = Vec::with_capacity(room);
                block.push(value);
                self.blocks.push(block);
            }
        }
        self.len += 1;
        position
    }

    fn place(&mut self, key: u128, position: u32) {
        let mask = self.index.len() - 1;
        let mut slot = key as usize & mask;
        while self.index[slot].1 != EMPTY {
            slot = (slot + 1) & mask;
        }
        self.index[slot] = ((key >> 96) as u32, position);
    }

    fn grow(&mut self) {
        self.index = vec![(0, EMPTY); self.index.len() * 2];
        for position in 0..self.len {
            self.place(self.at(position).key(), position as u32);
        }
    }

    /// The value at a position.
    #[inline]
    pub fn at(&self, position: usize) -> &T {
        &self.blocks[position / BLOCK][position % BLOCK]
    }

    /// The value at a position, mutable.
    #[inline]
    pub fn at_mut(&mut self, position: usize) -> &mut T {
        &mut self.blocks[position / BLOCK][position % BLOCK]
    }

    /// All values, by position.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.blocks.iter().flatten()
    }

    /// Removes and returns all values; the index stays allocated.
    pub fn drain(&mut self) -> impl Iterator<Item = T> {
        self.index.fill((0, EMPTY));
        self.len = 0;
        std::mem::take(&mut self.blocks).into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct One(u128, u64);

    impl Keyed for One {
        fn key(&self) -> u128 {
            self.0
        }
    }

    #[test]
    fn a_million_keys_are_found_and_others_are_not() {
        let key = |n: u64| u128::from(n).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
        let mut table = Table::default();
        for n in 0..1_000_000 {
            assert_eq!(table.insert(One(key(n), n)), n as usize);
        }
        for n in 0..1_000_000 {
            assert_eq!(table.at(table.find(key(n)).unwrap()).1, n);
            assert_eq!(table.find(key(n + 1_000_000)), None);
        }
        assert_eq!(table.drain().count(), 1_000_000);
        assert!(table.is_empty() && table.find(key(1)).is_none());
    }

    #[test]
    fn keys_that_share_all_their_low_bits_are_told_apart() {
        let mut table = Table::default();
        for n in 0..100_u128 {
            table.insert(One(n << 64 | 5, n as u64));
        }
        for n in 0..100_u128 {
            assert_eq!(table.at(table.find(n << 64 | 5).unwrap()).1, n as u64);
        }
    }
}
