//! Tests of encapsulated packets, and of captures without TCP segments.

use super::mysql::conversation;
use super::{Dialect, framed, header, packet, read, whys};

/// An Ethernet capture; `before` returns the headers in front of an IP packet of a given length.
fn ethernet(before: impl Fn(u16) -> Vec<u8>) -> Vec<u8> {
    let mut file = header();
    file[20] = 1;
    for sent in conversation().segments(|| usize::MAX) {
        let inner = packet(&sent, 3306);
        let whole = [before(inner.len() as u16), inner].concat();
        file.extend(framed(&whole, sent.time_ns, usize::MAX));
    }
    file
}

fn vxlan(length: u16, port: u16) -> Vec<u8> {
    const ETHERNET: u16 = 14;
    let mut outer = b"ddddddssssss\x08\x00\x45\0".to_vec();
    outer.extend((20 + 8 + 8 + ETHERNET + length).to_be_bytes());
    outer.extend(b"\0\0\0\0\x40\x11\0\0\x0A\0\0\x01\x0A\0\0\x02\xC0\0");
    outer.extend(port.to_be_bytes());
    outer.extend((8 + 8 + ETHERNET + length).to_be_bytes());
    outer.extend(b"\0\0\x08\0\0\0\0\0\x01\0ddddddssssss\x08\x00");
    outer
}

#[test]
fn packets_within_tunnels_are_counted() {
    let pppoe = |length: u16| {
        let session = &b"ddddddssssss\x88\x64\x11\0\0\x01"[..];
        [session, &(length + 2).to_be_bytes(), b"\0\x21"].concat()
    };
    let packets = conversation().segments(|| usize::MAX).len();
    for log in [ethernet(|length| vxlan(length, 4789)), ethernet(pppoe)] {
        let kept = read(Dialect::Mysql, &log);
        let why = "a packet within a tunnel that is not read (PPPoE, VXLAN)";
        assert_eq!((kept.events.len(), whys(&kept)), (0, vec![why; packets]));
    }
}

#[test]
fn a_capture_without_any_segment_is_counted() {
    let log = ethernet(|length| vxlan(length, 53));
    let kept = read(Dialect::Mysql, &log);
    let why = "no connection of a database was recognised: name the server's port (--port)";
    let all = (0, log.len() as u64 - header().len() as u64, why);
    assert_eq!((kept.events.len(), kept.not_understood), (0, vec![all]));
    // An empty capture is no error.
    assert_eq!(read(Dialect::Mysql, &header()).not_understood, []);
}
