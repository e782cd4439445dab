//! The log formats, one file or folder each.

use crate::logs::format::FormatKind;

mod capture;
mod json;
mod mongodb;
pub(crate) mod mysql;
pub(crate) mod postgres;

/// All formats, in the order of detection.
pub const FORMATS: &[FormatKind] = &[
    capture::MYSQL_CAPTURE,
    capture::POSTGRES_CAPTURE,
    mysql::binlog::MYSQL_BINLOG,
    mysql::general::MYSQL_GENERAL,
    mysql::slow::MYSQL_SLOW,
    mongodb::MONGODB,
    postgres::POSTGRES_CSV,
    postgres::POSTGRES_JSON,
    postgres::POSTGRES_CLOUDSQL,
    // Before the stderr format, which would infer a prefix for syslog's lines.
    postgres::POSTGRES_SYSLOG,
    postgres::POSTGRES_STDERR,
];
