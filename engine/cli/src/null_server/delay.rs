//! Delays of the null server's answers.

use dyno_core::random::rng::Rng;
use std::time::Duration;

/// Maximum delay: one hour, as in the histograms.
const DELAY_MAX: Duration = Duration::from_secs(3600);
/// Fixed seed, so that each server draws the same delays in the same order.
const SEED: u64 = 0x0064_656c_6179;

/// Syntax of `--delay`.
pub const USAGE: &str =
    "constant:2ms, exponential:1ms (the mean) or bimodal:1ms,20ms,5% (5 % take 20 ms)";

/// A distribution of delays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Delay {
    /// A constant delay.
    Constant(Duration),
    /// Exponentially distributed with this mean, truncated at one hour.
    Exponential(Duration),
    /// The second delay with the given probability, else the first.
    Bimodal(Duration, Duration, f64),
}

impl Delay {
    /// No delay.
    pub const NONE: Self = Self::Constant(Duration::ZERO);

    /// Parses a delay in the syntax of [`USAGE`]; `None` if it is invalid.
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(':')?;
        match (kind, rest.split(',').collect::<Vec<_>>().as_slice()) {
            ("constant", [length]) => Some(Self::Constant(duration(length)?)),
            ("exponential", [mean]) => Some(Self::Exponential(duration(mean)?)),
            ("bimodal", [usual, rare, share]) => {
                let share = share.strip_suffix('%')?.parse::<f64>().ok()? / 100.0;
                let is_share = (0.0..=1.0).contains(&share);
                is_share.then_some(Self::Bimodal(duration(usual)?, duration(rare)?, share))
            }
            _ => None,
        }
    }

    fn draw(&self, rng: &mut Rng) -> Duration {
        match *self {
            Self::Constant(length) => length,
            Self::Exponential(mean) => {
                // 1 - u is in (0, 1], so that its logarithm is finite.
                let length_s = -(1.0 - rng.unit()).ln() * mean.as_secs_f64();
                Duration::from_secs_f64(length_s.min(DELAY_MAX.as_secs_f64()))
            }
            Self::Bimodal(usual, rare, share) => {
                if rng.unit() < share {
                    rare
                } else {
                    usual
                }
            }
        }
    }
}

/// Parses `250us`, `2ms` or `1.5s`, at most one hour.
fn duration(text: &str) -> Option<Duration> {
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic())?;
    let unit_s = match &text[unit_at..] {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return None,
    };
    let length_s = text[..unit_at].parse::<f64>().ok()? * unit_s;
    let is_possible = (0.0..=DELAY_MAX.as_secs_f64()).contains(&length_s);
    is_possible.then(|| Duration::from_secs_f64(length_s))
}

/// A sequence of random delays.
#[derive(Debug)]
pub struct Delays {
    delay: Delay,
    rng: Rng,
}

impl Delays {
    /// A sequence with the distribution `delay`.
    pub fn new(delay: Delay) -> Self {
        Self { delay, rng: Rng::new(SEED) }
    }

    /// Whether answers are not delayed.
    #[inline]
    pub fn are_none(&self) -> bool {
        self.delay == Delay::NONE
    }

    /// The next delay, ns.
    pub fn next_ns(&mut self) -> u64 {
        self.delay.draw(&mut self.rng).as_nanos() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: f64) -> Duration {
        Duration::from_secs_f64(ms / 1e3)
    }

    #[test]
    fn what_is_written_is_what_is_meant() {
        for (text, delay) in [
            ("constant:2ms", Delay::Constant(ms(2.0))),
            ("constant:0us", Delay::NONE),
            ("exponential:1.5s", Delay::Exponential(ms(1500.0))),
            ("bimodal:250us,20ms,5%", Delay::Bimodal(ms(0.25), ms(20.0), 0.05)),
        ] {
            assert_eq!(Delay::parse(text), Some(delay), "{text}");
        }
        for text in [
            "",
            "2ms",
            "constant",
            "constant:",
            "constant:2",
            "constant:2m",
            "constant:-1ms",
            "constant:2ms,3ms",
            "constant:nans",
            "constant:infs",
            "constant:3601s",
            "gamma:1ms",
            "bimodal:1ms,2ms",
            "bimodal:1ms,2ms,5",
            "bimodal:1ms,2ms,101%",
            "bimodal:1ms,2ms,-1%",
        ] {
            assert_eq!(Delay::parse(text), None, "{text}");
        }
    }

    #[test]
    fn draws_have_the_distribution_asked_for() {
        let draws = |delay| {
            let mut delays = Delays::new(delay);
            (0..20_000).map(|_| delays.next_ns() as f64 / 1e6).collect::<Vec<_>>()
        };
        let exponential = draws(Delay::Exponential(ms(10.0)));
        let mean = exponential.iter().sum::<f64>() / exponential.len() as f64;
        let beyond = exponential.iter().filter(|&&one| one > 10.0).count() as f64 / 20_000.0;
        assert!((mean - 10.0).abs() < 0.3 && (beyond - (-1.0_f64).exp()).abs() < 0.02);
        let bimodal = draws(Delay::Bimodal(ms(1.0), ms(20.0), 0.05));
        let rare = bimodal.iter().filter(|&&one| one == 20.0).count();
        assert!(
            (800..1200).contains(&rare) && bimodal.iter().all(|&one| one == 1.0 || one == 20.0)
        );
        let longest = draws(Delay::Exponential(DELAY_MAX)).into_iter().fold(0.0, f64::max);
        assert_eq!(longest, 3.6e6);
    }
}
