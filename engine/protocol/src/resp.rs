//! RESP, the protocol of Redis: commands are arrays of bulk strings, replies are values.
//!
//! Replies are skipped as they arrive, also in pieces, so that no value is buffered whole unless
//! its reader [keeps](Reader::keep) small ones. Nested values need no stack: the reader counts the
//! values that are still missing.
//!
//! Source: Redis documentation, "Redis serialization protocol specification".

use dyno_core::error::{Error, Kind, Result};
use memchr::memchr;

/// Maximum length of a line (a length, a number, a status or an error), bytes.
pub const LINE_BYTES_MAX: usize = 16 << 10;
/// Maximum length of a bulk string, bytes: the server's default limit (`proto-max-bulk-len`).
pub const BULK_BYTES_MAX: u64 = 512 << 20;
/// Maximum length of a bulk string that is returned whole, bytes.
pub const KEPT_BYTES_MAX: usize = 64 << 10;

const CRLF: &[u8] = b"\r\n";

/// Appends the head of a command of `words` words.
pub fn put_command(words: usize, out: &mut Vec<u8>) {
    put_length(b'*', words, out);
}

/// Appends a word of a command: `head` and `tail` concatenated.
#[inline]
pub fn put_word(head: &[u8], tail: &[u8], out: &mut Vec<u8>) {
    put_length(b'$', head.len() + tail.len(), out);
    out.extend_from_slice(head);
    out.extend_from_slice(tail);
    out.extend_from_slice(CRLF);
}

/// Appends a whole command.
pub fn command(words: &[&[u8]], out: &mut Vec<u8>) {
    put_command(words.len(), out);
    for word in words {
        put_word(word, b"", out);
    }
}

#[inline]
fn put_length(mark: u8, length: usize, out: &mut Vec<u8>) {
    out.push(mark);
    out.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
    out.extend_from_slice(CRLF);
}

