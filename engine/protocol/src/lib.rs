//! Wire protocols, one folder or file per protocol: readers and writers of packets, numbers, fields
//! and flags. Drivers, captures and the null server share them; connection state belongs to the
//! callers.

pub mod bytes;
pub mod mysql;
pub mod postgres;
pub mod resp;
