//! State that the load threads of a run share with the thread that waits for them.

use super::{Drive, Server};
use crate::pace::Pace;
use crate::session::{Baggage, Session};
use crate::tally::Tallies;
use dyno_core::driver::Cancel;
use dyno_generator::metrics::thread::ThreadMetrics;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Thread;

/// The maximum number of stored failure messages: sessions usually all fail for the same reason.
const FAILURES_MAX: usize = 64;

/// Shared by all threads of a run; abandoned threads keep it alive.
pub(crate) struct Shared {
    pub servers: Arc<[Server]>,
    /// The servers that sessions have connected to over a transport.
    reached: Box<[AtomicBool]>,
    pub pace: Arc<Pace>,
    tallies: Arc<Tallies>,
    /// Counters of the warm-up, which are discarded.
    discarded: Option<Tallies>,
    is_started: AtomicBool,
    is_cut: AtomicBool,
    /// Sessions that wait for the start or have ended before it.
    arrived: AtomicU32,
    /// Sessions that have ended, with or without success.
    ended: AtomicU32,
    /// The time at which the last session ended.
    ended_ns: AtomicU64,
    /// Sessions that have moved to a thread of their own.
    moved: AtomicU32,
    /// Load threads that have not ended.
    threads: AtomicU32,
    has_failed: AtomicBool,
    failures: Mutex<Vec<(u32, String)>>,
    cancels: Mutex<Vec<(usize, Cancel)>>,
    /// The thread that waits for the run.
    waiter: Thread,
}

impl Shared {
    /// Creates the state of a run that the current thread will wait for.
    pub fn new(drive: &Drive, threads: usize) -> Self {
        let has_warmup = !drive.times.warmup.is_zero();
        Self {
            servers: Arc::clone(&drive.servers),
            reached: drive.servers.iter().map(|_| AtomicBool::new(false)).collect(),
            pace: Arc::clone(&drive.pace),
            tallies: Arc::clone(&drive.tallies),
            discarded: has_warmup.then(|| Tallies::new(drive.sessions as usize, threads)),
            is_started: AtomicBool::new(false),
            is_cut: AtomicBool::new(false),
            arrived: AtomicU32::new(0),
            ended: AtomicU32::new(0),
            ended_ns: AtomicU64::new(0),
            moved: AtomicU32::new(0),
            threads: AtomicU32::new(threads as u32),
            has_failed: AtomicBool::new(false),
            failures: Mutex::new(Vec::new()),
            cancels: Mutex::new(Vec::new()),
            waiter: std::thread::current(),
        }
    }

    /// Creates session `number` of thread `thread`.
    pub fn session(&self, number: u32, thread: usize) -> Session<'_> {
        let session = Session::new(number, thread, &self.tallies, &self.pace);
        match &self.discarded {
            Some(all) => session.warming_up((&all.sessions[number as usize], &all.threads[thread])),
            None => session,
        }
    }

    /// Creates session `number` on a thread of its own.
    pub fn moved_session(&self, number: u32, baggage: Baggage) -> Session<'_> {
        let session = Session::new(number, 0, &self.tallies, &self.pace);
        let session = session.moved(&self.tallies, baggage);
        match &self.discarded {
            Some(all) => session.warming_up((&all.sessions[number as usize], all.own(number))),
            None => session,
        }
    }

    /// The metrics of load thread `thread`, in a trial of an experiment.
    pub fn metrics(&self, thread: usize) -> Option<&ThreadMetrics> {
        self.tallies.trial.as_ref().and_then(|trial| trial.metrics.get(thread))
    }

    /// Lets the sessions that wait for the start continue.
    pub fn start(&self) {
        self.is_started.store(true, Release);
    }

    /// Whether the common start has happened.
    pub fn is_started(&self) -> bool {
        self.is_started.load(Acquire)
    }

    /// Cuts the run: load threads close their connections and end.
    pub fn cut(&self) {
        self.is_cut.store(true, Release);
    }

    /// Whether the run was cut.
    pub fn is_cut(&self) -> bool {
        self.is_cut.load(Relaxed)
    }

    /// A session waits for the start.
    pub fn session_arrived(&self) {
        self.arrived.fetch_add(1, AcqRel);
        self.waiter.unpark();
    }

    /// The number of sessions that wait for the start or have ended before it.
    pub fn arrived(&self) -> u32 {
        self.arrived.load(Acquire)
    }

    /// A session has ended. `has_arrived`: it had reached the common start before.
    pub fn session_ended(&self, now_ns: u64, has_arrived: bool) {
        self.ended_ns.fetch_max(now_ns, AcqRel);
        self.ended.fetch_add(1, AcqRel);
        if !has_arrived {
            self.session_arrived();
        }
    }

    /// The number of sessions that have ended.
    pub fn ended(&self) -> u32 {
        self.ended.load(Acquire)
    }

    /// The time at which the last session ended; 0: none has.
    pub fn ended_ns(&self) -> u64 {
        self.ended_ns.load(Acquire)
    }

    /// A session's script has failed.
    pub fn failed(&self, number: u32, message: String) {
        let mut failures = lock(&self.failures);
        if failures.len() < FAILURES_MAX {
            failures.push((number, message));
        }
        self.has_failed.store(true, Release);
        self.waiter.unpark();
    }

    /// Whether any session has failed.
    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Acquire)
    }

    /// Takes the failures since the last call.
    pub fn take_failures(&self) -> Vec<(u32, String)> {
        if self.has_failed() { std::mem::take(&mut lock(&self.failures)) } else { Vec::new() }
    }

    /// A session is connected to a server.
    pub fn reach(&self, server: usize) {
        self.reached[server].store(true, Relaxed);
    }

    /// The servers that sessions have connected to.
    pub fn reached(&self) -> Vec<&Server> {
        let reached = self.servers.iter().zip(&self.reached);
        reached.filter(|(_, reached)| reached.load(Relaxed)).map(|(server, _)| server).collect()
    }

    /// Queues a statement that was cut for cancellation at its server.
    pub fn cancel(&self, server: usize, how: Cancel) {
        lock(&self.cancels).push((server, how));
    }

    /// Takes the queued cancellations.
    pub fn take_cancels(&self) -> Vec<(usize, Cancel)> {
        std::mem::take(&mut lock(&self.cancels))
    }

    /// A session moves to a thread of its own: the run has one more load thread.
    pub fn session_moves(&self) {
        self.moved.fetch_add(1, AcqRel);
        self.threads.fetch_add(1, AcqRel);
    }

    /// The number of sessions that have moved.
    pub fn moved(&self) -> u32 {
        self.moved.load(Acquire)
    }

    /// A load thread has ended.
    pub fn thread_ended(&self) {
        self.threads.fetch_sub(1, AcqRel);
        self.waiter.unpark();
    }

    /// The number of load threads that have not ended.
    pub fn threads(&self) -> u32 {
        self.threads.load(Acquire)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
