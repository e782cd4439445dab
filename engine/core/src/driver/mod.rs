//! How requests reach a system: a protocol as a sans-I/O state machine ([`Wire`]), or a library
//! call in this process ([`Blocking`]).
//!
//! A [`WireProtocol`] never touches a socket: `dyno-generator` owns the transport (TCP, Unix
//! socket, TLS), the clock and the waiting; the driver only encodes requests and decodes replies.
//! Every driver can therefore be tested byte by byte, and one worker drives thousands of sessions.
//! All connections share `WireProtocol`; [`Wire`] adds the requests of workloads, and
//! [`Client`](crate::driver::client::Client) adds those of scripts.

pub mod client;
pub mod needs;
pub mod protocol;

use crate::driver::client::Clients;
use crate::error::{Error, Kind, Result};
use crate::plan::Target;
use crate::request::FileSet;
use crate::request::capability::Capability;
use crate::workload::{Dialect, Op, Request, RowSink, Table, Transaction};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use crate::driver::protocol::{Cancel, Progress, Redirect, Reply, ServerError, WireProtocol};

/// A protocol or library that the engine can drive.
pub struct DriverKind {
    /// Name in plans.
    pub name: &'static str,
    /// Description for the reference, one line.
    pub about: &'static str,
    /// Kinds of requests that it supports.
    pub capabilities: &'static [Capability],
    /// SQL dialect for workloads.
    pub dialect: Dialect,
    /// Keys allowed in a target's `options`, for the reference. `build` refuses any other key.
    pub options: &'static [DriverOption],
    /// Name and version of a library linked into this binary, such as "SQLite 3.50.4".
    pub library: fn() -> Option<String>,
    /// Builds a driver for one target and one list of requests, shared by all sessions. Its error
    /// names the invalid field of the target.
    pub build: BuildDriver,
    /// Binds the driver to a target for scripts, whose statements are not known in advance. `None`
    /// if the driver does not support scripts.
    pub clients: Option<BuildClients>,
    /// Builds the drivers of targets that are nodes of one cluster, over which clients route their
    /// operations. `None` if the protocol has no such clusters.
    pub routed: Option<BuildRouted>,
}

/// One of a driver's options.
pub struct DriverOption {
    /// Its name in plans.
    pub name: &'static str,
    /// Accepted values and their meaning.
    pub about: &'static str,
    /// The default, as JSON text.
    pub default: &'static str,
}

/// Binds a driver to a target and to the requests of a group.
pub type BuildDriver = fn(target: &Target, requests: Arc<[Request]>) -> Result<Box<dyn Driver>>;

/// Binds a driver to a target for scripts. Its error names the invalid field of the target.
pub type BuildClients = fn(target: &Target) -> Result<Clients>;

/// Binds a driver to all nodes of a cluster. `Ok(None)`: the targets are not nodes of a cluster. Its
/// error names the invalid field of a target.
pub type BuildRouted = fn(targets: &[Target], requests: Arc<[Request]>) -> Result<Option<Routed>>;

/// The nodes of a cluster, in the order of the targets.
pub struct Routed {
    /// Driver of each node.
    pub drivers: Vec<Box<dyn Driver>>,
    /// Which of them serves what.
    pub router: Box<dyn Router>,
}

/// What clients of a cluster know of it. All sessions of a group share it; drivers update it by what
/// the nodes say.
pub trait Router: Send + Sync {
    /// Index of the node that serves operation `op` of `tx`, as far as is known.
    fn node_of(&self, op: &Op, tx: &Transaction) -> usize;

    /// Whether the node serves anything, as far as is known.
    fn is_used(&self, node: usize) -> bool;

    /// A node does not answer: its operations may have moved to another one, which the next
    /// conversation with any node finds out.
    fn doubt(&self);
}

/// A driver bound to a target and to the requests of one group. Shared by all workers.
pub trait Driver: Send + Sync {
    /// Creates a session's state; for a wire it opens no transport.
    fn session(&self, session: u32) -> Result<Session>;

    /// Whether the system works in this process, so that its CPU time cannot be separated from the
    /// generator's (sqlite).
    fn in_process(&self) -> bool {
        false
    }

    /// The load has ended: blocking calls in progress must return soon, with any error. Their
    /// results no longer count.
    fn stop(&self) {}
}

/// One connection, of one of three kinds.
pub enum Session {
    /// Bytes over a transport that the worker owns; one worker drives many sessions.
    Wire(Box<dyn Wire>),
    /// Blocking calls; one OS thread per session.
    Blocking(Box<dyn Blocking>),
    /// No system: a formula computes the answers (null driver, simulations).
    Timed(Box<dyn Timed>),
}

