//! `dyno-engine bench-record`: measures the cost of recording one operation, next to that of two clock
//! reads, which any client needs for a latency.

use crate::output;
use dyno_core::clock::{Clock, MonotonicClock};
use dyno_generator::metrics::group::GroupMetrics;
use std::hint::black_box;

/// Operations per round, few enough that most rounds are not preempted on a busy machine.
const OPERATIONS: u64 = 2_000;
/// Number of rounds, of which the median is reported.
const ROUNDS: usize = 2_001;

/// Runs the command; returns the exit code.
pub fn main() -> i32 {
    let clock = MonotonicClock;
    let clock_ns = clock.read_cost_ns();
    let recorder = GroupMetrics::new(16);
    // Realistic latencies: most near the median, a few far above.
    let values: Vec<u64> = (0..4096_u64)
        .map(|n| {
            let spread = n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48;
            if n % 100 == 0 { 1_000_000 + spread * 100 } else { 60_000 + spread }
        })
        .collect();
    let record = median(|| {
        for n in 0..OPERATIONS {
            let value = black_box(values[(n % 4096) as usize]);
            record_one(&recorder, n, value);
        }
    });
    let whole = median(|| {
        for n in 0..OPERATIONS {
            let start_ns = clock.now_ns();
            let value = clock.now_ns() - start_ns + black_box(values[(n % 4096) as usize]);
            record_one(&recorder, n, value);
        }
    });
    let bar_ns = 2.0 * clock_ns + 50.0;
    output::text(&format!(
        "clock read               {clock_ns:8.1} ns\n\
         recording one operation  {record:8.1} ns (class and transaction histograms, counters)\n\
         with its two clock reads {whole:8.1} ns (bar: two clock reads + 50 ns = {bar_ns:.1} ns)\n"
    ))
}

fn record_one(recorder: &GroupMetrics, n: u64, value_ns: u64) {
    recorder.entry(|to| {
        to.classes[(n % 16) as usize].record(value_ns);
        to.commit(value_ns, 1, 1);
    });
}

/// Median over all rounds of the time per operation, ns.
fn median(mut work: impl FnMut()) -> f64 {
    let clock = MonotonicClock;
    let mut rounds: Vec<u64> = (0..ROUNDS)
        .map(|_| {
            let start_ns = clock.now_ns();
            work();
            clock.now_ns() - start_ns
        })
        .collect();
    rounds.sort_unstable();
    rounds[ROUNDS / 2] as f64 / OPERATIONS as f64
}
