//! Workloads: a workload names its requests once and then composes transactions from them.

pub mod history;
pub mod recording;
pub mod rows;

use crate::Result;
use crate::plan::Options;
use crate::request::capability::Capability;
pub use crate::request::{
    Command, Effect, Expect, FileSet, Form, Op, ParamType, Request, SCALE_MAX, Sql, Transaction,
    Value, put_decimal,
};
use crate::workload::history::{Access, Observed};
use crate::workload::recording::Recording;
use crate::workload::rows::Rows;
use std::ops::Range;

/// The SQL dialect (or its absence) a workload writes its statements in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite.
    Sqlite,
    /// MySQL and MariaDB.
    Mysql,
    /// PostgreSQL.
    Postgres,
    /// Any: the null driver does not read the text.
    Null,
}

/// Parameters from which a workload is built.
#[derive(Debug, Clone, Copy)]
pub struct Order<'a> {
    /// Options of the group.
    pub options: &'a Options,
    /// Dialect of its SQL.
    pub dialect: Dialect,
    /// Everything random follows from this.
    pub seed: u64,
    /// Sessions of the group: the low 24 bits of a session's number are below this.
    pub sessions: u32,
}

/// Builds a workload. The error names the wrong option and the allowed values.
pub type BuildWorkload = fn(order: &Order<'_>) -> Result<Box<dyn Workload>>;

/// Builds workloads of one kind from options.
pub struct WorkloadKind {
    /// Name in plans.
    pub name: &'static str,
    /// One line for the reference.
    pub about: &'static str,
    /// Capabilities that it always needs; its requests may need more.
    pub needs: &'static [Capability],
    /// Builds it. The error names the wrong option and the allowed values.
    pub build: BuildWorkload,
}

/// Source of transactions. Shared by all workers, hence immutable: every transaction is a pure
/// function of (seed, session, index), and of the answers to its own statements if it keeps them.
pub trait Workload: Send + Sync {
    /// All requests it may use, SQL in its dialect. Called once.
    fn requests(&self) -> Vec<Request>;

    /// Composes transaction number `index` of session `session` in `tx`, which is clear. Of a
    /// workload that [pipelines](Self::pipeline), `tx` may hold earlier transactions: the operation
    /// is appended.
    fn fill(&self, session: u32, index: u64, tx: &mut Transaction);

    /// Called when all operations so far are answered: appends operations that depend on the
    /// answers, or nothing, which ends the transaction. `stage` counts the calls from 1. `answers`:
    /// the rows of each operation so far whose statement [keeps](Request::keeps) them, in order.
    /// Random parameters are a pure function of (seed, session, index) and the answers, as in
    /// [`fill`](Self::fill).
    ///
    /// Rows are [unknown](Rows::unknown) if there is no system: then any values do. A statement
    /// that needs rows [expects](Request::expect) them.
    ///
    /// Called only if a statement keeps its rows.
    fn more(
        &self,
        _session: u32,
        _index: u64,
        _stage: u32,
        _answers: &[Rows],
        _tx: &mut Transaction,
    ) {
    }

    /// Names of the kinds of its transactions, each with its own latencies; at most 16.
    fn kinds(&self) -> Vec<String> {
        vec![]
    }

    /// Whether its sessions pause between transactions, in a closed loop.
    fn pauses(&self) -> bool {
        false
    }

    /// Pause of a session before transaction number `index`, nanoseconds; called only if the
    /// workload [pauses](Self::pauses), and not before the first transaction of a connection.
    fn pause_ns(&self, _session: u32, _index: u64) -> u64 {
        0
    }

    /// Number of transactions that a session sends in one write, before it waits for their answers.
    /// More than 1 only if each transaction is one operation that depends on no answer; systems
    /// then need [`Capability::Pipelining`].
    fn pipeline(&self) -> u32 {
        1
    }

    /// The recorded sessions, of a workload that replays them instead of composing transactions in
    /// [`fill`](Self::fill).
    fn recording(&self) -> Option<&dyn Recording> {
        None
    }

    /// Whether its transactions have a history ([`observe`](Self::observe)).
    fn has_history(&self) -> bool {
        false
    }

    /// Appends what an attempt is known to have read, and what it may have written, in order.
    /// Called only if the workload [has a history](Self::has_history) and it is recorded.
    fn observe(&self, _observed: &Observed<'_>, _out: &mut Vec<Access>) {}

    /// Writes the values of attempt number `attempt` into a composed transaction, in place of those
    /// of the attempt before. Called as [`observe`](Self::observe) is.
    fn renumber(&self, _attempt: u32, _tx: &mut Transaction) {}

    /// Whether a run changes data that a later run reads.
    fn changes_data(&self) -> bool;

    /// Tables to create and fill, in order.
    fn tables(&self) -> Vec<Table>;

    /// Writes rows `rows` (0-based) of table number `table`; row n is a pure function of (seed,
    /// table, n), independent of the loading thread.
    fn rows(&self, table: usize, rows: Range<u64>, sink: &mut dyn RowSink);

    /// Files to make and fill with random bytes.
    fn files(&self) -> Option<FileSet> {
        None
    }
}

/// A table to load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Unquoted name.
    pub name: String,
    /// Columns that the rows carry, in order.
    pub columns: Vec<String>,
    /// `CREATE TABLE`, without the secondary indexes.
    pub create: String,
    /// Statements after the rows are in: secondary indexes, sequences.
    pub finish: Vec<String>,
    /// Number of rows.
    pub rows: u64,
}

/// Receives rows and encodes them in the driver's bulk format.
pub trait RowSink {
    /// A whole number.
    fn int(&mut self, value: i64);
    /// Text.
    fn text(&mut self, value: &[u8]);
    /// NULL.
    fn null(&mut self);
    /// The exact number `unscaled / 10^scale`.
    fn decimal(&mut self, unscaled: i64, scale: u8) {
        let mut digits = Vec::with_capacity(24);
        put_decimal(unscaled, scale, &mut digits);
        self.text(&digits);
    }
    /// Finite floating-point number.
    fn double(&mut self, value: f64) {
        self.text(value.to_string().as_bytes());
    }
    /// The row is complete.
    fn end_row(&mut self);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decimal(unscaled: i64, scale: u8) -> String {
        let mut out = vec![];
        put_decimal(unscaled, scale, &mut out);
        String::from_utf8(out).expect("digits")
    }

    #[test]
    fn decimals_keep_all_their_digits() {
        for (unscaled, scale, expected) in [
            (0, 0, "0"),
            (0, 2, "0.00"),
            (5, 2, "0.05"),
            (-5, 1, "-0.5"),
            (-1234, 2, "-12.34"),
            (1200, 0, "1200"),
            (i64::MIN, 0, "-9223372036854775808"),
            (i64::MIN, 18, "-9.223372036854775808"),
            (1, 18, "0.000000000000000001"),
        ] {
            assert_eq!(decimal(unscaled, scale), expected);
        }
    }

    proptest! {
        #[test]
        fn decimals_read_back(unscaled in any::<i64>(), scale in 0..=SCALE_MAX) {
            let text = decimal(unscaled, scale);
            let decimals = text.split_once('.').map_or(0, |(_, d)| d.len());
            prop_assert_eq!(decimals, usize::from(scale));
            prop_assert_eq!(text.replace('.', "").parse::<i64>(), Ok(unscaled));
        }
    }
}
