//! The log of lines (`log_destination = stderr`): each message begins with a line of `log_line_prefix` and a
//! word (`LOG:  `); its further lines follow, each after a tab; then its further parts (`DETAIL:  `,
//! `STATEMENT:  `), each with the prefix again.

use crate::facts::Facts;
use crate::logs::format::{Context, Format, FormatKind, Settings};
use crate::logs::formats::postgres::lines::{Strays, content, lines};
use crate::logs::formats::postgres::message::{Message, verbose};
use crate::logs::formats::postgres::prefix::infer;
use crate::logs::formats::postgres::prefix::{Line, Prefix};
use crate::logs::formats::postgres::state::State;
use crate::logs::formats::postgres::words::Word;
use crate::sink::{Part, Sink};
use crate::sql::language::Language;
use dyno_core::Result;
use std::ops::Range;

/// PostgreSQL's log of lines.
pub(in crate::logs::formats) const POSTGRES_STDERR: FormatKind = FormatKind {
    name: "postgres-stderr",
    about: "PostgreSQL's log of lines, by its log_line_prefix",
    is_seen_live: true,
    detect: |head| infer::infer(head).is_some(),
    open,
};

struct Stderr {
    prefix: Prefix,
    utc_offset_s: i32,
}

fn open(settings: &Settings, head: &[u8]) -> Result<Box<dyn Format>> {
    let prefix = match &settings.line_prefix {
        Some(text) => Prefix::parse(text)?,
        None => infer::prefix(head)?,
    };
    Ok(Box::new(Stderr { prefix, utc_offset_s: settings.utc_offset_s }))
}

/// A message whose lines are being read, with the ranges of its parts.
struct Open<'a> {
    begin: usize,
    end: usize,
    line: Line<'a>,
    text: Range<usize>,
    detail: Range<usize>,
    statement: Range<usize>,
    is_nested: bool,
    /// The part to which lines with a tab belong.
    last: Word,
}

/// Buffers for texts of several lines, without their tabs.
#[derive(Default)]
struct Texts {
    text: Vec<u8>,
    detail: Vec<u8>,
    statement: Vec<u8>,
}

impl Format for Stderr {
    fn language(&self) -> Language {
        Language::Postgres
    }

    fn read(&self, part: Part<'_>, context: &mut Context, sink: &mut dyn Sink) -> usize {
        let mut state = State::of(context, self.utc_offset_s);
        let mut reading = Reading { part, context, state: &mut state, texts: Texts::default() };
        let done = reading.lines(&self.prefix, sink);
        state.keep(context, part.is_last, sink);
        done
    }

    fn facts(&self, context: &Context) -> Facts {
        Facts { line_prefix: Some(self.prefix.text.clone()), ..context.facts.clone() }
    }
}

struct Reading<'a, 's> {
    part: Part<'a>,
    context: &'s mut Context,
    state: &'s mut State,
    texts: Texts,
}

impl Reading<'_, '_> {
    fn lines(&mut self, prefix: &Prefix, sink: &mut dyn Sink) -> usize {
        let bytes = self.part.bytes;
        let mut open: Option<Open<'_>> = None;
        let mut strays = Strays::default();
        let mut done = 0;
        for (begin, line) in lines(bytes, self.part.is_last) {
            let (content, end) = (content(line), begin + line.len());
            done = end;
            let is_continued = open.as_ref().is_some_and(|open| open.end == begin);
            if line[0] == b'\t' && is_continued {
                open.as_mut().expect("is continued").extend(begin + content.len(), end);
                continue;
            }
            match prefix.read(content, &mut self.state.clock) {
                Some(read) if read.word.is_severity() => {
                    if let Some(open) = open.replace(Open::new(read, begin, end, content)) {
                        self.tell(&open, sink);
                    }
                }
                Some(read) if open.as_ref().is_some_and(|open| open.is_of(&read)) => {
                    open.as_mut().expect("is of it").add(&read, begin, end, content);
                }
                Some(_) => {
                    self.close(&mut open, sink);
                    let why = "a part of a message that does not stand before it";
                    strays.add(self.part.offset + begin as u64, line.len() as u64, why, sink);
                }
                None => {
                    self.close(&mut open, sink);
                    let why = "a line that does not begin as log_line_prefix says";
                    strays.add(self.part.offset + begin as u64, line.len() as u64, why, sink);
                }
            }
        }
        strays.tell(sink);
        // Later lines may still belong to the last message.
        if !self.part.is_last
            && let Some(open) = &open
        {
            return open.begin;
        }
        self.close(&mut open, sink);
        done
    }

