//! Due times of an open loop's arrivals: a pure function of (seed, group, arrival number).
//!
//! Uniform arrivals have whole positions (see [`Schedule`]), the first of the measured phase exactly
//! at its start. Poisson arrivals come in blocks of 256: a block's length is drawn from the
//! Erlang distribution, and its positions are those of independent exponential gaps scaled to
//! that length. Length and proportions of such gaps are independent (Lukacs, "A characterization of
//! the gamma distribution", 1955), so this *is* a Poisson process. Whole blocks can be skipped by
//! their length alone, so that a backlog of millions can be counted.
//! Erlang variates: Marsaglia and Tsang, "A simple method for generating gamma variables" (2000).

use crate::pacing::schedule::Schedule;
use dyno_core::histogram::{Histogram, bucket_of};
use dyno_core::plan::{Arrivals, Process};
use dyno_core::random::rng::Rng;

/// Arrivals in a block.
const BLOCK: u64 = 256;
/// Random stream of the arrivals, separate from the workload's draws.
const ARRIVALS: u64 = 0x6172_7269_7661_6c73;

/// Due time of an arrival that never falls due.
pub const NEVER: i64 = i64::MAX;

/// Iterator over all arrivals of a group in order. Times are nanoseconds since the start of
/// the measured phase, negative in the warm-up. Memory is constant.
#[derive(Debug, Clone)]
pub struct Stream {
    schedule: Schedule,
    /// Number of the next arrival.
    number: u64,
    process: Positions,
}

#[derive(Debug, Clone)]
enum Positions {
    /// Arrivals before position 0.
    Uniform {
        early: u64,
    },
    Poisson(Block),
}

/// A block of a Poisson process.
#[derive(Debug, Clone)]
struct Block {
    seed: u64,
    group: u32,
    number: u64,
    /// Position of its beginning and of its last arrival.
    start: f64,
    end: f64,
    /// Generator of the positions, used when they are first needed.
    rng: Rng,
    /// Positions of the arrivals; empty until drawn.
    places: Vec<f64>,
}

impl Block {
    fn new(seed: u64, group: u32, number: u64, start: f64) -> Self {
        let mut rng = Rng::for_transaction(seed ^ ARRIVALS, group, number);
        let end = start + erlang(&mut rng, BLOCK as f64);
        Self { seed, group, number, start, end, rng, places: Vec::new() }
    }

    fn following(&self) -> Self {
        Self::new(self.seed, self.group, self.number + 1, self.end)
    }

    /// Position of arrival `place` of the block.
    fn position(&mut self, place: u64) -> f64 {
        if self.places.is_empty() {
            let mut sum = 0.0;
            let gaps = (0..BLOCK).map(|_| {
                sum += exponential(&mut self.rng);
                sum
            });
            self.places = gaps.collect();
            let scale = (self.end - self.start) / sum;
            self.places.iter_mut().for_each(|place| *place = self.start + *place * scale);
            // Exactly the end, without rounding error.
            self.places[BLOCK as usize - 1] = self.end;
        }
        self.places[place as usize]
    }
}

/// An exponential variate of mean 1.
pub(crate) fn exponential(rng: &mut Rng) -> f64 {
    -(1.0 - rng.unit()).ln()
}

/// A standard normal variate (Box and Muller).
fn normal(rng: &mut Rng) -> f64 {
    let radius = (2.0 * exponential(rng)).sqrt();
    radius * (std::f64::consts::TAU * rng.unit()).cos()
}

/// The sum of `shape` exponential variates of mean 1.
fn erlang(rng: &mut Rng, shape: f64) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(rng);
        let v = (1.0 + c * x).powi(3);
        let u = 1.0 - rng.unit();
        if v > 0.0 && u.ln() < x * x / 2.0 + d - d * v + d * v.ln() {
            return d * v;
        }
    }
}

