//! The header of 38 bytes that every page has, and the layout of what follows it.

use crate::bytes::{be16, be32, be64};

/// Where a page's content begins.
pub const DATA: usize = 38;
/// The page number that stands for none.
pub const NONE: u32 = u32::MAX;

/// The header of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The page's number in its tablespace.
    pub number: u32,
    /// Left neighbour at the same level of an index; in page 0 of MySQL 8 and later, the server's version.
    pub prev: u32,
    /// Right neighbour.
    pub next: u32,
    /// Log sequence number of the last change.
    pub lsn: u64,
    /// Type code (`kinds`).
    pub kind: u16,
    /// The tablespace.
    pub space: u32,
}

impl Header {
    /// Reads the header of a page.
    pub fn read(page: &[u8]) -> Self {
        Self {
            number: be32(page, 4),
            prev: be32(page, 8),
            next: be32(page, 12),
            lsn: be64(page, 16),
            kind: be16(page, 24),
            space: be32(page, 34),
        }
    }
}
