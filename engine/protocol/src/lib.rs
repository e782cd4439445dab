//! Wire protocols as bytes, one folder a protocol: packets, numbers, fields and flags, read and
//! written. Drivers, captures and the null server share them; none of them keeps state here.

pub mod bytes;
pub mod mysql;
pub mod postgres;
