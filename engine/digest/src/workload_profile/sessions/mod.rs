//! Finds the units of a session: the statements between BEGIN and COMMIT or, with autocommit, pairs of
//! statements of which the second always follows the first.

pub(in crate::workload_profile) mod transaction_words;
mod transactions;
pub(in crate::workload_profile) mod unit;

use std::collections::{HashMap, HashSet};
use transaction_words::Word;
use transactions::{Key, Transactions};
use unit::{Step, Unit};

/// Maximum number of steps of a unit, a repetition counted once; longer units are dropped.
const STEPS_MAX: usize = 200;
/// Minimum share of cases in which one statement must follow the other.
const SURE: f64 = 0.98;
/// Minimum share that must be followed even if sessions' logs end after the other cases.
const FOLLOWED_MIN: f64 = 0.9;
/// Minimum number of executions of a statement for this decision.
const SEEN_MIN: u64 = 20;

/// The units of all sessions.
#[derive(Debug)]
pub struct Sent {
    /// The most frequent first.
    pub units: Vec<Unit>,
    /// Transactions dropped because they were too long.
    pub dropped: u64,
    /// Sampling of transactions: one in `one_in` is counted.
    pub one_in: u64,
    /// Number of sessions.
    pub sessions: u64,
    /// Executions in no unit, by statement.
    pub left: HashMap<u32, u64>,
}

/// The sessions of a log.
#[derive(Debug, Default)]
pub struct Sessions {
    open: HashMap<u64, Session>,
    seen: HashSet<u64>,
    transactions: Transactions,
    dropped: u64,
    /// Executions in transactions that are not units, by statement.
    left: HashMap<u32, u64>,
    /// How often the second autocommitted statement directly follows the first in a session.
    follows: HashMap<(u32, u32), u64>,
    singles: HashMap<u32, u64>,
    /// How often a session's log ends after an autocommitted statement, so that its successor is unknown.
    lasts: HashMap<u32, u64>,
}

#[derive(Debug, Default)]
struct Session {
    in_transaction: bool,
    is_implicit: bool,
    steps: Vec<Step>,
    is_too_long: bool,
    /// The previous autocommitted statement, if no transaction began or ended since.
    before: Option<u32>,
}

impl Sessions {
    /// Processes a transaction statement; true if a unit ended with it.
    pub fn word(&mut self, session: u64, word: Word) -> bool {
        let mut open = self.open.remove(&session).unwrap_or_default();
        let mut ended = false;
        match word {
            Word::Begin => {
                ended = self.commit(&mut open, false);
                open.in_transaction = true;
            }
            Word::Commit => ended = self.commit(&mut open, false),
            Word::Rollback => ended = self.commit(&mut open, true),
            Word::Implicit => open.is_implicit = true,
            Word::Explicit => {
                ended = self.commit(&mut open, false);
                open.is_implicit = false;
            }
            Word::Other => {}
        }
        self.open.insert(session, open);
        ended
    }

    /// Processes another statement; true if it is a unit by itself.
    pub fn statement(&mut self, session: u64, statement: u32) -> bool {
        self.seen.insert(session);
        let open = self.open.entry(session).or_default();
        if !open.in_transaction && !open.is_implicit {
            *self.singles.entry(statement).or_default() += 1;
            if let Some(before) = open.before.replace(statement) {
                *self.follows.entry((before, statement)).or_default() += 1;
            }
            return true;
        }
        let is_full = open.steps.len() >= STEPS_MAX;
        match open.steps.last_mut() {
            Some(last) if last.statement == statement => last.repeat += 1,
            _ if is_full => {
                open.is_too_long = true;
                *self.left.entry(statement).or_default() += 1;
            }
            _ => open.steps.push(Step { statement, repeat: 1 }),
        }
        false
    }

    /// Processes a statement without a known session: a unit by itself, whose predecessor is unknown.
    pub fn unplaced(&mut self, statement: u32) {
        *self.singles.entry(statement).or_default() += 1;
    }

    /// The connection has ended; its open transaction is rolled back.
    pub fn end(&mut self, session: u64) {
        if let Some(mut open) = self.open.remove(&session) {
            self.is_last(&open);
            self.commit(&mut open, true);
        }
    }

