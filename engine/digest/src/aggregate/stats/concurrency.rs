//! Counts concurrent statements by a sweep over all begins and ends.
//!
//! Memory is bounded. If statements exceed it, only those that touch a sample of time stretches are
//! stored: one stretch in 2^n, selected by a hash of its number. Within these the sweep is exact.
//! The sample does not depend on the order of the statements.

use crate::aggregate::stats::timeline::SECOND_NS;
use crate::document;

/// The most statements that are stored.
const KEPT: usize = 1 << 20;
/// A stretch is 2^30 ns long: 1.07 s.
const STRETCH: u32 = 30;
/// A statement that touches more stretches than this is stored without a test of each stretch.
const LONG: i64 = 256;
/// A period of more stretches than this is not tested stretch by stretch: its sampled share is
/// accurate enough.
const FAR: u64 = 1 << 20;
/// Concurrency above this is counted as one level.
const LEVELS: usize = 4096;

/// Begins and ends of statements.
#[derive(Debug, Clone, Default)]
pub struct Running {
    /// Begin and end, nanoseconds since 1970.
    all: Vec<(i64, i64)>,
    /// One in 2^halvings stretches is sampled.
    halvings: u32,
    /// Number of statements added.
    added: u64,
    /// Number of these that begin or end at a full second, as in logs with a clock of full seconds.
    whole: u64,
}

/// A larger share of full seconds is not due to chance.
const WHOLE_SHARE: f64 = 0.01;
/// Fewer statements than this at full seconds may be due to chance, unless all are.
const WHOLE_LEAST: u64 = 3;

