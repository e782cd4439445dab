//! csvlog: one record a message, of 22 columns (8.4), 23 (9.0 to 12), 24 (13) or 26 (14 to 17); text
//! columns are quoted. Of more columns, as later versions may write, the first 23 are read.
//! (PostgreSQL's manual, "Using CSV-Format Log Output".)

use crate::logs::format::{Context, Format, FormatKind, Settings};
use crate::logs::formats::postgres::lines::{Strays, lines};
use crate::logs::formats::postgres::message::Message;
use crate::logs::formats::postgres::prefix::{number, session};
use crate::logs::formats::postgres::state::State;
use crate::logs::formats::postgres::timestamp::begins_with_time;
use crate::logs::formats::postgres::words::Word;
use crate::sink::{Part, Sink};
use crate::sql::language::Language;
use dyno_core::Result;
use std::borrow::Cow;

/// PostgreSQL's csvlog.
pub(in crate::logs::formats) const POSTGRES_CSV: FormatKind = FormatKind {
    name: "postgres-csv",
    about: "PostgreSQL's csvlog",
    is_seen_live: true,
    detect,
    open,
};

struct Csv {
    utc_offset_s: i32,
}

fn open(settings: &Settings, _head: &[u8]) -> Result<Box<dyn Format>> {
    Ok(Box::new(Csv { utc_offset_s: settings.utc_offset_s }))
}

/// Valid numbers of columns.
const COLUMNS: std::ops::RangeInclusive<usize> = 22..=40;

// Indexes of columns.
const TIME: usize = 0;
const USER: usize = 1;
const DATABASE: usize = 2;
const PROCESS: usize = 3;
const CLIENT: usize = 4;
const SESSION: usize = 5;
const SEVERITY: usize = 11;
const SQLSTATE: usize = 12;
const TEXT: usize = 13;
const DETAIL: usize = 14;
const CONTEXT: usize = 18;
const STATEMENT: usize = 19;
const USED: usize = 20;

/// A record's columns, with their quotes.
struct Record<'a> {
    columns: [&'a [u8]; USED],
    /// Length with the line feed, bytes.
    length: usize,
}

/// Why no record could be read.
enum Fault {
    /// The record ends after the bytes.
    Cut,
    Wrong,
}

fn detect(head: &[u8]) -> bool {
    let starts = lines(head, true).take(2000).map(|(begin, _)| begin);
    let mut starts = starts.filter(|begin| begins_with_time(&head[*begin..])).take(20);
    starts.any(|begin| match record(&head[begin..], true) {
        Ok(record) => Word::severity(record.columns[SEVERITY]).is_some(),
        Err(_) => false,
    })
}

impl Format for Csv {
    fn language(&self) -> Language {
        Language::Postgres
    }

    fn read(&self, part: Part<'_>, context: &mut Context, sink: &mut dyn Sink) -> usize {
        let mut state = State::of(context, self.utc_offset_s);
        let mut strays = Strays::default();
        let mut at = 0;
        while at < part.bytes.len() {
            let rest = &part.bytes[at..];
            let offset = part.offset + at as u64;
            let read = record(rest, part.is_last);
            if let Ok(found) = &read
                && message(found, offset, &mut state, context, sink)
            {
                at += found.length;
                continue;
            }
            let length = match next_record(rest) {
                // A truncated record may be complete once more bytes follow.
                _ if matches!(read, Err(Fault::Cut)) && !part.is_last => break,
                Some(next) => next,
                None if part.is_last => rest.len(),
                None => memchr::memrchr(b'\n', rest).map_or(0, |end| end + 1),
            };
            if length == 0 {
                break;
            }
            strays.add(offset, length as u64, "no record of csvlog", sink);
            at += length;
        }
        strays.tell(sink);
        state.keep(context, part.is_last, sink);
        at
    }
}

