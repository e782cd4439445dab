//! What a workload asks of a system: requests in SQL, as key-value operations or as operations on
//! files, the transactions composed of them, and what a system must be capable of to answer them.

pub mod capability;
mod io;
mod key_value;
mod sql;
mod transaction;

pub use io::{FileSet, FileVerb, Io};
pub use key_value::{KeyValue, Store, Verb};
pub use sql::Sql;
pub use transaction::{Op, SCALE_MAX, Transaction, Value, put_decimal};

use std::ops::RangeInclusive;
use std::sync::{Arc, LazyLock};

/// What a request does to the transaction around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Opens a transaction that only reads; the driver knows the words.
    BeginRead,
    /// Opens a transaction that will write (SQLite: `BEGIN IMMEDIATE`).
    BeginWrite,
    /// Commits; the driver knows the word.
    Commit,
    /// Rolls back, because the workload wants that: the transaction counts as committed work, and
    /// this request's class says how many ended so. The driver knows the word.
    Rollback,
    /// Returns rows.
    Read,
    /// Changes rows.
    Write,
    /// Any text, its only value: sent as it stands, never prepared.
    Verbatim,
}

/// What a request asks of the system. Its parameters are the request's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A statement of SQL.
    Sql(Sql),
    /// An operation on a record that has a key.
    KeyValue(KeyValue),
    /// An operation on a file.
    Io(Io),
}

/// One kind of request of a workload. Drivers encode it once; an operation carries only its number
/// and its parameters ([`Op`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Name of its class in results (`point_select`); the engine allows 64 classes a plan.
    pub class: String,
    /// What it does.
    pub effect: Effect,
    /// What is asked of the system.
    pub command: Command,
    /// Type of each parameter of `command`.
    pub params: Vec<ParamType>,
    /// What its user calls each parameter, for messages; empty where they have no names.
    pub names: Vec<String>,
    /// What the answer must be, or the transaction fails with code `check`.
    pub expect: Option<Expect>,
    /// Whether the rows of its answers are kept for [`Workload::more`](crate::workload::Workload::more).
    pub keeps: bool,
}

impl Request {
    /// A request in SQL without names and expectations. `sql` as text: each `?` is a parameter.
    pub fn new(
        class: impl Into<String>,
        effect: Effect,
        sql: impl Into<Sql>,
        params: Vec<ParamType>,
    ) -> Self {
        Self::of(class.into(), effect, Command::Sql(sql.into()), params)
    }

    /// A key-value operation on records of `store`.
    pub fn key_value(class: impl Into<String>, store: &Arc<Store>, verb: Verb) -> Self {
        let operation = KeyValue { store: Arc::clone(store), verb };
        let (effect, params) = (operation.effect(), operation.params());
        Self::of(class.into(), effect, Command::KeyValue(operation), params)
    }

    /// An operation on files of `set`.
    pub fn io(class: impl Into<String>, set: &Arc<FileSet>, verb: FileVerb) -> Self {
        let operation = Io { set: Arc::clone(set), verb };
        let (effect, params) = (operation.effect(), operation.params());
        Self::of(class.into(), effect, Command::Io(operation), params)
    }

    fn of(class: String, effect: Effect, command: Command, params: Vec<ParamType>) -> Self {
        Self { class, effect, command, params, names: vec![], expect: None, keeps: false }
    }

    /// Its SQL: empty for `Begin*`, `Commit`, `Rollback` and `Verbatim`, and for what is not SQL
    /// ([`in_sql`] makes it SQL first).
    pub fn sql(&self) -> &Sql {
        static NONE: LazyLock<Sql> = LazyLock::new(|| Sql::from(""));
        match &self.command {
            Command::Sql(sql) => sql,
            Command::KeyValue(_) | Command::Io(_) => &NONE,
        }
    }

    /// Parameter `index` (0-based) as a message names it: `parameter 2 (:city)`.
    pub fn name_of(&self, index: usize) -> String {
        match self.names.get(index) {
            Some(name) => format!("parameter {} (:{name})", index + 1),
            None => format!("parameter {}", index + 1),
        }
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

/// Type of a request's parameter on the wire.
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

/// The same requests in SQL, for drivers of SQL systems: key-value operations become statements,
/// which are the same in all dialects. Nothing is copied where all of them are SQL. Operations on
/// files stay as they are: no driver of such a system is given any ([`needs::check`](crate::needs::check)).
pub fn in_sql(requests: Arc<[Request]>) -> Arc<[Request]> {
    if requests.iter().all(|request| matches!(request.command, Command::Sql(_))) {
        return requests;
    }
    let one = |request: &Request| match &request.command {
        Command::Sql(_) | Command::Io(_) => request.clone(),
        Command::KeyValue(operation) => {
            Request { command: Command::Sql(operation.sql()), ..request.clone() }
        }
    };
    requests.iter().map(one).collect()
}
