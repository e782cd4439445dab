//! Workloads: one file each. The list of them stands in [`WORKLOADS`].

use dyno_core::workload::WorkloadKind;

pub mod oltp;

/// Every workload of this build, in the order of the reference.
pub static WORKLOADS: &[&WorkloadKind] = &[&oltp::KIND];
