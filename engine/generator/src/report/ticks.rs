//! Ends of a phase's intervals and ticks, and the ticks that a late reporter has missed.
//!
//! Intervals end on a grid that the phase defines. An interval that is read late ends when it is read,
//! and the next one begins there: both have as many ticks as their real lengths. Otherwise the lateness
//! of the reporter would look like a burst of the system, followed by a stall.

/// Length of a tick, the unit in which commits are counted to find stalls.
pub const TICK_NS: u64 = 100_000_000;

/// A phase, divided into intervals.
#[derive(Debug, Clone, Copy)]
pub struct Phase {
    /// When it begins.
    pub start_ns: u64,
    /// When it ends, together with an interval.
    pub end_ns: u64,
    /// Length of its intervals.
    pub interval_ns: u64,
}

/// The current interval.
#[derive(Debug)]
pub struct Interval {
    begun_ns: u64,
    end_ns: u64,
    /// Number of its ticks if it is read in time, and number of those reported.
    ticks: u64,
    told: u64,
}

impl Phase {
    /// The interval that begins at `begun_ns`, when the one before was read. A remainder shorter than half a
    /// tick, of an interval or of the phase, belongs to the interval before.
    pub fn interval(&self, begun_ns: u64) -> Interval {
        let since_ns = (begun_ns + TICK_NS / 2).saturating_sub(self.start_ns);
        let end_ns = self.start_ns + (since_ns / self.interval_ns + 1) * self.interval_ns;
        let end_ns = if end_ns + TICK_NS / 2 > self.end_ns { self.end_ns } else { end_ns };
        let ticks = rounded(end_ns.saturating_sub(begun_ns)).max(1);
        Interval { begun_ns, end_ns, ticks, told: 0 }
    }
}

impl Interval {
    /// The same interval with an earlier end.
    #[must_use]
    pub fn cut(self, end_ns: u64) -> Self {
        let ticks = rounded(end_ns.saturating_sub(self.begun_ns)).max(self.told).max(1);
        Self { end_ns, ticks, ..self }
    }

    /// When it ends.
    pub fn end_ns(&self) -> u64 {
        self.end_ns
    }

    /// End of the next unreported tick; the last one ends with the interval.
    pub fn tick_end_ns(&self) -> u64 {
        self.end_ns - (self.ticks - self.told).saturating_sub(1) * TICK_NS
    }

    /// Number of ticks that have ended since the last call; `None` when the interval itself has ended.
    pub fn pass(&mut self, now_ns: u64) -> Option<u64> {
        let left_ns = self.end_ns.checked_sub(now_ns).filter(|&left_ns| left_ns > 0)?;
        let passed = self.ticks.saturating_sub(left_ns.div_ceil(TICK_NS)).max(self.told);
        Some(passed - std::mem::replace(&mut self.told, passed))
    }

    /// Number of unreported ticks of an interval that is read at `now_ns`, late or before its end.
    pub fn rest(&self, now_ns: u64) -> u64 {
        let told_ns = match self.told {
            0 => self.begun_ns,
            told => self.end_ns - (self.ticks - told) * TICK_NS,
        };
        rounded(now_ns.saturating_sub(told_ns)).max(1)
    }
}

