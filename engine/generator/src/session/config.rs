//! What a session is told of its group, and where its numbers and news go.

use crate::metrics::group::GroupMetrics;
use crate::metrics::notice::Notices;
use crate::pacing::arrival_source::ArrivalSource;
use crate::pacing::replay::Replay;
use crate::pacing::think_time::ThinkTime;
use dyno_core::workload::{Request, Workload};

/// What all sessions of a group share. Nothing here changes while load runs.
pub struct GroupConfig<'a> {
    /// Number of the group in the plan.
    pub group: usize,
    /// Open loop: where transactions come from; none: as fast as answers come.
    pub arrival_source: Option<&'a ArrivalSource>,
    /// Recorded sessions, where these are played.
    pub replay: Option<Replay<'a>>,
    /// Its pauses.
    pub think: Option<ThinkTime>,
    /// Oldest age of a transaction.
    pub deadline_ns: u64,
    /// Attempts after the first.
    pub retries: u32,
    /// Seed of the plan.
    pub seed: u64,
    /// What is sent.
    pub workload: &'a dyn Workload,
    /// Its requests.
    pub requests: &'a [Request],
    /// Whether any of them expects something of its answer.
    pub checks_answers: bool,
    /// Whether any of them keeps its rows, so that transactions may come in stages.
    pub keeps_rows: bool,
    /// Whether the workload asks for pauses of its own.
    pub pauses: bool,
    /// Histogram of each statement, an index into [`GroupMetrics::classes`].
    pub class_of: Vec<u8>,
    /// Place of the first kind of transactions among them, where the workload tells kinds apart.
    pub first_kind: Option<usize>,
}

/// Where a session's numbers and news go.
#[derive(Clone, Copy)]
pub struct Sinks<'a> {
    /// Number of the group.
    pub group: usize,
    /// The group's numbers on this thread.
    pub metrics: &'a GroupMetrics,
    /// The way to the reporter.
    pub notices: &'a Notices,
}
