//! Events over time in a fixed number of buckets, whose length doubles as the range grows.
//!
//! A bucket is 2^n seconds long and begins at a multiple of that, so that what two threads have seen
//! adds up to the same however the log was shared out. Gaps are found from the first and the last end
//! within each of many fine slots: a gap longer than a slot is exact, however disordered the log is.

/// The most buckets of a timeline.
pub const BUCKETS: usize = 256;
/// The most slots that gaps are looked for in: an hour has slots of 17 ms, a day of 0.5 s.
const SLOTS: usize = 1 << 18;
/// Second, nanoseconds.
pub const SECOND_NS: f64 = 1e9;
/// The shortest bucket; seconds are not powers of two of nanoseconds, so buckets count seconds.
const BASE_NS: i64 = 1_000_000_000;
/// The shortest slot.
const SLOT_NS: i64 = 1 << 10;

/// Values by time.
///
/// `BASE_NS`: the length of the shortest bucket, known while compiling, since times are divided by it.
#[derive(Debug, Clone)]
pub struct Buckets<T, const BASE_NS: i64> {
    most: usize,
    /// A bucket is `BASE_NS << doublings` long.
    doublings: u32,
    /// Number of the first bucket, counted from 1970.
    first: i64,
    values: Vec<T>,
}

/// What buckets hold: two of them can become one.
pub trait Joins: Default + Copy {
    /// Takes in the bucket that follows or precedes it.
    fn join(&mut self, other: Self);
}

impl<T: Joins, const BASE_NS: i64> Buckets<T, BASE_NS> {
    fn new(most: usize) -> Self {
        Self { most, doublings: 0, first: 0, values: Vec::new() }
    }

    /// The bucket of a moment, made if it is not there.
    #[inline]
    fn at(&mut self, at_ns: i64) -> &mut T {
        let number = at_ns.div_euclid(BASE_NS) >> self.doublings;
        let index = usize::try_from(number - self.first).ok().filter(|&at| at < self.values.len());
        let index = match index {
            Some(index) => index,
            None => self.reach(number),
        };
        &mut self.values[index]
    }

    /// Makes room for bucket `number`, by longer buckets if need be; returns its index.
    #[cold]
    fn reach(&mut self, mut number: i64) -> usize {
        if self.values.is_empty() {
            self.first = number;
        }
        loop {
            let end = (self.first + self.values.len() as i64).max(number + 1);
            let first = self.first.min(number);
            if end - first <= self.most as i64 {
                let before = (self.first - first) as usize;
                self.values.splice(0..0, std::iter::repeat_n(T::default(), before));
                self.values.resize((end - first) as usize, T::default());
                self.first = first;
                return (number - first) as usize;
            }
            self.double();
            number >>= 1;
        }
    }

    /// Makes buckets twice as long.
    fn double(&mut self) {
        let first = self.first >> 1;
        let mut values: Vec<T> = Vec::with_capacity(self.values.len() / 2 + 1);
        for (number, &value) in (self.first..).zip(&self.values) {
            match values.get_mut(((number >> 1) - first) as usize) {
                Some(there) => there.join(value),
                None => values.push(value),
            }
        }
        (self.first, self.values, self.doublings) = (first, values, self.doublings + 1);
    }

    /// Adds another.
    fn merge(&mut self, other: &Self) {
        while self.doublings < other.doublings {
            self.double();
        }
        for (number, &value) in (other.first..).zip(&other.values) {
            let number = number >> (self.doublings - other.doublings);
            // Doubling while merging moves numbers, so each is placed by its time.
            let at_ns = (number << self.doublings) * BASE_NS;
            self.at(at_ns).join(value);
        }
    }

    fn width_ns(&self) -> i64 {
        BASE_NS << self.doublings
    }
}

/// Events of one class, or of all, by the end of the event.
#[derive(Debug, Clone)]
pub struct Times(Buckets<(u64, u64), BASE_NS>);

impl Default for Times {
    fn default() -> Self {
        Self(Buckets::new(BUCKETS))
    }
}

impl Joins for (u64, u64) {
    fn join(&mut self, other: Self) {
        self.0 += other.0;
        self.1 = self.1.saturating_add(other.1);
    }
}

impl Times {
    /// Adds an event.
    #[inline]
    pub fn add(&mut self, end_ns: i64, duration_ns: u64) {
        self.0.at(end_ns).join((1, duration_ns));
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Times) {
        self.0.merge(&other.0);
    }

    /// Whether there is no event.
    pub fn is_empty(&self) -> bool {
        self.0.values.is_empty()
    }

    /// Begin of the first bucket and length of each, seconds.
    pub fn frame(&self) -> (f64, f64) {
        let width = self.0.width_ns() as f64 / SECOND_NS;
        (self.0.first as f64 * width, width)
    }

    /// Events in each bucket, and their time, seconds.
    pub fn columns(&self) -> (Vec<u64>, Vec<f64>) {
        let seconds = |&(_, time): &(u64, u64)| time as f64 / SECOND_NS;
        (self.0.values.iter().map(|v| v.0).collect(), self.0.values.iter().map(seconds).collect())
    }

