//! The compressed protocol: after the login, packets are wrapped in compressed packets, each with 3
//! bytes of length, 1 byte of sequence number and 3 bytes of the uncompressed length; 0: not
//! compressed.
//!
//! Their boundaries are independent of those of the inner packets. Sequence numbers begin at 0 with
//! each request. Numbers of replies are not checked: servers continue the count across requests
//! without a reply.
//!
//! Source: MySQL client/server protocol, "Compression"; MariaDB knowledge base, "0-Packet".

use super::packet::{self, HEADER_BYTES, PAYLOAD_BYTES_MAX, broken};
use dyno_core::error::{Error, Kind, Result};
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// Bytes of a compressed packet's header.
const HEAD_BYTES: usize = 7;

/// Maximum output of one decompression step, bytes: a few bytes may expand to sixteen megabytes.
const UNPACKED_BYTES: usize = 64 << 10;

/// Shorter data is sent uncompressed, as servers and their clients do, bytes.
const COMPRESSED_BYTES_MIN: usize = 50;

/// Both directions of one connection.
pub struct Codec {
    deflate: Compress,
    inflate: Decompress,
    /// Reused buffer for compressed bytes.
    packed: Vec<u8>,
    /// The remainder of the packet being read.
    part: Part,
}

/// A partly read compressed packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Part {
    /// Between packets.
    #[default]
    None,
    /// Remaining bytes, not compressed.
    Plain(usize),
    /// Remaining bytes of zlib data, and of its uncompressed contents.
    Packed(usize, usize),
}

impl Default for Codec {
    fn default() -> Self {
        // zlib's default level, as servers use it.
        let deflate = Compress::new(Compression::default(), true);
        Self { deflate, inflate: Decompress::new(true), packed: vec![], part: Part::None }
    }
}

impl Codec {
    /// Appends `packets`, whole ones, to `out`. A packet with number 0 begins a request.
    pub fn put(&mut self, packets: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let mut begin = 0;
        while begin < packets.len() {
            let end = begin + request_bytes(&packets[begin..]);
            let mut seq = 0u8;
            for part in packets[begin..end].chunks(PAYLOAD_BYTES_MAX) {
                self.put_part(part, seq, out)?;
                seq = seq.wrapping_add(1);
            }
            begin = end;
        }
        Ok(())
    }

    fn put_part(&mut self, part: &[u8], seq: u8, out: &mut Vec<u8>) -> Result<()> {
        let is_packed = part.len() >= COMPRESSED_BYTES_MIN && self.pack(part)?;
        let (payload, plain_bytes) = match is_packed {
            true => (self.packed.as_slice(), part.len()),
            false => (part, 0),
        };
        out.extend_from_slice(&(payload.len() as u32 | u32::from(seq) << 24).to_le_bytes());
        out.extend_from_slice(&(plain_bytes as u32).to_le_bytes()[..3]);
        out.extend_from_slice(payload);
        Ok(())
    }

    /// Compresses `part` into `packed`. False: the result would not be shorter.
    fn pack(&mut self, part: &[u8]) -> Result<bool> {
        self.packed.clear();
        self.packed.reserve(part.len());
        self.deflate.reset();
        let status = self
            .deflate
            .compress_vec(part, &mut self.packed, FlushCompress::Finish)
            .map_err(|why| Error::new(Kind::System, format!("zlib cannot compress: {why}")))?;
        Ok(status == Status::StreamEnd && self.packed.len() < part.len())
    }

    /// Decompresses a part of `input` and appends it to `plain`; returns the bytes of `input`
    /// consumed, which may be 0. None: `input` holds nothing further.
    ///
    /// # Errors
    /// [`Kind::Protocol`] for bytes that are not a compressed packet.
    pub fn take(&mut self, input: &[u8], plain: &mut Vec<u8>) -> Result<Option<usize>> {
        match self.part {
            Part::None => {
                let Some(head) = input.first_chunk::<HEAD_BYTES>() else { return Ok(None) };
                self.begin(*head);
                Ok(Some(HEAD_BYTES))
            }
            Part::Plain(left) => {
                let here = left.min(input.len());
                plain.extend_from_slice(&input[..here]);
                self.part = if here < left { Part::Plain(left - here) } else { Part::None };
                Ok((here > 0 || left == 0).then_some(here))
            }
            Part::Packed(left, _) if left > 0 && input.is_empty() => Ok(None),
            Part::Packed(left, plain_left) => self.unpack(left, plain_left, input, plain).map(Some),
        }
    }

    /// Whether a packet is partly read.
    pub fn is_amid_packet(&self) -> bool {
        self.part != Part::None
    }

