//! PostgreSQL's log via syslog: each line of a message is a line of syslog, with a number
//! (`syslog_sequence_numbers`), split into pieces of some 900 bytes (`syslog_split_messages`).
//!
//! ```text
//! Nov 22 06:40:01 db1 postgres[7]: [4-1] app@shop LOG:  duration: 2.500 ms  statement: select *
//! Nov 22 06:40:01 db1 postgres[7]: [4-2] #011from t
//! 2026-11-22T06:40:01.389123+01:00 db1 postgres[7]: [5-1] ...
//! <134>1 2026-11-22T06:40:01.389123+01:00 db1 postgres 7 - - [5-1] ...
//! ```
//!
//! Sources: PostgreSQL's manual, "Error Reporting and Logging"; RFC 3164 and RFC 5424; rsyslog's
//! documentation, "escapeControlCharactersOnReceive". Timestamps of RFC 3164 have no year: it is the
//! last one in which the timestamp is not in the future.

use super::relayed_lines::{Piece, Reading};
use crate::facts::Facts;
use crate::logs::format::{Context, Format, FormatKind, Settings};
use crate::logs::formats::postgres::lines::{content, lines};
use crate::logs::formats::postgres::prefix::infer;
use crate::logs::formats::postgres::prefix::{Prefix, number};
use crate::logs::formats::postgres::timestamp::{rfc3339, without_year};
use crate::sink::{Part, Sink};
use crate::sql::language::Language;
use dyno_core::Result;
use std::time::{SystemTime, UNIX_EPOCH};

/// PostgreSQL's log of lines within syslog.
pub(in crate::logs::formats) const POSTGRES_SYSLOG: FormatKind = FormatKind {
    name: "postgres-syslog",
    about: "PostgreSQL's log of lines, sent by syslog",
    is_seen_live: false,
    detect: |head| has_lines(head) && infer::infer(&inner(head)).is_some(),
    open,
};

struct Syslog {
    prefix: Prefix,
    utc_offset_s: i32,
    /// Current time, seconds since 1970.
    now_s: i64,
}

fn open(settings: &Settings, head: &[u8]) -> Result<Box<dyn Format>> {
    let prefix = match &settings.line_prefix {
        Some(text) => Prefix::parse(text)?,
        None => infer::prefix(&inner(head))?,
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now_s = i64::try_from(now.as_secs()).unwrap_or(i64::MAX / 2);
    Ok(Box::new(Syslog { prefix, utc_offset_s: settings.utc_offset_s, now_s }))
}

/// Number of lines examined at the log's start, which may include other programs' lines.
const LINES: usize = 400;

/// Whether a syslog has lines of PostgreSQL.
pub(in crate::logs::formats) fn has_lines(head: &[u8]) -> bool {
    lines(head, true)
        .take(LINES)
        .any(|(_, line)| wrapped(content(line)).is_some_and(|w| w.is_ours()))
}

/// The first lines of PostgreSQL's messages without syslog's header.
fn inner(head: &[u8]) -> Vec<u8> {
    let mut inner = Vec::new();
    for (_, line) in lines(head, head.len() < 64 << 10) {
        let found = wrapped(content(line)).filter(|wrapped| wrapped.is_ours());
        if let Some(found) = found.filter(|found| found.number.is_none_or(|(_, line)| line == 1)) {
            inner.extend_from_slice(found.text);
            inner.push(b'\n');
        }
    }
    inner
}

impl Format for Syslog {
    fn language(&self) -> Language {
        Language::Postgres
    }

    fn read(&self, part: Part<'_>, context: &mut Context, sink: &mut dyn Sink) -> usize {
        let mut reading = Reading::new(&self.prefix, self.utc_offset_s, context, sink);
        let (mut done, mut buffer) = (0, Vec::new());
        for (begin, line) in lines(part.bytes, part.is_last) {
            let (offset, bytes) = (part.offset + begin as u64, line.len() as u64);
            done = begin + line.len();
            match wrapped(content(line)) {
                Some(found) => reading.take(Piece {
                    offset,
                    bytes,
                    pid: found.pid,
                    number: found.number,
                    time_ns: self.time_ns(found.time),
                    text: unescaped(found.text, &mut buffer),
                    is_ours: found.is_ours(),
                }),
                None => reading.stray(offset, bytes, "no line of syslog"),
            }
        }
        reading.end(part);
        done
    }

    fn facts(&self, context: &Context) -> Facts {
        Facts { line_prefix: Some(self.prefix.text.clone()), ..context.facts.clone() }
    }
}

impl Syslog {
    fn time_ns(&self, time: &[u8]) -> Option<i64> {
        match time.first() {
            _ if self.prefix.has_time() => None,
            Some(b'0'..=b'9') => rfc3339(time),
            _ => without_year(time, self.now_s, self.utc_offset_s),
        }
    }
}

/// The parts of a syslog line.
#[derive(Debug, Clone, Copy)]
struct Wrapper<'a> {
    time: &'a [u8],
    program: &'a [u8],
    pid: Option<u64>,
    /// Number of the message and of its line: `[4-1]`.
    number: Option<(u64, u64)>,
    text: &'a [u8],
}

