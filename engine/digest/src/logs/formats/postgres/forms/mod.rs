//! The forms in which PostgreSQL and those who pass its log on write messages.

pub mod cloudsql;
pub mod csv;
pub mod jsonlog;
mod relayed_lines;
pub mod stderr;
pub mod syslog;
