use super::*;
use crate::tally::Sort;

fn form(kind: Kind) -> Form {
    Form {
        compat: Compat::V1_0,
        kind,
        percentiles: Percentiles::parse("95").expect("a percentile"),
        histogram: false,
        rated: false,
    }
}

/// Two sessions that took half a second for each of their three and one events.
fn tallies() -> Tallies {
    let tallies = Tallies::new(2, 1);
    for session in [0, 0, 0, 1] {
        event(&tallies, session);
    }
    tallies
}

fn event(tallies: &Tallies, session: usize) {
    let tally = &tallies.sessions[session];
    for sort in [Sort::Read, Sort::Read, Sort::Write, Sort::Other] {
        tally.statement(sort);
    }
    tally.bytes_read.add(2 << 20);
    tally.bytes_written.add(1 << 20);
    tally.busy_ns.add(500_000_000);
    tally.events.add(1);
    tallies.threads[0].events.record(500_000_000);
    tallies.threads[0].responses.record(750_000_000);
}

fn stat(rated: bool) -> Stat {
    let tallies = tallies();
    tallies.sessions[0].uses_database();
    tallies.sessions[1].errors.add(1);
    tallies.sessions[1].reconnects.add(3);
    tallies.threads[0].error("1213");
    let gauges = Gauges { threads_running: 2, queue_length: 7, concurrency: 1 };
    Stat { time_total_s: 4.0004, time_interval_s: 2.0, gauges, counts: tallies.read(), rated }
}

#[test]
fn an_interval_of_each_kind() {
    let line = |kind| text::interval(&form(kind), &stat(false));
    assert_eq!(
        line(Kind::Script),
        "[ 4s ] thds: 2 tps: 2.00 qps: 8.00 (r/w/o: 4.00/2.00/2.00) lat (ms,95%): 500.00 \
         err/s: 0.50 reconn/s: 1.50\n"
    );
    for kind in [Kind::Cpu, Kind::Threads, Kind::Mutex] {
        assert_eq!(line(kind), "[ 4s ] thds: 2 eps: 2.00 lat (ms,95%): 500.00\n");
    }
    assert_eq!(
        line(Kind::Memory { block_bytes: 3 << 20, transfers: true }),
        "[ 4s ] 6.00 MiB/sec\n"
    );
    assert_eq!(
        line(Kind::Fileio),
        "[ 4s ] reads: 4.00 MiB/s writes: 2.00 MiB/s fsyncs: 2.00/s latency (ms,95%): 500.000\n"
    );
}

#[test]
fn several_percentiles_each_stand_as_one_does_and_none_is_told_as_0() {
    let several = Form {
        percentiles: Percentiles::parse("50,99.9").expect("percentiles"),
        ..form(Kind::Script)
    };
    let none = Form { percentiles: Percentiles::parse("0").expect("none"), ..form(Kind::Script) };
    let mut stat = stat(false);
    stat.counts.has_database = false;
    assert_eq!(
        text::interval(&several, &stat),
        "[ 4s ] thds: 2 eps: 2.00 lat (ms,50%): 500.00 lat (ms,99.9%): 500.00\n"
    );
    assert_eq!(text::interval(&none, &stat), "[ 4s ] thds: 2 eps: 2.00 lat (ms,0%): 0.00\n");
    let latency = |form| {
        let text = text::cumulative(form, &stat);
        let from = text.find("Latency (ms)").expect("latencies");
        text[from..].lines().skip(4).take(2).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        latency(&several),
        [
            "         50th percentile:                      500.00",
            "         99.9th percentile:                    500.00",
        ]
    );
    assert_eq!(latency(&none)[0], "         percentile stats:               disabled");
}

#[test]
fn with_a_rate_latencies_count_from_when_events_were_due() {
    let rated = |kind| Form { rated: true, ..form(kind) };
    let line = text::interval(&rated(Kind::Script), &stat(true));
    assert!(line.contains(" lat (ms,95%): 750.00 "), "{line}");
    assert!(line.ends_with("\n[ 4s ] queue length: 7, concurrency: 1\n"), "{line}");
    assert_eq!(
        text::interval(&rated(Kind::Cpu), &stat(true)),
        "[ 4s ] thds: 2 eps: 2.00 lat (ms,95%): 750.00\n[ 4s ] queue length: 7 concurrency: 1\n"
    );
}

const GENERAL: &str = "
General statistics:
    total time:                          4.0004s
    total number of events:              4
";
const THROUGHPUT: &str = "
Throughput:
    events/s (eps):                      2.0000
    time elapsed:                        4.0004s
    total number of events:              4
