//! Logs of MySQL, MariaDB and Percona Server, and the parsers that several of them share.

pub(crate) mod binlog;
mod error_log;
pub(super) mod general;
mod general_entry;
mod server_opening;
pub(super) mod slow;
mod timestamp;
