//! Cuts a log into chunks, each beginning at an event. Threads ask for chunks in turn.
//!
//! Where a chunk ends is decided by the log alone, not by who reads it or when. What a chunk must know
//! of what lies before it comes from the chunk before (`chunk_context`).

use crate::document::NotUnderstood;
use crate::facts::Facts;
use crate::logs::buffer::Buffer;
use crate::logs::format::Format;
use crate::logs::source::{Given, PATIENCE, Source};
use dyno_core::Result;
use dyno_core::error::{Error, Kind};
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of a chunk, about.
pub const CHUNK: usize = 1 << 20;
/// Where the end of a chunk is looked for: so far before the end of what was read, so that the headers
/// there are seen whole.
const TAIL: usize = 64 << 10;
/// No event is longer; memory stays bounded.
pub const EVENT: usize = 64 << 20;
/// So much of the log is looked at to find out its format.
pub const HEAD: usize = 64 << 10;

/// A log's first line may be so long, and its format is still found behind it.
const FIRST_LINE: usize = 16 << 20;

/// Fewer bytes than this may be the begin of a header that has a line's end in it by chance.
const LINE: usize = 32;

/// Some bytes of a log.
pub struct Chunk {
    /// Its place in the log, from 0.
    pub number: u64,
    /// The bytes.
    pub bytes: Buffer,
    /// Where they begin in the log.
    pub offset: u64,
}

/// Hands out the chunks of one log.
pub struct Chunks<'a> {
    source: Source,
    path: &'a str,
    stop: &'static AtomicBool,
    /// Read and not yet handed out: begins at an event.
    left: Buffer,
    /// Where `left` begins.
    offset: u64,
    /// Number of the next chunk.
    number: u64,
    /// Buffers that readers have given back.
    spare: Vec<Buffer>,
    /// How many chunks may be handed out until the next merge.
    budget: u32,
    has_ended: bool,
    /// The rest of an event that was too long is left out.
    is_skipping: bool,
    /// What this found that is no event.
    pub not_understood: Vec<NotUnderstood>,
    /// What the log says of its server, from the chunks read so far, with their numbers.
    pub facts: Facts,
    facts_of: [u64; 4],
}

/// How a read of a chunk went.
enum Filled {
    /// There are as many bytes as were asked for.
    Full,
    /// Fewer; more may come.
    Partly,
    /// Fewer; what is there is whole.
    Whole,
}

impl<'a> Chunks<'a> {
    /// The chunks of a source.
    pub fn new(source: Source, path: &'a str, stop: &'static AtomicBool) -> Self {
        Self {
            source,
            path,
            stop,
            left: Buffer::default(),
            offset: 0,
            number: 0,
            spare: Vec::new(),
            budget: 0,
            has_ended: false,
            is_skipping: false,
            not_understood: Vec::new(),
            facts: Facts::default(),
            facts_of: [u64::MAX; 4],
        }
    }