/// Where the next record may begin: the next line that begins with a timestamp.
fn next_record(bytes: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'\n', bytes).map(|at| at + 1).find(|&at| {
        let line = &bytes[at..];
        line.first().is_some_and(u8::is_ascii_digit) && begins_with_time(line)
    })
}

/// Emits a record as a message; returns false if it is not of this log.
fn message(
    record: &Record<'_>,
    offset: u64,
    state: &mut State,
    context: &mut Context,
    sink: &mut dyn Sink,
) -> bool {
    let columns = &record.columns;
    let Some((length, moment)) = state.clock.read(columns[TIME]) else { return false };
    let Some(word) = Word::severity(columns[SEVERITY]) else { return false };
    if length != columns[TIME].len() {
        return false;
    }
    let pid = number(columns[PROCESS]);
    let client = unquote(columns[CLIENT]);
    let host = match memchr::memrchr(b':', &client) {
        Some(colon) => &client[..colon],
        None => &client[..],
    };
    let message = Message {
        offset,
        bytes: record.length as u64,
        places: &[],
        word,
        end_ns: None,
        user: &unquote(columns[USER]),
        database: &unquote(columns[DATABASE]),
        host,
        sqlstate: columns[SQLSTATE],
        pid,
        session: session(columns[SESSION]).map(|(_, session, _)| session).or(pid),
        text: &unquote(columns[TEXT]),
        detail: &unquote(columns[DETAIL]),
        statement: &unquote(columns[STATEMENT]),
        is_nested: !columns[CONTEXT].is_empty(),
    };
    state.take(message, Some(moment), context, sink);
    true
}

/// Parses the record at the start of `bytes`.
fn record(bytes: &[u8], is_last: bool) -> std::result::Result<Record<'_>, Fault> {
    let mut columns: [&[u8]; USED] = [b""; USED];
    let (mut at, mut count) = (0, 0);
    loop {
        let Some(end) = column_end(bytes, at) else {
            return Err(Fault::Cut);
        };
        if count < USED {
            columns[count] = &bytes[at..end];
        }
        count += 1;
        let rest = &bytes[end..];
        let length = match rest {
            [b',', ..] => {
                at = end + 1;
                if count > *COLUMNS.end() {
                    return Err(Fault::Wrong);
                }
                continue;
            }
            [b'\n', ..] => 1,
            [b'\r', b'\n', ..] => 2,
            [] if is_last => 0,
            [] | [b'\r'] => return Err(Fault::Cut),
            _ => return Err(Fault::Wrong),
        };
        if !COLUMNS.contains(&count) {
            return Err(Fault::Wrong);
        }
        return Ok(Record { columns, length: end + length });
    }
}

/// The end of the column that begins at `at`; `None` if its quote is not closed.
#[inline]
fn column_end(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes.get(at) != Some(&b'"') {
        let rest = &bytes[at..];
        let is_end = |byte: &u8| matches!(byte, b',' | b'\n' | b'\r');
        return Some(at + rest.iter().position(is_end).unwrap_or(rest.len()));
    }
    let mut at = at + 1;
    loop {
        at += memchr::memchr(b'"', bytes.get(at..)?)? + 1;
        if bytes.get(at) != Some(&b'"') {
            return Some(at);
        }
        at += 1;
    }
}

/// A column without its quotes and with doubled quotes made single.
fn unquote(column: &[u8]) -> Cow<'_, [u8]> {
    let Some(inner) = column.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) else {
        return column.into();
    };
    let Some(first) = memchr::memchr(b'"', inner) else { return inner.into() };
    let mut text = Vec::with_capacity(inner.len());
    let (mut begin, mut quote) = (0, first);
    loop {
        // Of two quotes the first remains.
        text.extend_from_slice(&inner[begin..=quote]);
        begin = (quote + 2).min(inner.len());
        match memchr::memchr(b'"', &inner[begin..]) {
            Some(more) => quote = begin + more,
            None => break,
        }
    }
    text.extend_from_slice(&inner[begin..]);
    text.into()
}
