//! Replay of recorded sessions. The group's number of sessions is the number replayed at a time:
//! a free session claims the recorded session that begins next, connects shortly before its first
//! statement is due, replays it to its end on that connection, and closes it.
//!
//! A statement that is due while its session waits for an answer is sent after that answer. A recorded
//! session that is due while no session is free begins when one becomes free. Their statements are
//! late, never dropped, and their response times count from the due time. At the end every statement
//! due by then is counted once: as committed, given up, or left.

use crate::pacing::arrival_source::Arrival;
use dyno_core::histogram::Histogram;
use dyno_core::trace::Place;
use dyno_core::workload::recording::{Cue, Recording};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Mutex, PoisonError};

/// Time from connecting to when the first statement is due.
pub const LEAD_NS: u64 = 1_000_000_000;

/// State that the replaying sessions share; written a few times a recorded session.
#[derive(Debug, Default)]
pub struct ReplayState {
    /// The next recorded session to claim.
    next: AtomicU32,
    /// Number of sessions that found none to claim.
    idle: AtomicU32,
    origin_ns: AtomicU64,
    measure_ns: AtomicU64,
    end_ns: AtomicU64,
    left: Mutex<Vec<Rest>>,
}

/// The part of a recorded session that was not replayed.
#[derive(Debug)]
struct Rest {
    session: u32,
    /// Position after the statement in progress.
    place: Place,
    /// The statement in progress.
    under_way: Option<Cue>,
}

/// A recording and the state of its replay.
#[derive(Clone, Copy)]
pub struct Replay<'a> {
    /// The recorded sessions.
    pub recording: &'a dyn Recording,
    /// State of the replaying sessions.
    pub stage: &'a ReplayState,
}

impl fmt::Debug for Replay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay").field("stage", &self.stage).finish_non_exhaustive()
    }
}

impl<'a> Replay<'a> {
    /// Begins the load at `origin_ns`: measured from `measure_ns` on; statements due from `end_ns` on do not
    /// begin.
    pub fn open(&self, origin_ns: u64, measure_ns: u64, end_ns: u64) {
        self.stage.origin_ns.store(origin_ns, Relaxed);
        self.stage.measure_ns.store(measure_ns, Relaxed);
        self.end_at(end_ns);
    }

    /// Brings the end of the measured phase forward to `end_ns`.
    pub fn end_at(&self, end_ns: u64) {
        self.stage.end_ns.store(end_ns, Release);
    }

    /// When the measured phase ends.
    pub fn end_ns(&self) -> u64 {
        self.stage.end_ns.load(Acquire)
    }

    /// Claims the recorded session that begins next.
    pub fn claim(&self) -> Option<u32> {
        let next = self.stage.next.fetch_add(1, Relaxed);
        if next < self.recording.sessions() {
            return Some(next);
        }
        // Prevents the counter from wrapping.
        self.stage.next.store(self.recording.sessions(), Relaxed);
        None
    }

    /// Counts a session that found none to claim.
    pub fn retire(&self) {
        self.stage.idle.fetch_add(1, AcqRel);
    }

    /// Whether all `players` sessions have found none to claim.
    pub fn is_over(&self, players: u32) -> bool {
        self.stage.idle.load(Acquire) >= players
    }

    /// Number of recorded sessions that are unclaimed.
    pub fn unclaimed(&self) -> u32 {
        self.recording.sessions().saturating_sub(self.stage.next.load(Relaxed))
    }

    /// A cue on the load's clock; `None` for an unpaced recording.
    pub fn arrival(&self, cue: Cue) -> Option<Arrival> {
        if !self.recording.is_paced() {
            return None;
        }
        let due_ns = self.stage.origin_ns.load(Relaxed).saturating_add(cue.due_ns);
        let is_measured = due_ns >= self.stage.measure_ns.load(Relaxed);
        Some(Arrival { number: 0, due_ns, is_measured })
    }

    /// Time from the load's begin to when a session must connect; 0 for those that are connected from
    /// the begin on.
    pub fn connects_ns(&self, session: u32) -> u64 {
        self.recording.opens(session).due_ns.saturating_sub(LEAD_NS)
    }

    /// Records that the load has ended with a session not replayed from `place` on.
    pub fn leave(&self, session: u32, place: Place, under_way: Option<Cue>) {
        let mut left = self.stage.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.push(Rest { session, place, under_way });
    }

    /// All cues in the order of their times, for counting, and their time 0 on the load's clock.
    pub fn count_along(&self) -> (Calendar<'a>, u64) {
        let measure_ns = self.stage.measure_ns.load(Relaxed);
        let early_ns = measure_ns - self.stage.origin_ns.load(Relaxed);
        let recording = self.recording;
        (Calendar { recording, early_ns, next: 0, open: BinaryHeap::new(), passed: 0 }, measure_ns)
    }

    /// Counts each statement due in the measured phase before `until_ns` that has no answer into `ages`
    /// with its age at `now_ns`. Returns their number. Call once, after the sessions have ended.
    pub fn leave_ages(&self, until_ns: u64, now_ns: u64, ages: &mut Histogram) -> u64 {
        let mut left = 0;
        let mut count = |cue: Cue| {
            let Some(arrival) = self.arrival(cue).filter(|arrival| arrival.due_ns < until_ns)
            else {
                return false;
            };
            if arrival.is_measured {
                ages.record(now_ns.saturating_sub(arrival.due_ns));
                left += 1;
            }
            true
        };
        let mut rests = self.stage.left.lock().unwrap_or_else(PoisonError::into_inner);
        let unclaimed = self.stage.next.load(Relaxed).min(self.recording.sessions());
        let unclaimed = (unclaimed..self.recording.sessions()).map(|session| {
            let place = self.recording.begin(session);
            Rest { session, place, under_way: None }
        });
        for mut rest in rests.drain(..).chain(unclaimed) {
            if let Some(cue) = rest.under_way {
                count(cue);
            }
            while let Some(cue) = self.recording.next(rest.session, &mut rest.place, None)
                && count(cue)
            {}
        }
        left
    }
}

/// Counts the cues of a recording as time passes, merging its sessions; memory is proportional to the
/// sessions open at the time.
#[derive(Clone)]
pub struct Calendar<'a> {
    recording: &'a dyn Recording,
    /// Length of the warm-up.
    early_ns: u64,
    /// The next recorded session.
    next: u32,
    /// Due time of the next cue of each open session, the session, and the position after that cue.
    open: BinaryHeap<Reverse<(u64, u32, Place)>>,
    passed: u64,
}

impl fmt::Debug for Calendar<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Calendar").field("passed", &self.passed).finish_non_exhaustive()
    }
}

impl Calendar<'_> {
    /// Counts cues due before `until_ns`, relative to the start of the measured phase, including those of
    /// the warm-up. `until_ns` must not decrease.
    pub fn pass(&mut self, until_ns: i64) -> u64 {
        let until_ns = self.early_ns.saturating_add_signed(until_ns);
        while self.next < self.recording.sessions()
            && self.recording.opens(self.next).due_ns < until_ns
        {
            self.follow(self.next, self.recording.begin(self.next));
            self.next += 1;
        }
        while let Some(&Reverse((due_ns, session, place))) = self.open.peek()
            && due_ns < until_ns
        {
            self.open.pop();
            self.passed += 1;
            self.follow(session, place);
        }
        self.passed
    }

    fn follow(&mut self, session: u32, mut place: Place) {
        if let Some(cue) = self.recording.next(session, &mut place, None) {
            self.open.push(Reverse((cue.due_ns, session, place)));
        }
    }
}
