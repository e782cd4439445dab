//! `log_line_prefix`: the text before each message of a log of lines, and its parser.
//! (PostgreSQL's manual, "Error Reporting and Logging", What To Log.)

pub(super) mod infer;

use super::timestamp::{Clock, Timestamp};
use super::words;
use dyno_core::Result;
use dyno_core::error::{Error, Kind};

/// A parsed prefix.
#[derive(Debug, Clone)]
pub(super) struct Prefix {
    pieces: Vec<Piece>,
    /// As written in the server's configuration.
    pub(super) text: String,
}

#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Literal(Vec<u8>),
    /// An escape's letter, and whether it has a padding.
    Field(u8, bool),
    /// `%q`: the prefix of processes without a session ends here.
    SessionsOnly,
}

/// The values of a line's prefix. Empty or `None`: absent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Said<'a> {
    pub(super) moment: Option<Timestamp>,
    pub(super) user: &'a [u8],
    pub(super) database: &'a [u8],
    pub(super) host: &'a [u8],
    pub(super) sqlstate: &'a [u8],
    pub(super) pid: Option<u64>,
    /// `%c`: start time and process id in one number.
    pub(super) session: Option<u64>,
}

/// A line that begins a message or a part of one: prefix, word, text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) said: Said<'a>,
    pub(super) word: words::Word,
    /// The text after the word's colon.
    pub(super) text: &'a [u8],
}

/// Upper limit of a prefix and the word after it, bytes.
const PREFIX_BYTES_MAX: usize = 1024;
/// Maximum number of ends of names tried in a line.
const TRIES_MAX: u32 = 200;

impl Prefix {
    /// # Errors
    /// An escape that PostgreSQL does not have.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut pieces = Vec::new();
        let mut literal = Vec::new();
        let mut bytes = text.bytes().peekable();
        while let Some(byte) = bytes.next() {
            if byte != b'%' {
                literal.push(byte);
                continue;
            }
            let mut is_padded = false;
            while let Some(b'-' | b'0'..=b'9') = bytes.peek() {
                is_padded = true;
                bytes.next();
            }
            let letter = bytes.next();
            if letter == Some(b'%') {
                literal.push(b'%');
                continue;
            }
            if !literal.is_empty() {
                pieces.push(Piece::Literal(std::mem::take(&mut literal)));
            }
            match letter {
                Some(b'q') => pieces.push(Piece::SessionsOnly),
                Some(letter) if b"audrhbpPtmniecslvxQL".contains(&letter) => {
                    pieces.push(Piece::Field(letter, is_padded));
                }
                _ => {
                    return Err(Error::new(
                        Kind::Plan,
                        format!("{text:?} is no log_line_prefix: after % stands no known letter"),
                    )
                    .hint("give the server's own: psql -Atc 'SHOW log_line_prefix'"));
                }
            }
        }
        if !literal.is_empty() {
            pieces.push(Piece::Literal(literal));
        }
        Ok(Self { pieces, text: text.into() })
    }

    /// Number of its escapes.
    pub(super) fn fields(&self) -> usize {
        self.pieces.iter().filter(|piece| matches!(piece, Piece::Field(..))).count()
    }

    /// Whether the prefix has a timestamp.
    pub(super) fn has_time(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Field(b't' | b'm' | b'n', _)))
    }

    /// Parses a line; `None` if it does not begin with this prefix and a word of PostgreSQL's.
    #[inline]
    pub(super) fn read<'a>(&self, line: &'a [u8], clock: &mut Clock) -> Option<Line<'a>> {
        let mut reading = Reading { line, clock, tries: TRIES_MAX, word: None };
        reading.pieces(&self.pieces, 0, Said::default())
    }
}

struct Reading<'a, 'c> {
    line: &'a [u8],
    clock: &'c mut Clock,
    tries: u32,
    /// An offset, and that of the first word at or after it.
    word: Option<(usize, usize)>,
}

