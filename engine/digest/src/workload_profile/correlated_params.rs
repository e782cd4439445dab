//! Finds correlated parameters: places with the same value within a transaction, such as a row that is
//! read and then updated, or an order and its lines. Also finds counters: places that number the
//! repetitions within a transaction, always from the same first number on.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashMap;

/// Maximum number of places of a statement that are examined.
const PLACES_MAX: usize = 16;
/// Maximum number of values stored per session.
const VALUES_MAX: usize = 64;
/// Maximum number of sessions with stored values; more clear all of them.
const SESSIONS_MAX: usize = 10_000;
/// Maximum number of entries in each map of counts.
const TIES_MAX: usize = 100_000;
/// Minimum share of cases, and minimum number of cases, for a tie or a counter.
const SURE: f64 = 0.95;
const SEEN_MIN: u64 = 20;

/// Two parameters that have the same value if their statements are in one transaction; or one parameter
/// that keeps its value when the transaction repeats the statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct Tie {
    /// Index of the statement in `statements`, from 0.
    pub statement: u32,
    /// Number of its parameter, from 1.
    pub place: u16,
    /// Index of the earlier statement, or of the same one.
    pub earlier: u32,
    /// Number of the earlier statement's parameter, from 1.
    pub earlier_place: u16,
}

/// A parameter that increases by one when the transaction repeats the statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct Counter {
    /// Index of the statement in `statements`, from 0.
    pub statement: u32,
    /// Number of its parameter, from 1.
    pub place: u16,
    /// First value in each transaction.
    pub first: i64,
}

/// Detects ties and counters.
#[derive(Debug, Default)]
pub struct Ties {
    open: HashMap<u64, Vec<Value>>,
    same: HashMap<Tie, u64>,
    /// Number of cases in which a statement followed another in one transaction.
    met: HashMap<(u32, u32), u64>,
    /// Number of repetitions in which a place increased by one.
    next: HashMap<(u32, u16), u64>,
    /// Initial value of a place: in the first transaction, number of transactions with the same one, and
    /// number of all transactions.
    begun: HashMap<(u32, u16), (i64, u64, u64)>,
    /// By place, from 0: whether the last statement repeats the value of the previous execution in the
    /// transaction.
    held: [bool; PLACES_MAX],
    /// Session of the last statement; `None`: unknown.
    session: Option<u64>,
}

/// A value of a statement, as a hash and, for integers, as the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    pub hash: u64,
    pub number: Option<i64>,
}

#[derive(Debug, Clone, Copy)]
struct Value {
    statement: u32,
    place: u16,
    seen: Seen,
}

impl Ties {
    /// Ends the transaction of a session.
    pub fn end(&mut self, session: u64) {
        self.open.remove(&session);
    }

    /// Adds a statement with its values (`None`: unknown). `is_alone`: outside a transaction, where only
    /// the directly preceding statement counts.
    pub fn statement(
        &mut self,
        session: u64,
        statement: u32,
        is_alone: bool,
        values: impl Iterator<Item = Option<Seen>>,
    ) {
        if self.open.len() >= SESSIONS_MAX && !self.open.contains_key(&session) {
            self.open.clear();
        }
        self.held = [false; PLACES_MAX];
        self.session = Some(session);
        let mut before = self.open.remove(&session).unwrap_or_default();
        let counts = |value: &Value| value.statement != statement || !is_alone;
        let mut last = None;
        for value in before.iter().filter(|value| counts(value)) {
            if last.replace(value.statement) != Some(value.statement) {
                count(&mut self.met, (statement, value.statement));
            }
        }
        let first = before.len();
        for (place, seen) in (1..).zip(values.take(PLACES_MAX)) {
            let Some(seen) = seen else { continue };
            let mut own = None;
            for other in before[..first].iter().filter(|value| counts(value)) {
                let is_own = other.statement == statement;
                own = own.or((is_own && other.place == place).then_some(other.seen));
                if other.seen.hash == seen.hash && (!is_own || other.place == place) {
                    let (earlier, earlier_place) = (other.statement, other.place);
                    count(&mut self.same, Tie { statement, place, earlier, earlier_place });
                }
            }
            self.held[usize::from(place) - 1] = own.is_some_and(|own| own.hash == seen.hash);
            if !is_alone {
                self.number((statement, place), own, seen);
            }
            before.push(Value { statement, place, seen });
        }
        // Of a repeated statement, only the last values count.
        let mut at = 0;
        before.retain(|value| {
            at += 1;
            at > first || (!is_alone && value.statement != statement)
        });
        if before.len() > VALUES_MAX {
            before.drain(..before.len() - VALUES_MAX);
        }
        self.open.insert(session, before);
    }

    /// Adds a statement of an unknown session, which is unrelated to others.
    pub fn unplaced(&mut self) {
        self.held = [false; PLACES_MAX];
        self.session = None;
    }

    /// The session of the last statement.
    pub fn session(&self) -> Option<u64> {
        self.session
    }

