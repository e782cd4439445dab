//! Reads MySQL's and MariaDB's binary logs: statements with their numbers of rows, and transactions
//! with the order information for replicas. The format `mysql-binlog` and `parallelism` use it.
//!
//! The reader does not decode the values of row events. It counts the rows per table and, if the log
//! describes primary keys, hashes the key of each row.
//!
//! Source: MySQL source documentation, "Binlog Event"; MySQL internals manual, "Binary Log"; MariaDB
//! knowledge base, "Replication Protocol". Seen from MariaDB 10.11, 11.8 and MySQL 9.

mod changes;
mod event;
mod gtid;
mod header;
mod packed;
mod query;
mod reader;
mod table;
#[cfg(test)]
mod tests;

pub use event::{Items, KEYS_MAX, Order, Statement, Transaction};
pub use header::{HEADER, Header, MAGIC, MAGIC_ENCRYPTED, checksum};
pub use reader::Reader;