/// Whether the line has a word that begins a message or a part of one, within the limit of prefixes.
pub(super) fn has_word(line: &[u8]) -> bool {
    words::first(&line[..line.len().min(PREFIX_BYTES_MAX)], 0).is_some()
}

impl<'a> Reading<'a, '_> {
    fn pieces(&mut self, pieces: &[Piece], mut at: usize, mut said: Said<'a>) -> Option<Line<'a>> {
        for (index, piece) in pieces.iter().enumerate() {
            let rest = &pieces[index + 1..];
            match piece {
                Piece::Literal(literal) => {
                    if !self.line.get(at..)?.starts_with(literal) {
                        return None;
                    }
                    at += literal.len();
                }
                Piece::SessionsOnly => {
                    return self.pieces(rest, at, said).or_else(|| self.message(at, said));
                }
                Piece::Field(letter, is_padded) => {
                    if *is_padded {
                        at += self.spaces(at);
                    }
                    if let Some(length) = self.field(*letter, at, &mut said) {
                        at += length?;
                        if *is_padded {
                            at += self.spaces(at);
                        }
                    } else {
                        return self.name(*letter, rest, at, said);
                    }
                }
            }
        }
        self.message(at, said)
    }

    fn spaces(&self, at: usize) -> usize {
        self.line.get(at..).unwrap_or_default().iter().take_while(|byte| **byte == b' ').count()
    }

    fn message(&self, at: usize, said: Said<'a>) -> Option<Line<'a>> {
        let (word, length) = words::word(self.line.get(at..)?)?;
        Some(Line { said, word, text: &self.line[at + length..] })
    }

    /// Parses a field whose own form shows its end: length in bytes. Outer `None`: the form does not
    /// show it; inner `None`: the field is missing.
    fn field(&mut self, letter: u8, at: usize, said: &mut Said<'a>) -> Option<Option<usize>> {
        let text = self.line.get(at..).unwrap_or_default();
        let digits = || text.iter().take(20).take_while(|byte| byte.is_ascii_digit()).count();
        let some = |length: usize| (length > 0).then_some(length);
        Some(match letter {
            b't' | b'm' => self.clock.read(text).map(|(length, moment)| {
                said.moment = Some(moment);
                length
            }),
            // The start time of the process.
            b's' => self.clock.read(text).map(|(length, _)| length),
            b'n' => epoch(text).map(|(length, ns)| {
                said.moment = Some(Timestamp::At(ns));
                length
            }),
            b'p' => {
                let length = digits();
                said.pid = number(&text[..length]);
                some(length)
            }
            b'P' => Some(digits()),
            b'l' | b'x' => some(digits()),
            b'Q' => {
                let sign = usize::from(text.first() == Some(&b'-'));
                some(sign + text[sign..].iter().take_while(|byte| byte.is_ascii_digit()).count())
            }
            b'e' => {
                let is_state = |byte: &u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
                text.get(..5).filter(|state| state.iter().all(is_state)).map(|state| {
                    said.sqlstate = state;
                    5
                })
            }
            b'c' => session(text).map(|(length, session, pid)| {
                said.session = Some(session);
                said.pid = said.pid.or(Some(pid));
                length
            }),
            b'v' => {
                let is_id = |byte: &&u8| byte.is_ascii_digit() || **byte == b'/';
                Some(text.iter().take_while(is_id).count())
            }
            _ => return None,
        })
    }

    /// Offset of the first word at or after `from`.
    fn word_from(&mut self, from: usize) -> Option<usize> {
        if let Some((since, word)) = self.word
            && since <= from
            && from <= word
        {
            return Some(word);
        }
        let head = &self.line[..self.line.len().min(PREFIX_BYTES_MAX)];
        let word = words::first(head, from)?;
        self.word = Some((from, word));
        Some(word)
    }

    /// Parses a field of arbitrary text: it ends where the rest of the prefix can be parsed.
    fn name(&mut self, letter: u8, rest: &[Piece], at: usize, said: Said<'a>) -> Option<Line<'a>> {
        let text = self.line[..self.line.len().min(PREFIX_BYTES_MAX)].get(at..)?;
        let mut end = 0;
        while self.tries > 0 {
            let word = self.word_from(at + end)?;
            match rest.first() {
                Some(Piece::Literal(literal)) => {
                    end += memchr::memmem::find(text.get(end..)?, literal)?;
                }
                Some(_) => {}
                None => end = word - at,
            }
            // Host names have no spaces.
            if b"hrL".contains(&letter) && text[..end].trim_ascii().contains(&b' ') {
                return None;
            }
            self.tries -= 1;
            if letter == b'r' && !is_remote(trim(&text[..end])) {
                end += 1;
                continue;
            }
            let mut with = said;
            with.set(letter, trim(&text[..end]));
            if let Some(line) = self.pieces(rest, at + end, with) {
                return Some(line);
            }
            // If the next field is of arbitrary text, it has tried all ends: no other end of this one
            // fits.
            if let Some(Piece::Field(b'a' | b'u' | b'd' | b'b' | b'i', _)) = rest.first() {
                return None;
            }
            end += 1;
        }
        None
    }
}

impl<'a> Said<'a> {
    /// How much the values identify: fields with a form of their own count more than names, which match
    /// any text.
    pub(super) fn weight(&self) -> usize {
        let names = [self.user, self.database, self.host];
        let forms = [self.moment.is_some(), self.pid.is_some(), self.session.is_some()];
        let states = usize::from(!self.sqlstate.is_empty());
        names.iter().filter(|name| !name.is_empty()).count()
            + 2 * (forms.iter().filter(|is_there| **is_there).count() + states)
    }

    fn set(&mut self, letter: u8, text: &'a [u8]) {
        let text = if text == b"[unknown]" { b"" } else { text };
        match letter {
            b'u' => self.user = text,
            b'd' => self.database = text,
            b'h' => self.host = text,
            // Without the port in parentheses.
            b'r' => {
                let end = memchr::memrchr(b'(', text).unwrap_or(text.len());
                self.host = &text[..end];
            }
            b'L' if self.host.is_empty() => self.host = text,
            _ => {}
        }
    }
}

/// Whether the text can be `%r`: a host with its port, empty or a socket. Addresses may contain colons.
fn is_remote(text: &[u8]) -> bool {
    matches!(text.first(), None | Some(b'[')) || text.ends_with(b")")
}

fn trim(text: &[u8]) -> &[u8] {
    text.trim_ascii()
}

pub(super) fn number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// `1795326001.389`: (length in bytes, nanoseconds since 1970).
pub(super) fn epoch(text: &[u8]) -> Option<(usize, i64)> {
    let whole = text.iter().take(12).take_while(|byte| byte.is_ascii_digit()).count();
    let seconds = number(&text[..whole])?;
    let fraction = text.get(whole..whole + 4).filter(|rest| rest[0] == b'.')?;
    let millis = number(&fraction[1..])?;
    let ns = i64::try_from(seconds * 1000 + millis).ok()?.checked_mul(1_000_000)?;
    Some((whole + 4, ns))
}

/// `6b028031.29e5`, start time and process id in hexadecimal: (length in bytes, both numbers in one,
/// process id).
pub(super) fn session(text: &[u8]) -> Option<(usize, u64, u64)> {
    let hex = |text: &[u8]| {
        let length = text.iter().take(8).take_while(|byte| byte.is_ascii_hexdigit()).count();
        let number = u64::from_str_radix(std::str::from_utf8(&text[..length]).ok()?, 16).ok()?;
        Some((length, number))
    };
    let (first, start) = hex(text)?;
    let rest = text.get(first..)?.strip_prefix(b".")?;
    let (second, pid) = hex(rest)?;
    Some((first + 1 + second, start << 32 | pid, pid))
}

#[cfg(test)]
mod tests {
    use super::super::words::Word;
    use super::*;

    fn read<'a>(prefix: &str, line: &'a str) -> Option<Line<'a>> {
        let prefix = Prefix::parse(prefix).expect("prefix");
        prefix.read(line.as_bytes(), &mut Clock::new(0))
    }

    #[test]
    fn every_escape_is_read_back() {
        let prefix = "%m %t %s %n [%p] %P|%u@%d/%a %r %h <%b> %i %e %c %l %v %x %Q 100%% ";
        let line = "1970-01-01 00:00:01.500 UTC 1970-01-01 00:00:01 UTC 1970-01-01 00:00:00 UTC \
                    1.500 [12] |me@shop/an app 10.0.0.7(5544) 10.0.0.7 <client backend> SELECT \
                    42P01 6b028031.29e5 3 4/6 0 -69 100% ERROR:  no";
        let line = read(prefix, line).expect("reads");
        assert_eq!(line.word, Word::Error);
        assert_eq!(line.text, b"no");
        let said = line.said;
        assert_eq!(said.moment, Some(Timestamp::At(1_500_000_000)));
        assert_eq!((said.user, said.database), (&b"me"[..], &b"shop"[..]));
        assert_eq!((said.host, said.sqlstate), (&b"10.0.0.7"[..], &b"42P01"[..]));
        assert_eq!(said.pid, Some(12));
        assert_eq!(said.session, Some(0x6b02_8031_0000_29e5));
    }

    #[test]
    fn processes_without_a_session_stop_at_q() {
        let prefix = "%m [%p] %q%u@%d ";
        let line = read(prefix, "1970-01-01 00:00:01.500 UTC [7] LOG:  checkpoint starting: time");
        assert_eq!(line.expect("reads").said.user, b"");
        let line = read(prefix, "1970-01-01 00:00:01.500 UTC [7] a@b LOG:  statement: x");
        assert_eq!(line.expect("reads").said.database, b"b");
    }

    #[test]
    fn names_may_hold_what_follows_them() {
        let line = read("%u@%d ", "me@home@shop LOG:  x").expect("reads");
        assert_eq!(line.said.user, b"me");
        let line = read("%a %u ", "my app me LOG:  x").expect("reads");
        assert_eq!(line.text, b"x");
        let line = read("%a%u LOG ", "xy LOG LOG:  x").expect("reads");
        assert_eq!(line.text, b"x");
    }

    #[test]
    fn names_end_where_a_word_begins() {
        let line = read("%m [%p] %a", "1970-01-01 00:00:01.500 UTC [7] a: B: appLOG:  x");
        assert_eq!(line.expect("reads").text, b"x");
        let long = format!("{} LOG:  x", "a b c d ".repeat(20));
        let line = read("%a%u %d ", &long).expect("reads");
        assert_eq!((line.said.user, line.text), (&b"a"[..], &b"x"[..]));
        assert!(read("%u ", &format!("{} LOG:  x", "a".repeat(PREFIX_BYTES_MAX))).is_none());
        assert!(read("%p %e ", "7 none LOG:  x").is_none());
    }

    #[test]
    fn widths_pad_on_either_side() {
        for line in ["  me|12    |LOG:  x", "me  |12|LOG:  x"] {
            let line = read("%6u|%-6p|", line).expect("reads");
            assert_eq!((line.said.user, line.said.pid), (&b"me"[..], Some(12)));
        }
    }

    #[test]
    fn times_that_nanoseconds_do_not_reach_are_none() {
        assert!(read("%n ", "1795326001.389 LOG:  x").is_some());
        assert!(read("%n ", "999999999999.389 LOG:  x").is_none());
    }

    #[test]
    fn other_lines_are_not_read() {
        assert!(read("%m [%p] ", "1970-01-01 00:00:01.500 UTC LOG:  x").is_none());
        assert!(read("%m [%p] ", "").is_none());
        assert!(read("%a%u%d%h", &"x ".repeat(5000)).is_none());
        assert!(Prefix::parse("%y").is_err());
        assert!(Prefix::parse("100%").is_err());
    }
}
