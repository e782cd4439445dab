//! The event loop: one thread for all listeners and connections.

use crate::conditions::Direction;
use crate::connection::{Connection, Side};
use crate::dns::Resolve;
use crate::filter;
use crate::input::Input;
use crate::listener::Listener;
use crate::swallow;
use crate::table::{Key, Table};
use crate::timers::{Due, Timers};
use dyno_core::clock::{Clock, MonotonicClock};
use dyno_generator::transport::poller::{Epoll, Poller, Ready};
use socket2::Socket;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;

/// Maximum number of sockets that one wait reports.
const EVENTS_MAX: usize = 1024;
/// Size of a read.
const SCRATCH_BYTES: usize = 64 << 10;
/// Longest wait for events, in nanoseconds.
const WAIT_MAX_NS: u64 = 3_600_000_000_000;

/// The relay.
pub struct Relay<W> {
    pub(crate) epoll: Epoll,
    pub(crate) clock: MonotonicClock,
    pub(crate) listeners: Table<Listener>,
    pub(crate) connections: Table<Connection>,
    pub(crate) timers: Timers,
    pub(crate) scratch: Box<[u8]>,
    input: Input,
    output: W,
}

/// What an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token {
    Control,
    Listener(Key),
    Socket(Key, Side),
    /// The socket that a listener's name server answers to.
    Answer(Key),
}

impl Token {
    pub(crate) fn to_u64(self) -> u64 {
        let pack = |key: Key, kind| u64::from(key.life) << 32 | u64::from(key.place) << 3 | kind;
        match self {
            Self::Control => 0,
            Self::Listener(key) => pack(key, 1),
            Self::Socket(key, Side::Client) => pack(key, 2),
            Self::Socket(key, Side::Server) => pack(key, 3),
            Self::Answer(key) => pack(key, 4),
        }
    }

    fn from_u64(token: u64) -> Self {
        let key = Key { place: (token as u32) >> 3, life: (token >> 32) as u32 };
        match token & 7 {
            0 => Self::Control,
            1 => Self::Listener(key),
            2 => Self::Socket(key, Side::Client),
            3 => Self::Socket(key, Side::Server),
            _ => Self::Answer(key),
        }
    }
}

impl<W: Write> Relay<W> {
    /// A relay without listeners, which takes commands from `input` and answers to `output`.
    ///
    /// # Errors
    /// The system's: out of descriptors or threads.
    pub fn new(input: impl Read + Send + 'static, output: W) -> io::Result<Self> {
        let mut epoll = Epoll::new(EVENTS_MAX)?;
        let input = Input::new(input)?;
        epoll.watch(input.fd(), Token::Control.to_u64(), false, false)?;
        Ok(Self {
            epoll,
            clock: MonotonicClock,
            listeners: Table::default(),
            connections: Table::default(),
            timers: Timers::default(),
            scratch: vec![0; SCRATCH_BYTES].into(),
            input,
            output,
        })
    }

    /// Serves until the input ends; resets what is open then.
    ///
    /// # Errors
    /// The system's, or the output cannot be written.
    pub fn serve(&mut self) -> io::Result<()> {
        let mut ready = Vec::with_capacity(EVENTS_MAX);
        while !self.input.has_ended() {
            let now_ns = self.clock.now_ns();
            let until_ns = self.timers.first_ns().unwrap_or(now_ns + WAIT_MAX_NS);
            self.epoll.wait(now_ns, until_ns, &mut ready)?;
            for event in &ready {
                self.handle(event)?;
            }
            self.act_on_timers();
        }
        for key in self.open_connections(None) {
            self.reset(key);
        }
        Ok(())
    }

    fn handle(&mut self, event: &Ready) -> io::Result<()> {
        match Token::from_u64(event.token) {
            Token::Control => self.obey(),
            Token::Listener(key) => {
                self.accept_all(key);
                Ok(())
            }
            Token::Socket(key, side) => {
                self.note(key, side, event);
                Ok(())
            }
            Token::Answer(key) => {
                self.receive_answer(key);
                Ok(())
            }
        }
    }

    fn obey(&mut self) -> io::Result<()> {
        for line in self.input.lines() {
            let answer = match self.carry_out(&line) {
                Ok(done) => serde_json::to_vec(&done)?,
                Err(failed) => serde_json::to_vec(&failed)?,
            };
            self.output.write_all(&[answer.as_slice(), b"\n"].concat())?;
            self.output.flush()?;
        }
        Ok(())
    }

