//! The thread that has called [`run`](super::run): it starts the load together, tells the observer,
//! and is the watchdog. It needs nothing of the load threads to come to an end.

use super::cancel;
use super::progress::{Observer, Progress};
use super::shared::Shared;
use super::{Drive, Ended, Ending};
use crate::console::{self, Level};
use crate::pace::Backlog;
use crate::session::Program;
use dyno_core::clock::{Clock, MonotonicClock};
use std::time::Duration;

/// Longest sleep.
const SLEEP_MAX_NS: u64 = 100_000_000;
/// How long load threads may take to close their connections once they are told to.
const CLOSE_NS: u64 = 1_000_000_000;
/// How often servers are asked again whether they answer anything.
const ASK_AGAIN_NS: u64 = 10_000_000_000;
/// How long the other sessions may go on to begin once one of them has failed to.
const OTHERS_NS: u64 = 1_000_000_000;

/// One run, waited for.
pub(crate) struct Waiting<'a> {
    drive: &'a Drive,
    shared: &'a Shared,
    observer: &'a mut dyn Observer,
    /// No server has answered when it was asked after the end. One that works on something long does,
    /// over another connection, and is waited for as sysbench would; one that hangs does not.
    hears_nobody: bool,
}

const HEARS_NOBODY: &str = "the time is over, and no server answers any more, not even `SELECT 1` over a \
    new connection: what is under way is given up. Look into the server's log and process list";

/// A moment of the run that has not come.
const NEVER: u64 = u64::MAX;

/// What the measured time looks like.
#[derive(Clone, Copy)]
struct Frame {
    started_ns: u64,
    origin_ns: u64,
    end_ns: u64,
}

impl<'a> Waiting<'a> {
    /// For load threads that have been started.
    pub fn new(drive: &'a Drive, shared: &'a Shared, observer: &'a mut dyn Observer) -> Self {
        Self { drive, shared, observer, hears_nobody: false }
    }

    /// Waits until all has ended, or nobody waits for it any more.
    pub fn run(mut self) -> Ended {
        let is_command = self.drive.program != Program::Run;
        if !is_command && !self.wait_for_sessions() {
            let missing = self.drive.sessions - self.shared.arrived().min(self.drive.sessions);
            let has_failed = self.shared.has_failed();
            let how = if has_failed { Ending::Failed } else { Ending::NotStarted { missing } };
            let now_ns = MonotonicClock.now_ns();
            return self.cut(how, Frame { started_ns: now_ns, origin_ns: now_ns, end_ns: now_ns });
        }
        let frame = self.start(is_command);
        self.observe(frame)
    }

    /// Waits for the common start; false: there is none. Once a session has failed the others have
    /// a moment to say what ails them, whichever thread they are on.
    fn wait_for_sessions(&mut self) -> bool {
        let mut until_ns = MonotonicClock.now_ns() + nanos(self.drive.times.start_max);
        let mut had_failed = false;
        loop {
            let arrived = self.shared.arrived();
            let has_failed = self.shared.has_failed(); // asked second: who fails arrives after it
            if has_failed && !had_failed {
                until_ns = until_ns.min(MonotonicClock.now_ns() + OTHERS_NS);
                had_failed = true;
            }
            if self.drive.pace.is_stopped() {
                return false;
            }
            if arrived >= self.drive.sessions {
                return !has_failed;
            }
            if self.sleep_until(until_ns) >= until_ns {
                return false;
            }
        }
    }

    fn start(&self, is_command: bool) -> Frame {
        let started_ns = MonotonicClock.now_ns();
        let times = &self.drive.times;
        let frame = if is_command {
            Frame { started_ns, origin_ns: started_ns, end_ns: NEVER }
        } else {
            let origin_ns = started_ns + nanos(times.warmup);
            let end_ns = times.length.map_or(NEVER, |length| origin_ns + nanos(length));
            Frame { started_ns, origin_ns, end_ns }
        };
        self.drive.pace.starts(frame.origin_ns, frame.end_ns);
        self.shared.start();
        frame
    }

