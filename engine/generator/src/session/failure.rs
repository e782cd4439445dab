//! Failure handling of transactions: refusals, deadlines and lost connections; retry, rollback and
//! giving up.

use super::{GroupConfig, Session, Sinks, State, Step};
use crate::metrics::notice::Notice;
use dyno_core::driver::{Reply, ServerError};
use dyno_core::random::rng::Rng;
use dyno_core::workload::Effect;

/// Wait before the first retry; it doubles with each further retry.
const BACKOFF_FIRST_NS: u64 = 1_000_000;
/// Longest wait before a retry.
pub const BACKOFF_MAX_NS: u64 = 64_000_000;
/// Error code of a transaction that exceeded its deadline.
pub(super) const CODE_DEADLINE: &str = "deadline";
/// Error code of a transaction whose connection broke.
pub(super) const CODE_LOST: &str = "lost";
/// Random stream of the jitter, separate from the workload's draws.
const JITTER: u64 = 0x6a69_7474_6572;

impl Session {
    pub(super) fn rolled_back(
        &mut self,
        now_ns: u64,
        again: bool,
        reply: Reply,
        sinks: Sinks<'_>,
        config: &GroupConfig<'_>,
    ) -> Step {
        if let Some(error) = reply.error {
            if again {
                self.give_up(now_ns, sinks, config);
            }
            self.state = State::Idle;
            return Step::Reconnect(format!("roll-back refused: {} {}", error.code, error.message));
        }
        if again { self.back_off(now_ns, config) } else { self.next(now_ns, sinks, config) }
    }

    /// The server refused an operation: this attempt failed.
    pub(super) fn refused(
        &mut self,
        now_ns: u64,
        error: &ServerError,
        sinks: Sinks<'_>,
        config: &GroupConfig<'_>,
    ) -> Step {
        self.unacknowledged(now_ns, Some(error), sinks, config);
        let late = error.code == CODE_DEADLINE;
        let age_ns = now_ns.saturating_sub(if late { self.first_ns } else { self.attempt_ns });
        self.count_failure(now_ns, &error.code, &error.message, age_ns, sinks);
        if self.request(config).effect == Effect::Commit {
            sinks.metrics.refused_commits.add(1);
        }
        let again = error.retryable && self.attempt < config.retries;
        if again {
            self.attempt += 1;
        } else {
            self.give_up(now_ns, sinks, config);
        }
        if !error.rolled_back && self.has_begin(config) {
            self.state = State::RollingBack { again };
            return Step::Rollback;
        }
        if again { self.back_off(now_ns, config) } else { self.next(now_ns, sinks, config) }
    }

    pub(super) fn has_begin(&self, config: &GroupConfig<'_>) -> bool {
        self.transaction.ops.first().is_some_and(|op| {
            let effect = config.requests[usize::from(op.request)].effect;
            matches!(effect, Effect::BeginRead | Effect::BeginWrite)
        })
    }

    /// Waits 1 ms before the first retry and twice as long before each further one, up to 64 ms. Subtracts
    /// a random part of up to half, so that conflicting transactions do not collide again.
    pub(super) fn back_off(&mut self, now_ns: u64, config: &GroupConfig<'_>) -> Step {
        let doublings = (self.attempt - 1).min(16);
        let full_ns = (BACKOFF_FIRST_NS << doublings).min(BACKOFF_MAX_NS);
        let index = self.drawn.1 << 8 | u64::from(self.attempt & 255);
        let mut rng = Rng::for_transaction(config.seed ^ JITTER, self.id(config), index);
        let jitter_ns = rng.below(full_ns / 2);
        self.state = State::BackingOff;
        self.wait_in_transaction(now_ns, full_ns - jitter_ns, config)
    }

