//! Handmade captures: messages of clients and servers, split into segments and written as files.

mod broken;
mod mysql;
mod postgres;
mod segments;
mod tunnels;

use super::Dialect;
use super::position::Side::{self, Client, Server};
use super::reader::Reader;
use crate::event::{Kind, Measure};
use crate::sink::{Kept, Part};

/// Time of a capture's start, nanoseconds since 1970.
const BEGIN_NS: u64 = 1_700_000_000_000_000_000;
/// First sequence numbers of the two directions; one is about to wrap around.
const FIRST: [u32; 2] = [u32::MAX - 40, 9000];

const SYN: u8 = 2;
const FIN: u8 = 1;
const ACK: u8 = 16;

/// A segment of a connection.
#[derive(Debug, Clone)]
struct Sent {
    side: Side,
    time_ns: u64,
    /// Number of bytes that its sender has sent before.
    position: u32,
    /// Number of bytes that its sender has received.
    received: u32,
    flags: u8,
    data: Vec<u8>,
}

/// Messages of two ends, a millisecond apart.
#[derive(Debug, Clone, Default)]
struct Spoken(Vec<(Side, Vec<u8>)>);

impl Spoken {
    fn says(mut self, side: Side, bytes: impl Into<Vec<u8>>) -> Self {
        self.0.push((side, bytes.into()));
        self
    }

    /// Segments of at most `size()` bytes, with the connection's handshake and end.
    fn segments(&self, mut size: impl FnMut() -> usize) -> Vec<Sent> {
        let (mut positions, mut sent, mut time_ns) = ([1_u32, 1], vec![], BEGIN_NS);
        let empty = |side, flags, position, received, time_ns| Sent {
            side,
            time_ns,
            position,
            received,
            flags,
            data: vec![],
        };
        sent.push(empty(Client, SYN, 0, 0, time_ns));
        sent.push(empty(Server, SYN | ACK, 0, 1, time_ns));
        for (side, bytes) in &self.0 {
            time_ns += 1_000_000;
            let received = positions[1 - *side as usize];
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let (data, behind) = rest.split_at(size().clamp(1, rest.len()));
                let position = positions[*side as usize];
                let data = data.to_vec();
                positions[*side as usize] += data.len() as u32;
                sent.push(Sent { data, ..empty(*side, ACK, position, received, time_ns) });
                rest = behind;
            }
        }
        let [client, server] = positions;
        sent.push(empty(Client, FIN | ACK, client, server, time_ns));
        sent.push(empty(Server, FIN | ACK, server, client + 1, time_ns));
        sent.push(empty(Client, ACK, client + 1, server + 1, time_ns));
        sent
    }

    fn capture(&self, port: u16) -> Vec<u8> {
        capture(&self.segments(|| usize::MAX), port, usize::MAX)
    }
}

/// A file of raw IP packets, each truncated to `snap` bytes.
fn capture(sent: &[Sent], port: u16, snap: usize) -> Vec<u8> {
    let mut file = header();
    sent.iter().for_each(|sent| file.extend(record(sent, port, snap)));
    file
}

fn header() -> Vec<u8> {
    let mut file = 0xA1B2_3C4D_u32.to_le_bytes().to_vec();
    file.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 101, 0, 0, 0]);
    file
}

fn record(sent: &Sent, port: u16, snap: usize) -> Vec<u8> {
    framed(&packet(sent, port), sent.time_ns, snap)
}

/// A packet as a record of a pcap file.
fn framed(packet: &[u8], time_ns: u64, snap: usize) -> Vec<u8> {
    let kept = &packet[..packet.len().min(snap)];
    let mut record = vec![];
    for number in
        [time_ns / 1_000_000_000, time_ns % 1_000_000_000, kept.len() as u64, packet.len() as u64]
    {
        record.extend((number as u32).to_le_bytes());
    }
    record.extend(kept);
    record
}

fn packet(sent: &Sent, port: u16) -> Vec<u8> {
    let mut packet = vec![0x45, 0];
    packet.extend((sent.data.len() as u16 + 40).to_be_bytes());
    packet.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
    let ends: [(&[u8; 4], u16); 2] = [(&[192, 0, 2, 7], 40_000), (&[192, 0, 2, 1], port)];
    let (from, to) = match sent.side {
        Client => (ends[0], ends[1]),
        Server => (ends[1], ends[0]),
    };
    packet.extend([&from.0[..], to.0].concat());
    packet.extend([from.1.to_be_bytes(), to.1.to_be_bytes()].concat());
    packet.extend(FIRST[sent.side as usize].wrapping_add(sent.position).to_be_bytes());
    packet.extend(FIRST[1 - sent.side as usize].wrapping_add(sent.received).to_be_bytes());
    packet.extend([0x50, sent.flags, 0xFF, 0xFF, 0, 0, 0, 0]);
    packet.extend(&sent.data);
    packet
}

fn read(dialect: Dialect, capture: &[u8]) -> Kept {
    let mut kept = Kept::default();
    let part = Part { bytes: capture, offset: 0, is_last: true };
    let done = Reader::new(dialect, &[]).read(part, &mut kept);
    assert_eq!(done, capture.len());
    for event in &kept.events {
        assert!(event.event.offset + event.event.bytes <= capture.len() as u64);
    }
    kept
}

/// One line per event: kind, text, parameters, client, milliseconds, rows sent and affected, error.
fn lines(kept: &Kept) -> Vec<String> {
    let line = |owned: &crate::sink::Owned| {
        let event = &owned.event;
        let kind = match event.kind {
            Kind::Statement => "",
            Kind::Prepare => "prepare: ",
            Kind::Command => "command: ",
        };
        let mut line = format!("{kind}{}", owned.text);
        if !owned.parameters.is_empty() {
            line += &format!(" ({})", owned.parameters);
        }
        line += &format!(" | {}@{}/{}", owned.user, owned.host, owned.database);
        if let Some(duration_ns) = event.duration_ns {
            line += &format!(" {} ms", duration_ns / 1_000_000);
        }
        let rows = [Measure::RowsSent, Measure::RowsAffected].map(|rows| event.numbers.get(rows));
        if let [Some(sent), Some(affected)] = rows {
            line += &format!(" rows {sent} {affected}");
        }
        if !owned.error.is_empty() {
            line += &format!(" error {}", owned.error);
        }
        line
    };
    kept.events.iter().map(line).collect()
}

/// The reasons why pieces are not understood.
fn whys(kept: &Kept) -> Vec<&'static str> {
    kept.not_understood.iter().map(|piece| piece.2).collect()
}
