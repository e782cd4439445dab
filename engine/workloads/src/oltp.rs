//! Placeholder until the workload lands.

use dyno_core::error::{Error, Kind};
use dyno_core::workload::WorkloadKind;

/// The family member.
pub static KIND: WorkloadKind = WorkloadKind {
    name: "oltp",
    about: "not there yet",
    build: |_, _, _| Err(Error::new(Kind::Plan, "oltp is not there yet")),
};
