//! Where scripts and load threads meet: a session runs until it must wait, says for what, and is
//! resumed with what came of it. Scripts know nothing of sockets, load threads nothing of Lua.

use crate::connection::Connection;
use crate::pace::{Next, Pace};
use crate::rand::Rand;
use crate::tally::{Latencies, Sort, Tallies, Tally};
use dyno_core::client::Answer;
use dyno_core::clock::{Clock, MonotonicClock};
use dyno_core::error::{Error, Result};
use dyno_generator::metrics::group::GroupMetrics;
use dyno_generator::metrics::notice::{Notice, Notices};
use dyno_generator::pacing::arrival_source::Arrival;
use std::cell::Cell;

/// What a session does from its begin to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Program {
    /// `thread_init`, then events for as long as there are some, then `thread_done`.
    Run,
    /// One function of the script: `prepare`, `cleanup`, a command of its own.
    Command(String),
}

/// What a session waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// That all sessions have begun: nothing is timed before. A command need not wait for it.
    Start,
    /// Connection number n: connecting, encrypting, logging in. To be made anew it needs a new
    /// [`Wired`](crate::connection::Wired), since a client speaks once.
    Connect(usize),
    /// The answer of connection number n to the request in its `output`.
    Answer(usize),
    /// A time on the run's clock. 0: it goes on as soon as the other sessions of its thread have had
    /// their turn, so that a session without waits does not keep them from running. A session that waits for an
    /// event is resumed earlier if the run ends earlier.
    Until(u64),
}

/// Why a session runs again.
#[derive(Debug)]
pub enum Outcome {
    /// It runs for the first time.
    Begin,
    /// What it waited for has come. Answers lie in the connection's client.
    Come,
    /// It will not come: the connection is lost, or could not be made.
    Lost(Error),
}

/// How far a session came.
#[derive(Debug)]
pub enum Step {
    /// It waits.
    Wait(Wait),
    /// Its program has ended.
    Ended,
    /// Its script blocks and has ended here: its program begins anew on a thread of its own, to
    /// which the [`Baggage`] goes with it.
    Moves,
    /// Its script has failed; the run ends with this message, as the report prints it.
    Failed(String),
}

/// What goes with a session that moves to another thread.
#[derive(Debug)]
pub struct Baggage {
    held: Option<Arrival>,
    rand: Option<Box<Rand>>,
}

/// One session: what its script and its load thread both touch. Never two at a time.
pub struct Session<'a> {
    /// Its number among all of the run, from 0.
    pub number: u32,
    /// Its connections; a number stays free after a disconnect.
    pub connections: Vec<Option<Connection>>,
    /// What it counts: in the warm-up into numbers that nobody reads, see
    /// [`begin_event`](Self::begin_event).
    pub tally: &'a Tally,
    /// Where its thread counts latencies.
    pub latencies: &'a Latencies,
    /// When its event under way began; 0: none is under way.
    pub began_ns: u64,
    /// When that event was due.
    pub due_ns: u64,
    /// Its random numbers, on their way to another thread.
    pub rand: Option<Box<Rand>>,
    pace: &'a Pace,
    /// An event that is its own and that it waits for.
    held: Option<Arrival>,
    /// An event that it may begin, and whether it has waited for it.
    granted: Option<(Arrival, bool)>,
    /// The event under way, in a trial with a rate.
    under_way: Option<Arrival>,
    /// Where it counts once the warm-up is over.
    measured: Option<(&'a Tally, &'a Latencies)>,
    /// Where it counts in a trial of an experiment too.
    trial: Option<(&'a GroupMetrics, &'a Notices)>,
    /// Statements of the event under way, and rows that they returned.
    statements: Cell<u64>,
    rows: Cell<u64>,
}

impl<'a> Session<'a> {
    /// Session `number`, driven by thread `thread`.
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

    /// The same, with a warm-up, whose events count in `discarded`.
    #[must_use]
    pub fn warming_up(mut self, discarded: (&'a Tally, &'a Latencies)) -> Self {
        self.measured = Some((self.tally, self.latencies));
        (self.tally, self.latencies) = discarded;
        self
    }

    /// The same, come to a thread of its own.
    #[must_use]
    pub fn moved(mut self, tallies: &'a Tallies, baggage: Baggage) -> Self {
        self.latencies = tallies.own(self.number);
        (self.held, self.rand) = (baggage.held, baggage.rand);
        self
    }

    /// Whether it could count on another thread: metrics of a trial belong to the threads that it
    /// began with.
    pub fn can_move(&self) -> bool {
        self.trial.is_none()
    }

    /// What it takes along to another thread. Here nothing of it may run any more.
    pub fn leave(&mut self) -> Baggage {
        Baggage { held: self.held.take(), rand: self.rand.take() }
    }

    /// The event that it may begin stays this session's, but does not begin now.
    pub fn hold(&mut self) {
        self.held = self.granted.take().map(|(arrival, _)| arrival);
    }

    /// What it does next, having ended an event. After [`Next::Wait`], ask again when the time has
    /// come.
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

    /// Whether no event may begin any more, for the time is over.
    pub fn is_over(&self, now_ns: u64) -> bool {
        self.pace.is_over(now_ns)
    }

    /// Whether its last event, if it had one, was of the warm-up.
    #[inline]
    pub fn is_warming_up(&self) -> bool {
        self.measured.is_some()
    }

    /// Whether it waits for an event that is not due yet.
    pub fn awaits_event(&self) -> bool {
        self.held.is_some()
    }

    /// An event begins. One that begins in the warm-up counts nowhere, nor does what is done in it,
    /// however long it takes: so the warm-up drains, and what counts adds up.
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

    /// Where its arrivals count: in a trial with a rate.
    #[inline]
    fn open(&self) -> Option<&'a GroupMetrics> {
        if self.pace.has_rate() { self.trial.map(|(metrics, _)| metrics) } else { None }
    }

    /// An event that the script has taken and not begun is one that it fails to do.
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

    /// The event under way, if there is one, will not end: it counts with its age.
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

    /// A statement was answered.
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

    /// An error after which the event begins again; `code` as the system has it.
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

    /// Nobody waits for its events any more: the one under way and those that have not begun.
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

    /// The event is done, and counts.
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

    /// The event is given up, and does not count.
    pub fn leave_event(&mut self) {
        self.drop_granted();
        self.give_up();
        if self.began_ns != 0 {
            self.began_ns = 0;
            self.pace.ended();
        }
    }
}

/// The scripts of one load thread: what carries its sessions on.
pub trait Scripts {
    /// Runs `session` from where it waits, or from its begin, to where it waits next.
    fn resume(&mut self, session: &mut Session<'_>, outcome: Outcome) -> Step;
}

/// Makes the scripts of a load thread, given its number; called on that thread. What it makes lives
/// as long as it must: a thread whose script never returns is left behind by the run.
pub type MakeScripts = dyn Fn(usize) -> Result<Box<dyn Scripts>> + Send + Sync;

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::histogram::Histogram;
    use dyno_core::plan::{Arrivals, Process, RateStep};
    use dyno_generator::pacing::arrivals::Stream;

    const MS: u64 = 1_000_000;

    /// An arrival each 10 ms from 0 to 100 ms, in a trial of an experiment.
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
            // Under way, and waited for, when nobody waits any more.
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
