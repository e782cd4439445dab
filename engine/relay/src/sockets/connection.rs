//! A connection through the relay: the client's socket, the server's, and a flow in each direction.

use super::filter;
use crate::conditions::{Conditions, Direction};
use crate::queues::flow::{Around, End, Flow};
use crate::swallow::Rewrite;
use crate::table::Key;
use dyno_core::clock::Clock;
use socket2::{Domain, Socket, Type};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::time::Duration;

/// One of the two ends of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Who connected to the relay.
    Client,
    /// To whom the relay connects.
    Server,
}

impl Side {
    /// The direction whose bytes come from this side.
    pub fn sends(self) -> Direction {
        match self {
            Self::Client => Direction::ToServer,
            Self::Server => Direction::ToClient,
        }
    }
}

/// A connection of a listener.
#[derive(Debug)]
pub struct Connection {
    /// The listener that accepted it.
    pub listener: Key,
    client: Socket,
    /// None until the relay connects.
    server: Option<Socket>,
    is_connected: bool,
    /// By [`Direction`].
    pub flows: [Flow; 2],
}

impl Connection {
    /// A connection whose client was just accepted, and whose jitter is drawn from `seed`. `rewriters`
    /// change what passes, by [`Direction`].
    ///
    /// # Errors
    /// The system's: the client is gone.
    pub fn new(
        listener: Key,
        client: Socket,
        seed: u64,
        rewriters: [Option<Box<dyn Rewrite>>; 2],
    ) -> io::Result<Self> {
        client.set_nonblocking(true)?;
        client.set_tcp_nodelay(true)?;
        let [to_server, to_client] = rewriters;
        let mut flows = [Flow::new(seed, to_server), Flow::new(seed ^ u64::MAX, to_client)];
        flows[Direction::ToServer as usize].is_readable = true;
        flows[Direction::ToClient as usize].is_writable = true;
        Ok(Self { listener, client, server: None, is_connected: false, flows })
    }

    /// The client's socket.
    pub fn client(&self) -> &Socket {
        &self.client
    }

    /// Whether the server has accepted it.
    pub fn is_connected(&self) -> bool {
        self.is_connected
    }

    /// Begins to connect to the server at `to`; its socket, which is writable once the outcome is known.
    ///
    /// # Errors
    /// The system's: out of descriptors, or refused.
    pub fn connect(&mut self, to: SocketAddr, conditions: &Conditions) -> io::Result<&Socket> {
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        socket.set_tcp_nodelay(true)?;
        let way = conditions.way(Direction::ToClient);
        if filter::is_lossy(way) {
            filter::apply(&socket, way)?;
        }
        match socket.connect(&to.into()) {
            Err(why) if why.raw_os_error() != Some(libc::EINPROGRESS) => Err(why),
            _ => Ok(self.server.insert(socket)),
        }
    }

    /// What an event says: the server's socket was writable for the first time, a socket may be read or
    /// written.
    ///
    /// # Errors
    /// The server refused the connection.
    pub fn note(
        &mut self,
        side: Side,
        readable: bool,
        writable: bool,
        closing: bool,
    ) -> io::Result<()> {
        if side == Side::Server && !self.is_connected {
            if !writable {
                return Ok(());
            }
            if let Some(why) = self.server.as_ref().map(Socket::take_error).transpose()?.flatten() {
                return Err(why);
            }
            self.is_connected = true;
        }
        let sends = side.sends();
        let source = &mut self.flows[sends as usize];
        source.is_readable |= readable;
        source.is_closing |= closing;
        self.flows[sends.reverse() as usize].is_writable |= writable;
        Ok(())
    }

    /// See [`Flow::step`].
    pub fn step<C: Clock>(
        &mut self,
        direction: Direction,
        around: &mut Around<'_, C>,
        pieces: usize,
    ) -> Option<End> {
        let (mut client, mut server) = (Port(Some(&self.client)), Port(self.server.as_ref()));
        let flow = &mut self.flows[direction as usize];
        match direction {
            Direction::ToServer => flow.step(&mut client, &mut server, around, pieces),
            Direction::ToClient => flow.step(&mut server, &mut client, around, pieces),
        }
    }

    /// Closes the receiver's side of a direction, whose sender has closed its own.
    pub fn finish(&self, direction: Direction) {
        let sink = match direction {
            Direction::ToServer => self.server.as_ref(),
            Direction::ToClient => Some(&self.client),
        };
        // A receiver that is gone needs no end.
        let _ = sink.map(|sink| sink.shutdown(Shutdown::Write));
    }

    /// Whether both directions have ended.
    pub fn is_over(&self) -> bool {
        self.flows.iter().all(Flow::is_over)
    }

    /// Has both sockets lose packets as the conditions say.
    ///
    /// # Errors
    /// The system's: filters are not allowed.
    pub fn filter(&self, conditions: &Conditions) -> io::Result<()> {
        filter::apply(&self.client, conditions.way(Direction::ToServer))?;
        match &self.server {
            Some(server) => filter::apply(server, conditions.way(Direction::ToClient)),
            None => Ok(()),
        }
    }

    /// Closes both sockets, so that each peer receives a reset.
    pub fn reset(self) {
        for socket in [Some(self.client), self.server].into_iter().flatten() {
            let _ = socket.set_linger(Some(Duration::ZERO));
        }
    }
}

/// A socket that may not be there yet: it then has no bytes and takes none.
struct Port<'a>(Option<&'a Socket>);

impl Port<'_> {
    fn socket(&self) -> io::Result<&Socket> {
        self.0.ok_or_else(|| io::ErrorKind::WouldBlock.into())
    }
}

impl Read for Port<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket()?.read(buffer)
    }
}

impl Write for Port<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
