//! The event stream of the engine: one JSON object per line on standard output.
//!
//! Times named `t_s`, `start_s` and `end_s` are seconds since the start of the measured phase (negative
//! in the warm-up); `measure_unix_s` is the wall-clock time of that start. The JSON Schema is committed
//! as `schemas/engine-event.schema.json`; both test suites parse `schemas/examples/`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One line of the event stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "lowercase", deny_unknown_fields)]
pub enum Event {
    /// First line: identifies the engine and the trial.
    Start {
        /// Version of the plan and of the event stream.
        schema_version: u32,
        /// Version of the engine.
        engine_version: String,
        /// Name of the trial.
        trial: String,
        /// Process ID of the engine.
        pid: u32,
        /// Number of load threads.
        workers: u32,
        /// CPU numbers that the load threads may use; empty: any.
        cpus: Vec<u32>,
        /// Median cost of one clock read on this machine, nanoseconds.
        clock_read_ns: f64,
    },
    /// All sessions are connected and prepared; the warm-up begins.
    Ready {
        /// Time to connect and prepare all sessions, seconds.
        connect_s: f64,
        /// Wall-clock time at which the measured phase will start (`t_s` = 0), seconds since 1970 (UTC).
        measure_unix_s: f64,
    },
    /// Rows loaded so far (job `load`), reported at most ten times per second.
    Progress {
        /// Name of the table.
        table: String,
        /// Rows loaded so far.
        rows: u64,
        /// Rows to load.
        rows_total: u64,
        /// Unit of `rows` and `rows_total`; absent: rows. MiB for files.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
    },
    /// Measurements of one interval.
    Interval {
        /// End of the interval, seconds since the start of the measured phase.
        t_s: f64,
        /// Actual length of the interval, seconds.
        length_s: f64,
        /// Phase of the interval; results exclude warm-up intervals.
        phase: Phase,
        /// Measurements by group name.
        groups: BTreeMap<String, GroupInterval>,
        /// Load of the generator itself.
        generator: Generator,
    },
    /// An example statement, once per statement class, for EXPLAIN. Begin and commit have none.
    Statement {
        /// Group name.
        group: String,
        /// Statement class, as in `classes` of the results.
        class: String,
        /// Statement text with its parameters as literals.
        sql: String,
    },
    /// First occurrence of an error code in a group; `end` has the counts.
    Error {
        /// Time of the error, seconds since the start of the measured phase.
        t_s: f64,
        /// Group name.
        group: String,
        /// Error code of the server, or `deadline` or `lost`.
        code: String,
        /// Error message of the server, at most 500 characters.
        message: String,
    },
    /// A lost connection, unusable until `end_s`.
    Outage {
        /// Group name.
        group: String,
        /// Session number within the group.
        session: u32,
        /// Time at which the loss was detected, seconds since the start of the measured phase.
        start_s: f64,
        /// Time at which the session could continue, seconds; null: not before the end of the run.
        end_s: Option<f64>,
        /// Cause of the loss.
        cause: String,
    },
    /// A warning about the measured values.
    Warning {
        /// Text of one sentence.
        message: String,
    },
    /// Last line of a trial.
    End {
        /// Length of the measured phase, seconds.
        measured_s: f64,
        /// Whether a signal ended the trial early.
        interrupted: bool,
        /// Whether a request (SIGUSR1) ended the measured phase before `duration_s`, at the end of an
        /// interval, because the measurement was sufficient.
        #[serde(default, skip_serializing_if = "is_false")]
        asked: bool,
        /// Measurements by group name.
        groups: BTreeMap<String, GroupTotal>,
        /// Load of the generator itself, over the measured time.
        generator: GeneratorTotal,
    },
    /// Last line of a load.
    Loaded {
        /// Rows loaded, by table.
        rows: BTreeMap<String, u64>,
        /// Duration of the load, seconds.
        elapsed_s: f64,
    },
    /// Last line of a job that failed.
    Failed {
        /// `plan`, `connection`, `authentication`, `protocol`, `server`, `system`.
        kind: String,
        /// Description of the error and its place.
        what: String,
        /// Likely cause and next step.
        hint: String,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(value: &bool) -> bool {
    !*value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

/// Phase of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Warm-up, excluded from results.
    Warmup,
    /// Measured phase.
    Measure,
}

/// Measurements of one group in one interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupInterval {
    /// Committed transactions.
    pub transactions: u64,
    /// Operations of committed transactions.
    pub operations: u64,
    /// Rows returned by committed transactions.
    #[serde(default)]
    pub rows: u64,
    /// Failed attempts, whether retried or not.
    pub errors: u64,
    /// Retries after a failed attempt.
    pub retries: u64,
    /// Abandoned transactions.
    #[serde(default)]
    pub failed: u64,
    /// Sessions without a connection at the end of the interval.
    pub lost: u32,
    /// Committed transactions per 100 ms.
    pub ticks: Vec<u32>,
    /// Service times of transactions, nanoseconds; null if no transaction ended.
    pub latency: Option<Latency>,
    /// Measurements of an open loop; absent for a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<OpenInterval>,
}

/// Measurements of an open loop in one interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenInterval {
    /// Arrivals due in the interval.
    pub due: u64,
    /// Arrivals due but not begun at the end of the interval.
    pub backlog: u64,
    /// Response times, from due time to the answer to the commit, of transactions committed in the interval.
    pub response: Option<Latency>,
}