    fn begin(&mut self, head: [u8; HEAD_BYTES]) {
        let [a, b, c, _number, d, e, f] = head;
        let length =
            |bytes: [u8; 3]| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]) as usize;
        self.part = match length([d, e, f]) {
            0 => Part::Plain(length([a, b, c])),
            plain_bytes => {
                self.inflate.reset(true);
                Part::Packed(length([a, b, c]), plain_bytes)
            }
        };
    }

    /// Decompresses one piece; returns the bytes of `input` consumed.
    fn unpack(
        &mut self,
        left: usize,
        plain_left: usize,
        input: &[u8],
        plain: &mut Vec<u8>,
    ) -> Result<usize> {
        let wrong = || broken("a compressed packet of another length than it says");
        let here = &input[..left.min(input.len())];
        let (begin, before) = (plain.len(), (self.inflate.total_in(), self.inflate.total_out()));
        // One byte more than the contents, to detect excess: zlib's end marker follows the last
        // byte.
        plain.resize(begin + plain_left.min(UNPACKED_BYTES) + 1, 0);
        let status =
            self.inflate.decompress(here, &mut plain[begin..], FlushDecompress::None).map_err(
                |why| broken(format_args!("a compressed packet that is not zlib's ({why})")),
            )?;
        let taken = (self.inflate.total_in() - before.0) as usize;
        let made = (self.inflate.total_out() - before.1) as usize;
        plain.truncate(begin + made);
        let left = left - taken;
        let plain_left = plain_left.checked_sub(made).ok_or_else(wrong)?;
        self.part = match status {
            Status::StreamEnd if (left, plain_left) == (0, 0) => Part::None,
            Status::StreamEnd => return Err(wrong()),
            // No input consumed and no output produced.
            _ if (taken, made) == (0, 0) => return Err(wrong()),
            _ => Part::Packed(left, plain_left),
        };
        Ok(taken)
    }
}

/// Bytes from the front of `packets` to the next packet that begins a request.
fn request_bytes(packets: &[u8]) -> usize {
    let mut at = 0;
    while let Some((length, seq)) = packet::header(&packets[at..]) {
        if at > 0 && seq == 0 {
            return at;
        }
        at = (at + HEADER_BYTES + length).min(packets.len());
    }
    debug_assert_eq!(at, packets.len(), "whole packets");
    packets.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn packed(packets: &[u8]) -> Vec<u8> {
        let mut out = vec![];
        Codec::default().put(packets, &mut out).unwrap();
        out
    }

    /// The decompressed contents when the bytes arrive in pieces of at most `step`.
    fn unpacked(bytes: &[u8], step: usize) -> Result<Vec<u8>> {
        let (mut codec, mut plain, mut at) = (Codec::default(), vec![], 0);
        for end in (0..bytes.len()).step_by(step).skip(1).chain([bytes.len()]) {
            while let Some(taken) = codec.take(&bytes[at..end], &mut plain)? {
                at += taken;
            }
        }
        assert_eq!(at, bytes.len());
        Ok(plain)
    }

    fn request(length: usize) -> Vec<u8> {
        let mut out = vec![];
        packet::write(&mut out, 0, &vec![7; length]);
        out
    }

    #[test]
    fn what_is_short_is_sent_as_it_is() {
        assert_eq!(packed(&request(1)), [5, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 7]);
        let out = packed(&request(45));
        assert_eq!((&out[..HEAD_BYTES], out.len()), (&[49, 0, 0, 0, 0, 0, 0][..], 56));
    }

    #[test]
    fn what_is_long_is_compressed_and_what_does_not_shrink_is_not() {
        let out = packed(&request(1000));
        assert_eq!(out[4..7], [0xec, 0x03, 0]);
        assert_eq!(out[HEAD_BYTES], 0x78, "zlib's first byte");
        assert!(out.len() < 100);
        let noise: Vec<u8> = (0..=255).collect();
        let mut packets = vec![];
        packet::write(&mut packets, 0, &noise);
        assert_eq!(packed(&packets)[4..7], [0, 0, 0]);
    }

    #[test]
    fn each_request_begins_anew_and_long_ones_go_on() {
        let mut both = request(5);
        both.extend(request(6));
        let out = packed(&both);
        assert_eq!((out[3], out[HEAD_BYTES + 9 + 3]), (0, 0));
        let long = request(PAYLOAD_BYTES_MAX + 100);
        let out = packed(&long);
        let first = u32::from_le_bytes([out[0], out[1], out[2], 0]) as usize;
        assert_eq!((out[3], out[HEAD_BYTES + first + 3]), (0, 1));
        assert_eq!(unpacked(&out, out.len()).unwrap(), long);
    }

    #[test]
    fn a_few_bytes_that_hold_megabytes_are_unpacked_piece_by_piece() {
        let long = request(PAYLOAD_BYTES_MAX - HEADER_BYTES - 1);
        let bomb = packed(&long);
        let (mut codec, mut plain, mut at) = (Codec::default(), vec![], 0);
        while let Some(taken) = codec.take(&bomb[at..], &mut plain).unwrap() {
            at += taken;
            assert!(plain.len() <= UNPACKED_BYTES + 1 && plain.capacity() < 4 * UNPACKED_BYTES);
            plain.clear();
        }
        assert!(at == bomb.len() && !codec.is_amid_packet());
    }

    #[test]
    fn lengths_that_lie_are_refused() {
        let good = packed(&request(1000));
        for (at, value) in [(4, 0xed), (4, 0xeb), (HEAD_BYTES, 0), (good.len() - 1, 0)] {
            let mut bad = good.clone();
            bad[at] = value;
            let error = unpacked(&bad, bad.len()).unwrap_err();
            assert_eq!(error.kind, Kind::Protocol, "{at}");
        }
    }

    proptest! {
        #[test]
        fn packets_come_back_however_they_are_cut(
            payloads in prop::collection::vec(prop::collection::vec(0..4u8, 1..400), 1..6),
            step in 1..200usize,
        ) {
            let mut packets = vec![];
            for (seq, payload) in payloads.iter().enumerate() {
                packet::write(&mut packets, seq as u8 % 3, payload);
            }
            prop_assert_eq!(unpacked(&packed(&packets), step).unwrap(), packets);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = Codec::default().take(&bytes, &mut vec![]);
        }
    }
}
