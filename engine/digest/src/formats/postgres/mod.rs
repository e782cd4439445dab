//! PostgreSQL's logs: lines (`stderr`), csvlog and jsonlog. The three tell the same messages
//! ([`message`]), which become events in one place ([`sessions`]).
//!
//! None is read in parts apart from each other: what tells of one statement may be several messages,
//! with other sessions' between them (docs/decisions/postgres-logs-in-order.md).
//!
//! Source: PostgreSQL's manual, "Error Reporting and Logging" and "auto_explain"; logs of servers of
//! version 15. Lines that came by another way are put together in [`wrapped`].

mod cloudsql;
mod csv;
mod infer;
mod jsonlog;
mod lines;
mod message;
pub(super) mod moment;
mod plan;
mod prefix;
mod sessions;
mod state;
mod stderr;
mod syslog;
mod words;
mod wrapped;

#[cfg(test)]
mod tests;

use crate::format::FormatKind;

pub(super) use cloudsql::POSTGRES_CLOUDSQL;
pub(super) use csv::POSTGRES_CSV;
pub(super) use jsonlog::POSTGRES_JSON;
pub(super) use stderr::POSTGRES_STDERR;
pub(super) use syslog::POSTGRES_SYSLOG;

/// The form of a log whose `log_line_prefix` is given.
pub(super) fn of_lines(head: &[u8]) -> &'static FormatKind {
    if cloudsql::has_entries(head) {
        &POSTGRES_CLOUDSQL
    } else if syslog::has_lines(head) {
        &POSTGRES_SYSLOG
    } else {
        &POSTGRES_STDERR
    }
}
