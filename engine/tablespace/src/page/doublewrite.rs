//! Where a system tablespace keeps its doublewrite buffer: two blocks of copies of pages of any file.

use super::layout::Layout;
use crate::bytes::be32;

/// The place of the buffer's description, from the end of the transaction system's page.
const FROM_END: usize = 200;
/// What says that there is one.
const MAGIC: u32 = 536_853_855;

/// The blocks: first pages, and the length of both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Doublewrite {
    blocks: [u32; 2],
    pages: u32,
}

impl Doublewrite {
    /// Reads the page of the transaction system.
    pub fn read(page: &[u8], layout: &Layout) -> Self {
        let at = page.len().saturating_sub(FROM_END);
        match be32(page, at + 10) {
            MAGIC => Self {
                blocks: [14, 18].map(|block| be32(page, at + block)),
                pages: layout.extent_pages(),
            },
            _ => Self::default(),
        }
    }

    /// Whether a page belongs to the buffer.
    pub fn contains(&self, number: u32) -> bool {
        self.blocks
            .iter()
            .any(|first| number.checked_sub(*first).is_some_and(|behind| behind < self.pages))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_blocks_are_found() {
        let layout = Layout::of_flags(0).unwrap();
        let mut page = vec![0; 16_384];
        assert!(!Doublewrite::read(&page, &layout).contains(0));
        let at = 16_384 - FROM_END;
        for (place, value) in [(10, MAGIC), (14, 64), (18, 128)] {
            page[at + place..at + place + 4].copy_from_slice(&value.to_be_bytes());
        }
        let found = Doublewrite::read(&page, &layout);
        assert_eq!(
            [63, 64, 127, 191, 192].map(|at| found.contains(at)),
            [false, true, true, true, false]
        );
    }
}
