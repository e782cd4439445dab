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
    tallies.sessions[1].errors.add(1);
    tallies.sessions[1].reconnects.add(3);
    tallies.threads[0].error("1213");
    let gauges = Gauges { threads_running: 2, queue_length: 7, concurrency: 1 };
    Stat {
        time_total_s: 4.0004,
        time_interval_s: 2.0,
        gauges,
        counts: tallies.read(),
        rated,
    }
}

#[test]
fn an_interval_of_each_kind() {
    let line = |kind| text::interval(&form(kind), &stat(false));
    assert_eq!(
        line(Kind::Sql),
        "[ 4s ] thds: 2 tps: 2.00 qps: 8.00 (r/w/o: 4.00/2.00/2.00) lat (ms,95%): 500.00 \
         err/s: 0.50 reconn/s: 1.50\n"
    );
    for kind in [Kind::Plain, Kind::Cpu, Kind::Threads, Kind::Mutex] {
        assert_eq!(line(kind), "[ 4s ] thds: 2 eps: 2.00 lat (ms,95%): 500.00\n");
    }
    assert_eq!(line(Kind::Memory { transfers: true }), "[ 4s ] 6.00 MiB/sec\n");
    assert_eq!(
        line(Kind::Fileio),
        "[ 4s ] reads: 4.00 MiB/s writes: 2.00 MiB/s fsyncs: 2.00/s latency (ms,95%): 500.000\n"
    );
}
