//! A protocol as a sans-I/O state machine: the common part of connections of workloads and of
//! scripts.

use crate::Result;
use crate::workload::rows::Rows;

/// Client side of a protocol, without I/O: the common part of a workload's connection
/// ([`Wire`](crate::driver::Wire)) and a script's ([`Client`](crate::driver::client::Client)).
///
/// Order of calls: `connected`, then `receive` until `Ready` (sending `out` whenever it is not
/// empty), then any number of (a request, `receive` until `Reply`). At most one request is in
/// flight; several operations of a workload with
/// [`Pipelining`](crate::request::capability::Capability::Pipelining), answered in their order.
pub trait WireProtocol: Send {
    /// Result of a request.
    type Reply;

    /// Whether TLS precedes the first byte of the protocol: the transport shakes hands at once, and
    /// calls [`tls_established`](Self::tls_established) instead of `connected`.
    fn begins_with_tls(&self) -> bool {
        false
    }

    /// The transport is connected; `secure_transport` is true on a Unix socket, over which the
    /// driver requests no TLS. `out`: bytes to send.
    fn connected(&mut self, secure_transport: bool, out: &mut Vec<u8>);

    /// The transport is now encrypted.
    fn tls_established(&mut self, out: &mut Vec<u8>);

    /// Reads from the front of `input`; returns the number of bytes consumed and their meaning.
    /// Returns at the first event, leaving later bytes unconsumed. Incomplete messages need not be
    /// consumed: the caller keeps them and calls again with more bytes appended.
    ///
    /// # Errors
    /// The connection is unusable; the error's kind distinguishes a lost connection from a refused
    /// login.
    fn receive(
        &mut self,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(usize, Progress<Self::Reply>)>;

    /// Whether a message is being received or skipped in pieces: more bytes must follow, and none
    /// of the message is in the input that `receive` left unconsumed.
    fn is_amid_message(&self) -> bool {
        false
    }

    /// How to make the server stop what this connection is doing, from another connection.
    fn cancel(&self) -> Cancel;

    /// Encodes the protocol's message that ends a connection, if it has one.
    fn quit(&mut self, out: &mut Vec<u8>);
}

/// What `receive` found in the bytes. `R`: result of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress<R = Reply> {
    /// Nothing complete yet; call again with more bytes.
    More,
    /// The server agreed to TLS: the transport must handshake now, then call
    /// [`WireProtocol::tls_established`]. No byte after the consumed ones may be left over.
    StartTls,
    /// Login and preparation are done; requests may be sent.
    Ready,
    /// The request in flight is answered.
    Reply(R),
    /// The server waits for bulk data: call [`Wire::bulk_data`](crate::driver::Wire::bulk_data)
    /// until [`Wire::bulk_end`](crate::driver::Wire::bulk_end).
    WantData,
}

/// Result of a request. Rows are counted, and built only for statements that keep them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    /// Rows returned.
    pub rows: u64,
    /// Rows changed, where the protocol says so.
    pub affected: u64,
    /// The server's refusal of this statement, if it refused.
    pub error: Option<Box<ServerError>>,
    /// The rows, of a statement that [keeps](crate::request::Request::keeps) them.
    pub kept: Rows,
}

/// A server's refusal of one statement: data, counted by code.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerError {
    /// The server's own code: `1213`, `40P01`, `SQLITE_BUSY`.
    pub code: String,
    /// The system's own number, where it has numbers (MySQL: 1213; SQLite: 5), else 0.
    pub number: u32,
    /// SQLSTATE, where it has one.
    pub state: String,
    /// The server's text.
    pub message: String,
    /// Whether running the whole transaction again may succeed (deadlock, serialization failure).
    pub retryable: bool,
    /// Whether the server has already rolled the whole transaction back.
    pub rolled_back: bool,
    /// Where the operation belongs instead, if a node of a cluster says so.
    pub redirect: Option<Redirect>,
}

/// A node's answer that another node of its cluster serves the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Redirect {
    /// Index of that node among the group's targets.
    pub node: usize,
    /// Whether an announcement must precede the operation: another node sent it there.
    pub asking: bool,
}

/// How a running statement is cancelled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cancel {
    /// Nothing but closing the connection.
    Close,
    /// Open a plain connection to the same address and send these bytes (PostgreSQL).
    Packet(Vec<u8>),
    /// Log in on another connection and run this statement (MySQL: `KILL 42`).
    Statement(String),
}
