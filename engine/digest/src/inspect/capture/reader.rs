//! Reads a capture: assigns packets to connections, within limits.

use super::connection::Connection;
use super::dialect::Dialect;
use super::packets::capture_file::{self, File};
use super::packets::ip::{self, Payload, Segment};
use super::packets::link::{self, Carried};
use super::packets::packet::{Found, Packet};
use super::position::Position;
use crate::sink::{Part, Sink};
use std::collections::HashMap;
use std::net::SocketAddr;

/// Maximum number of tracked connections; beyond it the reader drops those idle for longest.
pub const CONNECTIONS: usize = 65_536;
/// Maximum number of buffered bytes; beyond it the reader drops the connection that buffers most.
pub const BUFFERED: usize = 256 << 20;

/// Whether a capture begins here.
pub fn is_capture(head: &[u8]) -> bool {
    capture_file::is_begin(head)
}

/// Detects the protocol of a capture by its first packets; `None` if none reveals it.
pub fn spoken(head: &[u8]) -> Option<Dialect> {
    let (mut file, mut at) = (File::default(), 0);
    while at < head.len() {
        let step = file.step(&head[at..], false)?;
        at += step.length;
        let Found::Packet(packet) = step.found else { continue };
        let Some(segment) = segment(&packet).ok().flatten() else { continue };
        let both = [Dialect::Mysql, Dialect::Postgres];
        let by_begin = |dialect: &Dialect| dialect.begins(segment.data).is_some();
        let by_port = |dialect: &Dialect| {
            [segment.from.port(), segment.to.port()].contains(&dialect.port())
                && !segment.data.is_empty()
        };
        let by_asking = |dialect: &Dialect| dialect.asks(segment.data).is_some();
        let find = |is: &dyn Fn(&Dialect) -> bool| both.into_iter().find(is);
        let found = find(&by_begin).or_else(|| find(&by_port)).or_else(|| find(&by_asking));
        if found.is_some() {
            return found;
        }
    }
    None
}

/// The TCP segment in a packet, if it carries one; `Err`: why the packet is not understood.
fn segment<'a>(packet: &Packet<'a>) -> Result<Option<Segment<'a>>, &'static str> {
    const TUNNEL: &str = "a packet within a tunnel that is not read (PPPoE, VXLAN)";
    let carried = match link::carried(packet.link, packet.data) {
        Carried::Ip(carried) => carried,
        Carried::Other => return Ok(None),
        Carried::Tunnel => return Err(TUNNEL),
        Carried::UnknownLink => return Err("a packet of a kind of link that is not known"),
    };
    let header = packet.data.len() - carried.len();
    match ip::payload(carried, packet.length.saturating_sub(header)) {
        Payload::Tcp(segment) => Ok(Some(segment)),
        Payload::Other => Ok(None),
        Payload::Tunnel => Err(TUNNEL),
        Payload::Fragment => Err("a part of a packet that was sent in parts"),
        Payload::Cut => Err("a packet that was not kept as far as its header (tcpdump: -s 0)"),
    }
}

/// Both ends of a connection, the lesser address first.
type Ends = (SocketAddr, SocketAddr);

/// Reader of one capture.
pub struct Reader {
    dialect: Dialect,
    ports: Vec<u16>,
    file: File,
    connections: HashMap<Ends, Connection>,
    /// Number of connections so far, and of packets.
    serial: u64,
    packets: u64,
    buffered: usize,
    server: Option<String>,
    /// Of dropped connections: whether one was recognised; the bytes of the others and of packets
    /// without a TCP segment.
    has_known: bool,
    other_bytes: u64,
}

impl Reader {
    /// `ports`: those of servers; empty: the default port, and all connections with recognised content.
    pub fn new(dialect: Dialect, ports: &[u16]) -> Self {
        Self {
            dialect,
            ports: ports.to_vec(),
            file: File::default(),
            connections: HashMap::new(),
            serial: 0,
            packets: 0,
            buffered: 0,
            server: None,
            has_known: false,
            other_bytes: 0,
        }
    }

    /// The server's product and version, if the capture holds them.
    pub fn server(&self) -> Option<String> {
        self.server.clone()
    }

