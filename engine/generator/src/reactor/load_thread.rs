//! What a load thread is: what it waits with and reads into ([`Io`]), and what is done with a session
//! whose answer has come ([`LoadThread`]). Waiting, receiving, connecting and closing are the same for
//! all: [`event_loop`](super::event_loop) and the files beside it.

use super::connect_queue::ConnectQueue;
use super::receive_buffer::Received;
use super::timers::{Timer, Timers};
use super::unread::Unread;
use crate::metrics::thread::ThreadMetrics;
use crate::transport::channel::Channel;
use crate::transport::endpoint::Endpoint;
use crate::transport::poller::{Poller, Ready};
use dyno_core::clock::Clock;
use dyno_core::driver::WireProtocol;
use dyno_core::error::{Error, Result};

/// What a load thread waits with and reads into.
pub struct Io<'a, C, P> {
    /// The time.
    pub clock: &'a C,
    /// Waits for sockets and moments.
    pub poller: P,
    /// Where the thread counts calls, polls and lag; none: nowhere.
    pub metrics: Option<&'a ThreadMetrics>,
    /// The moments that it waits for.
    pub timers: Timers,
    /// Connections that are wanted.
    pub queue: ConnectQueue,
    /// How long answers lay unread.
    pub unread: Unread,
    /// The last time seen: good enough for the length of a wait, and saves a read of the clock.
    pub now_ns: u64,
    /// It has a CPU to itself, and may use the moments before a timer is due: up to 50 us each, which
    /// do not count as busy.
    pub spins: bool,
    /// Whether the last turn looked in vain: then nothing was done since `now_ns`.
    pub(super) was_in_vain: bool,
    pub(super) ready: Vec<Ready>,
    pub(super) received: Vec<Received>,
    /// Made when the first socket is ready.
    pub(super) arena: Box<[u8]>,
    pub(super) arena_bytes: usize,
    /// Where the rest of an answer goes that fills its space.
    pub(super) spill: Vec<u8>,
}

impl<'a, C: Clock, P> Io<'a, C, P> {
    /// For so many sessions. `connects_max`: how many connections the thread may be making at the same
    /// time; `arena_bytes`: how much it receives before it looks at any of it.
    pub fn new(
        (clock, poller): (&'a C, P),
        metrics: Option<&'a ThreadMetrics>,
        sessions: usize,
        connects_max: usize,
        arena_bytes: usize,
    ) -> Self {
        Self {
            clock,
            poller,
            metrics,
            timers: Timers::default(),
            queue: ConnectQueue::new(connects_max),
            unread: Unread::default(),
            now_ns: clock.now_ns(),
            spins: false,
            was_in_vain: false,
            ready: Vec::with_capacity(sessions),
            received: Vec::with_capacity(sessions),
            arena: Box::default(),
            arena_bytes,
            spill: Vec::new(),
        }
    }

    /// So many calls read from or wrote to a socket.
    #[inline]
    pub fn count_calls(&self, calls: u32) {
        if let Some(metrics) = self.metrics {
            metrics.syscalls.add(calls.into());
        }
    }

    /// The answer to what `session` sent at `sent_ns` is read at `stamp_ns`.
    #[inline]
    pub fn count_lag(&self, session: u32, sent_ns: u64, stamp_ns: u64) {
        if let Some(metrics) = self.metrics {
            metrics.lag.record(self.unread.at_most_ns(session, sent_ns, stamp_ns));
        }
    }
}

/// One life of the connection `at`, as the poller knows it.
#[inline]
pub fn token(at: u32, era: u32) -> u64 {
    u64::from(era) << 32 | u64::from(at)
}

/// A load thread's sessions: which connections they have, and what is done when something comes.
/// A connection is named by a number `at`, of the implementor's choice.
pub trait LoadThread<'a>: Sized {
    /// The time.
    type Clock: Clock + 'a;
    /// What waits.
    type Poller: Poller;
    /// What the sessions speak.
    type Protocol: WireProtocol + ?Sized;

    /// What it waits with.
    fn io(&mut self) -> &mut IoOf<'a, Self>;

    /// A place for a connection, whether there is one now or not.
    fn channel(&mut self, at: u32) -> Option<(&mut IoOf<'a, Self>, &mut Channel)>;

    /// A connection that goes over a transport.
    fn speaker(&mut self, at: u32) -> Option<Speaker<'_, 'a, Self>>;

    /// Where it leads to; none: over no transport.
    fn endpoint(&self, at: u32) -> Option<&'a Endpoint>;

    /// A turn begins. False: the load has ended.
    fn begin_turn(&mut self) -> bool;

    /// Whether the load has begun.
    fn has_begun(&self) -> bool;

    /// Whether sessions go on without waiting for anything.
    fn has_turns(&self) -> bool;

    /// Those sessions go on.
    fn take_turns(&mut self);

    /// A moment has come.
    fn on_timer(&mut self, timer: Timer);

    /// The load has ended.
    fn finish(&mut self);

    /// Begins to make a connection that was wanted.
    ///
    /// # Errors
    /// It could not be.
    fn open(&mut self, at: u32) -> Result<()>;

    /// `at` is to be looked at if it is not up until then.
    fn add_connect_timeout(&mut self, at: u32, at_ns: u64);

    /// A connection could not be made.
    fn not_connected(&mut self, at: u32, error: Error);

    /// Login and preparation are done.
    fn logged_in(&mut self, at: u32);

    /// Bytes have come for a connection that is up, and were read at `stamp_ns`.
    fn come(&mut self, at: u32, stamp_ns: u64);

    /// They were handed to its protocol.
    ///
    /// # Errors
    /// What has come is no answer that ends.
    fn heard(&mut self, _at: u32, _bytes: usize) -> Result<()> {
        Ok(())
    }

    /// The request in flight is answered.
    fn answered(&mut self, at: u32, reply: <Self::Protocol as WireProtocol>::Reply, stamp_ns: u64);

    /// What a server says without being asked.
    fn out_of_turn(&mut self, at: u32) -> Error;

    /// The system did not take what was to be sent: the connection is lost.
    fn not_sent(&mut self, _at: u32) {}

    /// A connection that was up is lost; its channel is still as it was.
    fn lost(&mut self, at: u32, error: Error);
}

/// What a load thread of this kind waits with.
pub type IoOf<'a, T> = Io<'a, <T as LoadThread<'a>>::Clock, <T as LoadThread<'a>>::Poller>;

/// A connection with what it is driven by.
pub type Speaker<'s, 'a, T> =
    (&'s mut IoOf<'a, T>, &'s mut Channel, &'s mut <T as LoadThread<'a>>::Protocol);
