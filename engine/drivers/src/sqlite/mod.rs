//! SQLite, linked into this process: one connection and one OS thread per session.
//!
//! Writing transactions begin with `BEGIN IMMEDIATE`, so that they take the lock where waiting is
//! safe; a deferred transaction that writes later may find its snapshot outdated, and waiting would
//! not help. Settings (journal mode, synchronous, cache) are pragmas in the target's `session_sql`.
//! A run opens an existing file only; loading creates it.
//!
//! Sources: SQLite's C/C++ interface (result codes, `sqlite3_progress_handler`), "Transactions",
//! "Write-Ahead Logging".

mod client;
mod connection;
mod errors;
mod session;
#[cfg(test)]
mod tests;
mod text;
mod wait;

use crate::guard;
use dyno_core::driver::{Driver, DriverKind, DriverOption, Session};
use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::{Address, Options, Protocol, Target, Tls};
use dyno_core::request::capability::Capability;
use dyno_core::request::{Request, in_sql};
use dyno_core::workload::Dialect;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wait::Waiters;

/// The driver's description.
pub static KIND: DriverKind = DriverKind {
    name: "sqlite",
    about: "SQLite in this process, a thread a session",
    capabilities: Capability::OF_SQL,
    dialect: Dialect::Sqlite,
    options: &[
        DriverOption {
            name: "busy_timeout_ms",
            about: "how long a statement waits for another session's lock, 0 to 3600000",
            default: "5000",
        },
        DriverOption {
            name: "create",
            about: "whether a missing file is made; loading always makes it",
            default: "false",
        },
    ],
    library: || Some(format!("SQLite {}", rusqlite::version())),
    build,
    clients: Some(client::build),
    routed: None,
};

/// Longest accepted `busy_timeout_ms`: one hour, as the longest latency of a histogram.
const BUSY_TIMEOUT_MS_MAX: u64 = 3_600_000;

/// What all sessions of a group, or all connections of scripts, share.
struct Sqlite {
    path: PathBuf,
    /// Whether a missing file is created (loading) or refused (running).
    create: bool,
    busy_timeout: Duration,
    waiters: Arc<Waiters>,
    /// The load has ended: every call returns soon.
    is_stopped: Arc<AtomicBool>,
    protocol: Protocol,
    /// Statements that open a session; in a read-only session the guard's two come last.
    session_sql: Vec<String>,
    read_only: bool,
    statements: Arc<[Request]>,
}

/// The file of a target, which must have no fields that SQLite cannot use.
fn file_of(target: &Target) -> Result<PathBuf> {
    let Address::File(path) = &target.address else {
        return Err(Error::new(Kind::Plan, "a sqlite target needs the path of a file")
            .hint("give address: {\"file\": PATH}"));
    };
    if target.tls != Tls::Off {
        return Err(Error::new(Kind::Plan, "a sqlite target has no connection to encrypt")
            .hint("leave out tls"));
    }
    // Absolute, since SQLite treats `:memory:`, `file:...` and the empty name specially.
    std::path::absolute(path).map_err(|error| {
        Error::new(Kind::Plan, format!("{} is not a path of a file: {error}", path.display()))
    })
}

fn build(target: &Target, requests: Arc<[Request]>) -> Result<Box<dyn Driver>> {
    Ok(Box::new(Sqlite::of(target, false, requests)?))
}

impl Sqlite {
    /// Checks `target`. `create`: the default of the option.
    fn of(target: &Target, create: bool, requests: Arc<[Request]>) -> Result<Self> {
        let path = file_of(target)?;
        let (busy_timeout, create) = read_options(&target.options, create)?;
        Ok(Self {
            path,
            create,
            busy_timeout,
            waiters: Arc::default(),
            is_stopped: Arc::default(),
            protocol: target.protocol,
            session_sql: guard::SQLITE.statements(target),
            read_only: target.read_only,
            statements: in_sql(requests),
        })
    }
}

/// `create`: the default of the option.
fn read_options(options: &Options, mut create: bool) -> Result<(Duration, bool)> {
    let mut busy_timeout_ms = 5000;
    for (name, value) in options {
        let wrong = |allowed: &str| {
            Error::new(Kind::Plan, format!("option {name} of a sqlite target is {value}"))
                .hint(allowed)
        };
        match name.as_str() {
            "busy_timeout_ms" => {
                busy_timeout_ms =
                    value.as_u64().filter(|ms| *ms <= BUSY_TIMEOUT_MS_MAX).ok_or_else(|| {
                        wrong(&format!("a whole number from 0 to {BUSY_TIMEOUT_MS_MAX}"))
                    })?;
            }
            "create" => create = value.as_bool().ok_or_else(|| wrong("true or false"))?,
            _ => {
                return Err(Error::new(
                    Kind::Plan,
                    format!("a sqlite target has no option {name}"),
                )
                .hint("its options are busy_timeout_ms, create"));
            }
        }
    }
    Ok((Duration::from_millis(busy_timeout_ms), create))
}

impl Driver for Sqlite {
    fn session(&self, _session: u32) -> Result<Session> {
        Ok(Session::Blocking(Box::new(session::SqliteSession::open(self)?)))
    }

    fn in_process(&self) -> bool {
        true
    }

    fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }
}
