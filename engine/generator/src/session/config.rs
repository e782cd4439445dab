//! Configuration that a group's sessions share, and the sinks of their metrics and notices.

use crate::audit::log::Log;
use crate::audit::workload::Carrier;
use crate::metrics::group::GroupMetrics;
use crate::metrics::notice::Notices;
use crate::pacing::arrival_source::ArrivalSource;
use crate::pacing::replay::Replay;
use crate::pacing::think_time::ThinkTime;
use dyno_core::workload::{Request, Workload};

/// Configuration that all sessions of a group share. It does not change while load runs.
pub struct GroupConfig<'a> {
    /// Number of the group in the plan.
    pub group: usize,
    /// Open loop: the source of transactions. `None`: closed loop, each transaction follows the last answer.
    pub arrival_source: Option<&'a ArrivalSource>,
    /// Recorded sessions, if the workload is a replay.
    pub replay: Option<Replay<'a>>,
    /// Think times, if the group has any.
    pub think: Option<ThinkTime>,
    /// Maximum age of a transaction, in nanoseconds.
    pub deadline_ns: u64,
    /// Maximum number of attempts after the first.
    pub retries: u32,
    /// Seed of the plan.
    pub seed: u64,
    /// Source of the transactions.
    pub workload: &'a dyn Workload,
    /// Requests of the workload.
    pub requests: &'a [Request],
    /// Whether any request has an expectation of its answer.
    pub checks_answers: bool,
    /// Whether any request keeps its rows, so that transactions may have several stages.
    pub keeps_rows: bool,
    /// Which operations carry identities, if commits are audited.
    pub audit: Option<Carrier>,
    /// Whether the history is recorded.
    pub history: bool,
    /// Number of transactions that a session sends together; each is then one operation.
    pub pipeline: u32,
    /// Whether the workload defines pauses of its own.
    pub pauses: bool,
    /// Histogram of each statement, an index into [`GroupMetrics::classes`].
    pub class_of: Vec<u8>,
    /// Index of the first transaction kind in [`GroupMetrics::classes`], if the workload distinguishes kinds.
    pub first_kind: Option<usize>,
}

/// Destinations of a session's metrics and notices.
#[derive(Clone, Copy)]
pub struct Sinks<'a> {
    /// Number of the group.
    pub group: usize,
    /// The group's metrics on this thread.
    pub metrics: &'a GroupMetrics,
    /// Queue to the reporter.
    pub notices: &'a Notices,
    /// The thread's part of `audit.log` or `history.log`, if there is an audit.
    pub audit: Option<&'a Log>,
}
