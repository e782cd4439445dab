//! Connecting the sessions of a plan, at the start and after each loss, with growing pauses between
//! attempts.

use super::session_slot::{Connection, Down, SessionSlot, reconnect_wait_ns};
use super::worker::Worker;
use crate::reactor::timers::Cause;
use crate::transport::poller::Poller;
use dyno_core::clock::Clock;
use dyno_core::random::rng::Rng;

impl<C: Clock, P: Poller> Worker<'_, C, P> {
    /// Whether the slot must connect now. A slot of a replay first claims a recorded session, and waits
    /// until that begins.
    pub(crate) fn is_wanted(&mut self, index: u32, now_ns: u64) -> bool {
        let slot = &mut self.slots[index as usize];
        let Some(replay) = self.group_targets[slot.group].config.replay else { return true };
        let is_left = slot.session.claim(replay);
        let connects_ns = slot.session.connects_ns(replay);
        let is_early = self.origin_ns.map_or(connects_ns > 0, |at| now_ns < at + connects_ns);
        if is_left && !is_early {
            slot.is_spared = false;
            return true;
        }
        if !slot.is_settled {
            slot.is_settled = true;
            self.control.gates[slot.group].spared();
        }
        slot.is_spared = true;
        if !is_left {
            replay.retire();
        } else if self.origin_ns.is_some() {
            self.await_opening(index);
        }
        false
    }

    /// Schedules the connection for the begin of the recorded session, if the slot holds one.
    pub(crate) fn await_opening(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        let replay = self.group_targets[slot.group].config.replay;
        if let (Some(replay), Some(origin_ns)) = (replay, self.origin_ns)
            && slot.session.holds_a_recording()
        {
            let at_ns = origin_ns + slot.session.connects_ns(replay);
            self.add_timer(index, at_ns, Cause::Connect);
        }
    }

    /// Closes the connection after the end of the recorded session, and requests the next one.
    pub(crate) fn leave_server(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        if let Connection::Wire(wire) = &mut slot.connection {
            slot.channel.quit(&mut **wire);
        }
        self.close_and_connect(index);
    }

    /// Closes the connection, and requests a new one at once.
    pub(crate) fn close_and_connect(&mut self, index: u32) {
        let now_ns = self.io.clock.now_ns();
        let slot = &mut self.slots[index as usize];
        slot.close();
        slot.closed_ns = now_ns;
        self.io.queue.push(index);
    }

    pub(crate) fn reconnect_wait_ns(&self, index: u32, now_ns: u64) -> u64 {
        let slot = &self.slots[index as usize];
        let config = &self.group_targets[slot.group].config;
        let seed = config.seed ^ config.group as u64;
        let random = Rng::for_transaction(seed, slot.session.number(), now_ns).u64();
        reconnect_wait_ns(slot.failures.max(slot.short_lives), random)
    }

    /// Counts the slot as lost, since the load begins and it has no connection.
    pub(crate) fn count_as_lost(&mut self, index: u32, origin_ns: u64) {
        let group = self.slots[index as usize].group;
        let cause = self.control.gates[group]
            .failure()
            .map_or_else(|| "not connected at the start".to_owned(), |error| error.to_string());
        self.mark_down(index, origin_ns, &cause);
    }

    pub(crate) fn mark_down(&mut self, index: u32, since_ns: u64, cause: &str) {
        let slot: &mut SessionSlot = &mut self.slots[index as usize];
        if slot.down.is_none() {
            slot.down = Some(Down { since_ns, cause: cause.to_owned() });
            self.metrics.groups[slot.group].lost.add(1);
        }
    }
}
