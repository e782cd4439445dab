//! A session as a pure state machine: it does no I/O, never blocks and reads no clock. Workers report
//! events with their times and carry out the [`Step`] that the session returns.
//!
//! Counting rules: only committed transactions enter throughput and latency, from the first
//! attempt's start to the answer to the last operation. Pauses before operations are part of the
//! transaction's latency, but not of any operation's own time. A failed attempt is counted under its
//! code. In an open loop a transaction also has a response time, measured from its due time.
//!
//! A transaction may have several stages: after the answers to all its operations, the workload may
//! append operations that depend on these answers. A retry begins again with the first stage.
//!
//! `session/failure.rs` handles failures, `session/arrivals.rs` an open loop, and
//! `session/pipeline.rs` transactions that are sent together. In a replay each recorded statement is a
//! transaction; `session/replay.rs` chooses the next one.

mod arrivals;
mod audit;
mod config;
mod expect;
mod failure;
mod history;
mod pipeline;
mod replay;

use crate::metrics::group::GroupMetrics;
use crate::metrics::open_loop::OpenLoopMetrics;
use crate::pacing::arrival_source::Arrival;
use crate::pacing::think_time::ThinkTime;
pub use config::{GroupConfig, Sinks};
use dyno_core::driver::Reply;
use dyno_core::workload::rows::Rows;
use dyno_core::workload::{Request, Transaction};
pub use failure::BACKOFF_MAX_NS;
use pipeline::Batch;
use replay::ReplayPosition;

/// Action that the worker must carry out for a session.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Send [`Session::ops`] in one write, calling [`Session::sent`] right before.
    Send,
    /// Receive the further answers to what was sent together.
    Receive,
    /// Send `ROLLBACK`.
    Rollback,
    /// Send this text, calling [`Session::sent`] right before.
    SendText(String),
    /// Close the connection, as the recorded client did: the recorded session has ended.
    Leave,
    /// Call [`Session::woken`] at this time.
    Wait(u64),
    /// Do nothing: no further arrival will be due. See [`Session::reconsider`].
    Rest,
    /// Close the connection, which is unusable, and connect again. The text is the cause.
    Reconnect(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// No transaction: not started, or not connected.
    Idle,
    /// Waiting for the due time of an arrival.
    Pacing,
    /// Pausing before the next transaction.
    Thinking,
    /// Pausing before an operation, within a transaction.
    Preparing,
    /// No arrivals remain.
    Resting,
    /// Waiting for the answer to an operation.
    InFlight,
    /// Waiting for the answer to the command that changes the default database.
    Switching,
    /// Waiting for the answer to `ROLLBACK`; then the same transaction begins again, or the next one.
    RollingBack { again: bool },
    /// Waiting before a retry.
    BackingOff,
}

/// One session of a group.
pub struct Session {
    number: u32,
    state: State,
    attempt: u32,
    op: u32,
    /// Transactions composed so far, which is the number of the next one.
    composed: u64,
    /// Session and transaction number that seeded the current transaction.
    drawn: (u32, u64),
    /// How many stages were appended to the current transaction.
    stage: u32,
    /// Rows stored from the answers to the current transaction.
    answers: Vec<Rows>,
    /// Whether the current attempt's clock runs.
    has_begun: bool,
    /// The arrival in progress or waited for.
    arrival: Option<Arrival>,
    /// Whether the session was idle when the arrival fell due.
    was_awaited: bool,
    /// Time of the next wake-up.
    wake_ns: u64,
    first_ns: u64,
    attempt_ns: u64,
    pub(crate) op_ns: u64,
    rows: u64,
    /// Rows that the operation answered last has changed.
    affected: u64,
    /// Service time of each operation answered in this attempt, recorded when it commits.
    answered_ns: Vec<u64>,
    transaction: Transaction,
    batch: Batch,
    /// The recorded session in a replay, and the position in it.
    replay_position: Option<ReplayPosition>,
}

