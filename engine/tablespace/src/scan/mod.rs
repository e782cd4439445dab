//! One file's pages, in order, added up: memory for indexes, segments and the extents around the page.

mod indexes;
mod lsn;
mod rebuild;

use crate::document::{
    Checksum, Corrupt, CorruptPage, Extents, Format, Free, Index, Kind, Lsn, PageCompressed,
    PageType, Rebuild, Segment, Segments, Tablespace, Vendor,
};
use crate::page::checksum::{Algorithm, Checked, Fault, Sum};
use crate::page::doublewrite::Doublewrite;
use crate::page::extents::{ExtentMap, State};
use crate::page::header::Header;
use crate::page::index::IndexPage;
use crate::page::inodes::{self, Inode};
use crate::page::kinds::{self, code};
use crate::page::layout::Layout;
use crate::page::space_header::SpaceHeader;
use indexes::{Address, Indexes};
use lsn::Ages;
use std::collections::{BTreeMap, HashMap};

/// Damaged pages that are listed.
const LISTED_MAX: usize = 1_000;
/// Segments of which numbers are kept.
const SEGMENTS_MAX: usize = 1_000_000;
/// The tablespace of MySQL's data dictionary.
const DICTIONARY_SPACE: u32 = u32::MAX - 1;

/// What is known of a file before its first page is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// Sizes and form of pages.
    pub layout: Layout,
    /// Whether the layout is that of the file's own flags.
    pub has_flags: bool,
    /// Number of the file's first page.
    pub first_page: u32,
    /// The tablespace.
    pub space: u32,
    /// Whole pages in the file.
    pub pages: u64,
}

/// Pages of a type: all, and free ones.
type Counts = BTreeMap<u16, (u64, u64)>;

/// The sums.
#[derive(Debug)]
pub struct Scan {
    start: Start,
    header: Option<SpaceHeader>,
    server_version: Option<u32>,
    map: Option<ExtentMap>,
    is_mysql_transformed: bool,
    doublewrite: Doublewrite,
    doublewrite_pages: u64,
    types: Counts,
    checksums: BTreeMap<Algorithm, u64>,
    extents: Extents,
    fragment_free: u64,
    segments: HashMap<Address, Segment>,
    indexes: Indexes,
    empty: u64,
    encrypted: u64,
    compressed: PageCompressed,
    ages: Ages,
    corrupt: Corrupt,
}

impl Scan {
    /// Begins a file.
    pub fn new(start: Start) -> Self {
        Self {
            start,
            header: None,
            server_version: None,
            map: None,
            is_mysql_transformed: false,
            doublewrite: Doublewrite::default(),
            doublewrite_pages: 0,
            types: Counts::new(),
            checksums: BTreeMap::new(),
            extents: Extents::default(),
            fragment_free: 0,
            segments: HashMap::new(),
            indexes: Indexes::default(),
            empty: 0,
            encrypted: 0,
            compressed: PageCompressed::default(),
            ages: Ages::default(),
            corrupt: Corrupt::default(),
        }
    }

    /// What is wrong with the page that should be page `number` of the file's tablespace.
    pub fn faults(&self, number: u32, page: &[u8], checked: &Checked) -> Vec<Fault> {
        let header = Header::read(page);
        let mut faults = Vec::new();
        if self.doublewrite.contains(number) {
            // What a crash left there is not used again.
            return faults;
        }
        match checked.sum {
            Sum::Empty => return faults,
            Sum::Wrong(fault) => faults.push(fault),
            Sum::Valid(_) | Sum::NotVerifiable => {}
        }
        if header.number != number {
            faults.push(Fault::Number);
        }
        // In full_crc32 files, what is compressed or encrypted begins before the space.
        let has_space = !self.start.layout.is_full_crc32
            || (checked.compressed_bytes.is_none() && !checked.is_encrypted);
        if has_space && header.space != self.start.space {
            faults.push(Fault::Space);
        }
        faults
    }

    /// Counts pages that verified when they were read again.
    pub fn torn(&mut self, pages: u64) {
        self.corrupt.torn_pages += pages;
    }

