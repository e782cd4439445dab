//! What is written: a line of JSON for each file, and one of all files at the end.

use crate::page::checksum::{Algorithm, Fault};
use crate::page::layout::Flags;
use schemars::JsonSchema;
use serde::Serialize;

/// A line of `dyno-engine tablespace`: a data file of InnoDB, a file skipped, progress, or the totals.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A tablespace's file.
    Tablespace {
        /// What is in it.
        tablespace: Box<Tablespace>,
    },
    /// A file or directory that could not be read.
    Skipped {
        /// Its path.
        path: String,
        /// Why.
        what: String,
    },
    /// How far reading is, about once a second.
    Progress {
        /// Bytes read.
        bytes: u64,
        /// Bytes of all files.
        bytes_total: u64,
    },
    /// The end: all files together.
    End {
        /// Their sums.
        totals: Totals,
    },
}

/// Sums over all files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Totals {
    /// Files read.
    pub files: u64,
    /// Files and directories that could not be read.
    pub skipped: u64,
    /// Bytes of all files, holes included.
    pub apparent_bytes: u64,
    /// Bytes that the file system has allocated.
    pub allocated_bytes: u64,
    /// Bytes of pages that hold nothing, inside files.
    pub free_bytes: u64,
    /// Bytes that rebuilding every table for which it is known would give back.
    pub rebuild_gain_bytes: u64,
    /// Damaged pages.
    pub corrupt_pages: u64,
    /// Files with damaged pages.
    pub corrupt_files: u64,
}

impl Totals {
    /// Adds a file.
    pub fn add(&mut self, file: &Tablespace) {
        self.files += 1;
        self.apparent_bytes += file.apparent_bytes;
        self.allocated_bytes += file.allocated_bytes;
        self.free_bytes += file.free.bytes;
        self.rebuild_gain_bytes += file.rebuild.gain_bytes.unwrap_or(0);
        self.corrupt_pages += file.corrupt.pages;
        self.corrupt_files += u64::from(file.corrupt.pages > 0);
    }
}

/// A file of a tablespace.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Tablespace {
    /// Its path as given or found.
    pub path: String,
    /// What it is for.
    pub kind: Kind,
    /// The table, of a table's partition.
    pub partition_of: Option<String>,
    /// The tablespace's identifier.
    pub space: u32,
    /// Bytes of the file, holes included.
    pub apparent_bytes: u64,
    /// Bytes that the file system has allocated.
    pub allocated_bytes: u64,
    /// Pages in the file.
    pub pages: u64,
    /// Number of the file's first page: not 0 in further files of a system tablespace.
    pub first_page: u32,
    /// Bytes behind the last whole page.
    pub trailing_bytes: u64,
    /// Sizes, flags, vendor.
    pub format: Format,
    /// Pages by type, most first.
    pub page_types: Vec<PageType>,
    /// Pages of zeroes, which were never written.
    pub empty_pages: u64,
    /// Copies of pages in the doublewrite buffer of a system tablespace.
    pub doublewrite_pages: u64,
    /// Encrypted pages; their content is not read.
    pub encrypted_pages: u64,
    /// Page-compressed pages; their content is not read.
    pub page_compressed: PageCompressed,
    /// Extents by state.
    pub extents: Extents,
    /// Segments: what indexes and rollback segments have reserved.
    pub segments: Segments,
    /// Pages that hold nothing.
    pub free: Free,
    /// Indexes, by identifier.
    pub indexes: Vec<Index>,
    /// Pages of indexes that were too many to list.
    pub index_pages_omitted: u64,
    /// What a rebuild (OPTIMIZE TABLE, ALTER TABLE ... FORCE) would leave.
    pub rebuild: Rebuild,
    /// The file's next growth.
    pub next_growth_bytes: u64,
    /// Log sequence numbers of pages.
    pub lsn: Option<Lsn>,
    /// Damaged pages.
    pub corrupt: Corrupt,
}

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A table.
    Table,
    /// A partition of a table.
    Partition,
    /// Several tables (CREATE TABLESPACE).
    General,
    /// The system tablespace.
    System,
    /// MySQL's data dictionary.
    Dictionary,
    /// Undo logs.
    Undo,
    /// Temporary tables.
    Temporary,
}

/// How the file is laid out, and by whom.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Format {
    /// Whose server wrote it.
    pub vendor: Vendor,
    /// What says so.
    pub evidence: Vec<&'static str>,
    /// Version of the MySQL server that made the file, 8 or later: 90200 is 9.2.0.
    pub server_version: Option<u32>,
    /// `innodb_page_size`.
    pub page_bytes: u32,
    /// Bytes of a page in the file: less with ROW_FORMAT=COMPRESSED.
    pub physical_page_bytes: u32,
    /// Pages of an extent.
    pub extent_pages: u32,
    /// Flags of the tablespace; none if page 0 is not in the file, or damaged.
    pub flags: Option<Flags>,
    /// Checksums: pages by algorithm.
    pub checksums: Vec<Checksum>,
}

/// Whose server wrote a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Vendor {
    /// MariaDB.
    Mariadb,
    /// MySQL.
    Mysql,
    /// Nothing in the file tells: MySQL before 8.0, or MariaDB without full_crc32.
    Unknown,
}

