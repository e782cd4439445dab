//! One connection: detects its protocol and its server, and passes its bytes to the protocol stream.

use super::decoder::Decoder;
use super::dialect::Dialect;
use super::events::Out;
use super::framer::Loss;
use super::mysql::Mysql;
use super::packets::ip::Segment;
use super::position::{Position, Side};
use super::postgres::Postgres;
use super::protocol_stream::ProtocolStream;
use super::tcp_reassembly::{Piece, TcpReassembly};
use crate::sink::Sink;
use std::net::SocketAddr;

/// Packets with data after which an unrecognised connection counts as another program's.
const TRIES: u32 = 64;
/// First session number of connections whose server sent no ID, above all IDs that servers assign.
const OWN_NUMBERS: u64 = 1 << 33;

/// Protocol of a connection.
enum Spoken {
    /// Not yet known.
    Unknown,
    /// The wanted dialect.
    Known(Box<ProtocolStream>),
    /// Another program's protocol.
    Other,
    /// A database connection that cannot be decoded, and why.
    Unreadable(&'static str),
}

/// A TCP connection of the capture.
pub struct Connection {
    serial: u64,
    /// The two ends; the first captured packet came from the first end.
    ends: [SocketAddr; 2],
    reassembly: TcpReassembly,
    conversation: Conversation,
    /// Size of its TCP payload, bytes.
    pub bytes: u64,
    /// Size of its packets in the file, bytes.
    packets: u64,
    begin: Position,
    /// Number of its last packet.
    pub heard: u64,
    /// It has ended; late packets are ignored.
    pub is_closed: bool,
}

/// The part of a connection that receives the reassembled bytes.
struct Conversation {
    spoken: Spoken,
    serial: u64,
    /// Index of the end that is the client.
    client: Option<usize>,
    /// A port identifies the server.
    is_by_port: bool,
    /// The capture holds its first packet.
    has_begin: bool,
    tries: u32,
    dialect: Dialect,
    ends: [SocketAddr; 2],
    /// IP address of the client.
    host: Vec<u8>,
}

impl Connection {
    /// Creates a connection from its first captured packet. `ports`: those of servers; empty: the
    /// dialect's default port.
    pub fn new(
        serial: u64,
        first: &Segment<'_>,
        at: Position,
        dialect: Dialect,
        ports: &[u16],
    ) -> Self {
        let ends = [first.from, first.to];
        let of_server = |end: &SocketAddr| match ports {
            [] => end.port() == dialect.port(),
            ports => ports.contains(&end.port()),
        };
        let by_port = ends.iter().position(of_server).map(|server| 1 - server);
        // The end that sends the first SYN is the client, whatever the ports.
        let by_begin = first.syn.then_some(usize::from(first.ack.is_some()));
        let is_other = by_port.is_none() && !ports.is_empty();
        let client = by_begin.or(by_port);
        let conversation = Conversation {
            spoken: if is_other { Spoken::Other } else { Spoken::Unknown },
            serial: OWN_NUMBERS + serial,
            client,
            is_by_port: by_port.is_some(),
            has_begin: first.syn,
            tries: 0,
            dialect,
            ends,
            host: vec![],
        };
        let reassembly = TcpReassembly::default();
        let (bytes, packets, heard, is_closed) = (0, 0, 0, false);
        Self { serial, ends, reassembly, conversation, bytes, packets, begin: at, heard, is_closed }
    }

    /// Its number, by the order of first packets.
    pub fn serial(&self) -> u64 {
        self.serial
    }

    /// Whether a segment belongs to another connection between the same ends.
    pub fn is_other(&self, segment: &Segment<'_>) -> bool {
        let way = self.way(segment);
        self.reassembly.is_other(way, segment)
            || self.is_closed && !self.reassembly.is_near(way, segment)
    }

    fn way(&self, segment: &Segment<'_>) -> usize {
        usize::from(segment.from != self.ends[0])
    }

    /// Number of buffered bytes.
    pub fn buffered(&self) -> usize {
        self.reassembly.held_bytes()
            + match &self.conversation.spoken {
                Spoken::Known(speech) => speech.buffered(),
                _ => 0,
            }
    }

    /// Whether it was recognised as a database connection, decoded or not.
    pub fn is_known(&self) -> bool {
        !matches!(self.conversation.spoken, Spoken::Unknown | Spoken::Other)
    }

    /// The server's product and version, if the capture holds them.
    pub fn server(&self) -> Option<String> {
        match &self.conversation.spoken {
            Spoken::Known(speech) => speech.product(),
            _ => None,
        }
    }