    fn close(&mut self, open: &mut Option<Open<'_>>, sink: &mut dyn Sink) {
        if let Some(open) = open.take() {
            self.tell(&open, sink);
        }
    }

    fn tell(&mut self, open: &Open<'_>, sink: &mut dyn Sink) {
        let bytes = self.part.bytes;
        let Texts { text, detail, statement } = &mut self.texts;
        let said = &open.line.said;
        let text = untab(&bytes[open.text.clone()], text);
        let (sqlstate, text) = verbose(text).unwrap_or((said.sqlstate, text));
        let message = Message {
            offset: self.part.offset + open.begin as u64,
            bytes: (open.end - open.begin) as u64,
            places: &[],
            word: open.line.word,
            end_ns: None,
            user: said.user,
            database: said.database,
            host: said.host,
            sqlstate,
            pid: said.pid,
            session: said.session.or(said.pid),
            text,
            detail: untab(&bytes[open.detail.clone()], detail),
            statement: untab(&bytes[open.statement.clone()], statement),
            is_nested: open.is_nested,
        };
        self.state.take(message, said.moment, self.context, sink);
    }
}

impl<'a> Open<'a> {
    fn new(line: Line<'a>, begin: usize, end: usize, content: &[u8]) -> Self {
        let text_end = begin + content.len();
        let text = text_end - line.text.len()..text_end;
        Self {
            begin,
            end,
            text,
            detail: 0..0,
            statement: 0..0,
            is_nested: false,
            last: line.word,
            line,
        }
    }

    /// Whether a further part belongs to this message, directly before it: the session is the same.
    fn is_of(&self, line: &Line<'_>) -> bool {
        let said = |line: &Line<'_>| (line.said.session, line.said.pid);
        said(&self.line) == said(line)
    }

    fn add(&mut self, line: &Line<'a>, begin: usize, end: usize, content: &[u8]) {
        let text_end = begin + content.len();
        let text = text_end - line.text.len()..text_end;
        match line.word {
            Word::Detail => self.detail = text,
            Word::Statement => self.statement = text,
            Word::Context => self.is_nested = true,
            _ => {}
        }
        self.last = line.word;
        self.end = end;
    }

    /// Appends a line with a tab to the last part.
    fn extend(&mut self, text_end: usize, end: usize) {
        match self.last {
            Word::Detail => self.detail.end = text_end,
            Word::Statement => self.statement.end = text_end,
            Word::Context | Word::Other => {}
            _ => self.text.end = text_end,
        }
        self.end = end;
    }
}

/// `text` without the tabs before its further lines; in `buffer` if it has further lines.
fn untab<'a>(text: &'a [u8], buffer: &'a mut Vec<u8>) -> &'a [u8] {
    let Some(mut end) = memchr::memchr(b'\n', text) else { return text };
    buffer.clear();
    let mut begin = 0;
    loop {
        buffer.extend_from_slice(&text[begin..=end]);
        begin = end + 1;
        if text.get(begin) == Some(&b'\t') {
            begin += 1;
        }
        match memchr::memchr(b'\n', &text[begin..]) {
            Some(more) => end = begin + more,
            None => break,
        }
    }
    buffer.extend_from_slice(&text[begin..]);
    buffer
}
