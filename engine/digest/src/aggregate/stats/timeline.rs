//! Events over time in a fixed number of buckets, whose length doubles as the range grows.
//!
//! Each event's time is divided among the buckets that it ran in. A bucket is 2^n seconds long and
//! begins at a multiple of that length, so that merging gives the same result however threads
//! divided the log. Gaps are computed from the first and the last end within each of many short
//! slots: a gap longer than a slot is exact, however disordered the log is.

/// The most buckets of a timeline.
pub const BUCKETS: usize = 256;
/// The most slots for gaps: an hour has slots of 17 ms, a day of 0.5 s.
const SLOTS: usize = 1 << 18;
/// Second, nanoseconds.
pub const SECOND_NS: f64 = 1e9;
/// The shortest bucket; seconds are not powers of two of nanoseconds, so buckets count seconds.
const BASE_NS: i64 = 1_000_000_000;
/// The shortest slot.
const SLOT_NS: i64 = 1 << 10;

/// Values by time.
///
/// `BASE_NS`: the length of the shortest bucket, a constant because times are divided by it.
#[derive(Debug, Clone)]
pub struct Buckets<T, const BASE_NS: i64> {
    most: usize,
    /// A bucket is `BASE_NS << doublings` long.
    doublings: u32,
    /// Number of the first bucket, counted from 1970.
    first: i64,
    values: Vec<T>,
}

/// Content of a bucket, which can be merged with another.
pub trait Joins: Default + Copy {
    /// Merges the content of an adjacent bucket.
    fn join(&mut self, other: Self);
}

impl<T: Joins, const BASE_NS: i64> Buckets<T, BASE_NS> {
    fn new(most: usize) -> Self {
        Self { most, doublings: 0, first: 0, values: Vec::new() }
    }

    /// The bucket that contains a time, created if absent.
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

    /// Makes room for bucket `number`, with longer buckets if necessary; returns its index.
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

    /// Doubles the length of buckets.
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

    /// Merges other buckets.
    fn merge(&mut self, other: &Self) {
        while self.doublings < other.doublings {
            self.double();
        }
        for (number, &value) in (other.first..).zip(&other.values) {
            let number = number >> (self.doublings - other.doublings);
            // Doubling during the merge changes numbers, so each bucket is located by its time.
            let at_ns = (number << self.doublings) * BASE_NS;
            self.at(at_ns).join(value);
        }
    }

    /// Adds a period: `of` converts the nanoseconds within each bucket to the content to add.
    fn spread(&mut self, begin_ns: i64, end_ns: i64, of: impl Fn(u64) -> T) {
        // Creates the buckets of both ends first, because that may double the length of buckets.
        self.at(end_ns - 1);
        self.at(begin_ns);
        let mut number = begin_ns.div_euclid(BASE_NS) >> self.doublings;
        let mut from_ns = begin_ns;
        while from_ns < end_ns {
            let until_ns = self.begin_of(number + 1).min(end_ns);
            self.values[(number - self.first) as usize].join(of(until_ns.abs_diff(from_ns)));
            (from_ns, number) = (until_ns, number + 1);
        }
    }

    /// The time from the begin of its bucket to a time.
    #[inline]
    fn within_ns(&self, at_ns: i64) -> u64 {
        let whole = at_ns.div_euclid(BASE_NS) & ((1 << self.doublings) - 1);
        (whole * BASE_NS + at_ns.rem_euclid(BASE_NS)) as u64
    }

    fn begin_of(&self, number: i64) -> i64 {
        (number << self.doublings).saturating_mul(BASE_NS)
    }

    /// Begin of the first bucket.
    fn begin_ns(&self) -> i64 {
        self.begin_of(self.first)
    }

    /// End of the last bucket.
    fn end_ns(&self) -> i64 {
        self.begin_of(self.first + self.values.len() as i64)
    }
}

/// Events of one class, or of all: the number of ends in each bucket and the time that events ran
/// in it.
///
/// Ends alone determine the length of buckets, so that one event that ran for a day does not make
/// the buckets of a log of minutes hours long. Time before the first end is stored separately,
/// because an earlier bucket may follow.
#[derive(Debug, Clone)]
pub struct Times {
    ends: Buckets<(u64, u64), BASE_NS>,
    /// Nanoseconds in cells of 2^index seconds. Cells further before the end of their event are
    /// longer, but never longer than a bucket of a timeline that reaches from the cell to that end.
    earlier: Vec<Cells>,
}

