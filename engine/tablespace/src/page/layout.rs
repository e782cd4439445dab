//! What the flags of a tablespace say: sizes of pages and extents, and the form of the checksums.

use schemars::JsonSchema;
use serde::Serialize;

/// Size of a page where the flags do not give one.
const DEFAULT: u32 = 16_384;
/// Bit of the flags that marks MariaDB's full_crc32 format; elsewhere it belongs to a size that is never
/// so large.
const FULL_CRC32: u32 = 1 << 4;

/// Sizes and form of a tablespace's pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// FSP_SPACE_FLAGS as read.
    pub flags: u32,
    /// Bytes of an uncompressed page, `innodb_page_size`.
    pub logical: u32,
    /// Bytes of a page in the file: less than `logical` with ROW_FORMAT=COMPRESSED.
    pub physical: u32,
    /// Whether checksums cover the whole page (MariaDB 10.4 and later).
    pub is_full_crc32: bool,
}

impl Layout {
    /// The layout that flags state; `None` if no server writes such flags.
    pub fn of_flags(flags: u32) -> Option<Self> {
        let is_full_crc32 = flags & FULL_CRC32 != 0;
        let (logical, zip) =
            if is_full_crc32 { (flags & 15, 0) } else { (flags >> 6 & 15, flags >> 1 & 15) };
        let logical = match logical {
            0 if !is_full_crc32 => DEFAULT,
            3..=7 => 512 << logical,
            _ => return None,
        };
        let physical = match zip {
            0 => logical,
            1..=5 if 512 << zip <= logical => 512 << zip,
            _ => return None,
        };
        Some(Self { flags, logical, physical, is_full_crc32 })
    }

    /// The layout of uncompressed pages of this size, where the flags cannot be read.
    pub fn of_page_bytes(page_bytes: u32, is_full_crc32: bool) -> Option<Self> {
        let shift = (page_bytes / 512).checked_ilog2()?;
        let flags = if is_full_crc32 { FULL_CRC32 | shift } else { shift << 6 };
        Self::of_flags(flags).filter(|layout| layout.physical == page_bytes)
    }

    /// Whether pages are those of ROW_FORMAT=COMPRESSED.
    pub fn is_compressed(&self) -> bool {
        self.physical < self.logical
    }

    /// Pages of an extent.
    pub fn extent_pages(&self) -> u32 {
        match self.logical {
            ..=16_384 => (1 << 20) / self.logical,
            _ => 64,
        }
    }

    /// Pages that one page of extent descriptors is responsible for.
    pub fn descriptor_pages(&self) -> u32 {
        self.physical
    }

    /// Extents that one page of extent descriptors is responsible for.
    pub fn extents_described(&self) -> u32 {
        self.physical / self.extent_pages()
    }

    /// Bytes of an empty index page that records and their directory may take.
    pub fn usable(&self, is_compact: bool) -> u32 {
        self.logical - if is_compact { 132 } else { 137 }
    }

    /// What the flags say, by name.
    pub fn named(&self, is_mariadb: bool) -> Flags {
        let has = |bit: u32| self.flags >> bit & 1 == 1;
        let (plain, mysql) = (!self.is_full_crc32, !self.is_full_crc32 && !is_mariadb);
        Flags {
            raw: self.flags,
            is_full_crc32: self.is_full_crc32,
            has_atomic_blobs: plain && has(5),
            has_data_directory: mysql && has(10),
            is_shared: mysql && has(11),
            is_temporary: mysql && has(12),
            is_encrypted: mysql && has(13),
            has_sdi: mysql && has(14),
            page_compression: match self.is_full_crc32 {
                true => algorithm(self.flags >> 5 & 7),
                false if is_mariadb && has(16) => Some("of its pages"),
                false => None,
            },
        }
    }
}

/// Page compression of full_crc32 files, by number.
fn algorithm(number: u32) -> Option<&'static str> {
    match number {
        1 => Some("zlib"),
        2 => Some("lz4"),
        3 => Some("lzo"),
        4 => Some("lzma"),
        5 => Some("bzip2"),
        6 => Some("snappy"),
        _ => None,
    }
}

/// Flags of a tablespace, decoded. Those of the other vendor are false.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Flags {
    /// FSP_SPACE_FLAGS.
    pub raw: u32,
    /// MariaDB's full_crc32 format.
    pub is_full_crc32: bool,
    /// ROW_FORMAT=DYNAMIC or COMPRESSED.
    pub has_atomic_blobs: bool,
    /// The table has a DATA DIRECTORY (MySQL).
    pub has_data_directory: bool,
    /// A general tablespace (MySQL).
    pub is_shared: bool,
    /// A temporary tablespace (MySQL).
    pub is_temporary: bool,
    /// Encrypted (MySQL).
    pub is_encrypted: bool,
    /// Holds serialized dictionary information (MySQL 8 and later).
    pub has_sdi: bool,
    /// Page compression (MariaDB).
    pub page_compression: Option<&'static str>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn flags_of_servers_give_their_sizes() {
        // MySQL 8, DYNAMIC, 16 KiB; the same with SDI; MariaDB full_crc32 of 4 and 64 KiB.
        let sizes = |flags| Layout::of_flags(flags).map(|one| (one.logical, one.physical));
        assert_eq!(sizes(0x21), Some((16_384, 16_384)));
        assert_eq!(sizes(0x4021), Some((16_384, 16_384)));
        assert_eq!(sizes(0x13), Some((4_096, 4_096)));
        assert_eq!(sizes(0x17), Some((65_536, 65_536)));
        // ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8 and 1; 4 KiB pages without full_crc32.
        assert_eq!(sizes(0x29), Some((16_384, 8_192)));
        assert_eq!(sizes(0x23), Some((16_384, 1_024)));
        assert_eq!(sizes(0xc0), Some((4_096, 4_096)));
        assert_eq!(sizes(0x1f), None);
        assert_eq!(sizes(0x0e << 6), None);
    }

    #[test]
    fn extents_are_of_one_mebibyte_up_to_pages_of_16_kib() {
        let extent = |size| Layout::of_page_bytes(size, false).unwrap().extent_pages();
        assert_eq!([4, 8, 16, 32, 64].map(|kib| extent(kib << 10)), [256, 128, 64, 64, 64]);
    }

    proptest! {
        #[test]
        fn any_flags_give_sane_sizes_or_none(flags: u32) {
            if let Some(layout) = Layout::of_flags(flags) {
                prop_assert!(layout.physical >= 1024 && layout.physical <= layout.logical);
                prop_assert!(layout.logical <= 65_536 && layout.extents_described() >= 4);
            }
        }
    }
}
