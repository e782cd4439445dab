//! Where in its histogram a column's value lies: anywhere, near the row's place in the table, near
//! another column's position, or after the values that rows with the same value of another column
//! have.
//!
//! A column near another one is correlated with it, and keeps its own distribution: a uniform
//! position, moved by a uniform amount and reflected at the ends, is uniform again.

use crate::generator::histogram::Histogram;
use crate::node::{Fields, Node};
use dyno_core::error::Result;
use dyno_core::random::rng::Rng;

/// How positions are drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Position {
    way: Way,
    /// The greatest distance, 0 to 1. With 1 nothing is left of the correlation.
    spread: f64,
    descending: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Anywhere,
    /// Near the row's place in the table.
    Row,
    /// Near this column's position.
    Column(usize),
    /// Near the middle of the positions of this column's value: equal values, equal positions.
    Value(usize),
    /// Numbers the rows that have the same value in this column, whose values follow the rows'
    /// order.
    Numbered(usize),
}

/// What a position may depend on.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The row's number.
    pub row: u64,
    /// How many there are.
    pub rows: u64,
    /// Of all columns of the table that have one.
    pub histograms: &'a [Option<&'a Histogram>],
    /// Positions in this row of the columns before.
    pub positions: &'a [f64],
}

/// A column that is declared before another one: its name, and its position if it has a histogram.
pub type Before<'a> = (&'a str, Option<&'a Position>);

impl Position {
    /// Reads `by`, `spread`, `descending`, `determined` and `numbered`. `before`: the columns declared before.
    pub fn read(fields: &mut Fields, before: &[Before<'_>]) -> Result<Self> {
        let spread = fields.get("spread");
        let by = fields.get("by").map(|node| other(&node, before)).transpose()?;
        let descending = fields.get("descending").map_or(Ok(false), |node| node.flag())?;
        let determined = fields.get("determined").map_or(Ok(false), |node| node.flag())?;
        let numbered = fields.get("numbered");
        let way = match (&numbered, by) {
            (Some(_), Some(_)) => {
                return Err(fields.node.wrong("it can have one of by and numbered"));
            }
            (Some(node), None) => Way::Numbered(followed(node, before)?),
            (None, Some(column)) if determined => Way::Value(column),
            (None, Some(column)) => Way::Column(column),
            (None, None) if spread.is_some() || descending => Way::Row,
            (None, None) => Way::Anywhere,
        };
        let spread = spread.map_or(Ok(0.0), |node| node.share())?;
        Ok(Self { way, spread, descending })
    }

    /// Whether its values follow the rows' order without exception.
    fn follows_rows(&self) -> bool {
        self.way == Way::Row && self.spread == 0.0 && !self.descending
    }

    /// The number to write in column `at`, which has a histogram, and its position.
    pub fn draw(&self, at: usize, place: Place<'_>, rng: &mut Rng) -> (i64, f64) {
        let Some(histogram) = place.histograms[at] else { return (0, 0.0) };
        let base = match self.way {
            Way::Anywhere => rng.unit(),
            Way::Row => middle(place.row, place.rows),
            Way::Column(column) => place.positions[column],
            Way::Value(column) => {
                let drawn =
                    place.histograms[column].map(|histogram| histogram.at(place.positions[column]));
                drawn.map_or(0.0, |drawn| drawn.start + drawn.share / 2.0)
            }
            Way::Numbered(column) => {
                let (first, start) = first_like(column, place);
                // Each value of the other column begins somewhere else, always at the same number.
                let mut own = Rng::new(start.to_bits());
                let room = (self.spread * histogram.distinct as f64) as u64;
                let from = if room == 0 { 0 } else { own.below(room) };
                let number = (place.row - first + from) % histogram.distinct;
                return (histogram.nth(number), middle(number, histogram.distinct));
            }
        };
        let base = if self.descending { 1.0 - base } else { base };
        let moved = match self.spread {
            0.0 => base,
            spread => base + spread * (2.0 * rng.unit() - 1.0),
        };
        let moved = if moved < 0.0 { -moved } else { moved };
        let position = if moved > 1.0 { 2.0 - moved } else { moved };
        (histogram.at(position).number, position)
    }
}

fn middle(number: u64, of: u64) -> f64 {
    (number as f64 + 0.5) / of as f64
}

/// The first row that has the same value in a column that follows the rows' order, and that value's
/// first position.
fn first_like(column: usize, place: Place<'_>) -> (u64, f64) {
    let Some(histogram) = place.histograms[column] else { return (0, 0.0) };
    let start = histogram.at(middle(place.row, place.rows)).start;
    let mut first = (start * place.rows as f64 - 0.5).max(0.0) as u64;
    // Rounding: the estimate may be a row of the value before.
    while first < place.row && histogram.at(middle(first, place.rows)).start < start {
        first += 1;
    }
    (first, start)
}

fn other(node: &Node, before: &[Before<'_>]) -> Result<usize> {
    let name = node.text()?;
    let found = before.iter().position(|(column, place)| *column == name && place.is_some());
    found.ok_or_else(|| {
        node.wrong(format_args!("{name} is no column with a histogram declared before this one"))
    })
}

fn followed(node: &Node, before: &[Before<'_>]) -> Result<usize> {
    let at = other(node, before)?;
    let follows = before[at].1.is_some_and(Position::follows_rows);
    if follows {
        return Ok(at);
    }
    let name = before[at].0;
    Err(node
        .wrong(format_args!("{name} does not follow the rows' order"))
        .hint("give it `spread: 0`, without `by`"))
}
