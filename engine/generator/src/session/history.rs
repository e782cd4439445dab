//! Histories of attempts ([`crate::audit::history`]).

use super::audit::says_rolled_back;
use super::{GroupConfig, Session, Sinks, State};
use crate::audit::history::{Ending, append};
use crate::audit::log::{Identity, Outcome};
use dyno_core::driver::ServerError;
use dyno_core::workload::Effect;
use dyno_core::workload::history::Observed;

impl Session {
    /// All operations were answered.
    pub(super) fn record_committed(&self, now_ns: u64, sinks: Sinks<'_>, config: &GroupConfig<'_>) {
        let sent = self.transaction.ops.len();
        self.record(Outcome::Acknowledged, sent, now_ns, sinks, config);
    }

    /// The attempt ends before that: with a refusal, or without an answer.
    pub(super) fn record_ended(
        &self,
        now_ns: u64,
        refusal: Option<&ServerError>,
        sinks: Sinks<'_>,
        config: &GroupConfig<'_>,
    ) {
        let is_in_flight = self.state == State::InFlight;
        let sent = self.op as usize + usize::from(is_in_flight);
        let may_commit = is_in_flight && self.commits(config);
        let is_certain = !may_commit || refusal.is_some_and(says_rolled_back);
        let outcome = if is_certain { Outcome::Failed } else { Outcome::Unknown };
        self.record(outcome, sent, now_ns, sinks, config);
    }

    /// Whether the operation in flight makes writes durable: COMMIT, or a write outside of BEGIN.
    fn commits(&self, config: &GroupConfig<'_>) -> bool {
        match self.request(config).effect {
            Effect::Commit => true,
            Effect::Write => !self.has_begin(config),
            _ => false,
        }
    }

    fn record(
        &self,
        outcome: Outcome,
        sent: usize,
        now_ns: u64,
        sinks: Sinks<'_>,
        config: &GroupConfig<'_>,
    ) {
        let Some(log) = sinks.audit.filter(|_| sent > 0) else { return };
        let observed = Observed {
            transaction: &self.transaction,
            sent,
            answers: &self.answers,
            affected: self.affected,
            is_complete: outcome == Outcome::Acknowledged,
        };
        let mut accesses = Vec::with_capacity(sent);
        config.workload.observe(&observed, &mut accesses);
        let identity =
            Identity { session: self.id(config), n: self.drawn.1, attempt: self.attempt };
        append(
            log,
            identity,
            Ending { outcome, start_ns: self.attempt_ns, end_ns: now_ns },
            &accesses,
        );
    }
}
