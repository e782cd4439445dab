//! From a plan to what runs it: checks, then workloads, drivers, statements and sessions.

pub(crate) mod build;
pub mod check;
pub mod examples;
