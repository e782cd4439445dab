//! What a rebuild would leave of a table's file: the model of a sorted index build.
//!
//! OPTIMIZE TABLE and ALTER TABLE ... FORCE read the rows in order and write full pages
//! (`innodb_fill_factor=100`, the default): 1/16 of each page of the clustered index stays free (MySQL
//! manual, "Sorted Index Builds"). Each segment takes half an extent of single pages, then whole extents.
//! MySQL's file ends with the extents that the server keeps free: two, 1 % of the file, and what the last
//! operation needed. MariaDB's (seen of 10.11 and 11.8) ends with the last extent used, until the first
//! change of a row makes it grow. Beyond 32 extents a file grows by four at once.

use crate::document::{Index, Level, Rebuild, Vendor};
use crate::page::layout::Layout;

/// Pages of a file before its first segment: header, change buffer bitmap, inodes.
const FIRST_PAGES: u64 = 3;
/// Pages that a new file has, of MySQL.
const LEAST_PAGES_MYSQL: u64 = 7;
/// Pages that a new file has, of MariaDB.
const LEAST_PAGES_MARIADB: u64 = 4;
/// Bytes of a page's directory that a record takes: a slot of two bytes for four records.
const DIRECTORY: f64 = 0.5;
/// Extents of a segment from which on it keeps free ones, of which it has two on average.
const KEEPS_FREE_FROM: u64 = 40;
/// Extents up to which a file grows by one at a time.
const GROWS_BY_ONE: u64 = 32;
/// Extents that a file grows by beyond.
const GROWS_BY: u64 = 4;

/// What is known about a table's file.
#[derive(Debug, Clone, Copy)]
pub struct Content<'a> {
    /// Its indexes.
    pub indexes: &'a [Index],
    /// Pages in use that hold parts of long columns.
    pub blob_pages: u64,
    /// Its layout.
    pub layout: &'a Layout,
    /// Whose server will rebuild it.
    pub vendor: Vendor,
    /// Its size.
    pub bytes: u64,
}

/// The file after a rebuild.
pub fn predict(content: &Content<'_>) -> Rebuild {
    let layout = content.layout;
    let mut pages = FIRST_PAGES;
    let mut extents = 0;
    let mut blobs = content.blob_pages;
    for index in content.indexes {
        let (mut leaves, upper) = pages_of(index, layout);
        if index.is_clustered == Some(true) && !index.is_sdi {
            // Long columns are in the segment of the leaves.
            leaves += std::mem::take(&mut blobs);
        }
        for segment in [leaves, upper] {
            let (single, whole) = segment_of(segment, u64::from(layout.extent_pages()));
            pages += single;
            extents += whole;
        }
    }
    let is_mariadb = content.vendor == Vendor::Mariadb;
    let least = if is_mariadb { LEAST_PAGES_MARIADB } else { LEAST_PAGES_MYSQL };
    let bytes =
        file_pages(pages, extents, layout, !is_mariadb).max(least) * u64::from(layout.physical);
    Rebuild {
        bytes: Some(bytes),
        gain_bytes: Some(content.bytes.saturating_sub(bytes)),
        unknown: None,
    }
}

/// Pages of an index: leaves, and those above; the root counts to the latter even if it is the only page.
fn pages_of(index: &Index, layout: &Layout) -> (u64, u64) {
    let Some(leaf) = index.levels.first().filter(|level| level.level == 0) else { return (0, 1) };
    let reserve = if index.is_clustered == Some(true) { layout.logical / 16 } else { 0 };
    let capacity = f64::from(layout.usable(index.is_compact) - reserve);
    let leaves = leaf.rows.div_ceil(per_page(leaf, capacity));
    if leaves <= 1 {
        return (0, 1);
    }
    let fan_out = per_page(index.levels.get(1).unwrap_or(leaf), capacity);
    let (mut upper, mut level) = (0, leaves);
    while level > 1 {
        level = level.div_ceil(fan_out);
        upper += level;
    }
    (leaves, upper)
}

/// Records that fit into a page: at least two.
fn per_page(level: &Level, capacity: f64) -> u64 {
    let record = level.record_bytes as f64 / level.rows.max(1) as f64;
    ((capacity / (record + DIRECTORY)) as u64).max(2)
}

