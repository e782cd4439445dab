//! PostgreSQL's logs: lines (`stderr`), csvlog and jsonlog. The three tell the same messages
//! ([`message`]), which become events in one place ([`sessions`]).
//!
//! None is read in parts apart from each other: what tells of one statement may be several messages,
//! with other sessions' between them (docs/decisions/postgres-logs-in-order.md).
//!
//! Source: PostgreSQL's manual, "Error Reporting and Logging" and "auto_explain"; logs of servers of
//! version 15. Lines that came by another way are put together in [`wrapped`].

mod forms;
mod lines;
mod lock_waits;
mod message;
mod plan;
mod prefix;
mod sessions;
mod state;
pub(super) mod timestamp;
mod words;

#[cfg(test)]
mod tests;

use crate::logs::format::FormatKind;

pub(super) use forms::cloudsql::POSTGRES_CLOUDSQL;
pub(super) use forms::csv::POSTGRES_CSV;
pub(super) use forms::jsonlog::POSTGRES_JSON;
pub(super) use forms::stderr::POSTGRES_STDERR;
pub(super) use forms::syslog::POSTGRES_SYSLOG;

/// The form of a log whose `log_line_prefix` is given.
pub(in crate::logs) fn of_lines(head: &[u8]) -> &'static FormatKind {
    if forms::cloudsql::has_entries(head) {
        &POSTGRES_CLOUDSQL
    } else if forms::syslog::has_lines(head) {
        &POSTGRES_SYSLOG
    } else {
        &POSTGRES_STDERR
    }
}
