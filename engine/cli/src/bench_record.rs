//! `dyno-engine bench-record`: what recording one operation costs, beside two reads of the clock,
//! which is what measuring costs any client.

use crate::output;
use dyno_core::clock::{Clock, MonotonicClock};
use dyno_generator::metrics::group::GroupMetrics;
use std::hint::black_box;

/// Operations a round: so few that most rounds are not interrupted on a busy machine.
const OPERATIONS: u64 = 2_000;
/// Rounds; the median counts.
const ROUNDS: usize = 2_001;

/// Runs the command; returns the exit code.
pub fn main() -> i32 {
    let clock = MonotonicClock;
    let clock_ns = clock.read_cost_ns();
    let recorder = GroupMetrics::new(16);
    // Latencies as they come: mostly near a median, a few far away.
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

/// Nanoseconds an operation, the median of all rounds.
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
