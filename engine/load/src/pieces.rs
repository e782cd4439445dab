//! The work of a load, cut into pieces that threads take one by one.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Rows of one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Position in the list of tables.
    pub table: usize,
    /// Which of its rows, 0-based.
    pub rows: Range<u64>,
    /// Whether these are all of its rows.
    pub whole: bool,
}

/// All pieces, and which tables still have some under way.
#[derive(Debug)]
pub struct Pieces {
    pieces: Vec<Piece>,
    next: AtomicUsize,
    /// By table: pieces that are not loaded yet.
    left: Vec<AtomicUsize>,
}

impl Pieces {
    /// Cuts each table into `a_table` pieces of nearly equal size, never an empty one.
    pub fn new(rows: impl Iterator<Item = u64>, a_table: usize) -> Self {
        let (mut pieces, mut left) = (Vec::new(), Vec::new());
        for (table, rows) in rows.enumerate() {
            let count = (a_table as u64).clamp(1, rows.max(1));
            let cut = |n: u64| (u128::from(rows) * u128::from(n) / u128::from(count)) as u64;
            pieces.extend((0..count).map(|n| Piece {
                table,
                rows: cut(n)..cut(n + 1),
                whole: count == 1,
            }));
            left.push(AtomicUsize::new(count as usize));
        }
        Self { pieces, next: AtomicUsize::new(0), left }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.pieces.len()
    }

    /// A piece that nobody has taken yet.
    pub fn take(&self) -> Option<&Piece> {
        self.pieces.get(self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// Marks a piece as loaded; whether it was the last one of its table.
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
            rows in prop::collection::vec(0..1000u64, 1..20),
            a_table in 1..50usize,
        ) {
            let pieces = Pieces::new(rows.iter().copied(), a_table);
            let mut next = vec![0; rows.len()];
            let mut finished = vec![false; rows.len()];
            let mut taken = 0;
            while let Some(piece) = pieces.take() {
                taken += 1;
                prop_assert!(!finished[piece.table]);
                prop_assert_eq!(piece.rows.start, next[piece.table]);
                prop_assert!(rows[piece.table] == 0 || !piece.rows.is_empty());
                prop_assert_eq!(piece.whole, piece.rows == (0..rows[piece.table]));
                next[piece.table] = piece.rows.end;
                finished[piece.table] = pieces.loaded(piece);
            }
            prop_assert_eq!(taken, pieces.count());
            prop_assert_eq!(next, rows);
            prop_assert!(finished.iter().all(|&done| done));
            prop_assert!(pieces.take().is_none());
        }
    }

    #[test]
    fn the_largest_table_does_not_overflow() {
        let pieces = Pieces::new([u64::MAX].into_iter(), 3);
        assert_eq!(pieces.pieces[2].rows.end, u64::MAX);
    }
}
