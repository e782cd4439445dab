//! One connection of a script: any statement, results buffered as text.
//!
//! A text with several statements has several results; the first error ends it. The wait for
//! another connection's lock follows the rules of workloads (`wait.rs`): at most `busy_timeout_ms`
//! per statement, and never beyond the deadline of the call. A missing file is created, SQLite's
//! default, unless the target has `create: false`. Integers and floating-point numbers become text,
//! the latter with the fewest digits that identify the number; blobs are unchanged.
//!
//! `sysbench` has no driver for SQLite, so these options are dbdyno's: `sqlite-db` is the target's
//! `Address::File`. Other fields: `busy_timeout_ms` and `create` in the target's options, pragmas
//! as statements of `session_sql`.

#[cfg(test)]
mod tests;

use super::Sqlite;
use super::connection::{Deadline, Handle, check_setting};
use super::errors::{self, fatal};
use super::session::RowStatement;
use super::wait::{Wait, Waiters};
use crate::guard;
use crate::results::Results;
use crate::slots::Slots;
use dyno_core::driver::client::{Answer, Answers, Bind, Clients, Library, Nature};
use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::Target;
use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Batch, Connection, TransactionState, ffi};
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Deadline of calls without one.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);
/// Length field of a NULL in a row.
const NULL: [u8; 4] = [0xff; 4];

/// Creates the clients of a target.
///
/// # Errors
/// Names the invalid field of the target.
pub fn build(target: &Target) -> Result<Clients> {
    let driver = Sqlite::of(target, true, [].into())?;
    Ok(Box::new(move || Ok(Nature::Blocking(Box::new(SqliteClient::open(&driver)?)))))
}

/// One connection.
struct SqliteClient {
    /// They borrow from `connection`: fields drop in declaration order, so these drop first.
    statements: Slots<RowStatement>,
    /// Number and parameter count of the statement prepared last.
    prepared: (u32, u16),
    results: Results,
    patience: Patience,
    deadline: Deadline,
    connection: Handle,
}

// SAFETY: the statements and the connection they point to move together, and `&mut self` or
// ownership guards every use, so that one thread at a time touches them. SQLite allows that in
// its multi-thread mode (SQLITE_OPEN_NO_MUTEX).
unsafe impl Send for SqliteClient {}

/// The limits of the wait for locks.
struct Patience {
    busy_timeout: Duration,
    waiters: Arc<Waiters>,
}

impl Patience {
    /// Runs `work` until no lock prevents it, or time is up. A transaction that has read and wants
    /// to write fails at once: the holder of the lock waits for it to end, or leaves it with an
    /// outdated snapshot (the rule of sqlite3_busy_handler).
    fn with<T>(
        &self,
        connection: &Handle,
        end: Instant,
        mut work: impl FnMut() -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let mut wait: Option<Wait> = None;
        loop {
            match work() {
                Err(error) if errors::worth_waiting(&error) && !has_read(connection) => {
                    let until = end.min(Instant::now() + self.busy_timeout);
                    let start = || Wait::new(until, Arc::clone(&self.waiters));
                    if !wait.get_or_insert_with(start).again() {
                        return Err(error);
                    }
                }
                result => return result,
            }
        }
    }
}

impl SqliteClient {
    fn open(driver: &Sqlite) -> Result<Self> {
        let (connection, deadline) =
            Handle::open(&driver.path, driver.create, Arc::clone(&driver.is_stopped))?;
        let patience =
            Patience { busy_timeout: driver.busy_timeout, waiters: Arc::clone(&driver.waiters) };
        let mut client = Self {
            statements: Slots::default(),
            prepared: (0, 0),
            results: Results::default(),
            patience,
            deadline,
            connection,
        };
        let mut last = None;
        for sql in &driver.session_sql {
            last = client.setting(sql)?;
        }
        if driver.read_only {
            guard::SQLITE.check(&driver.path.display().to_string(), &[last])?;
        }
        Ok(client)
    }

