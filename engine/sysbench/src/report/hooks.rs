//! The data that `sysbench.hooks.report_intermediate` and `report_cumulative` receive, and the texts
//! that `sysbench.report_default`, `report_csv` and `report_json` format from it. Times are in
//! seconds.
//!
//! JSON is an array that many calls print together. There is one console and thus one array at a
//! time: whether the array is open is state of the process, not of a session.

use super::{Form, Stat};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// The fields of the table that hooks receive, in the units that scripts expect.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Row {
    /// Seconds since the begin.
    pub time_total: f64,
    /// Length of the interval of the counts, seconds.
    pub time_interval: f64,
    /// Sessions that have not ended.
    pub threads_running: f64,
    /// Completed events.
    pub events: f64,
    /// Statements that returned rows.
    pub reads: f64,
    /// Statements that changed rows.
    pub writes: f64,
    /// All other statements.
    pub other: f64,
    /// Errors that were ignored.
    pub errors: f64,
    /// Reconnects.
    pub reconnects: f64,
    /// Bytes read by native tests.
    pub bytes_read: f64,
    /// Bytes written by native tests.
    pub bytes_written: f64,
    /// The first percentile requested, seconds; 0 if none is.
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

/// All fields by name.
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
    /// Creates the fields from a difference of tallies.
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
            latency_pct: form
                .percentiles
                .first()
                .map_or(0.0, |p| seconds(latency.percentile_ns(p))),
            latency_min: if is_none { 0.0 } else { seconds(latency.min_ns) },
            latency_max: seconds(latency.max_ns),
            latency_avg: latency.histogram.mean_ns() / 1e9,
            latency_sum: seconds(latency.histogram.sum_ns()),
            queue_length: stat.gauges.queue_length as f64,
            concurrency: stat.gauges.concurrency as f64,
        }
    }

    /// The fields by name, to fill a table.
    pub fn fields(mut self) -> impl Iterator<Item = (&'static str, f64)> {
        FIELDS.iter().map(move |(name, field)| (*name, *field(&mut self)))
    }

    /// Reads the fields of a table from a script; `get` returns a field's value, 0 if it is missing.
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

/// The format of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A human-readable line.
    Default,
    /// A line of comma-separated numbers.
    Csv,
    /// A JSON object, an element of an array.
    Json,
}

/// A JSON array that many calls print together.
struct Array {
    is_open: AtomicBool,
}

/// The array on the console.
static ARRAY: Array = Array::new();

impl Array {
    const fn new() -> Self {
        Self { is_open: AtomicBool::new(false) }
    }

    fn next(&self, row: &Row) -> String {
        let before = if self.is_open.swap(true, Relaxed) { ",\n" } else { "[\n" };
        format!("{before}{}", json(row))
    }

    fn close(&self) -> &'static str {
        if self.is_open.swap(false, Relaxed) { "\n]\n" } else { "" }
    }
}

/// Formats what `sysbench.report_default`, `report_csv` and `report_json` print. `rank`: the rank of
/// the percentile `latency_pct`.
pub fn report(format: Format, row: &Row, rank: f64) -> String {
    match format {
        Format::Default => default(row, rank),
        Format::Csv => csv(row),
        Format::Json => ARRAY.next(row),
    }
}

/// Returns the text to print after the last interval and after the final report: the end of the
/// array, if one was begun.
pub fn close() -> &'static str {
    ARRAY.close()
}

/// Events, statements, reads, writes and others per second; latency in ms; errors and reconnects per
/// second.
fn figures(row: &Row) -> [f64; 8] {
    [
        row.per_s(row.events),
        row.per_s(row.queries()),
        row.per_s(row.reads),
        row.per_s(row.writes),
        row.per_s(row.other),
        row.latency_pct * 1e3,
        row.per_s(row.errors),
        row.per_s(row.reconnects),
    ]
}

