//! `--json FILE`: the whole result as one JSON object; its fields are in `docs/reference/sysbench.md`.

use super::{Form, Kind, Stat};
use crate::tally::Spread;
use dyno_core::error::{Error, Kind as ErrorKind, Result};
use serde_json::{Map, Value, json};
use std::path::Path;

/// Version of the object's format.
pub const VERSION: u32 = 1;

/// A run, as it is written by [`write`](Self::write).
#[derive(Debug, Clone, Copy)]
pub struct Whole<'a> {
    /// The test's name as given by the user.
    pub test: &'a str,
    /// The format of the run's reports.
    pub form: &'a Form,
    /// The counts since the begin.
    pub total: &'a Stat,
    /// The intervals of `--report-interval`, from [`part`]; may be empty.
    pub intervals: &'a [Value],
    /// The reason of an early end, if any.
    pub failure: Option<&'a str>,
}

impl Whole<'_> {
    /// Returns the object.
    pub fn value(&self) -> Value {
        json!({
            "version": VERSION,
            "test": self.test,
            "kind": kind(self.form.kind),
            "threads": self.total.counts.sessions.len(),
            "failure": self.failure,
            "total": part(self.form, self.total),
            "sessions": self.total.counts.sessions.iter().map(|share| {
                json!({"events": share.events, "busy_ns": share.busy_ns})
            }).collect::<Value>(),
            "intervals": self.intervals,
        })
    }

    /// Writes the object to a file, replacing an existing one.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = format!("{:#}\n", self.value());
        std::fs::write(path, text).map_err(|error| {
            let what = format!("cannot write the result to '{}': {error}", path.display());
            Error::new(ErrorKind::System, what)
                .hint("--json needs a file in an existing, writable directory")
        })
    }
}

/// Returns the name of a kind.
pub fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Script => "script",
        Kind::Cpu => "cpu",
        Kind::Memory { .. } => "memory",
        Kind::Fileio => "fileio",
        Kind::Threads => "threads",
        Kind::Mutex => "mutex",
    }
}

/// Returns the counts of a part of the run.
pub fn part(form: &Form, stat: &Stat) -> Value {
    let counts = &stat.counts;
    json!({
        "time_total_s": stat.time_total_s,
        "time_interval_s": stat.time_interval_s,
        "threads_running": stat.gauges.threads_running,
        "queue_length": form.rated.then_some(stat.gauges.queue_length),
        "concurrency": form.rated.then_some(stat.gauges.concurrency),
        "events": counts.events,
        "events_per_s": stat.per_s(counts.events),
        "queries": counts.queries(),
        "queries_per_s": stat.per_s(counts.queries()),
        "reads": counts.reads,
        "writes": counts.writes,
        "other": counts.others,
        "errors": counts.errors,
        "errors_by_code": counts.codes,
        "reconnects": counts.reconnects,
        "bytes_read": counts.bytes_read,
        "bytes_written": counts.bytes_written,
        "latency_ms": spread(form, &counts.latency),
        "response_ms": form.rated.then(|| spread(form, &counts.response)),
    })
}

/// Null when there is none.
fn spread(form: &Form, spread: &Spread) -> Value {
    if spread.histogram.count() == 0 {
        return Value::Null;
    }
    let ms = |ns: u64| ns as f64 / 1e6;
    let percentiles: Map<String, Value> = form
        .percentiles
        .ranks()
        .iter()
        .map(|&rank| (rank.to_string(), json!(ms(spread.percentile_ns(rank)))))
        .collect();
    json!({
        "count": spread.histogram.count(),
        "min": ms(spread.min_ns),
        "avg": spread.histogram.mean_ns() / 1e6,
        "max": ms(spread.max_ns),
        "sum": ms(spread.histogram.sum_ns()),
        "percentiles": percentiles,
    })
}
