//! Whether a page is as the server wrote it.
//!
//! Kinds: MariaDB's full_crc32 (CRC-32C of the page up to its last four bytes), crc32 (CRC-32C of the parts
//! that a write does not change), innodb (a hash of the same parts), none (a constant). Pages of
//! ROW_FORMAT=COMPRESSED have one sum and no copy of the LSN at their end.

use super::header::DATA;
use super::kinds::{COMPRESSED_MARKER, code};
use super::layout::Layout;
use crate::bytes::{be16, be32};
use crc32c::crc32c;
use schemars::JsonSchema;
use serde::Serialize;

/// What `innodb_checksum_algorithm=none` writes.
const NO_SUM: u32 = 0xDEAD_BEEF;
/// Where the parts of the header that checksums leave out begin: the flush LSN, or a key's version.
const FLUSH_LSN: usize = 26;
/// Where MariaDB keeps the sum of an encrypted page, in files without full_crc32.
const ENCRYPTED_SUM: usize = 30;
/// Where the space identifier begins.
const SPACE: usize = 34;

/// A checksum algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Algorithm {
    /// MariaDB's of the whole page.
    FullCrc32,
    /// CRC-32C.
    Crc32,
    /// The one before MySQL 5.7.7.
    Innodb,
    /// None: a constant instead of a sum.
    None,
}

/// What is wrong with a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The checksum is that of no algorithm.
    Checksum,
    /// The LSN at the page's end is not that of its header.
    Lsn,
    /// The page has another number.
    Number,
    /// The page belongs to another tablespace.
    Space,
    /// Its compressed size is larger than a page.
    CompressedSize,
}

/// How a page verifies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sum {
    /// As written, by this algorithm.
    Valid(Algorithm),
    /// Zeroes alone: never written.
    Empty,
    /// The sum is of the content before encryption or compression.
    NotVerifiable,
    /// Not as written.
    Wrong(Fault),
}

/// A page's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checked {
    /// How it verifies.
    pub sum: Sum,
    /// Whether its content is encrypted.
    pub is_encrypted: bool,
    /// Bytes of a page-compressed page that count; the rest is a hole in the file.
    pub compressed_bytes: Option<u32>,
}

impl Checked {
    fn plain(sum: Sum) -> Self {
        Self { sum, is_encrypted: false, compressed_bytes: None }
    }

    /// Whether index headers and other content can be read.
    pub fn is_readable(&self) -> bool {
        matches!(self.sum, Sum::Valid(_)) && !self.is_encrypted && self.compressed_bytes.is_none()
    }
}

/// Verifies a page of `layout.physical` bytes.
pub fn check(page: &[u8], layout: &Layout) -> Checked {
    if page.iter().all(|&byte| byte == 0) {
        return Checked::plain(Sum::Empty);
    }
    if layout.is_full_crc32 {
        return full_crc32(page);
    }
    if let Some(checked) = before_sum(page) {
        return checked;
    }
    let checked = if layout.is_compressed() { compressed(page) } else { plain(page) };
    match checked {
        Sum::Wrong(_) if has_encrypted_sum(page, layout) => Checked {
            sum: Sum::Valid(Algorithm::Crc32),
            is_encrypted: true,
            compressed_bytes: None,
        },
        sum => Checked::plain(sum),
    }
}

fn full_crc32(page: &[u8]) -> Checked {
    let kind = be16(page, 24);
    let compressed = (kind & COMPRESSED_MARKER != 0).then(|| usize::from(kind & 0x7fff) << 8);
    let size = compressed.unwrap_or(page.len());
    if size < 256 || size > page.len() {
        return Checked::plain(Sum::Wrong(Fault::CompressedSize));
    }
    // The key's version; zero if not encrypted.
    let is_encrypted = be32(page, 0) != 0;
    let sum = if be32(page, size - 4) != crc32c(&page[..size - 4]) {
        Sum::Wrong(Fault::Checksum)
    } else if compressed.is_none() && !is_encrypted && be32(page, 20) != be32(page, size - 8) {
        Sum::Wrong(Fault::Lsn)
    } else {
        Sum::Valid(Algorithm::FullCrc32)
    };
    Checked { sum, is_encrypted, compressed_bytes: compressed.map(|size| size as u32) }
}

