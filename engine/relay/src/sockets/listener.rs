//! A port on loopback, and the conditions of the connections that it accepts.

use super::filter;
use crate::conditions::{Conditions, Direction};
use crate::names::resolver::Resolver;
use crate::queues::line::Line;
use crate::table::Key;
use socket2::{Domain, Socket, Type};
use std::cell::Cell;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener};
use std::rc::Rc;

/// Maximum number of connections that wait to be accepted.
const BACKLOG: i32 = 4096;
/// Attempts to take a free port before somebody else does.
const TRIES: u32 = 16;

/// A listener.
#[derive(Debug)]
pub struct Listener {
    /// Name in commands.
    pub name: String,
    /// Port on its address of loopback.
    pub port: u16,
    socket: Socket,
    /// A reserved descriptor, released to accept and close a connection when descriptors run out.
    spare: Option<File>,
    /// Whether it has been said that there are no descriptors.
    has_warned: bool,
    /// Its network.
    pub conditions: Conditions,
    /// Where connections go that resolve a name.
    pub resolver: Resolver,
    /// By [`Direction`]: the bandwidth.
    pub lines: [Line; 2],
    /// By [`Direction`]: connections that wait for their turn on the line.
    pub waiting: [VecDeque<Key>; 2],
    /// By [`Direction`]: when the line has a timer.
    pub line_timer_ns: [Option<u64>; 2],
    /// Connections accepted so far.
    pub accepted: u64,
    /// By [`Direction`]: bytes of connections that have ended.
    pub ended_bytes: [u64; 2],
    /// Commits that were swallowed.
    pub swallowed: Rc<Cell<u64>>,
}

impl Listener {
    /// Listens on a port of an address of loopback; 0: any free one.
    ///
    /// # Errors
    /// The system's: the port is taken.
    pub fn open(
        name: &str,
        ip: Ipv4Addr,
        port: u16,
        conditions: Conditions,
        now_ns: u64,
    ) -> io::Result<Self> {
        let (socket, port) = bound(ip, port)?;
        let mut listener = Self {
            name: name.to_owned(),
            port,
            socket,
            spare: File::open("/dev/null").ok(),
            has_warned: false,
            lines: [Line::default(); 2],
            waiting: [VecDeque::new(), VecDeque::new()],
            line_timer_ns: [None; 2],
            accepted: 0,
            ended_bytes: [0; 2],
            swallowed: Rc::default(),
            resolver: Resolver::default(),
            conditions: Conditions { is_refusing: true, ..Conditions::to(conditions.to) },
        };
        listener.change(conditions, now_ns)?;
        Ok(listener)
    }

    /// Changes the conditions of the port and of its lines; open connections have filters of their own.
    ///
    /// # Errors
    /// The system's: filters are not allowed.
    pub fn change(&mut self, conditions: Conditions, now_ns: u64) -> io::Result<()> {
        filter::apply(&self.socket, &filter::handshakes(&conditions))?;
        if conditions.is_refusing != self.conditions.is_refusing {
            if conditions.is_refusing {
                // A socket that is bound and does not listen keeps its port and refuses connections.
                self.socket.shutdown(Shutdown::Read)?;
            } else {
                self.socket.listen(BACKLOG)?;
            }
        }
        for direction in Direction::BOTH {
            self.lines[direction as usize].set(conditions.way(direction).bytes_per_s, now_ns);
        }
        self.conditions = conditions;
        Ok(())
    }

    /// Where a connection goes now; `None`: a name server is to be asked.
    pub fn address(&self, now_ns: u64) -> Option<SocketAddr> {
        match &self.conditions.resolve {
            None => Some(self.conditions.to),
            Some(resolve) => self.resolver.address(now_ns).map(|ip| (ip, resolve.port).into()),
        }
    }

    /// The listening socket.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Accepts a connection, if one waits; an error if it is gone, or was turned away for lack of descriptors.
    pub fn accept(&mut self) -> Option<io::Result<Socket>> {
        match self.socket.accept() {
            Ok((client, _)) => Some(Ok(client)),
            Err(why) => match why.raw_os_error() {
                // Also if none waits: the system looks for a descriptor first.
                Some(libc::EMFILE | libc::ENFILE) => self.turn_away().then_some(Err(why)),
                Some(libc::EINTR | libc::ECONNABORTED) => Some(Err(why)),
                // None waits, or the port refuses.
                _ => None,
            },
        }
    }

    /// Closes a connection that waits, which would else wait until another one comes. Returns whether one did.
    fn turn_away(&mut self) -> bool {
        self.spare = None;
        let has_waited = self.socket.accept().is_ok();
        self.spare = File::open("/dev/null").ok();
        // Once: if standard error is a pipe, it fills up, and the relay would wait for its reader.
        if has_waited && !std::mem::replace(&mut self.has_warned, true) {
            eprintln!("dyno-engine relay: out of descriptors: raise `ulimit -Hn`");
        }
        has_waited
    }
}

/// A socket that is bound to a port of an address. It must be bound by number, or else it would lose the port
/// when it stops to listen.
fn bound(ip: Ipv4Addr, port: u16) -> io::Result<(Socket, u16)> {
    for attempt in 1.. {
        let number = match port {
            0 => TcpListener::bind((ip, 0))?.local_addr()?.port(),
            given => given,
        };
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        socket.set_reuse_address(true)?;
        match socket.bind(&SocketAddr::from((ip, number)).into()) {
            Ok(()) => return Ok((socket, number)),
            Err(why) if port != 0 || attempt == TRIES => {
                return Err(io::Error::new(why.kind(), format!("port {number}: {why}")));
            }
            Err(_) => {}
        }
    }
    unreachable!("the last attempt returns")
}
