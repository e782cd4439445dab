//! Segments: an inode page lists them, each with up to half an extent of single pages, then whole extents.

use super::header::DATA;
use super::layout::Layout;
use crate::bytes::{be32, be64};

/// Where inodes begin: behind the node of the list of inode pages.
const ARRAY: usize = DATA + 12;
/// What every inode in use has.
const MAGIC: u32 = 97_937_874;
/// Bytes of an inode before its single pages.
const BEFORE_PAGES: usize = 64;

/// A segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inode {
    /// Its identifier in the tablespace.
    pub id: u64,
    /// Where its inode is: page, and offset in it.
    pub address: (u32, u16),
    /// Single pages that it has.
    pub fragment_pages: u32,
    /// Extents of which no page is used.
    pub free_extents: u32,
    /// Extents of which some pages are used, and how many these are.
    pub partial_extents: u32,
    /// Pages used in partial extents.
    pub partial_used: u32,
    /// Extents of which all pages are used.
    pub full_extents: u32,
}

/// The segments that page `number` lists.
pub fn read<'a>(page: &'a [u8], number: u32, layout: &Layout) -> impl Iterator<Item = Inode> + 'a {
    let size = BEFORE_PAGES + layout.extent_pages() as usize / 2 * 4;
    let inodes = page.get(ARRAY..).unwrap_or_default().chunks_exact(size).enumerate();
    inodes.filter_map(move |(at, inode)| {
        let id = be64(inode, 0);
        // An inode that is not in use has the identifier 0.
        (id != 0 && be32(inode, 60) == MAGIC).then(|| Inode {
            id,
            address: (number, (ARRAY + at * size) as u16),
            fragment_pages: inode[BEFORE_PAGES..]
                .chunks_exact(4)
                .filter(|slot| be32(slot, 0) != super::header::NONE)
                .count() as u32,
            partial_used: be32(inode, 8),
            free_extents: be32(inode, 12),
            partial_extents: be32(inode, 28),
            full_extents: be32(inode, 44),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn inodes_in_use_are_read() {
        let mut page = vec![0; 16_384];
        let mut put = |at: usize, value: u32| {
            page[at..at + 4].copy_from_slice(&value.to_be_bytes());
        };
        let second = ARRAY + 192;
        for (at, value) in [(4, 7), (8, 9), (12, 1), (28, 2), (44, 3), (60, MAGIC)] {
            put(second + at, value);
        }
        for slot in 2..32 {
            put(second + 64 + slot * 4, u32::MAX);
        }
        let found: Vec<Inode> = read(&page, 2, &Layout::of_flags(0x21).unwrap()).collect();
        let expected = Inode {
            id: 7,
            address: (2, 242),
            fragment_pages: 2,
            free_extents: 1,
            partial_extents: 2,
            partial_used: 9,
            full_extents: 3,
        };
        assert_eq!(found, [expected]);
    }

    proptest! {
        #[test]
        fn rubbish_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..2048), flags: u32) {
            if let Some(layout) = Layout::of_flags(flags) {
                read(&bytes, 2, &layout).for_each(drop);
            }
        }
    }
}
