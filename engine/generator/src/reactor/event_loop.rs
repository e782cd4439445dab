//! The event loop of a load thread that drives many connections: one poll loop, no async runtime.
//!
//! A turn of the loop waits, receives from ready sockets into one arena with a time stamp after each,
//! then handles the answers, advances their sessions and sends the next requests. With an arena that
//! holds a batch, all answers of the batch are stamped before any is handled; with one that holds a
//! single read, each is handled at once. The time for which an answer may still have waited unread
//! (*lag*: for the previous batch, and for its stamp) is measured in addition to the latency.
//!
//! In the steady state a statement costs one `recv`, one `send` and its share of a poll, and no
//! allocation.

use super::load_thread::LoadThread;
use super::turn::receive_buffer::RECEIVE_BYTES;
use super::turn::receiving::Receiving;
use crate::transport::poller::Poller;
use dyno_core::clock::Clock;
use dyno_core::error::{Error, Kind, Result};

/// Longest wait: bounds the delay in noticing the end.
const WAIT_MAX_NS: u64 = 20_000_000;
/// Longest wait before the load begins: bounds the delay of its begin.
const START_WAIT_MAX_NS: u64 = 1_000_000;
/// How long before an arrival is due a thread stops sleeping and polls without a pause: waking up
/// takes a virtual machine's CPU 20 to 60 us. See [`Io::spins`].
const SPIN_NS: u64 = 50_000;
/// Timers handled between two polls: a burst of arrivals must not delay the stamps of answers.
const TIMERS_A_TURN: usize = 64;

/// The event loop of a load thread.
pub trait Turns<'a>: LoadThread<'a> {
    /// Runs until the sessions report the end of the load.
    ///
    /// # Errors
    /// [`Kind::System`] when the system refuses to poll.
    fn run(&mut self) -> Result<()> {
        while self.begin_turn() {
            // Sessions without sockets need no poll while they continue at once.
            if !self.has_turns() || self.io().queue.has_sockets() {
                self.poll()?;
            }
            self.take_turns();
            for _ in 0..TIMERS_A_TURN {
                let io = self.io();
                let Some(timer) = io.timers.take_due(io.now_ns) else { break };
                self.on_timer(timer);
            }
        }
        self.finish();
        Ok(())
    }

    /// Waits for sockets and timers, and handles them.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    fn poll(&mut self) -> Result<()> {
        let longest = if self.has_begun() { WAIT_MAX_NS } else { START_WAIT_MAX_NS };
        let has_turns = self.has_turns();
        let io = self.io();
        let begun_ns = io.now_ns;
        let mut until_ns = if has_turns {
            begun_ns
        } else {
            io.timers.first_ns().unwrap_or(u64::MAX).min(begun_ns + longest)
        };
        let mut is_spin = false;
        if io.spins && until_ns > begun_ns {
            until_ns = until_ns.saturating_sub(SPIN_NS).max(begun_ns);
            is_spin = until_ns == begun_ns;
        }
        let waited = io.poller.wait(begun_ns, until_ns, &mut io.ready);
        let slept = waited.map_err(|error| {
            Error::new(Kind::System, format!("the system refuses to wait for sockets: {error}"))
        })?;
        io.now_ns = io.clock.now_ns();
        let is_in_vain = is_spin && io.ready.is_empty();
        if let Some(metrics) = io.metrics {
            io.unread.polled(io.now_ns, slept, io.poller.worked_ns(io.now_ns));
            metrics.polls.add(1);
            if is_in_vain && io.was_in_vain {
                metrics.spun_ns.add(io.now_ns.saturating_sub(begun_ns));
            }
        }
        io.was_in_vain = is_in_vain;
        if !io.ready.is_empty() {
            self.serve();
        }
        Ok(())
    }

    /// Receives from all ready sockets, and handles the answers.
    fn serve(&mut self) {
        let io = self.io();
        if io.arena.is_empty() {
            io.arena = vec![0; io.arena_bytes].into_boxed_slice();
        }
        // Taken out for the turn: sessions send while the received bytes are borrowed.
        let mut arena = std::mem::take(&mut io.arena);
        let ready = std::mem::take(&mut io.ready);
        let mut used = 0;
        for event in &ready {
            if arena.len() - used < RECEIVE_BYTES {
                self.handle_received(&arena);
                used = 0;
            }
            used += self.receive(*event, &mut arena[used..used + RECEIVE_BYTES], used);
        }
        self.handle_received(&arena);
        let io = self.io();
        io.arena = arena;
        io.ready = ready;
    }
}

impl<'a, T: LoadThread<'a>> Turns<'a> for T {}