    /// Counts the value of a place; `own`: its previous value in the transaction.
    fn number(&mut self, spot: (u32, u16), own: Option<Seen>, seen: Seen) {
        let Some(number) = seen.number else { return };
        match own {
            Some(own) if own.number.and_then(|own| own.checked_add(1)) == Some(number) => {
                count(&mut self.next, spot);
            }
            Some(_) => {}
            None if self.begun.len() < TIES_MAX || self.begun.contains_key(&spot) => {
                let (first, same, all) = self.begun.entry(spot).or_insert((number, 0, 0));
                *same += u64::from(*first == number);
                *all += 1;
            }
            None => {}
        }
    }

    /// Whether a place, from 0, of the last statement repeats the value of the previous execution in the
    /// transaction.
    pub fn is_held(&self, place: usize) -> bool {
        self.held.get(place).copied().unwrap_or(false)
    }

    /// The places that count repetitions, sorted.
    pub fn counters(&self) -> Vec<Counter> {
        let mut counters = Vec::new();
        for (&(statement, place), &next) in &self.next {
            let met = self.met.get(&(statement, statement)).copied().unwrap_or(0);
            let Some(&(first, same, all)) = self.begun.get(&(statement, place)) else { continue };
            if is_sure(next, met) && is_sure(same, all) {
                counters.push(Counter { statement, place, first });
            }
        }
        counters.sort_unstable();
        counters
    }

    /// The certain ties, sorted.
    pub fn finish(self) -> Vec<Tie> {
        let met = |tie: &Tie| self.met.get(&(tie.statement, tie.earlier)).copied().unwrap_or(0);
        let sure = self.same.iter().filter(|(tie, same)| is_sure(**same, met(tie)));
        let mut ties: Vec<Tie> = sure.map(|(tie, _)| *tie).collect();
        ties.sort_unstable();
        ties
    }
}

fn is_sure(times: u64, of: u64) -> bool {
    of >= SEEN_MIN && times as f64 >= of as f64 * SURE
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

    fn seen(number: u64) -> Option<Seen> {
        Some(Seen { hash: number, number: i64::try_from(number).ok() })
    }

    fn tie(statement: u32, place: u16, earlier: u32, earlier_place: u16) -> Tie {
        Tie { statement, place, earlier, earlier_place }
    }

    #[test]
    fn places_are_tied_that_hold_the_same_value_each_time() {
        let mut ties = Ties::default();
        for n in 0..100u64 {
            let session = n % 3;
            ties.statement(session, 0, false, [seen(n), seen(7000 + n)].into_iter());
            ties.statement(session, 1, false, [seen(n % 2), seen(n)].into_iter());
            ties.statement(session, 2, false, [None, seen(7000 + n)].into_iter());
            ties.end(session);
        }
        assert_eq!(ties.finish(), [tie(1, 2, 0, 1), tie(2, 2, 0, 2)]);
    }

    #[test]
    fn a_statement_that_comes_again_counts_with_its_last_values() {
        let mut ties = Ties::default();
        for n in 0..40u64 {
            for repeat in 0..10 {
                ties.statement(1, 0, false, [seen(100 * n + repeat)].into_iter());
            }
            let last = 100 * n + 9;
            ties.statement(1, 1, false, [seen(last)].into_iter());
            ties.statement(1, 1, false, [seen(last)].into_iter());
            ties.end(1);
        }
        assert_eq!(ties.finish(), [tie(1, 1, 0, 1), tie(1, 1, 1, 1)]);
    }

    #[test]
    fn outside_transactions_only_the_statement_before_counts() {
        let mut ties = Ties::default();
        for n in 0..40u64 {
            ties.statement(1, 0, true, [seen(n)].into_iter());
            ties.statement(1, 1, true, [seen(n)].into_iter());
            ties.statement(1, 2, true, [seen(n)].into_iter());
        }
        assert_eq!(ties.finish(), [tie(1, 1, 0, 1), tie(2, 1, 1, 1)]);
    }

    #[test]
    fn an_order_and_its_lines_hold_the_key_and_count_the_lines() {
        let mut ties = Ties::default();
        for order in 0..40u64 {
            let session = order % 2;
            ties.statement(session, 0, false, [seen(1000 + order)].into_iter());
            for line in 1..=3 {
                let values = [seen(1000 + order), seen(line), seen(order * 7 + line * 11)];
                ties.statement(session, 1, false, values.into_iter());
                assert_eq!((ties.is_held(0), ties.is_held(1)), (line > 1, false));
            }
            ties.end(session);
        }
        assert_eq!(ties.counters(), [Counter { statement: 1, place: 2, first: 1 }]);
        assert_eq!(ties.finish(), [tie(1, 1, 0, 1), tie(1, 1, 1, 1)]);
    }

    #[test]
    fn repetitions_outside_transactions_hold_and_count_nothing() {
        let mut ties = Ties::default();
        for n in 0..60 {
            ties.statement(1, 0, true, [seen(5), seen(n % 3)].into_iter());
            assert!(!ties.is_held(0));
        }
        assert_eq!(ties.counters(), []);
        assert_eq!(ties.finish(), []);
    }
}
