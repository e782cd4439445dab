//! The output of a digest: one JSON document, which `dyno digest` renders. Durations are in seconds,
//! times in Unix seconds (UTC). Values that a log does not contain are null or absent, not 0.

use crate::event::Unit;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Version of the document layout. Readers reject later versions.
pub const SCHEMA_VERSION: u32 = 1;

/// Digest of one or more logs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Document {
    /// Version of the document layout; readers reject later versions.
    pub schema_version: u32,
    /// Version of the engine that wrote the document.
    pub engine_version: String,
    /// Key of classes: `fingerprint`, `table`, `db`, `user`, `host` or `distill`.
    pub group_by: String,
    /// Order of classes: `query_time`, `count`, `max`, `statement_bytes`, or the name of a measure.
    pub order_by: String,
    /// The logs, in the order of the command line.
    pub inputs: Vec<Input>,
    /// Reasons why the logs do not contain all statements (threshold, sampling); shown in line 2 of reports.
    pub censored: Vec<Censored>,
    /// Statistics of all events that passed the filters.
    pub overall: Stats,
    /// Number of classes.
    pub classes_total: u64,
    /// Whether classes ignore numbers and hashes in names (`--merge-names`).
    #[schemars(default)]
    pub merges_names: bool,
    /// Effect that `--merge-names` would have on the classes; null: none.
    pub mergeable: Option<Mergeable>,
    /// The listed classes, by rank.
    pub classes: Vec<Class>,
    /// Statistics of all classes that are not listed; null: all are listed.
    pub rest: Option<Stats>,
    /// Load over time, all classes together; null if the log has no times.
    pub timeline: Option<Timeline>,
    /// Time by number of concurrent statements; null if the log lacks times or durations.
    pub concurrency: Option<Concurrency>,
}

/// Classes that differ only in numbers and hashes in names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Mergeable {
    /// Number of classes examined: all, at most the 10,000 most costly.
    pub classes: u64,
    /// Number of classes after the merge.
    pub merged: u64,
}

/// A log that the digest read.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Input {
    /// Path as on the command line; `-` is standard input.
    pub path: String,
    /// Name of the format.
    pub format: String,
    /// Server and version from the log, the first of several; null: unknown.
    pub server: Option<String>,
    /// All servers and versions in the log, in order, at most 16. Several mean that logs were
    /// concatenated or that the server was upgraded.
    pub servers: Vec<String>,
    /// Size of the log, uncompressed, bytes.
    pub bytes: u64,
    /// Number of events before filters.
    pub events: u64,
    /// Number of events that the filters excluded.
    pub filtered: u64,
    /// Bytes that could not be parsed.
    pub bytes_not_understood: u64,
    /// Number of pieces that could not be parsed.
    pub pieces_not_understood: u64,
    /// The first of these pieces, at most 20.
    pub not_understood: Vec<NotUnderstood>,
}

/// A piece of a log that could not be parsed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct NotUnderstood {
    /// Offset of the piece in the log, bytes.
    pub offset: u64,
    /// Line number, from 1; null: not a text log, or unknown.
    pub line: Option<u64>,
    /// Length of the piece, bytes.
    pub bytes: u64,
    /// Reason, without text from the log.
    pub why: String,
}

/// A reason why a log does not contain all statements.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Censored {
    /// Index of the log in `inputs`, from 0.
    pub input: u32,
    /// `threshold`: the log contains only slow statements; `sampled`: only one in `value` statements.
    pub kind: String,
    /// For `threshold`: shortest duration that is logged, seconds. For `sampled`: the log contains one
    /// in this many statements.
    pub value: f64,
    /// `said`: the log states it; `seen`: inferred, because none of many statements is faster.
    pub evidence: String,
}

/// Statistics of a set of events.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Stats {
    /// Number of events in the log.
    pub count: u64,
    /// Estimated number of executions in a sampled log; otherwise equal to `count`.
    pub weighted_count: f64,
    /// Number of events with an error.
    pub errors: u64,
    /// Total length of the statements, weighted by sampling, bytes.
    pub statement_bytes: u64,
    /// Durations, seconds; null if no event has one.
    pub query_time: Option<Distribution>,
    /// Further measures of the log, by name.
    pub measures: BTreeMap<String, Measured>,
    /// Earliest end of an event, Unix seconds; null: unknown.
    pub first_unix_s: Option<f64>,
    /// Latest end of an event, Unix seconds; null: unknown.
    pub last_unix_s: Option<f64>,
}

