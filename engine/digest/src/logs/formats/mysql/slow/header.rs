//! The header of an event: lines of `# Name: value` fields.

use super::fields::{Field, decimal, field};
use super::user::{User, short, user};
use super::usual_border::is_second;
use crate::event::{Event, Measure};
use crate::logs::formats::mysql::timestamp::{Stamp, stamp};
use crate::sql::token::bytes::word_end;
use memchr::{memchr, memchr_iter, memmem};

/// Header values in addition to the event's own fields.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Header<'a> {
    /// `# Time: `, if this event has one.
    pub(super) time: Option<Stamp>,
    /// `End: ` of `log_slow_extra`.
    pub(super) end_ns: Option<i64>,
    /// The default database, possibly empty, if this log states it for each event.
    pub(super) schema: Option<&'a [u8]>,
    /// Whether MariaDB wrote the event.
    pub(super) is_mariadb: bool,
    /// Length of the header, bytes.
    pub(super) length: usize,
    /// Offset and length of the first lines that are not a list of fields.
    pub(super) strange: Option<(usize, usize)>,
    /// Whether the line of measures, which all servers write, is missing.
    pub(super) has_no_time: bool,
}

/// Reads the header at the start of `chunk`, an event, into `event`; `known` is the parsed content of its
/// first line `# User@Host: `, if already read.
pub(super) fn header<'a>(
    chunk: &'a [u8],
    mut known: Option<User<'a>>,
    event: &mut Event<'a>,
) -> Header<'a> {
    let mut header = Header::default();
    header.lines(chunk, &mut known, event);
    if event.duration_ns.is_none() {
        header.missing(chunk, &mut known, event);
    }
    header
}

impl<'a> Header<'a> {
    /// Reads further lines while they are header lines.
    #[inline]
    fn lines(&mut self, chunk: &'a [u8], known: &mut Option<User<'a>>, event: &mut Event<'a>) {
        let mut at = self.length;
        while chunk.get(at) == Some(&b'#') {
            let next = memchr(b'\n', &chunk[at..]).map_or(chunk.len(), |end| at + end + 1);
            let line = &chunk[at..next];
            if line.get(2) == Some(&b'a') && line.starts_with(b"# administrator command: ") {
                break;
            }
            if !read(line, known, self, event) {
                self.is_strange(at, next);
            }
            at = next;
        }
        self.length = at;
    }

    /// Called if no duration was read: skips unknown lines in the header if measures follow them.
    #[cold]
    fn missing(&mut self, chunk: &'a [u8], known: &mut Option<User<'a>>, event: &mut Event<'a>) {
        let has_time = |header: &Self| memmem::find(&chunk[..header.length], QUERY_TIME).is_some();
        if !has_time(self)
            && let Some(length) = measures(&chunk[self.length..])
        {
            self.is_strange(self.length, self.length + length);
            self.length += length;
            self.lines(chunk, known, event);
        }
        self.has_no_time = !has_time(self);
    }

    /// Records the first unknown line and the ones directly after it.
    fn is_strange(&mut self, begin: usize, end: usize) {
        match &mut self.strange {
            Some((at, length)) if *at + *length == begin => *length = end - *at,
            Some(_) => {}
            None => self.strange = Some((begin, end - begin)),
        }
    }
}

const QUERY_TIME: &[u8] = b"Query_time: ";

/// Where the first line of measures begins after the unknown part of a header. A damaged line may end
/// without a line feed.
fn measures(rest: &[u8]) -> Option<usize> {
    let near = &rest[..rest.len().min(SPOILT_MAX)];
    memchr_iter(b'#', near).find(|&at| {
        let is_begin = at > 0 && matches!(rest[at - 1], b'\n' | 0);
        is_begin && is_second(&rest[at..])
    })
}

/// Distance after a header's start within which its measures are searched, bytes.
const SPOILT_MAX: usize = 1 << 16;

/// Reads a line; returns false if no server writes such a line.
fn read<'a>(
    line: &'a [u8],
    known: &mut Option<User<'a>>,
    header: &mut Header<'a>,
    event: &mut Event<'a>,
) -> bool {
    let list = match line.get(2) {
        Some(b'U') if line.starts_with(b"# User@Host: ") => {
            let Some(user) = known.take().or_else(|| user(line)) else { return false };
            (event.user, event.host) = (user.name, user.host);
            event.session = user.session.or(event.session);
            user.more
        }
        Some(b'U') if line.starts_with(b"# User: ") => {
            let Some((name, host)) = short(line) else { return false };
            (event.user, event.host) = (name, host);
            b""
        }
        Some(b'T') if line.starts_with(b"# Time: ") => {
            let Some((stamp, length)) = stamp(&line[8..]) else { return false };
            header.time = Some(stamp);
            match second(&line[8 + length..], event) {
                Some(list) => list,
                None => return false,
            }
        }
        Some(b'e') if line.starts_with(b"# explain: ") => return true,
        // A name may contain spaces; in Percona Server's manual the field's name has one, too.
        Some(b'S') if is_routine(line) => return true,
        Some(b'N') if line.starts_with(b"# No InnoDB statistics") => return true,
        Some(_) => &line[1..],
        None => return true,
    };
    // A single call site, so that the compiler inlines it into the loop over lines.
    list.is_empty() || fields(list, header, event)
}

