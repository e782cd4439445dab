//! Numbers, days or times by a histogram: pieces of a range, each with a weight and a number of
//! different values, evenly spaced. A frequent value is a piece of its own.
//!
//! Values are drawn by their *position*, from 0 to 1: the share of the distribution below them. Two
//! columns that share positions are correlated, and each keeps its distribution.

use super::calendar;
use super::values::decimal;
use crate::node::{Fields, Node};
use dyno_core::error::Result;

const PIECES_MAX: usize = 10_000;
/// Maximum absolute value of a number, so that differences fit 64 bits.
const NUMBER_MAX: i64 = super::END_MAX;

/// What a histogram's numbers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// Units of 10^-scale.
    Number(u8),
    /// Days since 1970-01-01.
    Day,
    /// Seconds since then.
    Second,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Piece {
    low: i64,
    /// Highest value less the lowest.
    span: u64,
    /// Different values, evenly spaced from the lowest to the highest.
    distinct: u64,
    /// Position of its first value, and how much of the distribution it has.
    start: f64,
    share: f64,
    /// Different values in the pieces before it.
    before: u64,
}

/// A parsed histogram.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    pieces: Vec<Piece>,
    /// What its numbers are.
    pub sort: Sort,
    /// Different values of all pieces.
    pub distinct: u64,
}

/// A value and where it begins: all positions from there to the next value's have it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drawn {
    /// The value.
    pub number: i64,
    /// Its first position.
    pub start: f64,
    /// How many positions it has: its share of the distribution.
    pub share: f64,
}

impl Histogram {
    /// Reads a list of pieces: `[lowest, highest, weight]` or `[lowest, highest, weight, different
    /// values]`, in ascending order. `shuffle`: positions visit the pieces in another order.
    pub fn read(node: &Node, fields: &mut Fields) -> Result<Self> {
        let items = node.items()?;
        if items.is_empty() || items.len() > PIECES_MAX {
            let count = items.len();
            return Err(node.wrong(format_args!("{count} pieces: 1 to {PIECES_MAX} are allowed")));
        }
        let decimals = fields.get("decimals").map(|node| node.whole(0..=18)).transpose()?;
        let sort = sort_of(&items, decimals)?;
        let mut pieces = Vec::with_capacity(items.len());
        for item in &items {
            let piece = read_piece(item, sort)?;
            if pieces.last().is_some_and(|last: &Piece| top(last) >= piece.low) {
                return Err(item.wrong("it does not lie above the piece before it"));
            }
            pieces.push(piece);
        }
        if fields.get("shuffle").map_or(Ok(false), |node| node.flag())? {
            pieces = shuffled(&pieces);
        }
        let distinct = place(&mut pieces).ok_or_else(|| node.wrong("all weights are 0"))?;
        Ok(Self { pieces, sort, distinct })
    }

    /// The value at a position from 0 to 1.
    pub fn at(&self, position: f64) -> Drawn {
        let next = self.pieces.partition_point(|piece| piece.start <= position);
        let piece = &self.pieces[next.saturating_sub(1)];
        let count = piece.distinct as f64;
        let number = ((position - piece.start) / piece.share * count).max(0.0) as u64;
        let number = number.min(piece.distinct - 1);
        Drawn {
            number: piece.value(number),
            start: piece.start + piece.share * (number as f64 / count),
            share: piece.share / count,
        }
    }

    /// Value number `number`, below `distinct`.
    pub fn nth(&self, number: u64) -> i64 {
        let next = self.pieces.partition_point(|piece| piece.before <= number);
        let piece = &self.pieces[next.saturating_sub(1)];
        piece.value((number - piece.before).min(piece.distinct - 1))
    }

    /// Its lowest and highest number.
    pub fn ends(&self) -> (i64, i64) {
        let low = self.pieces.iter().map(|piece| piece.low).min();
        let high = self.pieces.iter().map(top).max();
        (low.unwrap_or(0), high.unwrap_or(0))
    }
}

impl Piece {
    fn value(&self, number: u64) -> i64 {
        if self.distinct < 2 {
            return self.low;
        }
        let offset = u128::from(number) * u128::from(self.span) / u128::from(self.distinct - 1);
        self.low.wrapping_add_unsigned(offset as u64)
    }
}

fn top(piece: &Piece) -> i64 {
    piece.low.wrapping_add_unsigned(piece.span)
}

/// Every n-th piece after the other, n near the golden section: neighbours end far apart.
fn shuffled(pieces: &[Piece]) -> Vec<Piece> {
    let scatter = super::scatter::Scatter::new(pieces.len() as u64);
    (0..pieces.len()).map(|at| pieces[scatter.place(at as u64) as usize]).collect()
}

/// Sets where each piece begins, and removes those that are never drawn. How many values there are;
/// `None` if there is none.
fn place(pieces: &mut Vec<Piece>) -> Option<u64> {
    pieces.retain(|piece| piece.share > 0.0);
    let total: f64 = pieces.iter().map(|piece| piece.share).sum();
    let (mut weight, mut before) = (0.0, 0u64);
    for piece in pieces.iter_mut() {
        piece.start = weight / total;
        weight += piece.share;
        piece.share = weight / total - piece.start;
        piece.before = before;
        before = before.saturating_add(piece.distinct);
    }
    (!pieces.is_empty()).then_some(before)
}

