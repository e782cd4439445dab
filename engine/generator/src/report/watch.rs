//! What a trial's reporter does while load threads work: it waits, and reads them at each tick and
//! interval, until the time is over, enough has been measured, or a signal comes.

use crate::report::ticks::{Phase, TICK_NS};
use crate::report::{Ended, Reporter};
use dyno_core::clock::{Clock, MonotonicClock};
use std::io::Write;
use std::time::Duration;

/// The measured phase does not end sooner than this after the decision: by then the load threads know.
const NOTICE_NS: u64 = TICK_NS / 2;
/// Longest sleep: bounds how late a signal is noticed.
const SLEEP_MAX: Duration = Duration::from_millis(10);

/// When the phases of a trial begin and end, on its clock.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// When the load begins, and the warm-up with it.
    pub origin_ns: u64,
    /// When the measured phase begins.
    pub measure_ns: u64,
    /// When it ends at the latest.
    pub end_ns: u64,
    /// Length of an interval.
    pub interval_ns: u64,
}

/// See the module.
pub struct Watch<'a> {
    /// Whether the trial is to end there and then.
    pub is_interrupted: &'a dyn Fn() -> bool,
    /// Whether somebody has said, since it was last asked, that enough has been measured.
    pub enough: &'a dyn Fn() -> bool,
    /// Whether nothing is left to measure: the phase ends at once, within an interval.
    pub is_over: &'a dyn Fn() -> bool,
}

impl Watch<'_> {
    /// Reports warm-up and measured phase. When enough has been measured, `end_at` is told when the
    /// measured phase ends, a little before it does. How it ended, and when.
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

    /// Ticks and intervals of one phase; false when interrupted, after a last, shorter interval.
    /// `look`, called with the phase and the end of the interval under way, may let the phase end
    /// there, or at once: then it answers true.
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

    /// Sleeps until then, or until nothing is left to measure; false when interrupted.
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
