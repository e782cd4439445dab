//! The loop of a session: asks when its next event begins, does it, counts it.

use crate::pace::Next;
use crate::session::{Outcome, Scripts, Session, Step, Wait};
use dyno_core::clock::{Clock, MonotonicClock};

/// The work of one thread.
pub(super) trait Work {
    /// Makes ready, before anything is timed.
    ///
    /// # Errors
    /// What cannot be had; ends the run.
    fn set_up(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// One event; counts what it moved.
    ///
    /// # Errors
    /// What went wrong; ends the run.
    fn event(&mut self, session: &Session<'_>) -> Result<(), String>;

    /// After its last event.
    ///
    /// # Errors
    /// What went wrong; the run has failed.
    fn finish(&mut self, _session: &Session<'_>) -> Result<(), String> {
        Ok(())
    }
}

/// A thread's work as a load thread wants it.
pub(super) struct Events<W> {
    work: W,
    /// How many events its session does in the measured time; `None`: as many as the pace allows.
    limit: Option<u64>,
}

impl<W> Events<W> {
    pub fn new(work: W, limit: Option<u64>) -> Self {
        Self { work, limit }
    }

    fn is_done(&self, session: &Session<'_>) -> bool {
        let done = || session.tally.events.get();
        self.limit.is_some_and(|limit| !session.is_warming_up() && done() >= limit)
    }
}

impl<W: Work> Scripts for Events<W> {
    fn resume(&mut self, session: &mut Session<'_>, outcome: Outcome) -> Step {
        if matches!(outcome, Outcome::Begin) {
            return match self.work.set_up() {
                Ok(()) => Step::Wait(Wait::Start),
                Err(message) => Step::Failed(message),
            };
        }
        // One look at the clock between two events: the end of one is the begin of the next.
        let mut now_ns = MonotonicClock.now_ns();
        while !self.is_done(session) {
            match session.next_event(now_ns) {
                Next::Stop => break,
                Next::Wait { until_ns } => return Step::Wait(Wait::Until(until_ns)),
                Next::Go { .. } => {}
            }
            session.begin_event(now_ns);
            if let Err(message) = self.work.event(session) {
                session.leave_event();
                return Step::Failed(message);
            }
            now_ns = MonotonicClock.now_ns();
            session.end_event(now_ns);
        }
        match self.work.finish(session) {
            Ok(()) => Step::Ended,
            Err(message) => Step::Failed(message),
        }
    }
}