type Cells = Buckets<u64, BASE_NS>;

/// Time before an event's end in which cells are one second long, seconds; cells of two seconds
/// reach twice as far.
const NEAR_S: i64 = 2 * BUCKETS as i64;

impl Default for Times {
    fn default() -> Self {
        Self { ends: Buckets::new(BUCKETS), earlier: Vec::new() }
    }
}

impl Joins for (u64, u64) {
    fn join(&mut self, other: Self) {
        self.0 += other.0;
        self.1 = self.1.saturating_add(other.1);
    }
}

impl Joins for u64 {
    fn join(&mut self, other: Self) {
        *self = self.saturating_add(other);
    }
}

impl Times {
    /// Adds an event with the weight `weight`.
    #[inline]
    pub fn add(&mut self, end_ns: i64, duration_ns: u64, weight: u32) {
        // Nearly all events begin in the bucket in which they end.
        if duration_ns <= self.ends.within_ns(end_ns) {
            self.ends.at(end_ns).join((1, duration_ns.saturating_mul(u64::from(weight))));
        } else {
            self.add_spread(end_ns, duration_ns, u64::from(weight));
        }
    }

    #[inline(never)]
    fn add_spread(&mut self, end_ns: i64, duration_ns: u64, weight: u64) {
        self.ends.at(end_ns).join((1, 0));
        let begin_ns = end_ns.saturating_sub_unsigned(duration_ns);
        let border_ns = self.ends.begin_ns();
        let from_ns = begin_ns.max(border_ns);
        if from_ns < end_ns {
            self.ends.spread(from_ns, end_ns, |ns| (0, ns.saturating_mul(weight)));
        }
        if begin_ns < border_ns {
            if self.earlier.iter().any(|cells| cells.end_ns() > border_ns) {
                let cells = std::mem::take(&mut self.earlier);
                self.place(&cells);
            }
            self.add_earlier(begin_ns, border_ns, end_ns, weight);
        }
    }

    /// Adds to cells the time that an event ran before the first bucket, which begins at
    /// `until_ns`.
    fn add_earlier(&mut self, begin_ns: i64, mut until_ns: i64, end_ns: i64, weight: u64) {
        let end_s = end_ns.div_euclid(BASE_NS) + 1;
        for level in 0.. {
            // Boundary between cells of this length and cells of twice the length.
            let border_s = (end_s - (NEAR_S << level)) >> (level + 1) << (level + 1);
            let from_ns = border_s.saturating_mul(BASE_NS).max(begin_ns);
            if from_ns < until_ns {
                self.cells(level).spread(from_ns, until_ns, |ns| ns.saturating_mul(weight));
                until_ns = from_ns;
            }
            if from_ns == begin_ns {
                return;
            }
        }
    }

    /// Cells of 2^`level` seconds.
    fn cells(&mut self, level: usize) -> &mut Cells {
        while self.earlier.len() <= level {
            // These never double: the remaining cells are near the first bucket (`place`).
            let doublings = self.earlier.len() as u32;
            self.earlier.push(Cells { doublings, ..Buckets::new(i64::MAX as usize) });
        }
        &mut self.earlier[level]
    }

    /// Adds cells: to a bucket where one exists now, otherwise to the cells.
    fn place(&mut self, earlier: &[Cells]) {
        let border_ns = self.ends.begin_ns();
        for (level, cells) in earlier.iter().enumerate() {
            for (begin_ns, ns) in cells.each() {
                if begin_ns >= border_ns {
                    self.ends.at(begin_ns).join((0, ns));
                } else {
                    self.cells(level).at(begin_ns).join(ns);
                }
            }
        }
    }

    /// Merges other events.
    pub fn merge(&mut self, other: &Times) {
        self.ends.merge(&other.ends);
        let mine = std::mem::take(&mut self.earlier);
        self.place(&mine);
        self.place(&other.earlier);
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.ends.values.is_empty()
    }

