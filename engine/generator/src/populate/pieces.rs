//! The work of a load, divided into pieces that threads take one by one.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Rows of one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Position in the list of tables.
    pub table: usize,
    /// Range of row numbers, 0-based.
    pub rows: Range<u64>,
    /// Whether the range contains all of its rows.
    pub whole: bool,
}

/// All pieces, and the number of unfinished ones of each table.
#[derive(Debug)]
pub struct Pieces {
    pieces: Vec<Piece>,
    next: AtomicUsize,
    /// Number of pieces by table that are not loaded yet.
    left: Vec<AtomicUsize>,
}

impl Pieces {
    /// Divides tables, given as rows and columns, for `threads` threads: those with more values than
    /// one thread's share, and all where there are fewer tables than threads; never into an
    /// empty piece. Pieces with the most values come first, so that no thread is left alone with a
    /// large one at the end.
    pub fn new(tables: &[(u64, usize)], threads: usize) -> Self {
        let values = |&(rows, columns): &(u64, usize)| u128::from(rows) * columns as u128;
        let share = tables.iter().map(values).sum::<u128>().div_ceil(threads as u128).max(1);
        let at_least = threads.div_ceil(tables.len().max(1)) as u128;
        let (mut pieces, mut left) = (Vec::new(), Vec::new());
        for (table, wanted) in tables.iter().enumerate() {
            let rows = wanted.0;
            let shares = values(wanted).div_ceil(share).max(at_least);
            let count = (shares as u64).clamp(1, rows.max(1));
            let cut = |n: u64| (u128::from(rows) * u128::from(n) / u128::from(count)) as u64;
            pieces.extend((0..count).map(|n| Piece {
                table,
                rows: cut(n)..cut(n + 1),
                whole: count == 1,
            }));
            left.push(AtomicUsize::new(count as usize));
        }
        pieces.sort_by_key(|piece| {
            let rows = piece.rows.end - piece.rows.start;
            std::cmp::Reverse(values(&(rows, tables[piece.table].1)))
        });
        Self { pieces, next: AtomicUsize::new(0), left }
    }

    /// Number of pieces.
    pub fn count(&self) -> usize {
        self.pieces.len()
    }

    /// Takes the next piece; `None` when none is left.
    pub fn take(&self) -> Option<&Piece> {
        self.pieces.get(self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// Marks a piece as loaded; returns whether it was the last one of its table.
    pub fn loaded(&self, piece: &Piece) -> bool {
        self.left[piece.table].fetch_sub(1, Ordering::AcqRel) == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_row_is_in_exactly_one_piece(
            tables in prop::collection::vec((0..1000u64, 1..9usize), 1..20),
            threads in 1..50usize,
        ) {
            let pieces = Pieces::new(&tables, threads);
            let mut loaded = vec![vec![]; tables.len()];
            let mut finished = vec![false; tables.len()];
            let mut values_before = u64::MAX;
            while let Some(piece) = pieces.take() {
                let (rows, columns) = tables[piece.table];
                prop_assert!(!finished[piece.table]);
                prop_assert!(rows == 0 || !piece.rows.is_empty());
                prop_assert_eq!(piece.whole, piece.rows == (0..rows));
                let values = (piece.rows.end - piece.rows.start) * columns as u64;
                prop_assert!(values <= values_before, "the largest come first");
                values_before = values;
                loaded[piece.table].push(piece.rows.clone());
                finished[piece.table] = pieces.loaded(piece);
            }
            prop_assert!(finished.iter().all(|&done| done));
            for (ranges, (rows, _)) in loaded.iter_mut().zip(&tables) {
                ranges.sort_by_key(|range| range.start);
                let next = ranges.iter().try_fold(0, |next, range| {
                    (range.start == next).then_some(range.end)
                });
                prop_assert_eq!(next, Some(*rows));
            }
        }
    }

    #[test]
    fn a_table_larger_than_a_threads_share_is_cut() {
        let cut = |threads| {
            let pieces = Pieces::new(&[(100, 1), (100, 8), (10, 1)], threads);
            pieces.pieces.iter().map(|piece| piece.table).collect::<Vec<_>>()
        };
        assert_eq!(cut(1), [1, 0, 2]);
        assert_eq!(cut(2), [1, 1, 0, 2]);
        assert_eq!(cut(3), [1, 1, 1, 0, 2]);
    }

    #[test]
    fn the_largest_table_does_not_overflow() {
        let pieces = Pieces::new(&[(u64::MAX, 3)], 3);
        assert_eq!(pieces.pieces[2].rows.end, u64::MAX);
    }
}
