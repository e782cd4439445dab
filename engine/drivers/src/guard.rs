//! Read-only sessions: the statements that follow the user's session statements, so that none of
//! those can override them, and the value that the server must return when it is asked for the
//! mode.
//!
//! Sources: MySQL 8.4 and MariaDB manuals ("SET TRANSACTION"; `tx_read_only` is the older name of
//! `transaction_read_only`, and MariaDB 10 knows no other); PostgreSQL 17's ("SET TRANSACTION",
//! `transaction_read_only`); SQLite's ("PRAGMA query_only").

use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::Target;

/// Maximum length of a server's value in a message, characters.
const VALUE_CHARS_MAX: usize = 64;

/// How one system makes a session read-only.
#[derive(Debug)]
pub(crate) struct Guard {
    /// Statements to send; the last one sets the read-only mode.
    set: &'static [&'static str],
    ask: &'static str,
    /// Expected value of the last column in the first row.
    holds: &'static str,
}

pub(crate) static MYSQL: Guard = Guard {
    set: &[
        // From then on the server reports changes of the mode. '*' avoids the variable's name:
        // MariaDB rejects names that it does not know.
        "SET SESSION session_track_system_variables = '*'",
        "SET SESSION TRANSACTION READ ONLY",
    ],
    ask: "SHOW SESSION VARIABLES WHERE Variable_name IN ('tx_read_only', 'transaction_read_only')",
    holds: "ON",
};
pub(crate) static POSTGRES: Guard = Guard {
    set: &["SET default_transaction_read_only = on"],
    // Reports the mode of the current transaction: a new one, unless a session statement left one
    // open.
    ask: "SHOW transaction_read_only",
    holds: "on",
};
pub(crate) static SQLITE: Guard =
    Guard { set: &["PRAGMA query_only = 1"], ask: "PRAGMA query_only", holds: "1" };

impl Guard {
    /// All statements that open a session: `session_sql`, then the guard's and its query if
    /// `read_only`.
    pub fn statements(&self, target: &Target) -> Vec<String> {
        let mut all = target.session_sql.clone();
        if target.read_only {
            all.extend(self.set.iter().chain([&self.ask]).map(|&sql| sql.to_owned()));
        }
        all
    }

    /// Checks the server's reply to the query.
    ///
    /// # Errors
    /// [`Kind::Plan`]: the session is not read-only.
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

/// A session statement began a transaction, so the guard comes too late.
pub(crate) fn left_open(place: &str) -> Error {
    lifted(place, "a session statement has left a transaction open")
}

/// A statement of the workload ended the read-only mode.
pub(crate) fn by_a_statement(place: &str) -> Error {
    lifted(place, "a statement has lifted it, by a function")
}

/// The error of a session that could write.
fn lifted(place: &str, why: &str) -> Error {
    Error::new(Kind::Plan, format!("{place} does not keep this session from writing: {why}"))
        .hint("leave statements about transactions out of the target's `session:`")
}