    /// Runs one statement of `session_sql`; returns the first value of its result.
    fn setting(&mut self, sql: &str) -> Result<Option<String>> {
        self.query(sql.as_bytes(), FOREVER)?;
        if let Some(error) = self.results.answers().iter().find_map(|answer| answer.error.as_ref())
        {
            let what = format!("SQLite refused session statement `{sql}`: {}", error.message);
            return Err(Error::new(Kind::Server, what));
        }
        let mut first = None;
        if self.results.answers()[0].rows > 0 {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            self.fetch(0, 0, &mut |value| first = first.take().or(value.map(text)))?;
        }
        check_setting(sql, first.as_deref())?;
        Ok(first)
    }

    /// Runs `work` for at most `remaining`, and converts its error to a refusal.
    fn within(
        &mut self,
        remaining: Duration,
        work: impl FnOnce(&mut Self, Instant) -> rusqlite::Result<()>,
    ) -> Result<()> {
        self.results.clear();
        let now = Instant::now();
        let end = now.checked_add(remaining.min(FOREVER)).unwrap_or(now);
        self.deadline.set(end);
        let result = work(self, end);
        self.deadline.clear();
        let Err(error) = result else { return Ok(()) };
        let number = errors::code(&error) & 0xFF;
        if matches!(number, ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB) {
            let file = self.connection.path().unwrap_or_default();
            return Err(fatal(&format!("use {file}"), &error));
        }
        let mut refused = *errors::server_error(&error, false);
        if Instant::now() >= end {
            // A wait for a lock up to the deadline, or work that the progress handler interrupted.
            refused.message = "the statement's time was over".to_owned();
        }
        self.results.refuse(refused);
        Ok(())
    }

    fn query_text(&mut self, sql: &[u8], end: Instant) -> rusqlite::Result<()> {
        let mut batch = Batch::new(&self.connection, std::str::from_utf8(sql)?);
        while let Some(mut statement) =
            self.patience.with(&self.connection, end, || batch.next())?
        {
            self.patience.with(&self.connection, end, || {
                run(&self.connection, &mut statement, &mut self.results)
            })?;
        }
        if self.results.answers().is_empty() {
            self.results.end(0).map_err(|error| too_large(&error))?;
        }
        Ok(())
    }

    fn prepare_text(&mut self, sql: &[u8], end: Instant) -> rusqlite::Result<()> {
        // SAFETY: statements are dropped before the connection: their field precedes it.
        let connection = unsafe { self.connection.outliving() };
        let mut batch = Batch::new(connection, std::str::from_utf8(sql)?);
        let Some(statement) = self.patience.with(&self.connection, end, || batch.next())? else {
            return Err(refusal(ffi::SQLITE_ERROR, "there is no statement to prepare"));
        };
        if self.patience.with(&self.connection, end, || batch.next())?.is_some() {
            return Err(rusqlite::Error::MultipleStatement);
        }
        // SQLite's own limit is lower.
        let parameters = u16::try_from(statement.parameter_count()).unwrap_or(u16::MAX);
        self.prepared = (self.statements.add(statement), parameters);
        self.results.end(0).map_err(|error| too_large(&error))
    }

    fn execute_prepared(
        &mut self,
        statement: u32,
        values: &[Bind<'_>],
        end: Instant,
    ) -> rusqlite::Result<()> {
        let Some(statement) = self.statements.get_mut(statement) else {
            return Err(refusal(ffi::SQLITE_MISUSE, "there is no such prepared statement"));
        };
        let wanted = statement.parameter_count();
        if values.len() != wanted {
            let what = format!("the statement has {wanted} parameters and got {}", values.len());
            return Err(refusal(ffi::SQLITE_RANGE, &what));
        }
        for (index, value) in values.iter().enumerate() {
            let value = match *value {
                Bind::Null => ValueRef::Null,
                Bind::Int(number) => ValueRef::Integer(number),
                Bind::Double(number) => ValueRef::Real(number),
                Bind::Text(bytes) => ValueRef::Text(bytes),
            };
            statement.raw_bind_parameter(index + 1, ToSqlOutput::Borrowed(value))?;
        }
        self.patience
            .with(&self.connection, end, || run(&self.connection, statement, &mut self.results))
    }
}

/// Whether a transaction is open that has read and not yet written.
fn has_read(connection: &Handle) -> bool {
    let state = connection.transaction_state(None::<&str>);
    !connection.is_autocommit() && matches!(state, Ok(TransactionState::Read))
}

/// A refusal by this driver, with SQLite's code for it.
fn refusal(code: i32, what: &str) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(code), Some(what.to_owned()))
}

