//! One direction of a connection: bytes under way between two sockets, each with the time it arrives.
//!
//! A flow has no clock and no sockets of its own, so that tests drive it under simulated time. Without delay,
//! bytes go from one socket to the other by one read and one write. With delay they wait in a ring buffer.
//! Memory is bounded: no bytes are read while [`WINDOW_BYTES`] are under way, or while the receiver does not
//! take those that have arrived; the sender's TCP then slows it down.

use super::line::Line;
use crate::conditions::Way;
use crate::swallow::Rewrite;
use dyno_core::clock::Clock;
use dyno_core::random::rng::Rng;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};

/// Maximum bytes under way. With `delay` of each way, a connection has at most this much per delay, about
/// what Linux's largest receive window of 3 MiB gives per round trip.
pub const WINDOW_BYTES: usize = 3 << 19;

/// Ring buffers larger than this are given back when they are empty.
const KEEP_BYTES: usize = 64 << 10;

/// How a flow ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The sender has closed its side: so does the relay at the receiver.
    Finished,
    /// The sender's connection broke: the relay resets the receiver's.
    Reset,
    /// The receiver's connection broke: nothing can be delivered any more.
    Undeliverable,
}

/// What arrives at a time: bytes, or the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Bytes(usize),
    End(End),
}

#[derive(Debug, Clone, Copy)]
struct Arrival {
    at_ns: u64,
    what: What,
}

/// What surrounds a flow for one step.
pub struct Around<'a, C> {
    /// The clock.
    pub clock: &'a C,
    /// The conditions of the direction.
    pub way: &'a Way,
    /// The bandwidth that it shares.
    pub line: &'a mut Line,
    /// Buffer for one read.
    pub scratch: &'a mut [u8],
}

/// One direction of a connection.
#[derive(Debug)]
pub struct Flow {
    bytes: VecDeque<u8>,
    arrivals: VecDeque<Arrival>,
    last_ns: u64,
    jitter: Rng,
    /// Changes what passes, with the buffer that it writes to.
    rewriter: Option<(Box<dyn Rewrite>, Vec<u8>)>,
    /// The sender's socket may have bytes or its end.
    pub is_readable: bool,
    /// The sender has closed its side: a read that returns few bytes was not the last one.
    pub is_closing: bool,
    /// The receiver's socket may take bytes.
    pub is_writable: bool,
    /// The sender's connection broke, which its socket may say by a mere end.
    is_source_broken: bool,
    /// Nothing more is read: the end is under way, or has arrived.
    has_ended: bool,
    /// The end has arrived.
    is_over: bool,
    /// The flow waits for its turn on the line.
    pub is_waiting: bool,
    /// The first of its timers.
    pub timer_ns: Option<u64>,
    /// Bytes read so far.
    pub read_bytes: u64,
}

impl Flow {
    /// A flow whose jitter is drawn from `seed`, and whose bytes `rewriter` changes.
    pub fn new(seed: u64, rewriter: Option<Box<dyn Rewrite>>) -> Self {
        Self {
            bytes: VecDeque::new(),
            arrivals: VecDeque::new(),
            last_ns: 0,
            jitter: Rng::new(seed),
            rewriter: rewriter.map(|rewriter| (rewriter, Vec::new())),
            is_readable: false,
            is_closing: false,
            is_writable: false,
            is_source_broken: false,
            has_ended: false,
            is_over: false,
            is_waiting: false,
            timer_ns: None,
            read_bytes: 0,
        }
    }

    /// Whether its end has arrived.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Bytes under way.
    pub fn under_way_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Whether it would read now.
    pub fn wants_bytes(&self, now_ns: u64) -> bool {
        self.is_readable
            && !self.has_ended
            && self.under_way_bytes() < WINDOW_BYTES
            && (self.is_writable || !self.has_arrived(now_ns))
    }

    /// When the next bytes or the end arrive. None while the receiver takes none; a reset needs no room.
    pub fn next_ns(&self) -> Option<u64> {
        let first = self.arrivals.front()?;
        let can_arrive = self.is_writable || first.what == What::End(End::Reset);
        can_arrive.then_some(first.at_ns)
    }

    /// Delivers what has arrived, then reads at most `pieces` times. Returns how the flow ends, once.
    pub fn step<C: Clock>(
        &mut self,
        source: &mut impl Read,
        sink: &mut impl Write,
        around: &mut Around<'_, C>,
        pieces: usize,
    ) -> Option<End> {
        let mut now_ns = around.clock.now_ns();
        let mut ended = self.deliver(now_ns, sink);
        for _ in 0..pieces {
            if ended.is_some() || !self.wants_bytes(now_ns) || !around.line.admits(now_ns) {
                break;
            }
            ended = self.read(source, sink, around);
            now_ns = around.clock.now_ns();
        }
        if ended.is_none() { self.deliver(now_ns, sink) } else { ended }
    }