/// Single pages and extents of a segment of so many pages.
fn segment_of(pages: u64, extent: u64) -> (u64, u64) {
    let single = pages.min(extent / 2);
    let whole = (pages - single).div_ceil(extent);
    (single, whole + if whole >= KEEPS_FREE_FROM { 2 } else { 0 })
}

/// Pages of a file with so many single pages, and extents of segments.
fn file_pages(pages: u64, extents: u64, layout: &Layout, keeps_free: bool) -> u64 {
    let extent = u64::from(layout.extent_pages());
    if extents == 0 && pages < extent {
        return pages;
    }
    let described = u64::from(layout.extents_described());
    let mut size = 0;
    loop {
        // Each further page of descriptors, with a bitmap page, begins an extent of single pages.
        let used = extents + pages.div_ceil(extent) + size / described;
        // Of free extents, the reserve and the one that an operation takes must be exceeded; of those not
        // described yet, one does not count.
        let needed = used + if keeps_free { 2 + size * 2 / 200 + 3 } else { 0 };
        if size >= needed {
            return size * extent;
        }
        size = match needed {
            ..=GROWS_BY_ONE => needed,
            _ => needed.next_multiple_of(GROWS_BY),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Segment;
    use proptest::prelude::*;

    fn level(level: u16, rows: u64, record: u64, pages: u64) -> Level {
        Level {
            level,
            pages,
            rows,
            record_bytes: rows * record,
            garbage_bytes: 0,
            usable_bytes: pages * 16_252,
            fill: 0.5,
            pages_by_fill: [0; 10],
        }
    }

    fn index(is_clustered: bool, levels: Vec<Level>) -> Index {
        Index {
            id: 1,
            is_clustered: Some(is_clustered),
            is_compact: true,
            is_sdi: false,
            root_page: Some(3),
            pages: 1,
            rows: levels[0].rows,
            levels,
            leaf_segment: Some(Segment::default()),
            upper_segment: None,
        }
    }

    fn layout() -> Layout {
        Layout::of_flags(0x15).unwrap()
    }

    #[test]
    fn a_sixteenth_of_clustered_pages_stays_free() {
        // 15,228 of 16,252 bytes, 100.5 a record: 151; secondary: 161.
        let levels = vec![level(0, 151 * 161, 100, 400), level(1, 400, 13, 2)];
        assert_eq!(pages_of(&index(true, levels.clone()), &layout()), (161, 1));
        assert_eq!(pages_of(&index(false, levels), &layout()), (151, 1));
    }

    #[test]
    fn a_small_table_takes_single_pages() {
        let indexes = [index(true, vec![level(0, 10, 100, 1)])];
        let content = Content {
            indexes: &indexes,
            blob_pages: 0,
            layout: &layout(),
            vendor: Vendor::Mariadb,
            bytes: 1 << 20,
        };
        assert_eq!(predict(&content).bytes, Some(4 * 16_384));
    }

    #[test]
    fn a_large_file_keeps_one_percent_free_and_grows_by_four_extents() {
        // 1,000 extents used: 1,000 + 2 + 10 + 3, and a multiple of 4.
        assert_eq!(file_pages(64, 999, &layout(), true) / 64, 1020);
        assert_eq!(file_pages(40, 1, &layout(), true) / 64, 7);
        assert_eq!(file_pages(64, 999, &layout(), false) / 64, 1004);
        assert_eq!(file_pages(40, 1, &layout(), false) / 64, 2);
    }

    proptest! {
        #[test]
        fn any_content_has_an_end(rows: u32, record in 0_u64..8_000, blobs: u32) {
            let levels = vec![level(0, u64::from(rows), record, 1)];
            let indexes = [index(true, levels)];
            let blob_pages = u64::from(blobs);
            let content = Content { indexes: &indexes, blob_pages, layout: &layout(), vendor: Vendor::Mysql, bytes: 0 };
            let bytes = predict(&content).bytes.unwrap();
            prop_assert!(bytes >= blob_pages.min(1) * 16_384);
        }
    }
}