";
const LATENCY: &str = "
Latency (ms):
         min:                                  500.00
         avg:                                  500.00
         max:                                  500.00
         95th percentile:                      500.00
         sum:                                 2000.00
";
const FAIRNESS: &str = "
Threads fairness:
    events (avg/stddev):           2.0000/1.00
    execution time (avg/stddev):   1.0000/0.50
";
const CODES: &str = "
Errors by code:
    1213:                                1

";

#[test]
fn the_final_report_of_a_database_test() {
    let work = "SQL statistics:
    queries performed:
        read:                            8
        write:                           4
        other:                           4
        total:                           16
    transactions:                        4      (2.00 per sec.)
    queries:                             16     (8.00 per sec.)
    ignored errors:                      1      (0.50 per sec.)
    reconnects:                          3      (1.50 per sec.)
";
    let form = form(Kind::Script);
    let expected = [work, GENERAL, LATENCY, FAIRNESS, CODES].concat();
    assert_eq!(text::cumulative(&form, &stat(false)), expected);
    let form = Form { compat: Compat::V1_1, ..form };
    let expected = [work, THROUGHPUT, LATENCY, FAIRNESS, CODES].concat();
    assert_eq!(text::cumulative(&form, &stat(false)), expected);
}

#[test]
fn the_final_reports_of_native_tests() {
    let memory = |transfers| Kind::Memory { block_bytes: 512 << 10, transfers };
    let cases = [
        (Kind::Threads, ""),
        (Kind::Mutex, ""),
        (Kind::Cpu, "CPU speed:\n    events per second:     2.00\n"),
        (
            memory(true),
            "Total operations: 4 (    2.00 per second)\n\n2.00 MiB transferred (1.00 MiB/sec)\n\n",
        ),
        (memory(false), "Total operations: 4 (    2.00 per second)\n\n\n"),
        (
            Kind::Fileio,
            "
File operations:
    reads/s:                      4.00
    writes/s:                     2.00
    fsyncs/s:                     2.00

Throughput:
    read, MiB/s:                  4.00
    written, MiB/s:               2.00
",
        ),
    ];
    for (kind, work) in cases {
        let expected = [work, GENERAL, LATENCY, FAIRNESS, CODES].concat();
        assert_eq!(text::cumulative(&form(kind), &stat(false)), expected);
    }
    let form = Form { compat: Compat::V1_1, ..form(Kind::Fileio) };
    let work = "
Throughput:
         read:  IOPS=4.00 4.00 MiB/s (4.19 MB/s)
         write: IOPS=2.00 2.00 MiB/s (2.10 MB/s)
         fsync: IOPS=2.00
";
    assert_eq!(text::cumulative(&form, &stat(false)), [work, LATENCY, CODES].concat());
}

#[test]
fn the_histogram_stands_first() {
    let form = Form { histogram: true, ..form(Kind::Mutex) };
    let bar = "*".repeat(40);
    let expected = format!(
        "Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
     502.204 |{bar} 4
 
"
    );
    assert!(text::cumulative(&form, &stat(false)).starts_with(&expected));
}

#[test]
fn nothing_done_is_told_as_zeros() {
    let stat = Stat { counts: Tallies::new(1, 1).read(), ..Stat::default() };
    let text = text::cumulative(&form(Kind::Script), &stat);
    assert!(text.contains("min:                                    0.00"), "{text}");
    assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    assert!(text.ends_with("/0.00\n\n") && !text.contains("code"), "{text}");
}

#[test]
fn the_whole_as_json() {
    let (form, stat) = (Form { rated: true, ..form(Kind::Script) }, stat(true));
    let interval = [json::part(&form, &stat)];
    let whole = json::Whole {
        test: "my.lua",
        form: &form,
        total: &stat,
        intervals: &interval,
        failure: None,
    };
    let value = whole.value();
    assert_eq!(value["version"], json::VERSION);
    assert_eq!(value["threads"], 2);
    assert_eq!(value["total"]["errors_by_code"]["1213"], 1);
    assert_eq!(value["total"]["queries_per_s"], 8.0);
    assert_eq!(value["total"]["latency_ms"]["percentiles"]["95"], 500.0);
    assert_eq!(value["total"]["response_ms"]["max"], 750.0);
    assert_eq!(value["sessions"][1]["events"], 1);
    assert_eq!(value["intervals"][0], value["total"]);
    assert!(value["failure"].is_null());
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("result.json");
    whole.write(&path).expect("a file");
    let written = std::fs::read_to_string(&path).expect("a text");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&written).expect("JSON"), value);
    let error = whole.write(&path.join("below")).expect_err("a file is no directory");
    assert!(error.to_string().contains("result.json/below"), "{error}");
}