impl Wrapper<'_> {
    /// Whether PostgreSQL wrote the line: it has sequence numbers, or `postgres` in the program's name.
    fn is_ours(&self) -> bool {
        self.number.is_some() || memchr::memmem::find(self.program, b"postgres").is_some()
    }
}

fn wrapped(line: &[u8]) -> Option<Wrapper<'_>> {
    let (line, has_priority) = match line.strip_prefix(b"<") {
        Some(rest) => (&rest[rest.iter().take(4).position(|byte| *byte == b'>')? + 1..], true),
        None => (line, false),
    };
    let found = match line.strip_prefix(b"1 ").filter(|_| has_priority) {
        Some(rest) => rfc5424(rest),
        None => rfc3164(line),
    };
    found.map(numbered)
}

/// The next word, and the text after its space.
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr(b' ', text)?;
    (end > 0).then(|| (&text[..end], &text[end + 1..]))
}

/// `TIME HOST PROGRAM PROCESS MESSAGE-ID DATA TEXT`
fn rfc5424(line: &[u8]) -> Option<Wrapper<'_>> {
    let (time, rest) = word(line)?;
    let (_host, rest) = word(rest)?;
    let (program, rest) = word(rest)?;
    let (pid, rest) = word(rest)?;
    let (_id, rest) = word(rest)?;
    let text = without_data(rest)?;
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    Some(Wrapper { time, program, pid: number(pid), number: None, text })
}

/// The text after structured data: `-`, or elements in brackets, with quoted values.
fn without_data(mut rest: &[u8]) -> Option<&[u8]> {
    if let Some(text) = rest.strip_prefix(b"-") {
        return Some(text.strip_prefix(b" ").unwrap_or(text));
    }
    while rest.first() == Some(&b'[') {
        let (mut is_quoted, mut at) = (false, 1);
        loop {
            match rest.get(at)? {
                b'\\' if is_quoted => at += 1,
                b'"' => is_quoted = !is_quoted,
                b']' if !is_quoted => break,
                _ => {}
            }
            at += 1;
        }
        rest = &rest[at + 1..];
    }
    rest.strip_prefix(b" ")
}

/// `TIME HOST PROGRAM[PROCESS]: TEXT`, with a time of RFC 3164 (`Nov  2 06:40:01`) or of RFC 5424.
fn rfc3164(line: &[u8]) -> Option<Wrapper<'_>> {
    let (time, rest) = match line.first()? {
        b'0'..=b'9' => word(line).filter(|(time, _)| time.len() > 19 && time[10] == b'T')?,
        b'A'..=b'Z' => {
            let (time, rest) = line.split_at_checked(15)?;
            (time, rest.strip_prefix(b" ").filter(|_| time[3] == b' ' && time[12] == b':')?)
        }
        _ => return None,
    };
    let (_host, rest) = word(rest)?;
    let (tag, rest) = rest.split_at(memchr::memchr(b':', rest)?);
    if tag.contains(&b' ') {
        return None;
    }
    let rest = &rest[1..];
    let text = rest.strip_prefix(b" ").unwrap_or(rest);
    let (program, pid) = match tag.strip_suffix(b"]").and_then(|tag| {
        let open = memchr::memrchr(b'[', tag)?;
        Some((&tag[..open], number(&tag[open + 1..])))
    }) {
        Some(found) => found,
        None => (tag, None),
    };
    Some(Wrapper { time, program, pid, number: None, text: without_solaris_id(text) })
}

