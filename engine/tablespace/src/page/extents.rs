//! Extent descriptors: the state of each extent, and which of its pages are free.
//!
//! Page 0, and each page whose number is a multiple of the page size in bytes, describes the extents from
//! itself on.

use super::header::DATA;
use super::layout::Layout;
use crate::bytes::be32;

/// Where descriptors begin: behind the header of the tablespace, which only page 0 uses.
const ARRAY: usize = DATA + 112;
/// Bytes of a descriptor before its bitmap: segment, list node, state.
const BEFORE_BITMAP: usize = 24;
/// The state's place in a descriptor.
const STATE: usize = 20;
/// The bit of a page that says that it is free, of two bits a page.
const FREE_BITS: u8 = 0b0101_0101;

/// State of an extent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Its descriptor was not initialised.
    Uninitialised,
    /// No page is used.
    Free,
    /// Single pages are used, some are free.
    FreeFragment,
    /// Single pages are used, none is free.
    FullFragment,
    /// Belongs to a segment.
    Segment,
    /// Belongs to a segment and lends single pages (MySQL 8 and later).
    SegmentFragment,
    /// A state that no server writes.
    Unknown,
}

impl State {
    fn of(code: u32) -> Self {
        match code {
            0 => Self::Uninitialised,
            1 => Self::Free,
            2 => Self::FreeFragment,
            3 => Self::FullFragment,
            4 => Self::Segment,
            5 => Self::SegmentFragment,
            _ => Self::Unknown,
        }
    }
}

/// The extents that one page describes.
#[derive(Debug, Clone, Default)]
pub struct ExtentMap {
    /// The page's number.
    base: u32,
    extent_pages: u32,
    states: Vec<State>,
    bitmaps: Vec<u8>,
}

impl ExtentMap {
    /// Reads the descriptors of page `number`.
    pub fn read(page: &[u8], number: u32, layout: &Layout) -> Self {
        let extent_pages = layout.extent_pages();
        let bitmap = extent_pages as usize / 4;
        let mut map = Self { base: number, extent_pages, ..Self::default() };
        for at in 0..layout.extents_described() as usize {
            let from = ARRAY + at * (BEFORE_BITMAP + bitmap);
            let Some(descriptor) = page.get(from..from + BEFORE_BITMAP + bitmap) else { break };
            map.states.push(State::of(be32(descriptor, STATE)));
            map.bitmaps.extend_from_slice(&descriptor[BEFORE_BITMAP..]);
        }
        map
    }

    /// The extents: first page, state, free pages.
    pub fn extents(&self) -> impl Iterator<Item = (u32, State, u32)> {
        let bitmap = self.extent_pages as usize / 4;
        self.states.iter().zip(self.bitmaps.chunks_exact(bitmap.max(1))).enumerate().map(
            |(at, (&state, bitmap))| {
                let first = self.base.saturating_add(at as u32 * self.extent_pages);
                let free = bitmap.iter().map(|byte| (byte & FREE_BITS).count_ones()).sum();
                (first, state, free)
            },
        )
    }

    /// Whether a page is free; `None` if its extent is not described here.
    pub fn is_free(&self, number: u32) -> Option<bool> {
        let page = number.checked_sub(self.base)? as usize;
        let extent = page / (self.extent_pages as usize).max(1);
        match self.states.get(extent)? {
            State::Free => Some(true),
            State::Uninitialised | State::Unknown => None,
            _ => Some(self.bitmaps.get(page / 4)? >> (page % 4 * 2) & 1 == 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn described(states: &[(u32, u8)]) -> ExtentMap {
        let mut page = vec![0; 16_384];
        for (at, &(state, bits)) in states.iter().enumerate() {
            let from = ARRAY + at * 40;
            page[from + 20..from + 24].copy_from_slice(&state.to_be_bytes());
            page[from + 24..from + 40].fill(bits);
        }
        ExtentMap::read(&page, 16_384, &Layout::of_flags(0x21).unwrap())
    }

    #[test]
    fn states_and_free_pages_are_those_of_the_bitmap() {
        let map = described(&[(2, 0b1110_1011), (1, 0xff), (4, 0xaa)]);
        let extents: Vec<_> = map.extents().take(4).collect();
        assert_eq!(extents[0], (16_384, State::FreeFragment, 32));
        assert_eq!(extents[1], (16_448, State::Free, 64));
        assert_eq!(extents[2], (16_512, State::Segment, 0));
        assert_eq!(extents[3].1, State::Uninitialised);
        // Of four pages each: bits 11, 10, 10, 11 from the lowest on.
        assert_eq!(
            [0, 1, 2, 3].map(|at| map.is_free(16_384 + at).unwrap()),
            [true, false, false, true]
        );
        assert_eq!((map.is_free(16_450), map.is_free(16_520)), (Some(true), Some(false)));
        assert_eq!(
            (map.is_free(7), map.is_free(16_600), map.is_free(u32::MAX)),
            (None, None, None)
        );
    }

    proptest! {
        #[test]
        fn rubbish_never_panics(
            bytes in prop::collection::vec(any::<u8>(), 0..2048), flags: u32, number: u32, asked: u32
        ) {
            if let Some(layout) = Layout::of_flags(flags) {
                let map = ExtentMap::read(&bytes, number, &layout);
                map.is_free(asked);
                for (_, _, free) in map.extents() {
                    prop_assert!(free <= layout.extent_pages());
                }
            }
        }
    }
}
