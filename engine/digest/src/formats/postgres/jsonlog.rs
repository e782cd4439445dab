//! jsonlog (PostgreSQL 15 and later): an object a line. (PostgreSQL's manual, "Using JSON-Format Log
//! Output".)

use super::message::Message;
use super::moment::Moment;
use super::prefix::{number, session};
use super::words::Word;
use super::{State, Strays, content, lines};
use crate::event::Language;
use crate::format::{Context, Format, FormatKind, Part, Settings, Sink};
use crate::formats::json::{Members, Value, unescape};
use dyno_core::Result;

/// See the module.
pub(in crate::formats) const POSTGRES_JSON: FormatKind = FormatKind {
    name: "postgres-json",
    about: "PostgreSQL's jsonlog",
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
    lines(head, true).take(20).any(|(_, line)| {
        line.starts_with(b"{\"timestamp\":\"")
            && memchr::memmem::find(line, b"\"error_severity\":").is_some()
    })
}

/// A line's members, strings as they stand between their quotes.
#[derive(Default)]
struct Entry<'a> {
    moment: Option<Moment>,
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
}

/// Space for strings with escapes.
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

/// Reads a line; none if it is not of this log.
fn entry<'a>(line: &'a [u8], state: &mut State) -> Option<Entry<'a>> {
    let mut entry = Entry::default();
    let mut members = Members::new(line)?;
    for (key, value) in members.by_ref() {
        let text = match value {
            Value::String(text) | Value::Word(text) => text,
            _ => continue,
        };
        match key {
            b"timestamp" => entry.moment = Some(state.clock.read(text)?.1),
            b"user" => entry.user = text,
            b"dbname" => entry.database = text,
            b"pid" => entry.pid = number(text),
            b"remote_host" => entry.host = text,
            b"session_id" => entry.session = session(text).map(|(_, session, _)| session),
            b"error_severity" => entry.word = Word::severity(text),
            b"state_code" => entry.sqlstate = text,
            b"message" => entry.text = text,
            b"detail" => entry.detail = text,
            b"statement" => entry.statement = text,
            b"context" => entry.is_nested = true,
            _ => {}
        }
    }
    (members.is_whole() && entry.moment.is_some() && entry.word.is_some()).then_some(entry)
}

impl<'a> Entry<'a> {
    fn message(self, offset: u64, bytes: u64, buffers: &'a mut Buffers) -> Message<'a> {
        let [user, database, host, text, detail, statement] = &mut buffers.0;
        Message {
            offset,
            bytes,
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
