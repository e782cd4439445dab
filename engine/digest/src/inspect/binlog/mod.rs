//! MySQL's and MariaDB's binary log, read directly: statements with their rows, and transactions with
//! what a replica may know of their order. Shared by the format `mysql-binlog` and by `parallelism`.
//!
//! Row events are not decoded into values: how many rows there are, in which table, and (where the log
//! says which columns are the key) a hash of each row's key is all that is wanted.
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
