//! The pcap format: a header, then records, in either byte order, with times in micro- or
//! nanoseconds.

use super::packet::{Found, Packet, Step};
use dyno_protocol::bytes::Bytes;

/// Length of the file header, bytes.
pub const HEADER: usize = 24;
/// Length of a record header, bytes.
const RECORD: usize = 16;
/// Longest plausible packet, bytes.
const LONGEST: usize = 1 << 20;
/// Largest plausible difference between times of neighbouring records, seconds, in a search for a
/// border.
const APART_S: u64 = 7 * 86_400;

const MICROS: u64 = 0xA1B2_C3D4;
const NANOS: u64 = 0xA1B2_3C4D;

/// Byte order, unit of time and link type of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pcap {
    is_big: bool,
    is_nanos: bool,
    link: u32,
    /// Time of the last packet, seconds since 1970.
    last_s: Option<u64>,
}

/// A record's header.
struct Record {
    seconds: u64,
    fraction: u64,
    captured: usize,
    length: usize,
}

/// Whether these bytes begin a file.
pub fn is_begin(bytes: &[u8]) -> bool {
    Pcap::read(bytes).is_some()
}

impl Pcap {
    /// Parses a file header; `None` if the bytes are too few, or no header.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let magic = Bytes(bytes).big(4)?;
        let is_big = matches!(magic, MICROS | NANOS);
        let magic = Bytes(bytes).number(4, is_big)?;
        if !matches!(magic, MICROS | NANOS) {
            return None;
        }
        let mut rest = Bytes(bytes.get(4..HEADER)?);
        if rest.number(2, is_big)? != 2 {
            return None;
        }
        rest.take(14)?;
        let link = rest.number(4, is_big)? as u32 & 0xFFFF;
        Some(Self { is_big, is_nanos: magic == NANOS, link, last_s: None })
    }

    /// Parses the record at the start of `bytes`; `None`: it needs more bytes.
    pub fn step<'a>(&mut self, bytes: &'a [u8]) -> Option<Step<'a>> {
        let Some(record) = self.record(bytes)? else {
            return Some(Step { length: 0, found: Found::Damaged });
        };
        let data = bytes.get(RECORD..RECORD + record.captured)?;
        self.last_s = Some(record.seconds);
        let unit = if self.is_nanos { 1 } else { 1000 };
        let time_ns = record.seconds as i64 * 1_000_000_000 + record.fraction as i64 * unit;
        let packet = Packet {
            time_ns: Some(time_ns),
            link: self.link,
            data,
            length: record.length.max(record.captured),
        };
        Some(Step { length: RECORD + record.captured, found: Found::Packet(packet) })
    }

    /// Whether two plausible records begin here; `None`: the decision needs more bytes.
    pub fn is_border(&self, bytes: &[u8]) -> Option<bool> {
        let Some(first) = self.record(bytes)? else { return Some(false) };
        let is_near = |record: &Record| {
            self.last_s.is_none_or(|last| record.seconds.abs_diff(last) < APART_S)
        };
        if first.captured == 0 || first.captured > first.length || !is_near(&first) {
            return Some(false);
        }
        let second = self.record(bytes.get(RECORD + first.captured..)?)?;
        Some(second.is_some_and(|second| second.seconds.abs_diff(first.seconds) < APART_S))
    }

    /// Parses a record header; `None`: it needs more bytes; inner `None`: it is invalid.
    fn record(&self, bytes: &[u8]) -> Option<Option<Record>> {
        let mut bytes = Bytes(bytes.get(..RECORD)?);
        let mut number = || bytes.number(4, self.is_big);
        let (seconds, fraction) = (number()?, number()?);
        let (captured, length) = (number()? as usize, number()? as usize);
        let fractions = if self.is_nanos { 1_000_000_000 } else { 1_000_000 };
        let is_one = fraction < fractions && captured <= LONGEST;
        Some(is_one.then_some(Record { seconds, fraction, captured, length }))
    }
}