/// Length in ticks, rounded.
fn rounded(length_ns: u64) -> u64 {
    (length_ns + TICK_NS / 2) / TICK_NS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const T: u64 = TICK_NS;
    /// A time well after the clock began.
    const START: u64 = 1000 * T;

    fn phase(length_ns: u64, interval_ns: u64) -> Phase {
        Phase { start_ns: START, end_ns: START + length_ns, interval_ns }
    }

    /// Reads the interval at each of these times; returns the ticks reported there and at its end.
    fn told(interval: &mut Interval, looks: &[u64]) -> Vec<(Option<u64>, u64)> {
        let look = |&at_ns: &u64| (interval.pass(START + at_ns), interval.rest(START + at_ns));
        looks.iter().map(look).collect()
    }

    #[test]
    fn who_comes_in_time_tells_tick_by_tick() {
        let mut interval = phase(30 * T, 10 * T).interval(START + 50_000);
        assert_eq!((interval.end_ns(), interval.tick_end_ns()), (START + 10 * T, START + T));
        assert_eq!(interval.pass(START + T - 1), Some(0));
        for tick in 1..10 {
            assert_eq!(interval.tick_end_ns(), START + tick * T);
            assert_eq!(interval.pass(START + tick * T + 90_000), Some(1));
        }
        assert_eq!(interval.tick_end_ns(), START + 10 * T);
        assert_eq!(told(&mut interval, &[10 * T + 5]), [(None, 1)]);
        assert_eq!(phase(30 * T, 10 * T).interval(START + 10 * T + 5).end_ns(), START + 20 * T);
    }

    #[test]
    fn who_comes_late_tells_all_that_passed() {
        let phase = phase(30 * T, 10 * T);
        let mut interval = phase.interval(START);
        assert_eq!(interval.pass(START + 5 * T), Some(5));
        // 8 ticks late, beyond the end: the interval has 13 ticks, and the next one the other 7.
        assert_eq!(told(&mut interval, &[13 * T + 7]), [(None, 8)]);
        let mut next = phase.interval(START + 13 * T + 7);
        assert_eq!((next.end_ns(), next.tick_end_ns()), (START + 20 * T, START + 14 * T));
        assert_eq!(told(&mut next, &[20 * T]), [(None, 7)]);
        // So late that the next interval would end at once: it is part of the one after.
        let next = phase.interval(START + 20 * T - T / 3);
        assert_eq!((next.end_ns(), next.ticks), (START + 30 * T, 10));
    }

    #[test]
    fn a_phase_ends_with_an_interval_however_short() {
        let odd = phase(10 * T + T / 3, 10 * T);
        assert_eq!(odd.interval(START).end_ns(), odd.end_ns);
        let odd = phase(12 * T + T / 3, 10 * T);
        let last = odd.interval(START + 10 * T);
        assert_eq!((last.end_ns(), last.ticks), (odd.end_ns, 2));
        // The interval before was read after the end of the phase, or just before.
        for late_ns in [12 * T + T / 3 - 1, 12 * T + T / 3, 50 * T] {
            let mut last = odd.interval(START + late_ns);
            assert_eq!((last.end_ns(), last.ticks), (odd.end_ns, 1));
            assert_eq!(last.pass(START + 50 * T), None);
        }
    }

    #[test]
    fn a_signal_ends_an_interval_early() {
        let mut interval = phase(30 * T, 10 * T).interval(START);
        assert_eq!(interval.rest(START + 5), 1);
        assert_eq!(interval.pass(START + 2 * T), Some(2));
        assert_eq!((interval.rest(START + 2 * T + 5), interval.rest(START + 4 * T)), (1, 2));
    }

    proptest! {
        /// The reported ticks match the elapsed time, however late the reporter is.
        #[test]
        fn ticks_are_as_long_as_the_time_that_they_stand_for(
            interval_ns in T..=30 * T,
            length_ns in T..=100 * T,
            lateness in prop::collection::vec(0..3 * T, 200),
        ) {
            let phase = phase(length_ns, interval_ns);
            let mut late = lateness.into_iter().cycle();
            let mut begun_ns = START;
            loop {
                let (mut interval, mut ticks) = (phase.interval(begun_ns), 0);
                let read_ns = loop {
                    let now_ns = interval.tick_end_ns().max(begun_ns) + late.next().unwrap();
                    match interval.pass(now_ns) {
                        Some(passed) => ticks += passed,
                        None => break now_ns,
                    }
                };
                ticks += interval.rest(read_ns);
                let error_ns = (ticks * T).abs_diff(read_ns - begun_ns);
                prop_assert!(error_ns <= T, "{ticks} ticks in {} ns", read_ns - begun_ns);
                begun_ns = read_ns;
                if interval.end_ns() >= phase.end_ns {
                    break;
                }
            }
        }
    }
}