    /// Adds the next page.
    pub fn add(&mut self, number: u32, page: &[u8], checked: &Checked, faults: Vec<Fault>) {
        if !faults.is_empty() {
            self.corrupt.pages += 1;
            if self.corrupt.listed.len() < LISTED_MAX {
                self.corrupt.listed.push(CorruptPage { page: number, faults });
            }
            if self.is_descriptors(number) {
                self.map = None;
            }
            return;
        }
        if self.doublewrite.contains(number) {
            self.doublewrite_pages += 1;
            return;
        }
        if checked.sum == Sum::Empty {
            self.empty += 1;
            self.count(code::ALLOCATED, number);
            return;
        }
        if let Sum::Valid(algorithm) = checked.sum {
            *self.checksums.entry(algorithm).or_default() += 1;
        }
        self.encrypted += u64::from(checked.is_encrypted);
        if let Some(bytes) = checked.compressed_bytes {
            self.compressed.pages += 1;
            self.compressed.stored_bytes += u64::from(bytes);
        }
        let header = Header::read(page);
        self.ages.add(header.lsn);
        if checked.is_readable() {
            self.content(number, page, &header);
        }
        let kind = match header.kind {
            // The type is the compressed size; what the page holds is inside.
            _ if self.start.layout.is_full_crc32 && checked.compressed_bytes.is_some() => {
                code::PAGE_COMPRESSED
            }
            kind if kinds::is_mysql_transformed(kind) => {
                self.is_mysql_transformed = true;
                kinds::original(kind, page)
            }
            kind => kind,
        };
        self.count(kind, number);
    }

    fn is_descriptors(&self, number: u32) -> bool {
        number.is_multiple_of(self.start.layout.descriptor_pages())
    }

    fn count(&mut self, kind: u16, number: u32) {
        let counts = self.types.entry(kind).or_default();
        counts.0 += 1;
        counts.1 += u64::from(self.map.as_ref().and_then(|map| map.is_free(number)) == Some(true));
    }

    /// Reads a page that tells of others, or of rows.
    fn content(&mut self, number: u32, page: &[u8], header: &Header) {
        let layout = self.start.layout;
        if self.is_descriptors(number) && matches!(header.kind, code::FSP_HDR | code::XDES) {
            self.descriptors(number, page, header);
        }
        if header.kind == code::TRANSACTION_SYSTEM && self.start.space == 0 {
            self.doublewrite = Doublewrite::read(page, &layout);
        }
        let is_free = || self.map.as_ref().and_then(|map| map.is_free(number)) == Some(true);
        if header.kind == code::INODE && !is_free() {
            for inode in inodes::read(page, number, &layout) {
                if self.segments.len() < SEGMENTS_MAX {
                    self.segments.insert(inode.address, segment(&inode, layout.extent_pages()));
                }
            }
        } else if kinds::is_index(header.kind, !self.has_sdi())
            && !is_free()
            && let Some(index) = IndexPage::read(page, &layout)
        {
            self.indexes.add(number, &index, header.kind == code::SDI, &layout);
        }
    }

    fn descriptors(&mut self, number: u32, page: &[u8], header: &Header) {
        if number == 0 {
            let found = SpaceHeader::read(page);
            self.header = Some(found);
            // MySQL 8 and later keep their version where other pages keep their neighbour.
            self.server_version = Some(header.prev).filter(|v| (80_000..1_000_000).contains(v));
        }
        let map = ExtentMap::read(page, number, &self.start.layout);
        let end = u64::from(self.start.first_page) + self.start.pages;
        let extent = u64::from(self.start.layout.extent_pages());
        for (first, state, free) in map.extents() {
            if u64::from(first) >= end {
                break;
            }
            *match state {
                State::Uninitialised => continue,
                State::Free => &mut self.extents.free,
                State::FreeFragment => &mut self.extents.free_frag,
                State::FullFragment => &mut self.extents.full_frag,
                State::Segment => &mut self.extents.fseg,
                State::SegmentFragment => &mut self.extents.fseg_frag,
                State::Unknown => &mut self.extents.unknown,
            } += 1;
            if state == State::FreeFragment {
                let behind = (u64::from(first) + extent).saturating_sub(end);
                // Pages behind the file's end are free, and not there.
                self.fragment_free += u64::from(free).saturating_sub(behind);
            }
        }
        self.map = Some(map);
    }

    fn has_sdi(&self) -> bool {
        self.server_version.is_some() || self.flags_say_sdi()
    }

    fn flags_say_sdi(&self) -> bool {
        let layout = &self.start.layout;
        self.start.has_flags && !layout.is_full_crc32 && layout.flags >> 14 & 1 == 1
    }

