//! Placeholder until the driver lands.

use dyno_core::driver::{Driver, DriverKind};
use dyno_core::error::{Error, Kind, Result};
use dyno_core::plan::Target;
use dyno_core::workload::{Dialect, Statement};
use std::sync::Arc;

/// The family member.
pub static KIND: DriverKind =
    DriverKind { name: "postgres", about: "not there yet", dialect: Dialect::Postgres, build };

fn build(_target: &Target, _statements: Arc<[Statement]>) -> Result<Box<dyn Driver>> {
    Err(Error::new(Kind::Plan, "driver postgres is not there yet"))
}
