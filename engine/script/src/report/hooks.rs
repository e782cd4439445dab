//! What `sysbench.hooks.report_intermediate` and `report_cumulative` receive, and the texts that
//! `sysbench.report_default`, `report_csv` and `report_json` make of it. Times are in seconds.

use super::{Form, Stat};

/// The fields of the table, in the units that scripts expect.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Row {
    /// Seconds since the begin.
    pub time_total: f64,
    /// Seconds that the counts are of.
    pub time_interval: f64,
    /// Sessions that have not ended.
    pub threads_running: f64,
    /// Events done.
    pub events: f64,
    /// Statements that returned rows.
    pub reads: f64,
    /// Statements that changed rows.
    pub writes: f64,
    /// All other statements.
    pub other: f64,
    /// Errors that were ignored.
    pub errors: f64,
    /// Connections made anew.
    pub reconnects: f64,
    /// By native tests.
    pub bytes_read: f64,
    /// By native tests.
    pub bytes_written: f64,
    /// The first percentile asked for, seconds; 0 without.
    pub latency_pct: f64,
    /// Seconds.
    pub latency_min: f64,
    /// Seconds.
    pub latency_max: f64,
    /// Seconds.
    pub latency_avg: f64,
    /// Seconds.
    pub latency_sum: f64,
    /// With a rate: events due and not begun.
    pub queue_length: f64,
    /// With a rate: events begun and not ended.
    pub concurrency: f64,
}

type Field = (&'static str, fn(&mut Row) -> &mut f64);

/// Every field by its name.
const FIELDS: [Field; 18] = [
    ("time_total", |row| &mut row.time_total),
    ("time_interval", |row| &mut row.time_interval),
    ("threads_running", |row| &mut row.threads_running),
    ("events", |row| &mut row.events),
    ("reads", |row| &mut row.reads),
    ("writes", |row| &mut row.writes),
    ("other", |row| &mut row.other),
    ("errors", |row| &mut row.errors),
    ("reconnects", |row| &mut row.reconnects),
    ("bytes_read", |row| &mut row.bytes_read),
    ("bytes_written", |row| &mut row.bytes_written),
    ("latency_pct", |row| &mut row.latency_pct),
    ("latency_min", |row| &mut row.latency_min),
    ("latency_max", |row| &mut row.latency_max),
    ("latency_avg", |row| &mut row.latency_avg),
    ("latency_sum", |row| &mut row.latency_sum),
    ("queue_length", |row| &mut row.queue_length),
    ("concurrency", |row| &mut row.concurrency),
];

impl Row {
    /// Of a difference of tallies.
    pub fn new(form: &Form, stat: &Stat) -> Self {
        let (counts, latency) = (&stat.counts, stat.latency());
        let seconds = |ns: u64| ns as f64 / 1e9;
        let is_none = latency.histogram.count() == 0;
        Self {
            time_total: stat.time_total_s,
            time_interval: stat.time_interval_s,
            threads_running: stat.gauges.threads_running as f64,
            events: counts.events as f64,
            reads: counts.reads as f64,
            writes: counts.writes as f64,
            other: counts.others as f64,
            errors: counts.errors as f64,
            reconnects: counts.reconnects as f64,
            bytes_read: counts.bytes_read as f64,
            bytes_written: counts.bytes_written as f64,
            latency_pct: form.percentiles.first().map_or(0.0, |p| seconds(latency.percentile_ns(p))),
            latency_min: if is_none { 0.0 } else { seconds(latency.min_ns) },
            latency_max: seconds(latency.max_ns),
            latency_avg: latency.histogram.mean_ns() / 1e9,
            latency_sum: seconds(latency.histogram.sum_ns()),
            queue_length: stat.gauges.queue_length as f64,
            concurrency: stat.gauges.concurrency as f64,
        }
    }

    /// Its fields, to fill a table with.
    pub fn fields(mut self) -> impl Iterator<Item = (&'static str, f64)> {
        FIELDS.iter().map(move |(name, field)| (*name, *field(&mut self)))
    }

    /// Of a table that a script hands in; `get` gives a field's value, 0 if it has none.
    pub fn read(get: impl Fn(&str) -> f64) -> Self {
        let mut row = Self::default();
        for (name, field) in FIELDS {
            *field(&mut row) = get(name);
        }
        row
    }

    fn per_s(&self, count: f64) -> f64 {
        if self.time_interval > 0.0 { count / self.time_interval } else { 0.0 }
    }

    fn queries(&self) -> f64 {
        self.reads + self.writes + self.other
    }
}

/// `sysbench.report_default`: one line without its end. `rank`: of `latency_pct`.
pub fn report_default(row: &Row, rank: u32) -> String {
    format!(
        "[ {:.0}s ] thds: {} tps: {:.2} qps: {:.2} (r/w/o: {:.2}/{:.2}/{:.2}) lat (ms,{rank}%): {:.2} \
         err/s {:.2} reconn/s: {:.2}",
        row.time_total,
        row.threads_running,
        row.per_s(row.events),
        row.per_s(row.queries()),
        row.per_s(row.reads),
        row.per_s(row.writes),
        row.per_s(row.other),
        row.latency_pct * 1e3,
        row.per_s(row.errors),
        row.per_s(row.reconnects),
    )
}

/// `sysbench.report_csv`: one line without its end: time, threads, events, statements, reads, writes,
/// others, latency in ms, errors, reconnects; counts a second.
pub fn report_csv(row: &Row) -> String {
    format!(
        "{:.0},{},{:.2},{:.2},{:.2},{:.2},{:.2},{:.2},{:.2},{:.2}",
        row.time_total,
        row.threads_running,
        row.per_s(row.events),
        row.per_s(row.queries()),
        row.per_s(row.reads),
        row.per_s(row.writes),
        row.per_s(row.other),
        row.latency_pct * 1e3,
        row.per_s(row.errors),
        row.per_s(row.reconnects),
    )
}

/// `sysbench.report_json`: one object of an array, indented, without line end. What opens, parts and
/// closes the array: [`JSON_OPEN`], [`JSON_NEXT`], [`JSON_CLOSE`].
pub fn report_json(row: &Row) -> String {
    format!(
        r#"  {{
    "time": {:4.0},
    "threads": {},
    "tps": {:.2},
    "qps": {{
      "total": {:.2},
      "reads": {:.2},
      "writes": {:.2},
      "other": {:.2}
    }},
    "latency": {:.2},
    "errors": {:.2},
    "reconnects": {:.2}
  }}"#,
        row.time_total,
        row.threads_running,
        row.per_s(row.events),
        row.per_s(row.queries()),
        row.per_s(row.reads),
        row.per_s(row.writes),
        row.per_s(row.other),
        row.latency_pct * 1e3,
        row.per_s(row.errors),
        row.per_s(row.reconnects),
    )
}

/// Before an array's first object.
pub const JSON_OPEN: &str = "[\n";
/// Between two objects.
pub const JSON_NEXT: &str = ",\n";
/// After the last object.
pub const JSON_CLOSE: &str = "\n]\n";
