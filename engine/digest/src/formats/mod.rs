//! The log formats, one file or folder each.

use crate::format::FormatKind;

mod capture;
mod choice;
mod json;
mod mongodb;
mod mysql_binlog;
mod mysql_error;
mod mysql_general;
mod mysql_opening;
mod mysql_slow;
mod mysql_time;
mod postgres;
mod unread;

pub(crate) use choice::format_of;
pub(crate) use mysql_binlog::with_event;

/// All formats, in the order in which they are asked whether a log is theirs.
pub const FORMATS: &[FormatKind] = &[
    capture::MYSQL_CAPTURE,
    capture::POSTGRES_CAPTURE,
    mysql_binlog::MYSQL_BINLOG,
    mysql_general::MYSQL_GENERAL,
    mysql_slow::MYSQL_SLOW,
    mongodb::MONGODB,
    postgres::POSTGRES_CSV,
    postgres::POSTGRES_JSON,
    postgres::POSTGRES_CLOUDSQL,
    // Before the lines themselves, whose prefix is found out.
    postgres::POSTGRES_SYSLOG,
    postgres::POSTGRES_STDERR,
];
