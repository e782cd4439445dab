//! Logs of MySQL, MariaDB and Percona Server, and what several of them have in common.

pub(crate) mod binlog;
mod error_log;
pub(super) mod general;
mod general_entry;
mod server_opening;
pub(super) mod slow;
mod timestamp;