fn default(row: &Row, rank: f64) -> String {
    let [tps, qps, reads, writes, other, latency, errors, reconnects] = figures(row);
    format!(
        "[ {:.0}s ] thds: {} tps: {tps:.2} qps: {qps:.2} (r/w/o: {reads:.2}/{writes:.2}/{other:.2}) lat (ms,{rank}%): {latency:.2} \
         err/s {errors:.2} reconn/s: {reconnects:.2}\n",
        row.time_total, row.threads_running,
    )
}

/// Time, threads, events, statements, reads, writes, others, latency in ms, errors, reconnects;
/// counts are per second.
fn csv(row: &Row) -> String {
    let [tps, qps, reads, writes, other, latency, errors, reconnects] = figures(row);
    format!(
        "{:.0},{},{tps:.2},{qps:.2},{reads:.2},{writes:.2},{other:.2},{latency:.2},{errors:.2},{reconnects:.2}\n",
        row.time_total, row.threads_running,
    )
}

/// Without a line end: a comma or the end of the array follows.
fn json(row: &Row) -> String {
    let [tps, qps, reads, writes, other, latency, errors, reconnects] = figures(row);
    format!(
        r#"  {{
    "time": {:4.0},
    "threads": {},
    "tps": {tps:.2},
    "qps": {{
      "total": {qps:.2},
      "reads": {reads:.2},
      "writes": {writes:.2},
      "other": {other:.2}
    }},
    "latency": {latency:.2},
    "errors": {errors:.2},
    "reconnects": {reconnects:.2}
  }}"#,
        row.time_total, row.threads_running,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: Row = Row {
        time_total: 4.0004,
        time_interval: 2.0,
        threads_running: 3.0,
        events: 21.0,
        reads: 42.0,
        writes: 21.0,
        other: 1.0,
        errors: 1.0,
        reconnects: 2.0,
        bytes_read: 0.0,
        bytes_written: 0.0,
        latency_pct: 0.012_345,
        latency_min: 0.001,
        latency_max: 0.02,
        latency_avg: 0.01,
        latency_sum: 0.2,
        queue_length: 5.0,
        concurrency: 6.0,
    };

    #[test]
    fn lines_for_people_and_for_programs() {
        assert_eq!(
            report(Format::Default, &ROW, 99.0),
            "[ 4s ] thds: 3 tps: 10.50 qps: 32.00 (r/w/o: 21.00/10.50/0.50) lat (ms,99%): 12.35 \
             err/s 0.50 reconn/s: 1.00\n"
        );
        assert_eq!(
            report(Format::Csv, &ROW, 99.0),
            "4,3,10.50,32.00,21.00,10.50,0.50,12.35,0.50,1.00\n"
        );
    }

    #[test]
    fn an_array_is_begun_once_and_closed_once() {
        let object = "  {
    \"time\":    4,
    \"threads\": 3,
    \"tps\": 10.50,
    \"qps\": {
      \"total\": 32.00,
      \"reads\": 21.00,
      \"writes\": 10.50,
      \"other\": 0.50
    },
    \"latency\": 12.35,
    \"errors\": 0.50,
    \"reconnects\": 1.00
  }";
        let array = Array::new();
        let printed = [(); 2].map(|()| array.next(&ROW)).concat() + array.close() + array.close();
        assert_eq!(printed, format!("[\n{object},\n{object}\n]\n"));
        let parsed: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
        assert_eq!(parsed[1]["qps"]["reads"], 21.0);
    }

    #[test]
    fn a_table_gives_back_what_it_was_made_of() {
        let table: std::collections::BTreeMap<&str, f64> = ROW.fields().collect();
        assert_eq!(Row::read(|name| table[name]), ROW);
        assert_eq!(Row::read(|_| 0.0), Row::default());
    }

    #[test]
    fn no_time_gives_no_rates() {
        let row = Row { time_interval: 0.0, ..ROW };
        assert!(report(Format::Csv, &row, 95.0).starts_with("4,3,0.00,0.00"));
    }
}