/// Pages whose sum is of what they were before compression or encryption.
fn before_sum(page: &[u8]) -> Option<Checked> {
    let kind = be16(page, 24);
    let (is_encrypted, size) = match kind {
        // MySQL keeps the compressed size behind the header's version, algorithm, type and size.
        code::COMPRESSED => (false, Some(be16(page, 32))),
        code::COMPRESSED_AND_ENCRYPTED => (true, Some(be16(page, 32))),
        code::ENCRYPTED | code::ENCRYPTED_RTREE => (true, None),
        code::PAGE_COMPRESSED => (false, Some(be16(page, DATA))),
        code::PAGE_COMPRESSED_ENCRYPTED => (true, Some(be16(page, DATA))),
        _ => return None,
    };
    let size = size.map(|size| u32::from(size) + DATA as u32);
    let is_too_large = size.is_some_and(|size| size as usize > page.len());
    let sum = if is_too_large { Sum::Wrong(Fault::CompressedSize) } else { Sum::NotVerifiable };
    Some(Checked { sum, is_encrypted, compressed_bytes: size })
}

fn plain(page: &[u8]) -> Sum {
    let end = page.len() - 8;
    let (head, tail) = (be32(page, 0), be32(page, end));
    let algorithm = if is_crc32(page, head, tail) {
        Algorithm::Crc32
    } else if head == NO_SUM && tail == NO_SUM {
        Algorithm::None
    } else if is_innodb(page, head, tail) {
        Algorithm::Innodb
    } else {
        return Sum::Wrong(Fault::Checksum);
    };
    // With `innodb`, the last sum may be the LSN, of servers before 4.0.14.
    let is_lsn = be32(page, 20) == be32(page, end + 4);
    if is_lsn { Sum::Valid(algorithm) } else { Sum::Wrong(Fault::Lsn) }
}

fn is_crc32(page: &[u8], head: u32, tail: u32) -> bool {
    head == tail && head == crc32_of(page)
}

fn crc32_of(page: &[u8]) -> u32 {
    crc32c(&page[4..FLUSH_LSN]) ^ crc32c(&page[DATA..page.len() - 8])
}

fn is_innodb(page: &[u8], head: u32, tail: u32) -> bool {
    let is_tail = || tail == be32(page, 20) || tail == fold(0, &page[..FLUSH_LSN]);
    let of_parts =
        || fold(0, &page[4..FLUSH_LSN]).wrapping_add(fold(0, &page[DATA..page.len() - 8]));
    is_tail() && (head == 0 || head == of_parts())
}

/// InnoDB's hash of bytes.
fn fold(start: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(start, |hash, &byte| {
        let byte = u32::from(byte);
        let mixed = ((hash ^ byte ^ 1_653_893_711) << 8).wrapping_add(hash);
        (mixed ^ 1_463_735_687).wrapping_add(byte)
    })
}

fn compressed(page: &[u8]) -> Sum {
    let stored = be32(page, 0);
    let parts = [&page[4..16], &page[24..FLUSH_LSN], &page[SPACE..]];
    if stored == compressed_crc32(page) {
        Sum::Valid(Algorithm::Crc32)
    } else if stored == NO_SUM {
        Sum::Valid(Algorithm::None)
    } else if stored == parts.into_iter().fold(0, adler32) {
        Sum::Valid(Algorithm::Innodb)
    } else {
        Sum::Wrong(Fault::Checksum)
    }
}

fn compressed_crc32(page: &[u8]) -> u32 {
    crc32c(&page[4..16]) ^ crc32c(&page[24..FLUSH_LSN]) ^ crc32c(&page[SPACE..])
}

/// zlib's Adler-32, continued (RFC 1950).
fn adler32(start: u32, bytes: &[u8]) -> u32 {
    let (mut low, mut high) = (start & 0xffff, start >> 16);
    // So many sums fit into 32 bits before they must be reduced.
    for part in bytes.chunks(5552) {
        for &byte in part {
            low += u32::from(byte);
            high += low;
        }
        low %= 65_521;
        high %= 65_521;
    }
    high << 16 | low
}

