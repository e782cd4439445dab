//! Packets: 3 bytes of length, 1 byte of sequence number, payload; a payload of 2^24 - 1 bytes or
//! more continues in the next packet.
//!
//! Sources: MySQL client/server protocol, "MySQL Packets" and "Basic Data Types"; MariaDB knowledge
//! base, "0-Packet".

use dyno_core::error::{Error, Kind};

/// Bytes of a packet's header.
pub const HEADER_BYTES: usize = 4;

/// Maximum payload of one packet, bytes; a packet of exactly this length continues in the next one.
pub const PAYLOAD_BYTES_MAX: usize = (1 << 24) - 1;

/// Maximum length of a control packet (greeting, OK, ERR, EOF, column count), which is buffered
/// whole. Rows and column definitions are skipped as they arrive and need no such limit.
pub const CONTROL_BYTES_MAX: usize = 1 << 20;

/// Parses a packet's header: (payload length, sequence number). None: fewer than four bytes.
#[inline]
pub fn header(input: &[u8]) -> Option<(usize, u8)> {
    let head = input.first_chunk::<HEADER_BYTES>()?;
    let word = u32::from_le_bytes(*head);
    Some(((word & 0x00ff_ffff) as usize, (word >> 24) as u8))
}

/// Reserves a header in `out`, which [`finish`] fills in. Returns its offset.
#[inline]
pub fn start(out: &mut Vec<u8>) -> usize {
    let at = out.len();
    out.extend_from_slice(&[0; HEADER_BYTES]);
    at
}

/// Completes the packet begun at `at` with sequence number `seq`, and splits a payload that is too
/// long for one packet. Returns the next sequence number.
#[inline]
pub fn finish(out: &mut Vec<u8>, at: usize, seq: u8) -> u8 {
    let length = out.len() - at - HEADER_BYTES;
    if length >= PAYLOAD_BYTES_MAX {
        return split(out, at, seq);
    }
    write_header(out, at, length, seq);
    seq.wrapping_add(1)
}

/// Inserts a header before each part of an oversize payload, in place.
#[cold]
fn split(out: &mut Vec<u8>, at: usize, mut seq: u8) -> u8 {
    let payload = out.split_off(at + HEADER_BYTES);
    out.truncate(at);
    let mut parts = payload.chunks(PAYLOAD_BYTES_MAX).peekable();
    let mut last = 0;
    while let Some(part) = parts.next() {
        last = part.len();
        let head = start(out);
        out.extend_from_slice(part);
        write_header(out, head, last, seq);
        seq = seq.wrapping_add(1);
        debug_assert!(last == PAYLOAD_BYTES_MAX || parts.peek().is_none());
    }
    if last == PAYLOAD_BYTES_MAX {
        // A full last packet requires another one, even an empty one.
        let head = start(out);
        write_header(out, head, 0, seq);
        seq = seq.wrapping_add(1);
    }
    seq
}

#[inline]
fn write_header(out: &mut [u8], at: usize, length: usize, seq: u8) {
    debug_assert!(length <= PAYLOAD_BYTES_MAX);
    let word = length as u32 | (u32::from(seq) << 24);
    out[at..at + HEADER_BYTES].copy_from_slice(&word.to_le_bytes());
}

/// Appends one packet with this `payload`. Returns the next sequence number.
pub fn write(out: &mut Vec<u8>, seq: u8, payload: &[u8]) -> u8 {
    let at = start(out);
    out.extend_from_slice(payload);
    finish(out, at, seq)
}

/// Appends a length-encoded integer.
#[inline]
pub fn put_lenenc(out: &mut Vec<u8>, value: u64) {
    match value {
        0..=250 => out.push(value as u8),
        251..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(value as u16).to_le_bytes());
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&(value as u32).to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&value.to_le_bytes());
        }
    }
}

/// Appends a length-encoded string.
#[inline]
pub fn put_lenenc_bytes(out: &mut Vec<u8>, value: &[u8]) {
    put_lenenc(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// Appends a zero-terminated string. The caller must ensure that it contains no zero byte.
pub fn put_nul(out: &mut Vec<u8>, value: &[u8]) {
    debug_assert!(!value.contains(&0));
    out.extend_from_slice(value);
    out.push(0);
}

/// The error of a server that violated the protocol; `what` names the violation.
#[cold]
pub fn broken(what: impl std::fmt::Display) -> Error {
    Error::new(Kind::Protocol, format!("the server broke the MySQL protocol: {what}"))
        .hint("something other than a MySQL or MariaDB server (a proxy?) may listen there; check the address")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::Bytes;
    use proptest::prelude::*;

    #[test]
    fn a_packet_has_its_length_and_number_in_front() {
        let mut out = vec![9];
        assert_eq!(write(&mut out, 3, b"abc"), 4);
        assert_eq!(out, [9, 3, 0, 0, 3, b'a', b'b', b'c']);
        assert_eq!(header(&out[1..]), Some((3, 3)));
        assert_eq!(header(&out[..3]), None);
    }

    #[test]
    fn long_payloads_are_split_and_a_full_last_packet_is_followed_by_an_empty_one() {
        for (extra, packets) in [(0, 2), (1, 2), (5, 2)] {
            let payload = vec![7u8; PAYLOAD_BYTES_MAX + extra];
            let mut out = vec![];
            assert_eq!(write(&mut out, 255, &payload), 1);
            assert_eq!(out.len(), payload.len() + packets * HEADER_BYTES);
            assert_eq!(header(&out), Some((PAYLOAD_BYTES_MAX, 255)));
            assert_eq!(header(&out[HEADER_BYTES + PAYLOAD_BYTES_MAX..]), Some((extra, 0)));
        }
    }

    #[test]
    fn null_and_short_strings_are_told_apart() {
        assert_eq!(Bytes(&[0xfb]).nullable(), Some(None));
        assert_eq!(Bytes(&[2, b'a', b'b']).nullable(), Some(Some(&b"ab"[..])));
        assert_eq!(Bytes(&[3, b'a', b'b']).nullable(), None);
        assert_eq!(Bytes(&[0xff, 0, 0]).lenenc(), None);
    }

    proptest! {
        #[test]
        fn length_encoded_integers_come_back(value: u64) {
            let mut out = vec![];
            put_lenenc(&mut out, value);
            let mut fields = Bytes(&out);
            prop_assert_eq!(fields.lenenc(), Some(value));
            prop_assert!(fields.0.is_empty());
        }

        #[test]
        fn fields_never_panic(bytes: Vec<u8>) {
            let mut fields = Bytes(&bytes);
            while fields.nullable().is_some() && !fields.0.is_empty() {}
            let mut fields = Bytes(&bytes);
            while fields.text().is_some() {}
        }
    }
}
