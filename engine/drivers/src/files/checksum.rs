//! Blocks with a checksum: random bytes, their CRC-32, and the block's offset in its file. The
//! layout matches sysbench's observed output, so that each program can check the other's files.

use super::buffer;
use crc32fast::hash;
use dyno_core::random::rng::Rng;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// Bytes of the checksum, and of the offset that follows it; both little-endian.
const SUM_BYTES: usize = 4;
const OFFSET_BYTES: usize = 8;
const TRAILER_BYTES: usize = SUM_BYTES + OFFSET_BYTES;
/// A shorter block, as at the end of a file, has no checksum and is not checked.
pub const BLOCK_BYTES_MIN: u64 = TRAILER_BYTES as u64 + 1;

/// Fills the blocks of `bytes`, which begin at `offset` of a file.
pub fn fill(bytes: &mut [u8], block_bytes: u64, offset: u64, rng: &mut Rng) {
    for (block, offset) in blocks_mut(bytes, block_bytes, offset) {
        buffer::fill(block, rng);
        if let Some((payload, trailer)) = block.split_at_mut_checked(payload_bytes(block.len())) {
            trailer[..SUM_BYTES].copy_from_slice(&hash(payload).to_le_bytes());
            trailer[SUM_BYTES..].copy_from_slice(&offset.to_le_bytes());
        }
    }
}

/// Checks the blocks of `bytes`, which begin at `offset` of a file.
///
/// # Errors
/// A message with the wrong block and the difference.
pub fn check(bytes: &[u8], block_bytes: u64, offset: u64) -> Result<(), String> {
    for (block, offset) in blocks(bytes, block_bytes, offset) {
        let Some((payload, trailer)) = block.split_at_checked(payload_bytes(block.len())) else {
            continue;
        };
        let (sum, place) = trailer.split_at(SUM_BYTES);
        let stored = u32::from_le_bytes(sum.try_into().unwrap_or_default());
        let place = u64::from_le_bytes(place.try_into().unwrap_or_default());
        let calculated = hash(payload);
        let at = format_args!("block offset {offset}");
        if calculated != stored {
            return Err(format!(
                "{at}: checksum mismatch, calculated value: {calculated:#x}, stored value: {stored:#x}"
            ));
        }
        if place != offset {
            return Err(format!("{at}: it was written for offset {place}"));
        }
    }
    Ok(())
}

/// Bytes before the trailer; `usize::MAX` if the block is too short for one.
fn payload_bytes(block: usize) -> usize {
    if block as u64 >= BLOCK_BYTES_MIN { block - TRAILER_BYTES } else { usize::MAX }
}

fn blocks(bytes: &[u8], block: u64, offset: u64) -> impl Iterator<Item = (&[u8], u64)> {
    bytes.chunks(block as usize).zip((offset..).step_by(block as usize))
}

fn blocks_mut(bytes: &mut [u8], block: u64, offset: u64) -> impl Iterator<Item = (&mut [u8], u64)> {
    bytes.chunks_mut(block as usize).zip((offset..).step_by(block as usize))
}

/// Number of locks; blocks share them.
const LOCKS: usize = 1024;

/// Locks that exclude reading a block during a write to it: a mix of old and new bytes has no valid
/// checksum, and the kernel does not promise atomic reads or writes of whole blocks.
pub struct Locks(Box<[AtomicBool]>);

impl Default for Locks {
    fn default() -> Self {
        Self((0..LOCKS).map(|_| AtomicBool::new(false)).collect())
    }
}

impl Locks {
    /// Tries to lock a block. The caller must release it with [`give`](Self::give).
    pub fn try_take(&self, block: u64) -> bool {
        self.of(block).compare_exchange(false, true, Acquire, Relaxed).is_ok()
    }

    /// Waits for the lock. The thread must not hold any other.
    pub fn take(&self, block: u64) {
        while !self.try_take(block) {
            std::thread::yield_now();
        }
    }

    /// Releases the lock.
    pub fn give(&self, block: u64) {
        self.of(block).store(false, Release);
    }

    fn of(&self, block: u64) -> &AtomicBool {
        &self.0[block as usize % LOCKS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_checks_where_it_was_made_and_nowhere_else() {
        let mut rng = Rng::new(3);
        let mut bytes = vec![0; 2 * 64 + 12];
        fill(&mut bytes, 64, 128, &mut rng);
        assert_eq!(check(&bytes, 64, 128), Ok(()));
        let moved = check(&bytes, 64, 64).unwrap_err();
        assert_eq!(moved, "block offset 64: it was written for offset 128");
        for at in [0, 51, 52, 55, 64, 119] {
            let mut bad = bytes.clone();
            bad[at] ^= 1;
            let said = check(&bad, 64, 128).unwrap_err();
            let block = 128 + at as u64 / 64 * 64;
            assert!(
                said.starts_with(&format!("block offset {block}: checksum mismatch")),
                "{said}"
            );
        }
        // The rest is too short for a checksum.
        bytes[130] ^= 1;
        assert_eq!(check(&bytes, 64, 128), Ok(()));
    }

    #[test]
    fn the_checksum_is_the_common_one_and_zeros_do_not_have_it() {
        let mut bytes = *b"123456789............";
        bytes[9..13].copy_from_slice(&0xCBF4_3926_u32.to_le_bytes());
        bytes[13..].copy_from_slice(&77_u64.to_le_bytes());
        assert_eq!(check(&bytes, 21, 77), Ok(()));
        assert!(check(&[0; 32], 32, 0).is_err());
    }
}