/// Summary of a latency histogram, nanoseconds. Percentiles are upper bounds of their bucket
/// (width < 1 %). Quantile q is null with fewer than 10 / (1 - q) values. Abandoned and unanswered
/// transactions count with their age, which is a lower bound of their latency.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// Number of values.
    pub count: u64,
    /// Mean, nanoseconds.
    pub mean_ns: f64,
    /// Median, nanoseconds.
    pub p50_ns: Option<u64>,
    /// 95th percentile, nanoseconds.
    pub p95_ns: Option<u64>,
    /// 99th percentile, nanoseconds.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile, nanoseconds.
    pub p999_ns: Option<u64>,
    /// Upper bound of the largest value's bucket, nanoseconds.
    pub max_ns: u64,
    /// Number of values in `count` that are ages of uncommitted transactions (censored).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub censored: u64,
    /// Names of the fields above that are lower bounds: infinite latencies of the censored transactions
    /// would raise them by more than one bucket. With any censored value, the mean is a lower bound.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at_least: Vec<String>,
}

/// Load of the generator in one interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Generator {
    /// CPU time of each load thread as a share of the interval, 0 to 1; at most the 64 busiest threads.
    /// It excludes busy-polling by a thread with a dedicated CPU shortly before an arrival is due.
    pub busy: Vec<f64>,
    /// CPU time of all load threads, user and system, seconds.
    #[serde(default)]
    pub cpu_s: f64,
    /// Upper bound of the time that answers waited to be read, 99th percentile, nanoseconds; network
    /// drivers only.
    pub lag_p99_ns: Option<u64>,
}

/// Measurements of one group over the measured time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupTotal {
    /// Committed transactions.
    pub transactions: u64,
    /// Operations of committed transactions.
    pub operations: u64,
    /// Rows returned by committed transactions.
    pub rows: u64,
    /// Failed attempts by code; at most 64 codes, the rest under `other`.
    pub errors: BTreeMap<String, u64>,
    /// Failed attempts whose commit was refused: a cluster's conflicts at certification, among others.
    #[serde(default)]
    pub refused_commits: u64,
    /// Retries after a failed attempt.
    pub retries: u64,
    /// Abandoned transactions: deadline, lost connection, an error that is not retryable, or no retry left.
    pub failed: u64,
    /// Mean number of operations in a write of a session that pipelines; absent of one that does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations_per_write: Option<f64>,
    /// Age of the oldest transaction in flight at the end, nanoseconds; `latency` excludes it.
    pub in_flight_oldest_ns: u64,
    /// Service times of committed transactions, from the start of the first attempt to the answer to
    /// the commit. Abandoned transactions (`failed`) count with their age.
    pub latency: Option<Latency>,
    /// Latencies of failed attempts.
    pub error_latency: Option<Latency>,
    /// Latencies by class of operations.
    pub classes: BTreeMap<String, Option<Latency>>,
    /// Latencies by kind of transactions; absent if the workload does not distinguish kinds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kinds: BTreeMap<String, Option<Latency>>,
    /// Measurements of an open loop; absent for a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<OpenTotal>,
}

/// Measurements of an open loop: the arrivals due in the measured time, even if they ended later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenTotal {
    /// Arrivals due in the measured time.
    pub due: u64,
    /// Arrivals of `due` that began within the measured time.
    pub begun: u64,
    /// Abandoned arrivals of `due`: failed without a retry left, at their deadline, or with a lost
    /// connection.
    pub failed: u64,
    /// Arrivals of `due` that were neither committed nor abandoned at the end of the drain.
    pub left: u64,
    /// Arrivals due but not begun at the end of the measured time.
    pub backlog_end: u64,
    /// Largest backlog, sampled at the ends of ticks (100 ms).
    pub backlog_max: u64,
    /// Duration of the drain, seconds.
    pub drain_s: f64,
    /// Response times, from due time to the answer to the commit, of arrivals of `due` that committed by
    /// the end of the drain. Arrivals in `failed` or `left` count with their age at that time.
    pub response: Option<Latency>,
    /// Time from the due time to the first byte sent, of arrivals that found an idle session.
    pub dispatch_lag: Option<Latency>,
}

/// Load of the generator over the measured time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GeneratorTotal {
    /// CPU time of the load threads over the measured time, user and system, busy-polling included,
    /// seconds.
    pub cpu_s: f64,
    /// Highest busy share of a load thread in any second, 0 to 1, as in `busy` of intervals.
    pub busy_max: f64,
    /// Upper bound of the time that answers waited to be read: since the previous poll returned, since
    /// their request was sent, or since the thread was woken. It excludes waits for a CPU.
    pub lag: Option<Latency>,
    /// Number of returns from the poll system call.
    pub polls: u64,
    /// Number of system calls that read from or wrote to a socket.
    pub syscalls: u64,
    /// Whether the generator limited the load: `busy_max` > 0.8, or the median or 99th percentile of the
    /// lag > 10 % of the same percentile of the fastest group.
    pub generator_bound: bool,
    /// Peak resident memory of the engine, bytes.
    pub rss_max_bytes: u64,
}