impl Session {
    /// Creates session `number` of its group.
    pub fn new(number: u32) -> Self {
        Self {
            number,
            state: State::Idle,
            attempt: 0,
            op: 0,
            composed: 0,
            drawn: (0, 0),
            stage: 0,
            answers: Vec::new(),
            has_begun: false,
            arrival: None,
            was_awaited: false,
            wake_ns: 0,
            first_ns: 0,
            attempt_ns: 0,
            op_ns: 0,
            rows: 0,
            affected: 0,
            answered_ns: Vec::new(),
            transaction: Transaction::default(),
            batch: Batch::default(),
            replay_position: None,
        }
    }

    /// Number within the group.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Whether the session waits for an answer.
    pub fn is_in_flight(&self) -> bool {
        matches!(self.state, State::InFlight | State::Switching | State::RollingBack { .. })
    }

    /// Start of the first attempt of the transaction in progress.
    pub fn under_way_since_ns(&self) -> Option<u64> {
        match self.state {
            State::Idle | State::Pacing | State::Thinking | State::Resting => None,
            State::InFlight | State::BackingOff | State::Preparing => Some(self.first_ns),
            State::Switching => Some(self.op_ns),
            // A transaction that will not be retried has ended; its ROLLBACK has a time of its own.
            State::RollingBack { again } => Some(if again { self.first_ns } else { self.op_ns }),
        }
    }

    /// Begins or resumes work: the load begins and the session is connected, or it has reconnected.
    pub fn begin(&mut self, now_ns: u64, sinks: Sinks<'_>, config: &GroupConfig<'_>) -> Step {
        match (config.arrival_source, config.replay) {
            (Some(arrival_source), _) => self.next_arrival(now_ns, arrival_source, sinks, config),
            (None, Some(replay)) => self.go_on(now_ns, replay, sinks, config),
            (None, None) => self.compose_next(now_ns, sinks, config),
        }
    }

    /// Begins the next transaction, now or later, after one has ended.
    #[inline]
    fn next(&mut self, now_ns: u64, sinks: Sinks<'_>, config: &GroupConfig<'_>) -> Step {
        if let Some(arrival_source) = config.arrival_source {
            return self.next_arrival(now_ns, arrival_source, sinks, config);
        }
        if let Some(replay) = config.replay {
            return self.next_cue(now_ns, replay, sinks, config);
        }
        let pause_ns = self.pause_ns(config);
        if pause_ns > 0 {
            self.state = State::Thinking;
            return self.wait(now_ns + pause_ns);
        }
        self.compose_next(now_ns, sinks, config)
    }

    /// The pause before the next transaction: the sum of the group's and the workload's own.
    #[inline]
    fn pause_ns(&self, config: &GroupConfig<'_>) -> u64 {
        let (session, index) = (self.id(config), self.composed);
        let own = |think: &ThinkTime| think.before_transaction_ns(session, index);
        let own_ns = config.think.as_ref().and_then(own).unwrap_or(0);
        own_ns + if config.pauses { config.workload.pause_ns(session, index) } else { 0 }
    }

    /// Session number that is unique over all groups: groups with the same workload and seed draw
    /// different values.
    fn id(&self, config: &GroupConfig<'_>) -> u32 {
        (config.group as u32) << 24 | self.number
    }

    #[inline]
    fn compose_next(&mut self, now_ns: u64, sinks: Sinks<'_>, config: &GroupConfig<'_>) -> Step {
        let index = self.composed;
        self.composed += 1;
        self.compose(self.id(config), index, config);
        self.begin_attempt(now_ns, sinks, config)
    }

    #[inline]
    fn compose(&mut self, session: u32, index: u64, config: &GroupConfig<'_>) {
        self.attempt = 0;
        self.drawn = (session, index);
        self.compose_first_stage(config);
    }

