//! What is sent: a workload names its statements once and then composes transactions from them.

use crate::Result;
use crate::plan::Options;
use crate::recording::Recording;
use crate::rows::Rows;
pub use crate::transaction::{Op, SCALE_MAX, Transaction, Value, put_decimal};
use std::fmt;
use std::ops::{Range, RangeInclusive};

/// The SQL dialect (or its absence) a workload writes its statements in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite.
    Sqlite,
    /// MySQL and MariaDB.
    Mysql,
    /// PostgreSQL.
    Postgres,
    /// Any: the null driver looks at nothing.
    Null,
}

/// What a statement does to the transaction around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Opens a transaction that only reads; the driver knows the words.
    BeginRead,
    /// Opens a transaction that will write (SQLite: `BEGIN IMMEDIATE`).
    BeginWrite,
    /// Commits; the driver knows the word.
    Commit,
    /// Rolls back, because the workload wants that: the transaction counts as committed work, and
    /// this statement's class says how many ended so. The driver knows the word.
    Rollback,
    /// Returns rows.
    Read,
    /// Changes rows.
    Write,
    /// Any text, its only value: sent as it stands, never prepared.
    Verbatim,
}

/// A statement of a workload: prepared once a connection, or a template of its text form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Name of its class in results (`point_select`); the engine allows 64 classes a plan.
    pub class: String,
    /// What it does.
    pub kind: Kind,
    /// Its SQL; empty for `Begin*`, `Commit`, `Rollback` and `Verbatim`.
    pub sql: Sql,
    /// Type of each parameter of `sql`.
    pub params: Vec<ParamType>,
    /// What its user calls each parameter, for messages; empty where they have no names.
    pub names: Vec<String>,
    /// What the answer must be, or the transaction fails with code `check`.
    pub expect: Option<Expect>,
    /// Whether the rows of its answers are kept for [`Workload::more`].
    pub keeps: bool,
}

impl Statement {
    /// A statement without names and expectations. `sql` as text: each `?` is a parameter.
    pub fn new(
        class: impl Into<String>,
        kind: Kind,
        sql: impl Into<Sql>,
        params: Vec<ParamType>,
    ) -> Self {
        let (class, sql) = (class.into(), sql.into());
        Self { class, kind, sql, params, names: vec![], expect: None, keeps: false }
    }

    /// Parameter `index` (0-based) as a message names it: `parameter 2 (:city)`.
    pub fn name_of(&self, index: usize) -> String {
        match self.names.get(index) {
            Some(name) => format!("parameter {} (:{name})", index + 1),
            None => format!("parameter {}", index + 1),
        }
    }
}

/// SQL cut at its parameters. Not a text with marks in it: no mark is left that somebody's SQL
/// could not hold for another reason (`?` is an operator of PostgreSQL's jsonb, and stands in
/// literals anywhere).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sql {
    /// Never empty: what precedes the first parameter, and what follows each.
    pieces: Vec<String>,
}

impl Sql {
    /// What precedes the first parameter, and what follows each. Panics without a piece.
    pub fn new(pieces: Vec<String>) -> Self {
        assert!(!pieces.is_empty(), "SQL has a piece more than parameters");
        Self { pieces }
    }

    /// What precedes the first parameter, and what follows each.
    pub fn pieces(&self) -> &[String] {
        &self.pieces
    }

    /// Number of parameters.
    pub fn params(&self) -> usize {
        self.pieces.len() - 1
    }

    /// Whether it has neither text nor parameters.
    pub fn is_empty(&self) -> bool {
        self.pieces == [""]
    }

    /// The text with `put` called to write each parameter (0-based).
    pub fn with(&self, mut put: impl FnMut(usize, &mut String)) -> String {
        let bytes: usize = self.pieces.iter().map(|piece| piece.len() + 8).sum();
        let mut out = String::with_capacity(bytes);
        for (index, piece) in self.pieces.iter().enumerate() {
            if let Some(param) = index.checked_sub(1) {
                put(param, &mut out);
            }
            out.push_str(piece);
        }
        out
    }
}

/// Each `?` is a parameter, wherever it stands: for SQL that is written here.
impl From<&str> for Sql {
    fn from(text: &str) -> Self {
        Self { pieces: text.split('?').map(str::to_owned).collect() }
    }
}

impl From<String> for Sql {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

/// The text with `?` for each parameter, as MySQL and SQLite prepare it.
impl fmt::Display for Sql {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.with(|_, out| out.push('?')))
    }
}

