//! Outcomes of attempts that carry an identity ([`crate::audit`]).
//!
//! An attempt has an outcome once its identity may have reached the server, and exactly one: each
//! retry is an attempt with an identity of its own.

use super::{GroupConfig, Session, Sinks, State};
use crate::audit::log::{Identity, Outcome};
use crate::audit::workload::Carrier;
use dyno_core::driver::ServerError;
use dyno_core::workload::Value;

/// Classes of SQLSTATE that no committed transaction has: constraint violation, invalid transaction
/// state, transaction rollback (SQL standard; the appendix "PostgreSQL Error Codes").
const ROLLED_BACK: [&str; 3] = ["23", "25", "40"];
/// Of these the one that says the contrary: statement completion unknown. CockroachDB sends it where
/// a commit is ambiguous.
const COMPLETION_UNKNOWN: &str = "40003";

impl Session {
    /// The identity of the attempt, and which operation carries it.
    fn identity(&self, config: &GroupConfig<'_>) -> Option<(u32, Identity)> {
        let carrier = config.audit?;
        let before_end = if carrier == Carrier::LastWrite { 1 } else { 2 };
        let at = self.transaction.ops.len().checked_sub(before_end)?;
        let op = &self.transaction.ops[at];
        let carries = match carrier {
            Carrier::Insert(insert) => op.request == insert,
            Carrier::LastWrite => config.requests[usize::from(op.request)].identified,
        };
        if !carries {
            return None;
        }
        match *self.transaction.values_of(op) {
            [.., Value::Int(session), Value::Int(n), Value::Int(attempt)] => {
                let (session, n, attempt) = (session as u32, n as u64, attempt as u32);
                Some((at as u32, Identity { session, n, attempt }))
            }
            _ => None,
        }
    }

    /// Writes the number of a retry into its identity, or into the values that it writes.
    pub(super) fn number_attempt(&mut self, config: &GroupConfig<'_>) {
        if config.history {
            return config.workload.renumber(self.attempt, &mut self.transaction);
        }
        if let Some((at, _)) = self.identity(config) {
            let last = self.transaction.ops[at as usize].values.end as usize - 1;
            self.transaction.values[last] = Value::Int(i64::from(self.attempt));
        }
    }

    /// The server confirmed the COMMIT.
    pub(super) fn acknowledged(&self, now_ns: u64, sinks: Sinks<'_>, config: &GroupConfig<'_>) {
        if config.history {
            return self.record_committed(now_ns, sinks, config);
        }
        if let (Some(log), Some((_, identity))) = (sinks.audit, self.identity(config)) {
            log.append(identity, Outcome::Acknowledged, now_ns);
        }
    }

    /// The attempt ends without the confirmation of its COMMIT: with a refusal, or without an answer.
    pub(super) fn unacknowledged(
        &self,
        now_ns: u64,
        refusal: Option<&ServerError>,
        sinks: Sinks<'_>,
        config: &GroupConfig<'_>,
    ) {
        // In any other state the attempt has ended before.
        if !matches!(self.state, State::InFlight | State::Preparing) {
            return;
        }
        if config.history {
            return self.record_ended(now_ns, refusal, sinks, config);
        }
        let (Some(log), Some((at, identity))) = (sinks.audit, self.identity(config)) else {
            return;
        };
        if self.op < at {
            return;
        }
        let commit = if config.audit == Some(Carrier::LastWrite) { at } else { at + 1 };
        let has_sent_commit = self.op >= commit && self.state == State::InFlight;
        let is_certain = !has_sent_commit || refusal.is_some_and(says_rolled_back);
        let outcome = if is_certain { Outcome::Failed } else { Outcome::Unknown };
        log.append(identity, outcome, now_ns);
    }

    /// The load ends, and with it the attempt under way.
    pub fn cut_short(&self, now_ns: u64, sinks: Sinks<'_>, config: &GroupConfig<'_>) {
        self.unacknowledged(now_ns, None, sinks, config);
    }
}

/// Whether a refused COMMIT has certainly not committed. A driver calls errors retryable only if they
/// leave nothing behind.
pub(super) fn says_rolled_back(error: &ServerError) -> bool {
    if error.state == COMPLETION_UNKNOWN {
        return false;
    }
    error.rolled_back
        || error.retryable
        || ROLLED_BACK.iter().any(|class| error.state.starts_with(class))
}
