//! One SQLite connection: cached statements, the driver's own wait for locks, deadlines.

use super::Sqlite;
use super::connection::{Deadline, Handle, check_setting};
use super::errors::{deadline, fatal, server_error, worth_waiting};
use super::text;
use super::wait::{Wait, Waiters};
use crate::guard;
use crate::tasks;
use dyno_core::driver::{Blocking, Reply, Task};
use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::Protocol;
use dyno_core::workload::rows::Rows;
use dyno_core::workload::{self, Op, RowSink, Sql, Transaction, Value, put_decimal};
use rusqlite::types::ValueRef;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A statement that borrows from its session's connection.
pub(super) type RowStatement = rusqlite::Statement<'static>;

/// A connection with its statements.
pub struct SqliteSession {
    /// They borrow from `connection`: fields drop in declaration order, so these drop first.
    statements: Vec<Prepared>,
    /// The statement class of each, for messages.
    classes: Vec<String>,
    /// Whether each stores its rows.
    keeps: Vec<bool>,
    connection: Handle,
    busy_timeout: Duration,
    waiters: Arc<Waiters>,
    deadline: Deadline,
    /// Between the driver's `BEGIN` and the end of the transaction.
    in_transaction: bool,
    rendered: Vec<u8>,
}

enum Prepared {
    /// Parsed once; with its number of columns.
    Once { statement: RowStatement, columns: usize, effect: workload::Effect },
    /// Parsed on every call.
    Text { sql: Sql, effect: workload::Effect },
}

// SAFETY: the statements and the connection they point to move together, and `&mut self` or
// ownership guards every use, so that one thread at a time touches them. SQLite allows that in
// its multi-thread mode (SQLITE_OPEN_NO_MUTEX).
unsafe impl Send for SqliteSession {}

impl SqliteSession {
    /// The database's path, for messages.
    fn file(&self) -> &str {
        self.connection.path().unwrap_or_default()
    }

    /// Opens the file, runs the session's statements and prepares the workload's.
    pub fn open(driver: &Sqlite) -> Result<Self> {
        let shown = driver.path.display();
        if !driver.create && !driver.path.is_file() {
            return Err(Error::new(Kind::Plan, format!("there is no database file {shown}"))
                .hint("load the data first; a run never creates it"));
        }
        let (connection, deadline) =
            Handle::open(&driver.path, driver.create, Arc::clone(&driver.is_stopped))?;
        let mut session = Self {
            statements: Vec::new(),
            classes: driver.statements.iter().map(|statement| statement.class.clone()).collect(),
            keeps: driver.statements.iter().map(|statement| statement.keeps).collect(),
            connection,
            busy_timeout: driver.busy_timeout,
            waiters: Arc::clone(&driver.waiters),
            deadline,
            in_transaction: false,
            rendered: Vec::new(),
        };
        let mut last = None;
        for sql in &driver.session_sql {
            last = session.setting(sql)?;
        }
        if driver.read_only {
            guard::SQLITE.check(&shown.to_string(), &[last])?;
        }
        session.prepare(driver)?;
        Ok(session)
    }

    /// Runs one statement of `session_sql`. A rejected journal mode is an error, although SQLite
    /// reports it in the result only.
    fn setting(&mut self, sql: &str) -> Result<Option<String>> {
        let first = self.query(sql)?.into_iter().next().flatten();
        check_setting(sql, first.as_deref())?;
        Ok(first)
    }

    fn prepare(&mut self, driver: &Sqlite) -> Result<()> {
        for statement in driver.statements.iter() {
            let effect = statement.effect;
            let words = match effect {
                workload::Effect::BeginRead => "BEGIN".into(),
                workload::Effect::BeginWrite => "BEGIN IMMEDIATE".into(),
                workload::Effect::Commit => "COMMIT".into(),
                workload::Effect::Rollback => "ROLLBACK".into(),
                workload::Effect::Read | workload::Effect::Write => statement.sql().clone(),
                workload::Effect::Verbatim => {
                    let what = format!("statement {}: sqlite plays no traces", statement.class);
                    return Err(Error::new(Kind::Plan, what).hint("play them on a server"));
                }
            };
            let prepared = if driver.protocol == Protocol::Text {
                Prepared::Text { sql: words, effect }
            } else {
                let words = words.to_string();
                let class = &statement.class;
                let statement = self
                    .patiently(|session| {
                        // SAFETY: statements are dropped before the connection: their field
                        // precedes it.
                        unsafe { session.connection.outliving() }.prepare(&words)
                    })
                    .map_err(|e| {
                        let doing =
                            format!("prepare `{class}` (\"{words:.200}\") on {}", self.file());
                        let error = fatal(&doing, &e);
                        if error.hint.is_empty() {
                            error.hint("correct the statement; if it is a built-in one: are the tables loaded with the same options?")
                        } else {
                            error
                        }
                    })?;
                Prepared::Once { columns: statement.column_count(), statement, effect }
            };
            self.statements.push(prepared);
        }
        Ok(())
    }

