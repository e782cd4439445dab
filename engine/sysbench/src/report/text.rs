//! The texts of a run: interval lines, checkpoint reports, the final report.

use super::{Compat, Form, Kind, Stat, histogram};
use std::fmt::Write as _;

const MIB: f64 = 1_048_576.0;
const MB: f64 = 1e6;

/// Formats one interval line, with its line end; with a rate, a second line shows the queue.
pub fn interval(form: &Form, stat: &Stat) -> String {
    let counts = &stat.counts;
    let time = format!("[ {:.0}s ]", stat.time_total_s);
    let threads = stat.gauges.threads_running;
    let (errors, reconnects) = (stat.per_s(counts.errors), stat.per_s(counts.reconnects));
    let is_sql = form.kind == Kind::Script && counts.has_database;
    let mut line = match form.kind {
        Kind::Script if is_sql => format!(
            "{time} thds: {threads} tps: {:.2} qps: {:.2} (r/w/o: {:.2}/{:.2}/{:.2}){} \
             err/s: {errors:.2} reconn/s: {reconnects:.2}\n",
            stat.per_s(counts.events),
            stat.per_s(counts.queries()),
            stat.per_s(counts.reads),
            stat.per_s(counts.writes),
            stat.per_s(counts.others),
            percentiles(form, stat, "lat", 2),
        ),
        // Without transfers, shows the bytes that they would have moved, as sysbench does.
        Kind::Memory { block_bytes, .. } => {
            format!("{time} {:.2} MiB/sec\n", stat.per_s(counts.events * block_bytes) / MIB)
        }
        Kind::Fileio => format!(
            "{time} reads: {:.2} MiB/s writes: {:.2} MiB/s fsyncs: {:.2}/s{}\n",
            stat.per_s(counts.bytes_read) / MIB,
            stat.per_s(counts.bytes_written) / MIB,
            stat.per_s(counts.others),
            percentiles(form, stat, "latency", 3),
        ),
        Kind::Script | Kind::Cpu | Kind::Threads | Kind::Mutex => format!(
            "{time} thds: {threads} eps: {:.2}{}\n",
            stat.per_s(counts.events),
            percentiles(form, stat, "lat", 2),
        ),
    };
    if form.rated {
        // The comma is sysbench's, for databases only.
        let comma = if is_sql { "," } else { "" };
        let (length, concurrency) = (stat.gauges.queue_length, stat.gauges.concurrency);
        put(
            &mut line,
            format_args!("{time} queue length: {length}{comma} concurrency: {concurrency}\n"),
        );
    }
    line
}

/// ` lat (ms,95%): 1.23`, once per percentile; the first stays where parsers expect it. Without any,
/// sysbench shows percentile 0 as 0.
fn percentiles(form: &Form, stat: &Stat, label: &str, digits: usize) -> String {
    let ranks = form.percentiles.ranks();
    let mut out = String::new();
    if ranks.is_empty() {
        put(&mut out, format_args!(" {label} (ms,0%): {:.digits$}", 0.0));
    }
    for &rank in ranks {
        let ms = stat.latency().percentile_ns(rank) as f64 / 1e6;
        put(&mut out, format_args!(" {label} (ms,{rank}%): {ms:.digits$}"));
    }
    out
}

/// The header of a checkpoint report.
pub fn checkpoint_heading(stat: &Stat) -> String {
    format!("[ {:.0}s ] Checkpoint report:\n", stat.time_total_s)
}

/// The final report: rates are since the last checkpoint, the total time is since the begin.
pub fn cumulative(form: &Form, stat: &Stat) -> String {
    let mut out = String::new();
    if form.histogram {
        out += "Latency histogram (values are in milliseconds)\n";
        out += &histogram::draw_latencies(stat.latency());
        out += " \n";
    }
    put_work(&mut out, form, stat);
    let is_short = form.kind == Kind::Fileio && form.compat == Compat::V1_1;
    if !is_short {
        put_general(&mut out, form, stat);
    }
    put_latency(&mut out, form, stat);
    if !is_short {
        put_fairness(&mut out, stat);
    }
    put_codes(&mut out, stat);
    out.push('\n');
    out
}

/// The counts, in the wording of the kind of test.
fn put_work(out: &mut String, form: &Form, stat: &Stat) {
    let counts = &stat.counts;
    match form.kind {
        Kind::Script if counts.has_database => put_sql(out, stat),
        Kind::Cpu => put(
            out,
            format_args!("CPU speed:\n    events per second: {:8.2}\n", stat.per_s(counts.events)),
        ),
        Kind::Memory { block_bytes, transfers } => {
            put(
                out,
                format_args!(
                    "Total operations: {} ({:8.2} per second)\n\n",
                    counts.events,
                    stat.per_s(counts.events)
                ),
            );
            if transfers {
                let bytes = counts.events * block_bytes;
                let (mib, mib_per_s) = (bytes as f64 / MIB, stat.per_s(bytes) / MIB);
                put(out, format_args!("{mib:.2} MiB transferred ({mib_per_s:.2} MiB/sec)\n"));
            }
            *out += "\n";
        }
        Kind::Fileio => put_fileio(out, form, stat),
        Kind::Script | Kind::Threads | Kind::Mutex => {}
    }
}