/// Reads the text after a time: nothing, or another header line joined to it. Returns its fields; `None`
/// if it is neither.
#[inline]
fn second<'a>(rest: &'a [u8], event: &mut Event<'a>) -> Option<&'a [u8]> {
    let rest = rest.trim_ascii();
    if rest.is_empty() { Some(rest) } else { second_line(rest, event) }
}

#[cold]
fn second_line<'a>(line: &'a [u8], event: &mut Event<'a>) -> Option<&'a [u8]> {
    let Some(user) = user(line) else {
        let is_line = line.starts_with(b"# ") && !line.starts_with(b"# Time: ");
        return is_line.then(|| &line[1..]);
    };
    (event.user, event.host) = (user.name, user.host);
    event.session = user.session.or(event.session);
    Some(user.more)
}

fn is_routine(line: &[u8]) -> bool {
    line.starts_with(b"# Stored_routine: ") || line.starts_with(b"# Stored routine: ")
}

/// Reads `Name: value` pairs. A value ends at white space, the name of a database at two spaces.
fn fields<'a>(line: &'a [u8], header: &mut Header<'a>, event: &mut Event<'a>) -> bool {
    let line = line.trim_ascii();
    let is_thread_line = line.starts_with(b"Thread_id: ");
    let mut rest = usual(line, event);
    while !rest.is_empty() {
        let length = word_end(rest, 0);
        if length == 0 || rest.get(length) != Some(&b':') {
            // Several lines joined into one.
            match rest.strip_prefix(b"# ") {
                Some(next) => rest = next,
                None => return false,
            }
            continue;
        }
        let field = field(&rest[..length]);
        if field.is_none() && !is_name(&rest[..length]) {
            return false;
        }
        rest = &rest[length + 1..];
        if field == Some(Field::Schema) {
            rest = schema(rest, header);
            continue;
        }
        rest = rest.trim_ascii_start();
        let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        let value = &rest[..end];
        rest = rest[end..].trim_ascii_start();
        if let Some(field) = field {
            set(field, value, header, event);
            // Only MariaDB has this field on this line.
            header.is_mariadb |= is_thread_line && field == MARIADB;
        }
    }
    true
}

/// Reads the fields that all servers write first, while they are in the usual order; returns the rest.
#[inline]
fn usual<'a>(line: &'a [u8], event: &mut Event<'a>) -> &'a [u8] {
    let Some((text, rest)) = value(line, b"Query_time: ") else { return line };
    event.duration_ns = decimal::<9>(text);
    let Some((text, rest)) = value(rest, b"Lock_time: ") else { return rest };
    measure(Measure::LockTime, decimal::<9>(text), event);
    let Some((text, rest)) = value(rest, b"Rows_sent: ") else { return rest };
    measure(Measure::RowsSent, decimal::<0>(text), event);
    let Some((text, rest)) = value(rest, b"Rows_examined: ") else { return rest };
    measure(Measure::RowsExamined, decimal::<0>(text), event);
    rest
}

/// The value after this name and one space, and the rest, if `rest` begins with them.
#[inline]
fn value<'a, const LENGTH: usize>(
    rest: &'a [u8],
    name: &[u8; LENGTH],
) -> Option<(&'a [u8], &'a [u8])> {
    let rest = rest.strip_prefix(name)?;
    let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
    (end > 0).then(|| (&rest[..end], rest[end..].trim_ascii_start()))
}

#[inline]
fn measure(measure: Measure, value: Option<u64>, event: &mut Event<'_>) {
    if let Some(value) = value {
        event.numbers.set(measure, value);
    }
}

/// Whether an unknown word may be the name of a field.
fn is_name(word: &[u8]) -> bool {
    word.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

const MARIADB: Field = Field::Flag(Measure::QueryCacheHit);

/// Reads the name of a database, possibly empty, between one space before and two after it.
fn schema<'a>(rest: &'a [u8], header: &mut Header<'a>) -> &'a [u8] {
    let rest = rest.strip_prefix(b" ").unwrap_or(rest);
    let end = rest.windows(2).position(|pair| pair == b"  ").unwrap_or(rest.len());
    header.schema = Some(&rest[..end]);
    rest[end..].trim_ascii_start()
}

fn set<'a>(field: Field, value: &'a [u8], header: &mut Header<'a>, event: &mut Event<'a>) {
    match field {
        Field::Duration => event.duration_ns = decimal::<9>(value),
        Field::Seconds(name) => measure(name, decimal::<9>(value), event),
        Field::Millis(name) => measure(name, decimal::<6>(value), event),
        Field::Number(name) => measure(name, decimal::<0>(value), event),
        Field::Flag(measure) => match value {
            b"Yes" => event.numbers.set(measure, 1),
            b"No" => event.numbers.set(measure, 0),
            _ => {}
        },
        Field::Session => event.session = decimal::<0>(value),
        Field::Error if value != b"0" => event.error = value,
        Field::RateLimit => {
            event.weight = decimal::<0>(value).and_then(|n| n.try_into().ok()).unwrap_or(0);
        }
        Field::End => {
            header.end_ns = match stamp(value) {
                Some((Stamp::Utc(ns), _)) => Some(ns),
                _ => None,
            }
        }
        Field::Error | Field::Schema => {}
    }
}