/// A value, or the head of an aggregate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token<'a> {
    /// A status: `OK`.
    Status(&'a [u8]),
    /// An error: `ERR unknown command`.
    Error(&'a [u8]),
    /// An integer.
    Integer(i64),
    /// A string that is returned whole.
    Text(&'a [u8]),
    /// A skipped string, floating-point or large number, or boolean.
    Skipped,
    /// A null.
    Null,
    /// An aggregate of this many values, which follow. Of a map: keys and values.
    Many(u64),
}

/// Parses replies.
#[derive(Debug, Default)]
pub struct Reader {
    /// Values missing from the reply; 0 between replies.
    pending: u64,
    /// Bytes of a skipped string that have not arrived, including its end of line.
    skip: usize,
    /// Whether small strings are returned.
    pub keep: bool,
}

impl Reader {
    /// A reader between replies.
    pub fn new(keep: bool) -> Self {
        Self { keep, ..Self::default() }
    }

    /// Whether the last reply is complete and none has begun.
    #[inline]
    pub fn is_between(&self) -> bool {
        self.pending == 0
    }

    /// Whether a string is being skipped in pieces.
    #[inline]
    pub fn is_skipping(&self) -> bool {
        self.skip > 0
    }

    /// Parses the front of `input`: returns the bytes consumed and the value that they complete.
    /// Without a value, the caller must append more bytes to the unconsumed ones.
    ///
    /// # Errors
    /// [`Kind::Protocol`] for bytes that are not RESP, or exceed its limits.
    #[inline]
    pub fn next<'a>(&mut self, input: &'a [u8]) -> Result<(usize, Option<Token<'a>>)> {
        if self.skip > 0 {
            return self.skipped(input);
        }
        let Some(&mark) = input.first() else { return Ok((0, None)) };
        if !b"+-:$*_#,(!=%~".contains(&mark) {
            return Err(rubbish(format!("a value that begins with `{}`", mark.escape_ascii())));
        }
        let Some(end) = line_end(input)? else { return Ok((0, None)) };
        let (line, used) = (&input[1..end], end + CRLF.len());
        let token = match mark {
            b'+' => Token::Status(line),
            b'-' => Token::Error(line),
            b':' => Token::Integer(integer(line)?),
            b'$' | b'=' | b'!' => return self.string(mark, line, used, input),
            b'*' | b'~' | b'%' => match integer(line)? {
                -1 if mark == b'*' => Token::Null,
                count => return self.many(mark, count, used),
            },
            b'_' => Token::Null,
            _ => Token::Skipped,
        };
        self.pending = self.pending.saturating_sub(1);
        Ok((used, Some(token)))
    }

    fn many<'a>(
        &mut self,
        mark: u8,
        count: i64,
        used: usize,
    ) -> Result<(usize, Option<Token<'a>>)> {
        let each = if mark == b'%' { 2 } else { 1 };
        let count = u64::try_from(count).ok().and_then(|count| count.checked_mul(each));
        let left = self.pending.saturating_sub(1);
        let Some((count, pending)) = count.and_then(|n| Some((n, left.checked_add(n)?))) else {
            return Err(rubbish("an array of an impossible length"));
        };
        self.pending = pending;
        Ok((used, Some(Token::Many(count))))
    }

    fn string<'a>(
        &mut self,
        mark: u8,
        line: &[u8],
        used: usize,
        input: &'a [u8],
    ) -> Result<(usize, Option<Token<'a>>)> {
        let length = match integer(line)? {
            -1 if mark == b'$' => {
                self.pending = self.pending.saturating_sub(1);
                return Ok((used, Some(Token::Null)));
            }
            length => u64::try_from(length).ok().filter(|&length| length <= BULK_BYTES_MAX),
        };
        let Some(length) = length.and_then(|length| usize::try_from(length).ok()) else {
            return Err(rubbish("a string of an impossible length"));
        };
        // An error is always returned: it is the reason for a refused command.
        if mark == b'!' && length > KEPT_BYTES_MAX {
            return Err(rubbish("an error of an impossible length"));
        }
        if mark == b'!' || (self.keep && length <= KEPT_BYTES_MAX) {
            let Some(body) = input[used..].get(..length + CRLF.len()) else {
                return Ok((0, None));
            };
            let Some(text) = body.strip_suffix(CRLF) else {
                return Err(rubbish("a string that does not end where it should"));
            };
            self.pending = self.pending.saturating_sub(1);
            let token = if mark == b'!' { Token::Error(text) } else { Token::Text(text) };
            return Ok((used + body.len(), Some(token)));
        }
        // Counts the skipped value itself, so that the reply is not complete before the value's
        // end.
        self.pending = self.pending.max(1);
        self.skip = length + CRLF.len();
        let (more, token) = self.skipped(&input[used..])?;
        Ok((used + more, token))
    }

    #[inline]
    fn skipped<'a>(&mut self, input: &[u8]) -> Result<(usize, Option<Token<'a>>)> {
        let here = self.skip.min(input.len());
        let end = self.skip.saturating_sub(CRLF.len()).min(here);
        for (index, &byte) in input[..here].iter().enumerate().skip(end) {
            if byte != CRLF[CRLF.len() - (self.skip - index)] {
                return Err(rubbish("a string that does not end where it should"));
            }
        }
        self.skip -= here;
        if self.skip > 0 {
            return Ok((here, None));
        }
        self.pending -= 1;
        Ok((here, Some(Token::Skipped)))
    }
}

/// Length of the line at the front of `input`, if it is complete.
#[inline]
fn line_end(input: &[u8]) -> Result<Option<usize>> {
    let window = &input[..input.len().min(LINE_BYTES_MAX)];
    match memchr(b'\n', window) {
        Some(at) if at > 1 && window[at - 1] == b'\r' => Ok(Some(at - 1)),
        // `_\r
        // ` is the shortest possible line.
        Some(_) => Err(rubbish("a line that does not end in CR and LF")),
        None if window.len() == LINE_BYTES_MAX => Err(rubbish("a line without an end")),
        None => Ok(None),
    }
}

