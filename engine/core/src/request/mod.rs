//! Requests of a workload (SQL, key-value operations, operations on files), the transactions
//! composed of them, and the capabilities that they need.

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

/// Effect of a request on its transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Opens a read-only transaction; each driver has its own statement.
    BeginRead,
    /// Opens a transaction that will write (SQLite: `BEGIN IMMEDIATE`).
    BeginWrite,
    /// Commits; each driver has its own statement.
    Commit,
    /// Rolls back because the workload wants that: the transaction counts as committed work, and
    /// this request's class counts such transactions. Each driver has its own statement.
    Rollback,
    /// Returns rows.
    Read,
    /// Changes rows.
    Write,
    /// Any text, its only value: sent unchanged, never prepared.
    Verbatim,
}

/// A request's operation. It takes the request's parameters.
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
    /// Its effect.
    pub effect: Effect,
    /// The operation.
    pub command: Command,
    /// Type of each parameter of `command`.
    pub params: Vec<ParamType>,
    /// The user's name of each parameter, for messages; empty without names.
    pub names: Vec<String>,
    /// Condition on the answer; otherwise the transaction fails with code `check`.
    pub expect: Option<Expect>,
    /// Whether the rows of its answers are kept for [`Workload::more`](crate::workload::Workload::more).
    pub keeps: bool,
    /// Whether it carries an identity, for drivers with
    /// [`IdentifiedWrites`](capability::Capability::IdentifiedWrites): its last three values are
    /// session, number and attempt, and are stored in one step with what it writes.
    pub identified: bool,
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
        Self {
            class,
            effect,
            command,
            params,
            names: vec![],
            expect: None,
            keeps: false,
            identified: false,
        }
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

    /// Parameter `index` (0-based) as messages name it: `parameter 2 (:city)`.
    pub fn name_of(&self, index: usize) -> String {
        match self.names.get(index) {
            Some(name) => format!("parameter {} (:{name})", index + 1),
            None => format!("parameter {}", index + 1),
        }
    }
}

/// Condition on an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expect {
    /// Number of rows returned.
    pub rows: Option<RangeInclusive<u64>>,
    /// Number of rows changed, as the server counts them.
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
    /// Unknown column type: the server infers it if it can (PostgreSQL), else converts. All values
    /// of the parameter have this form, or are NULL.
    Inferred(Form),
}

/// Form of a parameter's values.
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
/// which are the same in all dialects. Requests that are all SQL are not copied. Operations on
/// files stay unchanged: drivers of SQL systems never receive them
/// ([`needs::check`](crate::driver::needs::check)).
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