    /// Reads complete packets; returns the number of consumed bytes.
    pub fn read(&mut self, part: Part<'_>, sink: &mut dyn Sink) -> usize {
        let mut at = 0;
        while at < part.bytes.len() {
            let Some(step) = self.file.step(&part.bytes[at..], part.is_last) else { break };
            let offset = part.offset + at as u64;
            at += step.length;
            let place = (offset, part.offset + at as u64);
            match step.found {
                Found::Packet(packet) => self.packet(&packet, place, sink),
                Found::Nothing => {}
                Found::Broken => {
                    let why = "a block that is not as its type says";
                    sink.not_understood(offset, step.length as u64, why);
                }
                Found::Damaged => {
                    let why = "no packet, or one without its end";
                    sink.not_understood(offset, step.length as u64, why);
                }
            }
        }
        if part.is_last {
            self.end(sink);
        }
        at
    }

    /// Processes a packet. `place`: the offsets of its begin and its end in the capture.
    fn packet(&mut self, packet: &Packet<'_>, place: (u64, u64), sink: &mut dyn Sink) {
        let (offset, end) = place;
        let segment = match segment(packet) {
            Ok(Some(segment)) => segment,
            Ok(None) => {
                self.other_bytes += end - offset;
                return;
            }
            Err(why) => return sink.not_understood(offset, end - offset, why),
        };
        let at = Position { time_ns: packet.time_ns, offset, end };
        self.packets += 1;
        let ends = (segment.from.min(segment.to), segment.from.max(segment.to));
        match self.connections.get(&ends).map(|known| known.is_other(&segment)) {
            Some(true) => self.forget(ends, sink),
            Some(false) => {}
            // A connection that begins with a reset will hardly continue.
            None if segment.rst => return,
            None => {}
        }
        if self.connections.len() == CONNECTIONS && !self.connections.contains_key(&ends) {
            self.make_room(sink);
        }
        let connection = self.connections.entry(ends).or_insert_with(|| {
            self.serial += 1;
            Connection::new(self.serial, &segment, at, self.dialect, &self.ports)
        });
        connection.heard = self.packets;
        let before = connection.buffered();
        connection.push(&segment, at, sink);
        self.buffered = self.buffered + connection.buffered() - before;
        if self.server.is_none() && connection.is_known() {
            self.server = connection.server();
        }
        while self.buffered > BUFFERED {
            let most = self.connections.iter();
            let most = most.max_by_key(|(_, one)| (one.buffered(), one.serial()));
            let Some(ends) = most.map(|(&ends, _)| ends) else { break };
            let why =
                "connections buffered more than 256 MiB: the largest one is decoded from here on";
            sink.not_understood(offset, 0, why);
            self.forget(ends, sink);
        }
    }

    fn forget(&mut self, ends: Ends, sink: &mut dyn Sink) {
        if let Some(mut connection) = self.connections.remove(&ends) {
            self.buffered -= connection.buffered();
            self.settle(&mut connection, sink);
        }
    }

    fn settle(&mut self, connection: &mut Connection, sink: &mut dyn Sink) {
        if connection.is_known() {
            self.has_known = true;
        } else {
            self.other_bytes += connection.bytes;
        }
        connection.end(sink);
    }

    /// Drops a quarter of the connections: those idle for longest.
    fn make_room(&mut self, sink: &mut dyn Sink) {
        let mut heard: Vec<u64> = self.connections.values().map(|one| one.heard).collect();
        let (_, &mut limit, _) = heard.select_nth_unstable(CONNECTIONS / 4);
        let is_old = |one: &Connection| one.heard < limit;
        let old = self.connections.iter().filter(|(_, one)| is_old(one));
        let mut old: Vec<(u64, Ends)> = old.map(|(&ends, one)| (one.serial(), ends)).collect();
        old.sort_unstable();
        for (_, ends) in old {
            self.forget(ends, sink);
        }
    }

    fn end(&mut self, sink: &mut dyn Sink) {
        let mut all: Vec<Connection> = self.connections.drain().map(|(_, one)| one).collect();
        all.sort_unstable_by_key(Connection::serial);
        for connection in &mut all {
            self.settle(connection, sink);
        }
        self.buffered = 0;
        if !self.has_known && self.other_bytes > 0 {
            let why = "no connection of a database was recognised: name the server's port (--port)";
            sink.not_understood(0, self.other_bytes, why);
        }
    }
}