    /// Time in each bucket of `frame`, seconds: this one's events are among those of `frame`.
    pub fn seconds_in(&self, frame: &Times) -> Vec<f64> {
        let mut seconds = vec![0.0; frame.0.values.len()];
        let shift = frame.0.doublings - self.0.doublings;
        for (number, &(_, time)) in (self.0.first..).zip(&self.0.values) {
            seconds[((number >> shift) - frame.0.first) as usize] += time as f64 / SECOND_NS;
        }
        seconds
    }
}

/// First and last end in a slot; none: the first is above the last.
#[derive(Debug, Clone, Copy)]
struct Ends(i64, i64);

impl Default for Ends {
    fn default() -> Self {
        Self(i64::MAX, i64::MIN)
    }
}

impl Joins for Ends {
    #[inline]
    fn join(&mut self, other: Self) {
        self.0 = self.0.min(other.0);
        self.1 = self.1.max(other.1);
    }
}

/// Where nothing ended.
#[derive(Debug, Clone)]
pub struct Gaps(Buckets<Ends, SLOT_NS>);

impl Default for Gaps {
    fn default() -> Self {
        Self(Buckets::new(SLOTS))
    }
}

impl Gaps {
    /// Adds the end of an event.
    #[inline]
    pub fn add(&mut self, end_ns: i64) {
        self.0.at(end_ns).join(Ends(end_ns, end_ns));
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Gaps) {
        self.0.merge(&other.0);
    }

    /// The longest gap in each bucket of `frame`, seconds; a gap counts where it ends.
    pub fn longest_in(&self, frame: &Times) -> Vec<f64> {
        let mut longest = vec![0.0_f64; frame.0.values.len()];
        let mut last_ns = None;
        for slot in self.0.values.iter().filter(|slot| slot.0 <= slot.1) {
            if let Some(last_ns) = last_ns {
                let bucket = slot.0.div_euclid(BASE_NS) >> frame.0.doublings;
                if let Some(known) = longest.get_mut((bucket - frame.0.first) as usize) {
                    *known = known.max((slot.0 - last_ns) as f64 / SECOND_NS);
                }
            }
            last_ns = Some(slot.1);
        }
        longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const S: i64 = 1_000_000_000;

    #[test]
    fn all_in_one_second_is_one_bucket() {
        let mut times = Times::default();
        times.add(5 * S + 1, 7);
        times.add(5 * S + 999, 8);
        assert_eq!(times.frame(), (5.0, 1.0));
        assert_eq!(times.columns(), (vec![2], vec![15e-9]));
    }

    #[test]
    fn buckets_double_until_the_range_fits() {
        let mut times = Times::default();
        times.add(0, 0);
        times.add(1000 * S, 0);
        assert_eq!(times.frame(), (0.0, 4.0));
        let (count, _) = times.columns();
        assert_eq!((count.len(), count[0], count[250]), (251, 1, 1));
    }

    #[test]
    fn a_gap_counts_in_the_bucket_where_it_ends() {
        let (mut times, mut gaps) = (Times::default(), Gaps::default());
        for end_ns in [7 * S, S, S + S / 4, 7 * S + S / 2] {
            times.add(end_ns, 0);
            gaps.add(end_ns);
        }
        assert_eq!(gaps.longest_in(&times), [0.25, 0.0, 0.0, 0.0, 0.0, 0.0, 5.75]);
    }

    #[test]
    fn moments_before_1970_and_far_apart_are_kept() {
        let (mut times, mut gaps) = (Times::default(), Gaps::default());
        for end_ns in [-5, i64::MIN, i64::MAX] {
            times.add(end_ns, 1);
            gaps.add(end_ns);
        }
        assert_eq!(times.columns().0.iter().sum::<u64>(), 3);
        assert!(gaps.longest_in(&times).len() <= BUCKETS);
    }

    proptest! {
        #[test]
        fn what_threads_saw_adds_up_however_it_was_shared_out(
            events in proptest::collection::vec((0_i64..4000 * S, 0_u64..100), 1..200),
            shares in proptest::collection::vec(0_usize..3, 200),
        ) {
            let mut parts = vec![(Times::default(), Gaps::default()); 3];
            let (mut times, mut gaps) = (Times::default(), Gaps::default());
            for (&(end_ns, duration), &share) in events.iter().zip(&shares) {
                parts[share].0.add(end_ns, duration);
                parts[share].1.add(end_ns);
                times.add(end_ns, duration);
                gaps.add(end_ns);
            }
            let (mut all_times, mut all_gaps) = (Times::default(), Gaps::default());
            for (times, gaps) in &parts {
                all_times.merge(times);
                all_gaps.merge(gaps);
            }
            prop_assert_eq!(all_times.frame(), times.frame());
            prop_assert_eq!(all_times.columns(), times.columns());
            prop_assert_eq!(all_gaps.longest_in(&times), gaps.longest_in(&times));
            prop_assert_eq!(parts[0].0.seconds_in(&times).len(), times.columns().0.len());
        }
    }
}
