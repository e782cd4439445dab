//! Audits. Of commits: transactions that write carry an identity into table [`TABLE`], in the same
//! transaction (where writes commit by themselves, into a list of the driver's, in the same step),
//! and the outcome that the client saw goes to `audit.log`. Of consistency: what each attempt read
//! and wrote goes to `history.log`. `dyno` reads the logs afterwards.

pub mod history;
pub mod log;
pub mod workload;

/// The table of identities, in the schema of the load; `dyno` creates it.
pub const TABLE: &str = "dbdyno_audit";
