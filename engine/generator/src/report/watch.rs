//! The reporter's loop during a trial: it waits, and reads the load threads' metrics at each tick and
//! interval, until the time ends, enough has been measured, or a signal comes.

use crate::report::ticks::{Phase, TICK_NS};
use crate::report::{Ended, Reporter};
use dyno_core::clock::{Clock, MonotonicClock};
use std::io::Write;
use std::time::Duration;

/// Minimum time from the decision to the end of the measured phase, so that the load threads are notified
/// before.
const NOTICE_NS: u64 = TICK_NS / 2;
/// Longest sleep: bounds the delay in noticing a signal.
const SLEEP_MAX: Duration = Duration::from_millis(10);

/// Times at which the phases of a trial begin and end, on its clock.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// Begin of the load and of the warm-up.
    pub origin_ns: u64,
    /// Begin of the measured phase.
    pub measure_ns: u64,
    /// Latest end of the measured phase.
    pub end_ns: u64,
    /// Length of an interval.
    pub interval_ns: u64,
}

/// The reporter's loop; see the module.
pub struct Watch<'a> {
    /// Whether the trial must end immediately.
    pub is_interrupted: &'a dyn Fn() -> bool,
    /// Whether a request to end the measured phase has come since the last call.
    pub enough: &'a dyn Fn() -> bool,
    /// Whether nothing is left to measure: the phase then ends at once, within an interval.
    pub is_over: &'a dyn Fn() -> bool,
}

impl Watch<'_> {
    /// Reports warm-up and measured phase. When enough has been measured, calls `end_at` with the end of the
    /// measured phase, shortly before it. Returns how and when the phase ended.
    pub fn phases<W: Write>(
        &self,
        reporter: &mut Reporter<'_, W>,
        times: Times,
        mut end_at: impl FnMut(u64),
    ) -> (Ended, u64) {
        let Times { origin_ns, measure_ns, end_ns, interval_ns } = times;
        let (mut finished, mut is_over) = (true, false);
        if measure_ns > origin_ns {
            let mut warmup = Phase { start_ns: origin_ns, end_ns: measure_ns, interval_ns };
            finished = self.report(reporter, &mut warmup, |_, _| false);
        }
        let mut measured = Phase { start_ns: measure_ns, end_ns, interval_ns };
        if finished {
            reporter.begin_measuring();
            let mut is_enough = false;
            let was_over = &mut is_over;
            (self.enough)();
            finished = self.report(reporter, &mut measured, |phase, interval_end_ns| {
                is_enough = is_enough || (self.enough)();
                let is_in_time = MonotonicClock.now_ns() + NOTICE_NS <= interval_end_ns;
                if is_enough && is_in_time && interval_end_ns < phase.end_ns {
                    phase.end_ns = interval_end_ns;
                    end_at(interval_end_ns);
                }
                let over_ns = MonotonicClock.now_ns() + 1;
                let is_over = over_ns < phase.end_ns && (self.is_over)();
                if is_over {
                    *was_over = true;
                    phase.end_ns = over_ns;
                    end_at(over_ns);
                }
                is_over
            });
        }
        let ended = match finished {
            false => Ended::Interrupted,
            true if measured.end_ns < end_ns && !is_over => Ended::Asked,
            true => Ended::InTime,
        };
        (ended, measured.end_ns)
    }

    /// Reports ticks and intervals of one phase; false when interrupted, after a last, shorter interval.
    /// `look` gets the phase and the end of the current interval. It may end the phase there, or at once
    /// by returning true.
    fn report<W: Write>(
        &self,
        reporter: &mut Reporter<'_, W>,
        phase: &mut Phase,
        mut look: impl FnMut(&mut Phase, u64) -> bool,
    ) -> bool {
        let clock = MonotonicClock;
        loop {
            let mut interval = phase.interval(reporter.read_ns());
            let (now_ns, finished) = loop {
                if look(phase, interval.end_ns()) {
                    interval = interval.cut(phase.end_ns);
                }
                let finished = self.sleep_until(interval.tick_end_ns());
                let now_ns = clock.now_ns();
                match if finished { interval.pass(now_ns) } else { None } {
                    Some(ticks) => reporter.tick(now_ns, ticks),
                    None => break (now_ns, finished),
                }
            };
            let is_last = !finished || interval.end_ns() == phase.end_ns;
            reporter.interval(now_ns, interval.rest(now_ns), is_last);
            if is_last {
                return finished;
            }
        }
    }

    /// Sleeps until `until_ns`, or until nothing is left to measure; false when interrupted.
    pub fn sleep_until(&self, until_ns: u64) -> bool {
        loop {
            if (self.is_interrupted)() {
                return false;
            }
            let left = Duration::from_nanos(until_ns.saturating_sub(MonotonicClock.now_ns()));
            if left.is_zero() || (self.is_over)() {
                return true;
            }
            std::thread::sleep(left.min(SLEEP_MAX));
        }
    }
}
