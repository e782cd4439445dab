//! Index pages added up by index and level.

use crate::document::{Index, Level, Segment};
use crate::page::index::IndexPage;
use crate::page::layout::Layout;
use std::collections::{BTreeMap, HashMap};

/// Indexes of which numbers are kept; a file with more is hostile, or of a system tablespace that nobody has.
const INDEXES_MAX: usize = 100_000;

/// A segment's place: page and offset of its inode.
pub type Address = (u32, u16);

/// All indexes of a file.
#[derive(Debug, Default)]
pub struct Indexes {
    found: BTreeMap<u64, Sums>,
    /// Pages of indexes beyond the most that are kept.
    omitted_pages: u64,
}

/// Sums of an index.
#[derive(Debug, Default)]
struct Sums {
    levels: BTreeMap<u16, LevelSums>,
    is_compact: bool,
    is_sdi: bool,
    /// The root: its level, number and segments.
    root: Option<(u16, u32, [Address; 2])>,
    /// Leaf pages beside the root, and those of them that keep a transaction's number.
    leaves: u64,
    leaves_with_transaction: u64,
}

/// Sums of a level.
#[derive(Debug, Clone, Copy, Default)]
struct LevelSums {
    pages: u64,
    rows: u64,
    record_bytes: u64,
    garbage_bytes: u64,
    usable_bytes: u64,
    by_fill: [u64; 10],
}

impl Indexes {
    /// Adds a page.
    pub fn add(&mut self, number: u32, page: &IndexPage, is_sdi: bool, layout: &Layout) {
        if self.found.len() >= INDEXES_MAX && !self.found.contains_key(&page.index) {
            self.omitted_pages += 1;
            return;
        }
        let sums = self.found.entry(page.index).or_default();
        sums.is_compact = page.is_compact;
        sums.is_sdi = is_sdi;
        if let Some(segments) = page.segments
            && sums.root.is_none_or(|(level, ..)| page.level >= level)
        {
            sums.root = Some((page.level, number, segments));
        } else if page.level == 0 {
            sums.leaves += 1;
            sums.leaves_with_transaction += u64::from(page.has_transaction);
        }
        let usable = layout.usable(page.is_compact);
        let level = sums.levels.entry(page.level).or_default();
        level.pages += 1;
        level.rows += u64::from(page.rows);
        level.record_bytes += u64::from(page.record_bytes);
        level.garbage_bytes += u64::from(page.garbage_bytes);
        level.usable_bytes += u64::from(usable);
        level.by_fill[(u32::from(page.record_bytes) * 10 / usable).min(9) as usize] += 1;
    }

    /// The indexes, and how many pages belong to those not listed. Takes the segments that they own out of
    /// `segments`. `is_one_table`: all of them are of one table.
    pub fn found(
        self,
        segments: &mut HashMap<Address, Segment>,
        is_one_table: bool,
    ) -> (Vec<Index>, u64) {
        let clustered = if is_one_table { self.only_clustered() } else { None };
        let mut take = |sums: &Sums, which: usize| {
            sums.root.and_then(|(_, _, addresses)| segments.remove(&addresses[which]))
        };
        let indexes = self.found.iter().map(|(&id, sums)| Index {
            id,
            is_clustered: sums.is_clustered().or_else(|| Some(id == clustered?)),
            is_compact: sums.is_compact,
            is_sdi: sums.is_sdi,
            root_page: sums.root.map(|(_, number, _)| number),
            pages: sums.levels.values().map(|level| level.pages).sum(),
            rows: sums.levels.get(&0).map_or(0, |level| level.rows),
            levels: sums.levels.iter().map(|(&level, sums)| sums.named(level)).collect(),
            leaf_segment: take(sums, 0),
            upper_segment: take(sums, 1),
        });
        (indexes.collect(), self.omitted_pages)
    }

    /// The clustered index, if all others' leaves say that they are not. A table's clustered index is made
    /// first, and has the lowest identifier.
    fn only_clustered(&self) -> Option<u64> {
        let (&first, sums) = self.found.iter().find(|(_, sums)| !sums.is_sdi)?;
        let mut others = self.found.iter().filter(|(id, sums)| **id != first && !sums.is_sdi);
        let is_another = others.any(|(_, sums)| sums.is_clustered() == Some(true));
        (!is_another && sums.is_clustered() != Some(false)).then_some(first)
    }
}

impl Sums {
    /// Leaves of secondary indexes keep the number of the last transaction that changed them.
    fn is_clustered(&self) -> Option<bool> {
        match (self.leaves, self.leaves_with_transaction) {
            _ if self.is_sdi => Some(true),
            (0, _) => None,
            (leaves, with) => Some(with * 2 < leaves),
        }
    }
}

impl LevelSums {
    fn named(&self, level: u16) -> Level {
        Level {
            level,
            pages: self.pages,
            rows: self.rows,
            record_bytes: self.record_bytes,
            garbage_bytes: self.garbage_bytes,
            usable_bytes: self.usable_bytes,
            fill: self.record_bytes as f64 / self.usable_bytes.max(1) as f64,
            pages_by_fill: self.by_fill,
        }
    }
}