    /// Ends the file.
    pub fn finish(mut self, file: File) -> Tablespace {
        let free = self.free();
        let kind = self.kind(&file.name);
        let format = self.format();
        let is_mariadb = format.vendor == Vendor::Mariadb;
        let mut segments = sum_segments(&self.segments);
        let is_one_table = matches!(kind, Kind::Table | Kind::Partition);
        let (indexes, omitted_pages) =
            std::mem::take(&mut self.indexes).found(&mut self.segments, is_one_table);
        segments.unowned = self.segments.len() as u64;
        let rebuild = self.rebuild(kind, format.vendor, &indexes, file.apparent_bytes);
        let mut page_types: Vec<PageType> = self
            .types
            .iter()
            .map(|(&code, &(pages, free_pages))| PageType {
                name: kinds::name(code, is_mariadb || !self.has_sdi()),
                code,
                pages,
                free_pages,
            })
            .collect();
        page_types.sort_by_key(|one| (std::cmp::Reverse(one.pages), one.code));
        Tablespace {
            partition_of: partition_of(&file.name).filter(|_| kind == Kind::Partition),
            path: file.path,
            kind,
            space: self.start.space,
            apparent_bytes: file.apparent_bytes,
            allocated_bytes: file.allocated_bytes,
            pages: self.start.pages,
            first_page: self.start.first_page,
            trailing_bytes: file.apparent_bytes % u64::from(self.start.layout.physical),
            format,
            page_types,
            empty_pages: self.empty,
            doublewrite_pages: self.doublewrite_pages,
            encrypted_pages: self.encrypted,
            page_compressed: self.compressed.clone(),
            extents: self.extents.clone(),
            segments,
            free,
            indexes,
            index_pages_omitted: omitted_pages,
            rebuild,
            next_growth_bytes: self.next_growth(kind),
            lsn: self.lsn(),
            corrupt: self.corrupt,
        }
    }

    fn lsn(&self) -> Option<Lsn> {
        self.ages.found()
    }

    fn free(&self) -> Free {
        let layout = &self.start.layout;
        let extent = u64::from(layout.extent_pages());
        let reserved = |one: &Segment| one.reserved_pages.saturating_sub(one.used_pages);
        let mut free = Free {
            extent_pages: self.extents.free * extent,
            fragment_pages: self.fragment_free,
            reserved_pages: self.segments.values().map(reserved).sum(),
            ..Free::default()
        };
        if let Some(header) = &self.header {
            let limit = u64::from(header.free_limit);
            // Behind the limit no extent is described, and none is used.
            free.beyond_limit_pages = self.start.pages.saturating_sub(limit);
            free.data_free_bytes = data_free(header, layout);
        }
        let pages = free.extent_pages + free.beyond_limit_pages + free.fragment_pages;
        // Numbers of a hostile file may claim more than there is.
        let pages = pages.saturating_add(free.reserved_pages).min(self.start.pages);
        free.bytes = pages * u64::from(layout.physical);
        free
    }

    fn kind(&self, name: &str) -> Kind {
        let layout = &self.start.layout;
        let flag = |bit: u32| {
            self.start.has_flags && !layout.is_full_crc32 && layout.flags >> bit & 1 == 1
        };
        match () {
            () if self.start.space == 0 => Kind::System,
            () if self.start.space == DICTIONARY_SPACE => Kind::Dictionary,
            () if self.types.contains_key(&code::RSEG_ARRAY) || name.starts_with("undo") => {
                Kind::Undo
            }
            () if name.starts_with("ibtmp") || name.starts_with("temp_") || flag(12) => {
                Kind::Temporary
            }
            () if flag(11) => Kind::General,
            () if partition_of(name).is_some() => Kind::Partition,
            () => Kind::Table,
        }
    }

    fn format(&self) -> Format {
        let layout = &self.start.layout;
        let has = |kinds: &[u16]| kinds.iter().any(|kind| self.types.contains_key(kind));
        let is_mariadb_compression = !layout.is_full_crc32 && layout.flags >> 16 & 1 == 1;
        let all = [
            (Vendor::Mariadb, layout.is_full_crc32, "full_crc32 format"),
            (Vendor::Mariadb, is_mariadb_compression, "flag of MariaDB's page compression"),
            (
                Vendor::Mariadb,
                !layout.is_full_crc32
                    && has(&[code::PAGE_COMPRESSED, code::PAGE_COMPRESSED_ENCRYPTED]),
                "page types of MariaDB's page compression",
            ),
            (
                Vendor::Mysql,
                self.server_version.is_some(),
                "version of a MySQL server in the first page",
            ),
            (Vendor::Mysql, self.flags_say_sdi(), "flag of serialized dictionary information"),
            (Vendor::Mysql, has(&[code::SDI, code::RSEG_ARRAY]), "page types of MySQL 8 and later"),
            (
                Vendor::Mysql,
                self.is_mysql_transformed,
                "page types of MySQL's compression or encryption",
            ),
        ];
        let found: Vec<_> = all.iter().filter(|(_, is_so, _)| *is_so).collect();
        let vendor = found.first().map_or(Vendor::Unknown, |(vendor, ..)| *vendor);
        Format {
            vendor,
            evidence: found.iter().map(|(_, _, what)| *what).collect(),
            server_version: self.server_version,
            page_bytes: layout.logical,
            physical_page_bytes: layout.physical,
            extent_pages: layout.extent_pages(),
            flags: self.start.has_flags.then(|| layout.named(vendor == Vendor::Mariadb)),
            checksums: self
                .checksums
                .iter()
                .map(|(&algorithm, &pages)| Checksum { algorithm, pages })
                .collect(),
        }
    }

