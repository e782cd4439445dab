//! How a worker connects its sessions, at the start and again after each loss. Cold paths: errors
//! here are values with sentences.
//!
//! Bounded everywhere: so many at a time, so long each, and ever longer pauses between attempts, so
//! that a server that is down, hangs or talks rubbish costs its sessions and never the run.

use crate::metrics::notice::Notice;
use crate::reactor::session_slot::{
    CONNECT_TIMEOUT_NS, Connection, Down, SHORT_LIFE_NS, START_ATTEMPTS, SessionSlot, Stage,
    login_timed_out, reconnect_wait_ns,
};
use crate::reactor::timers::Cause;
use crate::reactor::worker::Worker;
use crate::transport::link::Link;
use crate::transport::poller::Poller;
use dyno_core::clock::Clock;
use dyno_core::driver::Session as DriverSession;
use dyno_core::error::{Error, Kind, Result};
use dyno_core::rng::Rng;

impl<C: Clock, P: Poller> Worker<'_, C, P> {
    /// Starts as many connections as may be under way.
    pub(crate) fn connect_waiting(&mut self) {
        while let Some(index) = self.queue.pop() {
            if let Err(error) = self.open(index) {
                self.connect_failed(index, error);
            }
        }
    }

    fn open(&mut self, index: u32) -> Result<()> {
        let now_ns = self.clock.now_ns();
        if !self.is_wanted(index, now_ns) {
            self.queue.settle();
            return Ok(());
        }
        let slot = &mut self.slots[index as usize];
        slot.opened_ns = now_ns;
        let server = self.group_targets[slot.group].server(slot.session.server());
        match server.driver.session(slot.session.number())? {
            DriverSession::Timed(timed) => {
                slot.connection = Connection::Timed(timed, None);
                self.logged_in(index);
            }
            DriverSession::Wire(wire) => {
                let endpoint = server.endpoint.ok_or_else(|| {
                    Error::new(Kind::Plan, "this driver needs a tcp or unix address")
                })?;
                self.queue.note_socket();
                let (link, connected) = Link::open(endpoint, slot.address)?;
                let fd = link.fd();
                slot.connection = Connection::Wire(wire, link);
                slot.stage = Stage::Connecting;
                slot.is_watched_for_writing = !connected;
                self.poller.watch(fd, slot.token(index), !connected, false).map_err(|error| {
                    Error::new(Kind::System, format!("cannot watch a socket: {error}"))
                        .hint("raise fs.epoll.max_user_watches")
                })?;
                self.add_timer(index, now_ns + CONNECT_TIMEOUT_NS, Cause::ConnectTimeout);
                if connected {
                    self.greet(index);
                }
            }
            DriverSession::Blocking(_) => {
                return Err(Error::new(Kind::Plan, "a blocking session reached a network worker"));
            }
        }
        Ok(())
    }

    /// The socket of a connecting slot reports something: the outcome.
    pub(crate) fn transport_connected(&mut self, index: u32) {
        let Connection::Wire(_, link) = &self.slots[index as usize].connection else { return };
        match link.connected() {
            Ok(()) => self.greet(index),
            Err(error) => self.connection_lost(index, Some(error)),
        }
    }

    /// The transport is there: the protocol speaks, or waits for the server to.
    fn greet(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        let Connection::Wire(wire, _) = &mut slot.connection else { return };
        let server = self.group_targets[slot.group].server(slot.session.server());
        let Some(endpoint) = server.endpoint else { return };
        endpoint.succeeded(slot.address);
        slot.address = 0;
        slot.stage = Stage::LoggingIn;
        self.out.clear();
        let begins_with_tls = wire.begins_with_tls();
        if !begins_with_tls {
            wire.connected(endpoint.is_unix(), &mut self.out);
        }
        // Also when there is nothing to send: it ends the watch for writability.
        self.send_out(index);
        if begins_with_tls {
            self.encrypt(index);
        }
    }

    pub(crate) fn encrypt(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        let Connection::Wire(_, link) = &mut slot.connection else { return };
        let server = self.group_targets[slot.group].server(slot.session.server());
        let Some(endpoint) = server.endpoint else { return };
        slot.stage = Stage::Encrypting;
        if let Err(error) = link.start_tls(endpoint) {
            self.connection_lost(index, Some(error));
        }
    }

    pub(crate) fn encrypted(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        let Connection::Wire(wire, _) = &mut slot.connection else { return };
        slot.stage = Stage::LoggingIn;
        self.out.clear();
        wire.tls_established(&mut self.out);
        self.send_out(index);
    }

    /// Login and preparation are done: an outage ends, work begins.
    pub(crate) fn logged_in(&mut self, index: u32) {
        let now_ns = self.clock.now_ns();
        self.queue.settle();
        let slot = &mut self.slots[index as usize];
        slot.stage = Stage::Up;
        slot.failures = 0;
        slot.up_ns = now_ns;
        if !slot.is_settled {
            slot.is_settled = true;
            self.control.gates[slot.group].connected();
        }
        if let Some(down) = slot.down.take() {
            self.metrics.groups[slot.group].lost.sub(1);
            self.notices.emit(Notice::Outage {
                group: slot.group,
                session: slot.session.number(),
                start_ns: down.since_ns,
                end_ns: Some(now_ns),
                cause: down.cause,
            });
        }
        self.begin(index);
    }

    pub(crate) fn connect_timed_out(&mut self, index: u32) {
        if self.slots[index as usize].stage != Stage::Up {
            self.connection_lost(index, Some(login_timed_out()));
        }
    }

    /// The connection is of no more use, whether it was at work or on its way.
    pub(crate) fn connection_lost(&mut self, index: u32, error: Option<Error>) {
        let error = error.unwrap_or_else(|| Error::new(Kind::Connection, "connection lost"));
        let error = self.at_address(index, error);
        match self.slots[index as usize].stage {
            Stage::Down => {}
            Stage::Up => {
                let now_ns = self.clock.now_ns();
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
            Stage::Connecting | Stage::Encrypting | Stage::LoggingIn => {
                self.connect_failed(index, error);
            }
        }
    }

    fn at_address(&self, index: u32, error: Error) -> Error {
        let slot = &self.slots[index as usize];
        let endpoint = self.group_targets[slot.group].server(slot.session.server()).endpoint;
        match endpoint {
            Some(endpoint) => error.at_server(endpoint.label()),
            None => error,
        }
    }

    /// Whether the slot is to connect now. One that plays recorded sessions has to have one, and
    /// waits until it begins.
    fn is_wanted(&mut self, index: u32, now_ns: u64) -> bool {
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

    /// Connects again when the recorded session begins that it holds, if it holds one.
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

    /// The recorded session has ended: says farewell, and asks for the next one.
    pub(crate) fn leave_server(&mut self, index: u32) {
        let slot = &mut self.slots[index as usize];
        if let Connection::Wire(wire, link) = &mut slot.connection {
            self.out.clear();
            wire.quit(&mut self.out);
            // A peer that is gone already is no error any more.
            let _ = link.send(&self.out);
        }
        self.close_and_connect(index);
    }

    /// Closes, and asks for a new connection at once.
    pub(crate) fn close_and_connect(&mut self, index: u32) {
        let now_ns = self.clock.now_ns();
        let slot = &mut self.slots[index as usize];
        slot.close();
        slot.closed_ns = now_ns;
        self.queue.push(index);
    }

    fn connect_failed(&mut self, index: u32, error: Error) {
        self.queue.settle();
        let now_ns = self.clock.now_ns();
        let slot = &mut self.slots[index as usize];
        let server = self.group_targets[slot.group].server(slot.session.server());
        let was_connecting = matches!(slot.stage, Stage::Connecting | Stage::Down);
        slot.close();
        slot.address += 1;
        if was_connecting && slot.address < server.endpoint.map_or(1, |e| e.candidates()) {
            // The name has another address: that is part of the same attempt.
            return self.queue.push(index);
        }
        slot.address = 0;
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
            // Such as a database that is not there: the next recorded session may have another.
            let sinks = self.sinks(self.slots[index as usize].group);
            let slot = &mut self.slots[index as usize];
            let config = &self.group_targets[slot.group].config;
            slot.session.abandon(now_ns, &error.to_string(), sinks, config);
            return self.queue.push(index);
        }
        if self.origin_ns.is_some() {
            self.mark_down(index, since_ns, &error.to_string());
        } else {
            self.slots[index as usize].closed_ns = now_ns;
        }
        let wait_ns = self.reconnect_wait_ns(index, now_ns);
        self.add_timer(index, now_ns + wait_ns, Cause::Connect);
    }

    fn reconnect_wait_ns(&self, index: u32, now_ns: u64) -> u64 {
        let slot = &self.slots[index as usize];
        let config = &self.group_targets[slot.group].config;
        let seed = config.seed ^ config.group as u64;
        let random = Rng::for_transaction(seed, slot.session.number(), now_ns).u64();
        reconnect_wait_ns(slot.failures.max(slot.short_lives), random)
    }

    /// The load begins and the slot has no connection.
    pub(crate) fn count_as_lost(&mut self, index: u32, origin_ns: u64) {
        let group = self.slots[index as usize].group;
        let cause = self.control.gates[group]
            .failure()
            .map_or_else(|| "not connected at the start".to_owned(), |error| error.to_string());
        self.mark_down(index, origin_ns, &cause);
    }

    fn mark_down(&mut self, index: u32, since_ns: u64, cause: &str) {
        let slot: &mut SessionSlot = &mut self.slots[index as usize];
        if slot.down.is_none() {
            slot.down = Some(Down { since_ns, cause: cause.to_owned() });
            self.metrics.groups[slot.group].lost.add(1);
        }
    }
}

/// Whether another attempt at the start would only fail in the same way.
fn is_final(error: &Error) -> bool {
    matches!(error.kind, Kind::Authentication | Kind::Plan | Kind::System | Kind::Protocol)
}
