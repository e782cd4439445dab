//! Parses arbitrary bytes as a tablespace. Pages are summed rightly first, as the input chooses, since random
//! bytes never verify: what is behind the checksum is then reached. The sums must fit the file.
#![no_main]

use dyno_tablespace::page::checksum::{self, Sum};
use dyno_tablespace::page::first;
use dyno_tablespace::page::layout::Layout;
use dyno_tablespace::scan::{File, Scan, Start};
use libfuzzer_sys::fuzz_target;

/// Bytes of the input that begin a page: headers of all kinds, and a descriptor or an inode.
const PIECE: usize = 200;

/// Pages whose sum cannot be wrong: `innodb_checksum_algorithm=none`.
fn made_valid(page: &mut [u8], layout: &Layout) {
    let length = page.len();
    if layout.is_full_crc32 {
        page[..4].fill(0);
        page[24] &= 0x7f;
        page.copy_within(20..24, length - 8);
        let sum = crc32c::crc32c(&page[..length - 4]);
        page[length - 4..].copy_from_slice(&sum.to_be_bytes());
    } else {
        page[..4].copy_from_slice(&0xDEAD_BEEF_u32.to_be_bytes());
        page.copy_within(..4, length - 8);
        page.copy_within(20..24, length - 4);
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&[choice, flags @ ..], data)) = data.split_first_chunk::<5>() else { return };
    first::recognise(data);
    let Some(layout) = Layout::of_flags(u32::from_be_bytes(flags)) else { return };
    let size = layout.physical as usize;
    // Short inputs are enough for several pages: the rest of each is zero.
    let pieces: Vec<&[u8]> = data.chunks(PIECE).take(64).collect();
    let (pages, space) = (pieces.len() as u64, 7);
    let mut scan =
        Scan::new(Start { layout, has_flags: choice & 1 == 0, first_page: 0, space, pages });
    for (number, piece) in pieces.into_iter().enumerate() {
        let mut page = vec![0; size];
        page[..piece.len()].copy_from_slice(piece);
        if choice & 2 == 0 {
            page[4..8].copy_from_slice(&(number as u32).to_be_bytes());
            page[34..38].copy_from_slice(&(space).to_be_bytes());
            made_valid(&mut page, &layout);
        }
        let checked = checksum::check(&page, &layout);
        let faults = scan.faults(number as u32, &page, &checked);
        assert!(!matches!(checked.sum, Sum::Wrong(_)) || !faults.is_empty());
        scan.add(number as u32, &page, &checked, faults);
    }
    let bytes = pages * size as u64;
    let file = File {
        path: "t.ibd".to_owned(),
        name: "t.ibd".to_owned(),
        apparent_bytes: bytes,
        allocated_bytes: bytes,
    };
    let found = scan.finish(file);
    let typed: u64 = found.page_types.iter().map(|one| one.pages).sum();
    assert_eq!(typed + found.doublewrite_pages + found.corrupt.pages, pages);
    assert!(found.free.bytes <= bytes);
    let indexed: u64 = found.indexes.iter().map(|one| one.pages).sum();
    assert!(indexed + found.index_pages_omitted <= pages);
    for level in found.indexes.iter().flat_map(|one| &one.levels) {
        assert!(level.fill <= 1.0 && level.pages_by_fill.iter().sum::<u64>() == level.pages);
    }
    assert!(serde_json::to_string(&found).is_ok());
});
