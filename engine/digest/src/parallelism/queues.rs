//! Simulates MySQL's coordinator with parallelism by schema: one queue per worker.
//!
//! The coordinator puts a transaction into the queue of the worker that has an unfinished transaction
//! of its schema, and continues with the next one. An idle schema goes to the worker with the fewest
//! schemas. The coordinator waits in two cases only: if the queue is full (16,384 events), or if a
//! transaction has schemas of several workers, until all but one of these have finished them.
//!
//! Sources: MySQL's public source, `rpl_rli_pdb.cc` (`map_db_to_worker`, `wait_for_workers_to_finish`,
//! `append_item_to_jobs`) and `rpl_replica.cc` (`mts_slave_worker_queue_len_max = 16384`). The
//! simulation ignores the limit in bytes, `replica_pending_jobs_size_max` (128 MiB of pending events
//! of all workers).

use std::collections::{HashMap, VecDeque};

/// Maximum number of events in a worker's queue.
pub const QUEUE_EVENTS: u64 = 16_384;

/// Maximum size of a row event (`binlog_row_event_max_size`), bytes.
const ROW_EVENT_BYTES: u64 = 8192;

/// Estimates a transaction's number of events: GTID, BEGIN and commit, and for each statement a table
/// map and a row event, or several for many rows. `bytes`: its size in the log.
pub fn events(statements: u64, bytes: u64) -> u64 {
    3 + 2 * statements.max(1) + bytes / ROW_EVENT_BYTES
}

/// A worker: the time when it has finished all its transactions, and its queue.
#[derive(Debug, Clone, Default)]
struct Worker {
    free: u64,
    /// (end time, number of events) of transactions, in the order of the queue.
    queue: VecDeque<(u64, u64)>,
    queued: u64,
}

impl Worker {
    /// Removes the transactions that end by `now`.
    fn advance(&mut self, now: u64) {
        while self.queue.front().is_some_and(|&(end, _)| end <= now) {
            self.queued -= self.queue.pop_front().map_or(0, |(_, events)| events);
        }
    }

    /// The time when the queue has space for so many more events. A transaction larger than the queue
    /// waits until the queue is empty.
    fn room(&self, events: u64) -> u64 {
        let mut over = (self.queued + events).saturating_sub(QUEUE_EVENTS);
        let mut at = 0;
        for &(end, length) in &self.queue {
            if over == 0 {
                break;
            }
            over = over.saturating_sub(length);
            at = end;
        }
        at
    }
}

/// The coordinator and its workers.
#[derive(Debug)]
pub struct Queues {
    workers: Vec<Worker>,
    /// By schema: its last worker, and the time when that worker finishes it.
    schemas: HashMap<u32, (usize, u64)>,
    /// Time when the coordinator queued the last transaction.
    handed: u64,
}

impl Queues {
    /// Creates `workers` idle workers, at least one.
    pub fn new(workers: u32) -> Self {
        let workers = vec![Worker::default(); workers.max(1) as usize];
        Self { workers, schemas: HashMap::new(), handed: 0 }
    }

    /// Assigns the next transaction; returns the worker's index and the time when it starts it.
    pub fn hand(&mut self, schemas: &[u32], events: u64) -> (usize, u64) {
        let number = self.owner(schemas);
        let worker = &mut self.workers[number];
        worker.advance(self.handed);
        self.handed = self.handed.max(worker.room(events));
        (number, self.handed.max(worker.free))
    }

    /// Records the end time of the last assigned transaction, which had so many events.
    pub fn ends(&mut self, number: usize, schemas: &[u32], events: u64, end: u64) {
        let worker = &mut self.workers[number];
        worker.free = end;
        worker.queue.push_back((end, events));
        worker.queued += events;
        self.schemas.extend(schemas.iter().map(|&schema| (schema, (number, end))));
    }

    /// The worker of these schemas; waits for other workers that have some of them.
    fn owner(&mut self, schemas: &[u32]) -> usize {
        let busy = |schema: &u32| self.schemas.get(schema).filter(|(_, end)| *end > self.handed);
        let Some(&(first, _)) = schemas.iter().find_map(busy) else { return self.idlest() };
        let others = schemas.iter().filter_map(busy).filter(|(number, _)| *number != first);
        self.handed = others.map(|&(_, end)| end).max().unwrap_or(0).max(self.handed);
        first
    }