/// Runs a statement to its end and stores its rows.
fn run(
    connection: &Connection,
    statement: &mut rusqlite::Statement<'_>,
    results: &mut Results,
) -> rusqlite::Result<()> {
    // Drops the rows of an attempt that failed for a lock.
    results.rewind();
    let changes = connection.total_changes();
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        results.row_by(|out| put_row(row, out)).map_err(|error| too_large(&error))??;
    }
    drop(rows);
    // Read after the first step, which re-prepares a statement after a change of the schema.
    results.describe(statement.column_count() as u32);
    let is_changed = connection.total_changes() != changes;
    let affected = if is_changed { connection.changes() } else { 0 };
    results.end(affected).map_err(|error| too_large(&error))
}

/// The error of results beyond the limit.
fn too_large(error: &Error) -> rusqlite::Error {
    refusal(ffi::SQLITE_NOMEM, &error.to_string())
}

/// Appends a row: each value's length and its text.
fn put_row(row: &rusqlite::Row<'_>, out: &mut Vec<u8>) -> rusqlite::Result<()> {
    for column in 0..row.as_ref().column_count() {
        match row.get_ref(column)? {
            ValueRef::Null => out.extend_from_slice(&NULL),
            ValueRef::Integer(number) => sized(itoa::Buffer::new().format(number).as_bytes(), out),
            ValueRef::Real(number) => {
                let at = out.len();
                out.extend_from_slice(&[0; 4]);
                // Writing to memory cannot fail.
                let _ = write!(out, "{number:?}");
                let length = (out.len() - at - 4) as u32;
                out[at..at + 4].copy_from_slice(&length.to_ne_bytes());
            }
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => sized(bytes, out),
        }
    }
    Ok(())
}

/// SQLite's values are shorter than 2 GiB, so that their length fits.
fn sized(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u32).to_ne_bytes());
    out.extend_from_slice(bytes);
}

impl Answers for SqliteClient {
    fn answers(&self) -> &[Answer] {
        self.results.answers()
    }

    fn fetch(&self, answer: usize, row: u64, put: &mut dyn FnMut(Option<&[u8]>)) -> Result<()> {
        let mut rest = self.results.bytes_of(answer, row)?;
        while let Some((length, behind)) = rest.split_first_chunk::<4>() {
            let bytes = if *length == NULL { 0 } else { u32::from_ne_bytes(*length) as usize };
            let (value, next) = behind.split_at(bytes);
            put((*length != NULL).then_some(value));
            rest = next;
        }
        Ok(())
    }

    fn prepared(&self) -> (u32, u16) {
        self.prepared
    }
}

impl Library for SqliteClient {
    fn query(&mut self, sql: &[u8], remaining: Duration) -> Result<()> {
        self.within(remaining, |client, end| client.query_text(sql, end))
    }

    fn prepare(&mut self, sql: &[u8]) -> Result<()> {
        self.within(FOREVER, |client, end| client.prepare_text(sql, end))
    }

    fn execute(&mut self, statement: u32, values: &[Bind<'_>], remaining: Duration) -> Result<()> {
        self.within(remaining, |client, end| client.execute_prepared(statement, values, end))
    }

    fn close(&mut self, statement: u32) {
        self.statements.remove(statement);
    }
}
