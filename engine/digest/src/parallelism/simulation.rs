//! Simulates a replica with N workers that applies the transactions of a binary log.
//!
//! The coordinator assigns each transaction, in the log's order, to the worker that is free first, as
//! soon as the transactions that the rule demands are committed. While a transaction waits, so does
//! the coordinator, with two exceptions. By schema, each worker has a queue (`queues`), so the
//! coordinator continues past a busy schema. By MariaDB's domains and group commits, the worker waits,
//! and the coordinator continues while another worker is free. With preserved commit order, a worker
//! commits only after all earlier transactions (MariaDB: of its domain). Costs of transactions are
//! inputs (times, rows or bytes); the results are ratios.
//!
//! By rows, a transaction waits as with `binlog_transaction_dependency_tracking = WRITESET`: for all
//! transactions up to the last one that changed one of its rows. The history of rows has the size of
//! MySQL's default. When it is full, it is cleared, and all later transactions wait for all up to that
//! one. A transaction with more rows than the history holds waits for all before it.
//!
//! Sources: MySQL manual, `binlog_transaction_dependency_history_size`, `replica_parallel_type`,
//! `replica_preserve_commit_order`, `binlog_transaction_dependency_tracking`; MariaDB knowledge base,
//! "Parallel Replication".

use super::queues::{self, Queues};
use crate::inspect::binlog::{KEYS_MAX, Order, Transaction};
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Rule by which a replica applies transactions in parallel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Transactions of different schemas (MySQL's `DATABASE`).
    Schema,
    /// Transactions that the source marked as independent: MySQL's `LOGICAL_CLOCK`, MariaDB's group commits.
    Log,
    /// Transactions without a common row, by the keys in the log: an upper bound for MySQL's `WRITESET`,
    /// which also considers unique keys, foreign keys and collations.
    Rows,
}

/// A transaction of the simulation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Apply {
    /// Cost of applying it, at least 1.
    pub cost: u64,
    order: Order,
    schemas: Vec<u32>,
    /// Approximate number of its events in the log.
    events: u64,
    /// For [`Rule::Rows`]: number of transactions from the first one that must be committed before it.
    after: usize,
}

/// The last transaction that changed each row.
#[derive(Debug, Default)]
struct History {
    /// By row: number of the last transaction, from 1.
    last: HashMap<u64, usize>,
    /// All transactions up to this number must be committed before any later one.
    begin: usize,
    /// Number of times that it was full and cleared.
    cleared: u64,
}

impl History {
    /// Adds transaction `number`; returns the number up to which all must be committed before it.
    fn add(&mut self, number: usize, transaction: &Transaction) -> usize {
        let is_known = transaction.has_all_keys && !transaction.is_ddl;
        if !is_known || transaction.is_large {
            // Its rows are unknown, or they exceed the history.
            self.cleared += u64::from(is_known);
            self.begin_anew(number);
            return number - 1;
        }
        let before = transaction.keys.iter().filter_map(|key| self.last.get(key)).max();
        let after = before.map_or(self.begin, |&number| number.max(self.begin));
        if self.last.len() + transaction.keys.len() > KEYS_MAX {
            self.cleared += 1;
            self.begin_anew(number);
        } else {
            self.last.extend(transaction.keys.iter().map(|&key| (key, number)));
        }
        after
    }

    fn begin_anew(&mut self, number: usize) {
        self.last.clear();
        self.begin = number;
    }
}

/// The transactions of one or more logs, in log order.
#[derive(Debug, Default)]
pub struct Simulation {
    transactions: Vec<Apply>,
    schemas: HashMap<Vec<u8>, u32>,
    history: History,
    /// Number of transactions whose rows all have known keys.
    keyed: usize,
    ordered: usize,
}

/// Speed-up by number of workers, for one rule.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Curve {
    /// Rule for parallel transactions.
    pub rule: Rule,
    /// Whether workers commit transactions in log order.
    pub commit_order: bool,
    /// Speed-ups, by ascending number of workers.
    pub points: Vec<Point>,
}

/// Speed-up with one number of workers.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// Number of workers.
    pub workers: u32,
    /// Ratio to the speed of one worker.
    pub speedup: f64,
}