    /// Waits `length_ns`, but not past the deadline, so that the worker notices the deadline in time.
    #[inline]
    pub(super) fn wait_in_transaction(
        &mut self,
        now_ns: u64,
        length_ns: u64,
        config: &GroupConfig<'_>,
    ) -> Step {
        let deadline_ns = self.first_ns + config.deadline_ns;
        self.wait((now_ns + length_ns).min(deadline_ns.max(now_ns)))
    }

    /// Returns whether the transaction's deadline has passed before the server's answer. The worker then
    /// cancels, closes and reconnects. Counts the transaction as an error of at least its age.
    pub fn expire(&mut self, now_ns: u64, sinks: Sinks<'_>, config: &GroupConfig<'_>) -> bool {
        let late = |since_ns: u64| now_ns >= since_ns + config.deadline_ns;
        match self.state {
            State::InFlight | State::RollingBack { again: true } if late(self.first_ns) => {
                self.give_up_late(now_ns, sinks, config);
                self.state = State::Idle;
                true
            }
            State::Switching if late(self.op_ns) => {
                self.give_up_late(now_ns, sinks, config);
                self.end_cue();
                self.state = State::Idle;
                true
            }
            // Its failure is counted already; only the connection is given up.
            State::RollingBack { again: false } if late(self.op_ns) => {
                self.state = State::Idle;
                true
            }
            _ => false,
        }
    }

    pub(super) fn give_up_late(&mut self, now_ns: u64, sinks: Sinks<'_>, config: &GroupConfig<'_>) {
        self.unacknowledged(now_ns, None, sinks, config);
        let age_ns = now_ns.saturating_sub(self.first_ns);
        let message = format!("no commit within the deadline ({:.3} s)", age_ns as f64 / 1e9);
        self.fail(now_ns, (CODE_DEADLINE, &message), age_ns, sinks, config);
    }

    /// Fails the transaction, or those sent together that have not ended, without another retry.
    fn fail(
        &mut self,
        now_ns: u64,
        (code, message): (&str, &str),
        age_ns: u64,
        sinks: Sinks<'_>,
        config: &GroupConfig<'_>,
    ) {
        if config.pipeline > 1 {
            return self.fail_batch(now_ns, (code, message), age_ns, sinks);
        }
        self.count_failure(now_ns, code, message, age_ns, sinks);
        self.give_up(now_ns, sinks, config);
    }

    /// Gives up the transaction without another retry. Its latency would have exceeded its age, which
    /// counts as a lower bound: without it the worst cases would be missing from the percentiles.
    pub(super) fn give_up(&mut self, now_ns: u64, sinks: Sinks<'_>, config: &GroupConfig<'_>) {
        let kind = config.first_kind.map(|first| first + usize::from(self.transaction.kind));
        sinks.metrics.give_up(now_ns.saturating_sub(self.first_ns), kind);
        if let Some(arrival) = self.arrival.take() {
            sinks.metrics.open.give_up(arrival, now_ns);
        }
    }

    /// The connection broke; a transaction in progress fails.
    pub fn lost(&mut self, now_ns: u64, cause: &str, sinks: Sinks<'_>, config: &GroupConfig<'_>) {
        self.unacknowledged(now_ns, None, sinks, config);
        if matches!(
            self.state,
            State::InFlight
                | State::Preparing
                | State::BackingOff
                | State::RollingBack { again: true }
        ) {
            let age_ns = now_ns.saturating_sub(self.attempt_ns);
            self.fail(now_ns, (CODE_LOST, cause), age_ns, sinks, config);
        }
        // Return an arrival that has not begun, so that the next free session can take it.
        self.give_back(config);
        self.state = State::Idle;
    }

    pub(super) fn count_failure(
        &self,
        now_ns: u64,
        code: &str,
        message: &str,
        age_ns: u64,
        to: Sinks<'_>,
    ) {
        if to.metrics.entry(|to| to.fail(code, age_ns)) {
            to.notices.emit(Notice::Error {
                at_ns: now_ns,
                group: to.group,
                code: code.to_owned(),
                message: message.chars().take(500).collect(),
            });
        }
    }
}
