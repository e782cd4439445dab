//! A protocol's client side for statements that nobody knows beforehand, as scripts send them: what
//! [`Wire`](crate::driver::Wire) is for workloads. Answers are kept, and taken apart only when asked.
//!
//! A `Client` is sans-I/O like a `Wire`: whoever drives it owns socket, TLS, clock and waiting.

use crate::Result;
use crate::driver::Cancel;
use crate::plan::Target;
use std::time::Duration;

/// A family member: a system that scripts can talk to.
pub struct ClientKind {
    /// Its name among drivers: `mysql`, `postgres`, `sqlite`.
    pub name: &'static str,
    /// Binds it to a target; says which field of the target is wrong.
    pub build: fn(target: &Target) -> Result<Box<dyn Clients>>,
}

/// A system bound to a target. Shared by all sessions.
pub trait Clients: Send + Sync {
    /// A new connection's state; opens nothing by itself when it is a wire.
    ///
    /// # Errors
    /// A library that cannot be opened.
    fn client(&self) -> Result<Nature>;
}

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
    pub error: Option<Box<Refused>>,
}

/// A server's refusal of one statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The system's own number, where it has numbers (MySQL: 1213; SQLite: 5), else 0.
    pub number: u32,
    /// SQLSTATE, where it has one.
    pub state: String,
    /// Its text.
    pub message: String,
}

/// What the last request came to. Valid until the next one.
pub trait Answers {
    /// All its results; at least one.
    fn answers(&self) -> &[Answer];

    /// Hands over row `row` (0-based) of result `answer`, field by field as text; `None` is NULL.
    ///
    /// # Errors
    /// Bytes that are no row.
    fn fetch(&self, answer: usize, row: u64, put: &mut dyn FnMut(Option<&[u8]>)) -> Result<()>;

    /// The statement just prepared, as `execute` and `close` name it, and its number of parameters.
    fn prepared(&self) -> (u32, u16);
}

/// What `receive` found in the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// Nothing complete yet; call again with more bytes.
    More,
    /// The server agreed to TLS: handshake now, then call [`Client::tls_established`].
    StartTls,
    /// Login is done; requests may be sent.
    Ready,
    /// The request in flight is answered, with all its results.
    Answered,
}

/// One connection's side of a protocol, without I/O. Order of calls as for
/// [`Wire`](crate::driver::Wire): one request in flight at most. An `Err` from `receive` means that
/// the connection is useless; its kind tells a lost connection from a refused login.
pub trait Client: Answers + Send {
    /// The transport is connected; `secure_transport` is true on a Unix socket.
    fn connected(&mut self, secure_transport: bool, out: &mut Vec<u8>);

    /// The transport is now encrypted.
    fn tls_established(&mut self, out: &mut Vec<u8>);

    /// Encodes one or, where the protocol has it, several statements.
    fn query(&mut self, sql: &[u8], out: &mut Vec<u8>);

    /// Encodes the preparation of a statement; `?` marks its parameters in any dialect.
    fn prepare(&mut self, sql: &[u8], out: &mut Vec<u8>);

    /// Encodes the execution of a prepared statement with one value a parameter.
    fn execute(&mut self, statement: u32, values: &[Bind<'_>], out: &mut Vec<u8>);

    /// Encodes the end of a prepared statement. False: the server does not answer that.
    fn close(&mut self, statement: u32, out: &mut Vec<u8>) -> bool;

    /// Reads from the front of `input`; returns how many bytes it consumed and what they meant.
    ///
    /// # Errors
    /// The connection is lost or broken, or the login was refused.
    fn receive(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Said)>;

    /// Whether a message is being taken in pieces, of which more must come at once: none of it is in
    /// what `receive` has left.
    fn is_amid_message(&self) -> bool {
        false
    }

    /// What the server itself said when it refused the login or ended the connection, once `receive`
    /// has failed. None: nothing.
    fn parting(&self) -> Option<&Refused> {
        None
    }

    /// How to make the server stop what this connection is doing, from another connection.
    fn cancel(&self) -> Cancel;

    /// A polite farewell, where the protocol has one.
    fn quit(&mut self, out: &mut Vec<u8>);
}

/// A library's connection: each call returns when the work is done. Refusals are in the answer.
pub trait Library: Answers + Send {
    /// Runs one or several statements, within `remaining`.
    ///
    /// # Errors
    /// The database is of no more use.
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

    /// Ends a prepared statement.
    fn close(&mut self, statement: u32);
}
