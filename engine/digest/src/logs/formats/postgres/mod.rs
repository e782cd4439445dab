//! PostgreSQL's logs: lines (`stderr`), csvlog and jsonlog. The three have the same messages
//! ([`message`]), which [`sessions`] turns into events.
//!
//! No form can be read in parts independently: several messages may describe one statement, with
//! messages of other sessions between them (docs/decisions/postgres-logs-in-order.md).
//!
//! Source: PostgreSQL's manual, "Error Reporting and Logging" and "auto_explain"; logs of servers of
//! version 15. `forms/relayed_lines` reassembles lines that another program relayed.

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

/// The format of a log whose `log_line_prefix` is given.
pub(in crate::logs) fn of_lines(head: &[u8]) -> &'static FormatKind {
    if forms::cloudsql::has_entries(head) {
        &POSTGRES_CLOUDSQL
    } else if forms::syslog::has_lines(head) {
        &POSTGRES_SYSLOG
    } else {
        &POSTGRES_STDERR
    }
}
