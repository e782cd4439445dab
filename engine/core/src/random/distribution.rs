//! Distributions of keys over `1..=n`, with the names, parameters and defaults that sysbench 1.0
//! documents in its `--help` (`--rand-type` and following).
//!
//! Sources: Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone
//! discrete distributions" (1996), for Zipf without a table of n entries; sysbench's manual for the
//! meaning of the others. With `zipfian` and `pareto` the small numbers are the hot ones, with
//! `gaussian` and `special` those in the middle.

use crate::random::rng::Rng;

/// A distribution's name and parameters, before the range is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    /// Every key equally likely.
    Uniform,
    /// Key k with probability proportional to `k^-theta`.
    Zipfian {
        /// Exponent, `0 <= theta`; sysbench's default is 0.8, YCSB's 0.99.
        theta: f64,
    },
    /// The mean of `iterations` uniform draws: a bell around the middle, with standard deviation
    /// `n / sqrt(12 * iterations)`.
    Gaussian {
        /// How many draws are averaged, at least 1 (1 is uniform); sysbench's default is 12.
        iterations: u32,
    },
    /// A share `1 - h` of all draws falls in the first share `h` of the keys, and so on within
    /// (the 80/20 rule with `h` = 0.2).
    Pareto {
        /// `0 < h < 1`; sysbench's default is 0.2.
        h: f64,
    },
    /// `res_percent` of all draws fall, evenly, in the middle `pct_percent` of the keys; the rest
    /// is [`Shape::Gaussian`] over all keys.
    Special {
        /// How many draws are averaged in the rest, at least 1; sysbench's default is 12.
        iterations: u32,
        /// Size of the hot part in per cent of the keys, 1 to 100; sysbench's default is 1.
        pct_percent: u32,
        /// Share of the draws that hit it in per cent, 0 to 100; sysbench's default is 75.
        res_percent: u32,
    },
}

/// A shape over `1..=n`, with everything computed that does not depend on the draw.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    n: u64,
    sampler: Sampler,
}

#[derive(Debug, Clone, PartialEq)]
enum Sampler {
    Uniform,
    Zipfian(Zipf),
    Gaussian { iterations: u32 },
    Pareto { power: f64 },
    Special { iterations: u32, res_percent: u64, hot_first: u64, hot_keys: u64 },
}

impl Distribution {
    /// `shape` over `1..=n`. Panics on an empty range and on a parameter outside the limits that
    /// [`Shape`] states: the code that parses options checks them first and names the option.
    pub fn new(shape: Shape, n: u64) -> Self {
        assert!(n >= 1, "a distribution needs at least one key");
        let sampler = match shape {
            Shape::Uniform => Sampler::Uniform,
            Shape::Zipfian { theta } => Sampler::Zipfian(Zipf::new(theta, n)),
            Shape::Gaussian { iterations } => {
                assert!(iterations >= 1, "iterations must be at least 1");
                Sampler::Gaussian { iterations }
            }
            Shape::Pareto { h } => {
                assert!(h > 0.0 && h < 1.0, "h must lie between 0 and 1");
                // x = u^power puts P(x <= h) at h^(1/power) = 1 - h.
                Sampler::Pareto { power: h.ln() / (1.0 - h).ln() }
            }
            Shape::Special { iterations, pct_percent, res_percent } => {
                assert!(iterations >= 1, "iterations must be at least 1");
                assert!((1..=100).contains(&pct_percent), "pct_percent must be 1 to 100");
                assert!(res_percent <= 100, "res_percent must be 0 to 100");
                let hot_keys = (n as u128 * pct_percent as u128).div_ceil(100) as u64;
                let hot_first = (n - hot_keys) / 2 + 1;
                let res_percent = u64::from(res_percent);
                Sampler::Special { iterations, res_percent, hot_first, hot_keys }
            }
        };
        Self { n, sampler }
    }

    /// Highest key.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// One key in `1..=n`.
    #[inline]
    pub fn sample(&self, rng: &mut Rng) -> u64 {
        let key = match &self.sampler {
            Sampler::Uniform => 1 + rng.below(self.n),
            Sampler::Zipfian(zipf) => zipf.sample(rng),
            Sampler::Gaussian { iterations } => self.bell(*iterations, rng),
            Sampler::Pareto { power } => self.scale(rng.unit().powf(*power)),
            Sampler::Special { iterations, res_percent, hot_first, hot_keys } => {
                if rng.below(100) < *res_percent {
                    hot_first + rng.below(*hot_keys)
                } else {
                    self.bell(*iterations, rng)
                }
            }
        };
        debug_assert!((1..=self.n).contains(&key));
        key
    }