    /// The first bytes of the log. Waits until there are some, if the source may give more.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn head(&mut self) -> Result<&[u8]> {
        let mut left = std::mem::take(&mut self.left);
        while left.len() < HEAD && !self.stop.load(Ordering::Relaxed) {
            match self.fill(&mut left, HEAD)? {
                Filled::Partly if left.is_empty() => std::thread::sleep(PATIENCE),
                _ => break,
            }
        }
        self.left = left;
        Ok(&self.left)
    }

    /// The bytes that tell the log's format: its first ones, else those behind the line that these end
    /// in, which may be the rest of a long statement: logs are cut anywhere.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn telling(&mut self, is_known: impl Fn(&[u8]) -> bool) -> Result<&[u8]> {
        let head = self.head()?.len().min(HEAD);
        if head < HEAD || is_known(&self.left[..head]) || self.source.is_growing() {
            return Ok(&self.left[..head]);
        }
        let (mut left, mut behind) = (std::mem::take(&mut self.left), head);
        for size in std::iter::successors(Some(CHUNK), |size| Some(size * 2)) {
            let filled = self.fill(&mut left, size.min(FIRST_LINE) + HEAD)?;
            behind = memchr::memchr(b'\n', &left[head..]).map_or(left.len(), |at| head + at + 1);
            let is_seen = left.len() >= behind + HEAD;
            if is_seen || size >= FIRST_LINE || !matches!(filled, Filled::Full) {
                break;
            }
        }
        self.left = left;
        let window = &self.left[behind..self.left.len().min(behind + HEAD)];
        Ok(if is_known(window) { window } else { &self.left[..head] })
    }

    /// Waits until a log that grows begins as `is_known` says, or with a line: its first event may come
    /// in several writes.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn await_begin(&mut self, is_known: impl Fn(&[u8]) -> bool) -> Result<()> {
        let is_line = |head: &[u8]| head.len() >= LINE && head.contains(&b'\n');
        loop {
            let length = self.head()?.len();
            let head = &self.left[..length.min(HEAD)];
            if !self.is_growing_on() || length >= HEAD || is_line(head) || is_known(head) {
                return Ok(());
            }
            std::thread::sleep(PATIENCE);
        }
    }

    /// Lets so many more chunks be handed out.
    pub fn allow(&mut self, budget: u32) {
        self.budget = budget;
    }

    /// Whether all was handed out.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Bytes of log so far, unpacked.
    pub fn bytes(&self) -> u64 {
        self.offset
    }

    /// Where the log comes from.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Gives a buffer back.
    pub fn give_back(&mut self, mut bytes: Buffer) {
        bytes.truncate(0);
        self.spare.push(bytes);
    }

    /// Takes what a chunk says of the server; of several chunks the first that says it counts.
    pub fn tell(&mut self, number: u64, facts: Facts) {
        let [server, threshold, sampled, prefix] = &mut self.facts_of;
        keep_first(number, facts.server, server, &mut self.facts.server);
        keep_first(number, facts.threshold_ns, threshold, &mut self.facts.threshold_ns);
        keep_first(number, facts.sampled_one_of, sampled, &mut self.facts.sampled_one_of);
        keep_first(number, facts.line_prefix, prefix, &mut self.facts.line_prefix);
    }

    /// The next chunk of a divisible log; none: no more until the next merge.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn next(&mut self, format: &dyn Format) -> Result<Option<Chunk>> {
        if self.budget == 0 || self.has_ended || self.must_stop() {
            return Ok(None);
        }
        self.budget -= 1;
        let mut bytes = std::mem::replace(&mut self.left, self.spare.pop().unwrap_or_default());
        let mut size = CHUNK;
        loop {
            let filled = self.fill(&mut bytes, size)?;
            if self.is_skipping
                && !self.skip(&mut bytes, format)
                && !matches!(filled, Filled::Whole)
            {
                // All of it belongs to the event that was too long.
                if matches!(filled, Filled::Partly) {
                    return Ok(None);
                }
                continue;
            }
            let end = match filled {
                Filled::Whole => Some(bytes.len()),
                Filled::Partly => last_boundary(format, &bytes, 0),
                Filled::Full => {
                    let end = last_boundary(format, &bytes, bytes.len().saturating_sub(TAIL));
                    if end.is_none() && bytes.len() >= EVENT {
                        self.is_skipping = true;
                        Some(bytes.len())
                    } else {
                        end
                    }
                }
            };
            if let Some(end) = end {
                self.has_ended = matches!(filled, Filled::Whole) && !self.is_growing_on();
                return Ok(Some(self.cut(bytes, end)));
            }
            if !matches!(filled, Filled::Full) {
                self.left = bytes;
                return Ok(None);
            }
            size = (bytes.len() * 2).min(EVENT);
        }
    }

    /// Whether to leave the rest unread. Of a file that is followed what has been read is still taken.
    fn must_stop(&self) -> bool {
        !self.source.is_growing() && self.stop.load(Ordering::Relaxed)
    }

    /// A file that is followed has no end.
    fn is_growing_on(&self) -> bool {
        self.source.is_growing() && !self.stop.load(Ordering::Relaxed)
    }

    /// Leaves out what belongs to an event that was too long; returns whether its end was found.
    fn skip(&mut self, bytes: &mut Buffer, format: &dyn Format) -> bool {
        let end = format.boundary(bytes, 0);
        self.not_understood.push(NotUnderstood {
            offset: self.offset,
            line: None,
            bytes: end as u64,
            why: "the rest of an event longer than 64 MiB".to_owned(),
        });
        self.is_skipping = end == bytes.len();
        self.offset += end as u64;
        bytes.remove_first(end);
        !self.is_skipping
    }

    /// Cuts a chunk off; what is behind it stays for the next.
    fn cut(&mut self, mut bytes: Buffer, end: usize) -> Chunk {
        self.left.add(&bytes[end..]);
        bytes.truncate(end);
        let chunk = Chunk { number: self.number, offset: self.offset, bytes };
        self.offset += end as u64;
        self.number += 1;
        chunk
    }

    /// Reads until there are `size` bytes, if the source has them.
    fn fill(&mut self, bytes: &mut Buffer, size: usize) -> Result<Filled> {
        loop {
            if bytes.len() >= size {
                return Ok(Filled::Full);
            }
            if self.source.is_growing() && self.stop.load(Ordering::Relaxed) {
                return Ok(Filled::Whole);
            }
            match self.source.give(bytes.room(size)) {
                Ok(Given::Bytes(more)) => bytes.took(more),
                Ok(Given::End | Given::Renewed) => return Ok(Filled::Whole),
                Ok(Given::Nothing) if self.stop.load(Ordering::Relaxed) => {
                    return Ok(Filled::Whole);
                }
                Ok(Given::Nothing) if self.source.is_growing() => return Ok(Filled::Partly),
                Ok(Given::Nothing) => {}
                Err(error) => {
                    let what = format!("{}: after {} bytes: {error}", self.path, self.offset);
                    return Err(Error::new(Kind::System, what)
                        .hint("the disk or the network file system may be at fault"));
                }
            }
        }
    }

    /// Bytes for formats that are read in turn: what was left and more, and whether nothing follows.
    /// None: no more until the next merge.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn more(&mut self, size: usize) -> Result<Option<(Buffer, u64, bool)>> {
        if self.budget == 0 || self.has_ended || self.must_stop() {
            return Ok(None);
        }
        self.budget -= 1;
        let mut bytes = std::mem::take(&mut self.left);
        let is_last = matches!(self.fill(&mut bytes, size)?, Filled::Whole);
        self.has_ended = is_last && !self.is_growing_on();
        Ok(Some((bytes, self.offset, is_last)))
    }

    /// Says how much of these bytes is done with; the rest is given again.
    pub fn done(&mut self, mut bytes: Buffer, count: usize) {
        bytes.remove_first(count);
        self.offset += count as u64;
        self.left = bytes;
    }
}

fn keep_first<T>(number: u64, told: Option<T>, known_of: &mut u64, known: &mut Option<T>) {
    if told.is_some() && number < *known_of {
        (*known, *known_of) = (told, number);
    }
}

/// Where the last events of these bytes begin: at or after `from`, or else earlier; never at 0.
fn last_boundary(format: &dyn Format, bytes: &[u8], from: usize) -> Option<usize> {
    let mut from = from.max(1).min(bytes.len());
    loop {
        let found = format.boundary(bytes, from);
        if found < bytes.len() {
            return Some(found);
        }
        if from <= 1 {
            return None;
        }
        from = bytes.len().saturating_sub((bytes.len() - from) * 4).max(1);
    }
}
