//! What the engine says while it works: one JSON object a line on standard output.
//!
//! Times named `t_s` are seconds since the start of the measured phase (negative in the warm-up);
//! `unix_s` puts that start on the wall clock. The JSON Schema is committed as
//! `schemas/engine-event.schema.json`; `schemas/examples/` is parsed by both test suites.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One line of the event stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "lowercase", deny_unknown_fields)]
pub enum Event {
    /// First line: who speaks, and the price of its clock.
    Start {
        /// Version of plan and events.
        schema_version: u32,
        /// Version of the engine.
        engine_version: String,
        /// Name of the trial.
        trial: String,
        /// Process id of the engine.
        pid: u32,
        /// Load threads.
        workers: u32,
        /// CPUs they may use; empty: any.
        cpus: Vec<u32>,
        /// Median cost of one read of the clock on this machine.
        clock_read_ns: f64,
    },
    /// All sessions are connected and prepared; the warm-up begins.
    Ready {
        /// How long that took.
        connect_s: f64,
        /// Wall-clock time at which the measured phase will start (`t_s` = 0).
        measure_unix_s: f64,
    },
    /// Rows loaded so far (job `load`), at most ten times a second.
    Progress {
        /// Table name.
        table: String,
        /// Rows in.
        rows: u64,
        /// Rows wanted.
        rows_total: u64,
        /// What is counted where it is not rows: MiB of files.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unit: Option<String>,
    },
    /// What happened in one interval.
    Interval {
        /// End of the interval.
        t_s: f64,
        /// Its true length.
        length_s: f64,
        /// Warm-up intervals are reported but never counted.
        phase: Phase,
        /// By group name.
        groups: BTreeMap<String, GroupInterval>,
        /// The meter itself.
        generator: Generator,
    },
    /// An example of a class of statements, once each, for whoever wants to explain its plan.
    /// None for begin and commit.
    Statement {
        /// Group.
        group: String,
        /// Class in the results.
        class: String,
        /// The statement with its parameters written in as literals.
        sql: String,
    },
    /// A kind of error, when it is first seen in a group; counts follow in `end`.
    Error {
        /// When.
        t_s: f64,
        /// Group.
        group: String,
        /// The server's code, or `deadline`, `lost`.
        code: String,
        /// The server's text, at most 500 characters.
        message: String,
    },
    /// A connection was lost and could not be used until `end_s` (absent: until the end of the run).
    Outage {
        /// Group.
        group: String,
        /// Session number within the group.
        session: u32,
        /// When it was noticed.
        start_s: f64,
        /// When the session could work again.
        end_s: Option<f64>,
        /// Why.
        cause: String,
    },
    /// Something a reader of the numbers should know.
    Warning {
        /// One sentence.
        message: String,
    },
    /// Last line of a trial.
    End {
        /// Measured time.
        measured_s: f64,
        /// Whether a signal ended it early.
        interrupted: bool,
        /// Whether the measured phase ended before its time, at the end of an interval and in good
        /// order, because enough had been measured (SIGUSR1).
        #[serde(default, skip_serializing_if = "is_false")]
        asked: bool,
        /// By group name.
        groups: BTreeMap<String, GroupTotal>,
        /// The meter itself, over the measured time.
        generator: GeneratorTotal,
    },
    /// Last line of a load.
    Loaded {
        /// Rows by table.
        rows: BTreeMap<String, u64>,
        /// How long.
        elapsed_s: f64,
    },
    /// Last line of a job that failed.
    Failed {
        /// `plan`, `connection`, `authentication`, `protocol`, `server`, `system`.
        kind: String,
        /// What and where.
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

/// Part of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// Not counted.
    Warmup,
    /// Counted.
    Measure,
}

/// One group in one interval. Latencies are transactions' service times; absent when nothing
/// committed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupInterval {
    /// Committed transactions.
    pub transactions: u64,
    /// Operations of committed transactions.
    pub operations: u64,
    /// Rows returned by them.
    #[serde(default)]
    pub rows: u64,
    /// Failed attempts (retried or not).
    pub errors: u64,
    /// Attempts begun again.
    pub retries: u64,
    /// Transactions given up.
    #[serde(default)]
    pub failed: u64,
    /// Sessions without a connection at the end of the interval.
    pub lost: u32,
    /// Committed transactions in each 100 ms.
    pub ticks: Vec<u32>,
    /// Service time in nanoseconds.
    pub latency: Option<Latency>,
    /// Open loop only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<OpenInterval>,
}

