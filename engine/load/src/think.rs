//! Think times: the pause of a closed loop's session after each transaction, a pure function of
//! (seed, group, session, transaction number).

use crate::arrivals::exponential;
use dyno_core::plan::{Think as Plan, ThinkDistribution};
use dyno_core::rng::Rng;

/// Keeps pauses apart from the workload's draws.
const THINK: u64 = 0x7468_696e_6b69_6e67;

/// How long sessions of a group pause.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Think {
    mean_ns: f64,
    distribution: ThinkDistribution,
    seed: u64,
}

impl Think {
    /// As the plan says.
    pub fn new(plan: &Plan, seed: u64) -> Self {
        Self { mean_ns: plan.mean_s * 1e9, distribution: plan.distribution, seed: seed ^ THINK }
    }

    /// The pause before transaction `index` of `session`, nanoseconds.
    #[inline]
    pub fn pause_ns(&self, session: u32, index: u64) -> u64 {
        match self.distribution {
            ThinkDistribution::Constant => self.mean_ns as u64,
            ThinkDistribution::Exponential => {
                let mut rng = Rng::for_transaction(self.seed, session, index);
                (exponential(&mut rng) * self.mean_ns) as u64
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn think(distribution: ThinkDistribution) -> Think {
        Think::new(&Plan { mean_s: 0.01, distribution }, 42)
    }

    #[test]
    fn a_constant_pause_is_always_its_mean() {
        let think = think(ThinkDistribution::Constant);
        assert!((0..100).all(|index| think.pause_ns(index as u32 % 3, index) == 10_000_000));
    }

    #[test]
    fn exponential_pauses_have_their_mean_and_variance_and_repeat() {
        let think = think(ThinkDistribution::Exponential);
        let pauses: Vec<f64> =
            (0..40_000).map(|n| think.pause_ns(n % 8, u64::from(n / 8)) as f64).collect();
        let n = pauses.len() as f64;
        let mean = pauses.iter().sum::<f64>() / n;
        let variance = pauses.iter().map(|pause| (pause - mean).powi(2)).sum::<f64>() / n;
        // Five standard errors; the fourth moment of an exponential variate gives the second one.
        assert!((mean / 1e7 - 1.0).abs() < 5.0 / n.sqrt(), "{mean}");
        assert!((variance / 1e14 - 1.0).abs() < 5.0 * (8.0 / n).sqrt(), "{variance}");
        assert_eq!(think.pause_ns(3, 17), think.pause_ns(3, 17));
        assert_ne!(think.pause_ns(3, 17), think.pause_ns(3, 18));
        assert_ne!(think.pause_ns(3, 17), think.pause_ns(4, 17));
    }
}
