//! The thread that called [`run`](super::run). It starts all sessions together, calls the observer,
//! and is the watchdog. It can end the run without help from the load threads.

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
/// Time limit for load threads to close their connections after the request to close.
const CLOSE_NS: u64 = 1_000_000_000;
/// Interval between probes of the servers.
const ASK_AGAIN_NS: u64 = 10_000_000_000;
/// Time that the other sessions have to begin after one of them has failed to begin.
const OTHERS_NS: u64 = 1_000_000_000;

/// Waits for one run.
pub(crate) struct Waiting<'a> {
    drive: &'a Drive,
    shared: &'a Shared,
    observer: &'a mut dyn Observer,
    /// No server has answered a probe after the end. A server that is busy with a long statement
    /// answers on another connection, and the run waits for it as sysbench would. A hung server does
    /// not answer.
    hears_nobody: bool,
}

const HEARS_NOBODY: &str = "the time is over, and no server answers any more, not even `SELECT 1` over a \
    new connection: what is under way is given up. Look into the server's log and process list";

/// A time of the run that is still ahead.
const NEVER: u64 = u64::MAX;

/// The shape of the measured time.
#[derive(Clone, Copy)]
struct Frame {
    started_ns: u64,
    origin_ns: u64,
    end_ns: u64,
}

impl<'a> Waiting<'a> {
    /// Creates the wait for load threads that have been started.
    pub fn new(drive: &'a Drive, shared: &'a Shared, observer: &'a mut dyn Observer) -> Self {
        Self { drive, shared, observer, hears_nobody: false }
    }

    /// Waits until all sessions have ended, or until the run gives up on them.
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

    /// Waits for the common start; false: there is none. After one session has failed, the other
    /// sessions have a short time to report their errors, on whichever thread they run.
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

    /// Waits from the start to the end.
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

    /// Sleeps until the given time at most, or until a load thread reports news. Returns the time.
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

    /// The grace period has ended: cancels the sessions' statements and closes their connections.
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
        // A hung session must not extend the time in which the other sessions worked.
        let end_ns = self.shared.ended_ns().max(frame.end_ns.min(now_ns)).max(frame.origin_ns);
        Ended { how, measured: (frame.origin_ns, end_ns), moved: self.shared.moved(), abandoned }
    }

    /// All sessions have ended; their threads will end soon.
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