    /// Processes a segment.
    pub fn push(&mut self, segment: &Segment<'_>, at: Position, sink: &mut dyn Sink) {
        let way = self.way(segment);
        self.bytes += segment.data.len() as u64;
        self.packets += at.end - at.offset;
        if self.is_closed {
            return;
        }
        let conversation = &mut self.conversation;
        self.reassembly
            .push(way, segment, at, &mut |way, piece, at| conversation.take(way, piece, at, sink));
        if segment.rst || self.reassembly.has_ended() {
            self.end(sink);
        }
    }

    /// Ends the connection: decodes waiting segments, and reports why it was unreadable, if it was.
    pub fn end(&mut self, sink: &mut dyn Sink) {
        if std::mem::replace(&mut self.is_closed, true) {
            return;
        }
        let conversation = &mut self.conversation;
        self.reassembly.flush(&mut |way, piece, at| conversation.take(way, piece, at, sink));
        let why = match &mut conversation.spoken {
            Spoken::Known(speech) => {
                speech.end(&mut Out { sink, host: &conversation.host });
                speech.unreadable()
            }
            Spoken::Unreadable(why) => Some(*why),
            _ => None,
        };
        if let Some(why) = why {
            sink.not_understood(self.begin.offset, self.packets, why);
        }
        if self.is_known() {
            // Free the decoder; the TCP sequence numbers stay, to recognise late packets.
            self.conversation.spoken = Spoken::Unreadable("");
        }
    }
}

impl Conversation {
    fn take(&mut self, way: usize, piece: Piece<'_>, at: Position, sink: &mut dyn Sink) {
        if matches!(self.spoken, Spoken::Unknown)
            && let Piece::Data(bytes) = piece
        {
            self.recognise(way, bytes);
        }
        let Spoken::Known(speech) = &mut self.spoken else { return };
        if speech.unreadable().is_some() {
            return;
        }
        let side = if self.client == Some(way) { Side::Client } else { Side::Server };
        let mut out = Out { sink, host: &self.host };
        match piece {
            Piece::Data(bytes) => speech.take(side, bytes, at, &mut out),
            Piece::Cut(count) => {
                if speech.pass(side, count as usize, at, &mut out) == Loss::Lost {
                    out.not_understood(at, "a packet that was not kept whole (tcpdump: -s 0)");
                }
            }
            Piece::Gap(count) => {
                speech.pass(side, count as usize, at, &mut out);
                out.sink.not_understood(at.offset, 0, GAP);
            }
        }
    }

    /// Tries to recognise the protocol by the first bytes, or by later ones.
    fn recognise(&mut self, way: usize, bytes: &[u8]) {
        self.tries += 1;
        let is_first = self.tries == 1;
        let other = match self.dialect {
            Dialect::Mysql => Dialect::Postgres,
            Dialect::Postgres => Dialect::Mysql,
        };
        let is_begin = self.dialect.begins(bytes);
        if let Some(side) = is_begin.or_else(|| self.dialect.asks(bytes)) {
            // The content identifies its sender: server greetings, client startups and requests.
            self.client = Some(if side == Side::Client { way } else { 1 - way });
            self.speak(is_begin.is_some() && is_first);
        } else if is_first && self.is_by_port && is_tls(bytes) {
            self.spoken = Spoken::Unreadable("a connection under TLS");
        } else if is_first && other.begins(bytes).is_some() {
            self.spoken = Spoken::Unreadable(other.elsewhere());
        } else if self.is_by_port {
            self.speak(is_first && self.has_begin);
        } else if self.has_begin || self.tries > TRIES {
            self.spoken = Spoken::Other;
        }
    }

    fn speak(&mut self, is_begin: bool) {
        let client = self.client.map(|client| self.ends[client].ip().to_string());
        self.host = client.unwrap_or_default().into_bytes();
        let decoder: Box<dyn Decoder> = match self.dialect {
            Dialect::Mysql => Box::new(Mysql::new(self.serial, is_begin)),
            Dialect::Postgres => Box::new(Postgres::new(self.serial, is_begin)),
        };
        self.spoken = Spoken::Known(Box::new(ProtocolStream::new(decoder, is_begin)));
    }
}

const GAP: &str = "packets before this one are not in the capture";

/// Whether these bytes begin with a TLS ClientHello.
fn is_tls(bytes: &[u8]) -> bool {
    matches!(bytes, [0x16, 3, _, _, _, 1, ..])
}
