//! Workloads, one file or folder each. [`WORKLOADS`] lists them.

use dyno_core::workload::WorkloadKind;

pub mod append;
pub mod bank;
mod choice;
mod digits;
mod evenly;
mod generator;
pub mod io;
pub mod kv;
pub mod mix;
mod node;
pub mod oltp;
mod options;
pub mod register;
pub mod replay;
pub mod tables;
pub mod tpcc;

/// All workloads of this build, in the order of the reference manual.
pub static WORKLOADS: &[&WorkloadKind] = &[
    &oltp::KIND,
    &mix::KIND,
    &kv::KIND,
    &io::KIND,
    &tables::KIND,
    &tpcc::KIND,
    &register::KIND,
    &append::KIND,
    &bank::KIND,
    &replay::KIND,
];
