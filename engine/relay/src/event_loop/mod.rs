//! The event loop: one thread for all listeners and connections.
//!
//! | module | contents |
//! |---|---|
//! | [`passing`] | bytes passed on, and the ends of connections |
//! | [`naming`] | connections that wait for the address of a name |
//! | [`commands`] | commands carried out |
//! | [`timers`] | what is due without an event |

mod commands;
mod naming;
mod passing;
mod timers;

use crate::conditions::Direction;
use crate::control::input::Input;
use crate::names::resolver::Resolve;
use crate::sockets::connection::{Connection, Side};
use crate::sockets::filter;
use crate::sockets::listener::Listener;
use crate::swallow;
use crate::table::{Key, Table};
use dyno_core::clock::{Clock, MonotonicClock};
use dyno_generator::transport::poller::{Epoll, Poller, Ready};
use socket2::Socket;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use timers::{Due, Timers};

/// Maximum number of sockets that one wait reports.
const EVENTS_MAX: usize = 1024;
/// Size of a read.
const SCRATCH_BYTES: usize = 64 << 10;
/// Connections of a listener that are accepted before others have their turn.
const ACCEPTS_MAX: usize = 64;
/// Longest wait for events, in nanoseconds.
const WAIT_MAX_NS: u64 = 3_600_000_000_000;

/// The relay.
pub struct Relay<W> {
    epoll: Epoll,
    clock: MonotonicClock,
    listeners: Table<Listener>,
    connections: Table<Connection>,
    timers: Timers,
    scratch: Box<[u8]>,
    input: Input,
    output: W,
}

/// What an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Control,
    Listener(Key),
    Socket(Key, Side),
    /// The socket that a listener's name server answers to.
    Answer(Key),
}

impl Token {
    fn to_u64(self) -> u64 {
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
            self.turn(&mut ready)?;
        }
        for key in self.open_connections(None) {
            self.reset(key);
        }
        Ok(())
    }

    /// Waits for sockets and timers, and handles them. `ready` is room for events.
    fn turn(&mut self, ready: &mut Vec<Ready>) -> io::Result<()> {
        let now_ns = self.clock.now_ns();
        let until_ns = self.timers.first_ns().unwrap_or(now_ns + WAIT_MAX_NS);
        self.epoll.wait(now_ns, until_ns, ready)?;
        for event in &*ready {
            self.handle(event)?;
        }
        self.act_on_timers();
        Ok(())
    }

    fn handle(&mut self, event: &Ready) -> io::Result<()> {
        match Token::from_u64(event.token) {
            Token::Control => self.obey(),
            Token::Listener(key) => {
                self.accept(key);
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

    /// Accepts connections. Clients that come as fast as they are accepted must not keep the relay from the
    /// connections that it has: those that are reset would stay, up to the limit of descriptors.
    fn accept(&mut self, key: Key) {
        for _ in 0..ACCEPTS_MAX {
            let waiting = self.listeners.get_mut(key).and_then(Listener::accept);
            let Some(client) = waiting else { return };
            // A client that is gone already, or turned away, needs no connection.
            let _ = client.and_then(|client| self.welcome(key, client));
        }
        // Others may wait, and an edge is reported once. If this fails, the next client is one.
        let _ = self.watch(key, true);
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
    fn connect(&mut self, key: Key) {
        let now_ns = self.clock.now_ns();
        let Some(connection) = self.connections.get(key) else { return };
        let Some(listener) = self.listeners.get(connection.listener) else { return };
        match listener.address(now_ns) {
            Some(to) => self.connect_to(key, to),
            None => self.look_up(key),
        }
    }

    /// Connects to the server at an address.
    fn connect_to(&mut self, key: Key, to: SocketAddr) {
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

    /// Watches a listener for connections; once more, if it is `known`, to hear of those that wait.
    ///
    /// # Errors
    /// The system's: out of watches.
    fn watch(&mut self, key: Key, known: bool) -> io::Result<()> {
        let Some(listener) = self.listeners.get(key) else { return Ok(()) };
        let fd = listener.socket().as_raw_fd();
        self.epoll.watch(fd, Token::Listener(key).to_u64(), false, known)
    }
}

#[cfg(test)]
mod tests;
