//! Audit of commits: transactions that write carry an identity into table [`TABLE`], in the same
//! transaction (where writes commit by themselves, into a list of the driver's, in the same step), and the outcome that the client saw goes to `audit.log`. `dyno` reads both afterwards.

pub mod log;
pub mod workload;

/// The table of identities, in the schema of the load; `dyno` creates it.
pub const TABLE: &str = "dbdyno_audit";