    /// Reads a piece and sends it on its way, straight to the receiver if nothing delays it.
    fn read<C: Clock>(
        &mut self,
        source: &mut impl Read,
        sink: &mut impl Write,
        around: &mut Around<'_, C>,
    ) -> Option<End> {
        let most = around.line.piece_bytes().min(around.scratch.len());
        let count = match source.read(&mut around.scratch[..most]) {
            Ok(count) => count,
            Err(why) => {
                match why.kind() {
                    ErrorKind::WouldBlock => self.is_readable = false,
                    ErrorKind::Interrupted => {}
                    _ => self.end(around.clock.now_ns(), around.way, End::Reset),
                }
                return None;
            }
        };
        // After the read, so that no byte is delayed by less than asked.
        let now_ns = around.clock.now_ns();
        if count == 0 {
            let end = if self.is_source_broken { End::Reset } else { End::Finished };
            self.end(now_ns, around.way, end);
            return None;
        }
        self.is_readable = count == most || self.is_closing;
        self.read_bytes += count as u64;
        let left_ns = around.line.send(now_ns, count);
        let at_ns = self.arrival_ns(left_ns, around.way);
        let Some((mut rewriter, mut changed)) = self.rewriter.take() else {
            return self.pass(now_ns, at_ns, &around.scratch[..count], sink);
        };
        changed.clear();
        rewriter.rewrite(&around.scratch[..count], &mut changed);
        let end = self.pass(now_ns, at_ns, &changed, sink);
        self.rewriter = Some((rewriter, changed));
        end
    }

    /// Passes a piece that arrives at `at_ns` on: at once, if that is now.
    fn pass(
        &mut self,
        now_ns: u64,
        at_ns: u64,
        piece: &[u8],
        sink: &mut impl Write,
    ) -> Option<End> {
        let mut sent = 0;
        if at_ns <= now_ns && self.is_writable && self.arrivals.is_empty() && !piece.is_empty() {
            match self.taken(sink.write(piece), piece.len()) {
                Ok(taken) => sent = taken,
                Err(end) => return Some(end),
            }
        }
        self.hold(at_ns, &piece[sent..]);
        None
    }

    fn hold(&mut self, at_ns: u64, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.bytes.extend(bytes);
            self.arrivals.push_back(Arrival { at_ns, what: What::Bytes(bytes.len()) });
        }
    }

    /// When what leaves the line at `left_ns` arrives: never before what was sent earlier.
    fn arrival_ns(&mut self, left_ns: u64, way: &Way) -> u64 {
        let jitter_ns = match way.jitter_ns {
            0 => 0,
            most_ns => self.jitter.between(0, most_ns),
        };
        self.last_ns =
            self.last_ns.max(left_ns.saturating_add(way.delay_ns).saturating_add(jitter_ns));
        self.last_ns
    }

    fn end(&mut self, now_ns: u64, way: &Way, end: End) {
        let at_ns = self.arrival_ns(now_ns, way);
        self.has_ended = true;
        self.arrivals.push_back(Arrival { at_ns, what: What::End(end) });
    }

    /// The sender's connection turned out to be broken. What it had sent still arrives, then a reset. False
    /// if its end has arrived already, so that nothing can follow.
    pub fn break_source(&mut self) -> bool {
        if !self.has_ended {
            self.is_source_broken = true;
            self.is_readable = true;
            self.is_closing = true;
        } else if let Some(last) = self.arrivals.back_mut() {
            last.what = What::End(End::Reset);
        }
        !self.is_over
    }

    fn has_arrived(&self, now_ns: u64) -> bool {
        self.arrivals.front().is_some_and(|first| first.at_ns <= now_ns)
    }

    /// Writes what has arrived, as far as the receiver takes it.
    fn deliver(&mut self, now_ns: u64, sink: &mut impl Write) -> Option<End> {
        while self.next_ns().is_some_and(|at_ns| at_ns <= now_ns) {
            if let What::End(end) = self.arrivals[0].what {
                self.arrivals.clear();
                self.is_over = true;
                return Some(end);
            }
            let arrived = self.arrived_bytes(now_ns);
            let (front, _) = self.bytes.as_slices();
            let most = arrived.min(front.len());
            let written = sink.write(&front[..most]);
            match self.taken(written, most) {
                Ok(count) => self.remove(count),
                Err(end) => return Some(end),
            }
        }
        None
    }

    fn arrived_bytes(&self, now_ns: u64) -> usize {
        let arrived = self.arrivals.iter().take_while(|one| one.at_ns <= now_ns);
        let counts = arrived.map_while(|one| match one.what {
            What::Bytes(count) => Some(count),
            What::End(_) => None,
        });
        counts.sum()
    }

    fn remove(&mut self, mut count: usize) {
        self.bytes.drain(..count);
        while let Some(Arrival { what: What::Bytes(bytes), .. }) = self.arrivals.front_mut() {
            if count < *bytes {
                *bytes -= count;
                break;
            }
            count -= *bytes;
            self.arrivals.pop_front();
        }
        if self.bytes.is_empty() && self.bytes.capacity() > KEEP_BYTES {
            self.bytes = VecDeque::new();
        }
    }

    /// How many of `most` bytes the receiver took; the end, if its connection broke.
    fn taken(&mut self, written: io::Result<usize>, most: usize) -> Result<usize, End> {
        match written {
            Ok(count) => {
                self.is_writable = count == most;
                Ok(count)
            }
            Err(why) if why.kind() == ErrorKind::Interrupted => Ok(0),
            Err(why) if why.kind() == ErrorKind::WouldBlock => {
                self.is_writable = false;
                Ok(0)
            }
            Err(_) => {
                self.bytes = VecDeque::new();
                self.arrivals.clear();
                self.has_ended = true;
                self.is_over = true;
                Err(End::Undeliverable)
            }
        }
    }
}