    /// What is due now. What becomes due meanwhile follows after the next look at sockets.
    fn act_on_timers(&mut self) {
        let now_ns = self.clock.now_ns();
        while let Some((at_ns, due)) = self.timers.take_due(now_ns) {
            match due {
                Due::Connect(key) => self.connect(key),
                Due::Answer(key) => self.repeat_question(key),
                Due::Unreached(key) => self.lose_patience(key),
                Due::Flow(key, direction) => {
                    self.forget_timer(key, direction, at_ns);
                    self.advance(key, direction);
                }
                Due::Line(key, direction) => {
                    if let Some(listener) = self.listeners.get_mut(key) {
                        listener.line_timer_ns[direction as usize] = None;
                    }
                    self.take_turns(key, direction);
                }
            }
        }
    }

    fn forget_timer(&mut self, key: Key, direction: Direction, at_ns: u64) {
        if let Some(connection) = self.connections.get_mut(key) {
            let timer_ns = &mut connection.flows[direction as usize].timer_ns;
            if *timer_ns == Some(at_ns) {
                *timer_ns = None;
            }
        }
    }

    fn accept_all(&mut self, key: Key) {
        while let Some(client) = self.listeners.get_mut(key).and_then(Listener::accept) {
            // A client that is gone already needs no connection.
            let _ = self.welcome(key, client);
        }
    }

    fn welcome(&mut self, listener_key: Key, client: Socket) -> io::Result<()> {
        let Some(listener) = self.listeners.get_mut(listener_key) else { return Ok(()) };
        listener.accepted += 1;
        let (number, swallow) = (listener.accepted, listener.conditions.swallow);
        let rewriters = swallow::rewriters(swallow, number, &listener.swallowed);
        let connection = Connection::new(listener_key, client, number, rewriters)?;
        // Always: it inherited the filter that the listener had when the handshake ended.
        filter::apply(connection.client(), listener.conditions.way(Direction::ToServer))?;
        let handshake_ns = listener.conditions.handshake_ns();
        let fd = connection.client().as_raw_fd();
        let key = self.connections.insert(connection);
        if let Err(why) =
            self.epoll.watch(fd, Token::Socket(key, Side::Client).to_u64(), true, false)
        {
            self.reset(key);
            return Err(why);
        }
        if handshake_ns == 0 {
            self.connect(key);
        } else {
            self.timers.add(self.clock.now_ns() + handshake_ns, Due::Connect(key));
        }
        Ok(())
    }

    /// Connects to the server, once its address is known.
    pub(crate) fn connect(&mut self, key: Key) {
        let now_ns = self.clock.now_ns();
        let Some(connection) = self.connections.get(key) else { return };
        let Some(listener) = self.listeners.get(connection.listener) else { return };
        match listener.address(now_ns) {
            Some(to) => self.connect_to(key, to),
            None => self.look_up(key),
        }
    }

    /// Connects to the server at an address.
    pub(crate) fn connect_to(&mut self, key: Key, to: SocketAddr) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        let Some(listener) = self.listeners.get(connection.listener) else { return };
        let begun = connection.connect(to, &listener.conditions).and_then(|server| {
            let token = Token::Socket(key, Side::Server).to_u64();
            self.epoll.watch(server.as_raw_fd(), token, true, false)
        });
        if begun.is_err() {
            return self.reset(key);
        }
        if let Some(patience_ns) =
            listener.conditions.resolve.as_ref().and_then(Resolve::patience_ns)
        {
            self.timers.add(self.clock.now_ns() + patience_ns, Due::Unreached(key));
        }
    }

    fn note(&mut self, key: Key, side: Side, event: &Ready) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        match connection.note(side, event.readable, event.writable, event.is_closing) {
            Err(_) => self.reset(key),
            Ok(()) => {
                // First the direction in which something arrived.
                self.advance(key, side.sends());
                self.advance(key, side.sends().reverse());
            }
        }
    }

    /// Watches a listener for connections.
    ///
    /// # Errors
    /// The system's: out of watches.
    pub(crate) fn watch(&mut self, key: Key) -> io::Result<()> {
        let Some(listener) = self.listeners.get(key) else { return Ok(()) };
        let fd = listener.socket().as_raw_fd();
        self.epoll.watch(fd, Token::Listener(key).to_u64(), false, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_back_as_they_were() {
        let key = Key { place: 70_000, life: u32::MAX };
        for token in [
            Token::Control,
            Token::Listener(key),
            Token::Socket(key, Side::Client),
            Token::Socket(key, Side::Server),
            Token::Answer(key),
        ] {
            assert_eq!(Token::from_u64(token.to_u64()), token);
        }
    }
}
