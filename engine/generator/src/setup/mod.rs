//! Setup of a plan: validation, then workloads, drivers, statements and sessions.

pub(crate) mod build;
pub mod check;
pub mod examples;
