//! The pcapng format: sections of blocks. Each section has a byte order and interfaces; each interface
//! has a link type and a clock.

use super::packet::{Found, Packet, Step};
use dyno_protocol::bytes::Bytes;

/// Type of the block that begins a section; it reads the same in both byte orders.
const SECTION: u64 = 0x0A0D_0D0A;
const INTERFACE: u64 = 1;
const OLD_PACKET: u64 = 2;
const SIMPLE_PACKET: u64 = 3;
const PACKET: u64 = 6;
const ORDER: u64 = 0x1A2B_3C4D;

/// Longest plausible block, bytes.
const LONGEST: usize = 16 << 20;
/// Longest plausible block in a search for a border, bytes.
const LONGEST_AT_BORDER: usize = 1 << 20;
/// Length of an empty block, bytes.
const EMPTY: usize = 12;
/// Maximum number of interfaces per section.
const INTERFACES: usize = 1 << 16;

/// State of the current section.
#[derive(Debug, Clone, Default)]
pub struct Section {
    is_big: bool,
    interfaces: Vec<Interface>,
}

#[derive(Debug, Clone, Copy)]
struct Interface {
    link: u32,
    /// Snapshot length: bytes captured of a packet; 0: all.
    snap: usize,
    /// Time unit: number of decimal places of a second, or of binary places if the highest bit is set.
    resolution: u8,
    offset_s: i64,
}

/// Whether these bytes begin a file.
pub fn is_begin(bytes: &[u8]) -> bool {
    order(bytes).is_some()
}

/// Whether the section that begins here is big-endian.
fn order(bytes: &[u8]) -> Option<bool> {
    if Bytes(bytes).big(4)? != SECTION {
        return None;
    }
    let magic = Bytes(bytes.get(8..12)?);
    let is = |is_big| Bytes(magic.0).number(4, is_big) == Some(ORDER);
    if is(true) { Some(true) } else { is(false).then_some(false) }
}

impl Section {
    /// Parses the block at the start of `bytes`; `None`: it needs more bytes.
    pub fn step<'a>(&mut self, bytes: &'a [u8]) -> Option<Step<'a>> {
        let damaged = Step { length: 0, found: Found::Damaged };
        if bytes.len() < EMPTY {
            return None;
        }
        if Bytes(bytes).big(4)? == SECTION {
            match order(bytes) {
                Some(is_big) => *self = Self { is_big, interfaces: vec![] },
                None => return Some(damaged),
            }
        }
        let Some(length) = self.length(bytes, LONGEST) else { return Some(damaged) };
        let block = bytes.get(..length)?;
        if !self.ends_well(block) {
            return Some(damaged);
        }
        let kind = Bytes(block).number(4, self.is_big)?;
        let found = self.block(kind, &block[8..length - 4]).unwrap_or(Found::Broken);
        Some(Step { length, found })
    }

    /// Whether a valid block begins here; `None`: the decision needs more bytes.
    pub fn is_border(&self, bytes: &[u8]) -> Option<bool> {
        if bytes.len() < EMPTY {
            return None;
        }
        let is_big = order(bytes).unwrap_or(self.is_big);
        let section = Self { is_big, interfaces: vec![] };
        let kind = Bytes(bytes).number(4, is_big)?;
        if kind != SECTION && !(INTERFACE..=PACKET).contains(&kind) {
            return Some(false);
        }
        let Some(length) = section.length(bytes, LONGEST_AT_BORDER) else { return Some(false) };
        Some(section.ends_well(bytes.get(..length)?))
    }

    fn length(&self, bytes: &[u8], longest: usize) -> Option<usize> {
        let length = Bytes(bytes.get(4..8)?).number(4, self.is_big)? as usize;
        (length.is_multiple_of(4) && (EMPTY..=longest).contains(&length)).then_some(length)
    }

    /// Whether the block ends with its length.
    fn ends_well(&self, block: &[u8]) -> bool {
        let end = Bytes(&block[block.len() - 4..]).number(4, self.is_big);
        end == Some(block.len() as u64)
    }

    fn block<'a>(&mut self, kind: u64, body: &'a [u8]) -> Option<Found<'a>> {
        let is_big = self.is_big;
        let mut body = Bytes(body);
        let mut number = |n| body.number(n, is_big);
        match kind {
            INTERFACE => {
                let (link, _) = (number(2)? as u32, number(2)?);
                let snap = number(4)? as usize;
                if self.interfaces.len() == INTERFACES {
                    return None;
                }
                let plain = Interface { link, snap, resolution: 6, offset_s: 0 };
                self.interfaces.push(plain.with(body, is_big));
                Some(Found::Nothing)
            }
            PACKET | OLD_PACKET => {
                let interface = if kind == PACKET { number(4)? } else { number(2)? };
                if kind == OLD_PACKET {
                    number(2)?;
                }
                let ticks = number(4)? << 32 | number(4)?;
                let (captured, length) = (number(4)? as usize, number(4)? as usize);
                let data = body.take(captured)?;
                let interface = self.interfaces.get(interface as usize)?;
                let time_ns = interface.time(ticks);
                let length = length.max(captured);
                Some(Found::Packet(Packet { time_ns, link: interface.link, data, length }))
            }
            SIMPLE_PACKET => {
                let length = number(4)? as usize;
                let interface = self.interfaces.first()?;
                let snap = if interface.snap == 0 { usize::MAX } else { interface.snap };
                let data = body.take(length.min(snap).min(body.0.len()))?;
                let packet = Packet { time_ns: None, link: interface.link, data, length };
                Some(Found::Packet(packet))
            }
            // Name resolution, statistics, decryption secrets, custom blocks.
            _ => Some(Found::Nothing),
        }
    }
}

impl Interface {
    /// Applies the interface's options.
    fn with(mut self, mut options: Bytes<'_>, is_big: bool) -> Self {
        const RESOLUTION: u64 = 9;
        const OFFSET: u64 = 14;
        let mut next = || {
            let (code, length) = (options.number(2, is_big)?, options.number(2, is_big)? as usize);
            let value = options.take(length)?;
            // The last one may lack its padding.
            options.take((length.wrapping_neg() & 3).min(options.0.len()))?;
            Some((code, value))
        };
        while let Some((code, value)) = next() {
            match (code, value) {
                (0, _) => break,
                (RESOLUTION, &[resolution, ..]) => self.resolution = resolution,
                (OFFSET, value) => {
                    let seconds = Bytes(value).number(8, is_big);
                    self.offset_s = seconds.map_or(0, |seconds| seconds as i64);
                }
                _ => {}
            }
        }
        self
    }

    /// Converts ticks to nanoseconds since 1970; `None` on overflow.
    fn time(&self, ticks: u64) -> Option<i64> {
        let ticks = u128::from(ticks);
        let places = u32::from(self.resolution & 0x7F);
        let ns = if self.resolution & 0x80 != 0 {
            (ticks * 1_000_000_000).checked_shr(places)?
        } else if places <= 9 {
            ticks * 10_u128.pow(9 - places)
        } else {
            ticks / 10_u128.checked_pow(places - 9)?
        };
        i64::try_from(ns).ok()?.checked_add(self.offset_s.checked_mul(1_000_000_000)?)
    }
}
