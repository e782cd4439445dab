//! Drivers: one file or folder a protocol. The list of them stands in [`DRIVERS`].

use dyno_core::driver::DriverKind;

pub mod mysql;
pub mod null;
pub mod postgres;
pub mod sqlite;

/// Every driver of this build, in the order of the reference.
pub static DRIVERS: &[&DriverKind] = &[&null::KIND, &sqlite::KIND, &mysql::KIND, &postgres::KIND];