/// Numbers of workers that are simulated.
const WORKERS: [u32; 10] = [1, 2, 3, 4, 6, 8, 16, 32, 64, 128];

impl Simulation {
    /// Adds the next transaction of the log, with the cost of applying it.
    pub fn add(&mut self, transaction: &Transaction, cost: u64) {
        let schemas = transaction
            .schemas
            .iter()
            .map(|name| match self.schemas.get(name) {
                Some(&number) => number,
                None => {
                    let number = self.schemas.len() as u32;
                    self.schemas.insert(name.clone(), number);
                    number
                }
            })
            .collect();
        let order = transaction.order;
        self.keyed += usize::from(transaction.has_all_keys);
        self.ordered += usize::from(order.last_committed.is_some() || order.domain.is_some());
        let after = self.history.add(self.len() + 1, transaction);
        let events = queues::events(transaction.statements, transaction.bytes);
        self.transactions.push(Apply { cost: cost.max(1), order, schemas, events, after });
    }

    /// Number of transactions.
    pub fn len(&self) -> usize {
        self.transactions.len()
    }

    /// Whether there are no transactions.
    pub fn is_empty(&self) -> bool {
        self.transactions.is_empty()
    }

    /// Share of the transactions whose rows all have known keys.
    pub fn keyed_share(&self) -> f64 {
        self.keyed as f64 / self.len().max(1) as f64
    }

    /// Number of times that the history of rows was full and cleared.
    pub fn histories_cleared(&self) -> u64 {
        self.history.cleared
    }

    /// Curves for each rule that the log has data for, with and without commit order.
    pub fn curves(&self) -> Vec<Curve> {
        let rules = [
            (Rule::Schema, self.schemas.len() > 1),
            (Rule::Log, self.ordered > 0),
            (Rule::Rows, self.keyed > 0),
        ];
        let rules = rules.iter().filter(|rule| rule.1 && !self.is_empty());
        rules
            .flat_map(|&(rule, _)| [true, false].map(|commit_order| self.curve(rule, commit_order)))
            .collect()
    }

    fn curve(&self, rule: Rule, commit_order: bool) -> Curve {
        let total: u64 = self.transactions.iter().map(|apply| apply.cost).sum();
        let points = WORKERS.iter().map(|&workers| {
            let took = self.takes(rule, commit_order, workers);
            Point { workers, speedup: total as f64 / took.max(1) as f64 }
        });
        Curve { rule, commit_order, points: points.collect() }
    }

    /// Total time with this number of workers, in units of cost.
    fn takes(&self, rule: Rule, commit_order: bool, workers: u32) -> u64 {
        if matches!(rule, Rule::Schema) {
            return self.takes_by_schema(commit_order, workers);
        }
        let mut free: BinaryHeap<Reverse<u64>> = (0..workers).map(|_| Reverse(0)).collect();
        let mut waits = Waits::default();
        let mut handed = 0;
        let mut commits = Commits::default();
        for apply in &self.transactions {
            let Reverse(worker) = free.pop().unwrap_or_default();
            let start = worker.max(handed).max(waits.ready(rule, apply));
            // In MySQL the coordinator waits, in MariaDB the worker.
            let waits_at_worker = matches!(rule, Rule::Log) && apply.order.domain.is_some();
            handed = if waits_at_worker { handed.max(worker) } else { start };
            let end = commits.end(commit_order, apply, start + apply.cost);
            waits.ends(rule, apply, end);
            free.push(Reverse(end));
        }
        waits.all
    }

    /// As `takes` for [`Rule::Schema`], where each worker has a queue.
    fn takes_by_schema(&self, commit_order: bool, workers: u32) -> u64 {
        let mut queues = Queues::new(workers);
        let mut commits = Commits::default();
        let mut all = 0;
        for apply in &self.transactions {
            let (worker, start) = queues.hand(&apply.schemas, apply.events);
            let end = commits.end(commit_order, apply, start + apply.cost);
            queues.ends(worker, &apply.schemas, apply.events, end);
            all = all.max(end);
        }
        all
    }
}

