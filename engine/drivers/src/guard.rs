//! Sessions that must not write: what a server is told after the user's session statements, so that
//! none of them has the last word, and what it must answer when it is asked whether that holds.
//!
//! Sources: MySQL 8.4 and MariaDB manuals ("SET TRANSACTION"; `tx_read_only` is the older name of
//! `transaction_read_only`, and MariaDB 10 knows no other); PostgreSQL 17's ("SET TRANSACTION",
//! `transaction_read_only`); SQLite's ("PRAGMA query_only").

use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::Target;

/// How much of a server's answer a message repeats.
const VALUE_CHARS_MAX: usize = 64;

/// How one system keeps a session from writing.
#[derive(Debug)]
pub(crate) struct Guard {
    /// What is said; the last one is the guard itself.
    set: &'static [&'static str],
    ask: &'static str,
    /// The last column of the first row, where it holds.
    holds: &'static str,
}

pub(crate) static MYSQL: Guard = Guard {
    set: &[
        // From then on the server tells when it is lifted. By name would need the right one: MariaDB
        // refuses names that it does not know.
        "SET SESSION session_track_system_variables = '*'",
        "SET SESSION TRANSACTION READ ONLY",
    ],
    ask: "SHOW SESSION VARIABLES WHERE Variable_name IN ('tx_read_only', 'transaction_read_only')",
    holds: "ON",
};
pub(crate) static POSTGRES: Guard = Guard {
    set: &["SET default_transaction_read_only = on"],
    // Of the transaction that asks, which is a new one unless a statement before has left one open.
    ask: "SHOW transaction_read_only",
    holds: "on",
};
pub(crate) static SQLITE: Guard =
    Guard { set: &["PRAGMA query_only = 1"], ask: "PRAGMA query_only", holds: "1" };

impl Guard {
    /// All that a session runs first: the last two are the guard's, where there is to be one.
    pub fn statements(&self, target: &Target) -> Vec<String> {
        let mut all = target.session_sql.clone();
        if target.read_only {
            all.extend(self.set.iter().chain([&self.ask]).map(|&sql| sql.to_owned()));
        }
        all
    }

    /// Whether the server's answer says that the session cannot write.
    pub fn check(&self, place: &str, row: &[Option<String>]) -> Result<()> {
        match row.last().and_then(Option::as_deref) {
            Some(value) if value == self.holds => Ok(()),
            Some(value) => Err(lifted(
                place,
                &format!("it answers `{value:.VALUE_CHARS_MAX$}` to `{}`", self.ask),
            )),
            None => Err(lifted(place, &format!("it answers nothing to `{}`", self.ask))),
        }
    }
}

/// A session statement has begun a transaction, for which the guard comes too late.
pub(crate) fn left_open(place: &str) -> Error {
    lifted(place, "a session statement has left a transaction open")
}

/// A statement of a session at work has lifted the guard.
pub(crate) fn by_a_statement(place: &str) -> Error {
    lifted(place, "a statement has lifted it, by a function")
}

/// The session could write.
fn lifted(place: &str, why: &str) -> Error {
    Error::new(Kind::Plan, format!("{place} does not keep this session from writing: {why}"))
        .hint("leave statements about transactions out of the target's `session:`")
}
