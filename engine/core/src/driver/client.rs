//! Client side of a protocol for statements that are not known in advance, such as those of
//! scripts; the counterpart of [`Wire`](crate::driver::Wire) for workloads. A client stores results
//! and decodes them only on demand.

use crate::Result;
use crate::driver::protocol::{ServerError, WireProtocol};
use std::time::Duration;

/// A driver bound to a target, for scripts, and shared by all sessions. Each call creates the state
/// of a new connection; for a wire it opens no transport. Fails if a library cannot be opened.
pub type Clients = Box<dyn Fn() -> Result<Nature> + Send + Sync>;

/// One connection, over a wire or in a library.
pub enum Nature {
    /// Bytes over a transport; one worker drives many sessions.
    Wire(Box<dyn Client>),
    /// Blocking calls; one OS thread per session.
    Blocking(Box<dyn Library>),
}

/// A parameter's value as bound by a script.
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

/// One result of a request. A request with several statements has several results.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// Columns; 0 if the statement returns no result set.
    pub fields: u32,
    /// Rows returned.
    pub rows: u64,
    /// Rows changed, where the protocol reports them.
    pub affected: u64,
    /// The server's error. It ends the request: no result follows.
    pub error: Option<Box<ServerError>>,
}

/// Results of the last request. Valid until the next one.
pub trait Answers {
    /// All results; at least one.
    fn answers(&self) -> &[Answer];

    /// Passes row `row` (0-based) of result `answer` to `put`, field by field as text; `None` is
    /// NULL.
    ///
    /// # Errors
    /// Bytes that do not form a row.
    fn fetch(&self, answer: usize, row: u64, put: &mut dyn FnMut(Option<&[u8]>)) -> Result<()>;

    /// Identifier of the last prepared statement, for `execute` and `close`, and its number of
    /// parameters.
    fn prepared(&self) -> (u32, u16);
}

/// The requests of a script over a [`WireProtocol`]; results are in [`Answers`].
pub trait Client: WireProtocol<Reply = ()> + Answers {
    /// Encodes one statement or, where the protocol allows it, several.
    fn query(&mut self, sql: &[u8], out: &mut Vec<u8>);

    /// Encodes the preparation of a statement; `?` marks its parameters in any dialect.
    fn prepare(&mut self, sql: &[u8], out: &mut Vec<u8>);

    /// Encodes the execution of a prepared statement, with one value per parameter.
    fn execute(&mut self, statement: u32, values: &[Bind<'_>], out: &mut Vec<u8>);

    /// Encodes the closing of a prepared statement. Returns false if the server sends no answer.
    fn close(&mut self, statement: u32, out: &mut Vec<u8>) -> bool;

    /// The server's error if it refused the login or ended the connection, after `receive` has
    /// failed. `None` if the server sent none.
    fn parting(&self) -> Option<&ServerError> {
        None
    }
}

/// A library's connection: each call blocks until the work is done. Errors of statements are in the
/// results.
pub trait Library: Answers + Send {
    /// Runs one or several statements, within `remaining`.
    ///
    /// # Errors
    /// The database is no longer usable.
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
