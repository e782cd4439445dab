//! Think times: the pauses of a session, after each transaction or before each operation, a pure
//! function of (seed, group, session, transaction number, operation).

use crate::pacing::arrivals::exponential;
use dyno_core::plan::{Think as Plan, ThinkDistribution, ThinkPer};
use dyno_core::random::rng::Rng;

/// Random stream of the pauses, separate from the workload's draws.
const THINK: u64 = 0x7468_696e_6b69_6e67;

/// Think times of a group's sessions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThinkTime {
    mean_ns: f64,
    distribution: ThinkDistribution,
    per: ThinkPer,
    seed: u64,
}

impl ThinkTime {
    /// Creates them from the plan.
    pub fn new(plan: &Plan, seed: u64) -> Self {
        let Plan { mean_s, distribution, per } = *plan;
        Self { mean_ns: mean_s * 1e9, distribution, per, seed: seed ^ THINK }
    }

    /// The pause before transaction `index` of `session`, nanoseconds; `None` if pauses precede operations.
    #[inline]
    pub fn before_transaction_ns(&self, session: u32, index: u64) -> Option<u64> {
        (self.per == ThinkPer::Transaction).then(|| self.pause_ns(self.seed, session, index))
    }

    /// The pause before an operation of that transaction, nanoseconds; `None` if pauses precede
    /// transactions.
    #[inline]
    pub fn before_operation_ns(&self, session: u32, index: u64, op: u32) -> Option<u64> {
        let seed = self.seed ^ (u64::from(op) + 1) << 32;
        (self.per == ThinkPer::Operation).then(|| self.pause_ns(seed, session, index))
    }

    #[inline]
    fn pause_ns(&self, seed: u64, session: u32, index: u64) -> u64 {
        match self.distribution {
            ThinkDistribution::Constant => self.mean_ns as u64,
            ThinkDistribution::Exponential => {
                let mut rng = Rng::for_transaction(seed, session, index);
                (exponential(&mut rng) * self.mean_ns) as u64
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn think(distribution: ThinkDistribution, per: ThinkPer) -> ThinkTime {
        ThinkTime::new(&Plan { mean_s: 0.01, distribution, per }, 42)
    }

    #[test]
    fn a_constant_pause_is_its_mean() {
        let think = think(ThinkDistribution::Constant, ThinkPer::Transaction);
        let pauses = (0..100).map(|n| think.before_transaction_ns(n as u32 % 3, n));
        assert!(pauses.into_iter().all(|pause| pause == Some(10_000_000)));
        assert_eq!(think.before_operation_ns(0, 0, 0), None);
    }

    #[test]
    fn exponential_pauses_have_their_mean_and_variance_and_repeat() {
        let after = think(ThinkDistribution::Exponential, ThinkPer::Transaction);
        let within = think(ThinkDistribution::Exponential, ThinkPer::Operation);
        assert_eq!(within.before_transaction_ns(0, 0), None);
        let transaction = |n: u32| after.before_transaction_ns(n % 8, u64::from(n / 8)).unwrap();
        let operation =
            |n: u32| within.before_operation_ns(n % 8, u64::from(n / 64), n / 8 % 8).unwrap();
        assert_mean_and_variance((0..40_000).map(transaction).collect());
        assert_mean_and_variance((0..40_000).map(operation).collect());
        assert_eq!(within.before_operation_ns(3, 17, 2), within.before_operation_ns(3, 17, 2));
        let all = [(3, 17, 2), (4, 17, 2), (3, 18, 2), (3, 17, 1)];
        let pauses = all.map(|(session, n, op)| within.before_operation_ns(session, n, op));
        let unique: std::collections::BTreeSet<_> = pauses.iter().collect();
        assert_eq!(unique.len(), all.len());
        assert_ne!(after.before_transaction_ns(3, 17), after.before_transaction_ns(3, 18));
        assert_ne!(after.before_transaction_ns(3, 17), after.before_transaction_ns(4, 17));
    }

    fn assert_mean_and_variance(pauses_ns: Vec<u64>) {
        let pauses: Vec<f64> = pauses_ns.into_iter().map(|pause| pause as f64).collect();
        let n = pauses.len() as f64;
        let mean = pauses.iter().sum::<f64>() / n;
        let variance = pauses.iter().map(|pause| (pause - mean).powi(2)).sum::<f64>() / n;
        // Five standard errors; the fourth moment of an exponential variate gives the second one.
        assert!((mean / 1e7 - 1.0).abs() < 5.0 / n.sqrt(), "{mean}");
        assert!((variance / 1e14 - 1.0).abs() < 5.0 * (8.0 / n).sqrt(), "{variance}");
    }
}