fn sort_of(items: &[Node], decimals: Option<i64>) -> Result<Sort> {
    let mut ends = Vec::with_capacity(2 * items.len());
    for item in items {
        let parts = item.items()?;
        if !(3..=4).contains(&parts.len()) {
            return Err(item.wrong("a piece is [lowest, highest, weight, different values]"));
        }
        ends.extend(parts.into_iter().take(2));
    }
    if ends.iter().all(|end| end.value.is_string()) {
        let are_days = ends.iter().all(|end| end.value.as_str().and_then(calendar::day).is_some());
        return Ok(if are_days { Sort::Day } else { Sort::Second });
    }
    let own = |end: &Node| end.value.as_number().and_then(decimal).map_or(0, |(_, scale)| scale);
    let least = ends.iter().map(own).max().unwrap_or(0);
    Ok(Sort::Number(decimals.map_or(least, |asked| least.max(asked as u8))))
}

fn read_piece(item: &Node, sort: Sort) -> Result<Piece> {
    let parts = item.items()?;
    let (low, high) = (end(&parts[0], sort)?, end(&parts[1], sort)?);
    if low > high {
        return Err(item.wrong("its lowest is above its highest"));
    }
    let (share, span) = (parts[2].weight()?, high.abs_diff(low));
    let most = span.saturating_add(1).min(NUMBER_MAX as u64);
    let distinct = match parts.get(3) {
        None => most,
        Some(node) => node.whole(1..=most as i64)? as u64,
    };
    Ok(Piece { low, span, distinct, start: 0.0, share, before: 0 })
}

fn end(node: &Node, sort: Sort) -> Result<i64> {
    let found = match sort {
        Sort::Day => node.value.as_str().and_then(calendar::day),
        Sort::Second => node.value.as_str().and_then(calendar::second),
        Sort::Number(scale) => {
            node.value.as_number().and_then(decimal).and_then(|(unscaled, own)| {
                unscaled.checked_mul(10i64.checked_pow(u32::from(scale.checked_sub(own)?))?)
            })
        }
    };
    found.filter(|end| end.unsigned_abs() <= NUMBER_MAX as u64).ok_or_else(|| {
        let shown = node.value;
        node.wrong(format_args!("{shown} is no end of a piece beside the others"))
            .hint("ends are all numbers, all days (2024-12-31), or all times (2024-12-31 23:59:59)")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn read(value: &Value) -> Result<Histogram> {
        let node = Node::new("tables", "c", value);
        let mut fields = node.fields()?;
        let pieces = fields.need("histogram")?;
        Histogram::read(&pieces, &mut fields)
    }

    fn of(value: Value) -> Histogram {
        read(&value).expect("a histogram")
    }

    #[test]
    fn positions_have_the_weights_of_the_pieces() {
        let found = of(json!({"histogram": [[1, 10, 2], [17, 17, 6], [20, 39, 2, 2]]}));
        assert_eq!(found.distinct, 13);
        for (position, number, start) in [
            (0.0, 1, 0.0),
            (0.199, 10, 0.18),
            (0.2, 17, 0.2),
            (0.79, 17, 0.2),
            (0.85, 20, 0.8),
            (0.95, 39, 0.9),
            (1.0, 39, 0.9),
        ] {
            let drawn = found.at(position);
            assert_eq!(drawn.number, number, "{position}");
            assert!((drawn.start - start).abs() < 1e-12, "{position}: {drawn:?}");
        }
        assert_eq!([0, 9, 10, 11, 12].map(|n| found.nth(n)), [1, 10, 17, 20, 39]);
    }

    #[test]
    fn ends_are_numbers_days_or_times() {
        assert_eq!(of(json!({"histogram": [[1.5, 2, 1]]})).sort, Sort::Number(1));
        assert_eq!(of(json!({"histogram": [[1, 2, 1]], "decimals": 2})).sort, Sort::Number(2));
        let days = of(json!({"histogram": [["2024-01-01", "2024-01-31", 1]]}));
        assert_eq!((days.sort, days.distinct), (Sort::Day, 31));
        let times = json!({"histogram": [["2024-01-01 10:00:00", "2024-01-01 10:00:09", 1]]});
        assert_eq!((of(times.clone()).sort, of(times).distinct), (Sort::Second, 10));
    }

    #[test]
    fn wrong_pieces_are_refused() {
        for (pieces, said) in [
            (json!([]), "0 pieces"),
            (json!([[1, 2]]), "a piece is"),
            (json!([[2, 1, 1]]), "above its highest"),
            (json!([[1, 5, 1], [5, 6, 1]]), "does not lie above"),
            (json!([[1, 5, 1, 6]]), "whole number from 1 to 5"),
            (json!([[1, 5, 0]]), "all weights are 0"),
            (json!([["2024-01-01", 5, 1]]), "beside the others"),
        ] {
            let message = read(&json!({"histogram": pieces})).expect_err(said).to_string();
            assert!(message.contains(said), "{message}");
        }
    }

    proptest! {
        /// As many rows as values, each at the middle of its share: each value comes once.
        #[test]
        fn even_positions_have_each_value_once(n in 1u64..5000, low in -1000i64..1000, step in 1u64..9) {
            let high = low + ((n - 1) * step) as i64;
            let found = of(json!({"histogram": [[low, high, 1, n]]}));
            for row in 0..n {
                let drawn = found.at((row as f64 + 0.5) / n as f64);
                prop_assert_eq!(drawn.number, low + (row * step) as i64);
                prop_assert_eq!(drawn.number, found.nth(row));
            }
        }

        #[test]
        fn shuffling_keeps_the_distribution(weights in prop::collection::vec(1u32..9, 1..30)) {
            let pieces: Vec<Value> = weights.iter().enumerate().map(|(n, w)| json!([n, n, w])).collect();
            let found = of(json!({"histogram": pieces, "shuffle": true}));
            let total: u32 = weights.iter().sum();
            let mut counts = vec![0; weights.len()];
            for at in 0..total {
                counts[found.at((f64::from(at) + 0.5) / f64::from(total)).number as usize] += 1;
            }
            prop_assert_eq!(counts, weights);
        }
    }
}
