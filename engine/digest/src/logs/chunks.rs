//! Cuts a log into chunks, each beginning at an event. Threads request chunks in log order.
//!
//! The bytes of the log alone determine where a chunk ends, not the thread or the time of the read. A
//! chunk's parser context comes from the chunk before it (`chunk_context`).

use crate::document::NotUnderstood;
use crate::facts::Facts;
use crate::logs::buffer::Buffer;
use crate::logs::format::Format;
use crate::logs::source::{Given, PATIENCE, Source};
use dyno_core::Result;
use dyno_core::error::{Error, Kind};
use std::sync::atomic::{AtomicBool, Ordering};

/// Usual size of a chunk, bytes.
pub const CHUNK: usize = 1 << 20;
/// Bytes before the end of the buffer from where the search for a chunk's end starts, so that the
/// search sees whole headers.
const TAIL: usize = 64 << 10;
/// Longest event, bytes: bounds memory. The rest of a longer event is skipped.
pub const EVENT: usize = 64 << 20;
/// Bytes at the start of a log from which its format is detected.
pub const HEAD: usize = 64 << 10;

/// Longest first line, bytes, after which the format is still detected.
const FIRST_LINE: usize = 16 << 20;

/// Bytes from which a line end counts: in fewer, it may be a byte of a binary header.
const LINE: usize = 32;

/// A stretch of a log.
pub struct Chunk {
    /// Index in the log, from 0.
    pub number: u64,
    /// The bytes.
    pub bytes: Buffer,
    /// Offset of the bytes in the log.
    pub offset: u64,
}

/// Hands out the chunks of one log.
pub struct Chunks<'a> {
    source: Source,
    path: &'a str,
    stop: &'static AtomicBool,
    /// Bytes that were read and not yet handed out. Begins at an event.
    left: Buffer,
    /// Offset of `left` in the log.
    offset: u64,
    /// Number of the next chunk.
    number: u64,
    /// Buffers that readers have returned.
    spare: Vec<Buffer>,
    /// Number of chunks that may be handed out until the next merge.
    budget: u32,
    has_ended: bool,
    /// Whether the rest of an event longer than [`EVENT`] is being skipped.
    is_skipping: bool,
    /// Bytes skipped here that are not an event.
    pub not_understood: Vec<NotUnderstood>,
    /// Facts that the log states about its server, from the chunks read so far.
    pub facts: Facts,
    facts_of: [u64; 4],
}

/// The result of filling a buffer.
enum Filled {
    /// As many bytes as requested.
    Full,
    /// Fewer bytes; more may come.
    Partly,
    /// Fewer bytes; the source has ended.
    Whole,
}

impl<'a> Chunks<'a> {
    /// Reads chunks from a source; `path` names the log in errors.
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

    /// The first bytes of the log, at least [`HEAD`] if it has them. Waits for the first byte of a source
    /// that may deliver more.
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

    /// The bytes that show the log's format: the log's first bytes, or those after the line in which
    /// these end. That line may be the rest of a long statement, as logs may be cut anywhere.
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

    /// Waits until `is_known` accepts the start of a growing log, or until it has a whole line: the first
    /// event may be written in several writes.
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

    /// Allows `budget` chunks until the next merge.
    pub fn allow(&mut self, budget: u32) {
        self.budget = budget;
    }

    /// Whether the last chunk was handed out.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Bytes of the log handed out so far, decompressed.
    pub fn bytes(&self) -> u64 {
        self.offset
    }

    /// The source of the log.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Returns a buffer for reuse.
    pub fn give_back(&mut self, mut bytes: Buffer) {
        bytes.truncate(0);
        self.spare.push(bytes);
    }

    /// Merges the facts of chunk `number`: for each fact, the earliest chunk that states it wins.
    pub fn tell(&mut self, number: u64, facts: Facts) {
        let [server, threshold, sampled, prefix] = &mut self.facts_of;
        keep_first(number, facts.server, server, &mut self.facts.server);
        keep_first(number, facts.threshold_ns, threshold, &mut self.facts.threshold_ns);
        keep_first(number, facts.sampled_one_of, sampled, &mut self.facts.sampled_one_of);
        keep_first(number, facts.line_prefix, prefix, &mut self.facts.line_prefix);
    }

    /// The next chunk of a divisible log. `None`: no chunk until the next merge.
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
                // All bytes belong to the event that was too long.
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

    /// Whether to leave the rest unread. Bytes already read of a followed file are still handed out.
    fn must_stop(&self) -> bool {
        !self.source.is_growing() && self.stop.load(Ordering::Relaxed)
    }

    /// Whether the file is followed and was not stopped: such a file has no end.
    fn is_growing_on(&self) -> bool {
        self.source.is_growing() && !self.stop.load(Ordering::Relaxed)
    }

    /// Skips the rest of an event that was too long; returns whether its end was found.
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

    /// Cuts off a chunk of `end` bytes; the bytes after it stay for the next chunk.
    fn cut(&mut self, mut bytes: Buffer, end: usize) -> Chunk {
        self.left.add(&bytes[end..]);
        bytes.truncate(end);
        let chunk = Chunk { number: self.number, offset: self.offset, bytes };
        self.offset += end as u64;
        self.number += 1;
        chunk
    }

    /// Reads until `bytes` has `size` bytes or the source has no more.
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

    /// Bytes for formats that are read sequentially: (unread bytes and new ones, their offset, whether
    /// the log ends with them). `None`: no bytes until the next merge.
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

    /// Marks the first `count` of these bytes as read; [`Self::more`] returns the rest again.
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

/// Where the last events of these bytes begin: at or after `from`, otherwise earlier; never at 0.
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
