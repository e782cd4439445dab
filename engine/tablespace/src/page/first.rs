//! What kind of tablespace a file is, from its first bytes: from the flags in page 0, or, where that page is
//! damaged or in another file, from which size makes pages that verify.

use super::checksum::{self, Sum};
use super::header::Header;
use super::kinds::code;
use super::layout::Layout;
use super::space_header::SpaceHeader;

/// Bytes that are enough to tell: of the largest pages some.
pub const HEAD: usize = 1 << 20;
/// Sizes of uncompressed pages, the default first.
const SIZES: [u32; 5] = [16_384, 4_096, 8_192, 32_768, 65_536];
/// Pages that are tried.
const TRIED: usize = 64;

/// What the first bytes say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct First {
    /// The layout.
    pub layout: Layout,
    /// Whether it is that of the flags.
    pub has_flags: bool,
    /// Number of the first page.
    pub number: u32,
    /// The tablespace.
    pub space: u32,
}

/// Recognises a tablespace; `None` if this is none.
pub fn recognise(head: &[u8]) -> Option<First> {
    let stated = stated(head);
    if let Some(first) = stated
        && matches!(checked(head, &first.layout, 0), Some((Sum::Valid(_), _)))
    {
        return stated;
    }
    let guesses = SIZES.into_iter().flat_map(|size| {
        [false, true].into_iter().filter_map(move |full| Layout::of_page_bytes(size, full))
    });
    let layouts = stated.map(|first| first.layout).into_iter().chain(guesses);
    let (pages, first) = layouts
        .filter_map(|layout| verified(head, layout, stated))
        .reduce(|best, other| if other.0 > best.0 { other } else { best })?;
    // One page alone may verify by chance of none of its sums; the flags are evidence themselves.
    (pages > 1 || first.has_flags).then_some(first)
}

/// What the flags of page 0 state.
fn stated(head: &[u8]) -> Option<First> {
    let (header, space) = (Header::read(head), SpaceHeader::read(head));
    let layout = Layout::of_flags(space.flags)?;
    let is_first =
        header.kind == code::FSP_HDR && header.number == 0 && header.space == space.space;
    (is_first && head.len() >= layout.physical as usize).then_some(First {
        layout,
        has_flags: true,
        number: 0,
        space: space.space,
    })
}

/// Verifies the page at this place of the head.
fn checked<'a>(head: &'a [u8], layout: &Layout, at: usize) -> Option<(Sum, &'a [u8])> {
    let page = head.chunks_exact(layout.physical as usize).nth(at)?;
    Some((checksum::check(page, layout).sum, page))
}

/// Pages that verify with this layout, and what they say. Most pages must agree on number and tablespace.
fn verified(head: &[u8], layout: Layout, stated: Option<First>) -> Option<(usize, First)> {
    let mut votes: Vec<((u32, u32), usize)> = Vec::new();
    for (at, page) in head.chunks_exact(layout.physical as usize).take(TRIED).enumerate() {
        let header = Header::read(page);
        if let Sum::Valid(_) = checksum::check(page, &layout).sum
            && let Some(number) = header.number.checked_sub(at as u32)
        {
            let vote = (number, header.space);
            match votes.iter_mut().find(|(one, _)| *one == vote) {
                Some((_, count)) => *count += 1,
                None => votes.push((vote, 1)),
            }
        }
    }
    let ((number, space), pages) = votes.into_iter().max_by_key(|(_, count)| *count)?;
    let has_flags = stated.is_some_and(|first| first.layout == layout && first.space == space);
    Some((pages, First { layout, has_flags, number, space }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crc32c::crc32c;
    use proptest::prelude::*;

    /// A page with sums of full_crc32.
    fn page(number: u32, kind: u16, flags: u32) -> Vec<u8> {
        let mut page = vec![0; 16_384];
        for (at, value) in [(4, number), (34, 9), (38, 9), (54, flags)] {
            page[at..at + 4].copy_from_slice(&value.to_be_bytes());
        }
        page[24..26].copy_from_slice(&kind.to_be_bytes());
        let sum = crc32c(&page[..16_380]);
        page[16_380..].copy_from_slice(&sum.to_be_bytes());
        page
    }

    fn head(first: u32) -> Vec<u8> {
        (first..first + 8).flat_map(|at| page(at, if at == 0 { 8 } else { 6 }, 0x15)).collect()
    }

    #[test]
    fn flags_of_page_0_are_believed_where_it_verifies() {
        let first = recognise(&head(0)).unwrap();
        assert_eq!((first.layout.physical, first.space, first.has_flags), (16_384, 9, true));
    }

    #[test]
    fn a_damaged_page_0_leaves_the_others_to_tell() {
        for bit in [54 * 8 + 27, 55 * 8 + 30, 57 * 8 + 7, 57 * 8 + 3, 38 * 8, 24 * 8] {
            let mut head = head(0);
            head[bit / 8] ^= 0x80 >> (bit % 8);
            let first = recognise(&head).unwrap();
            assert_eq!((first.layout.physical, first.layout.is_full_crc32), (16_384, true));
            assert_eq!((first.number, first.space), (0, 9));
        }
    }

    #[test]
    fn a_further_file_of_a_tablespace_has_no_page_0() {
        let first = recognise(&head(768)).unwrap();
        assert_eq!((first.number, first.space, first.has_flags), (768, 9, false));
    }

    #[test]
    fn other_files_are_none() {
        assert_eq!(recognise(b""), None);
        assert_eq!(recognise(&vec![0; HEAD]), None);
        assert_eq!(recognise(&b"-- a dump of a database\n".repeat(10_000)), None);
    }

    proptest! {
        #[test]
        fn rubbish_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..40_000)) {
            recognise(&bytes);
        }
    }
}