    #[inline]
    fn compose_first_stage(&mut self, config: &GroupConfig<'_>) {
        let (session, index) = self.drawn;
        self.stage = 0;
        self.transaction.clear();
        config.workload.fill(session, index, &mut self.transaction);
        assert!(!self.transaction.ops.is_empty(), "a workload composed an empty transaction");
    }

    /// Appends the next stage after all operations are answered; returns whether there is one.
    fn compose_more(&mut self, config: &GroupConfig<'_>) -> bool {
        let (session, index) = self.drawn;
        let (so_far, tx) = (self.transaction.ops.len(), &mut self.transaction);
        self.stage += 1;
        config.workload.more(session, index, self.stage, &self.answers, tx);
        assert!(tx.ops.len() >= so_far, "a workload took operations back that were answered");
        let has_more = tx.ops.len() > so_far;
        if self.attempt > 0 {
            self.number_attempt(config);
        }
        has_more
    }

    fn wait(&mut self, until_ns: u64) -> Step {
        self.wake_ns = until_ns;
        Step::Wait(until_ns)
    }

    /// Whether the session's wake-up time has come by `now_ns`. [`reconsider`](Self::reconsider) may replace
    /// a wait by an earlier one; the later wake-up then finds nothing to do.
    #[inline]
    pub fn is_due(&self, now_ns: u64) -> bool {
        let waits = matches!(
            self.state,
            State::Pacing | State::Thinking | State::Preparing | State::BackingOff
        );
        waits && self.wake_ns <= now_ns
    }

    #[inline]
    fn begin_attempt(&mut self, now_ns: u64, sinks: Sinks<'_>, config: &GroupConfig<'_>) -> Step {
        self.op = 0;
        self.rows = 0;
        self.has_begun = false;
        self.answered_ns.clear();
        self.answers.clear();
        // The operations that depended on the last attempt's answers may be wrong by now.
        if self.stage > 0 {
            self.compose_first_stage(config);
        }
        if self.attempt > 0 {
            self.number_attempt(config);
        }
        if config.pipeline > 1 {
            self.fill_batch(now_ns, sinks.metrics, config);
        }
        self.operate(now_ns, sinks, config)
    }

    /// Issues the next operation, now or after its pause.
    #[inline]
    fn operate(&mut self, now_ns: u64, sinks: Sinks<'_>, config: &GroupConfig<'_>) -> Step {
        let (session, index) = self.drawn;
        let pause = |think: &ThinkTime| think.before_operation_ns(session, index, self.op);
        if let Some(pause_ns) = config.think.as_ref().and_then(pause) {
            self.start_clock(now_ns, &sinks.metrics.open);
            self.state = State::Preparing;
            return self.wait_in_transaction(now_ns, pause_ns, config);
        }
        self.state = State::InFlight;
        Step::Send
    }

    /// Records that the worker sends the operation (or `ROLLBACK`) at `now_ns`.
    #[inline]
    pub fn sent(&mut self, now_ns: u64, open: &OpenLoopMetrics) {
        self.op_ns = now_ns;
        if self.state == State::InFlight {
            self.start_clock(now_ns, open);
        }
    }

    /// Starts the attempt's clock, unless it runs: at the first byte, or at a pause before it.
    #[inline]
    fn start_clock(&mut self, now_ns: u64, open: &OpenLoopMetrics) {
        if self.has_begun {
            return;
        }
        self.has_begun = true;
        self.attempt_ns = now_ns;
        if self.attempt == 0 {
            self.first_ns = now_ns;
            if let Some(arrival) = self.arrival {
                open.begin(arrival, now_ns, self.was_awaited);
            }
            self.batch.begin(now_ns, self.was_awaited, open);
        }
    }