/// What an answer must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expect {
    /// How many rows are returned.
    pub rows: Option<RangeInclusive<u64>>,
    /// How many rows are changed, as the server counts them.
    pub affected: Option<RangeInclusive<u64>>,
}

/// Type of a statement's parameter on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParamType {
    /// 32-bit integer column (`INTEGER`). The value must fit.
    Int,
    /// 64-bit integer column.
    BigInt,
    /// Character column.
    Text,
    /// Nobody here knows the column: the server infers its type where it can (PostgreSQL), else
    /// converts. All values of the parameter have this form, or are NULL.
    Inferred(Form),
}

/// What the values of a parameter look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// [`Value::Int`].
    Int,
    /// [`Value::Decimal`].
    Decimal,
    /// [`Value::Double`].
    Double,
    /// [`Value::Bool`].
    Bool,
    /// [`Value::Text`]: text, dates, times, UUIDs.
    Text,
}

/// What a workload is made for.
#[derive(Debug, Clone, Copy)]
pub struct Order<'a> {
    /// Options of the group.
    pub options: &'a Options,
    /// What its SQL is written in.
    pub dialect: Dialect,
    /// Everything random follows from this.
    pub seed: u64,
    /// Sessions of the group: the low 24 bits of a session's number lie below.
    pub sessions: u32,
}

/// Builds a workload, or says which option is wrong and what is allowed.
pub type BuildWorkload = fn(order: &Order<'_>) -> Result<Box<dyn Workload>>;

/// A family member: makes workloads from options.
pub struct WorkloadKind {
    /// Name in plans.
    pub name: &'static str,
    /// One line for the reference.
    pub about: &'static str,
    /// Builds it, or says which option is wrong and what is allowed.
    pub build: BuildWorkload,
}

/// What is sent. Shared by all workers, hence immutable: every transaction is a pure function of
/// (seed, session, index), and of the answers to its own statements where it asks for them.
pub trait Workload: Send + Sync {
    /// All statements it may use, in its dialect. Called once.
    fn statements(&self) -> Vec<Statement>;

    /// Fills `tx` (already clear) with transaction number `index` of session `session`.
    fn fill(&self, session: u32, index: u64, tx: &mut Transaction);

    /// All operations so far are answered: appends those that follow from the answers, or nothing,
    /// and the transaction has ended. `stage` counts the calls from 1. `answers`: the rows of each
    /// operation so far whose statement [keeps](Statement::keeps) them, in order. Random parameters
    /// are those of [`fill`](Self::fill): a pure function of (seed, session, index) and the answers.
    ///
    /// Rows may be [unknown](Rows::unknown), where there is no system: then any values do. Where a
    /// system must not leave them out, the statement [expects](Statement::expect) them.
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

    /// Names of the kinds of its transactions, whose latencies are told apart; at most 16.
    fn kinds(&self) -> Vec<String> {
        vec![]
    }

    /// Whether its sessions pause between transactions, in a closed loop.
    fn pauses(&self) -> bool {
        false
    }

    /// How long a session pauses before transaction number `index`, nanoseconds; asked only of a
    /// workload that [pauses](Self::pauses), and not before the first transaction of a connection.
    fn pause_ns(&self, _session: u32, _index: u64) -> u64 {
        0
    }

    /// What was recorded, of a workload that plays it: its sessions are not composed by
    /// [`fill`](Self::fill).
    fn recording(&self) -> Option<&dyn Recording> {
        None
    }

    /// Whether a run changes what a later run would read.
    fn changes_data(&self) -> bool;

    /// Tables to create and fill, in order.
    fn tables(&self) -> Vec<Table>;

    /// Writes rows `rows` (0-based) of table number `table`; row n is a pure function of (seed,
    /// table, n), whoever loads it.
    fn rows(&self, table: usize, rows: Range<u64>, sink: &mut dyn RowSink);
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
    /// How many rows.
    pub rows: u64,
}

/// Takes rows: the driver's bulk format decides how they look.
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

    #[test]
    fn sql_is_cut_at_its_question_marks() {
        let sql = Sql::from("a = ? AND b = ?");
        assert_eq!(sql.pieces(), ["a = ", " AND b = ", ""]);
        assert_eq!((sql.params(), sql.to_string().as_str()), (2, "a = ? AND b = ?"));
        assert_eq!(sql.with(|n, out| out.push_str(&format!("${}", n + 1))), "a = $1 AND b = $2");
        assert!(Sql::from("").is_empty() && !Sql::from("?").is_empty());
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
