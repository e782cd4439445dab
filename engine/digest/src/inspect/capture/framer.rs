//! Splits the bytes of one direction into messages, also across gaps of known length. The caller
//! chooses how many bytes of each body to buffer.

use super::position::Position;

/// Longest message body that is buffered whole, in bytes.
pub const LONGEST: usize = 64 << 20;

/// Format of a message header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// MySQL: a length of three bytes, a sequence number of one.
    Mysql,
    /// PostgreSQL: a type byte, then a length of four bytes that includes itself.
    Typed,
    /// PostgreSQL's startup message: a length of four bytes that includes itself.
    Untyped,
    /// PostgreSQL's answer to an encryption request: one byte.
    Byte,
}

impl Style {
    fn header(self) -> usize {
        match self {
            Self::Mysql | Self::Untyped => 4,
            Self::Typed => 5,
            Self::Byte => 1,
        }
    }

    /// Parses a header into (tag, body length); `None` if the length is invalid.
    fn read(self, header: &[u8; 5]) -> Option<(u8, usize)> {
        let [a, b, c, d, e] = *header;
        let big = |bytes: [u8; 4]| usize::try_from(i32::from_be_bytes(bytes)).ok()?.checked_sub(4);
        match self {
            Self::Mysql => Some((d, usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16)),
            Self::Typed => Some((a, big([b, c, d, e])?)),
            Self::Untyped => Some((0, big([a, b, c, d])?)),
            Self::Byte => Some((a, 0)),
        }
    }
}

/// A complete message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// Message type (PostgreSQL) or sequence number (MySQL).
    pub tag: u8,
    /// Length of the body, bytes.
    pub length: usize,
    /// The first bytes of the body, as many as the caller wanted.
    pub body: &'a [u8],
    /// A gap removed bytes that the caller wanted.
    pub is_torn: bool,
    /// Position of the first byte.
    pub begin: Position,
    /// Position of the last byte.
    pub end: Position,
    /// Length of header and body, bytes.
    pub size: usize,
}

impl Message<'_> {
    /// Whether `body` is the whole body.
    pub fn is_whole(&self) -> bool {
        !self.is_torn && self.body.len() == self.length
    }
}

/// Effect of a gap on the stream of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// No wanted byte is missing.
    Harmless,
    /// A message lost wanted bytes.
    Torn,
    /// The start of the next message is unknown.
    Lost,
}

/// Splits the bytes of one direction into messages.
#[derive(Debug)]
pub struct Framer {
    /// Header format of the next message.
    pub style: Style,
    /// The start of the next message is unknown: the framer skips all bytes.
    pub is_lost: bool,
    header: [u8; 5],
    have: usize,
    in_body: bool,
    is_done: bool,
    tag: u8,
    length: usize,
    /// Bytes of the body not yet received.
    left: usize,
    /// How many of these the caller still wants.
    keep: usize,
    is_torn: bool,
    body: Vec<u8>,
    begin: Position,
    last: Position,
}

impl Framer {
    /// Creates a framer positioned at the start of a message.
    pub fn new(style: Style) -> Self {
        Self {
            style,
            is_lost: false,
            header: [0; 5],
            have: 0,
            in_body: false,
            is_done: false,
            tag: 0,
            length: 0,
            left: 0,
            keep: 0,
            is_torn: false,
            body: vec![],
            begin: Position::default(),
            last: Position::default(),
        }
    }

    /// Number of buffered bytes.
    pub fn buffered(&self) -> usize {
        self.body.len()
    }

    /// Discards the partial message; the next byte starts a new one.
    pub fn restart(&mut self) {
        *self = Self::new(self.style);
    }

    /// Skips bytes until [`Framer::restart`].
    pub fn lose(&mut self) {
        self.restart();
        self.is_lost = true;
    }