impl Stream {
    /// Creates a stream from the start of a warm-up of `warmup_s` on.
    pub fn new(arrivals: &Arrivals, seed: u64, group: u32, warmup_s: f64) -> Self {
        let schedule = Schedule::new(&arrivals.steps);
        let warmup = warmup_s * schedule.warmup_per_s();
        let process = match arrivals.process {
            Process::Uniform => Positions::Uniform { early: warmup as u64 },
            Process::Poisson => Positions::Poisson(Block::new(seed, group, 0, -warmup)),
        };
        Self { schedule, number: 0, process }
    }

    /// Number of the next arrival, which is the count of earlier ones.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Due time of the next arrival; [`NEVER`] when the schedule has ended.
    pub fn due_ns(&mut self) -> i64 {
        let position = match &mut self.process {
            Positions::Uniform { early } => self.number as f64 - *early as f64,
            Positions::Poisson(block) => block.position(self.number % BLOCK),
        };
        self.at_ns(position)
    }

    /// Time of a position. An infinite time, or one out of the range of nanoseconds, saturates to [`NEVER`].
    fn at_ns(&self, position: f64) -> i64 {
        (self.schedule.at_s(position) * 1e9).round() as i64
    }

    /// Advances by one arrival.
    pub fn advance(&mut self) {
        self.number += 1;
        if let Positions::Poisson(block) = &mut self.process
            && self.number.is_multiple_of(BLOCK)
        {
            *block = block.following();
        }
    }

    /// Due time of the last arrival in the block of the next one.
    fn block_due_ns(&self) -> i64 {
        let position = match &self.process {
            Positions::Uniform { early } => {
                (self.number / BLOCK * BLOCK + BLOCK - 1) as f64 - *early as f64
            }
            Positions::Poisson(block) => block.end,
        };
        self.at_ns(position)
    }

    fn advance_block(&mut self) {
        self.number = (self.number / BLOCK + 1) * BLOCK;
        if let Positions::Poisson(block) = &mut self.process {
            *block = block.following();
        }
    }

    /// Skips all arrivals due before `until_ns`. Returns the number of the next one.
    pub fn pass(&mut self, until_ns: i64) -> u64 {
        if let Positions::Uniform { early } = self.process {
            // Skip close to it at once; the code below corrects rounding errors.
            let position = self.schedule.position(until_ns as f64 / 1e9) + early as f64;
            self.number = self.number.max((position - 2.0) as u64);
        }
        while self.block_due_ns() < until_ns {
            self.advance_block();
        }
        while self.due_ns() < until_ns {
            self.advance();
        }
        self.number
    }

    /// Skips all arrivals due before `until_ns` and counts each into `ages` with its age
    /// at `now_ns`. A block whose ages share a bucket is counted whole, with the mean of its first
    /// and last age: at most 256 arrivals a bucket are counted one by one.
    pub fn pass_into(&mut self, until_ns: i64, now_ns: i64, ages: &mut Histogram) {
        loop {
            let due_ns = self.due_ns_of_block_start();
            if due_ns >= until_ns {
                return;
            }
            let block_ns = self.block_due_ns();
            let (oldest, youngest) = (age(now_ns, due_ns), age(now_ns, block_ns));
            if block_ns < until_ns && bucket_of(oldest) == bucket_of(youngest) {
                let count = BLOCK - self.number % BLOCK;
                ages.add_bucket(bucket_of(oldest), count);
                ages.add_sum(count.saturating_mul(oldest / 2 + youngest / 2));
                self.advance_block();
                continue;
            }
            let block = self.number / BLOCK;
            while self.number / BLOCK == block {
                let due_ns = self.due_ns();
                if due_ns >= until_ns {
                    return;
                }
                ages.record(age(now_ns, due_ns));
                self.advance();
            }
        }
    }