    fn may_wait(&self) -> bool {
        !self.deadline.is_stopped()
    }

    /// Runs `work` until no lock prevents it, for at most `busy_timeout`.
    fn patiently<T>(
        &mut self,
        mut work: impl FnMut(&mut Self) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let mut wait = Wait::new(Instant::now() + self.busy_timeout, Arc::clone(&self.waiters));
        loop {
            match work(self) {
                Err(error) if worth_waiting(&error) && self.may_wait() && wait.again() => {}
                result => return result,
            }
        }
    }

    fn attempt(&mut self, op: &Op, tx: &Transaction) -> rusqlite::Result<Reply> {
        let keeps = self.keeps[usize::from(op.request)];
        let mut kept = Rows::default();
        let mut read = |statement: &mut rusqlite::Statement<'_>, columns| {
            if keeps { keep(statement, columns, &mut kept) } else { drain(statement, columns) }
        };
        let (rows, effect) = match &mut self.statements[op.request as usize] {
            Prepared::Once { statement, columns, effect } => {
                bind(statement, op, tx)?;
                (read(statement, *columns)?, *effect)
            }
            Prepared::Text { sql, effect } => {
                text::render(sql, op, tx, &mut self.rendered);
                let sql = std::str::from_utf8(&self.rendered)?;
                let mut statement = self.connection.prepare(sql)?;
                let columns = statement.column_count();
                (read(&mut statement, columns)?, *effect)
            }
        };
        match effect {
            workload::Effect::BeginRead | workload::Effect::BeginWrite => {
                self.in_transaction = true
            }
            workload::Effect::Commit | workload::Effect::Rollback => self.in_transaction = false,
            workload::Effect::Read | workload::Effect::Write | workload::Effect::Verbatim => {}
        }
        let affected =
            if effect == workload::Effect::Write { self.connection.changes() } else { 0 };
        Ok(Reply { rows, affected, error: None, kept })
    }

    /// Whether SQLite ended the transaction itself, as it may after some errors.
    fn was_rolled_back(&mut self) -> bool {
        let rolled_back = self.in_transaction && self.connection.is_autocommit();
        self.in_transaction &= !rolled_back;
        rolled_back
    }
}

fn bind(statement: &mut RowStatement, op: &Op, tx: &Transaction) -> rusqlite::Result<()> {
    for (at, value) in tx.values_of(op).iter().enumerate() {
        match value {
            Value::Int(n) => statement.raw_bind_parameter(at + 1, n)?,
            Value::Text(range) => {
                let text = std::str::from_utf8(tx.text_of(range))?;
                statement.raw_bind_parameter(at + 1, text)?;
            }
            Value::Decimal { unscaled, scale } => {
                statement.raw_bind_parameter(at + 1, real(*unscaled, *scale))?;
            }
            Value::Double(x) => statement.raw_bind_parameter(at + 1, x)?,
            Value::Bool(value) => statement.raw_bind_parameter(at + 1, value)?,
            Value::Null => statement.raw_bind_parameter(at + 1, rusqlite::types::Null)?,
        }
    }
    Ok(())
}

/// SQLite has no decimals: the nearest double, which is also its own reading of the digits. Up to
/// 2^53 and 10^22 both operands are exact, so the quotient is the nearest one.
fn real(unscaled: i64, scale: u8) -> f64 {
    if unscaled.unsigned_abs() <= 1 << 53 {
        return unscaled as f64 / 10f64.powi(i32::from(scale));
    }
    let mut digits = Vec::with_capacity(24);
    put_decimal(unscaled, scale, &mut digits);
    std::str::from_utf8(&digits).ok().and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
}

/// Steps through all rows and fetches every column, since SQLite reads a column (and its overflow
/// pages) only on request. Returns the number of rows.
fn drain(statement: &mut rusqlite::Statement<'_>, columns: usize) -> rusqlite::Result<u64> {
    let mut rows = statement.raw_query();
    let mut count = 0;
    while let Some(row) = rows.next()? {
        for column in 0..columns {
            match row.get_ref(column)? {
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                    black_box(bytes.last());
                }
                other => {
                    black_box(other);
                }
            }
        }
        count += 1;
    }
    Ok(count)
}

/// Steps through all rows and stores them. Returns the number of rows.
fn keep(
    statement: &mut rusqlite::Statement<'_>,
    columns: usize,
    kept: &mut Rows,
) -> rusqlite::Result<u64> {
    let mut rows = statement.raw_query();
    let mut count = 0;
    while let Some(row) = rows.next()? {
        kept.row();
        for column in 0..columns {
            match row.get_ref(column)? {
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => kept.value(Some(bytes)),
                other => kept.value(shown(other).as_deref().map(str::as_bytes)),
            }
        }
        if kept.is_too_long() {
            let what = "more rows than the workload may keep (1 MB)";
            return Err(rusqlite::Error::ToSqlConversionFailure(what.into()));
        }
        count += 1;
    }
    Ok(count)
}