    fn is_last(&mut self, open: &Session) {
        if let Some(statement) = open.before {
            *self.lasts.entry(statement).or_default() += 1;
        }
    }

    fn commit(&mut self, open: &mut Session, rolls_back: bool) -> bool {
        open.in_transaction = false;
        open.before = None;
        let steps = std::mem::take(&mut open.steps);
        if std::mem::take(&mut open.is_too_long) {
            self.dropped += 1;
            self.leave(&steps);
            return true;
        }
        if steps.is_empty() {
            return false;
        }
        self.transactions.add(Key { steps, is_rolled_back: rolls_back });
        true
    }

    fn leave(&mut self, steps: &[Step]) {
        for step in steps {
            *self.left.entry(step.statement).or_default() += u64::from(step.repeat);
        }
    }

    /// The units of all sessions. Statements of unfinished transactions at the log's end are in no unit.
    pub fn finish(mut self) -> Sent {
        for open in std::mem::take(&mut self.open).into_values() {
            self.is_last(&open);
            self.leave(&open.steps);
        }
        let chains = self.chains();
        for (statement, count) in self.alone(&chains) {
            *self.left.entry(statement).or_default() += count;
        }
        let one_in = self.transactions.one_in();
        let mut units: Vec<Unit> = self
            .transactions
            .finish()
            .map(|(key, count)| Unit {
                count,
                is_transaction: true,
                is_rolled_back: key.is_rolled_back,
                steps: key.steps,
            })
            .chain(chains)
            .collect();
        let order = |unit: &Unit| (std::cmp::Reverse(unit.count), unit.is_rolled_back);
        units.sort_by(|a, b| (order(a), &a.steps).cmp(&(order(b), &b.steps)));
        let sessions = self.seen.len() as u64;
        Sent { units, dropped: self.dropped, one_in, sessions, left: self.left }
    }

    /// Autocommitted statements outside `chains`, with their counts: halves of incomplete pairs.
    fn alone(&self, chains: &[Unit]) -> Vec<(u32, u64)> {
        let mut left = self.singles.clone();
        for unit in chains {
            for step in &unit.steps {
                left.entry(step.statement).and_modify(|count| *count -= unit.count.min(*count));
            }
        }
        left.into_iter().filter(|(_, count)| *count > 0).collect()
    }

    /// Autocommitted statements as units: pairs whose second statement comes only after the first, and whose
    /// first is always followed by such a statement; and all others singly.
    fn chains(&self) -> Vec<Unit> {
        let mut by_first: HashMap<u32, Vec<(u32, u64)>> = HashMap::new();
        for (&(before, after), &count) in &self.follows {
            let all = self.singles.get(&after).copied().unwrap_or(0);
            let is_sure = all >= SEEN_MIN && count as f64 >= all as f64 * SURE;
            if before != after && is_sure {
                by_first.entry(before).or_default().push((after, count));
            }
        }
        by_first.retain(|before, after| {
            let followed: u64 = after.iter().map(|pair| pair.1).sum();
            let of = |counts: &HashMap<u32, u64>| counts.get(before).copied().unwrap_or(0) as f64;
            let (all, lasts) = (of(&self.singles), of(&self.lasts));
            followed as f64 >= ((all - lasts) * SURE).max(all * FOLLOWED_MIN)
        });
        // A statement that both follows and leads would be in two pairs; it stays a follower.
        let followers: HashSet<u32> =
            by_first.values().flatten().map(|&(after, _)| after).collect();
        by_first.retain(|before, _| !followers.contains(before));
        let followers: HashSet<u32> =
            by_first.values().flatten().map(|&(after, _)| after).collect();
        let unit = |count, steps: &[u32]| Unit {
            count,
            is_transaction: false,
            is_rolled_back: false,
            steps: steps.iter().map(|&statement| Step { statement, repeat: 1 }).collect(),
        };
        let pairs = by_first.iter().flat_map(|(&before, after)| {
            after.iter().map(move |&(after, count)| unit(count, &[before, after]))
        });
        let alone = self.singles.iter().filter(|(statement, _)| {
            !by_first.contains_key(statement) && !followers.contains(statement)
        });
        pairs.chain(alone.map(|(&statement, &count)| unit(count, &[statement]))).collect()
    }
}
