//! The turns of a load thread that drives many sessions: one poll loop, no runtime.
//!
//! A turn of the loop: wait; receive from *all* ready sockets into one arena, with a time stamp
//! after each; only then look at the answers, record them, and send the next requests. So an answer
//! never waits for the handling of another of its batch before it is stamped. What it may have waited
//! all the same (*lag*: for the batch before, and for its stamp) is measured beside the latency.
//!
//! In the steady state a statement costs one `recv`, one `send` and its share of a poll, and no
//! allocation.

use super::receive_buffer::RECEIVE_BYTES;
use super::session_slot::{Connection, SessionSlot};
use super::timers::{Cause, Timer};
use super::worker::{OpenGroup, Worker};
use crate::metrics::notice::Notice;
use crate::transport::channel::Stage;
use crate::transport::poller::Poller;
use dyno_core::clock::Clock;
use dyno_core::error::{Error, Kind, Result};

/// Longest wait: bounds how late a worker notices the end.
const WAIT_MAX_NS: u64 = 20_000_000;
/// Longest wait before the load begins: bounds how late it begins.
const START_WAIT_MAX_NS: u64 = 1_000_000;
/// How long before an arrival is due a worker stops sleeping and looks for sockets without a pause
/// until then: waking up takes a virtual machine's CPU 20 to 60 us. See [`Worker::spins`].
const SPIN_NS: u64 = 50_000;
/// Timers carried out before sockets are looked at again: a burst of arrivals must not keep answers
/// from being stamped.
const TIMERS_A_TURN: usize = 64;
/// At the end, statements older than this are cancelled at the server: closing alone might leave
/// them running.
const CANCEL_AGE_NS: u64 = 1_000_000_000;