/// Work of a session other than requests and rows. Each driver implements it with its own
/// statements.
#[derive(Debug, Clone, Copy)]
pub enum Task<'a> {
    /// Rolls back the open transaction.
    Rollback,
    /// Creates an empty table, which must not exist yet.
    Create(&'a Table),
    /// Precedes one session's rows for the whole table, which is empty and private to the run.
    BeginLoad(&'a Table),
    /// Follows the last row after `BeginLoad`.
    EndLoad(&'a Table),
    /// Runs the table's `finish` statement with this index.
    Finish(&'a Table, usize),
    /// Counts the table's rows; the count is the first value of the [first row](Wire::first_row).
    Count(&'a Table),
}

/// Wording in messages.
impl fmt::Display for Task<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rollback => f.write_str("to roll back"),
            Self::Create(table) => write!(f, "\"{:.200}\"", table.create),
            Self::BeginLoad(table) => write!(f, "to begin loading table {}", table.name),
            Self::EndLoad(table) => write!(f, "to end loading table {}", table.name),
            Self::Finish(table, number) => write!(f, "\"{:.200}\"", table.finish[*number]),
            Self::Count(table) => write!(f, "to count the rows of table {}", table.name),
        }
    }
}

/// The requests of a workload over a [`WireProtocol`]: `request`, `task`, `query` or `bulk`.
pub trait Wire: WireProtocol<Reply = Reply> {
    /// Encodes operation `op` of `tx`, which is in the group's list of requests.
    fn request(&mut self, op: &Op, tx: &Transaction, out: &mut Vec<u8>);

    /// Encodes what must precede an operation that another node of the cluster has sent here. It has
    /// no reply of its own.
    fn asking(&mut self, _out: &mut Vec<u8>) {}

    /// Encodes a question about the cluster, if its [`Router`] is in doubt. It has no reply of its
    /// own, and an operation may follow it at once.
    fn look_up(&mut self, _out: &mut Vec<u8>) {}

    /// Encodes a task, answered by a `Reply`. Returns false if this system has nothing to do for
    /// the task and sends no answer.
    fn task(&mut self, task: Task<'_>, out: &mut Vec<u8>) -> bool;

    /// Encodes a statement given as text, outside the group's list (replay, control).
    fn query(&mut self, sql: &str, out: &mut Vec<u8>);

    /// Starts a bulk load into `table` (`columns`, key first), answered by `WantData`.
    fn bulk(&mut self, table: &str, columns: &[&str], out: &mut Vec<u8>);

    /// Appends `rows`, in the protocol's bulk format, to `out` and adds the framing.
    fn bulk_data(&mut self, rows: &[u8], out: &mut Vec<u8>);

    /// Ends the bulk load; the answer is a `Reply` whose `affected` counts the rows.
    fn bulk_end(&mut self, out: &mut Vec<u8>);

    /// The first row, as text, of the last reply to a `query` or `task` (counts, versions); not of
    /// a `request`.
    fn first_row(&self) -> &[Option<String>];
}

/// A library's session: each call blocks until the work is done.
pub trait Blocking: Send {
    /// Runs operation `op` of `tx`, for at most `remaining` (until the transaction's deadline).
    /// After that it returns an error with the code `deadline`.
    fn execute(&mut self, op: &Op, tx: &Transaction, remaining: Duration) -> Result<Reply>;

    /// Carries out a task and returns its first row as text.
    fn task(&mut self, task: Task<'_>) -> Result<Vec<Option<String>>>;

    /// Runs a statement given as text and returns at most the first row, as text. For SQL libraries
    /// only.
    fn query(&mut self, _sql: &str) -> Result<Vec<Option<String>>> {
        Err(not_capable(Capability::Sql))
    }

    /// Loads the rows that `fill` writes into the sink into `table`, in one transaction. Returns
    /// the number of rows loaded. For SQL libraries only.
    fn bulk(
        &mut self,
        _table: &str,
        _columns: &[&str],
        _fill: &mut dyn FnMut(&mut dyn RowSink),
    ) -> Result<u64> {
        Err(not_capable(Capability::Sql))
    }

    /// Creates the files of `set` and fills them with random bytes derived from `seed`; calls
    /// `told` with the number of bytes just written. Returns the total bytes. An existing file is
    /// an error and stays unchanged. For file systems only.
    fn create_files(
        &mut self,
        _set: &FileSet,
        _seed: u64,
        _told: &mut dyn FnMut(u64),
    ) -> Result<u64> {
        Err(not_capable(Capability::Io))
    }
}

/// The error for a request that the driver's capabilities do not include; `needs::check` refuses it
/// earlier.
fn not_capable(capability: Capability) -> Error {
    Error::new(Kind::Plan, format!("this driver does not have {}", capability.name()))
}

/// A system that exists only as a formula: the answer is known when the request is made, and due
/// after a delay. The worker owns the clock, so that both simulated and real time work.
pub trait Timed: Send {
    /// Returns the delay and the answer of operation `op` of `tx`, sent `t_s` seconds after the
    /// start of the measured phase (negative in the warm-up).
    fn execute(&mut self, op: &Op, tx: &Transaction, t_s: f64) -> (Duration, Reply);
}
