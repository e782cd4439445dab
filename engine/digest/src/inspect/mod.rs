//! Parsers of binary files: MySQL and MariaDB binary logs, and network captures.

pub mod binlog;
pub mod capture;