    fn rebuild(&self, kind: Kind, vendor: Vendor, indexes: &[Index], bytes: u64) -> Rebuild {
        let has = |kind| self.types.contains_key(&kind);
        let unknown = match () {
            () if !matches!(kind, Kind::Table | Kind::Partition) => "not the file of one table",
            () if self.start.layout.is_compressed() => "ROW_FORMAT=COMPRESSED",
            () if self.compressed.pages > 0 => "page compression",
            () if self.encrypted > 0 => "encryption",
            () if self.corrupt.pages > 0 => "damaged pages",
            () if has(code::RTREE) => "a spatial index, which is not built by sorting",
            () if self.header.is_none() || indexes.is_empty() => "no index was found",
            () => {
                let is_blob = |kind| kinds::is_blob(kind, !self.has_sdi());
                let of_blobs = self.types.iter().filter(|(kind, _)| is_blob(**kind));
                return rebuild::predict(&rebuild::Content {
                    indexes,
                    blob_pages: of_blobs.map(|(_, (pages, free))| pages - free).sum(),
                    layout: &self.start.layout,
                    vendor,
                    bytes,
                });
            }
        };
        Rebuild { unknown: Some(unknown), ..Rebuild::default() }
    }

    /// Bytes that the file grows by once its free extents are used; 0 where a setting says so.
    fn next_growth(&self, kind: Kind) -> u64 {
        let layout = &self.start.layout;
        let extent = u64::from(layout.extent_pages()) * u64::from(layout.logical);
        let bytes = self.start.pages * u64::from(layout.physical);
        let many = (32 * extent).min(u64::from(layout.physical) * u64::from(layout.physical));
        match kind {
            Kind::System | Kind::Undo | Kind::Temporary => 0,
            _ if bytes < extent => u64::from(layout.physical),
            _ if bytes < many => extent,
            _ => 4 * extent,
        }
    }
}

/// What the file system knows of a file.
#[derive(Debug, Clone)]
pub struct File {
    /// Its path as given or found.
    pub path: String,
    /// Its name alone.
    pub name: String,
    /// Its size.
    pub apparent_bytes: u64,
    /// What is allocated of it.
    pub allocated_bytes: u64,
}

fn segment(inode: &Inode, extent_pages: u32) -> Segment {
    let extent = u64::from(extent_pages);
    let extents = [inode.free_extents, inode.partial_extents, inode.full_extents].map(u64::from);
    let fragments = u64::from(inode.fragment_pages);
    Segment {
        id: inode.id,
        fragment_pages: inode.fragment_pages,
        free_extents: inode.free_extents,
        not_full_extents: inode.partial_extents,
        full_extents: inode.full_extents,
        reserved_pages: fragments + extents.iter().sum::<u64>() * extent,
        used_pages: fragments + u64::from(inode.partial_used) + extents[2] * extent,
    }
}

fn sum_segments(all: &HashMap<Address, Segment>) -> Segments {
    Segments {
        count: all.len() as u64,
        reserved_pages: all.values().map(|one| one.reserved_pages).sum(),
        used_pages: all.values().map(|one| one.used_pages).sum(),
        unowned: 0,
    }
}

/// DATA_FREE as the server computes it: extents that are free, less those that it keeps for undo logs and
/// purging. Of extents behind the limit, one and those of descriptors do not count.
fn data_free(header: &SpaceHeader, layout: &Layout) -> u64 {
    let extent = u64::from(layout.extent_pages());
    let size = u64::from(header.pages);
    if size < extent {
        return 0;
    }
    let mut beyond = size.saturating_sub(u64::from(header.free_limit)) / extent;
    beyond = beyond.saturating_sub(1);
    beyond -= beyond / u64::from(layout.extents_described());
    let kept = 2 + size / extent * 2 / 200;
    (u64::from(header.free_extents) + beyond).saturating_sub(kept)
        * extent
        * u64::from(layout.physical)
}

/// The table of a partition's file: `t#p#p0.ibd`, of older servers on some systems `t#P#p0.ibd`.
fn partition_of(name: &str) -> Option<String> {
    let at = name.find("#p#").or_else(|| name.find("#P#"))?;
    Some(name[..at].to_owned())
}