    /// Due time of the next arrival, or a lower bound of it that needs no draw of positions.
    fn due_ns_of_block_start(&mut self) -> i64 {
        match &self.process {
            Positions::Poisson(block) if self.number.is_multiple_of(BLOCK) => {
                self.at_ns(block.start)
            }
            _ => self.due_ns(),
        }
    }
}

fn age(now_ns: i64, due_ns: i64) -> u64 {
    u64::try_from(now_ns.saturating_sub(due_ns)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::plan::RateStep;
    use proptest::prelude::*;

    fn arrivals(process: Process, steps: &[(Option<f64>, f64, f64)]) -> Arrivals {
        let step = |&(for_s, from_per_s, to_per_s): &_| RateStep { for_s, from_per_s, to_per_s };
        Arrivals { process, steps: steps.iter().map(step).collect() }
    }

    fn due(stream: &mut Stream, until_ns: i64) -> Vec<i64> {
        let mut times = Vec::new();
        while stream.due_ns() < until_ns {
            times.push(stream.due_ns());
            stream.advance();
        }
        times
    }

    const S: i64 = 1_000_000_000;

    #[test]
    fn uniform_arrivals_are_spaced_evenly_around_the_start() {
        let plan = arrivals(Process::Uniform, &[(None, 4.0, 4.0)]);
        let mut stream = Stream::new(&plan, 1, 0, 0.6);
        let expected: Vec<i64> = (-2..8).map(|n| n * S / 4).collect();
        assert_eq!(due(&mut stream, 2 * S), expected);
    }

    #[test]
    fn uniform_counts_are_exact_over_ramps_and_bursts() {
        // 0 to 100/s in 10 s: 500. A burst of 1000/s for 2 s: 2000. Then 50/s for 8 s: 400.
        let steps = [(Some(10.0), 0.0, 100.0), (Some(2.0), 1000.0, 1000.0), (None, 50.0, 50.0)];
        let plan = arrivals(Process::Uniform, &steps);
        let mut stream = Stream::new(&plan, 1, 0, 5.0);
        let mut counts = Vec::new();
        let mut before = 0;
        for until_s in [0, 10, 12, 20] {
            let number = stream.pass(until_s * S);
            counts.push(number - before);
            before = number;
        }
        assert_eq!(counts, [0, 500, 2000, 400]);
    }

    #[test]
    fn a_schedule_that_ends_has_no_more_arrivals() {
        let plan = arrivals(Process::Uniform, &[(Some(1.0), 10.0, 10.0), (None, 0.0, 0.0)]);
        let mut stream = Stream::new(&plan, 1, 0, 0.0);
        assert_eq!(stream.pass(i64::MAX), 10);
        assert_eq!(stream.due_ns(), NEVER);
        for process in [Process::Uniform, Process::Poisson] {
            let mut stream = Stream::new(&arrivals(process, &[(None, 0.0, 0.0)]), 1, 0, 10.0);
            assert_eq!((stream.due_ns(), stream.pass(3600 * S)), (NEVER, 0));
        }
    }

    /// Counts in disjoint seconds: mean and variance equal the rate, and the counts are independent.
    /// Gaps: coefficient of variation 1. Bounds are five standard errors.
    #[test]
    fn poisson_arrivals_have_the_moments_of_their_process() {
        let (rate, seconds) = (37.0, 20_000);
        let plan = arrivals(Process::Poisson, &[(None, rate, rate)]);
        for seed in [1, 42, 0xdead_beef] {
            let mut stream = Stream::new(&plan, seed, 3, 0.0);
            let times = due(&mut stream, seconds * S);
            let mut counts = vec![0.0; seconds as usize];
            times.iter().for_each(|&at_ns| counts[(at_ns / S) as usize] += 1.0);
            let n = counts.len() as f64;
            let mean = counts.iter().sum::<f64>() / n;
            let variance = counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / (n - 1.0);
            let covariance =
                counts.windows(2).map(|c| (c[0] - mean) * (c[1] - mean)).sum::<f64>() / n;
            assert!((mean - rate).abs() < 5.0 * (rate / n).sqrt(), "seed {seed}: mean {mean}");
            let error = rate * (2.0 / n).sqrt() + (rate / n).sqrt();
            assert!((variance - rate).abs() < 5.0 * error, "seed {seed}: variance {variance}");
            assert!((covariance / rate).abs() < 5.0 / n.sqrt(), "seed {seed}: {covariance}");
            let gaps: Vec<f64> = times.windows(2).map(|t| (t[1] - t[0]) as f64 / 1e9).collect();
            let n = gaps.len() as f64;
            let square = gaps.iter().map(|gap| (gap * rate).powi(2)).sum::<f64>() / n;
            // The square of an exponential variate of mean 1 has mean 2 and variance 20.
            assert!((square - 2.0).abs() < 5.0 * (20.0 / n).sqrt(), "seed {seed}: {square}");
        }
    }

    #[test]
    fn streams_differ_by_seed_and_group_and_repeat_otherwise() {
        let plan = arrivals(Process::Poisson, &[(None, 100.0, 100.0)]);
        let times = |seed, group| due(&mut Stream::new(&plan, seed, group, 1.0), 20 * S);
        assert_eq!(times(1, 0), times(1, 0));
        assert_ne!(times(1, 0), times(2, 0));
        assert_ne!(times(1, 0), times(1, 1));
    }

    #[test]
    fn billions_are_counted_in_a_moment() {
        for process in [Process::Uniform, Process::Poisson] {
            let plan = arrivals(process, &[(None, 1e7, 1e7)]);
            let mut stream = Stream::new(&plan, 5, 0, 0.0);
            let mut ages = Histogram::default();
            stream.pass_into(10 * S, 11 * S, &mut ages);
            assert_eq!(ages.count(), stream.number());
            let (count, mean_s) = (ages.count() as f64, ages.mean_ns() / 1e9);
            assert!((count - 1e8).abs() < 6e4, "{count}");
            assert!((mean_s - 6.0).abs() < 0.001, "{mean_s}");
            assert!(ages.min_ns() <= S as u64 && ages.max_ns() >= 11 * S as u64 - 10_000);
        }
    }

    proptest! {
        #[test]
        fn passing_finds_what_walking_finds(
            is_poisson: bool,
            seed: u64,
            warmup_s in 0.0_f64..3.0,
            steps in prop::collection::vec((0.1_f64..3.0, 0.0_f64..2000.0, 0.0_f64..2000.0), 1..4),
            mut until in prop::collection::vec(-3.0_f64..8.0, 1..6),
        ) {
            let process = if is_poisson { Process::Poisson } else { Process::Uniform };
            let steps: Vec<_> = steps.iter().map(|&(s, from, to)| (Some(s), from, to)).collect();
            let plan = arrivals(process, &steps);
            let mut walking = Stream::new(&plan, seed, 7, warmup_s);
            let mut passing = walking.clone();
            until.sort_by(f64::total_cmp);
            let mut before_ns = i64::MIN;
            for until_ns in until.into_iter().map(|s| (s * 1e9) as i64) {
                let mut counting = walking.clone();
                let mut ages = Histogram::default();
                counting.pass_into(until_ns, 9 * S, &mut ages);
                let times = due(&mut walking, until_ns);
                prop_assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
                prop_assert!(times.iter().all(|&at_ns| at_ns >= before_ns.max(-3 * S)));
                prop_assert_eq!(passing.pass(until_ns), walking.number());
                prop_assert_eq!(counting.number(), walking.number());
                prop_assert_eq!(ages.count(), times.len() as u64);
                let mut one_by_one = Histogram::default();
                times.iter().for_each(|&at_ns| one_by_one.record((9 * S - at_ns) as u64));
                prop_assert_eq!(ages.counts(), one_by_one.counts());
                before_ns = until_ns;
            }
        }
    }
}