    /// The worker with the fewest unfinished schemas; of equals, the one that is free first.
    fn idlest(&self) -> usize {
        let mut held = vec![0_u32; self.workers.len()];
        for (number, _) in self.schemas.values().filter(|(_, end)| *end > self.handed) {
            held[*number] += 1;
        }
        let order = |number: &usize| (held[*number], self.workers[*number].free, *number);
        (0..self.workers.len()).min_by_key(order).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The time that so many workers take for transactions, given as (schemas, cost, events).
    fn takes(transactions: &[(&[u32], u64, u64)], workers: u32) -> u64 {
        let mut queues = Queues::new(workers);
        let mut all = 0;
        for &(schemas, cost, events) in transactions {
            let (worker, start) = queues.hand(schemas, events);
            queues.ends(worker, schemas, events, start + cost);
            all = all.max(start + cost);
        }
        all
    }

    /// The time without queues: the coordinator waits at the first busy schema.
    fn blocking(transactions: &[(&[u32], u64, u64)]) -> u64 {
        let (mut handed, mut all) = (0, 0);
        let mut last: HashMap<u32, u64> = HashMap::new();
        for &(schemas, cost, _) in transactions {
            handed = schemas
                .iter()
                .filter_map(|one| last.get(one))
                .max()
                .map_or(handed, |&end| handed.max(end));
            last.extend(schemas.iter().map(|&one| (one, handed + cost)));
            all = all.max(handed + cost);
        }
        all
    }

    #[test]
    fn schemas_run_side_by_side() {
        let transactions: [(&[u32], u64, u64); 4] =
            [(&[0], 4, 5), (&[1], 3, 5), (&[0], 4, 5), (&[2], 1, 5)];
        assert_eq!(takes(&transactions, 3), 8);
        assert_eq!(takes(&transactions, 1), 12);
    }

    #[test]
    fn the_coordinator_goes_on_past_a_busy_schema() {
        // Bursts of one schema after another, as applications write them: 30 : 20 : 8.
        let burst =
            |schema: &'static [u32], count| std::iter::repeat_n((schema, 1_u64, 5_u64), count);
        let round = || burst(&[0], 30).chain(burst(&[1], 20)).chain(burst(&[2], 8));
        let transactions: Vec<_> = (0..10).flat_map(|_| round()).collect();
        assert_eq!(
            takes(&transactions, 4),
            300,
            "the longest schema: 580 / 300 = 1.93 times as fast"
        );
        assert!(blocking(&transactions) > 540, "it was 1.05 times without a queue");
    }

    #[test]
    fn a_full_queue_stops_the_coordinator() {
        let mut transactions = vec![(&[0][..], 1, 4); 6000];
        transactions.push((&[1], 1, 4));
        // 16,384 events are 4,096 transactions: the last of the 6,000 has space after the end of 1,904.
        let mut queues = Queues::new(2);
        let mut last = (0, 0);
        for &(schemas, cost, events) in &transactions {
            last = queues.hand(schemas, events);
            queues.ends(last.0, schemas, events, last.1 + cost);
        }
        assert_eq!(last, (1, 1904));
    }

    #[test]
    fn a_transaction_larger_than_the_queue_waits_until_that_is_empty() {
        let transactions: [(&[u32], u64, u64); 3] =
            [(&[0], 7, 5), (&[0], 1, QUEUE_EVENTS + 1), (&[1], 2, 5)];
        assert_eq!(takes(&transactions, 2), 9);
    }

    #[test]
    fn a_transaction_of_several_schemas_waits_for_all_but_one_of_their_workers() {
        let transactions: [(&[u32], u64, u64); 4] =
            [(&[0], 10, 5), (&[1], 4, 5), (&[0, 1], 1, 5), (&[2], 1, 5)];
        let mut queues = Queues::new(3);
        let mut starts = vec![];
        for &(schemas, cost, events) in &transactions {
            let (worker, start) = queues.hand(schemas, events);
            queues.ends(worker, schemas, events, start + cost);
            starts.push((worker, start));
        }
        assert_eq!(starts, [(0, 0), (1, 0), (0, 10), (2, 4)], "the coordinator waited until 4");
    }

    #[test]
    fn with_fewer_workers_than_schemas_a_new_one_goes_to_who_has_fewest() {
        let transactions: [(&[u32], u64, u64); 4] =
            [(&[0], 9, 5), (&[1], 1, 5), (&[2], 1, 5), (&[3], 1, 5)];
        assert_eq!(takes(&transactions, 2), 10);
        assert_eq!(takes(&transactions, 4), 9);
    }

    proptest::proptest! {
        #[test]
        fn it_never_takes_less_than_the_longest_schema_nor_more_than_one_worker(
            transactions in proptest::collection::vec(
                (proptest::collection::vec(0..5_u32, 1..3), 1..50_u64, 1..9000_u64), 1..120),
            workers in 1..6_u32,
        ) {
            let transactions: Vec<(&[u32], u64, u64)> =
                transactions.iter().map(|(schemas, cost, events)| (&schemas[..], *cost, *events)).collect();
            let total: u64 = transactions.iter().map(|one| one.1).sum();
            let longest = (0..5).map(|schema| {
                transactions.iter().filter(|one| one.0.contains(&schema)).map(|one| one.1).sum::<u64>()
            });
            let took = takes(&transactions, workers);
            proptest::prop_assert!(took <= total);
            proptest::prop_assert!(took >= longest.max().unwrap_or(0));
            proptest::prop_assert!(took >= total / u64::from(workers));
            proptest::prop_assert_eq!(takes(&transactions, 1), total);
        }
    }
}
