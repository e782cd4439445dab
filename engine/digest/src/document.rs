//! The output of a digest: one JSON document, which `dyno digest` renders. Durations are in
//! seconds, times in Unix seconds (UTC). Values that a log does not have are absent, which differs
//! from 0.

use crate::event::Unit;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Version of this layout; readers refuse a later one.
pub const SCHEMA_VERSION: u32 = 1;

/// A digest of one or more logs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Document {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Version of the program that made it.
    pub engine_version: String,
    /// What makes a class: `fingerprint`, `table`, `db`, `user`, `host`, `distill`.
    pub group_by: String,
    /// What classes are ranked by: `query_time`, `count`, `max`, `statement_bytes`, or a measure.
    pub order_by: String,
    /// The logs, in the order given.
    pub inputs: Vec<Input>,
    /// Why some statements are missing by the log's own settings, if so: shown in line 2 of reports.
    pub censored: Vec<Censored>,
    /// All events that passed the filters.
    pub overall: Stats,
    /// How many distinct classes there were.
    pub classes_total: u64,
    /// Whether numbers and hashes in names count for nothing, as `--merge-names` has it.
    #[schemars(default)]
    pub merges_names: bool,
    /// What `--merge-names` would make of the classes; absent if nothing.
    pub mergeable: Option<Mergeable>,
    /// The classes asked for, by rank.
    pub classes: Vec<Class>,
    /// What the classes that are not listed come to; absent if all are.
    pub rest: Option<Stats>,
    /// How all classes went over time.
    pub timeline: Option<Timeline>,
    /// How long so many statements ran at once.
    pub concurrency: Option<Concurrency>,
}

/// Classes that differ in numbers and hashes of names alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Mergeable {
    /// How many classes were looked at: all, or the 10,000 most costly.
    pub classes: u64,
    /// How many they would be.
    pub merged: u64,
}

/// One log.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Input {
    /// As given; `-` is standard input.
    pub path: String,
    /// Name of its format.
    pub format: String,
    /// Its server and version, if it says so; the first of several.
    pub server: Option<String>,
    /// All that it names, in its order, at most 16: of several, logs were put together or the server
    /// was upgraded.
    pub servers: Vec<String>,
    /// Bytes of log, unpacked.
    pub bytes: u64,
    /// Events read, before filters.
    pub events: u64,
    /// Events that the filters left out.
    pub filtered: u64,
    /// Bytes that were no event.
    pub bytes_not_understood: u64,
    /// How many pieces those were.
    pub pieces_not_understood: u64,
    /// The first of them, at most 20.
    pub not_understood: Vec<NotUnderstood>,
}

/// A piece of log that is no event.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct NotUnderstood {
    /// Where it begins, bytes.
    pub offset: u64,
    /// Line, from 1, of text logs.
    pub line: Option<u64>,
    /// Its length.
    pub bytes: u64,
    /// Why, without a word of the log.
    pub why: String,
}

/// Statements are missing by the log's own settings.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Censored {
    /// Position of the log in `inputs`.
    pub input: u32,
    /// `threshold` (only slow statements) or `sampled` (one of so many).
    pub kind: String,
    /// For `threshold`: nothing faster was seen, seconds. For `sampled`: one of so many.
    pub value: f64,
    /// `said` by the log, or `seen`: no statement of many is faster.
    pub evidence: String,
}

/// Sums of some events.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Stats {
    /// Events in the log.
    pub count: u64,
    /// Events that they stand for, where the log keeps one of so many; otherwise `count`.
    pub weighted_count: f64,
    /// Events with an error.
    pub errors: u64,
    /// Bytes of statements, of all that the events stand for.
    pub statement_bytes: u64,
    /// How long they took; absent if no event has a duration.
    pub query_time: Option<Distribution>,
    /// What else the log measures, by [`Measure::name`](crate::event::Measure::name).
    pub measures: BTreeMap<String, Measured>,
    /// End of the first event.
    pub first_unix_s: Option<f64>,
    /// End of the last event.
    pub last_unix_s: Option<f64>,
}

/// A measure of some events.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Measured {
    /// `ns` stands for values in seconds.
    pub unit: Unit,
    /// Its values.
    #[serde(flatten)]
    pub values: Distribution,
}

