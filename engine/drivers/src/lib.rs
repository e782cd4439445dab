//! Drivers: one file or folder a protocol. The list of them stands in [`DRIVERS`]; those that
//! scripts can use too stand in [`CLIENTS`].

use dyno_core::client::ClientKind;
use dyno_core::driver::DriverKind;

mod allowance;
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
    &[&null::KIND, &sqlite::KIND, &mysql::KIND, &postgres::KIND, &redis::KIND];

/// Every system that scripts can talk to.
pub static CLIENTS: &[&ClientKind] =
    &[&mysql::client::CLIENT, &postgres::client::CLIENT, &sqlite::client::CLIENT];
