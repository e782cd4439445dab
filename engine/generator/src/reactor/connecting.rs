//! How a worker connects its sessions, at the start and again after each loss. Cold paths: errors
//! here are values with sentences.
//!
//! Bounded everywhere: so many at a time, so long each, and ever longer pauses between attempts, so
//! that a server that is down, hangs or talks rubbish costs its sessions and never the run.

use crate::metrics::notice::Notice;
use crate::reactor::session_slot::{
    CONNECT_TIMEOUT_NS, Down, Line, SHORT_LIFE_NS, START_ATTEMPTS, Seat, Stage, reconnect_wait_ns,
};
use crate::reactor::timers::Cause;
use crate::reactor::worker::Worker;
use crate::transport::link::Link;
use crate::transport::poller::Poller;
use dyno_core::clock::Clock;
use dyno_core::driver::Session as Connection;
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
        let seat = &mut self.seats[index as usize];
        seat.opened_ns = now_ns;
        let server = self.lanes[seat.group].server(seat.session.server());
        match server.driver.session(seat.session.number())? {
            Connection::Timed(timed) => {
                seat.line = Line::Timed(timed, None);
                self.logged_in(index);
            }
            Connection::Wire(wire) => {
                let endpoint = server.endpoint.ok_or_else(|| {
                    Error::new(Kind::Plan, "this driver needs a tcp or unix address")
                })?;
                self.queue.note_socket();
                let (link, connected) = Link::open(endpoint, seat.address)?;
                let fd = link.fd();
                seat.line = Line::Wire(wire, link);
                seat.stage = Stage::Connecting;
                seat.is_watched_for_writing = !connected;
                self.poller.watch(fd, seat.token(index), !connected, false).map_err(|error| {
                    Error::new(Kind::System, format!("cannot watch a socket: {error}"))
                        .hint("raise fs.epoll.max_user_watches")
                })?;
                self.add_timer(index, now_ns + CONNECT_TIMEOUT_NS, Cause::ConnectTimeout);
                if connected {
                    self.greet(index);
                }
            }
            Connection::Blocking(_) => {
                return Err(Error::new(Kind::Plan, "a blocking session reached a network worker"));
            }
        }
        Ok(())
    }

    /// The socket of a connecting seat reports something: the outcome.
    pub(crate) fn transport_connected(&mut self, index: u32) {
        let Line::Wire(_, link) = &self.seats[index as usize].line else { return };
        match link.connected() {
            Ok(()) => self.greet(index),
            Err(error) => self.connection_lost(index, Some(error)),
        }
    }

    /// The transport is there: the protocol speaks, or waits for the server to.
    fn greet(&mut self, index: u32) {
        let seat = &mut self.seats[index as usize];
        let Line::Wire(wire, _) = &mut seat.line else { return };
        let server = self.lanes[seat.group].server(seat.session.server());
        let Some(endpoint) = server.endpoint else { return };
        endpoint.succeeded(seat.address);
        seat.address = 0;
        seat.stage = Stage::LoggingIn;
        self.out.clear();
        wire.connected(endpoint.is_unix(), &mut self.out);
        // Also when there is nothing to send: it ends the watch for writability.
        self.send_out(index);
    }

    pub(crate) fn encrypt(&mut self, index: u32) {
        let seat = &mut self.seats[index as usize];
        let Line::Wire(_, link) = &mut seat.line else { return };
        let server = self.lanes[seat.group].server(seat.session.server());
        let Some(endpoint) = server.endpoint else { return };
        seat.stage = Stage::Encrypting;
        if let Err(error) = link.start_tls(endpoint) {
            self.connection_lost(index, Some(error));
        }
    }

    pub(crate) fn encrypted(&mut self, index: u32) {
        let seat = &mut self.seats[index as usize];
        let Line::Wire(wire, _) = &mut seat.line else { return };
        seat.stage = Stage::LoggingIn;
        self.out.clear();
        wire.tls_established(&mut self.out);
        self.send_out(index);
    }

    /// Login and preparation are done: an outage ends, work begins.
    pub(crate) fn logged_in(&mut self, index: u32) {
        let now_ns = self.clock.now_ns();
        self.queue.settle();
        let seat = &mut self.seats[index as usize];
        seat.stage = Stage::Up;
        seat.failures = 0;
        seat.up_ns = now_ns;
        if !seat.is_settled {
            seat.is_settled = true;
            self.control.gates[seat.group].connected();
        }
        if let Some(down) = seat.down.take() {
            self.recorder.groups[seat.group].lost.sub(1);
            self.notices.tell(Notice::Outage {
                group: seat.group,
                session: seat.session.number(),
                start_ns: down.since_ns,
                end_ns: Some(now_ns),
                cause: down.cause,
            });
        }
        self.begin(index);
    }

    pub(crate) fn connect_timed_out(&mut self, index: u32) {
        let seat = &self.seats[index as usize];
        if seat.stage != Stage::Up {
            let server = self.lanes[seat.group].server(seat.session.server());
            let label = server.endpoint.map_or("", |e| &**e.label());
            let what = format!(
                "{label}: no end of the login within {} s",
                CONNECT_TIMEOUT_NS / 1_000_000_000
            );
            let error = Error::new(Kind::Connection, what)
                .hint("the server hangs, is overloaded, or does not speak this protocol");
            self.connection_lost(index, Some(error));
        }
    }

    /// The connection is of no more use, whether it was at work or on its way.
    pub(crate) fn connection_lost(&mut self, index: u32, error: Option<Error>) {
        let error = error.unwrap_or_else(|| Error::new(Kind::Connection, "connection lost"));
        let error = self.at_address(index, error);
        match self.seats[index as usize].stage {
            Stage::Down => {}
            Stage::Up => {
                let now_ns = self.clock.now_ns();
                let books = self.books(self.seats[index as usize].group);
                let seat = &mut self.seats[index as usize];
                let shape = &self.lanes[seat.group].shape;
                seat.session.lost(now_ns, &error.to_string(), books, shape);
                if self.origin_ns.is_some() {
                    seat.down = Some(Down { since_ns: now_ns, cause: error.to_string() });
                    books.recorder.lost.add(1);
                }
                let is_short = now_ns - seat.up_ns < SHORT_LIFE_NS;
                seat.short_lives = if is_short { seat.short_lives + 1 } else { 0 };
                seat.close();
                seat.closed_ns = now_ns;
                let wait_ns = self.reconnect_wait_ns(index, now_ns);
                self.add_timer(index, now_ns + wait_ns, Cause::Connect);
            }
            Stage::Connecting | Stage::Encrypting | Stage::LoggingIn => {
                self.connect_failed(index, error);
            }
        }
    }

    /// The same, naming the server: of what a protocol finds wrong it does not know from whom.
    fn at_address(&self, index: u32, mut error: Error) -> Error {
        let seat = &self.seats[index as usize];
        let endpoint = self.lanes[seat.group].server(seat.session.server()).endpoint;
        if let Some(label) = endpoint.map(|endpoint| endpoint.label())
            && !error.what.contains(&**label)
        {
            error.what = format!("{label}: {}", error.what);
        }
        error
    }

    /// Whether the seat is to connect now. One that plays recorded sessions has to have one, and
    /// waits until it begins.
    fn is_wanted(&mut self, index: u32, now_ns: u64) -> bool {
        let seat = &mut self.seats[index as usize];
        let Some(playback) = self.lanes[seat.group].shape.playback else { return true };
        let is_left = seat.session.claim(playback);
        let connects_ns = seat.session.connects_ns(playback);
        let is_early = self.origin_ns.map_or(connects_ns > 0, |at| now_ns < at + connects_ns);
        if is_left && !is_early {
            seat.is_spared = false;
            return true;
        }
        if !seat.is_settled {
            seat.is_settled = true;
            self.control.gates[seat.group].spared();
        }
        seat.is_spared = true;
        if !is_left {
            playback.retire();
        } else if self.origin_ns.is_some() {
            self.await_opening(index);
        }
        false
    }

    /// Connects again when the recorded session begins that it holds, if it holds one.
    pub(crate) fn await_opening(&mut self, index: u32) {
        let seat = &mut self.seats[index as usize];
        let playback = self.lanes[seat.group].shape.playback;
        if let (Some(playback), Some(origin_ns)) = (playback, self.origin_ns)
            && seat.session.holds_a_recording()
        {
            let at_ns = origin_ns + seat.session.connects_ns(playback);
            self.add_timer(index, at_ns, Cause::Connect);
        }
    }

    /// The recorded session has ended: says farewell, and asks for the next one.
    pub(crate) fn leave_server(&mut self, index: u32) {
        let seat = &mut self.seats[index as usize];
        if let Line::Wire(wire, link) = &mut seat.line {
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
        let seat = &mut self.seats[index as usize];
        seat.close();
        seat.closed_ns = now_ns;
        self.queue.push(index);
    }

    fn connect_failed(&mut self, index: u32, error: Error) {
        self.queue.settle();
        let now_ns = self.clock.now_ns();
        let seat = &mut self.seats[index as usize];
        let server = self.lanes[seat.group].server(seat.session.server());
        let was_connecting = matches!(seat.stage, Stage::Connecting | Stage::Down);
        seat.close();
        seat.address += 1;
        if was_connecting && seat.address < server.endpoint.map_or(1, |e| e.candidates()) {
            // The name has another address: that is part of the same attempt.
            return self.queue.push(index);
        }
        seat.address = 0;
        seat.failures += 1;
        let took_long = now_ns.saturating_sub(seat.opened_ns) >= CONNECT_TIMEOUT_NS;
        let is_enough = seat.failures >= START_ATTEMPTS || took_long || is_final(&error);
        if !seat.is_settled && is_enough {
            seat.is_settled = true;
            self.control.gates[seat.group].failed(error.clone());
        }
        let since_ns = if seat.has_begun { seat.closed_ns } else { now_ns };
        let is_played = self.seats[index as usize].session.holds_a_recording();
        let is_refused = matches!(error.kind, Kind::Authentication | Kind::Plan);
        if is_played && is_refused && self.origin_ns.is_some() {
            // Such as a database that is not there: the next recorded session may have another.
            let books = self.books(self.seats[index as usize].group);
            let seat = &mut self.seats[index as usize];
            let shape = &self.lanes[seat.group].shape;
            seat.session.abandon(now_ns, &error.to_string(), books, shape);
            return self.queue.push(index);
        }
        if self.origin_ns.is_some() {
            self.mark_down(index, since_ns, &error.to_string());
        } else {
            self.seats[index as usize].closed_ns = now_ns;
        }
        let wait_ns = self.reconnect_wait_ns(index, now_ns);
        self.add_timer(index, now_ns + wait_ns, Cause::Connect);
    }

    fn reconnect_wait_ns(&self, index: u32, now_ns: u64) -> u64 {
        let seat = &self.seats[index as usize];
        let shape = &self.lanes[seat.group].shape;
        let seed = shape.seed ^ shape.group as u64;
        let random = Rng::for_transaction(seed, seat.session.number(), now_ns).u64();
        reconnect_wait_ns(seat.failures.max(seat.short_lives), random)
    }

    /// The load begins and the seat has no connection.
    pub(crate) fn count_as_lost(&mut self, index: u32, origin_ns: u64) {
        let group = self.seats[index as usize].group;
        let cause = self.control.gates[group]
            .failure()
            .map_or_else(|| "not connected at the start".to_owned(), |error| error.to_string());
        self.mark_down(index, origin_ns, &cause);
    }

    fn mark_down(&mut self, index: u32, since_ns: u64, cause: &str) {
        let seat: &mut Seat = &mut self.seats[index as usize];
        if seat.down.is_none() {
            seat.down = Some(Down { since_ns, cause: cause.to_owned() });
            self.recorder.groups[seat.group].lost.add(1);
        }
    }
}

/// Whether another attempt at the start would only fail in the same way.
fn is_final(error: &Error) -> bool {
    matches!(error.kind, Kind::Authentication | Kind::Plan | Kind::System | Kind::Protocol)
}
