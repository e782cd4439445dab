//! What is sent: a workload names its statements once and then composes transactions from them.

use crate::Result;
use crate::plan::Options;
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
    /// Returns rows.
    Read,
    /// Changes rows.
    Write,
}

/// A statement of a workload: prepared once a connection, or a template of its text form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Name of its class in results (`point_select`); the engine allows 64 classes a plan.
    pub class: &'static str,
    /// What it does.
    pub kind: Kind,
    /// SQL with `?` for each parameter, never inside quotes or comments; the driver rewrites it
    /// (PostgreSQL: `$1`). Empty for `Begin*` and `Commit`.
    pub sql: String,
    /// Number of `?` in `sql`, and their types.
    pub params: Vec<ParamType>,
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
}

/// A parameter's value. Text lies in the transaction's arena.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Whole number.
    Int(i64),
    /// Bytes `range` of [`Transaction::text`].
    Text(Range<u32>),
}

/// One operation of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Op {
    /// Index into [`Workload::statements`].
    pub statement: u16,
    /// Its parameters: a range of [`Transaction::values`].
    pub values: Range<u32>,
}

/// The operations that commit together. Filled anew for every transaction; allocates only until
/// its buffers have grown to the largest transaction. A retry sends it again unchanged.
#[derive(Debug, Default)]
pub struct Transaction {
    /// Operations in order.
    pub ops: Vec<Op>,
    /// Parameters of all operations.
    pub values: Vec<Value>,
    /// Arena of text parameters.
    pub text: Vec<u8>,
}

impl Transaction {
    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        self.ops.clear();
        self.values.clear();
        self.text.clear();
    }

    /// Appends an operation whose parameters are the values pushed since the last one.
    pub fn op(&mut self, statement: u16) {
        let start = self.ops.last().map_or(0, |op| op.values.end);
        self.ops.push(Op { statement, values: start..self.values.len() as u32 });
    }

    /// Appends a whole-number parameter for the next [`op`](Self::op).
    pub fn int(&mut self, value: i64) {
        self.values.push(Value::Int(value));
    }

    /// Appends a text parameter for the next [`op`](Self::op), written by `write` into the arena.
    pub fn text(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.text.len() as u32;
        write(&mut self.text);
        self.values.push(Value::Text(start..self.text.len() as u32));
    }

    /// The parameters of an operation.
    pub fn values_of(&self, op: &Op) -> &[Value] {
        &self.values[op.values.start as usize..op.values.end as usize]
    }

    /// The bytes of a text parameter.
    pub fn text_of(&self, range: &Range<u32>) -> &[u8] {
        &self.text[range.start as usize..range.end as usize]
    }
}

/// A family member: makes workloads from options.
pub struct WorkloadKind {
    /// Name in plans.
    pub name: &'static str,
    /// One line for the reference.
    pub about: &'static str,
    /// Builds it, or says which option is wrong and what is allowed.
    pub build: fn(options: &Options, dialect: Dialect, seed: u64) -> Result<Box<dyn Workload>>,
}

/// What is sent. Shared by all workers, hence immutable: every transaction is a pure function of
/// (seed, session, index).
pub trait Workload: Send + Sync {
    /// All statements it may use, in its dialect. Called once.
    fn statements(&self) -> Vec<Statement>;

    /// Fills `tx` (already clear) with transaction number `index` of session `session`.
    fn fill(&self, session: u32, index: u64, tx: &mut Transaction);

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
    pub columns: Vec<&'static str>,
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
    /// The row is complete.
    fn end_row(&mut self);
}