/// Pages of a checksum algorithm.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Checksum {
    /// The algorithm.
    pub algorithm: Algorithm,
    /// Pages that verified by it.
    pub pages: u64,
}

/// Pages of a type.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PageType {
    /// Its name.
    #[serde(rename = "type")]
    pub name: &'static str,
    /// Its code in the file.
    pub code: u16,
    /// Pages.
    pub pages: u64,
    /// Those of them that extent descriptors call free: what they held was dropped.
    pub free_pages: u64,
}

/// Page-compressed pages.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct PageCompressed {
    /// Pages.
    pub pages: u64,
    /// Bytes that they take; the rest can be a hole.
    pub stored_bytes: u64,
}

/// Extents by state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Extents {
    /// No page is used.
    pub free: u64,
    /// Single pages are used, some are free.
    pub free_frag: u64,
    /// Single pages are used, none is free.
    pub full_frag: u64,
    /// Belong to segments.
    pub fseg: u64,
    /// Belong to segments and lend single pages (MySQL 8 and later).
    pub fseg_frag: u64,
    /// In a state that no server writes.
    pub unknown: u64,
}

/// Segments, added up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Segments {
    /// Segments.
    pub count: u64,
    /// Pages that they have reserved.
    pub reserved_pages: u64,
    /// Pages of these that are used.
    pub used_pages: u64,
    /// Segments of no index that was found (undo, LOBs, indexes not listed).
    pub unowned: u64,
}

/// A segment of an index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Segment {
    /// Its identifier.
    pub id: u64,
    /// Single pages.
    pub fragment_pages: u32,
    /// Extents, by how much of them is used.
    pub free_extents: u32,
    /// Extents of which some pages are used.
    pub not_full_extents: u32,
    /// Extents of which all pages are used.
    pub full_extents: u32,
    /// Pages that it has reserved.
    pub reserved_pages: u64,
    /// Pages of these that are used.
    pub used_pages: u64,
}

/// Pages that hold nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Free {
    /// In free extents.
    pub extent_pages: u64,
    /// Behind the last extent that is described.
    pub beyond_limit_pages: u64,
    /// Single pages in extents of single pages.
    pub fragment_pages: u64,
    /// Reserved by segments: other segments cannot use them.
    pub reserved_pages: u64,
    /// All of them, in bytes.
    pub bytes: u64,
    /// What the server shows as DATA_FREE: whole free extents less its reserve.
    pub data_free_bytes: u64,
}

/// An index.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Index {
    /// Its identifier, that of INNODB_INDEXES (MySQL) or INNODB_SYS_INDEXES (MariaDB).
    pub id: u64,
    /// Whether it holds the rows; none if its pages do not tell.
    pub is_clustered: Option<bool>,
    /// Its records are COMPACT, DYNAMIC or COMPRESSED, not REDUNDANT.
    pub is_compact: bool,
    /// Serialized dictionary information (MySQL).
    pub is_sdi: bool,
    /// Number of its root page.
    pub root_page: Option<u32>,
    /// Pages at all levels.
    pub pages: u64,
    /// Records on its leaves, those marked as deleted among them.
    pub rows: u64,
    /// Levels, leaves first.
    pub levels: Vec<Level>,
    /// The segment of its leaves.
    pub leaf_segment: Option<Segment>,
    /// The segment of its other pages.
    pub upper_segment: Option<Segment>,
}

/// A level of an index.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Level {
    /// Height above the leaves.
    pub level: u16,
    /// Pages.
    pub pages: u64,
    /// Records.
    pub rows: u64,
    /// Bytes of records (with ROW_FORMAT=COMPRESSED: uncompressed).
    pub record_bytes: u64,
    /// Bytes of records that were purged, not yet reused.
    pub garbage_bytes: u64,
    /// Bytes that records could take.
    pub usable_bytes: u64,
    /// Mean fill: `record_bytes` of `usable_bytes`.
    pub fill: f64,
    /// Pages by fill: less than a tenth, less than two tenths, and so on.
    pub pages_by_fill: [u64; 10],
}

/// What a rebuild would leave, by the model of sorted index builds.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Rebuild {
    /// Bytes of the new file.
    pub bytes: Option<u64>,
    /// Bytes that it gives back; 0 if the file would not shrink.
    pub gain_bytes: Option<u64>,
    /// Why it is not known.
    pub unknown: Option<&'static str>,
}

/// Log sequence numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Lsn {
    /// Lowest of a page.
    pub min: u64,
    /// Highest of a page.
    pub max: u64,
    /// How far pages lie behind the highest, in bytes of redo log: 10 %, 20 %, ... 90 % of pages are at
    /// most so old. Exact to 1/512 of the range.
    pub age_deciles: [u64; 9],
}

/// Damaged pages.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Corrupt {
    /// Pages.
    pub pages: u64,
    /// The first of them.
    pub listed: Vec<CorruptPage>,
    /// Pages that were being written when they were first read, and verified when read again.
    pub torn_pages: u64,
}

/// A damaged page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CorruptPage {
    /// Its number.
    pub page: u32,
    /// What is wrong.
    pub faults: Vec<Fault>,
}
