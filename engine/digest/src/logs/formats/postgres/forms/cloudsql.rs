//! PostgreSQL's log of lines in Google Cloud's export: one JSON object an entry, one a line (Cloud
//! Storage) or in an array (`gcloud logging read --format=json`). An entry has one or several lines of
//! the log of Cloud SQL or AlloyDB.
//!
//! ```text
//! {"insertId":"s=1","logName":"projects/p/logs/cloudsql.googleapis.com%2Fpostgres.log",
//!  "textPayload":"2026-11-22 05:40:01.389 UTC [7]: [4-1] db=shop,user=app LOG:  ...","timestamp":"..."}
//! ```
//!
//! Sources: Google Cloud's documentation, "LogEntry"; reports of users of such exports, by which further
//! lines of a message are entries of their own, without a prefix, and old ones have no timestamp.

use super::relayed_lines::{Piece, Reading};
use crate::facts::Facts;
use crate::logs::format::{Context, Format, FormatKind, Settings};
use crate::logs::formats::json::{Members, Value, unescape};
use crate::logs::formats::postgres::prefix::Prefix;
use crate::logs::formats::postgres::prefix::infer;
use crate::logs::formats::postgres::timestamp::rfc3339;
use crate::sink::{Part, Sink};
use crate::sql::language::Language;
use dyno_core::Result;

/// PostgreSQL's log of lines in Google Cloud's JSON.
pub(in crate::logs::formats) const POSTGRES_CLOUDSQL: FormatKind = FormatKind {
    name: "postgres-cloudsql",
    about: "PostgreSQL's log of lines in Google Cloud's JSON (Cloud SQL, AlloyDB)",
    is_seen_live: false,
    detect: has_entries,
    open,
};

struct CloudSql {
    prefix: Prefix,
    utc_offset_s: i32,
}

fn open(settings: &Settings, head: &[u8]) -> Result<Box<dyn Format>> {
    let prefix = match &settings.line_prefix {
        Some(text) => Prefix::parse(text)?,
        None => infer::prefix(&inner(head))?,
    };
    Ok(Box::new(CloudSql { prefix, utc_offset_s: settings.utc_offset_s }))
}

/// Whether `head` has an entry of such a log.
pub(in crate::logs::formats) fn has_entries(head: &[u8]) -> bool {
    Objects { bytes: head, at: 0 }
        .take(20)
        .any(|object| matches!(object, Object::Whole(_, bytes) if entry(bytes).is_ok()))
}

/// The first lines without their JSON.
fn inner(head: &[u8]) -> Vec<u8> {
    let (mut inner, mut buffer) = (Vec::new(), Vec::new());
    for object in (Objects { bytes: head, at: 0 }) {
        if let Object::Whole(_, bytes) = object
            && let Ok(entry) = entry(bytes)
        {
            inner.extend_from_slice(unescape(entry.text, &mut buffer));
            inner.push(b'\n');
        }
    }
    inner
}

impl Format for CloudSql {
    fn language(&self) -> Language {
        Language::Postgres
    }

    fn read(&self, part: Part<'_>, context: &mut Context, sink: &mut dyn Sink) -> usize {
        let mut reading = Reading::new(&self.prefix, self.utc_offset_s, context, sink);
        let mut buffer = Vec::new();
        let mut objects = Objects { bytes: part.bytes, at: 0 };
        for object in objects.by_ref() {
            let (at, length) = object.place();
            let (offset, bytes) = (part.offset + at as u64, length as u64);
            let Object::Whole(_, text) = object else {
                reading.stray(offset, bytes, NO_ENTRY);
                continue;
            };
            match entry(text) {
                Ok(entry) => take(&entry, offset, bytes, &mut buffer, &mut reading),
                Err(why) => reading.stray(offset, bytes, why),
            }
        }
        let mut done = objects.at;
        if part.is_last && done < part.bytes.len() {
            reading.stray(part.offset + done as u64, (part.bytes.len() - done) as u64, NO_ENTRY);
            done = part.bytes.len();
        }
        reading.end(part);
        done
    }

    fn facts(&self, context: &Context) -> Facts {
        Facts { line_prefix: Some(self.prefix.text.clone()), ..context.facts.clone() }
    }
}

const NO_ENTRY: &str = "no entry of Google Cloud's JSON";

