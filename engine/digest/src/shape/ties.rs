//! Places that hold the same value within a transaction: a row that is read and then changed, an order
//! and its lines.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashMap;

/// Places of a statement that are looked at.
const PLACES_MAX: usize = 16;
/// Values of a session's transaction that are remembered.
const VALUES_MAX: usize = 64;
/// Sessions whose values are remembered; with more, all begin anew.
const SESSIONS_MAX: usize = 10_000;
/// Different ties that are counted.
const TIES_MAX: usize = 100_000;
/// The share of times from which on two places are tied, and how often they must have met.
const SURE: f64 = 0.95;
const SEEN_MIN: u64 = 20;

/// Two places with the same value, whenever their statements come in one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct Tie {
    /// Position in `statements`.
    pub statement: u32,
    /// Its place, from 1.
    pub place: u16,
    /// The statement before it.
    pub earlier: u32,
    /// The earlier one's place, from 1.
    pub earlier_place: u16,
}

/// Looks for ties.
#[derive(Debug, Default)]
pub struct Ties {
    open: HashMap<u64, Vec<Value>>,
    same: HashMap<Tie, u64>,
    /// How often a statement came after another in one transaction.
    met: HashMap<(u32, u32), u64>,
}

#[derive(Debug, Clone, Copy)]
struct Value {
    statement: u32,
    place: u16,
    hash: u64,
}

impl Ties {
    /// A session's transaction is over.
    pub fn end(&mut self, session: u64) {
        self.open.remove(&session);
    }

    /// A statement with the hashes of its values; None: not known. `is_alone`: outside a transaction,
    /// where only the statement directly before it counts.
    pub fn statement(
        &mut self,
        session: u64,
        statement: u32,
        is_alone: bool,
        values: impl Iterator<Item = Option<u64>>,
    ) {
        if self.open.len() >= SESSIONS_MAX && !self.open.contains_key(&session) {
            self.open.clear();
        }
        let before = self.open.entry(session).or_default();
        let mut last = None;
        for value in before.iter().filter(|value| value.statement != statement) {
            if last.replace(value.statement) != Some(value.statement) {
                count(&mut self.met, (statement, value.statement));
            }
        }
        let first = before.len();
        for (place, hash) in (1..).zip(values.take(PLACES_MAX)) {
            let Some(hash) = hash else { continue };
            for other in &before[..first] {
                if other.hash == hash && other.statement != statement {
                    let (earlier, earlier_place) = (other.statement, other.place);
                    count(&mut self.same, Tie { statement, place, earlier, earlier_place });
                }
            }
            before.push(Value { statement, place, hash });
        }
        // Of a statement that comes again, only its last values count.
        let mut at = 0;
        before.retain(|value| {
            at += 1;
            at > first || (!is_alone && value.statement != statement)
        });
        if before.len() > VALUES_MAX {
            before.drain(..before.len() - VALUES_MAX);
        }
    }

    /// The ties that are sure.
    pub fn finish(self) -> Vec<Tie> {
        let is_sure = |tie: &Tie, same: u64| {
            let met = self.met.get(&(tie.statement, tie.earlier)).copied().unwrap_or(0);
            met >= SEEN_MIN && same as f64 >= met as f64 * SURE
        };
        let sure = self.same.iter().filter(|(tie, same)| is_sure(tie, **same));
        let mut ties: Vec<Tie> = sure.map(|(tie, _)| *tie).collect();
        ties.sort_unstable();
        ties
    }
}

fn count<K: std::hash::Hash + Eq>(counts: &mut HashMap<K, u64>, key: K) {
    let has_room = counts.len() < TIES_MAX;
    match counts.get_mut(&key) {
        Some(count) => *count += 1,
        None if has_room => {
            counts.insert(key, 1);
        }
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tie(statement: u32, place: u16, earlier: u32, earlier_place: u16) -> Tie {
        Tie { statement, place, earlier, earlier_place }
    }

    #[test]
    fn places_are_tied_that_hold_the_same_value_each_time() {
        let mut ties = Ties::default();
        for n in 0..100u64 {
            let session = n % 3;
            ties.statement(session, 0, false, [Some(n), Some(7000 + n)].into_iter());
            ties.statement(session, 1, false, [Some(n % 2), Some(n)].into_iter());
            ties.statement(session, 2, false, [None, Some(7000 + n)].into_iter());
            ties.end(session);
        }
        assert_eq!(ties.finish(), [tie(1, 2, 0, 1), tie(2, 2, 0, 2)]);
    }

    #[test]
    fn a_statement_that_comes_again_counts_with_its_last_values() {
        let mut ties = Ties::default();
        for n in 0..40u64 {
            for repeat in 0..10 {
                ties.statement(1, 0, false, [Some(100 * n + repeat)].into_iter());
            }
            let last = 100 * n + 9;
            ties.statement(1, 1, false, [Some(last)].into_iter());
            ties.statement(1, 1, false, [Some(last)].into_iter());
            ties.end(1);
        }
        assert_eq!(ties.finish(), [tie(1, 1, 0, 1)]);
    }

    #[test]
    fn outside_transactions_only_the_statement_before_counts() {
        let mut ties = Ties::default();
        for n in 0..40u64 {
            ties.statement(1, 0, true, [Some(n)].into_iter());
            ties.statement(1, 1, true, [Some(n)].into_iter());
            ties.statement(1, 2, true, [Some(n)].into_iter());
        }
        assert_eq!(ties.finish(), [tie(1, 1, 0, 1), tie(2, 1, 1, 1)]);
    }
}