/// Commit time of the last transaction of each domain; domains are few, so searches are linear.
#[derive(Debug, Default)]
struct Commits(Vec<(Option<u32>, u64)>);

impl Commits {
    /// Commit time of a transaction that is applied at `end`.
    fn end(&mut self, in_order: bool, apply: &Apply, end: u64) -> u64 {
        if !in_order {
            return end;
        }
        let domain = apply.order.domain;
        let place = self.0.iter().position(|(other, _)| *other == domain);
        let place = place.unwrap_or_else(|| {
            self.0.push((domain, 0));
            self.0.len() - 1
        });
        let before = &mut self.0[place].1;
        *before = end.max(*before);
        *before
    }
}

/// Computes the time at which a transaction may begin.
#[derive(Debug, Default)]
struct Waits {
    /// Time at which all transactions so far are committed.
    all: u64,
    /// By ascending number, the time at which it and all before it are committed. For [`Rule::Rows`], the
    /// number of the transaction from 1; for [`Rule::Log`], MySQL's number within the file, with gaps.
    prefix: Vec<(i64, u64)>,
    /// End time of the previous file; numbers restart with each file.
    before: u64,
    /// MariaDB, by domain: commit ID of the group, commit time of the previous group, and of this one so far.
    groups: HashMap<u32, (Option<u64>, u64, u64)>,
}

impl Waits {
    fn ready(&mut self, rule: Rule, apply: &Apply) -> u64 {
        match rule {
            Rule::Schema => 0, // `Queues` computes it
            Rule::Rows => self.committed(apply.after as i64),
            Rule::Log => self.by_log(&apply.order),
        }
    }

    fn by_log(&mut self, order: &Order) -> u64 {
        if let (Some(last), Some(sequence)) = (order.last_committed, order.sequence) {
            if self.prefix.last().is_some_and(|(before, _)| sequence <= *before) {
                // Another file: numbers restart, and dependencies across files are unknown.
                self.before = self.all;
                self.prefix.clear();
            }
            return self.before.max(self.committed(last));
        }
        let Some(domain) = order.domain else { return self.all };
        let group = self.groups.entry(domain).or_default();
        // A transaction without a commit ID was committed alone.
        if order.commit_id.is_none() || group.0 != order.commit_id {
            *group = (order.commit_id, group.2, group.2);
        }
        group.1
    }

    /// Time at which all transactions up to this number are committed.
    fn committed(&self, number: i64) -> u64 {
        let Some((first, _)) = self.prefix.first() else { return 0 };
        // Usually no number is missing, and the entry is at its expected index.
        let expected = usize::try_from(number - first).ok().and_then(|at| self.prefix.get(at));
        if let Some((_, committed)) = expected.filter(|(other, _)| *other == number) {
            return *committed;
        }
        let count = self.prefix.partition_point(|(other, _)| *other <= number);
        count.checked_sub(1).map_or(0, |place| self.prefix[place].1)
    }

