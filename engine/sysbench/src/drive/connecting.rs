//! How a load thread makes the connections that its sessions ask for. Cold paths: errors here are
//! values with sentences, and go to the session that asked; whether it tries again is its affair.

use super::session_slot::{Token, Waits};
use super::worker::Worker;
use crate::session::Outcome;
use dyno_core::clock::Clock;
use dyno_core::error::{Error, Kind, Result};
use dyno_generator::reactor::session_slot::{CONNECT_TIMEOUT_NS, login_timed_out};
use dyno_generator::reactor::timers::Cause;
use dyno_generator::transport::channel::Stage;
use dyno_generator::transport::endpoint::Endpoint;
use dyno_generator::transport::link::Link;
use dyno_generator::transport::poller::Poller;

impl<C: Clock, P: Poller> Worker<'_, C, P> {
    /// The session waits for its connection `place` to be made, or made anew.
    pub fn want_connection(&mut self, index: u32, place: usize) {
        let slot = &mut self.slots[index as usize];
        slot.wait_for(Waits::Connect(place));
        let can_have = Self::can_have(place);
        match slot.wired(place) {
            Some(wired) if can_have => {
                wired.quit();
                wired.channel.address = 0;
                self.queue.push((index, place));
            }
            _ => {
                let error = Error::new(Kind::Plan, "a session has too many connections")
                    .hint("close those that are not needed any more");
                self.turn_with(index, Outcome::Lost(error));
            }
        }
    }

    /// Begins to make as many connections as may be under way.
    pub fn connect_waiting(&mut self) {
        while let Some((index, place)) = self.queue.pop() {
            if let Err(error) = self.open(index, place) {
                self.connect_failed(index, place, error);
            }
        }
    }

    fn endpoint(&mut self, index: u32, place: usize) -> Result<&Endpoint> {
        let shared = self.shared;
        let server = self.slots[index as usize].wired(place).map(|wired| wired.server);
        let server = server.and_then(|server| shared.servers.get(server));
        server.and_then(|server| server.endpoint.as_ref()).ok_or_else(|| {
            Error::new(Kind::Plan, "this driver needs a tcp or unix address to connect to")
        })
    }

    fn open(&mut self, index: u32, place: usize) -> Result<()> {
        self.now_ns = self.clock.now_ns();
        let slot = &mut self.slots[index as usize];
        slot.eras = slot.eras.wrapping_add(1);
        let era = slot.eras;
        let address = slot.wired(place).map_or(0, |wired| wired.channel.address);
        let (link, connected) = Link::open(self.endpoint(index, place)?, address)?;
        self.queue.note_socket();
        let token = Token::new(index, place, era);
        self.poller.watch(link.fd(), token.0, !connected, false).map_err(|error| {
            Error::new(Kind::System, format!("cannot watch a socket: {error}"))
                .hint("raise fs.epoll.max_user_watches")
        })?;
        let Some(wired) = self.slots[index as usize].wired(place) else { return Ok(()) };
        wired.channel.link = Some(link);
        wired.channel.stage = Stage::Connecting;
        wired.channel.era = era;
        wired.channel.is_watched_for_writing = !connected;
        wired.lost = None;
        wired.is_unsent = false;
        self.add_timer(index, self.now_ns + CONNECT_TIMEOUT_NS, Cause::ConnectTimeout);
        if connected {
            self.greet(index, place);
        }
        Ok(())
    }

    /// The socket of a connection under way reports something: the outcome.
    pub fn transport_connected(&mut self, index: u32, place: usize) {
        let wired = self.slots[index as usize].wired(place);
        let Some(link) = wired.and_then(|wired| wired.channel.link.as_ref()) else { return };
        match link.connected() {
            Ok(()) => self.greet(index, place),
            Err(error) => self.connection_lost(index, place, error),
        }
    }

    /// The transport is there: the protocol speaks, or waits for the server to.
    fn greet(&mut self, index: u32, place: usize) {
        let address =
            self.slots[index as usize].wired(place).map_or(0, |wired| wired.channel.address);
        let Ok(endpoint) = self.endpoint(index, place) else { return };
        let is_unix = endpoint.is_unix();
        endpoint.succeeded(address);
        let Some(wired) = self.slots[index as usize].wired(place) else { return };
        wired.channel.address = 0;
        wired.channel.stage = Stage::LoggingIn;
        wired.client.connected(is_unix, &mut wired.channel.output);
        // Also when there is nothing to send: it ends the watch for writability.
        self.send(index, place);
    }

    pub fn encrypt(&mut self, index: u32, place: usize) {
        let shared = self.shared;
        let Some(wired) = self.slots[index as usize].wired(place) else { return };
        let Some(link) = &mut wired.channel.link else { return };
        let endpoint = shared.servers.get(wired.server).and_then(|one| one.endpoint.as_ref());
        let Some(endpoint) = endpoint else { return };
        wired.channel.stage = Stage::Encrypting;
        if let Err(error) = link.start_tls(endpoint) {
            self.connection_lost(index, place, error);
        }
    }

    pub fn encrypted(&mut self, index: u32, place: usize) {
        let Some(wired) = self.slots[index as usize].wired(place) else { return };
        wired.channel.stage = Stage::LoggingIn;
        wired.client.tls_established(&mut wired.channel.output);
        self.send(index, place);
    }

    pub fn logged_in(&mut self, index: u32, place: usize) {
        self.queue.settle();
        if let Some(wired) = self.slots[index as usize].wired(place) {
            wired.channel.stage = Stage::Up;
            let server = wired.server;
            self.shared.reach(server);
        }
        self.go_on(index, Outcome::Come);
    }

    pub fn connect_timed_out(&mut self, index: u32) {
        let Waits::Connect(place) = self.slots[index as usize].waits else { return };
        self.connection_lost(index, place, login_timed_out());
    }

    /// A connection is of no more use, whether it was at work, idle, or on its way. The session
    /// learns of it when it waits for it.
    pub fn connection_lost(&mut self, index: u32, place: usize, error: Error) {
        let (error, is_unix) = match self.endpoint(index, place) {
            Ok(endpoint) => (error.at_server(endpoint.label()), endpoint.is_unix()),
            Err(_) => (error, false),
        };
        let slot = &mut self.slots[index as usize];
        let waits = slot.waits;
        let Some(wired) = slot.wired(place) else { return };
        match wired.channel.stage {
            Stage::Down => {}
            Stage::Up => {
                wired.channel.close();
                if waits == Waits::Answer(place) {
                    self.turn_with(index, Outcome::Lost(error));
                } else {
                    wired.lost = Some(error);
                    wired.is_unsent = is_unix;
                }
            }
            Stage::Connecting | Stage::Encrypting | Stage::LoggingIn => {
                self.connect_failed(index, place, error);
            }
        }
    }

    fn connect_failed(&mut self, index: u32, place: usize, error: Error) {
        self.queue.settle();
        let candidates = self.endpoint(index, place).map_or(1, Endpoint::candidates);
        let Some(wired) = self.slots[index as usize].wired(place) else { return };
        let was_connecting = matches!(wired.channel.stage, Stage::Connecting | Stage::Down);
        wired.channel.close();
        wired.channel.address += 1;
        if was_connecting && wired.channel.address < candidates {
            // The name has another address: that is part of the same attempt.
            return self.queue.push((index, place));
        }
        self.turn_with(index, Outcome::Lost(error));
    }
}