fn put_sql(out: &mut String, stat: &Stat) {
    let counts = &stat.counts;
    *out += "SQL statistics:\n    queries performed:\n";
    let totals = [
        ("read", counts.reads),
        ("write", counts.writes),
        ("other", counts.others),
        ("total", counts.queries()),
    ];
    for (label, count) in totals {
        put(out, format_args!("        {:<32} {count}\n", format!("{label}:")));
    }
    let rates = [
        ("transactions", counts.events),
        ("queries", counts.queries()),
        ("ignored errors", counts.errors),
        ("reconnects", counts.reconnects),
    ];
    for (label, count) in rates {
        let per_s = stat.per_s(count);
        put(
            out,
            format_args!("    {:<36} {count:<6} ({per_s:.2} per sec.)\n", format!("{label}:")),
        );
    }
}

fn put_fileio(out: &mut String, form: &Form, stat: &Stat) {
    let counts = &stat.counts;
    let per_s = [counts.reads, counts.writes, counts.others].map(|count| stat.per_s(count));
    let bytes_per_s = [counts.bytes_read, counts.bytes_written].map(|bytes| stat.per_s(bytes));
    match form.compat {
        Compat::V1_0 => {
            *out += "\nFile operations:\n";
            for (label, rate) in ["reads/s:", "writes/s:", "fsyncs/s:"].iter().zip(per_s) {
                put(out, format_args!("    {label:<29} {rate:.2}\n"));
            }
            *out += "\nThroughput:\n";
            for (label, rate) in ["read, MiB/s:", "written, MiB/s:"].iter().zip(bytes_per_s) {
                put(out, format_args!("    {label:<29} {:.2}\n", rate / MIB));
            }
        }
        Compat::V1_1 => {
            *out += "\nThroughput:\n";
            for (at, label) in ["read: ", "write:"].iter().enumerate() {
                let (rate, bytes) = (per_s[at], bytes_per_s[at]);
                put(
                    out,
                    format_args!(
                        "         {label} IOPS={rate:.2} {:.2} MiB/s ({:.2} MB/s)\n",
                        bytes / MIB,
                        bytes / MB
                    ),
                );
            }
            put(out, format_args!("         fsync: IOPS={:.2}\n", per_s[2]));
        }
    }
}

fn put_general(out: &mut String, form: &Form, stat: &Stat) {
    let (time_s, events) = (stat.time_total_s, stat.counts.events);
    match form.compat {
        Compat::V1_0 => put(
            out,
            format_args!(
                "\nGeneral statistics:\n    total time:                          {time_s:.4}s\n"
            ),
        ),
        Compat::V1_1 => put(
            out,
            format_args!(
                "\nThroughput:\n    events/s (eps):                      {:.4}\n    \
                 time elapsed:                        {time_s:.4}s\n",
                stat.per_s(events)
            ),
        ),
    }
    put(out, format_args!("    total number of events:              {events}\n"));
}

fn put_latency(out: &mut String, form: &Form, stat: &Stat) {
    let latency = stat.latency();
    let ms = |ns: u64| ns as f64 / 1e6;
    let min_ns = if latency.histogram.count() == 0 { 0 } else { latency.min_ns };
    *out += "\nLatency (ms):\n";
    let line = |out: &mut String, label: &str, ms: f64| {
        put(out, format_args!("         {label:<23}{ms:21.2}\n"));
    };
    line(out, "min:", ms(min_ns));
    line(out, "avg:", latency.histogram.mean_ns() / 1e6);
    line(out, "max:", ms(latency.max_ns));
    if form.percentiles.ranks().is_empty() {
        *out += "         percentile stats:               disabled\n";
    }
    for &rank in form.percentiles.ranks() {
        line(out, &format!("{rank}th percentile:"), ms(latency.percentile_ns(rank)));
    }
    line(out, "sum:", ms(latency.histogram.sum_ns()));
}

fn put_fairness(out: &mut String, stat: &Stat) {
    let sessions = &stat.counts.sessions;
    let events = mean_and_deviation(sessions.iter().map(|share| share.events as f64));
    let busy = mean_and_deviation(sessions.iter().map(|share| share.busy_ns as f64 / 1e9));
    put(
        out,
        format_args!(
            "\nThreads fairness:\n    events (avg/stddev):           {:.4}/{:.2}\n    \
             execution time (avg/stddev):   {:.4}/{:.2}\n",
            events.0, events.1, busy.0, busy.1
        ),
    );
}

/// Only if there are errors, and after all sections that sysbench has.
fn put_codes(out: &mut String, stat: &Stat) {
    let codes = &stat.counts.codes;
    if !codes.is_empty() {
        *out += "\nErrors by code:\n";
    }
    for (code, count) in codes {
        put(out, format_args!("    {:<36} {count}\n", format!("{code}:")));
    }
}

/// Of the whole population; zeros when it is empty.
fn mean_and_deviation(values: impl ExactSizeIterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.len().max(1) as f64;
    let mean = values.clone().sum::<f64>() / count;
    let variance = values.map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    (mean, variance.sqrt())
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = out.write_fmt(text);
}