/// Removes `[ID 748625 local0.info] ` from the start of `text`.
fn without_solaris_id(text: &[u8]) -> &[u8] {
    let rest = text.strip_prefix(b"[ID ").and_then(|rest| {
        let end = memchr::memmem::find(rest, b"] ")?;
        Some(&rest[end + 2..])
    });
    rest.unwrap_or(text)
}

/// Moves `[4-1] ` from the text to the number.
fn numbered(wrapper: Wrapper<'_>) -> Wrapper<'_> {
    let found = wrapper.text.strip_prefix(b"[").and_then(|rest| {
        let end = rest.iter().take(24).position(|byte| *byte == b']')?;
        let dash = memchr::memchr(b'-', &rest[..end])?;
        let both = (number(&rest[..dash])?, number(&rest[dash + 1..end])?);
        Some((both, rest[end + 1..].strip_prefix(b" ")?))
    });
    match found {
        Some((both, text)) => Wrapper { number: Some(both), text, ..wrapper },
        None => wrapper,
    }
}

/// `text` with syslog daemons' escapes (`#011`) replaced by tabs and line ends, in `buffer` if it has
/// `#01`.
fn unescaped<'a>(text: &'a [u8], buffer: &'a mut Vec<u8>) -> &'a [u8] {
    let Some(mut next) = memchr::memmem::find(text, b"#01") else { return text };
    buffer.clear();
    let mut rest = text;
    loop {
        let control = match rest.get(next + 3) {
            Some(b'1') => Some(b'\t'),
            Some(b'2') => Some(b'\n'),
            Some(b'5') => Some(b'\r'),
            _ => None,
        };
        buffer.extend_from_slice(&rest[..next]);
        buffer.extend(control);
        let used = if control.is_some() { 4 } else { 0 };
        let behind = &rest[next + used..];
        // Other text that begins like an escape stays.
        let from = if used == 0 { 3 } else { 0 };
        match memchr::memmem::find(&behind[from..], b"#01") {
            Some(more) => (rest, next) = (behind, from + more),
            None => {
                buffer.extend_from_slice(behind);
                return buffer;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Parts = (String, Option<u64>, Option<(u64, u64)>, String);

    fn parts(line: &str) -> Option<Parts> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        wrapped(line.as_bytes()).map(|w| (text(w.program), w.pid, w.number, text(w.text)))
    }

    #[test]
    fn wrappers_are_taken_off() {
        let expected = Some(("postgres".to_owned(), Some(7), Some((4, 1)), "a: b".to_owned()));
        for line in [
            "Nov 22 06:40:01 db1 postgres[7]: [4-1] a: b",
            "Nov  2 06:40:01 db1 postgres[7]: [ID 748625 local0.info] [4-1] a: b",
            "<134>Nov 22 06:40:01 db1 postgres[7]: [4-1] a: b",
            "2026-11-22T06:40:01.389123+01:00 db1 postgres[7]: [4-1] a: b",
            "<134>1 2026-11-22T06:40:01.389Z db1 postgres 7 - - [4-1] a: b",
            "<134>1 2026-11-22T06:40:01.389Z db1 postgres 7 - [x@1 k=\"]\\\"\"][y] \u{FEFF}[4-1] a: b",
        ] {
            assert_eq!(parts(line), expected, "{line}");
        }
        let (program, pid, number, _) = parts("Nov 22 06:40:01 db1 postgresql-11: x").unwrap();
        assert_eq!((&*program, pid, number), ("postgresql-11", None, None));
        for line in
            ["", "<134", "<1>1 x", "Nov 22 06:40:01", "Nov 22 06:40:01 db1 no tag: x", "LOG:  x"]
        {
            assert_eq!(parts(line), None, "{line}");
        }
    }

    #[test]
    fn escapes_of_control_characters_are_undone() {
        for (text, expected) in [
            ("#011a", "\ta"),
            ("a#011#012b#01", "a\t\nb#01"),
            ("#010#011", "#010\t"),
            ("#0#01", "#0#01"),
            ("plain", "plain"),
        ] {
            assert_eq!(unescaped(text.as_bytes(), &mut Vec::new()), expected.as_bytes());
        }
    }
}