/// Reads the lines of an entry. Each line gets a byte range of its own: the last ones at the entry's end,
/// as long as their texts, and the first the rest.
fn take(
    entry: &Entry<'_>,
    offset: u64,
    bytes: u64,
    buffer: &mut Vec<u8>,
    reading: &mut Reading<'_>,
) {
    let time_ns = if reading.prefix.has_time() { None } else { rfc3339(entry.time) };
    let text = unescape(entry.text, buffer).trim_ascii_end();
    let (mut begin, mut behind) = (0, text.len() as u64);
    for text in text.split(|byte| *byte == b'\n') {
        behind = behind.saturating_sub(text.len() as u64 + 1);
        let end = bytes.saturating_sub(behind);
        reading.take(Piece {
            offset: offset + begin,
            bytes: end - begin,
            pid: None,
            number: None,
            time_ns,
            text,
            is_ours: true,
        });
        begin = end;
    }
}

/// The members read of an object; strings as written between their quotes.
#[derive(Debug, Clone, Copy, Default)]
struct Entry<'a> {
    text: &'a [u8],
    time: &'a [u8],
}

/// Parses an object.
fn entry(object: &[u8]) -> std::result::Result<Entry<'_>, &'static str> {
    let (mut found, mut text, mut is_ours) = (Entry::default(), None, false);
    let mut members = Members::new(object).ok_or(NO_ENTRY)?;
    for (key, value) in members.by_ref() {
        match (key, value) {
            (b"textPayload", Value::String(payload)) => text = Some(payload),
            (b"jsonPayload", Value::Object(_)) => {
                text = value.member(b"message").and_then(Value::string);
            }
            (b"timestamp", Value::String(time)) => found.time = time,
            (b"logName", Value::String(name)) => {
                is_ours = name.ends_with(b"%2Fpostgres.log") || name.ends_with(b"/postgres.log");
            }
            _ => {}
        }
    }
    match text {
        _ if !members.is_whole() => Err(NO_ENTRY),
        Some(text) if is_ours => {
            found.text = text;
            Ok(found)
        }
        _ => Err("an entry of another log"),
    }
}

/// Iterates over objects and the bytes between them, each with its offset.
struct Objects<'a> {
    bytes: &'a [u8],
    at: usize,
}

#[derive(Debug, PartialEq, Eq)]
enum Object<'a> {
    Whole(usize, &'a [u8]),
    /// Bytes that are not an object.
    Torn(usize, &'a [u8]),
}

impl Object<'_> {
    fn place(&self) -> (usize, usize) {
        let (Object::Whole(at, bytes) | Object::Torn(at, bytes)) = self;
        (*at, bytes.len())
    }
}

impl<'a> Iterator for Objects<'a> {
    type Item = Object<'a>;

    /// `None`: no more bytes, or an object that is not complete yet.
    fn next(&mut self) -> Option<Object<'a>> {
        let is_between = |byte: &u8| byte.is_ascii_whitespace() || b"[],".contains(byte);
        self.at += self.bytes[self.at..].iter().take_while(|byte| is_between(byte)).count();
        let begin = self.at;
        match end(self.bytes, begin) {
            End::Open => None,
            End::Whole(end) => {
                self.at = end;
                Some(Object::Whole(begin, &self.bytes[begin..end]))
            }
            End::Torn(end) => {
                self.at = end;
                Some(Object::Torn(begin, &self.bytes[begin..end]))
            }
        }
    }
}

/// The end of an object or string.
enum End {
    Whole(usize),
    /// It is truncated: a line ends within a string, or an object begins a line within another one.
    Torn(usize),
    /// It ends after these bytes.
    Open,
}

fn end(bytes: &[u8], begin: usize) -> End {
    let next_line = |at: usize| match memchr::memchr(b'\n', &bytes[at..]) {
        Some(end) => End::Torn(at + end + 1),
        None => End::Open,
    };
    match bytes.get(begin) {
        None => return End::Open,
        Some(b'{') => {}
        Some(_) => return next_line(begin),
    }
    let (mut depth, mut at) = (0_usize, begin);
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => match string_end(bytes, at + 1) {
                End::Whole(end) => {
                    at = end;
                    continue;
                }
                torn => return torn,
            },
            b'{' if depth > 0 && bytes[at - 1] == b'\n' => return End::Torn(at),
            b'{' => depth += 1,
            b'}' if depth == 1 => return End::Whole(at + 1),
            b'}' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    End::Open
}

/// The end of the string whose text begins at `at`.
fn string_end(bytes: &[u8], mut at: usize) -> End {
    loop {
        let Some(found) =
            bytes.get(at..).and_then(|rest| memchr::memchr3(b'"', b'\\', b'\n', rest))
        else {
            return End::Open;
        };
        at += found;
        match bytes[at] {
            b'"' => return End::Whole(at + 1),
            b'\n' => return End::Torn(at + 1),
            _ => at += 2,
        }
    }
}
