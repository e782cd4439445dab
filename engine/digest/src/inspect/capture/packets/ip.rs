//! Extracts TCP segments from IP packets. Sources: RFC 791, RFC 8200, RFC 9293.

use dyno_protocol::bytes::Bytes;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Content of an IP packet.
#[derive(Debug, PartialEq, Eq)]
pub enum Payload<'a> {
    /// A TCP segment.
    Tcp(Segment<'a>),
    /// VXLAN (RFC 7348), which is not decoded.
    Tunnel,
    /// A fragment of a TCP packet.
    Fragment,
    /// The capture truncated the packet within its headers.
    Cut,
    /// Another protocol.
    Other,
}

/// A TCP segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment<'a> {
    /// Address of the sender.
    pub from: SocketAddr,
    /// Address of the receiver.
    pub to: SocketAddr,
    /// Sequence number of its first byte.
    pub seq: u32,
    /// Acknowledgement: number of the next byte that its sender expects.
    pub ack: Option<u32>,
    /// SYN: it begins a connection.
    pub syn: bool,
    /// FIN: it ends its direction.
    pub fin: bool,
    /// RST: it ends the connection.
    pub rst: bool,
    /// Captured payload.
    pub data: &'a [u8],
    /// Number of payload bytes that the capture truncated.
    pub missing: u32,
}

const TCP: u8 = 6;
const UDP: u8 = 17;
/// UDP destination port of VXLAN.
const VXLAN_PORT: u16 = 4789;

/// Parses an IP packet. `length`: its length on the wire, with padding, bytes.
pub fn payload(packet: &[u8], length: usize) -> Payload<'_> {
    let found = match packet.first().map(|first| first >> 4) {
        Some(4) => version_4(packet, length),
        Some(6) => version_6(packet, length),
        _ => Some(Payload::Other),
    };
    found.unwrap_or(Payload::Cut)
}

/// `None`: the packet is truncated within its headers.
fn version_4(packet: &[u8], length: usize) -> Option<Payload<'_>> {
    let mut bytes = Bytes(packet);
    let header = usize::from(bytes.byte()? & 15) * 4;
    bytes.byte()?;
    let total = match bytes.big(2)? as usize {
        // Segmentation offload: the network card sets the length later.
        0 => length,
        total => total,
    };
    bytes.take(2)?;
    let fragment = bytes.big(2)?;
    bytes.byte()?;
    let protocol = bytes.byte()?;
    bytes.take(2)?;
    let mut address = || Some(IpAddr::V4(Ipv4Addr::from(bytes.big(4)? as u32)));
    let (from, to) = (address()?, address()?);
    if header < 20 || total < header {
        return Some(Payload::Other);
    }
    let kept = packet.get(header..packet.len().min(total));
    match protocol {
        TCP if fragment & 0x3FFF != 0 => Some(Payload::Fragment),
        TCP => tcp(kept?, total - header, from, to),
        UDP if fragment & 0x1FFF == 0 => Some(udp(kept.unwrap_or_default())),
        _ => Some(Payload::Other),
    }
}

fn version_6(packet: &[u8], length: usize) -> Option<Payload<'_>> {
    const FRAGMENT: u8 = 44;
    const AUTHENTICATION: u8 = 51;
    let mut bytes = Bytes(packet);
    bytes.take(4)?;
    let mut left = match bytes.big(2)? as usize {
        0 => length.saturating_sub(40),
        given => given,
    };
    let mut next = bytes.byte()?;
    bytes.byte()?;
    let address = |bytes: &mut Bytes<'_>| {
        Some(IpAddr::V6(Ipv6Addr::from(*bytes.take(16)?.first_chunk::<16>()?)))
    };
    let (from, to) = (address(&mut bytes)?, address(&mut bytes)?);
    bytes.0 = &bytes.0[..bytes.0.len().min(left)];
    let mut is_fragment = false;
    loop {
        let header = match next {
            TCP if is_fragment => return Some(Payload::Fragment),
            TCP => return tcp(bytes.0, left, from, to),
            UDP => return Some(udp(bytes.0)),
            0 | 43 | 60 => (usize::from(*bytes.0.get(1)?) + 1) * 8,
            AUTHENTICATION => (usize::from(*bytes.0.get(1)?) + 2) * 4,
            FRAGMENT => {
                is_fragment |= Bytes(bytes.0.get(2..)?).big(2)? & 0xFFF9 != 0;
                8
            }
            _ => return Some(Payload::Other),
        };
        // In later fragments no protocol header follows.
        next = bytes.0[0];
        if is_fragment && next == TCP {
            return Some(Payload::Fragment);
        }
        bytes.take(header)?;
        left = left.checked_sub(header)?;
    }
}

fn udp(kept: &[u8]) -> Payload<'_> {
    match kept.get(2..4) {
        Some(port) if port == VXLAN_PORT.to_be_bytes() => Payload::Tunnel,
        _ => Payload::Other,
    }
}