/// Whether this is a page that MariaDB encrypted, in a file without full_crc32.
fn has_encrypted_sum(page: &[u8], layout: &Layout) -> bool {
    let of_page = if layout.is_compressed() { compressed_crc32 } else { crc32_of };
    be32(page, FLUSH_LSN) != 0 && be32(page, ENCRYPTED_SUM) == of_page(page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn layout(flags: u32) -> Layout {
        Layout::of_flags(flags).unwrap()
    }

    /// A page with content, an LSN, and room for sums.
    fn written(size: usize) -> Vec<u8> {
        let mut page: Vec<u8> = (0..size).map(|at| (at * 7 % 251) as u8).collect();
        page[24..26].copy_from_slice(&code::INDEX.to_be_bytes());
        page[26..34].fill(0);
        let lsn: [u8; 4] = page[20..24].try_into().unwrap();
        page[size - 4..].copy_from_slice(&lsn);
        page
    }

    fn put(page: &mut [u8], at: usize, sum: u32) {
        page[at..at + 4].copy_from_slice(&sum.to_be_bytes());
    }

    fn summed(algorithm: Algorithm, size: usize) -> Vec<u8> {
        let mut page = written(size);
        let end = size - 8;
        match algorithm {
            Algorithm::FullCrc32 => {
                put(&mut page, 0, 0);
                let lsn = be32(&page, 20);
                put(&mut page, end, lsn);
                let sum = crc32c(&page[..size - 4]);
                put(&mut page, size - 4, sum);
            }
            Algorithm::Crc32 => {
                let sum = crc32_of(&page);
                put(&mut page, 0, sum);
                put(&mut page, end, sum);
            }
            Algorithm::None => {
                put(&mut page, 0, NO_SUM);
                put(&mut page, end, NO_SUM);
            }
            Algorithm::Innodb => {
                let sum = fold(0, &page[4..26]).wrapping_add(fold(0, &page[38..end]));
                put(&mut page, 0, sum);
                let old = fold(0, &page[..26]);
                put(&mut page, end, old);
            }
        }
        page
    }

    const ALL: [(Algorithm, u32); 4] = [
        (Algorithm::FullCrc32, 0x15),
        (Algorithm::Crc32, 0x21),
        (Algorithm::None, 0x21),
        (Algorithm::Innodb, 0x21),
    ];

    #[test]
    fn each_algorithm_is_recognised_by_its_sum() {
        for (algorithm, flags) in ALL {
            let checked = check(&summed(algorithm, 16_384), &layout(flags));
            assert_eq!(checked, Checked::plain(Sum::Valid(algorithm)));
        }
    }

    #[test]
    fn published_values_of_the_hashes_hold() {
        assert_eq!(adler32(1, b"Wikipedia"), 0x11E6_0398);
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
    }

    #[test]
    fn zeroes_are_a_page_that_was_never_written() {
        for flags in [0x15, 0x21, 0x29] {
            let layout = layout(flags);
            let page = vec![0; layout.physical as usize];
            assert_eq!(check(&page, &layout).sum, Sum::Empty);
        }
    }

    #[test]
    fn a_page_that_mariadb_encrypted_verifies_by_its_other_sum() {
        let mut page = summed(Algorithm::Crc32, 16_384);
        page[100] ^= 255;
        put(&mut page, 26, 1);
        let sum = crc32_of(&page);
        put(&mut page, 30, sum);
        let checked = check(&page, &layout(0x21));
        assert!(checked.is_encrypted && checked.sum == Sum::Valid(Algorithm::Crc32));
    }

    proptest! {
        #[test]
        fn a_flipped_bit_is_noticed(bit in 0_usize..16_384 * 8, which in 0_usize..4) {
            let (algorithm, flags) = ALL[which];
            let mut page = summed(algorithm, 16_384);
            let at = bit / 8;
            page[at] ^= 1 << (bit % 8);
            let sum = check(&page, &layout(flags)).sum;
            // Left out by the older sums: the flush LSN and the space; `none` sums nothing at all.
            let is_left_out = (26..38).contains(&at) && algorithm != Algorithm::FullCrc32;
            // The first sum's place is a key's version with full_crc32, which its sum covers.
            if !is_left_out && algorithm != Algorithm::None {
                prop_assert_ne!(sum, Sum::Valid(algorithm));
            }
        }

        #[test]
        fn rubbish_never_panics(
            bytes in prop::collection::vec(any::<u8>(), 1024), kind: u16, flags: u32
        ) {
            let Some(layout) = Layout::of_flags(flags) else { return Ok(()) };
            let mut page = bytes.repeat(layout.physical as usize / 1024);
            page[24..26].copy_from_slice(&kind.to_be_bytes());
            check(&page, &layout);
        }
    }
}
