//! The interface between scripts and load threads. A session runs until it must wait, returns its
//! wait condition, and is resumed with the outcome. Scripts do not use sockets; load threads do not
//! use Lua.

use crate::connection::Connection;
use crate::pace::{Next, Pace};
use crate::rand::Rand;
use crate::tally::{Latencies, Sort, Tallies, Tally};
use dyno_core::clock::{Clock, MonotonicClock};
use dyno_core::driver::client::Answer;
use dyno_core::error::{Error, Result};
use dyno_generator::metrics::group::GroupMetrics;
use dyno_generator::metrics::notice::{Notice, Notices};
use dyno_generator::pacing::arrival_source::Arrival;
use std::cell::Cell;

/// The program of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// `thread_init`, then events until the run has no more, then `thread_done`.
    Run,
    /// One function of the script: `prepare`, `cleanup` or a custom command.
    Command(String),
}

/// The condition that a session waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// The common start of all sessions; timing begins there. A command need not wait for it.
    Start,
    /// Connection number n: connect, TLS handshake, login. Reopening it needs a new
    /// [`Wired`](crate::connection::Wired), since a protocol client serves one connection.
    Connect(usize),
    /// The answer of connection number n to the request in its `output`.
    Answer(usize),
    /// A time on the run's clock. 0: resume as soon as the other sessions of the thread have had their
    /// turn, so that a session without waits does not block them. A session that waits for an event is
    /// resumed earlier if the run ends earlier.
    Until(u64),
}

/// The outcome of a wait.
#[derive(Debug)]
pub enum Outcome {
    /// The session runs for the first time.
    Begin,
    /// The condition is met. An answer is in the connection's client.
    Come,
    /// The condition cannot be met: the connection is lost, or could not be opened.
    Lost(Error),
}

/// The result of resuming a session.
#[derive(Debug)]
pub enum Step {
    /// The session waits.
    Wait(Wait),
    /// The session's program has ended.
    Ended,
    /// The session's script blocks and has ended on this thread. Its program restarts on a separate
    /// thread, which receives the [`Baggage`].
    Moves,
    /// The session's script has failed; the run ends with this message, as the report prints it.
    Failed(String),
}

/// State that moves with a session to another thread.
#[derive(Debug)]
pub struct Baggage {
    held: Option<Arrival>,
    rand: Option<Box<Rand>>,
}

/// One session: the state that its script and its load thread share, never at the same time.
pub struct Session<'a> {
    /// The session's number in the run, from 0.
    pub number: u32,
    /// Connections by number; a number stays unused after a disconnect.
    pub connections: Vec<Option<Connection>>,
    /// The session's counters. During the warm-up they point to counters that are discarded; see
    /// [`begin_event`](Self::begin_event).
    pub tally: &'a Tally,
    /// The latencies of the session's thread.
    pub latencies: &'a Latencies,
    /// The time at which the current event began; 0: no event is in progress.
    pub began_ns: u64,
    /// The time at which that event was due.
    pub due_ns: u64,
    /// Random number state, in transit to another thread.
    pub rand: Option<Box<Rand>>,
    pace: &'a Pace,
    /// An event that is claimed for the session and that it waits for.
    held: Option<Arrival>,
    /// An event that the session may begin, and whether it has waited for it.
    granted: Option<(Arrival, bool)>,
    /// The event in progress, in a trial with a rate.
    under_way: Option<Arrival>,
    /// The session's counters after the warm-up.
    measured: Option<(&'a Tally, &'a Latencies)>,
    /// Additional counters in a trial of an experiment.
    trial: Option<(&'a GroupMetrics, &'a Notices)>,
    /// Statements of the event in progress, and rows that they returned.
    statements: Cell<u64>,
    rows: Cell<u64>,
}