fn integer(line: &[u8]) -> Result<i64> {
    let text = std::str::from_utf8(line).ok();
    text.and_then(|text| text.parse().ok()).ok_or_else(|| {
        rubbish(format!("`{}` for a number", line[..line.len().min(40)].escape_ascii()))
    })
}

/// The error of a server that violated the protocol by sending `what`.
pub fn rubbish(what: impl std::fmt::Display) -> Error {
    Error::new(Kind::Protocol, format!("the server sent what Redis's protocol forbids: {what}"))
        .hint("is this the port of a Redis server, with or without TLS as the target says?")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A value in a server's format, and its number of tokens.
    fn value() -> impl Strategy<Value = (Vec<u8>, usize)> {
        let bulk =
            |text: Vec<u8>| [format!("${}\r\n", text.len()).into_bytes(), text, b"\r\n".to_vec()];
        let leaf = prop_oneof![
            any::<i64>().prop_map(|n| (format!(":{n}\r\n").into_bytes(), 1)),
            "[ -~]{0,20}".prop_map(|text| (format!("+{text}\r\n").into_bytes(), 1)),
            "[ -~]{0,20}".prop_map(|text| (format!("-{text}\r\n").into_bytes(), 1)),
            proptest::collection::vec(any::<u8>(), 0..40).prop_map(move |t| (bulk(t).concat(), 1)),
            prop_oneof![Just("$-1"), Just("*-1"), Just("_"), Just("#t"), Just(",1.5"), Just("(12")]
                .prop_map(|text| (format!("{text}\r\n").into_bytes(), 1)),
        ];
        leaf.prop_recursive(4, 24, 5, |inner| {
            (prop_oneof![Just('*'), Just('~'), Just('%')], proptest::collection::vec(inner, 0..5))
                .prop_map(|(mark, mut parts)| {
                    let each = if mark == '%' { 2 } else { 1 };
                    parts.truncate(parts.len() / each * each);
                    let mut bytes = format!("{mark}{}\r\n", parts.len() / each).into_bytes();
                    let count = 1 + parts.iter().map(|part| part.1).sum::<usize>();
                    parts.iter().for_each(|part| bytes.extend_from_slice(&part.0));
                    (bytes, count)
                })
        })
    }

    proptest! {
        #[test]
        fn values_are_read_whole_wherever_they_are_cut(
            (bytes, count) in value(),
            sizes in proptest::collection::vec(1_usize..20, 1..10),
            keep in any::<bool>(),
        ) {
            let mut reader = Reader::new(keep);
            let (mut inbox, mut rest, mut tokens) = (Vec::new(), &bytes[..], 0);
            let mut sizes = sizes.into_iter().cycle();
            loop {
                let (used, token) = reader.next(&inbox).expect("RESP");
                tokens += usize::from(token.is_some());
                let is_stuck = token.is_none();
                inbox.drain(..used);
                if is_stuck {
                    if rest.is_empty() {
                        break;
                    }
                    prop_assert!(tokens < count && (tokens == 0 || !reader.is_between()));
                    let size = sizes.next().unwrap_or(1).min(rest.len());
                    inbox.extend_from_slice(&rest[..size]);
                    rest = &rest[size..];
                }
            }
            prop_assert!(inbox.is_empty() && reader.is_between() && !reader.is_skipping());
            prop_assert_eq!(tokens, count);
        }

        #[test]
        fn commands_read_back(words in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..50), 1..8)) {
            let mut out = Vec::new();
            command(&words.iter().map(Vec::as_slice).collect::<Vec<_>>(), &mut out);
            let mut reader = Reader::new(true);
            let (mut at, token) = reader.next(&out).expect("RESP");
            prop_assert_eq!(token, Some(Token::Many(words.len() as u64)));
            for word in &words {
                let (used, token) = reader.next(&out[at..]).expect("RESP");
                at += used;
                prop_assert_eq!(token, Some(Token::Text(word)));
            }
            prop_assert!(at == out.len() && reader.is_between());
        }
    }
}
