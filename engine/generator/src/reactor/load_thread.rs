//! The parts of a load thread: its poller, timers and buffers ([`Io`]), and the handling of its
//! sessions ([`LoadThread`]). Waiting, receiving, connecting and closing are the same for all
//! implementors: [`event_loop`](super::event_loop) and [`turn`](super::turn).

use super::timers::{Timer, Timers};
use super::turn::connect_queue::ConnectQueue;
use super::turn::receive_buffer::Received;
use super::turn::unread::Unread;
use crate::metrics::thread::ThreadMetrics;
use crate::transport::channel::Channel;
use crate::transport::endpoint::Endpoint;
use crate::transport::poller::{Poller, Ready};
use dyno_core::clock::Clock;
use dyno_core::driver::WireProtocol;
use dyno_core::error::{Error, Result};

/// Poller, timers, buffers and metrics of a load thread.
pub struct Io<'a, C, P> {
    /// Clock of the load.
    pub clock: &'a C,
    /// Waits for sockets and times.
    pub poller: P,
    /// Counters of calls, polls and lag; `None`: not counted.
    pub metrics: Option<&'a ThreadMetrics>,
    /// Pending timers.
    pub timers: Timers,
    /// Requested connections.
    pub queue: ConnectQueue,
    /// Upper bounds of how long answers waited unread.
    pub unread: Unread,
    /// The last clock reading: accurate enough for the length of a wait, and saves another reading.
    pub now_ns: u64,
    /// Whether the thread has a CPU to itself and may spin before a timer is due: up to 50 us each, which
    /// do not count as busy.
    pub spins: bool,
    /// Whether the last turn found nothing to do, so that no work was done since `now_ns`.
    pub(super) was_in_vain: bool,
    pub(super) ready: Vec<Ready>,
    pub(super) received: Vec<Received>,
    /// Receive buffer, allocated when the first socket is ready.
    pub(super) arena: Box<[u8]>,
    pub(super) arena_bytes: usize,
    /// Overflow buffer for an answer that fills its space in the arena.
    pub(super) spill: Vec<u8>,
}

impl<'a, C: Clock, P> Io<'a, C, P> {
    /// Creates the parts for `sessions` sessions. `connects_max`: connections that the thread may be making
    /// at the same time; `arena_bytes`: bytes received before any is handled.
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

    /// Counts `calls` system calls that read from or wrote to a socket.
    #[inline]
    pub fn count_calls(&self, calls: u32) {
        if let Some(metrics) = self.metrics {
            metrics.syscalls.add(calls.into());
        }
    }

    /// Counts the lag of the answer, read at `stamp_ns`, to the request that `session` sent at `sent_ns`.
    #[inline]
    pub fn count_lag(&self, session: u32, sent_ns: u64, stamp_ns: u64) {
        if let Some(metrics) = self.metrics {
            metrics.lag.record(self.unread.at_most_ns(session, sent_ns, stamp_ns));
        }
    }

    /// Counts the lag of further answers to requests that were sent together.
    pub fn count_lag_of_rest(&self, sent_ns: u64, stamp_ns: u64) {
        if let Some(metrics) = self.metrics {
            metrics.lag.record(self.unread.rest_at_most_ns(sent_ns, stamp_ns));
        }
    }
}

/// The poller's token of connection `at` in life `era`.
#[inline]
pub fn token(at: u32, era: u32) -> u64 {
    u64::from(era) << 32 | u64::from(at)
}

/// The sessions of a load thread: their connections, and the handling of events.
/// A number `at`, of the implementor's choice, identifies a connection.
pub trait LoadThread<'a>: Sized {
    /// Clock of the load.
    type Clock: Clock + 'a;
    /// Poller of the thread.
    type Poller: Poller;
    /// Protocol of the sessions.
    type Protocol: WireProtocol + ?Sized;

    /// The thread's poller, timers and buffers.
    fn io(&mut self) -> &mut IoOf<'a, Self>;

    /// The channel of a connection, whether it is connected or not.
    fn channel(&mut self, at: u32) -> Option<(&mut IoOf<'a, Self>, &mut Channel)>;

    /// A connection with a transport, and its protocol.
    fn speaker(&mut self, at: u32) -> Option<Speaker<'_, 'a, Self>>;

    /// The server's address; `None` without a transport.
    fn endpoint(&self, at: u32) -> Option<&'a Endpoint>;

    /// Begins a turn; false when the load has ended.
    fn begin_turn(&mut self) -> bool;

    /// Whether the load has begun.
    fn has_begun(&self) -> bool;

    /// Whether any session can continue without waiting.
    fn has_turns(&self) -> bool;

    /// Advances the sessions that can continue.
    fn take_turns(&mut self);

    /// Handles a timer that is due.
    fn on_timer(&mut self, timer: Timer);

    /// Ends the sessions with the load.
    fn finish(&mut self);

    /// Begins to make a requested connection.
    ///
    /// # Errors
    /// The connection cannot be made.
    fn open(&mut self, at: u32) -> Result<()>;

    /// Adds a timer at `at_ns`, at which the attempt fails if the connection is not up.
    fn add_connect_timeout(&mut self, at: u32, at_ns: u64);

    /// Handles a failed attempt to connect.
    fn not_connected(&mut self, at: u32, error: Error);

    /// Handles the end of login and preparation.
    fn logged_in(&mut self, at: u32);

    /// Handles bytes that came for a connection that is up; they were read at `stamp_ns`.
    fn come(&mut self, at: u32, stamp_ns: u64);

    /// Counts bytes that were passed to the protocol.
    ///
    /// # Errors
    /// The answer exceeds its limits.
    fn heard(&mut self, _at: u32, _bytes: usize) -> Result<()> {
        Ok(())
    }

    /// Handles the answer to the request in flight.
    fn answered(&mut self, at: u32, reply: <Self::Protocol as WireProtocol>::Reply, stamp_ns: u64);

    /// The error of a message that the server sent without a request.
    fn out_of_turn(&mut self, at: u32) -> Error;

    /// Handles a failed send, with which the connection is lost.
    fn not_sent(&mut self, _at: u32) {}

    /// Handles the loss of a connection that was up; its channel is not closed yet.
    fn lost(&mut self, at: u32, error: Error);
}

/// The [`Io`] of a load thread.
pub type IoOf<'a, T> = Io<'a, <T as LoadThread<'a>>::Clock, <T as LoadThread<'a>>::Poller>;

/// A connection with its thread's [`Io`], channel and protocol.
pub type Speaker<'s, 'a, T> =
    (&'s mut IoOf<'a, T>, &'s mut Channel, &'s mut <T as LoadThread<'a>>::Protocol);
