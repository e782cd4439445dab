//! Drivers: one file or folder a protocol. The list of them stands in [`DRIVERS`].

use dyno_core::driver::DriverKind;

mod allowance;
pub mod files;
mod guard;
pub mod mysql;
pub mod null;
mod policy;
pub mod postgres;
pub mod redis;
mod results;
mod slots;
pub mod sqlite;
mod tasks;
mod tsv;

/// Every driver of this build, in the order of the reference.
pub static DRIVERS: &[&DriverKind] =
    &[&null::KIND, &sqlite::KIND, &files::KIND, &mysql::KIND, &postgres::KIND, &redis::KIND];