impl Blocking for SqliteSession {
    fn execute(&mut self, op: &Op, tx: &Transaction, remaining: Duration) -> Result<Reply> {
        let now = Instant::now();
        let end = now + remaining;
        self.deadline.set(end);
        let mut wait: Option<Wait> = None;
        let reply = loop {
            let error = match self.attempt(op, tx) {
                Ok(reply) => break reply,
                Err(error) => error,
            };
            if worth_waiting(&error) && self.may_wait() {
                let until = (now + self.busy_timeout).min(end);
                let start = || Wait::new(until, Arc::clone(&self.waiters));
                if wait.get_or_insert_with(start).again() {
                    continue;
                }
            }
            let rolled_back = self.was_rolled_back();
            // A wait for a lock up to the deadline, or work that the progress handler interrupted.
            let error = if Instant::now() >= end {
                deadline(rolled_back)
            } else {
                let mut error = server_error(&error, rolled_back);
                let class = &self.classes[usize::from(op.request)];
                error.message = format!("statement {class}: {}", error.message);
                error
            };
            break Reply { error: Some(error), ..Reply::default() };
        };
        self.deadline.clear();
        Ok(reply)
    }

    fn query(&mut self, sql: &str) -> Result<Vec<Option<String>>> {
        self.patiently(|session| {
            let mut statement = session.connection.prepare(sql)?;
            let columns = statement.column_count();
            let mut rows = statement.raw_query();
            let mut first = Vec::new();
            let mut count = 0;
            while let Some(row) = rows.next()? {
                if count == 0 {
                    first = (0..columns)
                        .map(|column| Ok(shown(row.get_ref(column)?)))
                        .collect::<rusqlite::Result<_>>()?;
                }
                count += 1;
            }
            Ok(first)
        })
        .map_err(|error| fatal(&format!("run \"{sql:.200}\" on {}", self.file()), &error))
    }

    fn task(&mut self, task: Task<'_>) -> Result<Vec<Option<String>>> {
        if matches!(task, Task::Rollback) {
            self.in_transaction = false;
            if self.connection.is_autocommit() {
                return Ok(vec![]);
            }
        }
        tasks::sql(task, str::to_owned).map_or(Ok(vec![]), |sql| self.query(&sql))
    }

    fn bulk(
        &mut self,
        table: &str,
        columns: &[&str],
        fill: &mut dyn FnMut(&mut dyn RowSink),
    ) -> Result<u64> {
        let marks = vec!["?"; columns.len()].join(", ");
        let sql = format!("INSERT INTO {table} ({}) VALUES ({marks})", columns.join(", "));
        self.query("BEGIN IMMEDIATE")?;
        let loaded = self.connection.prepare(&sql).and_then(|statement| {
            let mut sink = Inserts { statement, column: 0, rows: 0, error: None };
            fill(&mut sink);
            sink.error.map_or(Ok(sink.rows), Err)
        });
        match loaded {
            Ok(rows) => self.query("COMMIT").map(|_| rows),
            Err(error) => Err(fatal(&format!("load table {table} into {}", self.file()), &error)),
        }
        .inspect_err(|_| {
            // Report the first error, not one of the rollback.
            let _ = self.task(Task::Rollback);
        })
    }
}

fn shown(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Null => None,
        ValueRef::Integer(n) => Some(n.to_string()),
        ValueRef::Real(x) => Some(x.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
    }
}

/// Inserts rows by one prepared `INSERT`; after the first error it drops all further rows.
struct Inserts<'c> {
    statement: rusqlite::Statement<'c>,
    column: usize,
    rows: u64,
    error: Option<rusqlite::Error>,
}

impl Inserts<'_> {
    fn value(&mut self, value: impl rusqlite::ToSql) {
        self.column += 1;
        if self.error.is_none() {
            self.error = self.statement.raw_bind_parameter(self.column, value).err();
        }
    }
}

impl RowSink for Inserts<'_> {
    fn int(&mut self, value: i64) {
        self.value(value);
    }

    fn text(&mut self, value: &[u8]) {
        match std::str::from_utf8(value) {
            Ok(text) => self.value(text),
            Err(error) => self.error = self.error.take().or(Some(error.into())),
        }
    }

    fn null(&mut self) {
        self.value(rusqlite::types::Null);
    }

    fn decimal(&mut self, unscaled: i64, scale: u8) {
        self.value(real(unscaled, scale));
    }

    fn double(&mut self, value: f64) {
        self.value(value);
    }

    fn end_row(&mut self) {
        self.column = 0;
        if self.error.is_some() {
            return;
        }
        match self.statement.raw_execute() {
            Ok(_) => self.rows += 1,
            Err(error) => self.error = Some(error),
        }
    }
}
