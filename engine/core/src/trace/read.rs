//! Reads a replay file: checks all of it once, then reads events of any session in place.

use super::bytes::Front;
use super::{
    END, Effect, Event, FRAME_BYTES, HEADER_BYTES, Language, MAGIC, Meta, TAIL_BYTES, VERSION,
};
use crate::Result;
use crate::error::{Error, Kind};

/// Upper bound of the number of sessions.
const SESSIONS_MAX: u32 = 1 << 24;

/// Positions of each session's events.
#[derive(Debug)]
pub struct Index {
    /// Statement language.
    pub language: Language,
    /// Summary.
    pub meta: Meta,
    /// Offset in bytes and length of each payload: blocks of session 0, then of session 1...
    blocks: Vec<(u64, u32)>,
    /// Index of each session's first block in `blocks`, with one entry more than sessions.
    first: Vec<u32>,
}

/// Position in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    block: u32,
    at: u32,
    last_ns: i64,
}

impl Index {
    /// Reads the index of `trace`, and checks every byte of it.
    ///
    /// # Errors
    /// [`Kind::Plan`]: not a replay file, another version, truncated, or damaged, and where.
    pub fn read(trace: &[u8]) -> Result<Self> {
        let language = header(trace)?;
        let end = trace.len() - TAIL_BYTES;
        let tail = &trace[end..];
        if tail[12..] != *END || trace.len() < HEADER_BYTES + TAIL_BYTES {
            return Err(damaged("it has no end")
                .hint("was its writing broken off, or its copying? Make it again"));
        }
        let length = u64::from_le_bytes(tail[4..12].try_into().expect("eight bytes"));
        let begin = usize::try_from(length).ok().and_then(|length| end.checked_sub(length));
        let begin = begin.filter(|&begin| begin >= HEADER_BYTES);
        let begin = begin.ok_or_else(|| damaged("its index is longer than itself"))?;
        let payload = &trace[begin..end];
        if crc32fast::hash(payload).to_le_bytes() != tail[..4] {
            return Err(damaged("its index"));
        }
        let wrong = || damaged("its index says what cannot be");
        let (meta, sizes) = footer(payload).ok_or_else(wrong)?;
        if meta.sessions > SESSIONS_MAX {
            return Err(wrong());
        }
        let index = Self::of(language, meta, &sizes, begin).ok_or_else(wrong)?;
        index.check(trace)?;
        Ok(index)
    }

    /// Reorders the blocks from file order to session order.
    fn of(language: Language, meta: Meta, sizes: &[(u32, u32)], end: usize) -> Option<Self> {
        let mut first = vec![0_u32; meta.sessions as usize + 1];
        for &(session, _) in sizes {
            *first.get_mut(session as usize + 1)? += 1;
        }
        for session in 1..first.len() {
            first[session] += first[session - 1];
        }
        let mut next = first.clone();
        let mut blocks = vec![(0, 0); sizes.len()];
        let mut at = HEADER_BYTES as u64;
        for &(session, length) in sizes {
            if session >= meta.sessions {
                return None;
            }
            let place = &mut next[session as usize];
            blocks[*place as usize] = (at + FRAME_BYTES as u64, length);
            *place += 1;
            at += FRAME_BYTES as u64 + u64::from(length);
        }
        (at == end as u64).then_some(Self { language, meta, blocks, first })
    }

    /// Every block, its checksum and its events.
    fn check(&self, trace: &[u8]) -> Result<()> {
        let mut events = 0;
        for session in 0..self.meta.sessions {
            let mut before_ns = i64::MIN;
            for number in self.first[session as usize]..self.first[session as usize + 1] {
                let (at, length) = self.blocks[number as usize];
                let wrong = || damaged(&format!("its block at byte {at}"));
                let frame = &trace[at as usize - FRAME_BYTES..at as usize];
                let payload = &trace[at as usize..at as usize + length as usize];
                let sum = crc32fast::hash(payload).to_le_bytes();
                if frame[..4] != length.to_le_bytes() || frame[4..] != sum {
                    return Err(wrong());
                }
                let mut front = Front(payload);
                let mut last_ns = begin(&mut front, session).ok_or_else(wrong)?;
                if last_ns < before_ns {
                    return Err(wrong());
                }
                while !front.0.is_empty() {
                    let event = event(&mut front, last_ns).ok_or_else(wrong)?;
                    if event.origin as usize >= self.meta.origins.len() {
                        return Err(wrong());
                    }
                    last_ns = event.begin_ns;
                    events += 1;
                }
                before_ns = last_ns;
            }
        }
        if events != self.meta.events {
            return Err(damaged("it holds other events than its index says"));
        }
        Ok(())
    }

