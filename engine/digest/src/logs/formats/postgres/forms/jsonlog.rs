//! jsonlog (PostgreSQL 15 and later): an object a line. (PostgreSQL's manual, "Using JSON-Format Log
//! Output".)
//!
//! CloudNativePG wraps csvlog's columns in objects of its own (its documentation, "Logging"), and adds
//! lines of its other programs, which have no statements.

use crate::logs::format::{Context, Format, FormatKind, Settings};
use crate::logs::formats::json::{Members, Value, unescape};
use crate::logs::formats::postgres::lines::{Strays, content, lines};
use crate::logs::formats::postgres::message::Message;
use crate::logs::formats::postgres::prefix::{number, session};
use crate::logs::formats::postgres::state::State;
use crate::logs::formats::postgres::timestamp::Timestamp;
use crate::logs::formats::postgres::words::Word;
use crate::sink::{Part, Sink};
use crate::sql::language::Language;
use dyno_core::Result;

/// PostgreSQL's jsonlog.
pub(in crate::logs::formats) const POSTGRES_JSON: FormatKind = FormatKind {
    name: "postgres-json",
    about: "PostgreSQL's jsonlog, and CloudNativePG's lines around it",
    is_seen_live: true,
    detect,
    open,
};

struct JsonLog {
    utc_offset_s: i32,
}

fn open(settings: &Settings, _head: &[u8]) -> Result<Box<dyn Format>> {
    Ok(Box::new(JsonLog { utc_offset_s: settings.utc_offset_s }))
}

fn detect(head: &[u8]) -> bool {
    let has = |line, text| memchr::memmem::find(line, text).is_some();
    lines(head, true).take(LINES).any(|(_, line)| {
        let is_wrapped = || line.starts_with(b"{") && has(line, b"\"record\":{\"log_time\":\"");
        (line.starts_with(b"{\"timestamp\":\"") || is_wrapped())
            && has(line, b"\"error_severity\":")
    })
}

/// Number of lines examined at the log's start: CloudNativePG's programs write before the server does.
const LINES: usize = 400;

/// A line's members; strings as written between their quotes.
#[derive(Default)]
struct Entry<'a> {
    moment: Option<Timestamp>,
    user: &'a [u8],
    database: &'a [u8],
    host: &'a [u8],
    sqlstate: &'a [u8],
    pid: Option<u64>,
    session: Option<u64>,
    word: Option<Word>,
    text: &'a [u8],
    detail: &'a [u8],
    statement: &'a [u8],
    is_nested: bool,
    /// Whether a program other than the server wrote the line.
    is_foreign: bool,
}

/// Buffers for strings with escapes.
#[derive(Default)]
struct Buffers([Vec<u8>; 6]);

impl Format for JsonLog {
    fn language(&self) -> Language {
        Language::Postgres
    }

    fn read(&self, part: Part<'_>, context: &mut Context, sink: &mut dyn Sink) -> usize {
        let mut state = State::of(context, self.utc_offset_s);
        let mut buffers = Buffers::default();
        let mut strays = Strays::default();
        let mut done = 0;
        for (begin, line) in lines(part.bytes, part.is_last) {
            let offset = part.offset + begin as u64;
            done = begin + line.len();
            match entry(content(line), &mut state) {
                Some(entry) if entry.is_foreign => {}
                Some(entry) => {
                    let moment = entry.moment;
                    let message = entry.message(offset, line.len() as u64, &mut buffers);
                    state.take(message, moment, context, sink);
                }
                None => strays.add(offset, line.len() as u64, "no line of jsonlog", sink),
            }
        }
        strays.tell(sink);
        state.keep(context, part.is_last, sink);
        done
    }
}

/// Parses a line; `None` if it is not of this log.
fn entry<'a>(line: &'a [u8], state: &mut State) -> Option<Entry<'a>> {
    let mut entry = Entry::default();
    let mut members = Members::new(line)?;
    for (key, value) in members.by_ref() {
        match (key, value) {
            (b"record", Value::Object(record)) => {
                for (key, value) in Members::new(record)? {
                    entry.set(key, value, state)?;
                }
            }
            (b"logger", Value::String(_)) => entry.is_foreign = true,
            _ => entry.set(key, value, state)?,
        }
    }
    let is_message = entry.moment.is_some() && entry.word.is_some();
    entry.is_foreign &= !is_message;
    (members.is_whole() && (is_message || entry.is_foreign)).then_some(entry)
}

impl<'a> Entry<'a> {
    /// Sets a member by its name or by that of csvlog's column; `None` if its value is invalid.
    fn set(&mut self, key: &[u8], value: Value<'a>, state: &mut State) -> Option<()> {
        let (Value::String(text) | Value::Word(text)) = value else { return Some(()) };
        match key {
            b"timestamp" | b"log_time" => self.moment = Some(state.clock.read(text)?.1),
            b"user" | b"user_name" => self.user = text,
            b"dbname" | b"database_name" => self.database = text,
            b"pid" | b"process_id" => self.pid = number(text),
            b"remote_host" => self.host = text,
            b"connection_from" => {
                let end = memchr::memrchr(b':', text).unwrap_or(text.len());
                self.host = &text[..end];
            }
            b"session_id" => self.session = session(text).map(|(_, session, _)| session),
            b"error_severity" => self.word = Word::severity(text),
            b"state_code" | b"sql_state_code" => self.sqlstate = text,
            b"message" => self.text = text,
            b"detail" => self.detail = text,
            b"statement" | b"query" => self.statement = text,
            b"context" => self.is_nested = !text.is_empty(),
            _ => {}
        }
        Some(())
    }

    fn message(self, offset: u64, bytes: u64, buffers: &'a mut Buffers) -> Message<'a> {
        let [user, database, host, text, detail, statement] = &mut buffers.0;
        Message {
            offset,
            bytes,
            places: &[],
            word: self.word.expect("an entry has one"),
            end_ns: None,
            user: unescape(self.user, user),
            database: unescape(self.database, database),
            host: unescape(self.host, host),
            sqlstate: self.sqlstate,
            pid: self.pid,
            session: self.session.or(self.pid),
            text: unescape(self.text, text),
            detail: unescape(self.detail, detail),
            statement: unescape(self.statement, statement),
            is_nested: self.is_nested,
        }
    }
}
