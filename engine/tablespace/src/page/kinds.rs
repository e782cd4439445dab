//! Codes of page types, as MySQL and MariaDB write them.

use crate::bytes::be16;

/// Page types that the scan looks into or counts apart.
pub mod code {
    #![allow(missing_docs)]
    pub const ALLOCATED: u16 = 0;
    pub const UNDO_LOG: u16 = 2;
    pub const INODE: u16 = 3;
    pub const TRANSACTION_SYSTEM: u16 = 7;
    pub const FSP_HDR: u16 = 8;
    pub const XDES: u16 = 9;
    pub const COMPRESSED: u16 = 14;
    pub const ENCRYPTED: u16 = 15;
    pub const COMPRESSED_AND_ENCRYPTED: u16 = 16;
    pub const ENCRYPTED_RTREE: u16 = 17;
    pub const SDI_BLOB_OR_INSTANT: u16 = 18;
    pub const RSEG_ARRAY: u16 = 21;
    pub const SDI: u16 = 17853;
    pub const RTREE: u16 = 17854;
    pub const INDEX: u16 = 17855;
    pub const PAGE_COMPRESSED: u16 = 34354;
    pub const PAGE_COMPRESSED_ENCRYPTED: u16 = 37401;
}

/// Bit of a type that marks a page-compressed page in full_crc32 files; the low bits are its size.
pub const COMPRESSED_MARKER: u16 = 1 << 15;

/// Name of a page type. `is_mariadb` decides about code 18, which both vendors use.
pub fn name(kind: u16, is_mariadb: bool) -> &'static str {
    match kind {
        code::ALLOCATED => "allocated",
        code::UNDO_LOG => "undo_log",
        code::INODE => "inode",
        4 => "ibuf_free_list",
        5 => "ibuf_bitmap",
        6 => "system",
        code::TRANSACTION_SYSTEM => "transaction_system",
        code::FSP_HDR => "space_header",
        code::XDES => "extent_descriptors",
        10 => "blob",
        11 => "compressed_blob_first",
        12 => "compressed_blob",
        13 => "unknown",
        code::SDI_BLOB_OR_INSTANT if is_mariadb => "instant_index_root",
        code::SDI_BLOB_OR_INSTANT => "sdi_blob",
        19 => "sdi_compressed_blob",
        20 => "legacy_doublewrite",
        code::RSEG_ARRAY => "rollback_segment_array",
        22 => "lob_index",
        23 => "lob_data",
        24 => "lob_first",
        25 => "compressed_lob_first",
        26 => "compressed_lob_data",
        27 => "compressed_lob_index",
        28 => "compressed_lob_fragment",
        29 => "compressed_lob_fragment_entry",
        code::SDI => "sdi",
        code::RTREE => "spatial_index",
        code::INDEX => "index",
        code::PAGE_COMPRESSED => "page_compressed",
        code::PAGE_COMPRESSED_ENCRYPTED => "page_compressed_encrypted",
        _ => "other",
    }
}

/// Whether MySQL compressed or encrypted the page after it was filled.
pub fn is_mysql_transformed(kind: u16) -> bool {
    matches!(kind, code::COMPRESSED..=code::ENCRYPTED_RTREE)
}

/// The type that such a page had before, which its header keeps.
pub fn original(kind: u16, page: &[u8]) -> u16 {
    match kind {
        // In its place, pages of spatial indexes have a number of their own.
        code::ENCRYPTED_RTREE => code::RTREE,
        _ => be16(page, 28),
    }
}

/// Whether pages of this type hold parts of columns that do not fit into an index page.
pub fn is_blob(kind: u16, is_mariadb: bool) -> bool {
    matches!(kind, 10 | 11 | 12 | 22..=29)
        || (!is_mariadb && matches!(kind, code::SDI_BLOB_OR_INSTANT | 19))
}

/// Whether pages of this type have the header of an index page.
pub fn is_index(kind: u16, is_mariadb: bool) -> bool {
    matches!(kind, code::INDEX | code::RTREE | code::SDI)
        || (is_mariadb && kind == code::SDI_BLOB_OR_INSTANT)
}