    fn ends(&mut self, rule: Rule, apply: &Apply, end: u64) {
        self.all = self.all.max(end);
        match rule {
            Rule::Schema => {}
            Rule::Rows => self.prefix.push((self.prefix.len() as i64 + 1, self.all)),
            Rule::Log => {
                if let Some(group) = apply.order.domain.and_then(|d| self.groups.get_mut(&d)) {
                    group.2 = group.2.max(end);
                }
                if let Some(sequence) = apply.order.sequence {
                    let before = self.prefix.last().map_or(0, |(_, committed)| *committed);
                    self.prefix.push((sequence, before.max(end)));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transaction(order: Order, schema: &str, keys: &[u64]) -> Transaction {
        Transaction {
            order,
            schemas: vec![schema.into()],
            keys: keys.to_vec(),
            has_all_keys: !keys.is_empty(),
            ..Transaction::default()
        }
    }

    fn mysql(sequence: i64, last_committed: i64) -> Order {
        Order { sequence: Some(sequence), last_committed: Some(last_committed), ..Order::default() }
    }

    fn mariadb(domain: u32, commit_id: Option<u64>) -> Order {
        Order { commit_id, domain: Some(domain), ..Order::default() }
    }

    fn simulation(orders: &[Order], costs: &[u64]) -> Simulation {
        let mut simulation = Simulation::default();
        for (&order, &cost) in orders.iter().zip(costs) {
            simulation.add(&transaction(order, "s", &[]), cost);
        }
        simulation
    }

    #[test]
    fn one_worker_takes_the_sum_whatever_the_rule() {
        let simulation = simulation(&[mysql(1, 0), mysql(2, 0), mysql(3, 2)], &[5, 1, 2]);
        for rule in [Rule::Schema, Rule::Log, Rule::Rows] {
            assert_eq!(simulation.takes(rule, true, 1), 8);
            assert_eq!(simulation.takes(rule, false, 1), 8);
        }
    }

    #[test]
    fn mysqls_transactions_wait_for_all_up_to_the_last_committed() {
        // The third needs the first two; the fourth the first only.
        let orders = [mysql(1, 0), mysql(2, 0), mysql(3, 2), mysql(4, 1)];
        assert_eq!(simulation(&orders, &[2, 2, 2, 2]).takes(Rule::Log, false, 2), 4);
        // The second file's numbers restart: it does not overlap with the first.
        let files = [mysql(1, 0), mysql(2, 0), mysql(1, 0), mysql(2, 0)];
        assert_eq!(simulation(&files, &[3, 1, 1, 3]).takes(Rule::Log, false, 8), 6);
    }

    #[test]
    fn mariadbs_groups_follow_each_other_within_a_domain() {
        let (one, two) = (Some(1), Some(2));
        let orders = [mariadb(0, one), mariadb(0, one), mariadb(0, two), mariadb(0, None)];
        assert_eq!(simulation(&orders, &[2, 2, 2, 2]).takes(Rule::Log, false, 8), 6);
        let domains = [mariadb(0, None), mariadb(1, None), mariadb(0, None), mariadb(1, None)];
        assert_eq!(simulation(&domains, &[2, 2, 2, 2]).takes(Rule::Log, false, 8), 4);
    }

    #[test]
    fn numbers_of_transactions_that_are_left_out_are_not_those_of_others() {
        // Two concurrent streams, each with one transaction in flight; the log holds one stream.
        let orders = [mysql(2, 0), mysql(4, 1), mysql(6, 3), mysql(8, 5)];
        assert_eq!(simulation(&orders, &[4, 4, 4, 4]).takes(Rule::Log, false, 2), 8);
        let orders = [mysql(2, 0), mysql(4, 2), mysql(6, 4), mysql(8, 6)];
        assert_eq!(simulation(&orders, &[4, 4, 4, 4]).takes(Rule::Log, false, 2), 16);
    }

    #[test]
    fn a_worker_that_waits_for_its_domain_does_not_hold_up_the_others() {
        let domains = [0, 0, 1, 1].map(|domain| mariadb(domain, None));
        let takes = |workers| simulation(&domains, &[2; 4]).takes(Rule::Log, false, workers);
        assert_eq!((takes(4), takes(2)), (4, 6));
    }

    #[test]
    fn mariadb_keeps_the_order_of_commits_within_a_domain_only() {
        let orders = [mariadb(1, None), mariadb(0, None), mariadb(0, None), mariadb(0, None)];
        let simulation = simulation(&orders, &[9, 3, 3, 3]);
        assert_eq!(simulation.takes(Rule::Log, true, 2), 9);
        assert_eq!(simulation.takes(Rule::Log, false, 2), 9);
    }

    #[test]
    fn kept_commit_order_holds_workers_back() {
        let orders = [mysql(1, 0), mysql(2, 0), mysql(3, 0), mysql(4, 0)];
        let simulation = simulation(&orders, &[9, 1, 1, 9]);
        assert_eq!(simulation.takes(Rule::Log, false, 2), 11);
        assert_eq!(
            simulation.takes(Rule::Log, true, 2),
            18,
            "the second worker waits for the first"
        );
        assert_eq!(simulation.takes(Rule::Log, true, 4), 9);
    }

    #[test]
    fn rows_in_common_are_written_in_turn_and_unknown_rows_after_all() {
        let mut simulation = Simulation::default();
        for keys in [&[1_u64, 2][..], &[3], &[2], &[], &[4]] {
            simulation.add(&transaction(Order::default(), "s", keys), 1);
        }
        assert_eq!(simulation.takes(Rule::Rows, false, 8), 4);
        assert_eq!(simulation.keyed_share(), 0.8);
        let rules: Vec<_> = simulation.curves().iter().map(|curve| curve.rule).collect();
        assert_eq!(rules, [Rule::Rows, Rule::Rows], "one schema, and no order in the log");
    }

    #[test]
    fn a_transaction_waits_for_all_up_to_the_last_that_changed_a_row_of_its() {
        let mut simulation = Simulation::default();
        for (keys, cost) in [(&[1_u64][..], 1), (&[2], 9), (&[3], 1), (&[3], 1)] {
            simulation.add(&transaction(Order::default(), "s", keys), cost);
        }
        assert_eq!(simulation.takes(Rule::Rows, false, 8), 10, "the last one waits for the second");
    }

    #[test]
    fn a_full_history_of_rows_begins_anew_and_all_wait_for_what_was_before() {
        let half: Vec<u64> = (1..=KEYS_MAX as u64 / 2).collect();
        let mut simulation = Simulation::default();
        simulation.add(&transaction(Order::default(), "s", &half), 4);
        let other: Vec<u64> = half.iter().map(|key| key + KEYS_MAX as u64).collect();
        simulation.add(&transaction(Order::default(), "s", &other), 4);
        assert_eq!(
            (simulation.histories_cleared(), simulation.takes(Rule::Rows, false, 8)),
            (0, 4)
        );
        simulation.add(&transaction(Order::default(), "s", &[u64::MAX]), 4);
        assert_eq!((simulation.histories_cleared(), simulation.history.last.len()), (1, 0));
        assert_eq!(simulation.takes(Rule::Rows, false, 8), 4, "it waits for nothing itself");
        simulation.add(&transaction(Order::default(), "s", &[u64::MAX - 1]), 4);
        assert_eq!(simulation.takes(Rule::Rows, false, 8), 8);
        let large = Transaction { is_large: true, ..transaction(Order::default(), "s", &[1]) };
        simulation.add(&large, 4);
        simulation.add(&transaction(Order::default(), "s", &[7]), 4);
        assert_eq!(simulation.takes(Rule::Rows, false, 8), 16);
        assert_eq!((simulation.histories_cleared(), simulation.keyed_share()), (2, 1.0));
    }

    proptest::proptest! {
        #[test]
        fn more_workers_never_take_longer_and_never_less_than_the_longest(
            costs in proptest::collection::vec(1..100_u64, 1..60),
            lasts in proptest::collection::vec(0..60_i64, 60),
            commit_order: bool,
        ) {
            let orders: Vec<_> =
                (0..costs.len() as i64).map(|i| mysql(i + 1, lasts[i as usize].min(i))).collect();
            let simulation = simulation(&orders, &costs);
            let sum: u64 = costs.iter().sum();
            let takes = |workers| simulation.takes(Rule::Log, commit_order, workers);
            proptest::prop_assert_eq!(takes(1), sum);
            proptest::prop_assert!(takes(64) >= *costs.iter().max().unwrap());
            proptest::prop_assert!(takes(64) <= sum);
        }

        #[test]
        fn rows_never_wait_for_less_than_they_must_and_the_history_stays_in_its_bound(
            rows in proptest::collection::vec(proptest::collection::vec(0..40_u64, 0..6), 1..80),
        ) {
            let mut simulation = Simulation::default();
            for (number, keys) in rows.iter().enumerate() {
                simulation.add(&transaction(Order::default(), "s", keys), 1);
                proptest::prop_assert!(simulation.history.last.len() <= KEYS_MAX);
                let after = simulation.transactions[number].after;
                proptest::prop_assert!(after <= number);
                let must = (0..number).rfind(|&other| {
                    keys.is_empty() || rows[other].is_empty()
                        || rows[other].iter().any(|key| keys.contains(key))
                });
                proptest::prop_assert_eq!(after, must.map_or(0, |other| other + 1));
            }
        }
    }
}
