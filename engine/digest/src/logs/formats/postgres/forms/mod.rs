//! The forms of a log: PostgreSQL's own, and those of programs that relay it.

pub mod cloudsql;
pub mod csv;
pub mod jsonlog;
mod relayed_lines;
pub mod stderr;
pub mod syslog;
