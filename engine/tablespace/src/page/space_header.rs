//! The header of a tablespace in its first page: sizes, flags, lists of extents.

use super::header::DATA;
use crate::bytes::{be32, be64};

/// The header of a tablespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpaceHeader {
    /// The tablespace.
    pub space: u32,
    /// Pages that the server counts, of all files.
    pub pages: u32,
    /// The first page that no extent descriptor is initialised for.
    pub free_limit: u32,
    /// Flags (`layout`).
    pub flags: u32,
    /// Extents in the list of free ones.
    pub free_extents: u32,
    /// The next segment's identifier.
    pub next_segment: u64,
}

impl SpaceHeader {
    /// Reads the header from page 0.
    pub fn read(page: &[u8]) -> Self {
        Self {
            space: be32(page, DATA),
            pages: be32(page, DATA + 8),
            free_limit: be32(page, DATA + 12),
            flags: be32(page, DATA + 16),
            free_extents: be32(page, DATA + 24),
            next_segment: be64(page, DATA + 72),
        }
    }
}
