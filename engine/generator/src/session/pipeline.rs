//! Transactions sent together, of a workload that pipelines: each is one operation, all go out in one
//! write, and the answers come in their order. The next ones are sent when all are answered.
//!
//! Each transaction counts by itself: with its own latency, from the write to its own answer, its own
//! error, and in an open loop its own due time. A closed loop sends `pipeline` transactions; an open
//! loop those that are due, up to as many, so that none waits for others to fall due.
//!
//! `Session::op` is the number of answers so far; `Session::transaction` holds all the operations.
//!
//! Source: Redis documentation, "Redis pipelining"; `redis-benchmark -P`.

use super::{GroupConfig, Session, Sinks, Step};
use crate::metrics::group::GroupMetrics;
use crate::metrics::open_loop::OpenLoopMetrics;
use crate::pacing::arrival_source::Arrival;
use dyno_core::driver::{Reply, ServerError};
use dyno_core::workload::{Op, Transaction};
use std::slice;

/// What the session knows of transactions sent together, beyond their operations. Empty in a workload
/// that does not pipeline.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Number of operations; 0 if the workload does not pipeline.
    length: u32,
    /// Arrival of each operation, in an open loop.
    arrivals: Vec<Arrival>,
    /// Indices of the operations that are sent again when all are answered.
    again: Vec<u32>,
}

impl Batch {
    /// Counts the arrivals, whose first byte left at `now_ns`. Only the first one can have been awaited.
    #[inline]
    pub fn begin(&self, now_ns: u64, was_awaited: bool, open: &OpenLoopMetrics) {
        for (index, arrival) in self.arrivals.iter().enumerate() {
            open.begin(*arrival, now_ns, was_awaited && index == 0);
        }
    }

    /// Forgets the transactions, which have all ended.
    fn clear(&mut self) {
        self.length = 0;
        self.arrivals.clear();
        self.again.clear();
    }
}

impl Session {
    /// The operations to send in one write, and their transaction: one, unless the workload pipelines.
    #[inline]
    pub fn ops(&self) -> (&[Op], &Transaction) {
        let all = &self.transaction.ops;
        let ops =
            if self.batch.length == 0 { slice::from_ref(&all[self.op as usize]) } else { all };
        (ops, &self.transaction)
    }

    /// Whether some of the operations that were sent together are answered and others are not.
    #[inline]
    pub fn is_partly_answered(&self) -> bool {
        self.batch.length > 0 && self.op > 0
    }

    /// Composes the transactions that are sent with the first one; of a retry there are none.
    pub(super) fn fill_batch(
        &mut self,
        now_ns: u64,
        metrics: &GroupMetrics,
        config: &GroupConfig<'_>,
    ) {
        if self.attempt == 0 {
            let further = config.pipeline - 1;
            let ((session, _), tx) = (self.drawn, &mut self.transaction);
            match (config.arrival_source, self.arrival.take()) {
                (Some(arrival_source), Some(first)) => {
                    let arrivals = &mut self.batch.arrivals;
                    arrivals.push(first);
                    arrival_source.claim_due(now_ns, further, arrivals);
                    for arrival in &arrivals[1..] {
                        config.workload.fill(session, arrival.number, tx);
                    }
                    assert_eq!(tx.ops.len(), arrivals.len(), "each transaction is one operation");
                }
                _ => {
                    for index in self.composed..self.composed + u64::from(further) {
                        config.workload.fill(session, index, tx);
                    }
                    self.composed += u64::from(further);
                    let length = config.pipeline as usize;
                    assert_eq!(tx.ops.len(), length, "each transaction is one operation");
                }
            }
        }
        self.batch.length = self.transaction.ops.len() as u32;
        metrics.writes.add(1);
        metrics.written.add(self.batch.length.into());
    }

