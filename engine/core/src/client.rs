//! Client side of a protocol for statements that are not known in advance, such as those of
//! scripts; the counterpart of [`Wire`](crate::driver::Wire) for workloads. Results are kept, and
//! decoded only on demand.

use crate::Result;
use crate::protocol::{ServerError, WireProtocol};
use std::time::Duration;

/// A system bound to a target, for scripts: makes the state of a new connection, and opens nothing by
/// itself when that is a wire. Shared by all sessions. Fails for a library that cannot be opened.
pub type Clients = Box<dyn Fn() -> Result<Nature> + Send + Sync>;

/// One connection, of one of two natures.
pub enum Nature {
    /// Bytes over a transport; many sessions a worker.
    Wire(Box<dyn Client>),
    /// Calls that block; one OS thread a session.
    Blocking(Box<dyn Library>),
}

/// A parameter's value as a script binds it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bind<'a> {
    /// NULL.
    Null,
    /// Whole number.
    Int(i64),
    /// Floating-point number.
    Double(f64),
    /// Text, dates and times, bytes.
    Text(&'a [u8]),
}

/// One result of a request. A request of several statements has several.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// Columns; 0: the statement returns no rows at all.
    pub fields: u32,
    /// Rows returned.
    pub rows: u64,
    /// Rows changed, where the protocol says so.
    pub affected: u64,
    /// The server's refusal. It ends the request: no result comes after it.
    pub error: Option<Box<ServerError>>,
}

/// Results of the last request. Valid until the next one.
pub trait Answers {
    /// All its results; at least one.
    fn answers(&self) -> &[Answer];

    /// Passes row `row` (0-based) of result `answer` to `put`, field by field as text; `None` is
    /// NULL.
    ///
    /// # Errors
    /// Bytes that are not a row.
    fn fetch(&self, answer: usize, row: u64, put: &mut dyn FnMut(Option<&[u8]>)) -> Result<()>;

    /// The statement just prepared, as `execute` and `close` name it, and its number of parameters.
    fn prepared(&self) -> (u32, u16);
}

/// The requests of a script over a [`WireProtocol`]; [`Answers`] has their results.
pub trait Client: WireProtocol<Reply = ()> + Answers {
    /// Encodes one or, where the protocol has it, several statements.
    fn query(&mut self, sql: &[u8], out: &mut Vec<u8>);

    /// Encodes the preparation of a statement; `?` marks its parameters in any dialect.
    fn prepare(&mut self, sql: &[u8], out: &mut Vec<u8>);

    /// Encodes the execution of a prepared statement, with one value per parameter.
    fn execute(&mut self, statement: u32, values: &[Bind<'_>], out: &mut Vec<u8>);

    /// Encodes the closing of a prepared statement. False: the server does not answer it.
    fn close(&mut self, statement: u32, out: &mut Vec<u8>) -> bool;

    /// The server's own error when it refused the login or ended the connection, once `receive` has
    /// failed. None if it sent none.
    fn parting(&self) -> Option<&ServerError> {
        None
    }
}

/// A library's connection: each call returns when the work is done. Results carry errors of
/// statements.
pub trait Library: Answers + Send {
    /// Runs one or several statements, within `remaining`.
    ///
    /// # Errors
    /// The database can no longer be used.
    fn query(&mut self, sql: &[u8], remaining: Duration) -> Result<()>;

    /// Prepares a statement.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    fn prepare(&mut self, sql: &[u8]) -> Result<()>;

    /// Executes a prepared statement, within `remaining`.
    ///
    /// # Errors
    /// As [`query`](Self::query).
    fn execute(&mut self, statement: u32, values: &[Bind<'_>], remaining: Duration) -> Result<()>;

    /// Closes a prepared statement.
    fn close(&mut self, statement: u32);
}