    #[inline]
    fn bell(&self, iterations: u32, rng: &mut Rng) -> u64 {
        let sum: f64 = (0..iterations).map(|_| rng.unit()).sum();
        self.scale(sum / f64::from(iterations))
    }

    /// `x` in `[0, 1)` to a key; the minimum catches an `x` that was rounded up to 1.
    #[inline]
    fn scale(&self, x: f64) -> u64 {
        ((x * self.n as f64) as u64).min(self.n - 1) + 1
    }
}

/// Rejection-inversion: inverts the area under `x^-theta` in closed form, and rejects a candidate
/// only in the sliver between the curve and the bars. Constant memory, about 1.1 draws per key.
#[derive(Debug, Clone, PartialEq)]
struct Zipf {
    n: u64,
    theta: f64,
    /// Area up to 1.5, less the whole first bar.
    area_first: f64,
    /// Area up to n + 0.5.
    area_last: f64,
    /// Candidates closer to their integer than this are accepted without a further test.
    shortcut: f64,
}

impl Zipf {
    fn new(theta: f64, n: u64) -> Self {
        assert!(theta >= 0.0 && theta.is_finite(), "theta must not be negative");
        let mut zipf = Self { n, theta, area_first: 0.0, area_last: 0.0, shortcut: 0.0 };
        zipf.area_first = zipf.area(1.5) - 1.0;
        zipf.area_last = zipf.area(n as f64 + 0.5);
        zipf.shortcut = 2.0 - zipf.inverse(zipf.area(2.5) - zipf.density(2.0));
        zipf
    }

    fn density(&self, x: f64) -> f64 {
        x.powf(-self.theta)
    }

    /// Integral of the density from 1 to x: `(x^(1-theta) - 1) / (1-theta)`, or `ln x` at 1. Near
    /// 1 the plain formula would subtract almost equal numbers, hence `exp_m1`.
    fn area(&self, x: f64) -> f64 {
        let (power, log) = (1.0 - self.theta, x.ln());
        if power == 0.0 { log } else { (power * log).exp_m1() / power }
    }

    /// The x up to which the area is `area`.
    fn inverse(&self, area: f64) -> f64 {
        let power = 1.0 - self.theta;
        if power == 0.0 {
            area.exp()
        } else {
            // Rounding may push the argument below the pole at -1 if theta > 1.
            ((power * area).max(-1.0).ln_1p() / power).exp()
        }
    }

