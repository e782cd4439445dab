//! Implementation of [`LoadThread`] for the sessions of a plan.

use super::lanes;
use super::session_slot::{Connection, Down, Owed, SHORT_LIFE_NS, START_ATTEMPTS};
use super::worker::Worker;
use crate::metrics::notice::Notice;
use crate::reactor::load_thread::{Io, LoadThread, Speaker};
use crate::reactor::timers::{Cause, Timer};
use crate::reactor::turn::closing::Closing;
use crate::reactor::turn::connecting::{CONNECT_TIMEOUT_NS, Connecting, login_timed_out};
use crate::session::Sinks;
use crate::transport::channel::{Channel, out_of_turn};
use crate::transport::endpoint::Endpoint;
use crate::transport::poller::Poller;
use dyno_core::clock::Clock;
use dyno_core::driver::{Reply, Session as DriverSession, Wire};
use dyno_core::error::{Error, Kind, Result};

/// Minimum age in nanoseconds of statements that are cancelled at the server at the end: they might
/// continue after their connection is closed.
const CANCEL_AGE_NS: u64 = 1_000_000_000;

impl<'a, C: Clock, P: Poller> LoadThread<'a> for Worker<'a, C, P> {
    type Clock = C;
    type Poller = P;
    type Protocol = dyn Wire;

    #[inline]
    fn io(&mut self) -> &mut Io<'a, C, P> {
        &mut self.io
    }

    #[inline]
    fn channel(&mut self, at: u32) -> Option<(&mut Io<'a, C, P>, &mut Channel)> {
        if lanes::is_lane(at) {
            return self.lane_channel(at);
        }
        Some((&mut self.io, &mut self.slots[at as usize].channel))
    }

    #[inline]
    fn speaker(&mut self, at: u32) -> Option<Speaker<'_, 'a, Self>> {
        if lanes::is_lane(at) {
            return self.lane_speaker(at);
        }
        let slot = &mut self.slots[at as usize];
        let Connection::Wire(wire) = &mut slot.connection else { return None };
        Some((&mut self.io, &mut slot.channel, &mut **wire))
    }

    fn endpoint(&self, at: u32) -> Option<&'a Endpoint> {
        if let Some((index, node)) = lanes::split(at) {
            return self.node(index, node).endpoint;
        }
        let slot = &self.slots[at as usize];
        self.group_targets[slot.group].server(slot.session.server()).endpoint
    }

    fn begin_turn(&mut self) -> bool {
        if self.control.is_stopped() {
            return false;
        }
        self.connect_waiting();
        if self.origin_ns.is_none() {
            self.begin_if_told();
        }
        self.pass_on_given_back();
        true
    }

    fn has_begun(&self) -> bool {
        self.origin_ns.is_some()
    }

    fn has_turns(&self) -> bool {
        !self.instant.is_empty()
    }

    fn take_turns(&mut self) {
        for _ in 0..self.instant.len() {
            if let Some(slot) = self.instant.pop_front() {
                self.timed_answer(slot);
            }
        }
    }

    fn on_timer(&mut self, timer: Timer) {
        if lanes::is_lane(timer.slot) {
            return self.lane_timer(timer);
        }
        if self.slots[timer.slot as usize].channel.era != timer.era {
            return;
        }
        let index = timer.slot;
        self.io.unread.turn_of(index);
        match timer.cause {
            Cause::Wake => self.on_wake(index),
            Cause::Answer => self.timed_answer(index),
            Cause::Deadline => self.on_deadline(index),
            Cause::Connect => self.io.queue.push(index),
            Cause::ConnectTimeout if self.slots[index as usize].channel.is_up() => {}
            Cause::ConnectTimeout => self.connection_lost(index, login_timed_out()),
        }
    }

    fn finish(&mut self) {
        let now_ns = self.io.clock.now_ns();
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
            let config = &self.group_targets[slot.group].config;
            let (notices, audit) = (self.notices, self.audit);
            let sinks = Sinks { group: slot.group, metrics, notices, audit };
            slot.session.cut_short(now_ns, sinks, config);
            slot.session.leave(config);
            if let Some(lanes) = &mut slot.lanes {
                lanes.quit();
            }
            if let Connection::Wire(wire) = &mut slot.connection {
                if age_ns > CANCEL_AGE_NS {
                    self.control.cancel(slot.group, server, wire.cancel());
                }
                slot.channel.quit(&mut **wire);
            }
            slot.close();
        }
    }

    fn open(&mut self, index: u32) -> Result<()> {
        if lanes::is_lane(index) {
            return self.open_lane(index);
        }
        if self.group_targets[self.slots[index as usize].group].router.is_some() {
            self.open_lanes(index);
            return Ok(());
        }
        let now_ns = self.io.clock.now_ns();
        if !self.is_wanted(index, now_ns) {
            self.io.queue.settle();
            return Ok(());
        }
        let slot = &mut self.slots[index as usize];
        slot.opened_ns = now_ns;
        let server = self.group_targets[slot.group].server(slot.session.server());
        match server.driver.session(slot.session.number())? {
            DriverSession::Timed(timed) => {
                slot.connection = Connection::Timed(timed, Owed::default());
                self.come_up(index);
            }
            DriverSession::Wire(wire) => {
                slot.connection = Connection::Wire(wire);
                self.open_link(index, now_ns)?;
            }
            DriverSession::Blocking(_) => {
                return Err(Error::new(Kind::Plan, "a blocking session reached a network worker"));
            }
        }
        Ok(())
    }

    fn add_connect_timeout(&mut self, at: u32, at_ns: u64) {
        if lanes::is_lane(at) {
            return self.add_lane_timer(at, at_ns, Cause::ConnectTimeout);
        }
        self.add_timer(at, at_ns, Cause::ConnectTimeout);
    }

    fn not_connected(&mut self, index: u32, error: Error) {
        if lanes::is_lane(index) {
            return self.lane_not_connected(index, &error);
        }
        let now_ns = self.io.clock.now_ns();
        let slot = &mut self.slots[index as usize];
        slot.close();
        slot.failures += 1;
        let took_long = now_ns.saturating_sub(slot.opened_ns) >= CONNECT_TIMEOUT_NS;
        let is_enough = slot.failures >= START_ATTEMPTS || took_long || is_final(&error);
        if !slot.is_settled && is_enough {
            slot.is_settled = true;
            self.control.gates[slot.group].failed(error.clone());
        }
        let since_ns = if slot.has_begun { slot.closed_ns } else { now_ns };
        let is_played = self.slots[index as usize].session.holds_a_recording();
        let is_refused = matches!(error.kind, Kind::Authentication | Kind::Plan);
        if is_played && is_refused && self.origin_ns.is_some() {
            // For example a missing database: the next recorded session may use another one.
            let sinks = self.sinks(self.slots[index as usize].group);
            let slot = &mut self.slots[index as usize];
            let config = &self.group_targets[slot.group].config;
            slot.session.abandon(now_ns, &error.to_string(), sinks, config);
            return self.io.queue.push(index);
        }
        if self.origin_ns.is_some() {
            self.mark_down(index, since_ns, &error.to_string());
        } else {
            self.slots[index as usize].closed_ns = now_ns;
        }
        let wait_ns = self.reconnect_wait_ns(index, now_ns);
        self.add_timer(index, now_ns + wait_ns, Cause::Connect);
    }

    fn logged_in(&mut self, index: u32) {
        if lanes::is_lane(index) {
            return self.lane_logged_in(index);
        }
        let now_ns = self.io.clock.now_ns();
        let slot = &mut self.slots[index as usize];
        // The login may have needed a larger buffer than requests do; those are built in another one.
        slot.channel.output = Vec::new();
        slot.failures = 0;
        slot.up_ns = now_ns;
        if !slot.is_settled {
            slot.is_settled = true;
            self.control.gates[slot.group].connected();
        }
        self.outage_over(index);
        self.begin(index);
    }

    #[inline]
    fn come(&mut self, at: u32, stamp_ns: u64) {
        if self.origin_ns.is_none() {
            return;
        }
        let session = &self.slots[lanes::session_of(at)].session;
        if session.is_partly_answered() {
            self.io.count_lag_of_rest(session.op_ns, stamp_ns);
        } else {
            self.io.count_lag(at, session.op_ns, stamp_ns);
        }
    }

    #[inline]
    fn answered(&mut self, index: u32, reply: Reply, stamp_ns: u64) {
        if lanes::is_lane(index) {
            return self.lane_answered(index, reply, stamp_ns);
        }
        let sinks = self.sinks(self.slots[index as usize].group);
        let slot = &mut self.slots[index as usize];
        if !slot.session.is_in_flight() {
            let error = Error::new(Kind::Protocol, "the server answered without being asked");
            return self.connection_lost(index, error);
        }
        let step =
            slot.session.answered(stamp_ns, reply, sinks, &self.group_targets[slot.group].config);
        self.perform(index, step);
    }

    fn out_of_turn(&mut self, _at: u32) -> Error {
        out_of_turn()
    }

    fn lost(&mut self, index: u32, error: Error) {
        if lanes::is_lane(index) {
            return self.lane_lost(index, &error);
        }
        let now_ns = self.io.clock.now_ns();
        let sinks = self.sinks(self.slots[index as usize].group);
        let slot = &mut self.slots[index as usize];
        let config = &self.group_targets[slot.group].config;
        slot.session.lost(now_ns, &error.to_string(), sinks, config);
        if self.origin_ns.is_some() {
            slot.down = Some(Down { since_ns: now_ns, cause: error.to_string() });
            sinks.metrics.lost.add(1);
        }
        let is_short = now_ns - slot.up_ns < SHORT_LIFE_NS;
        slot.short_lives = if is_short { slot.short_lives + 1 } else { 0 };
        slot.close();
        slot.closed_ns = now_ns;
        let wait_ns = self.reconnect_wait_ns(index, now_ns);
        self.add_timer(index, now_ns + wait_ns, Cause::Connect);
    }
}

/// Whether another attempt at the start would fail in the same way.
pub(super) fn is_final(error: &Error) -> bool {
    matches!(error.kind, Kind::Authentication | Kind::Plan | Kind::System | Kind::Protocol)
}