impl<'a> Session<'a> {
    /// Creates session `number`, driven by thread `thread`.
    pub fn new(number: u32, thread: usize, tallies: &'a Tallies, pace: &'a Pace) -> Self {
        Self {
            number,
            connections: Vec::new(),
            tally: &tallies.sessions[number as usize],
            latencies: &tallies.threads[thread],
            began_ns: 0,
            due_ns: 0,
            rand: None,
            pace,
            held: None,
            granted: None,
            under_way: None,
            measured: None,
            trial: tallies
                .trial
                .as_ref()
                .map(|trial| (&trial.metrics[thread].groups[0], &trial.notices)),
            statements: Cell::new(0),
            rows: Cell::new(0),
        }
    }

    /// Adds a warm-up, whose events count in `discarded`.
    #[must_use]
    pub fn warming_up(mut self, discarded: (&'a Tally, &'a Latencies)) -> Self {
        self.measured = Some((self.tally, self.latencies));
        (self.tally, self.latencies) = discarded;
        self
    }

    /// Creates the session on a thread of its own.
    #[must_use]
    pub fn moved(mut self, tallies: &'a Tallies, baggage: Baggage) -> Self {
        self.latencies = tallies.own(self.number);
        (self.held, self.rand) = (baggage.held, baggage.rand);
        self
    }

    /// Whether the session could count on another thread. The metrics of a trial belong to the threads
    /// that it began with.
    pub fn can_move(&self) -> bool {
        self.trial.is_none()
    }

    /// Returns the state to move to another thread. No part of the session may run here any more.
    pub fn leave(&mut self) -> Baggage {
        Baggage { held: self.held.take(), rand: self.rand.take() }
    }

    /// The event that the session may begin stays assigned to it, but does not begin now.
    pub fn hold(&mut self) {
        self.held = self.granted.take().map(|(arrival, _)| arrival);
    }

    /// Returns the next action after an event. After [`Next::Wait`], call again at that time.
    #[inline]
    pub fn next_event(&mut self, now_ns: u64) -> Next {
        self.drop_granted();
        let held = self.held.take();
        let Some(own) = held.or_else(|| self.pace.claim(now_ns)) else { return Next::Stop };
        let arrival = self.pace.reconsider(own, now_ns);
        let due_ns = arrival.due_ns;
        if due_ns > now_ns && !self.pace.is_stopped() {
            self.held = Some(arrival);
            return Next::Wait { until_ns: due_ns };
        }
        if self.pace.is_over(due_ns) {
            self.pace.give_back(own);
            return Next::Stop;
        }
        self.due_ns = due_ns;
        self.granted = Some((arrival, held.is_some()));
        Next::Go { due_ns }
    }

    /// Whether no event may begin any more because the time has ended.
    pub fn is_over(&self, now_ns: u64) -> bool {
        self.pace.is_over(now_ns)
    }

    /// Whether the session's last event, if any, belonged to the warm-up.
    #[inline]
    pub fn is_warming_up(&self) -> bool {
        self.measured.is_some()
    }

    /// Whether the session waits for an event that is not due yet.
    pub fn awaits_event(&self) -> bool {
        self.held.is_some()
    }

    /// Begins an event. An event that begins in the warm-up is not counted, nor are its statements,
    /// however long it takes: so the warm-up drains, and the counted times add up.
    #[inline]
    pub fn begin_event(&mut self, now_ns: u64) {
        if self.measured.is_some()
            && self.pace.is_measured(now_ns)
            && let Some(measured) = self.measured.take()
        {
            (self.tally, self.latencies) = measured;
        }
        self.give_up();
        if let Some((arrival, was_awaited)) = self.granted.take()
            && let Some(metrics) = self.open()
        {
            metrics.open.begin(arrival, now_ns, was_awaited);
            self.under_way = Some(arrival);
        }
        self.began_ns = now_ns.max(1);
        self.statements.set(0);
        self.rows.set(0);
        self.pace.begun();
    }

