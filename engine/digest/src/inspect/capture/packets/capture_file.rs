//! Reads packets from capture files of both formats, also from concatenated and damaged files.

use super::packet::{Found, Step};
use super::pcap::{self, Pcap};
use super::pcapng::{self, Section};

/// Number of bytes searched for the next border at a time.
const WINDOW: usize = 1 << 20;

/// Parser of a capture file.
#[derive(Debug, Default)]
pub struct File {
    kind: Option<Kind>,
    /// The start of the next packet is unknown.
    is_lost: bool,
}

#[derive(Debug)]
enum Kind {
    Pcap(Pcap),
    Pcapng(Section),
}

/// Whether a capture file begins here.
pub fn is_begin(bytes: &[u8]) -> bool {
    pcap::is_begin(bytes) || pcapng::is_begin(bytes)
}

impl File {
    /// Parses the piece at the start of `bytes`, which must not be empty. `is_last`: no bytes follow them.
    /// `None`: the parser needs more bytes, and more follow.
    pub fn step<'a>(&mut self, bytes: &'a [u8], is_last: bool) -> Option<Step<'a>> {
        if bytes.len() < pcap::HEADER && !is_last {
            return None;
        }
        if is_begin(bytes) {
            self.is_lost = false;
            self.kind = Pcap::read(bytes).map(Kind::Pcap);
            if self.kind.is_some() {
                return Some(Step { length: pcap::HEADER, found: Found::Nothing });
            }
            self.kind = Some(Kind::Pcapng(Section::default()));
        }
        let is_lost = self.is_lost;
        if !is_lost {
            let step = match &mut self.kind {
                Some(Kind::Pcap(pcap)) => pcap.step(bytes),
                Some(Kind::Pcapng(section)) => section.step(bytes),
                None => Some(Step { length: 0, found: Found::Damaged }),
            };
            match step {
                Some(Step { found: Found::Damaged, .. }) => {}
                None if !is_last => return None,
                None => {}
                step => return step,
            }
        }
        let length = self.border(bytes, usize::from(!is_lost), is_last)?;
        if length == 0 {
            self.is_lost = false;
            return Some(Step { length: 0, found: Found::Nothing });
        }
        self.is_lost = true;
        Some(Step { length, found: Found::Damaged })
    }

    /// Position of the next possible border at or after `from`, at most one window away. `None`: the
    /// search needs more bytes.
    fn border(&self, bytes: &[u8], from: usize, is_last: bool) -> Option<usize> {
        for at in from..WINDOW.min(bytes.len()) {
            let rest = &bytes[at..];
            if is_begin(rest) {
                return Some(at);
            }
            let is_border = match &self.kind {
                Some(Kind::Pcap(pcap)) => pcap.is_border(rest),
                Some(Kind::Pcapng(section)) => section.is_border(rest),
                None => Some(false),
            };
            match is_border {
                Some(true) => return Some(at),
                Some(false) => {}
                None if is_last => {}
                None => return None,
            }
        }
        // A header that begins in the window may extend beyond it.
        (is_last || bytes.len() >= WINDOW + pcap::HEADER).then_some(WINDOW.min(bytes.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// (time, link, data, length) of the packets, and (offset, length) of damaged pieces.
    type Read = (Vec<(Option<i64>, u32, Vec<u8>, usize)>, Vec<(usize, usize)>);

    fn read(file: &[u8]) -> Read {
        let (mut reader, mut at, mut packets, mut damaged) = (File::default(), 0, vec![], vec![]);
        while at < file.len() {
            let step = reader.step(&file[at..], true).unwrap();
            match step.found {
                Found::Packet(p) => packets.push((p.time_ns, p.link, p.data.to_vec(), p.length)),
                Found::Nothing => {}
                Found::Damaged | Found::Broken => damaged.push((at, step.length)),
            }
            at += step.length;
        }
        (packets, damaged)
    }

    fn number(value: u64, n: usize, is_big: bool) -> Vec<u8> {
        let bytes = value.to_le_bytes()[..n].to_vec();
        if is_big { bytes.into_iter().rev().collect() } else { bytes }
    }

    fn pcap(is_big: bool, is_nanos: bool, packets: &[(u64, u64, &[u8], u64)]) -> Vec<u8> {
        let four = |value| number(value, 4, is_big);
        let magic = if is_nanos { 0xA1B2_3C4D } else { 0xA1B2_C3D4 };
        let mut file = [four(magic), number(2, 2, is_big), number(4, 2, is_big)].concat();
        file.extend([four(0), four(0), four(65_535), four(113)].concat());
        for &(seconds, fraction, data, length) in packets {
            let captured = data.len() as u64;
            file.extend([four(seconds), four(fraction), four(captured), four(length)].concat());
            file.extend(data);
        }
        file
    }

    fn block(kind: u64, body: &[u8], is_big: bool) -> Vec<u8> {
        let mut body = body.to_vec();
        body.resize(body.len().next_multiple_of(4), 0);
        let length = number(body.len() as u64 + 12, 4, is_big);
        [number(kind, 4, is_big), length.clone(), body, length].concat()
    }

    #[test]
    fn records_are_read_in_either_byte_order_and_unit() {
        for is_big in [false, true] {
            for (is_nanos, time_ns) in [(false, 5_000_007_000), (true, 5_000_000_007)] {
                let file = pcap(is_big, is_nanos, &[(5, 7, b"abc", 9)]);
                let packet = (Some(time_ns), 113, b"abc".to_vec(), 9);
                assert_eq!(read(&file), (vec![packet], vec![]));
            }
        }
    }

    #[test]
    fn files_behind_each_other_and_what_lies_between_them_are_told_apart() {
        let one = pcap(false, false, &[(5, 7, b"abc", 3), (6, 8, b"def", 3)]);
        let two = pcap(true, true, &[(7, 9, b"ghi", 3)]);
        let file = [&one[..], b"rubbish that is no packet", &two].concat();
        let (packets, damaged) = read(&file);
        assert_eq!((packets.len(), damaged), (3, vec![(one.len(), 25)]));
    }

    #[test]
    fn packets_behind_a_damaged_one_are_found_again() {
        let times: Vec<u8> = vec![1; 40];
        let packets: Vec<_> = (0..9).map(|n| (1_700_000_000 + n, n, &times[..], 40)).collect();
        let mut file = pcap(false, false, &packets);
        // The fourth packet's captured length.
        file[24 + 3 * 56 + 8..24 + 3 * 56 + 12].fill(0xFF);
        let (found, damaged) = read(&file);
        assert_eq!((found.len(), damaged), (8, vec![(24 + 3 * 56, 56)]));
        let (found, damaged) = read(&pcap(false, false, &packets)[..24 + 5 * 56 + 20]);
        assert_eq!((found.len(), damaged), (5, vec![(24 + 5 * 56, 20)]));
    }

    #[test]
    fn blocks_have_interfaces_with_clocks_of_their_own() {
        for is_big in [false, true] {
            let n = |value, length| number(value, length, is_big);
            let section = block(0x0A0D_0D0A, &[n(0x1A2B_3C4D, 4), vec![0; 12]].concat(), is_big);
            let interface = |link, options: &[u8]| {
                block(1, &[&n(link, 2)[..], &[0; 2], &n(96, 4), options].concat(), is_big)
            };
            let option = |code, value: &[u8]| {
                let mut bytes = [&n(code, 2)[..], &n(value.len() as u64, 2), value].concat();
                bytes.resize(bytes.len().next_multiple_of(4), 0);
                bytes
            };
            let packet = |interface, ticks: u64, data: &[u8]| {
                let times = [n(ticks >> 32, 4), n(ticks & 0xFFFF_FFFF, 4)].concat();
                let lengths = [n(data.len() as u64, 4), n(1500, 4)].concat();
                block(6, &[&n(interface, 4)[..], &times, &lengths, data].concat(), is_big)
            };
            let file = [
                section.clone(),
                interface(1, b""),
                interface(276, &[option(2, b"lo"), option(9, &[9]), option(0, b"")].concat()),
                interface(101, &[option(9, &[0x80 | 10]), option(14, &n(100, 8))].concat()),
                packet(0, 5_000_001, b"abc"),
                block(5, b"statistics", is_big),
                packet(1, 5_000_000_001, b"abcd"),
                packet(2, 1536, b"x"),
                packet(3, 1, b"of no interface"),
                block(3, &[&n(5, 4)[..], b"simple"].concat(), is_big),
                section,
                interface(1, b""),
                packet(0, 1, b"y"),
            ];
            let (packets, damaged) = read(&file.concat());
            let times: Vec<_> = packets.iter().map(|packet| (packet.0, packet.1)).collect();
            let expected = [
                (Some(5_000_001_000), 1),
                (Some(5_000_000_001), 276),
                (Some(101_500_000_000), 101),
                (None, 1),
                (Some(1000), 1),
            ];
            assert_eq!(times, expected);
            assert_eq!((packets[1].3, &packets[3].2[..]), (1500, &b"simpl"[..]));
            assert_eq!(damaged.len(), 1);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_come_to_an_end(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..200),
            kind in 0..3,
        ) {
            let begin = match kind {
                0 => pcap(false, false, &[]),
                1 => block(0x0A0D_0D0A, &[number(0x1A2B_3C4D, 4, true), vec![0; 12]].concat(), true),
                _ => vec![],
            };
            bytes.splice(..0, begin);
            read(&bytes);
        }
    }
}