/// Whether a stretch is sampled.
#[inline]
fn is_chosen(stretch: i64, halvings: u32) -> bool {
    // The high bits of a product by an odd number mix all lower bits (Fibonacci hashing).
    let mixed = (stretch as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    halvings == 0 || mixed >> (64 - halvings.min(63)) == 0
}

#[inline]
fn touches(begin_ns: i64, end_ns: i64, halvings: u32) -> bool {
    let (first, last) = (begin_ns >> STRETCH, end_ns >> STRETCH);
    last - first > LONG || (first..=last).any(|stretch| is_chosen(stretch, halvings))
}

impl Running {
    /// Adds a statement.
    #[inline]
    pub fn add(&mut self, end_ns: i64, duration_ns: u64) {
        let begin_ns = end_ns.saturating_sub(i64::try_from(duration_ns).unwrap_or(i64::MAX));
        self.added += 1;
        let is_whole = end_ns % 1_000_000_000 == 0 || begin_ns % 1_000_000_000 == 0;
        self.whole += u64::from(is_whole);
        self.keep(begin_ns, end_ns);
    }

    #[inline]
    fn keep(&mut self, begin_ns: i64, end_ns: i64) {
        if self.all.len() == KEPT {
            self.halve();
        }
        if self.halvings == 0 || touches(begin_ns, end_ns, self.halvings) {
            self.all.push((begin_ns, end_ns));
        }
    }

    #[cold]
    fn halve(&mut self) {
        while self.all.len() >= KEPT && self.halvings < 40 {
            self.thin(self.halvings + 1);
        }
        // If so many statements are long that sampling does not help, any subset is stored.
        self.all.truncate(KEPT - 1);
    }

    fn thin(&mut self, halvings: u32) {
        self.halvings = halvings;
        self.all.retain(|&(begin_ns, end_ns)| touches(begin_ns, end_ns, halvings));
    }

    /// Merges other statements and empties them.
    pub fn merge(&mut self, other: &mut Running) {
        self.added += std::mem::take(&mut other.added);
        self.whole += std::mem::take(&mut other.whole);
        if self.halvings < other.halvings {
            self.thin(other.halvings);
        }
        if self.all.is_empty() && self.halvings == other.halvings {
            self.all = std::mem::take(&mut other.all);
        }
        for (begin_ns, end_ns) in std::mem::take(&mut other.all) {
            self.keep(begin_ns, end_ns);
        }
    }

    /// The time at each level of concurrency; `None` if no statement has both an end and a
    /// duration.
    pub fn concurrency(&self) -> Option<document::Concurrency> {
        if self.all.is_empty() {
            return None;
        }
        let (mut begins, mut ends): (Vec<i64>, Vec<i64>) = self.all.iter().copied().unzip();
        // Input is nearly sorted; the stable sort exploits that.
        std::thread::scope(|scope| {
            scope.spawn(|| begins.sort());
            ends.sort();
        });
        let (mut levels, mut max) = (Vec::new(), 0);
        let (mut begun, mut ended) = (0, 0);
        let mut at_ns = begins[0];
        while ended < ends.len() {
            // A statement that ends when another begins is not concurrent with it.
            let is_end = begun == begins.len() || ends[ended] <= begins[begun];
            let next_ns = if is_end { ends[ended] } else { begins[begun] };
            let level = begun.saturating_sub(ended);
            self.spend(&mut levels, level, at_ns, next_ns);
            at_ns = next_ns;
            if is_end {
                ended += 1
            } else {
                begun += 1
            }
            max = max.max(begun.saturating_sub(ended));
        }
        let scale = (1_u64 << self.halvings) as f64 / SECOND_NS;
        Some(document::Concurrency {
            seconds: levels.iter().map(|&ns| ns as f64 * scale).collect(),
            max: max as u64,
            clock_s: if self.has_full_seconds() { 1.0 } else { 0.0 },
            caveat: self.caveat(),
        })
    }

    /// Adds the sampled part of the time from `from_ns` to `to_ns`.
    fn spend(&self, levels: &mut Vec<u64>, level: usize, from_ns: i64, to_ns: i64) {
        let level = level.min(LEVELS);
        if levels.len() <= level {
            levels.resize(level + 1, 0);
        }
        let length_ns = to_ns.abs_diff(from_ns);
        if self.halvings == 0 || length_ns >> STRETCH > FAR {
            levels[level] += length_ns >> self.halvings;
            return;
        }
        let mut at_ns = from_ns;
        while at_ns < to_ns {
            let stretch = at_ns >> STRETCH;
            let end_ns = (stretch + 1).saturating_mul(1 << STRETCH).min(to_ns);
            if is_chosen(stretch, self.halvings) {
                levels[level] += end_ns.abs_diff(at_ns);
            }
            at_ns = end_ns;
        }
    }

    fn has_full_seconds(&self) -> bool {
        self.whole == self.added
            || self.whole >= WHOLE_LEAST && self.whole as f64 > self.added as f64 * WHOLE_SHARE
    }

    fn caveat(&self) -> Option<String> {
        let mut all = Vec::new();
        if self.has_full_seconds() {
            all.push(
                "the log tells when statements ran to the second only, so those of one second seem \
                 to run at once"
                    .to_owned(),
            );
        }
        if self.halvings > 0 {
            all.push(format!(
                "from one of {} stretches of 1.07 s, so the most is a lower bound",
                1_u64 << self.halvings
            ));
        }
        (!all.is_empty()).then(|| all.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    #[test]
    fn seconds_at_each_level_add_up_to_the_range() {
        let mut running = Running::default();
        // 0 to 4, 1 to 3.5, 6 to 7, all a bit later.
        running.add(4 * S + 3, 4 * S as u64);
        running.add(7 * S / 2 + 3, 5 * S as u64 / 2);
        running.add(7 * S + 3, S as u64);
        let found = running.concurrency().unwrap();
        assert_eq!(found.seconds, [2.0, 2.5, 2.5]);
        assert_eq!((found.max, found.caveat), (2, None));
    }

    #[test]
    fn one_after_the_other_is_never_two_at_once() {
        let mut running = Running::default();
        for end in 1..10 {
            running.add(end * S, S as u64);
        }
        let found = running.concurrency().unwrap();
        assert_eq!((found.seconds, found.max), (vec![0.0, 9.0], 1));
        assert!(found.caveat.unwrap().contains("to the second only"));
    }

    #[test]
    fn of_many_statements_some_stretches_stand_for_all() {
        let (mut all, mut left, mut right) =
            (Running::default(), Running::default(), Running::default());
        // Always two at once, for four hours.
        for n in 0..3 * KEPT as i64 {
            let end_ns = n * 5_000_001;
            all.add(end_ns, 10_000_002);
            if n % 3 == 0 { &mut left } else { &mut right }.add(end_ns, 10_000_002);
        }
        left.merge(&mut right);
        let (found, apart) = (all.concurrency().unwrap(), left.concurrency().unwrap());
        assert_eq!((found.max, &found.seconds), (2, &apart.seconds));
        let expected = 3.0 * KEPT as f64 * 0.005_000_001;
        assert!((found.seconds[2] / expected - 1.0).abs() < 0.1, "{:?}", found.seconds);
        assert!(found.caveat.unwrap().contains("one of"));
    }

    #[test]
    fn begins_at_full_seconds_are_a_clock_of_seconds_too() {
        let mut running = Running::default();
        // In fact sequential, but with times as in MariaDB's slow log.
        for n in 0..500 {
            running.add(S + n * 1_000, n as u64 * 1_000);
        }
        let found = running.concurrency().unwrap();
        assert!(found.max > 400 && found.caveat.as_ref().unwrap().contains("to the second only"));
        let mut fine = Running::default();
        for n in 0..500 {
            fine.add(S + n * 1_000_007, 1_000_000);
        }
        let fine = fine.concurrency().unwrap();
        assert_eq!((fine.clock_s, fine.caveat, found.clock_s), (0.0, None, 1.0));
    }

    #[test]
    fn one_full_second_among_few_statements_is_chance() {
        let clock_s = |others: i64, whole: i64| {
            let mut running = Running::default();
            (1..=others).for_each(|n| running.add(n * S + 7_001, 1_000));
            (1..=whole).for_each(|n| running.add(n * S, 1_000));
            running.concurrency().unwrap().clock_s
        };
        assert_eq!([clock_s(64, 1), clock_s(64, 2), clock_s(400, 3)], [0.0; 3]);
        assert_eq!([clock_s(64, 3), clock_s(0, 1), clock_s(0, 2)], [1.0; 3]);
    }

    #[test]
    fn no_duration_is_no_concurrency() {
        assert!(Running::default().concurrency().is_none());
    }
}