impl<C: Clock, P: Poller> Worker<'_, C, P> {
    /// Works until told to stop.
    ///
    /// # Errors
    /// [`Kind::System`] when the system refuses to poll.
    pub fn run(&mut self) -> Result<()> {
        while !self.control.is_stopped() {
            self.connect_waiting();
            if self.origin_ns.is_none() {
                self.begin_if_told();
            }
            self.turn()?;
        }
        self.finish();
        Ok(())
    }

    /// Begins the load once all threads' sessions are connected.
    fn begin_if_told(&mut self) {
        let Some((origin_ns, measure_ns)) = self.control.origin() else { return };
        self.origin_ns = Some(origin_ns);
        self.measure_ns = measure_ns;
        for slot in 0..self.slots.len() as u32 {
            if self.slots[slot as usize].stage == Stage::Up {
                self.begin(slot);
            } else if self.slots[slot as usize].is_spared {
                self.await_opening(slot);
            } else {
                self.count_as_lost(slot, origin_ns);
            }
        }
    }

    /// Arrivals that were given back go to sessions that wait for later ones, the last one's first.
    fn pass_on_given_back(&mut self) {
        for place in 0..self.open.len() {
            let OpenGroup { group, given_back } = self.open[place];
            let config = &self.group_targets[group].config;
            let Some(arrival_source) = config.arrival_source else { continue };
            if arrival_source.given_back() == given_back {
                continue;
            }
            self.open[place].given_back = arrival_source.given_back();
            let slots = self.slots.iter().enumerate();
            let awaits = |(index, slot): (usize, &SessionSlot)| {
                (slot.group == group).then_some((slot.session.awaits()?, index as u32))
            };
            let mut waiting: Vec<(u64, u32)> = slots.filter_map(awaits).collect();
            waiting.sort_unstable();
            while let Some((held, index)) = waiting.pop()
                && arrival_source.has_before(held)
            {
                let now_ns = self.clock.now_ns();
                let sinks = self.sinks(group);
                let step = self.slots[index as usize].session.reconsider(now_ns, sinks, config);
                self.perform(index, step);
            }
        }
    }

    fn turn(&mut self) -> Result<()> {
        self.pass_on_given_back();
        // Timed sessions alone need no poll while answers are due at once.
        if self.instant.is_empty() || self.queue.has_sockets() {
            self.poll()?;
        }
        for _ in 0..self.instant.len() {
            if let Some(slot) = self.instant.pop_front() {
                self.timed_answer(slot);
            }
        }
        for _ in 0..TIMERS_A_TURN {
            let Some(timer) = self.timers.take_due(self.now_ns) else { break };
            if self.slots[timer.slot as usize].era == timer.era {
                self.on_timer(timer);
            }
        }
        Ok(())
    }

    fn poll(&mut self) -> Result<()> {
        let longest = if self.origin_ns.is_some() { WAIT_MAX_NS } else { START_WAIT_MAX_NS };
        let begun_ns = self.now_ns;
        let mut until_ns = if self.instant.is_empty() {
            self.timers.first_ns().unwrap_or(u64::MAX).min(begun_ns + longest)
        } else {
            begun_ns
        };
        let mut is_spin = false;
        if self.spins && until_ns > begun_ns {
            until_ns = until_ns.saturating_sub(SPIN_NS).max(begun_ns);
            is_spin = until_ns == begun_ns;
        }
        let waited = self.poller.wait(self.now_ns, until_ns, &mut self.ready);
        let slept = waited.map_err(|error| {
            Error::new(Kind::System, format!("the system refuses to wait for sockets: {error}"))
        })?;
        let polled_ns = self.clock.now_ns();
        self.now_ns = polled_ns;
        self.unread.polled(polled_ns, slept, self.poller.worked_ns(polled_ns));
        self.metrics.polls.add(1);
        let is_in_vain = is_spin && self.ready.is_empty();
        if is_in_vain && self.was_in_vain {
            self.metrics.spun_ns.add(polled_ns.saturating_sub(begun_ns));
        }
        self.was_in_vain = is_in_vain;
        // Taken out for the turn: what is received is read while the worker sends.
        let mut arena = std::mem::take(&mut self.arena);
        let ready = std::mem::take(&mut self.ready);
        let mut used = 0;
        for event in &ready {
            if arena.len() - used < RECEIVE_BYTES {
                self.handle_received(&mut arena);
                used = 0;
            }
            used += self.receive(*event, &mut arena[used..used + RECEIVE_BYTES], used);
        }
        self.handle_received(&mut arena);
        self.arena = arena;
        self.ready = ready;
        Ok(())
    }

    fn on_timer(&mut self, timer: Timer) {
        let index = timer.slot;
        self.unread.turn_of(index);
        match timer.cause {
            Cause::Wake => self.on_wake(index),
            Cause::Answer => self.timed_answer(index),
            Cause::Deadline => self.on_deadline(index),
            Cause::Connect => self.queue.push(index),
            Cause::ConnectTimeout => self.connect_timed_out(index),
        }
    }

    fn on_wake(&mut self, index: u32) {
        let sinks = self.sinks(self.slots[index as usize].group);
        let slot = &mut self.slots[index as usize];
        if !slot.session.is_due(self.now_ns) {
            return;
        }
        let step = slot.session.woken(self.now_ns, sinks, &self.group_targets[slot.group].config);
        self.perform(index, step);
    }

    fn timed_answer(&mut self, index: u32) {
        self.unread.turn_of(index);
        if let Connection::Timed(_, owed) = &mut self.slots[index as usize].connection
            && let Some(reply) = owed.take()
        {
            self.now_ns = self.clock.now_ns();
            self.answered(index, reply, self.now_ns);
        }
    }

    fn on_deadline(&mut self, index: u32) {
        let now_ns = self.now_ns;
        let sinks = self.sinks(self.slots[index as usize].group);
        let slot = &mut self.slots[index as usize];
        let config = &self.group_targets[slot.group].config;
        slot.has_deadline_timer = false;
        if slot.session.expire(now_ns, sinks, config) {
            if let Connection::Wire(wire, _) = &slot.connection {
                self.control.cancel(slot.group, slot.session.server(), wire.cancel());
            }
            self.close_and_connect(index);
        } else if slot.session.is_in_flight() {
            self.watch_deadline(index);
        }
    }

    /// The end: says farewell, and what was still going on.
    fn finish(&mut self) {
        let now_ns = self.clock.now_ns();
        for slot in &mut self.slots {
            let metrics = &self.metrics.groups[slot.group];
            if let Some(down) = slot.down.take() {
                self.notices.emit(Notice::Outage {
                    group: slot.group,
                    session: slot.session.number(),
                    start_ns: down.since_ns,
                    end_ns: None,
                    cause: down.cause,
                });
            }
            let age_ns =
                slot.session.under_way_since_ns().map_or(0, |at| now_ns.saturating_sub(at));
            metrics.in_flight_oldest_ns.raise(age_ns);
            let server = slot.session.server();
            slot.session.leave(&self.group_targets[slot.group].config);
            if let Connection::Wire(wire, link) = &mut slot.connection {
                if age_ns > CANCEL_AGE_NS {
                    self.control.cancel(slot.group, server, wire.cancel());
                }
                self.out.clear();
                if slot.stage == Stage::Up {
                    wire.quit(&mut self.out);
                }
                // Nobody waits for an answer; a peer that is gone is no error any more.
                let _ = link.send(&self.out);
            }
            slot.close();
        }
    }
}