    #[inline]
    fn sample(&self, rng: &mut Rng) -> u64 {
        loop {
            let area = self.area_last + rng.unit() * (self.area_first - self.area_last);
            let x = self.inverse(area);
            let key = (x + 0.5).clamp(1.0, self.n as f64) as u64;
            let k = key as f64;
            if k - x <= self.shortcut || area >= self.area(k + 0.5) - self.density(k) {
                return key.min(self.n);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::rng::Rng;
    use proptest::prelude::*;

    fn counts(shape: Shape, n: u64, draws: u32) -> Vec<f64> {
        let distribution = Distribution::new(shape, n);
        let mut rng = Rng::new(20_260_101);
        let mut counts = vec![0.0; n as usize + 1];
        for _ in 0..draws {
            counts[distribution.sample(&mut rng) as usize] += 1.0;
        }
        assert_eq!(counts[0], 0.0);
        counts
    }

    /// Each observed count lies within six standard deviations of the expected one.
    fn assert_close(counts: &[f64], draws: u32, probability: impl Fn(u64) -> f64) {
        for (key, &count) in counts.iter().enumerate().skip(1) {
            let expected = probability(key as u64) * f64::from(draws);
            assert!(
                (count - expected).abs() <= 6.0 * expected.sqrt() + 3.0,
                "key {key}: {count} draws, expected {expected}"
            );
        }
    }

    #[test]
    fn uniform_is_even() {
        assert_close(&counts(Shape::Uniform, 50, 100_000), 100_000, |_| 0.02);
    }

    #[test]
    fn zipfian_follows_the_power_law() {
        for theta in [0.0, 0.5, 0.8, 0.99, 1.0, 1.2, 2.5] {
            for n in [1, 2, 3, 100] {
                let total: f64 = (1..=n).map(|k| (k as f64).powf(-theta)).sum();
                assert_close(&counts(Shape::Zipfian { theta }, n, 200_000), 200_000, |k| {
                    (k as f64).powf(-theta) / total
                });
            }
        }
    }

    #[test]
    fn gaussian_has_the_stated_mean_and_deviation() {
        for iterations in [1, 2, 12] {
            let (n, draws) = (1200, 200_000);
            let counts = counts(Shape::Gaussian { iterations }, n, draws);
            let moment = |f: &dyn Fn(f64) -> f64| -> f64 {
                counts.iter().enumerate().map(|(k, c)| f(k as f64) * c).sum::<f64>()
                    / f64::from(draws)
            };
            let mean = moment(&|k| k);
            let deviation = moment(&|k| (k - mean).powi(2)).sqrt();
            let expected = n as f64 / (12.0 * f64::from(iterations)).sqrt();
            assert!((mean - 600.5).abs() < 4.0, "mean {mean}");
            assert!((deviation / expected - 1.0).abs() < 0.01, "{deviation}, not {expected}");
        }
    }

    #[test]
    fn pareto_keeps_its_promise_at_every_depth() {
        for h in [0.1, 0.2, 0.4] {
            let (n, draws) = (10_000u64, 200_000);
            let counts = counts(Shape::Pareto { h }, n, draws);
            for depth in 1..=3 {
                let keys = (n as f64 * f64::powi(h, depth)).round() as usize;
                let share = counts[1..=keys].iter().sum::<f64>() / f64::from(draws);
                let expected = f64::powi(1.0 - h, depth);
                assert!((share - expected).abs() < 0.01, "{share}, not {expected}");
            }
        }
    }

    #[test]
    fn special_hits_the_middle_as_often_as_told() {
        let shape = Shape::Special { iterations: 12, pct_percent: 1, res_percent: 75 };
        let counts = counts(shape, 10_000, 200_000);
        let hot: f64 = counts[4951..=5050].iter().sum::<f64>() / 200_000.0;
        // A bell with a deviation of n/12 puts 4.78 % of the remaining quarter there too.
        assert!((hot - (0.75 + 0.25 * 0.0478)).abs() < 0.005, "{hot}");
        let lower: f64 = counts[1..=5000].iter().sum::<f64>() / 200_000.0;
        assert!((lower - 0.5).abs() < 0.01, "{lower}");
    }

    /// A stored plan must replay for ever: never edit these.
    #[test]
    fn golden_draws() {
        let draws = |shape| {
            let distribution = Distribution::new(shape, 1_000_000);
            let mut rng = Rng::for_transaction(42, 3, 9);
            [(); 4].map(|()| distribution.sample(&mut rng))
        };
        let special = Shape::Special { iterations: 12, pct_percent: 1, res_percent: 75 };
        let all = [
            draws(Shape::Uniform),
            draws(Shape::Zipfian { theta: 0.8 }),
            draws(Shape::Gaussian { iterations: 12 }),
            draws(Shape::Pareto { h: 0.2 }),
            draws(special),
        ];
        assert_eq!(
            all,
            [
                [78641, 264723, 175041, 578195],
                [679931, 237385, 405252, 19303],
                [553215, 525485, 430978, 512394],
                [1, 69, 4, 19229],
                [497648, 500782, 495011, 719957],
            ]
        );
    }

    fn shapes() -> impl Strategy<Value = Shape> {
        prop_oneof![
            Just(Shape::Uniform),
            (0.0..4.0f64).prop_map(|theta| Shape::Zipfian { theta }),
            (0.9999999..1.0000001f64).prop_map(|theta| Shape::Zipfian { theta }),
            (1..30u32).prop_map(|iterations| Shape::Gaussian { iterations }),
            (0.001..0.999f64).prop_map(|h| Shape::Pareto { h }),
            (1..30u32, 1..=100u32, 0..=100u32).prop_map(
                |(iterations, pct_percent, res_percent)| {
                    Shape::Special { iterations, pct_percent, res_percent }
                }
            ),
        ]
    }

    proptest! {
        #[test]
        fn every_draw_is_in_range(
            shape in shapes(),
            n in prop_oneof![1..20u64, 1..2_000_000_000u64, Just(u64::from(u32::MAX))],
            seed in any::<u64>(),
        ) {
            let distribution = Distribution::new(shape, n);
            let mut rng = Rng::new(seed);
            for _ in 0..200 {
                let key = distribution.sample(&mut rng);
                prop_assert!((1..=n).contains(&key), "{shape:?}: {key} of {n}");
            }
        }
    }
}
