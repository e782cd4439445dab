//! What the reporter tells the load threads, and how they say that their sessions are connected.

use crate::session::GroupConfig;
use crate::transport::endpoint::Endpoint;
use dyno_core::driver::{Cancel, Driver};
use dyno_core::error::Error;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};

/// Cancellations that may wait for the thread that carries them out; more are dropped: closing the
/// connection must do then.
const CANCELS: usize = 256;

/// A group with what its sessions need to work.
pub struct GroupTargets<'a> {
    /// What they send, and by which rules.
    pub config: GroupConfig<'a>,
    /// To whom: session n belongs to number n modulo their count.
    pub servers: Vec<Server<'a>>,
}

/// One of the servers of a group.
#[derive(Clone, Copy)]
pub struct Server<'a> {
    /// How statements are sent to it.
    pub driver: &'a dyn Driver,
    /// Where to; none for blocking and timed drivers.
    pub endpoint: Option<&'a Endpoint>,
}

impl<'a> GroupTargets<'a> {
    /// The server of a session, by what [`Session::server`](crate::session::Session::server) says.
    #[inline]
    pub fn server(&self, session: u32) -> Server<'a> {
        self.servers[session as usize % self.servers.len()]
    }
}

/// A statement under way that is to be stopped at its server.
#[derive(Debug)]
pub struct Cancellation {
    /// Number of the group.
    pub group: usize,
    /// Which server of the group: as its session says.
    pub session: u32,
    /// How.
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
    /// A session is connected, for the first time.
    pub fn connected(&self) {
        self.connected.fetch_add(1, Relaxed);
        self.settled.fetch_add(1, Release);
    }

    /// A session needs no connection yet.
    pub fn spared(&self) {
        self.spared.fetch_add(1, Relaxed);
        self.settled.fetch_add(1, Release);
    }

    /// How many sessions need no connection yet.
    pub fn spare(&self) -> u32 {
        self.spared.load(Relaxed)
    }

    /// A session will not be waited for any longer; the first reason is kept.
    pub fn failed(&self, error: Error) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.settled.fetch_add(1, Release);
    }

    /// Sessions connected, and sessions that need not be waited for (connected or failed).
    pub fn progress(&self) -> (u32, u32) {
        let settled = self.settled.load(Acquire);
        (self.connected.load(Relaxed), settled)
    }

    /// Why the first session failed.
    pub fn failure(&self) -> Option<Error> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Shared by the reporter and all load threads; written a few times a run.
#[derive(Debug)]
pub struct Control {
    stop: AtomicBool,
    origin_ns: AtomicU64,
    measure_ns: AtomicU64,
    end_ns: AtomicU64,
    /// By group.
    pub gates: Box<[Gate]>,
    cancels: SyncSender<Cancellation>,
}

impl Control {
    /// For this many groups; the second value gets the cancellations to carry out.
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

    /// Starts the load: it counts as begun at `origin_ns`, is measured from `measure_ns` on and will
    /// be stopped at `end_ns` at the latest, the drain included.
    pub fn go(&self, origin_ns: u64, measure_ns: u64, end_ns: u64) {
        self.end_ns.store(end_ns, Relaxed);
        self.measure_ns.store(measure_ns, Relaxed);
        self.origin_ns.store(origin_ns.max(1), Release);
    }

    /// When the load began and when it is measured, once it has begun.
    #[inline]
    pub fn origin(&self) -> Option<(u64, u64)> {
        let origin_ns = self.origin_ns.load(Acquire);
        (origin_ns > 0).then(|| (origin_ns, self.measure_ns.load(Relaxed)))
    }

    /// The load will be stopped at `end_ns` at the latest: sooner than was said when it was told to
    /// [go](Self::go).
    pub fn end_by(&self, end_ns: u64) {
        self.end_ns.store(end_ns, Relaxed);
    }

    /// When the load will be stopped, unless a signal does it before.
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

    /// Asks for a session's running statement to be stopped at its server. Never waits.
    pub fn cancel(&self, group: usize, session: u32, how: Cancel) {
        if how != Cancel::Close {
            let _ = self.cancels.try_send(Cancellation { group, session, how });
        }
    }
}