    /// Continues at the time of [`Step::Wait`].
    pub fn woken(&mut self, now_ns: u64, sinks: Sinks<'_>, config: &GroupConfig<'_>) -> Step {
        match self.state {
            State::Pacing => match (config.arrival_source, self.arrival) {
                // The measured phase now ends sooner than it did when the arrival was claimed.
                (Some(arrival_source), Some(arrival)) if arrival_source.is_over(arrival) => {
                    self.arrival = None;
                    self.state = State::Resting;
                    Step::Rest
                }
                _ if self.is_over(config) => {
                    self.state = State::Resting;
                    Step::Rest
                }
                _ => self.begin_attempt(now_ns, sinks, config),
            },
            State::Thinking => self.compose_next(now_ns, sinks, config),
            State::BackingOff | State::Preparing
                if now_ns >= self.first_ns + config.deadline_ns =>
            {
                let is_open = self.state == State::Preparing && self.op > 0;
                self.give_up_late(now_ns, sinks, config);
                if is_open && self.has_begin(config) {
                    self.state = State::RollingBack { again: false };
                    return Step::Rollback;
                }
                self.next(now_ns, sinks, config)
            }
            State::Preparing => {
                self.state = State::InFlight;
                Step::Send
            }
            State::BackingOff => {
                sinks.metrics.retries.add(self.ops().0.len() as u64);
                self.begin_attempt(now_ns, sinks, config)
            }
            State::Idle
            | State::Resting
            | State::InFlight
            | State::Switching
            | State::RollingBack { .. } => {
                unreachable!("woken without having asked for it")
            }
        }
    }

    /// Handles the server's answer, which came at `now_ns`.
    #[inline]
    pub fn answered(
        &mut self,
        now_ns: u64,
        reply: Reply,
        sinks: Sinks<'_>,
        config: &GroupConfig<'_>,
    ) -> Step {
        if let State::RollingBack { again } = self.state {
            return self.rolled_back(now_ns, again, reply, sinks, config);
        }
        if let (State::Switching, Some(replay)) = (self.state, config.replay) {
            return self.switched(now_ns, reply, replay, sinks, config);
        }
        if config.pipeline > 1 {
            return self.answered_in_batch(now_ns, reply, sinks, config);
        }
        if let Some(error) = reply.error {
            return self.refused(now_ns, &error, sinks, config);
        }
        if config.checks_answers
            && let Some(breach) = expect::breach(self.request(config), &reply)
        {
            return self.refused(now_ns, &breach, sinks, config);
        }
        if config.keeps_rows && self.request(config).keeps {
            self.answers.push(reply.kept);
        }
        self.rows += reply.rows;
        self.affected = reply.affected;
        self.answered_ns.push(now_ns.saturating_sub(self.op_ns));
        self.op += 1;
        if (self.op as usize) < self.transaction.ops.len()
            || (config.keeps_rows && self.compose_more(config))
        {
            return self.operate(now_ns, sinks, config);
        }
        let arrival = self.arrival.take();
        sinks.metrics.entry(|to| self.commit(now_ns, arrival, config, to));
        if config.audit.is_some() || config.history {
            self.acknowledged(now_ns, sinks, config);
        }
        self.next(now_ns, sinks, config)
    }

    /// Records the committed transaction.
    #[inline]
    fn commit(
        &self,
        now_ns: u64,
        arrival: Option<Arrival>,
        config: &GroupConfig<'_>,
        to: &GroupMetrics,
    ) {
        for (op, &service_ns) in self.transaction.ops.iter().zip(&self.answered_ns) {
            let class = config.class_of[usize::from(op.request)];
            to.classes[usize::from(class)].record(service_ns);
        }
        let latency_ns = now_ns.saturating_sub(self.first_ns);
        if let Some(first) = config.first_kind {
            to.classes[first + usize::from(self.transaction.kind)].record(latency_ns);
        }
        to.commit(latency_ns, self.transaction.ops.len() as u64, self.rows);
        if let Some(arrival) = arrival {
            to.open.commit(arrival, now_ns);
        }
    }

    fn request<'a>(&self, config: &GroupConfig<'a>) -> &'a Request {
        &config.requests[usize::from(self.transaction.ops[self.op as usize].request)]
    }
}
