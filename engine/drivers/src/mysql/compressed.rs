//! The compressed protocol: after the login, bytes of packets travel in packets of their own, each
//! with 3 bytes of length, 1 byte of number and 3 bytes of the length before zlib; 0: not compressed.
//!
//! Their borders are not those of the packets within. Numbers begin at 0 with each request. Those of
//! replies are not looked at: servers number them on across requests that are not answered.
//!
//! Source: MySQL client/server protocol, "Compression"; MariaDB knowledge base, "0-Packet".

use super::packet::{self, HEADER_BYTES, PAYLOAD_BYTES_MAX, broken};
use dyno_core::error::{Error, Kind, Result};
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

/// Bytes of a compressed packet's header.
const HEAD_BYTES: usize = 7;

/// What is shorter than this is sent as it is, as servers and their clients do.
const COMPRESSED_BYTES_MIN: usize = 50;

/// Both directions of one connection.
pub struct Codec {
    deflate: Compress,
    inflate: Decompress,
    /// Kept for its memory.
    packed: Vec<u8>,
}

impl Default for Codec {
    fn default() -> Self {
        // zlib's own level, as servers have it.
        let deflate = Compress::new(Compression::default(), true);
        Self { deflate, inflate: Decompress::new(true), packed: vec![] }
    }
}

impl Codec {
    /// Appends `packets`, whole ones, to `out`. One that is numbered 0 begins a request.
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

    /// Compresses into `packed`. False: it would not become shorter.
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

    /// Appends what the compressed packet at the front of `input` holds to `plain`, and returns how
    /// long that packet was. None: it is not whole yet.
    ///
    /// # Errors
    /// [`Kind::Protocol`] for bytes that are no compressed packet.
    pub fn take(&mut self, input: &[u8], plain: &mut Vec<u8>) -> Result<Option<usize>> {
        let Some(head) = input.first_chunk::<HEAD_BYTES>() else { return Ok(None) };
        let length =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], 0]) as usize;
        let (packed_bytes, plain_bytes) = (length(0), length(4));
        let end = HEAD_BYTES + packed_bytes;
        let Some(payload) = input.get(HEAD_BYTES..end) else { return Ok(None) };
        match plain_bytes {
            0 => plain.extend_from_slice(payload),
            _ => self.unpack(payload, plain_bytes, plain)?,
        }
        Ok(Some(end))
    }

    fn unpack(&mut self, payload: &[u8], plain_bytes: usize, plain: &mut Vec<u8>) -> Result<()> {
        let begin = plain.len();
        plain.resize(begin + plain_bytes, 0);
        self.inflate.reset(true);
        let status = self.inflate.decompress(payload, &mut plain[begin..], FlushDecompress::Finish);
        let whole = (payload.len() as u64, plain_bytes as u64);
        let seen = (self.inflate.total_in(), self.inflate.total_out());
        match status {
            Ok(Status::StreamEnd) if seen == whole => Ok(()),
            Ok(_) => Err(broken("a compressed packet of another length than it says")),
            Err(why) => Err(broken(format_args!("a compressed packet that is not zlib's ({why})"))),
        }
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

    /// What comes out when the bytes arrive in pieces of at most `step`.
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