/// Values of one measure. All but quantiles are exact.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Distribution {
    /// Events that have the measure.
    pub count: u64,
    /// Their sum, weighted.
    pub sum: f64,
    /// The least. Samples of a server do not know it.
    #[schemars(with = "Option<f64>")]
    pub min: f64,
    /// The greatest. Samples of a server do not know it.
    #[schemars(with = "Option<f64>")]
    pub max: f64,
    /// Sum by count.
    pub mean: f64,
    /// Standard deviation of the population; absent where only counts and sums were kept.
    pub stddev: Option<f64>,
    /// Median; absent where no sketch was kept. So for the other quantiles.
    pub p50: Option<f64>,
    /// 95 % are at most this.
    pub p95: Option<f64>,
    /// 99 % are at most this.
    pub p99: Option<f64>,
    /// Largest relative error of the quantiles.
    pub quantile_error: Option<f64>,
    /// Share of the events that the sketch has seen: below 1 for a class that came to be among the
    /// most costly only late.
    pub sketched: Option<f64>,
}

/// Events that are alike.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Class {
    /// From 1, by the order asked for.
    pub rank: u64,
    /// 32 hexadecimal digits, from fingerprint and language: the same in every log and version.
    pub id: String,
    /// pt-query-digest's ID of the same statements, where its fingerprint is the same for them.
    pub pt_id: Option<String>,
    /// The statement without literals, or what the class is grouped by.
    pub fingerprint: String,
    /// Verbs and tables: `SELECT orders customers`.
    pub distill: String,
    /// Tables, with their schema where the statement says it.
    pub tables: Vec<String>,
    /// Its sums.
    #[serde(flatten)]
    pub stats: Stats,
    /// Share of the query time of all events.
    pub time_share: Option<f64>,
    /// Variance-to-mean ratio of the query time, seconds.
    pub v_m: Option<f64>,
    /// Events by user; at most 100, and the rest under an empty name. So for the next two.
    pub users: BTreeMap<String, u64>,
    /// Events by host.
    pub hosts: BTreeMap<String, u64>,
    /// Events by default database.
    pub databases: BTreeMap<String, u64>,
    /// Events by error.
    pub error_codes: BTreeMap<String, u64>,
    /// Events by how the server went about them, as MongoDB sums it up: `IXSCAN { a: 1 }`.
    #[schemars(default)]
    pub plans: BTreeMap<String, u64>,
    /// Events by query time: below 1 us, 10 us, 100 us, 1 ms, 10 ms, 100 ms, 1 s, 10 s, and more.
    pub histogram: Option<[u64; 9]>,
    /// Time that its events ran within each bucket of the timeline, seconds.
    pub timeline_s: Option<Vec<f64>>,
    /// Its slowest event: where it is.
    pub sample: Option<Sample>,
}

/// Where the slowest event of a class is.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Sample {
    /// Position of the log in `inputs`.
    pub input: u32,
    /// Where it begins in the log, bytes.
    pub offset: u64,
    /// When it ended.
    pub end_unix_s: Option<f64>,
    /// How long it took.
    pub query_time_s: Option<f64>,
    /// Its text, with literals: only if asked for.
    pub text: Option<String>,
    /// Whether the text was longer than what is kept.
    pub is_cut: bool,
}

/// Equal stretches of time.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Timeline {
    /// Begin of the first bucket.
    pub begin_unix_s: f64,
    /// Length of each.
    pub bucket_s: f64,
    /// Events that ended in each.
    pub count: Vec<u64>,
    /// Time that events ran within each, whenever they ended, seconds: divided by the length it is the mean
    /// concurrency. What ran before the first bucket is in none.
    pub time_s: Vec<f64>,
    /// Longest gap between two ends of events within each bucket, seconds: stalls.
    pub gap_s: Vec<f64>,
}

/// How many statements ran at the same time.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Concurrency {
    /// Seconds with exactly so many, from 0.
    pub seconds: Vec<f64>,
    /// The most.
    pub max: u64,
    /// How exactly the log tells when statements ran, seconds: 1 for a clock of full seconds, 0 for one
    /// that is finer than that.
    pub clock_s: f64,
    /// Why it is not exact, if so (events out of order, times to the second).
    pub caveat: Option<String>,
}
