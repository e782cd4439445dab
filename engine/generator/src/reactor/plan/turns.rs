//! Begin, timers and end of the sessions of a plan.

use super::session_slot::{Connection, SessionSlot};
use super::worker::{OpenGroup, Worker};
use crate::reactor::load_thread::LoadThread;
use crate::transport::poller::Poller;
use dyno_core::clock::Clock;

impl<C: Clock, P: Poller> Worker<'_, C, P> {
    /// Begins the load once all threads' sessions are connected.
    pub(crate) fn begin_if_told(&mut self) {
        let Some((origin_ns, measure_ns)) = self.control.origin() else { return };
        self.origin_ns = Some(origin_ns);
        self.measure_ns = measure_ns;
        for slot in 0..self.slots.len() as u32 {
            if self.slots[slot as usize].channel.is_up() {
                self.begin(slot);
            } else if self.slots[slot as usize].is_spared {
                self.await_opening(slot);
            } else {
                self.count_as_lost(slot, origin_ns);
            }
        }
    }

    /// Passes arrivals that were given back to sessions that wait for later ones, the latest first.
    pub(crate) fn pass_on_given_back(&mut self) {
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
                let now_ns = self.io.clock.now_ns();
                let sinks = self.sinks(group);
                let step = self.slots[index as usize].session.reconsider(now_ns, sinks, config);
                self.perform(index, step);
            }
        }
    }

    pub(crate) fn on_wake(&mut self, index: u32) {
        let sinks = self.sinks(self.slots[index as usize].group);
        let slot = &mut self.slots[index as usize];
        if !slot.session.is_due(self.io.now_ns) {
            return;
        }
        let step =
            slot.session.woken(self.io.now_ns, sinks, &self.group_targets[slot.group].config);
        self.perform(index, step);
    }

    pub(crate) fn timed_answer(&mut self, index: u32) {
        self.io.unread.turn_of(index);
        if let Connection::Timed(_, owed) = &mut self.slots[index as usize].connection
            && let Some(reply) = owed.take()
        {
            self.io.now_ns = self.io.clock.now_ns();
            self.answered(index, reply, self.io.now_ns);
        }
    }

    pub(crate) fn on_deadline(&mut self, index: u32) {
        let now_ns = self.io.now_ns;
        let sinks = self.sinks(self.slots[index as usize].group);
        let slot = &mut self.slots[index as usize];
        let config = &self.group_targets[slot.group].config;
        slot.has_deadline_timer = false;
        if slot.session.expire(now_ns, sinks, config) {
            if slot.lanes.is_some() {
                return self.lane_expired(index);
            }
            if let Connection::Wire(wire) = &slot.connection {
                self.control.cancel(slot.group, slot.session.server(), wire.cancel());
            }
            self.close_and_connect(index);
        } else if slot.session.is_in_flight() {
            self.watch_deadline(index);
        }
    }
}