    /// The buckets of the document: those of ends, preceded by as many as the earlier time needs,
    /// as long as at least half of the possible buckets remain for ends.
    pub fn frame(&self) -> Frame {
        let first_ns = self.earlier.iter().flat_map(Cells::each).map(|cell| cell.0).min();
        let (ends, last) = (&self.ends, self.ends.first + self.ends.values.len() as i64 - 1);
        let first = |doublings: u32| {
            let of_ends = ends.first >> (doublings - ends.doublings);
            first_ns.map_or(of_ends, |ns| (ns.div_euclid(BASE_NS) >> doublings).min(of_ends))
        };
        let fits = last - first(ends.doublings) < BUCKETS as i64;
        let doublings = ends.doublings + u32::from(!fits);
        let last = last >> (doublings - ends.doublings);
        let first = first(doublings).max(last + 1 - BUCKETS as i64);
        Frame { doublings, first, count: (last + 1 - first) as usize }
    }

    /// Number of ends in each bucket of `frame`, under the condition of [`Times::seconds_in`].
    pub fn counts_in(&self, frame: Frame) -> Vec<u64> {
        let mut counts = vec![0; frame.count];
        for (number, &(count, _)) in (self.ends.first..).zip(&self.ends.values) {
            if let Some(there) = frame.of(&mut counts, self.ends.begin_of(number)) {
                *there += count;
            }
        }
        counts
    }

    /// Time that events ran in each bucket of `frame`, seconds. The events must be among those of
    /// `frame`.
    pub fn seconds_in(&self, frame: Frame) -> Vec<f64> {
        let numbered = (self.ends.first..).zip(&self.ends.values);
        let ended = numbered.map(|(number, value)| (self.ends.begin_of(number), value.1));
        let mut all_ns = vec![0_u64; frame.count];
        for (begin_ns, ns) in ended.chain(self.earlier.iter().flat_map(Cells::each)) {
            if let Some(there) = frame.of(&mut all_ns, begin_ns) {
                there.join(ns);
            }
        }
        all_ns.iter().map(|&ns| ns as f64 / SECOND_NS).collect()
    }
}

/// The buckets of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    doublings: u32,
    first: i64,
    count: usize,
}

impl Frame {
    /// Begin of the first bucket, seconds.
    pub fn begin_unix_s(self) -> f64 {
        self.first as f64 * self.bucket_s()
    }

    /// Length of each bucket, seconds.
    pub fn bucket_s(self) -> f64 {
        (BASE_NS << self.doublings) as f64 / SECOND_NS
    }

    /// The element of `values` (one per bucket) for a time; `None` if outside the buckets.
    fn of<T>(self, values: &mut [T], at_ns: i64) -> Option<&mut T> {
        let number = at_ns.div_euclid(BASE_NS) >> self.doublings;
        values.get_mut(usize::try_from(number - self.first).ok()?)
    }
}

impl Cells {
    /// Begin and content of the cells that are not empty.
    fn each(&self) -> impl Iterator<Item = (i64, u64)> + '_ {
        let numbered = (self.first..).zip(&self.values).filter(|cell| *cell.1 > 0);
        numbered.map(|(number, &ns)| (self.begin_of(number), ns))
    }
}

/// First and last end in a slot; if there are none, the first is above the last.
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

/// Periods without ends of events.
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

    /// Merges other gaps.
    pub fn merge(&mut self, other: &Gaps) {
        self.0.merge(&other.0);
    }

    /// The longest gap in each bucket of `frame`, seconds; a gap belongs to the bucket in which it
    /// ends.
    pub fn longest_in(&self, frame: Frame) -> Vec<f64> {
        let mut longest = vec![0.0_f64; frame.count];
        let mut last_ns = None;
        for slot in self.0.values.iter().filter(|slot| slot.0 <= slot.1) {
            if let Some(last_ns) = last_ns
                && let Some(known) = frame.of(&mut longest, slot.0)
            {
                *known = known.max(slot.0.saturating_sub(last_ns) as f64 / SECOND_NS);
            }
            last_ns = Some(slot.1);
        }
        longest
    }
}

#[cfg(test)]
mod tests;
