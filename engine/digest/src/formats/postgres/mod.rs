//! PostgreSQL's logs: lines (`stderr`), csvlog and jsonlog. The three tell the same messages
//! ([`message`]), which become events in one place ([`sessions`]).
//!
//! None is read in parts apart from each other: what tells of one statement may be several messages,
//! with other sessions' between them (docs/decisions/postgres-logs-in-order.md).
//!
//! Source: PostgreSQL's manual, "Error Reporting and Logging" and "auto_explain"; logs of servers of
//! version 15. Lines that came by another way are put together in [`wrapped`].

mod cloudsql;
mod csv;
mod infer;
mod jsonlog;
mod message;
mod moment;
mod plan;
mod prefix;
mod sessions;
mod stderr;
mod syslog;
mod words;
mod wrapped;

#[cfg(test)]
mod tests;

use crate::format::{Context, FormatKind, Sink};
use message::Message;
use moment::{Clock, Moment};
use sessions::Sessions;

pub(super) use cloudsql::POSTGRES_CLOUDSQL;
pub(super) use csv::POSTGRES_CSV;
pub(super) use jsonlog::POSTGRES_JSON;
pub(super) use moment::rfc3339;
pub(super) use stderr::POSTGRES_STDERR;
pub(super) use syslog::POSTGRES_SYSLOG;

/// The form of a log whose `log_line_prefix` is given.
pub(super) fn of_lines(head: &[u8]) -> &'static FormatKind {
    if cloudsql::has_entries(head) {
        &POSTGRES_CLOUDSQL
    } else if syslog::has_lines(head) {
        &POSTGRES_SYSLOG
    } else {
        &POSTGRES_STDERR
    }
}

/// What is carried along while reading.
struct State {
    clock: Clock,
    sessions: Sessions,
}

impl State {
    /// Takes it out of `context`, where [`State::keep`] puts it back.
    fn of(context: &mut Context, utc_offset_s: i32) -> Box<Self> {
        let kept = context.state.take().and_then(|state| state.downcast::<State>().ok());
        kept.unwrap_or_else(|| Box::new(Self::new(utc_offset_s)))
    }

    fn new(utc_offset_s: i32) -> Self {
        Self { clock: Clock::new(utc_offset_s), sessions: Sessions::default() }
    }

    fn keep(mut self: Box<Self>, context: &mut Context, is_last: bool, sink: &mut dyn Sink) {
        if is_last {
            self.sessions.finish(sink);
        }
        context.state = Some(self);
    }

    /// Takes a message whose time is `moment`.
    fn take(
        &mut self,
        mut message: Message<'_>,
        moment: Option<Moment>,
        context: &mut Context,
        sink: &mut dyn Sink,
    ) {
        match moment {
            Some(Moment::At(ns)) => {
                message.end_ns = Some(ns);
                context.time_ns = Some(ns);
            }
            Some(Moment::Elsewhere) => {
                let why = "a time in a zone whose abbreviation is not known: give --utc-offset";
                sink.not_understood(message.offset, TIME_BYTES, why);
            }
            None => {}
        }
        self.sessions.take(&message, &mut context.facts, sink);
    }
}

/// `2026-11-22 06:40:01`.
const TIME_BYTES: u64 = 19;

/// The lines of `bytes` that are whole, with where they begin; the last one needs no line feed if
/// nothing follows.
fn lines(bytes: &[u8], is_last: bool) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let begin = at;
        let rest = &bytes[begin..];
        let length = match memchr::memchr(b'\n', rest) {
            Some(length) => length + 1,
            None if is_last && !rest.is_empty() => rest.len(),
            None => return None,
        };
        at = begin + length;
        Some((begin, &rest[..length]))
    })
}

/// A line without its end.
fn content(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Joins neighbouring bytes that are not understood into one piece.
#[derive(Default)]
struct Strays {
    piece: Option<(u64, u64, &'static str)>,
}

impl Strays {
    fn add(&mut self, offset: u64, bytes: u64, why: &'static str, sink: &mut dyn Sink) {
        match &mut self.piece {
            Some((begin, length, reason)) if *begin + *length == offset && *reason == why => {
                *length += bytes;
            }
            _ => {
                self.tell(sink);
                self.piece = Some((offset, bytes, why));
            }
        }
    }

    fn tell(&mut self, sink: &mut dyn Sink) {
        if let Some((offset, bytes, why)) = self.piece.take() {
            sink.not_understood(offset, bytes, why);
        }
    }
}