    /// From the start to the end.
    fn observe(mut self, frame: Frame) -> Ended {
        let mut backlog = self.drive.pace.backlog();
        let grace_ns = nanos(self.drive.times.grace);
        let mut cut_ns = frame.end_ns.saturating_add(grace_ns);
        let ask_after_ns = nanos(self.drive.times.ask_after);
        let mut ask_ns = frame.end_ns.saturating_add(ask_after_ns);
        let mut is_stopping = false;
        let mut tick_ns = frame.origin_ns;
        let mut is_measuring = false;
        let at = self.progress(frame, backlog.as_mut());
        self.observer.started(&at);
        loop {
            let now_ns = MonotonicClock.now_ns();
            self.tell_failures();
            if self.shared.ended() >= self.drive.sessions || self.shared.threads() == 0 {
                break;
            }
            let is_to_end = self.shared.has_failed() || self.drive.pace.is_stopped();
            if is_to_end && !is_stopping {
                is_stopping = true;
                self.drive.pace.stop();
                cut_ns = cut_ns.min(now_ns.saturating_add(grace_ns));
                ask_ns = ask_ns.min(now_ns.saturating_add(ask_after_ns));
            }
            if now_ns >= tick_ns {
                let at = self.progress(frame, backlog.as_mut());
                tick_ns = match is_measuring {
                    true => self.observer.tick(&at),
                    false => self.observer.measuring(&at),
                };
                is_measuring = true;
            }
            if now_ns >= cut_ns {
                let unfinished = self.drive.sessions - self.shared.ended();
                return self.cut(Ending::Forced { unfinished }, frame);
            }
            if now_ns >= ask_ns {
                self.hears_nobody = !cancel::any_answers(&self.shared.reached());
                cut_ns = if self.hears_nobody { now_ns } else { cut_ns };
                ask_ns = MonotonicClock.now_ns().saturating_add(ASK_AGAIN_NS);
                continue;
            }
            self.sleep_until(tick_ns.min(cut_ns).min(ask_ns));
        }
        self.ended(Ending::Done, frame)
    }

    fn progress(&self, frame: Frame, backlog: Option<&mut Backlog<'_>>) -> Progress {
        let now_ns = MonotonicClock.now_ns();
        let (backlog, concurrency) = backlog.map_or((0, 0), |backlog| backlog.at(now_ns));
        Progress {
            now_ns,
            started_ns: frame.started_ns,
            origin_ns: frame.origin_ns,
            end_ns: frame.end_ns,
            backlog,
            concurrency,
            running: self.drive.sessions - self.shared.ended(),
        }
    }

    /// Sleeps until then at most, or until a load thread has news. Returns the time.
    fn sleep_until(&self, until_ns: u64) -> u64 {
        let now_ns = MonotonicClock.now_ns();
        let sleep_ns = until_ns.saturating_sub(now_ns).min(SLEEP_MAX_NS);
        if sleep_ns > 0 {
            std::thread::park_timeout(Duration::from_nanos(sleep_ns));
        }
        MonotonicClock.now_ns()
    }

    fn tell_failures(&mut self) {
        for (number, message) in self.shared.take_failures() {
            self.observer.failed(number, &message);
        }
    }

    /// No more patience: what the sessions were doing is cancelled and closed.
    fn cut(mut self, how: Ending, frame: Frame) -> Ended {
        let now_ns = MonotonicClock.now_ns();
        self.drive.pace.stop();
        self.shared.cut();
        let until_ns = now_ns + CLOSE_NS;
        while self.shared.threads() > 0 && self.sleep_until(until_ns) < until_ns {}
        if self.hears_nobody {
            console::say(Level::Warning, HEARS_NOBODY);
        } else {
            cancel::carry_out(&self.drive.servers, self.shared.take_cancels());
        }
        self.tell_failures();
        let abandoned = self.shared.threads();
        // A session that hangs must not stretch the time in which the others did their work.
        let end_ns = self.shared.ended_ns().max(frame.end_ns.min(now_ns)).max(frame.origin_ns);
        Ended { how, measured: (frame.origin_ns, end_ns), moved: self.shared.moved(), abandoned }
    }

    /// All sessions have ended; their threads are about to.
    fn ended(mut self, how: Ending, frame: Frame) -> Ended {
        let until_ns = MonotonicClock.now_ns() + CLOSE_NS;
        while self.shared.threads() > 0 && self.sleep_until(until_ns) < until_ns {}
        self.tell_failures();
        let how = if self.shared.has_failed() { Ending::Failed } else { how };
        let end_ns = self.shared.ended_ns().max(frame.origin_ns);
        let (moved, abandoned) = (self.shared.moved(), self.shared.threads());
        Ended { how, measured: (frame.origin_ns, end_ns), moved, abandoned }
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(NEVER)
}