    /// The counters of arrivals, in a trial with a rate.
    #[inline]
    fn open(&self) -> Option<&'a GroupMetrics> {
        if self.pace.has_rate() { self.trial.map(|(metrics, _)| metrics) } else { None }
    }

    /// In a trial with a rate, an event that the script has taken and not begun counts as given up.
    #[inline]
    fn drop_granted(&mut self) {
        if let Some((arrival, _)) = self.granted.take()
            && let Some(metrics) = self.open()
        {
            metrics.open.begin(arrival, arrival.due_ns, false);
            self.under_way = Some(arrival);
            self.give_up();
        }
    }

    /// The event in progress, if any, will not end: it counts with its age.
    #[inline]
    fn give_up(&mut self) {
        let arrival = self.under_way.take();
        if let Some((metrics, _)) = self.trial
            && (self.began_ns != 0 || arrival.is_some())
        {
            let now_ns = MonotonicClock.now_ns();
            let began_ns = if self.began_ns == 0 { now_ns } else { self.began_ns };
            metrics.give_up(now_ns.saturating_sub(began_ns), None);
            if let Some(arrival) = arrival {
                metrics.open.give_up(arrival, now_ns);
            }
        }
    }

    /// Counts an answered statement.
    #[inline]
    pub fn statement(&self, answer: &Answer) {
        self.tally.statement(match (answer.fields, answer.affected) {
            (1.., _) => Sort::Read,
            (0, 1..) => Sort::Write,
            (0, 0) => Sort::Other,
        });
        self.statements.set(self.statements.get() + 1);
        self.rows.set(self.rows.get() + answer.rows);
    }

    /// Counts an error after which the event restarts; `code` is the system's own.
    pub fn error(&self, code: &str, message: &str) {
        self.tally.errors.add(1);
        self.statements.set(0);
        self.rows.set(0);
        let Some((metrics, notices)) = self.trial else {
            self.latencies.error(code);
            return;
        };
        let at_ns = MonotonicClock.now_ns();
        let age_ns = if self.began_ns == 0 { 0 } else { at_ns.saturating_sub(self.began_ns) };
        metrics.retries.add(1);
        if metrics.entry(|to| to.fail(code, age_ns)) {
            let (code, message) = (code.to_owned(), message.to_owned());
            notices.emit(Notice::Error { at_ns, group: 0, code, message });
        }
    }

    /// Abandons the session's events: the one in progress and those that have not begun.
    pub fn cut(&mut self, now_ns: u64) {
        let granted = self.granted.take().map(|(arrival, _)| arrival);
        for arrival in [granted, self.held.take(), self.under_way.take()].into_iter().flatten() {
            self.pace.give_back(arrival);
        }
        if let Some((metrics, _)) = self.trial
            && self.began_ns != 0
        {
            metrics.in_flight_oldest_ns.raise(now_ns.saturating_sub(self.began_ns));
        }
    }

    /// Ends and counts the event.
    #[inline]
    pub fn end_event(&mut self, now_ns: u64) {
        if self.began_ns == 0 {
            return;
        }
        let latency_ns = now_ns.saturating_sub(self.began_ns);
        self.latencies.events.record(latency_ns);
        if self.pace.has_rate() {
            self.latencies.responses.record(now_ns.saturating_sub(self.due_ns));
        }
        if let Some((metrics, _)) = self.trial {
            if self.pace.is_over(now_ns) {
                metrics.in_flight_oldest_ns.raise(latency_ns);
            }
            let arrival = self.under_way.take();
            metrics.entry(|to| {
                to.commit(latency_ns, self.statements.get(), self.rows.get());
                if let Some(arrival) = arrival {
                    to.open.commit(arrival, now_ns);
                }
            });
        }
        self.tally.busy_ns.add(latency_ns);
        self.tally.events.add(1);
        self.began_ns = 0;
        self.pace.ended();
        self.leave_event();
    }

    /// Gives up the event in progress, if any; it does not count as done.
    pub fn leave_event(&mut self) {
        self.drop_granted();
        self.give_up();
        if self.began_ns != 0 {
            self.began_ns = 0;
            self.pace.ended();
        }
    }
}