    /// First position of a session. Panics if there is no session of that number.
    pub fn begin(&self, session: u32) -> Place {
        Place { block: self.first[session as usize], at: 0, last_ns: 0 }
    }

    /// The event at `place`, of the same file and session; none at the session's end.
    pub fn next<'a>(&self, trace: &'a [u8], session: u32, place: &mut Place) -> Option<Event<'a>> {
        loop {
            if place.block >= self.first[session as usize + 1] {
                return None;
            }
            let (at, length) = self.blocks[place.block as usize];
            let payload = trace.get(at as usize..at as usize + length as usize)?;
            let mut front = Front(payload.get(place.at as usize..)?);
            if place.at == 0 {
                place.last_ns = begin(&mut front, session)?;
            }
            if front.0.is_empty() {
                (place.block, place.at) = (place.block + 1, 0);
                continue;
            }
            let event = event(&mut front, place.last_ns)?;
            place.last_ns = event.begin_ns;
            place.at = length - front.0.len() as u32;
            return Some(event);
        }
    }
}

fn header(trace: &[u8]) -> Result<Language> {
    if trace.len() < MAGIC.len() || !trace.starts_with(MAGIC) {
        return Err(Error::new(Kind::Plan, "it is no trace")
            .hint("`dyno digest LOG --trace FILE` makes one of a log"));
    }
    if trace.len() < HEADER_BYTES + TAIL_BYTES {
        return Err(damaged("it is cut"));
    }
    let version = u16::from_le_bytes([trace[8], trace[9]]);
    if version != VERSION {
        let what = format!("the trace is of version {version}, this engine reads {VERSION}");
        return Err(Error::new(Kind::Plan, what).hint("make it again from its log"));
    }
    [Language::Mysql, Language::Postgres]
        .into_iter()
        .find(|&language| trace[10..HEADER_BYTES] == [language as u8, 0, 0, 0, 0, 0])
        .ok_or_else(|| damaged("its header"))
}

fn damaged(what: &str) -> Error {
    Error::new(Kind::Plan, format!("the trace is damaged: {what}"))
        .hint("make it again from its log")
}

/// The summary; (session, payload bytes) of each block in file order.
fn footer(payload: &[u8]) -> Option<(Meta, Vec<(u32, u32)>)> {
    let mut front = Front(payload);
    let length = usize::try_from(front.number()?).ok()?;
    let meta = serde_json::from_slice(front.take(length)?).ok()?;
    let blocks = front.number()?;
    let mut sizes = Vec::new();
    for _ in 0..blocks {
        sizes.push((front.small()?, front.small()?));
        front.number()?;
    }
    front.0.is_empty().then_some((meta, sizes))
}

/// The begin of a block's first event; none if the block is of another session.
fn begin(front: &mut Front<'_>, session: u32) -> Option<i64> {
    let of = front.small()?;
    let begin_ns = front.signed()?;
    (of == session).then_some(begin_ns)
}

fn event<'a>(front: &mut Front<'a>, last_ns: i64) -> Option<Event<'a>> {
    let begin_ns = last_ns.checked_add_unsigned(front.number()?)?;
    let duration_ns = front.number()?;
    let effect = *Effect::ALL.get(usize::from(front.byte()?))?;
    let (class, origin) = (front.small()?, front.small()?);
    let length = usize::try_from(front.number()?).ok()?;
    Some(Event { begin_ns, duration_ns, effect, class, origin, text: front.take(length)? })
}