fn tcp(kept: &[u8], length: usize, from: IpAddr, to: IpAddr) -> Option<Payload<'_>> {
    let mut bytes = Bytes(kept);
    let (from_port, to_port) = (bytes.big(2)? as u16, bytes.big(2)? as u16);
    let (seq, ack) = (bytes.big(4)? as u32, bytes.big(4)? as u32);
    let header = usize::from(bytes.byte()? >> 4) * 4;
    let flags = bytes.byte()?;
    if header < 20 || length < header {
        return Some(Payload::Other);
    }
    // A capture without payload may truncate the options.
    let data = kept.get(header..).unwrap_or(b"");
    Some(Payload::Tcp(Segment {
        from: SocketAddr::new(from, from_port),
        to: SocketAddr::new(to, to_port),
        seq,
        ack: (flags & 16 != 0).then_some(ack),
        syn: flags & 2 != 0,
        fin: flags & 1 != 0,
        rst: flags & 4 != 0,
        data,
        missing: u32::try_from(length - header - data.len()).ok()?,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment() -> Vec<u8> {
        let mut bytes =
            vec![0x9C, 0x40, 0x0C, 0xEA, 0, 0, 0, 7, 0, 0, 0, 9, 0x60, 0x18, 0, 0, 0, 0, 0, 0];
        bytes.extend(b"\x01\x01\x01\x01data");
        bytes
    }

    fn expected(from: &str, to: &str, data: &'static [u8], missing: u32) -> Payload<'static> {
        let (from, to) = (from.parse().unwrap(), to.parse().unwrap());
        let (seq, ack) = (7, Some(9));
        let (syn, fin, rst) = (false, false, false);
        Payload::Tcp(Segment { from, to, seq, ack, syn, fin, rst, data, missing })
    }

    fn four(total: u16, fragment: u16, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x45, 0];
        packet.extend(total.to_be_bytes());
        packet.extend([0, 0]);
        packet.extend(fragment.to_be_bytes());
        packet.extend([64, 6, 0, 0, 127, 0, 0, 1, 127, 0, 0, 2]);
        packet.extend(payload);
        packet
    }

    fn six(extensions: &[u8], next: u8, payload: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x60, 0, 0, 0];
        packet.extend((extensions.len() as u16 + payload.len() as u16).to_be_bytes());
        packet.extend([next, 64]);
        for last in [1, 2] {
            packet.extend([0; 15]);
            packet.push(last);
        }
        packet.extend(extensions);
        packet.extend(payload);
        packet
    }

    #[test]
    fn segments_are_read_without_padding_and_with_what_was_cut() {
        let (from, to) = ("127.0.0.1:40000", "127.0.0.2:3306");
        let mut packet = four(48, 0x4000, &segment());
        assert_eq!(payload(&packet, 48), expected(from, to, b"data", 0));
        assert_eq!(payload(&packet[..46], 48), expected(from, to, b"da", 2));
        assert_eq!(payload(&packet[..42], 48), expected(from, to, b"", 4));
        assert_eq!(payload(&packet[..33], 48), Payload::Cut);
        packet.extend([0; 6]);
        assert_eq!(payload(&packet, 54), expected(from, to, b"data", 0));
        let unknown_length = four(0, 0, &segment());
        assert_eq!(payload(&unknown_length, 48), expected(from, to, b"data", 0));
    }

    #[test]
    fn parts_of_packets_are_no_segments() {
        assert_eq!(payload(&four(48, 0x2000, &segment()), 48), Payload::Fragment);
        assert_eq!(payload(&four(48, 0x0010, &segment()), 48), Payload::Fragment);
        let part = six(&[6, 0, 0, 9, 0, 0, 0, 1], 44, &segment());
        assert_eq!(payload(&part, part.len()), Payload::Fragment);
        let mut other = four(48, 0x2000, &segment());
        other[9] = 17;
        assert_eq!(payload(&other, 48), Payload::Other);
    }

    #[test]
    fn vxlan_is_told_from_other_udp() {
        for (port, expected) in [(4789_u16, Payload::Tunnel), (53, Payload::Other)] {
            let mut datagram = vec![0xC0, 0];
            datagram.extend(port.to_be_bytes());
            let mut packet = four(24, 0, &datagram);
            packet[9] = 17;
            assert_eq!(payload(&packet, 24), expected);
            packet = six(b"", 17, &datagram);
            assert_eq!(payload(&packet, packet.len()), expected);
        }
    }

    #[test]
    fn headers_between_ip_and_tcp_are_passed_over() {
        let (from, to) = ("[::1]:40000", "[::2]:3306");
        let hop = [60, 0, 1, 4, 0, 0, 0, 0];
        let options = [44, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let whole = [6, 0, 0, 0, 0, 0, 0, 1];
        let all = [&hop[..], &options, &whole].concat();
        for (extensions, next) in [(&b""[..], 6), (&whole, 44), (&all, 0)] {
            let packet = six(extensions, next, &segment());
            assert_eq!(payload(&packet, packet.len()), expected(from, to, b"data", 0));
            for end in 0..packet.len() {
                payload(&packet[..end], packet.len());
            }
        }
    }
}
