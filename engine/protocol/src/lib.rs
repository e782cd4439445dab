//! Wire protocols as bytes, one folder or file a protocol: packets, numbers, fields and flags, read and
//! written. Drivers, captures and the null server share them; none of them keeps the state of a
//! connection here.

pub mod bytes;
pub mod mysql;
pub mod postgres;
pub mod resp;
