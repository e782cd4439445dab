//! Control of the load threads: the reporter starts and ends the load, and the threads report how many
//! sessions are connected.

use crate::session::GroupConfig;
use crate::transport::endpoint::Endpoint;
use dyno_core::driver::{Cancel, Driver, Router};
use dyno_core::error::Error;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};

/// Capacity of the queue of cancellations. Further ones are dropped; closing the connection must then
/// suffice.
const CANCELS: usize = 256;

/// A group with everything that its sessions need.
pub struct GroupTargets<'a> {
    /// Workload and configuration of the sessions.
    pub config: GroupConfig<'a>,
    /// Servers of the group: session n uses number n modulo their count, unless there is a router.
    pub servers: Vec<Server<'a>>,
    /// Which of the servers, the nodes of a cluster, each operation is sent to.
    pub router: Option<&'a dyn Router>,
}

/// One of the servers of a group.
#[derive(Clone, Copy)]
pub struct Server<'a> {
    /// Driver of its sessions.
    pub driver: &'a dyn Driver,
    /// Address; `None` for blocking and timed drivers.
    pub endpoint: Option<&'a Endpoint>,
}

impl<'a> GroupTargets<'a> {
    /// The server for a value of [`Session::server`](crate::session::Session::server).
    #[inline]
    pub fn server(&self, session: u32) -> Server<'a> {
        self.servers[session as usize % self.servers.len()]
    }
}

/// Request to stop a statement at its server.
#[derive(Debug)]
pub struct Cancellation {
    /// Number of the group.
    pub group: usize,
    /// Selects the server of the group: the value of the session's `server()`.
    pub session: u32,
    /// Means of cancellation.
    pub how: Cancel,
}

/// Progress of connecting one group.
#[derive(Debug, Default)]
pub struct Gate {
    connected: AtomicU32,
    settled: AtomicU32,
    spared: AtomicU32,
    failure: Mutex<Option<Error>>,
}

impl Gate {
    /// Counts a session's first connection.
    pub fn connected(&self) {
        self.connected.fetch_add(1, Relaxed);
        self.settled.fetch_add(1, Release);
    }

    /// Counts a session that needs no connection yet.
    pub fn spared(&self) {
        self.spared.fetch_add(1, Relaxed);
        self.settled.fetch_add(1, Release);
    }

    /// Number of sessions that need no connection yet.
    pub fn spare(&self) -> u32 {
        self.spared.load(Relaxed)
    }

    /// Counts a session that the start no longer waits for; keeps the first error.
    pub fn failed(&self, error: Error) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.settled.fetch_add(1, Release);
    }

    /// Number of sessions connected, and number no longer waited for (connected or failed).
    pub fn progress(&self) -> (u32, u32) {
        let settled = self.settled.load(Acquire);
        (self.connected.load(Relaxed), settled)
    }

    /// Error of the first session that failed.
    pub fn failure(&self) -> Option<Error> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// State shared by the reporter and all load threads; written a few times a run.
#[derive(Debug)]
pub struct Control {
    stop: AtomicBool,
    origin_ns: AtomicU64,
    measure_ns: AtomicU64,
    end_ns: AtomicU64,
    /// Connection progress by group.
    pub gates: Box<[Gate]>,
    cancels: SyncSender<Cancellation>,
}

impl Control {
    /// Creates the state for `groups` groups; the second value receives the cancellations to carry out.
    pub fn new(groups: usize) -> (Self, Receiver<Cancellation>) {
        let (cancels, receiver) = sync_channel(CANCELS);
        let control = Self {
            stop: AtomicBool::new(false),
            origin_ns: AtomicU64::new(0),
            measure_ns: AtomicU64::new(0),
            end_ns: AtomicU64::new(u64::MAX),
            gates: (0..groups).map(|_| Gate::default()).collect(),
            cancels,
        };
        (control, receiver)
    }

    /// Starts the load: it begins at `origin_ns`, is measured from `measure_ns` on and stops at `end_ns` at
    /// the latest, including the drain.
    pub fn go(&self, origin_ns: u64, measure_ns: u64, end_ns: u64) {
        self.end_ns.store(end_ns, Relaxed);
        self.measure_ns.store(measure_ns, Relaxed);
        self.origin_ns.store(origin_ns.max(1), Release);
    }

    /// Begin of the load and of the measured phase, once the load has begun.
    #[inline]
    pub fn origin(&self) -> Option<(u64, u64)> {
        let origin_ns = self.origin_ns.load(Acquire);
        (origin_ns > 0).then(|| (origin_ns, self.measure_ns.load(Relaxed)))
    }

    /// Brings the latest end of the load forward to `end_ns`, which is before the one passed to
    /// [go](Self::go).
    pub fn end_by(&self, end_ns: u64) {
        self.end_ns.store(end_ns, Relaxed);
    }

    /// Latest end of the load; a signal may stop it before.
    pub fn end_ns(&self) -> u64 {
        self.end_ns.load(Relaxed)
    }

    /// Ends the load.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Whether the load threads must end.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Queues the cancellation of a session's running statement. Never blocks.
    pub fn cancel(&self, group: usize, session: u32, how: Cancel) {
        if how != Cancel::Close {
            let _ = self.cancels.try_send(Cancellation { group, session, how });
        }
    }
}
