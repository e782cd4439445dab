//! Drivers: one file or folder per protocol. [`DRIVERS`] lists them.

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

/// All drivers of this build, in the order of the reference.
pub static DRIVERS: &[&DriverKind] =
    &[&null::KIND, &sqlite::KIND, &files::KIND, &mysql::KIND, &postgres::KIND, &redis::KIND];