/// Runs the scripts of one load thread.
pub trait Scripts {
    /// Runs `session` from its current wait, or from its begin, to its next wait.
    fn resume(&mut self, session: &mut Session<'_>, outcome: Outcome) -> Step;
}

/// Creates the scripts of a load thread, given the thread's number; called on that thread. The
/// result may live on: the run abandons a thread whose script never returns.
pub type MakeScripts = dyn Fn(usize) -> Result<Box<dyn Scripts>> + Send + Sync;

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::histogram::Histogram;
    use dyno_core::plan::{Arrivals, Process, RateStep};
    use dyno_generator::pacing::arrivals::Stream;

    const MS: u64 = 1_000_000;

    /// One arrival every 10 ms from 0 to 100 ms, in a trial of an experiment.
    fn paced(run: impl FnOnce(&Tallies, &Pace)) {
        let steps = vec![RateStep { for_s: None, from_per_s: 100.0, to_per_s: 100.0 }];
        let arrivals = Arrivals { process: Process::Uniform, steps };
        let pace = Pace::trial(Stream::new(&arrivals, 1, 0, 0.0), 100 * MS);
        pace.starts(0, u64::MAX);
        let tallies = Tallies::new(2, 1).for_trial(false, Notices::new().0);
        run(&tallies, &pace);
    }

    fn counts(tallies: &Tallies) -> (u64, u64, u64) {
        let open = &tallies.trial.as_ref().unwrap().metrics[0].groups[0].open;
        (open.begun.get(), open.ended(), open.failed.get())
    }

    #[test]
    fn in_a_trial_with_a_rate_each_arrival_is_ended_or_left_whatever_scripts_do() {
        paced(|tallies, pace| {
            let mut one = Session::new(0, 0, tallies, pace);
            let mut other = Session::new(1, 0, tallies, pace);
            assert_eq!(one.next_event(0), Next::Go { due_ns: 0 });
            one.begin_event(0);
            one.end_event(25 * MS);
            assert_eq!(counts(tallies), (1, 1, 0));
            // Taken and not begun; begun and not ended.
            assert_eq!(one.next_event(25 * MS), Next::Go { due_ns: 10 * MS });
            assert_eq!(one.next_event(25 * MS), Next::Go { due_ns: 20 * MS });
            one.begin_event(25 * MS);
            one.begin_event(26 * MS);
            assert_eq!(counts(tallies), (3, 3, 2));
            // In progress, and waited for, when the session is abandoned.
            assert_eq!(one.next_event(40 * MS), Next::Go { due_ns: 30 * MS });
            one.begin_event(40 * MS);
            assert_eq!(other.next_event(35 * MS), Next::Wait { until_ns: 40 * MS });
            pace.stop();
            assert_eq!(other.next_event(50 * MS), Next::Stop);
            one.cut(50 * MS);
            let mut ages = Histogram::default();
            let left = pace.arrival_source().unwrap().leave(100 * MS, 200 * MS, &mut ages);
            assert_eq!(counts(tallies).1 + left, 10);
        });
    }

    #[test]
    fn responses_count_from_when_events_were_due_and_lags_from_there_to_their_begin() {
        paced(|tallies, pace| {
            let mut session = Session::new(0, 0, tallies, pace);
            assert_eq!(session.next_event(0), Next::Go { due_ns: 0 });
            session.begin_event(0);
            session.end_event(2 * MS);
            assert_eq!(session.next_event(2 * MS), Next::Wait { until_ns: 10 * MS });
            assert_eq!(session.next_event(11 * MS), Next::Go { due_ns: 10 * MS });
            session.begin_event(12 * MS);
            session.end_event(15 * MS);
            let open = &tallies.trial.as_ref().unwrap().metrics[0].groups[0].open;
            let of = |live: &dyno_generator::metrics::live_histogram::LiveHistogram| {
                let mut histogram = Histogram::default();
                live.add_to(&mut histogram);
                (histogram.count(), histogram.sum_ns())
            };
            assert_eq!((of(&open.response), of(&open.dispatch)), ((2, 7 * MS), (1, 2 * MS)));
        });
    }
}