/// Distribution of a measure, with its unit.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Measured {
    /// Unit of the measure; for `ns`, the values are in seconds.
    pub unit: Unit,
    /// Distribution of the values.
    #[serde(flatten)]
    pub values: Distribution,
}

/// Distribution of the values of one measure. Quantiles are estimates, all other numbers are exact.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Distribution {
    /// Number of events that have the measure.
    pub count: u64,
    /// Sum of the values, weighted by sampling.
    pub sum: f64,
    /// Smallest value; null for samples of a server.
    #[schemars(with = "Option<f64>")]
    pub min: f64,
    /// Largest value; null for samples of a server.
    #[schemars(with = "Option<f64>")]
    pub max: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Population standard deviation; null if only counts and sums are available.
    pub stddev: Option<f64>,
    /// Median. All quantiles are null if no sketch is available.
    pub p50: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Largest relative error of the quantiles; null if there are none.
    pub quantile_error: Option<f64>,
    /// Share of the events that the quantiles are based on, 0 to 1. It is below 1 for a class that became
    /// one of the most costly only late in the log.
    pub sketched: Option<f64>,
}

/// A class of similar events.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Class {
    /// Rank by `order_by`, from 1.
    pub rank: u64,
    /// 32 hexadecimal digits, a hash of fingerprint and language; the same in all logs and versions.
    pub id: String,
    /// Query ID of pt-query-digest; null if its fingerprint of these statements differs.
    pub pt_id: Option<String>,
    /// The statement without literals, or the value of another `group_by`.
    pub fingerprint: String,
    /// Verbs and tables, such as `SELECT orders customers`.
    pub distill: String,
    /// Tables, qualified by schema as in the statement.
    pub tables: Vec<String>,
    /// Statistics of the events.
    #[serde(flatten)]
    pub stats: Stats,
    /// Share of the query time of all events, 0 to 1.
    pub time_share: Option<f64>,
    /// Variance-to-mean ratio of the query times, seconds.
    pub v_m: Option<f64>,
    /// Number of events by user. This map and the next two have at most 100 names; the empty name stands
    /// for all others.
    pub users: BTreeMap<String, u64>,
    /// Number of events by client host.
    pub hosts: BTreeMap<String, u64>,
    /// Number of events by default database.
    pub databases: BTreeMap<String, u64>,
    /// Number of events by error code.
    pub error_codes: BTreeMap<String, u64>,
    /// Number of events by MongoDB's plan summary, such as `IXSCAN { a: 1 }`.
    #[schemars(default)]
    pub plans: BTreeMap<String, u64>,
    /// Number of events by query time: below 1 us, 10 us, 100 us, 1 ms, 10 ms, 100 ms, 1 s, 10 s, and
    /// longer.
    pub histogram: Option<[u64; 9]>,
    /// Total time that events of the class ran within each bucket of the timeline, seconds.
    pub timeline_s: Option<Vec<f64>>,
    /// Position of the slowest event.
    pub sample: Option<Sample>,
}

/// The slowest event of a class.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Sample {
    /// Index of the log in `inputs`, from 0.
    pub input: u32,
    /// Offset of the event in the log, bytes.
    pub offset: u64,
    /// End of the event, Unix seconds; null: unknown.
    pub end_unix_s: Option<f64>,
    /// Duration, seconds; null: unknown.
    pub query_time_s: Option<f64>,
    /// Text of the statement with its literals; null unless requested.
    pub text: Option<String>,
    /// Whether `text` is truncated.
    pub is_cut: bool,
}

/// Load over time, in buckets of equal length.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Timeline {
    /// Begin of the first bucket, Unix seconds.
    pub begin_unix_s: f64,
    /// Length of a bucket, seconds.
    pub bucket_s: f64,
    /// Number of events that ended in each bucket.
    pub count: Vec<u64>,
    /// Total time that events ran within each bucket, weighted by sampling, seconds. Divided by
    /// `bucket_s`, it is the mean concurrency. Time before the first bucket is excluded.
    pub time_s: Vec<f64>,
    /// Longest gap between consecutive ends of events, by the bucket in which the gap ends, seconds; long
    /// gaps are stalls.
    pub gap_s: Vec<f64>,
}

/// Concurrency of statements.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Concurrency {
    /// Total time with exactly n concurrent statements, by n from 0, seconds.
    pub seconds: Vec<f64>,
    /// Largest concurrency.
    pub max: u64,
    /// Resolution of the log's timestamps, seconds: 1 for full seconds, 0 for a finer resolution.
    pub clock_s: f64,
    /// Reason why the numbers are inexact (events out of order, times in full seconds); null: exact.
    pub caveat: Option<String>,
}
