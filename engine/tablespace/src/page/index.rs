//! The header of an index page: its index, level, rows, and how much of it records take.

use super::header::{DATA, Header, NONE};
use super::layout::Layout;
use crate::bytes::{be16, be32, be64};

/// Bit of the record count that marks the compact record formats.
const COMPACT: u16 = 1 << 15;
/// Where records begin, behind the two that bound them.
const RECORDS_COMPACT: u16 = 120;
const RECORDS_REDUNDANT: u16 = 125;
/// More levels than any index has.
const LEVELS_MAX: u16 = 64;

/// An index page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexPage {
    /// The index.
    pub index: u64,
    /// Height above the leaves.
    pub level: u16,
    /// Records, those marked as deleted among them.
    pub rows: u16,
    /// Bytes of all records (with ROW_FORMAT=COMPRESSED: uncompressed).
    pub record_bytes: u16,
    /// Bytes of records that were purged.
    pub garbage_bytes: u16,
    /// Whether records are COMPACT, DYNAMIC or COMPRESSED.
    pub is_compact: bool,
    /// Whether a transaction's number is kept for the page: so on leaf pages of secondary indexes.
    pub has_transaction: bool,
    /// Where the inodes of the leaf segment and of the upper levels' are; of root pages only.
    pub segments: Option<[(u32, u16); 2]>,
}

impl IndexPage {
    /// Reads the page; `None` if its numbers contradict each other, as those of no server's do.
    pub fn read(page: &[u8], layout: &Layout) -> Option<Self> {
        let header = Header::read(page);
        let is_compact = be16(page, DATA + 4) & COMPACT != 0;
        let begin = if is_compact { RECORDS_COMPACT } else { RECORDS_REDUNDANT };
        let (heap_top, garbage_bytes) = (be16(page, DATA + 2), be16(page, DATA + 8));
        let (level, index) = (be16(page, DATA + 26), be64(page, DATA + 28));
        let record_bytes = heap_top.checked_sub(begin)?.checked_sub(garbage_bytes)?;
        if u32::from(heap_top) > layout.logical || level >= LEVELS_MAX {
            return None;
        }
        Some(Self {
            index,
            level,
            rows: be16(page, DATA + 16),
            record_bytes,
            garbage_bytes,
            is_compact,
            has_transaction: be64(page, DATA + 18) != 0,
            segments: root_segments(page, &header),
        })
    }
}

/// The segments that a root page names. Other pages have no such names, and have neighbours.
fn root_segments(page: &[u8], header: &Header) -> Option<[(u32, u16); 2]> {
    let is_alone = header.prev == NONE && header.next == NONE;
    let segment = |at: usize| {
        let is_here = be32(page, at) == header.space && be32(page, at + 4) != 0;
        is_here.then(|| (be32(page, at + 4), be16(page, at + 8)))
    };
    Some([segment(DATA + 36)?, segment(DATA + 46)?]).filter(|_| is_alone)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A page of 2 rows of 100 bytes each, one of them purged: the root of index 44 at level 0.
    fn root() -> Vec<u8> {
        let mut page = vec![0; 16_384];
        page[8..16].fill(255);
        page[37] = 5;
        page[DATA + 2..DATA + 4].copy_from_slice(&320_u16.to_be_bytes());
        page[DATA + 4] = 0x80;
        page[DATA + 9] = 100;
        page[DATA + 17] = 1;
        page[DATA + 35] = 44;
        for (at, offset) in [(36, 50), (46, 242)] {
            page[DATA + at + 3] = 5;
            page[DATA + at + 7] = 2;
            page[DATA + at + 9] = offset;
        }
        page
    }

    #[test]
    fn a_root_is_read() {
        let read = IndexPage::read(&root(), &Layout::of_flags(0x21).unwrap()).unwrap();
        let expected = IndexPage {
            index: 44,
            level: 0,
            rows: 1,
            record_bytes: 100,
            garbage_bytes: 100,
            is_compact: true,
            has_transaction: false,
            segments: Some([(2, 50), (2, 242)]),
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn a_page_with_neighbours_names_no_segments() {
        let mut page = root();
        page[8] = 0;
        let read = IndexPage::read(&page, &Layout::of_flags(0x21).unwrap()).unwrap();
        assert_eq!(read.segments, None);
    }

    proptest! {
        #[test]
        fn what_is_read_of_rubbish_fits_into_a_page(
            bytes in prop::collection::vec(any::<u8>(), 0..128), flags: u32
        ) {
            let Some(layout) = Layout::of_flags(flags) else { return Ok(()) };
            if let Some(read) = IndexPage::read(&bytes, &layout) {
                let bytes = u32::from(read.record_bytes) + u32::from(read.garbage_bytes);
                prop_assert!(bytes <= layout.logical && read.level < LEVELS_MAX);
            }
        }
    }
}
