//! Extracts IP packets from link-layer frames. Source: tcpdump.org, "Link-Layer Header Types".

/// Content of a link-layer frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carried<'a> {
    /// An IP packet, as far as it was captured.
    Ip(&'a [u8]),
    /// Another protocol, or a truncated frame.
    Other,
    /// PPPoE, which is not decoded.
    Tunnel,
    /// An unknown link-layer type.
    UnknownLink,
}

const NULL: u32 = 0;
const ETHERNET: u32 = 1;
const LOOP: u32 = 108;
const LINUX_COOKED: u32 = 113;
const LINUX_COOKED_2: u32 = 276;
/// Raw IP: the number in files, those of some systems, and those of IPv4 and IPv6 alone.
const RAW: [u32; 5] = [101, 12, 14, 228, 229];

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86DD;
const PPPOE: u16 = 0x8864;
/// VLAN tags, which precede the type.
const TAGS: [u16; 3] = [0x8100, 0x88A8, 0x9100];

/// Extracts the content of a frame of this link-layer type.
pub fn carried(link: u32, data: &[u8]) -> Carried<'_> {
    let found = match link {
        ETHERNET => by_type(data, 12, 14),
        LINUX_COOKED => by_type(data, 14, 16),
        LINUX_COOKED_2 => by_type(data, 0, 20),
        // The address family, in the machine's byte order; several values stand for IP.
        NULL | LOOP => match data.first_chunk() {
            Some([0, 0, 0, 2 | 24 | 28 | 30 | 10] | [2 | 24 | 28 | 30 | 10, 0, 0, 0]) => {
                data.get(4..).map(Carried::Ip)
            }
            _ => None,
        },
        _ if RAW.contains(&link) => Some(Carried::Ip(data)),
        _ => return Carried::UnknownLink,
    };
    found.unwrap_or(Carried::Other)
}

/// `at`: offset of the type; `header`: offset of the content.
fn by_type(data: &[u8], at: usize, header: usize) -> Option<Carried<'_>> {
    let number = |at: usize| Some(u16::from_be_bytes(*data.get(at..)?.first_chunk()?));
    let (mut kind, mut begin) = (number(at)?, header);
    while TAGS.contains(&kind) {
        kind = number(begin + 2)?;
        begin += 4;
    }
    match kind {
        IPV4 | IPV6 => data.get(begin..).map(Carried::Ip),
        PPPOE => Some(Carried::Tunnel),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_link_gives_its_ip_packet() {
        let ip = b"\x45ip";
        let framed = |before: &[u8]| [before, ip].concat();
        for (link, packet) in [
            (1, framed(b"ddddddssssss\x08\x00")),
            (1, framed(b"ddddddssssss\x81\x00\x00\x07\x86\xDD")),
            (1, framed(b"ddddddssssss\x88\xA8\x00\x01\x81\x00\x00\x07\x08\x00")),
            (113, framed(b"\0\0\0\x01\0\x06mmmmmm\0\0\x08\x00")),
            (276, framed(b"\x08\x00\0\0\0\0\0\x01\0\x01\0\x06mmmmmm\0\0")),
            (0, framed(b"\x02\0\0\0")),
            (0, framed(b"\0\0\0\x1E")),
            (108, framed(b"\0\0\0\x02")),
            (101, ip.to_vec()),
            (228, ip.to_vec()),
        ] {
            assert_eq!(carried(link, &packet), Carried::Ip(ip), "{link}");
            for end in 0..packet.len() - ip.len() {
                assert_eq!(carried(link, &packet[..end]), Carried::Other, "{link}");
            }
        }
        assert_eq!(carried(1, b"ddddddssssss\x08\x06arp"), Carried::Other);
        assert_eq!(carried(1, b"ddddddssssss\x81\0\0\x07\x88\x64ppp"), Carried::Tunnel);
        assert_eq!(carried(147, ip), Carried::UnknownLink);
    }
}