    /// Handles the answer to the first operation that has none.
    #[inline]
    pub(super) fn answered_in_batch(
        &mut self,
        now_ns: u64,
        reply: Reply,
        sinks: Sinks<'_>,
        config: &GroupConfig<'_>,
    ) -> Step {
        let index = self.op;
        self.op += 1;
        match reply.error {
            None => self.commit_one(index, now_ns, reply.rows, sinks, config),
            Some(error) => self.refuse_one(index, now_ns, &error, sinks, config),
        }
        if self.op < self.batch.length {
            return Step::Receive;
        }
        if self.batch.again.is_empty() {
            self.batch.clear();
            return self.next(now_ns, sinks, config);
        }
        self.keep_refused();
        self.attempt += 1;
        self.back_off(now_ns, config)
    }

    #[inline]
    fn commit_one(
        &self,
        index: u32,
        now_ns: u64,
        rows: u64,
        sinks: Sinks<'_>,
        config: &GroupConfig<'_>,
    ) {
        let request = self.transaction.ops[index as usize].request;
        let class = usize::from(config.class_of[usize::from(request)]);
        let arrival = self.batch.arrivals.get(index as usize);
        sinks.metrics.entry(|to| {
            to.classes[class].record(now_ns.saturating_sub(self.op_ns));
            to.commit(now_ns.saturating_sub(self.first_ns), 1, rows);
            if let Some(arrival) = arrival {
                to.open.commit(*arrival, now_ns);
            }
        });
    }

    /// The server refused one operation; the others are not affected.
    fn refuse_one(
        &mut self,
        index: u32,
        now_ns: u64,
        error: &ServerError,
        sinks: Sinks<'_>,
        config: &GroupConfig<'_>,
    ) {
        let age_ns = now_ns.saturating_sub(self.attempt_ns);
        self.count_failure(now_ns, &error.code, &error.message, age_ns, sinks);
        if error.retryable && self.attempt < config.retries {
            self.batch.again.push(index);
        } else {
            self.give_up_one(index, now_ns, sinks);
        }
    }

    fn give_up_one(&self, index: u32, now_ns: u64, sinks: Sinks<'_>) {
        sinks.metrics.give_up(now_ns.saturating_sub(self.first_ns), None);
        if let Some(arrival) = self.batch.arrivals.get(index as usize) {
            sinks.metrics.open.give_up(*arrival, now_ns);
        }
    }

    /// Keeps the operations to send again, and their arrivals.
    fn keep_refused(&mut self) {
        let Batch { length, arrivals, again } = &mut self.batch;
        for (to, &from) in again.iter().enumerate() {
            self.transaction.ops.swap(to, from as usize);
            if !arrivals.is_empty() {
                arrivals.swap(to, from as usize);
            }
        }
        self.transaction.ops.truncate(again.len());
        arrivals.truncate(again.len());
        *length = again.len() as u32;
        again.clear();
        self.op = 0;
    }

    /// Fails all that have not ended: the connection is given up, or the deadline has passed.
    pub(super) fn fail_batch(
        &mut self,
        now_ns: u64,
        (code, message): (&str, &str),
        age_ns: u64,
        sinks: Sinks<'_>,
    ) {
        for index in self.not_ended() {
            self.count_failure(now_ns, code, message, age_ns, sinks);
            self.give_up_one(index, now_ns, sinks);
        }
        self.batch.clear();
    }

    /// Indices of the operations that have not ended.
    fn not_ended(&self) -> impl Iterator<Item = u32> + use<'_> {
        self.batch.again.iter().copied().chain(self.op..self.batch.length)
    }

    /// Ends the session with the load: arrivals without an answer count as left.
    pub(super) fn leave_batch(&mut self, config: &GroupConfig<'_>) {
        let Some(arrival_source) = config.arrival_source else { return };
        for index in self.not_ended() {
            if let Some(arrival) = self.batch.arrivals.get(index as usize) {
                arrival_source.give_back(*arrival);
            }
        }
        self.batch.clear();
    }
}
