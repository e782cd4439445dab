//! Reassembles TCP: emits the segments of both directions in the order of cause and effect, each byte
//! once.
//!
//! A segment is emitted after all bytes before it, and after all bytes of the other direction that its
//! sender had acknowledged. So a request precedes its answer, whatever their order in the capture. The
//! reassembly skips a gap if the other end has acknowledged the missing bytes (the capture lost them),
//! or if too many segments wait.

use super::packets::ip::Segment;
use super::position::Position;

/// Maximum number of waiting segments.
const HELD: usize = 1024;
/// Maximum size of waiting segments, bytes.
const HELD_BYTES: usize = 8 << 20;
/// Number of later packets after which the capture is taken to lack bytes that the other end has
/// acknowledged.
const PATIENCE: u32 = 32;

/// A piece of one direction's stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Captured bytes.
    Data(&'a [u8]),
    /// So many bytes were sent here, but cut off by the capture's snapshot length.
    Cut(u32),
    /// So many bytes were sent here in packets that the capture lacks.
    Gap(u32),
}

/// Reassembly of a connection's two directions, 0 and 1.
#[derive(Debug, Default)]
pub struct TcpReassembly {
    ways: [Way; 2],
    held: Vec<Held>,
    held_bytes: usize,
    waiting: u32,
}

#[derive(Debug, Default, Clone, Copy)]
struct Way {
    /// Sequence number of the first byte, if the capture holds the SYN.
    begin: Option<u32>,
    /// Sequence number of the next byte to emit.
    next: Option<u32>,
    /// The highest number that the other end has acknowledged.
    acked: Option<u32>,
    /// Bytes were emitted, or the capture holds the SYN.
    has_begun: bool,
    has_ended: bool,
}

#[derive(Debug)]
struct Held {
    way: usize,
    seq: u32,
    ack: Option<u32>,
    data: Vec<u8>,
    missing: u32,
    fin: bool,
    at: Position,
}

/// How far `number` is ahead of `than`, modulo 2^32.
fn ahead(number: u32, than: u32) -> i32 {
    number.wrapping_sub(than) as i32
}

impl TcpReassembly {
    /// Size of the waiting segments, bytes.
    pub fn held_bytes(&self) -> usize {
        self.held_bytes
    }

    /// Whether both directions have ended (FIN).
    pub fn has_ended(&self) -> bool {
        self.ways.iter().all(|way| way.has_ended)
    }

    /// Whether a segment is the SYN of another connection.
    pub fn is_other(&self, way: usize, segment: &Segment<'_>) -> bool {
        let Way { begin, next, .. } = self.ways[way];
        let first = segment.seq.wrapping_add(1);
        segment.syn && begin.or(next).is_some_and(|expected| first != expected)
    }

    /// Whether a segment's number is so near to the expected one that it is a late segment of this
    /// connection.
    pub fn is_near(&self, way: usize, segment: &Segment<'_>) -> bool {
        const NEAR: u32 = 1 << 20;
        self.ways[way].next.is_some_and(|next| ahead(segment.seq, next).unsigned_abs() < NEAR)
    }