    /// Returns the next message that these bytes complete, and removes the bytes it consumed from
    /// `bytes`. `keep` maps a tag and a body length to the number of body bytes to buffer.
    #[inline]
    pub fn next<'a, 'b: 'a>(
        &'a mut self,
        bytes: &mut &'b [u8],
        at: Position,
        keep: impl Fn(u8, usize) -> usize,
    ) -> Option<Message<'a>> {
        if self.is_done {
            self.done();
        }
        if self.is_lost {
            *bytes = b"";
            return None;
        }
        if !self.in_body && !self.head(bytes, at, keep) {
            return None;
        }
        if !bytes.is_empty() {
            self.last = at;
        }
        let taken = self.left.min(bytes.len());
        let (mine, rest) = bytes.split_at(taken);
        *bytes = rest;
        let kept = &mine[..self.keep.min(taken)];
        let is_all = taken == self.length;
        if !is_all {
            self.body.extend_from_slice(kept);
            self.keep -= kept.len();
        }
        self.left -= taken;
        if self.left > 0 {
            return None;
        }
        self.is_done = true;
        Some(Message {
            tag: self.tag,
            length: self.length,
            body: if is_all { kept } else { &self.body },
            is_torn: self.is_torn,
            begin: self.begin,
            end: self.last,
            size: self.style.header() + self.length,
        })
    }

    fn done(&mut self) {
        (self.is_done, self.in_body, self.is_torn, self.have) = (false, false, false, 0);
        self.body.clear();
        if self.body.capacity() > 1 << 16 {
            self.body = vec![];
        }
    }

    /// Reads header bytes; returns whether the header is complete and valid.
    fn head(&mut self, bytes: &mut &[u8], at: Position, keep: impl Fn(u8, usize) -> usize) -> bool {
        if bytes.is_empty() {
            return false;
        }
        if self.have == 0 {
            self.begin = at;
        }
        self.last = at;
        let needed = self.style.header();
        let taken = (needed - self.have).min(bytes.len());
        self.header[self.have..self.have + taken].copy_from_slice(&bytes[..taken]);
        *bytes = &bytes[taken..];
        self.have += taken;
        if self.have < needed {
            return false;
        }
        let Some((tag, length)) = self.style.read(&self.header) else {
            self.lose();
            *bytes = b"";
            return false;
        };
        (self.tag, self.length, self.left) = (tag, length, length);
        self.keep = keep(tag, length).min(length).min(LONGEST);
        self.in_body = true;
        true
    }

    /// Skips a gap of `count` bytes. If a message ends within it, the next call of [`Framer::next`]
    /// returns that message.
    pub fn pass(&mut self, count: usize, at: Position) -> Loss {
        if self.is_done {
            self.done();
        }
        if self.is_lost {
            return Loss::Harmless;
        }
        if !self.in_body || count > self.left {
            self.lose();
            return Loss::Lost;
        }
        self.left -= count;
        self.last = at;
        if self.keep == 0 {
            return Loss::Harmless;
        }
        (self.keep, self.is_torn) = (0, true);
        Loss::Torn
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn framed(style: Style, pieces: &[&[u8]], keep: usize) -> Vec<(u8, usize, Vec<u8>)> {
        let (mut framer, mut messages) = (Framer::new(style), vec![]);
        for mut piece in pieces.iter().copied() {
            while let Some(message) = framer.next(&mut piece, Position::default(), |_, _| keep) {
                messages.push((message.tag, message.length, message.body.to_vec()));
            }
        }
        messages
    }

    #[test]
    fn messages_of_every_style_are_cut() {
        let mysql = framed(Style::Mysql, &[b"\x03\0\0\x05abc\0\0\0\x06\x01\0\0\x07d"], 2);
        assert_eq!(mysql, [(5, 3, b"ab".to_vec()), (6, 0, vec![]), (7, 1, b"d".to_vec())]);
        let typed = framed(Style::Typed, &[b"Z\0\0\0\x05IX\0\0\0\x04"], 9);
        assert_eq!(typed, [(b'Z', 1, b"I".to_vec()), (b'X', 0, vec![])]);
        assert_eq!(framed(Style::Untyped, &[b"\0\0\0\x06ab"], 9), [(0, 2, b"ab".to_vec())]);
        assert_eq!(framed(Style::Byte, &[b"N"], 9), [(b'N', 0, vec![])]);
        assert_eq!(framed(Style::Typed, &[b"Z\0\0\0\x03X\0\0\0\x04"], 9), []);
    }

    #[test]
    fn a_gap_within_a_body_does_not_hide_the_next_message() {
        let at = Position::default();
        let mut framer = Framer::new(Style::Mysql);
        let mut bytes = &b"\x06\0\0\0ab"[..];
        assert_eq!(framer.next(&mut bytes, at, |_, _| 9), None);
        assert_eq!(framer.pass(4, at), Loss::Torn);
        let mut bytes = &b"\x06\0\0\x01a"[..];
        let torn = framer.next(&mut bytes, at, |_, _| 1).map(|m| (m.body.to_vec(), m.is_whole()));
        assert_eq!(torn, Some((b"ab".to_vec(), false)));
        assert_eq!(framer.next(&mut bytes, at, |_, _| 1), None);
        assert_eq!(framer.pass(3, at), Loss::Harmless);
        assert_eq!(framer.pass(3, at), Loss::Lost);
        assert!(framer.is_lost);
        framer.restart();
        assert_eq!(framer.pass(1, at), Loss::Lost);
    }

    proptest! {
        #[test]
        fn messages_do_not_depend_on_how_bytes_come(
            bytes in proptest::collection::vec(0..9_u8, 0..80),
            cut in 0..80_usize,
            style in prop_oneof![Just(Style::Mysql), Just(Style::Typed), Just(Style::Untyped)],
            keep in 0..9_usize,
        ) {
            let (front, back) = bytes.split_at(cut.min(bytes.len()));
            prop_assert_eq!(framed(style, &[&bytes], keep), framed(style, &[front, back], keep));
        }
    }
}
