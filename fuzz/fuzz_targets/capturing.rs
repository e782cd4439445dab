//! Parses arbitrary bytes as a network capture: as the file itself, or as the TCP payload of two peers in a
//! valid file.

use crate::reading::{self, Places, Way};
use dyno_digest::logs::format::Settings;

/// Parses `data` as a capture in format `name` of a server at `port`.
pub fn read(name: &str, port: u16, data: &[u8]) {
    let Some(way) = Way::of(data) else { return };
    let log = log(way.choice, way.log, port);
    reading::read(reading::format(name), Places::Within, &Settings::default(), &way.through(&log));
}

/// Builds the capture, of the variant `kind`. Each segment in `rest` is a byte for side, sequence number and
/// flags, a byte for the length, and the payload.
fn log(kind: u8, mut rest: &[u8], port: u16) -> Vec<u8> {
    if kind & 1 == 1 {
        return rest.to_vec();
    }
    let mut log = 0xA1B2_C3D4_u32.to_le_bytes().to_vec();
    log.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 101, 0, 0, 0]);
    let mut positions = [0_u32; 2];
    let mut time_us = 0_u32;
    if kind & 2 == 2 {
        for (side, flags) in [(0, 2), (1, 18)] {
            packet(&mut log, side, flags, &mut positions, b"", port, time_us, 0);
        }
    }
    while let [head, length, behind @ ..] = rest {
        let (bytes, behind) = behind.split_at((*length as usize).min(behind.len()));
        rest = behind;
        let side = usize::from(head & 1);
        // Some segments are truncated, some retransmitted, some lost.
        let cut = if head & 0x70 == 0x70 { 3 } else { 0 };
        let flags = if head & 0x7E == 0x7E { 17 } else { 16 };
        time_us += 1;
        let before = positions;
        packet(&mut log, side, flags, &mut positions, bytes, port, time_us, cut);
        match head & 0xE0 {
            0x80 => positions = before,
            0xA0 => positions[side] += 5,
            _ => {}
        }
    }
    log
}

#[allow(clippy::too_many_arguments)]
fn packet(
    log: &mut Vec<u8>,
    side: usize,
    flags: u8,
    positions: &mut [u32; 2],
    bytes: &[u8],
    port: u16,
    time_us: u32,
    cut: usize,
) {
    let length = 40 + bytes.len();
    let kept = length - cut.min(bytes.len());
    for number in [1_700_000_000, time_us, kept as u32, length as u32] {
        log.extend(number.to_le_bytes());
    }
    log.extend([0x45, 0, (length >> 8) as u8, length as u8, 0, 0, 0, 0, 64, 6, 0, 0]);
    let ends = [(7, 40_000), (1, port)];
    let (from, to) = (ends[side], ends[1 - side]);
    log.extend([127, 0, 0, from.0, 127, 0, 0, to.0]);
    log.extend([from.1.to_be_bytes(), to.1.to_be_bytes()].concat());
    log.extend(positions[side].to_be_bytes());
    log.extend(positions[1 - side].to_be_bytes());
    log.extend([0x50, flags, 0, 0, 0, 0, 0, 0]);
    log.extend(&bytes[..kept - 40]);
    positions[side] += bytes.len() as u32 + u32::from(flags & 3 != 0);
}