    /// Processes a segment of direction `way`; `give` receives the pieces that it makes available.
    pub fn push(
        &mut self,
        way: usize,
        segment: &Segment<'_>,
        at: Position,
        give: &mut dyn FnMut(usize, Piece<'_>, Position),
    ) {
        let seq = segment.seq.wrapping_add(segment.syn.into());
        if segment.syn && !self.ways[way].has_begun {
            let this = &mut self.ways[way];
            (this.begin, this.next, this.has_begun) = (Some(seq), Some(seq), true);
        }
        let this = &mut self.ways[way];
        this.next.get_or_insert(seq);
        if let Some(ack) = segment.ack {
            let other = &mut self.ways[1 - way];
            other.next.get_or_insert(ack);
            let acked = other.acked.get_or_insert(ack);
            if ahead(ack, *acked) > 0 {
                *acked = ack;
            }
        }
        let is_empty = segment.data.is_empty() && segment.missing == 0 && !segment.fin;
        let missing = segment.missing;
        if !is_empty && self.is_ready(way, seq, segment.ack) {
            self.deliver(way, seq, segment.data, missing, segment.fin, at, give);
        } else if !is_empty {
            self.held_bytes += segment.data.len();
            let (ack, data, fin) = (segment.ack, segment.data.to_vec(), segment.fin);
            self.held.push(Held { way, seq, ack, data, missing, fin, at });
        }
        if self.held.is_empty() {
            return;
        }
        self.waiting += 1;
        self.settle(give);
        while !self.held.is_empty()
            && (self.held.len() > HELD
                || self.held_bytes > HELD_BYTES
                || self.waiting > PATIENCE && self.has_lost())
        {
            self.force(give);
        }
    }

    /// Emits all waiting segments at the end of the connection.
    pub fn flush(&mut self, give: &mut dyn FnMut(usize, Piece<'_>, Position)) {
        while !self.held.is_empty() {
            self.force(give);
        }
    }

    fn is_ready(&self, way: usize, seq: u32, ack: Option<u32>) -> bool {
        let in_turn = self.ways[way].next.is_none_or(|next| ahead(seq, next) <= 0);
        let has_cause = match (ack, self.ways[1 - way].next) {
            (Some(ack), Some(next)) => ahead(ack, next) <= 0,
            _ => true,
        };
        in_turn && has_cause
    }

    /// Whether an end has acknowledged bytes that were not yet emitted.
    fn has_lost(&self) -> bool {
        self.ways.iter().any(|way| match (way.acked, way.next) {
            (Some(acked), Some(next)) => ahead(acked, next) > 0,
            _ => false,
        })
    }

    /// Emits all waiting segments that are ready, the oldest first.
    fn settle(&mut self, give: &mut dyn FnMut(usize, Piece<'_>, Position)) {
        while let Some(at) =
            self.held.iter().position(|held| self.is_ready(held.way, held.seq, held.ack))
        {
            let held = self.held.remove(at);
            self.held_bytes -= held.data.len();
            self.deliver(held.way, held.seq, &held.data, held.missing, held.fin, held.at, give);
            self.waiting = 0;
        }
    }

    /// Skips the gap that the oldest segment waits for.
    fn force(&mut self, give: &mut dyn FnMut(usize, Piece<'_>, Position)) {
        let oldest = &self.held[0];
        let (at, mine) = (oldest.at, oldest.way);
        let is_behind_gap = self.ways[mine].next.is_some_and(|next| ahead(oldest.seq, next) > 0);
        let (way, limit) =
            if is_behind_gap { (mine, Some(oldest.seq)) } else { (1 - mine, oldest.ack) };
        let next = self.ways[way].next.unwrap_or_default();
        let first = self.held.iter().filter(|held| held.way == way).map(|held| held.seq);
        let first = first.filter(|&seq| ahead(seq, next) > 0).chain(limit);
        if let Some(until) = first.min_by_key(|&seq| ahead(seq, next))
            && ahead(until, next) > 0
        {
            if self.ways[way].has_begun {
                give(way, Piece::Gap(until.wrapping_sub(next)), at);
            }
            self.ways[way].next = Some(until);
        }
        self.waiting = 0;
        self.settle(give);
    }

    #[allow(clippy::too_many_arguments)]
    fn deliver(
        &mut self,
        way: usize,
        seq: u32,
        data: &[u8],
        missing: u32,
        fin: bool,
        at: Position,
        give: &mut dyn FnMut(usize, Piece<'_>, Position),
    ) {
        let this = &mut self.ways[way];
        let next = this.next.unwrap_or(seq);
        let seen = next.wrapping_sub(seq);
        let length = data.len() as u32;
        let end = seq.wrapping_add(length).wrapping_add(missing);
        if ahead(end, next) > 0 {
            this.next = Some(end);
            this.has_begun = true;
            let fresh = data.get(seen as usize..).unwrap_or(b"");
            if !fresh.is_empty() {
                give(way, Piece::Data(fresh), at);
            }
            let missing = missing - seen.saturating_sub(length).min(missing);
            if missing > 0 {
                give(way, Piece::Cut(missing), at);
            }
        }
        let this = &mut self.ways[way];
        if fin && !this.has_ended && this.next == Some(end) {
            this.has_ended = true;
            this.next = Some(end.wrapping_add(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(seq: u32, ack: u32, data: &'static [u8]) -> Segment<'static> {
        let address = "127.0.0.1:1".parse().unwrap();
        let (from, to, ack) = (address, address, Some(ack));
        let (syn, fin, rst, missing) = (false, false, false, 0);
        Segment { from, to, seq, ack, syn, fin, rst, data, missing }
    }

    /// The emitted pieces, as (way, text), of segments as (way, segment).
    fn given(segments: &[(usize, Segment<'_>)]) -> Vec<(usize, String)> {
        let (mut order, mut given) = (TcpReassembly::default(), vec![]);
        let mut give = |way, piece: Piece<'_>, _| {
            given.push(match piece {
                Piece::Data(data) => (way, String::from_utf8_lossy(data).into_owned()),
                other => (way, format!("{other:?}")),
            });
        };
        for (way, segment) in segments {
            order.push(*way, segment, Position::default(), &mut give);
        }
        order.flush(&mut give);
        given
    }

    fn texts(found: &[(usize, String)]) -> Vec<(usize, &str)> {
        found.iter().map(|(way, text)| (*way, text.as_str())).collect()
    }

    #[test]
    fn an_answer_that_was_captured_first_comes_behind_its_request() {
        let near_the_end = u32::MAX - 1;
        let found = given(&[
            (0, segment(near_the_end, 50, b"ab")),
            (1, segment(50, 3, b"answer")),
            (0, segment(0, 50, b"cde")),
            (0, segment(3, 56, b"f")),
        ]);
        assert_eq!(texts(&found), [(0, "ab"), (0, "cde"), (1, "answer"), (0, "f")]);
    }

    #[test]
    fn every_byte_comes_once() {
        let found = given(&[
            (0, segment(10, 0, b"abc")),
            (0, segment(16, 0, b"ghi")),
            (0, segment(10, 0, b"abcd")),
            (0, segment(10, 0, b"abc")),
            (0, segment(12, 0, b"cdefg")),
            (0, segment(9, 0, b"x")),
        ]);
        assert_eq!(texts(&found), [(0, "abc"), (0, "d"), (0, "efg"), (0, "hi")]);
    }

    #[test]
    fn what_the_other_end_has_and_the_capture_has_not_is_a_gap() {
        let mut segments = vec![(0, segment(10, 0, b"abc")), (0, segment(20, 0, b"x"))];
        segments.extend((0..40).map(|_| (1, segment(0, 21, b""))));
        segments.push((0, segment(13, 0, b"late")));
        let found = given(&segments);
        assert_eq!(texts(&found), [(0, "abc"), (0, "Gap(7)"), (0, "x")]);
    }

    #[test]
    fn a_request_that_is_not_there_does_not_hold_its_answer_for_ever() {
        let found = given(&[
            (0, segment(10, 50, b"abc")),
            (1, segment(50, 13, b"1")),
            (1, segment(51, 20, b"2")),
            (0, segment(20, 52, b"z")),
        ]);
        assert_eq!(texts(&found), [(0, "abc"), (1, "1"), (0, "Gap(7)"), (1, "2"), (0, "z")]);
    }

    #[test]
    fn bytes_that_were_not_kept_are_told() {
        let cut = Segment { missing: 5, ..segment(10, 0, b"abc") };
        let found = given(&[(0, cut), (0, segment(18, 0, b"x")), (0, segment(15, 0, b"defgh"))]);
        assert_eq!(texts(&found), [(0, "abc"), (0, "Cut(5)"), (0, "x"), (0, "h")]);
    }
}
