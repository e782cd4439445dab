//! The event loop of a native session: waits for its next event, executes it, counts it.

use crate::pace::Next;
use crate::session::{Outcome, Scripts, Session, Step, Wait};
use dyno_core::clock::{Clock, MonotonicClock};

/// The work of one thread.
pub(super) trait Work {
    /// Prepares the thread, before timing begins.
    ///
    /// # Errors
    /// An unavailable resource; ends the run.
    fn set_up(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// Executes one event; counts the bytes that it moved.
    ///
    /// # Errors
    /// A failure; ends the run.
    fn event(&mut self, session: &Session<'_>) -> Result<(), String>;

    /// Finishes after the last event.
    ///
    /// # Errors
    /// A failure; the run has failed.
    fn finish(&mut self, _session: &Session<'_>) -> Result<(), String> {
        Ok(())
    }
}

/// Adapts a thread's work to load threads.
pub(super) struct Events<W> {
    work: W,
    /// The number of events of the session in the measured time; `None`: only the pace limits it.
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
        // One clock reading between two events: the end of one is the begin of the next.
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