/// An open loop in one interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenInterval {
    /// Arrivals that fell due.
    pub due: u64,
    /// Arrivals that were due at the end of the interval and had not begun.
    pub backlog: u64,
    /// From due time to the answer to the commit, of transactions committed in this interval.
    pub response: Option<Latency>,
}

/// Summary of a latency histogram, nanoseconds. Percentiles are upper bounds of their bucket
/// (width < 1 %); a percentile with fewer than 10 / (1 - q) values behind it is absent. Transactions
/// that were given up, or left without an answer, count with their age, which is a lower bound of
/// what they would have taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// Values.
    pub count: u64,
    /// Mean.
    pub mean_ns: f64,
    /// Median.
    pub p50_ns: Option<u64>,
    /// 95th percentile.
    pub p95_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile.
    pub p999_ns: Option<u64>,
    /// Upper bound of the largest value's bucket.
    pub max_ns: u64,
    /// Of `count`, ages of transactions that did not commit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub censored: u64,
    /// Fields above that are lower bounds: they would be larger, by more than a bucket, if the
    /// censored had taken for ever. A mean is one as soon as anything is censored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at_least: Vec<String>,
}

/// The meter in one interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Generator {
    /// CPU of each load thread as a share of the interval, 0 to 1; of many, the 64 busiest. Without
    /// what a thread with a CPU to itself spends looking for work shortly before an arrival is due.
    pub busy: Vec<f64>,
    /// CPU of all load threads, user and system.
    #[serde(default)]
    pub cpu_s: f64,
    /// How long an answer may have lain unread, 99th percentile; network drivers only.
    pub lag_p99_ns: Option<u64>,
}

/// One group over the measured time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupTotal {
    /// Committed transactions.
    pub transactions: u64,
    /// Operations of committed transactions.
    pub operations: u64,
    /// Rows returned by them.
    pub rows: u64,
    /// Failed attempts by code; at most 64 codes, the rest under `other`.
    pub errors: BTreeMap<String, u64>,
    /// Attempts begun again.
    pub retries: u64,
    /// Transactions given up: deadline, lost connection, an error not worth a retry, or no retry left.
    pub failed: u64,
    /// Age of the oldest transaction still in flight at the end; not counted anywhere else.
    pub in_flight_oldest_ns: u64,
    /// From the first attempt's start to the answer to the commit, of committed transactions; those
    /// given up (`failed`) stand in it with their age.
    pub latency: Option<Latency>,
    /// Failed attempts.
    pub error_latency: Option<Latency>,
    /// Each class of operations.
    pub classes: BTreeMap<String, Option<Latency>>,
    /// The same for each kind of transactions, of a workload that tells kinds apart.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kinds: BTreeMap<String, Option<Latency>>,
    /// Open loop only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<OpenTotal>,
}

/// An open loop over the measured time. Counts arrivals due within it, however late they ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenTotal {
    /// Arrivals that fell due in the measured time.
    pub due: u64,
    /// Of these, begun within the measured time.
    pub begun: u64,
    /// Of `due`, given up: refused without a retry left, at their deadline, or with a lost
    /// connection.
    pub failed: u64,
    /// Of `due`, neither committed nor given up when the drain ended.
    pub left: u64,
    /// Arrivals due and not begun at the end of the measured time.
    pub backlog_end: u64,
    /// The largest backlog seen, at the ends of ticks.
    pub backlog_max: u64,
    /// How long the drain took.
    pub drain_s: f64,
    /// From due time to the answer to the commit, of the arrivals due in the measured time that
    /// committed by the end of the drain; those `failed` or `left` stand in it with their age then.
    pub response: Option<Latency>,
    /// From the due time of an arrival that found a free session to its first byte sent.
    pub dispatch_lag: Option<Latency>,
}

/// The meter over the measured time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GeneratorTotal {
    /// CPU of the load threads, user and system, over the measured time, all of it.
    pub cpu_s: f64,
    /// Highest share of one second that a load thread was busy, as in `busy`.
    pub busy_max: f64,
    /// How long answers may have lain unread, at most: since the poll before returned or their
    /// request was sent, or since the thread was woken. Not how long the thread waits for a CPU.
    pub lag: Option<Latency>,
    /// Returns of the poll call.
    pub polls: u64,
    /// Calls that read from or wrote to a socket.
    pub syscalls: u64,
    /// busy_max > 0.8, or the median or 99th percentile of the lag > 10 % of the fastest group's.
    pub generator_bound: bool,
    /// Peak resident memory of the engine.
    pub rss_max_bytes: u64,
}
