//! Assembles the messages of a session into events: several messages may describe one statement.
//!
//! Most statements are in one message (`duration: 1.2 ms  statement: ...`). Exceptions: `log_statement`
//! writes the statement before it runs, and its duration or error afterwards; binding has a message of its
//! own; auto_explain's plan comes before the duration (in the extended protocol also after it); so do
//! temporary files and lock waits. Messages of sessions interleave, so this needs all messages in order; see
//! docs/decisions/postgres-logs-in-order.md.

use super::lock_waits::Locks;
use super::message::{Did, Message, What, parameters};
use super::plan;
use super::prefix::number;
use super::words::Word;
use crate::event::{Event, Kind, Measure, Numbers};
use crate::facts::Facts;
use crate::sink::Sink;
use std::collections::HashMap;

/// Maximum number of sessions; beyond it, all pending messages are emitted and all sessions removed.
const SESSIONS_MAX: usize = 1 << 16;
/// Maximum size of pending statements, bytes; beyond it, the same happens.
const HELD_BYTES_MAX: usize = 64 << 20;

/// The state of all known sessions.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    sessions: HashMap<u64, Session>,
    held_bytes: usize,
    buffer: Vec<u8>,
}

/// The state of one session.
#[derive(Debug, Default)]
struct Session {
    user: Vec<u8>,
    database: Vec<u8>,
    /// Pending messages, oldest first: at most one of each kind.
    held: Vec<Held>,
    /// The last prepared statement that was executed: its plan may come afterwards.
    executed: Vec<u8>,
    temporary: Option<(u64, Vec<u8>)>,
    locks: Locks,
}

/// A pending message, which may become a part of the next event.
#[derive(Debug)]
struct Held {
    what: Part,
    offset: u64,
    bytes: u64,
    end_ns: Option<i64>,
    duration_ns: Option<u64>,
    numbers: Numbers,
    text: Vec<u8>,
    parameters: Vec<u8>,
    user: Vec<u8>,
    database: Vec<u8>,
    host: Vec<u8>,
    pid: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// A statement that has begun.
    Begun,
    Bind,
    Plan,
    /// The plan of a statement within a function.
    NestedPlan,
}

impl Sessions {
    /// Processes the next message.
    pub(super) fn take(&mut self, message: &Message<'_>, facts: &mut Facts, sink: &mut dyn Sink) {
        match message.word {
            Word::Log => self.log(message, facts, sink),
            Word::Error | Word::Fatal => self.error(message, sink),
            _ => {}
        }
        if self.sessions.len() > SESSIONS_MAX || self.held_bytes > HELD_BYTES_MAX {
            self.finish(sink);
            self.sessions.clear();
        }
    }

    /// Emits all pending messages, as no further ones will complete them.
    pub(super) fn finish(&mut self, sink: &mut dyn Sink) {
        let all = self.sessions.values_mut().flat_map(|session| session.held.drain(..));
        let mut held: Vec<Held> = all.collect();
        held.sort_by_key(|held| held.offset);
        for held in &held {
            held.tell(sink);
        }
        self.held_bytes = 0;
    }

    fn log(&mut self, message: &Message<'_>, facts: &mut Facts, sink: &mut dyn Sink) {
        match What::of(message.text) {
            What::Done(ns, did) => self.done(message, ns, did, sink),
            What::Begun(text) => {
                self.tell_but(message, sink, |held| held.what == Part::Bind && held.text == text);
                self.hold(message, Part::Begun, text, None, Numbers::default(), sink);
            }
            What::TemporaryFile(bytes) => {
                if let Some(session) = self.session(message) {
                    let (sum, statement) = session.temporary.get_or_insert_default();
                    if *statement != message.statement {
                        *sum = 0;
                        statement.clear();
                        statement.extend_from_slice(message.statement);
                    }
                    *sum = sum.saturating_add(bytes);
                }
            }
            What::Locked(ns) => {
                if let Some(session) = self.session(message) {
                    session.locks.had(message, ns);
                }
            }
            What::Waiting(ns) => {
                if let Some(session) = self.session(message) {
                    session.locks.of(message.statement).waiting = Some((message.end_ns, ns));
                }
            }
            What::Connected(user, database) => {
                self.tell_but(message, sink, |_| false);
                if let Some(session) = self.session(message) {
                    *session = Session {
                        user: user.into(),
                        database: database.into(),
                        ..Session::default()
                    };
                }
                let event = Event { user, database, ..command(message, b"connect") };
                sink.event(&event);
            }
            What::Disconnected => {
                self.tell_but(message, sink, |_| false);
                let session = message.session.and_then(|key| self.sessions.remove(&key));
                let session = session.unwrap_or_default();
                let event = Event {
                    user: or(message.user, &session.user),
                    database: or(message.database, &session.database),
                    ..command(message, b"quit")
                };
                sink.event(&event);
            }
            What::Server(name) => facts.is_of(String::from_utf8_lossy(name).into_owned()),
            What::Setting(name, value) => setting(name, value, facts),
            What::Nothing => {}
            What::Unknown => {
                message.not_understood("a duration, but not of what (another language?)", sink);
            }
        }
    }

    fn done(&mut self, message: &Message<'_>, ns: u64, did: Did<'_>, sink: &mut dyn Sink) {
        match did {
            Did::Statement(text) => self.statement(message, ns, text, false, sink),
            Did::Execute(text) => self.statement(message, ns, text, true, sink),
            Did::Something => self.something(message, ns, sink),
            Did::Parse(text) => {
                self.tell_but(message, sink, |_| false);
                let event = Event { kind: Kind::Prepare, text, ..self.event(message, Some(ns)) };
                sink.event(&event);
            }
            Did::Bind(text) => {
                self.tell_but(message, sink, |_| false);
                self.hold(message, Part::Bind, text, Some(ns), Numbers::default(), sink);
            }
            Did::Call(text) => {
                self.tell_but(message, sink, |_| false);
                sink.event(&Event { duration_ns: Some(ns), ..command(message, text) });
            }
            Did::Plan(plan) => self.plan(message, ns, plan, sink),
        }
    }

    /// Emits a statement that has ended: the usual message.
    #[inline]
    fn statement(
        &mut self,
        message: &Message<'_>,
        ns: u64,
        text: &[u8],
        is_execute: bool,
        sink: &mut dyn Sink,
    ) {
        let prepared = message.detail.strip_prefix(b"prepare: ").unwrap_or_default();
        let mut numbers = Numbers::default();
        self.join(message, Some(ns), text, prepared, &mut numbers, sink);
        let event = Event {
            text,
            parameters: parameters(message.detail),
            numbers,
            ..self.event(message, Some(ns))
        };
        sink.event(&event);
        if is_execute && let Some(session) = self.session(message) {
            session.executed.clear();
            session.executed.extend_from_slice(text);
        }
    }

    /// Merges pending messages of the ended statement `text` into `numbers`; emits the others as events.
    fn join(
        &mut self,
        message: &Message<'_>,
        duration_ns: Option<u64>,
        text: &[u8],
        prepared: &[u8],
        numbers: &mut Numbers,
        sink: &mut dyn Sink,
    ) {
        let Some(session) = message.session.and_then(|key| self.sessions.get_mut(&key)) else {
            return;
        };
        for held in session.held.drain(..) {
            self.held_bytes -= held.text.len();
            let is_same = held.text == text || !prepared.is_empty() && held.text == prepared;
            match held.what {
                Part::Bind if is_same => {
                    numbers.set(Measure::PlanTime, held.duration_ns.unwrap_or(0));
                }
                Part::Plan if is_same => {
                    for (measure, value) in held.numbers.iter() {
                        numbers.set(measure, value);
                    }
                }
                // The time of the statement that called the function includes it.
                Part::NestedPlan => {}
                _ => held.tell(sink),
            }
        }
        if let Some((bytes, _)) =
            session.temporary.take().filter(|(_, of)| of.is_empty() || of == text)
        {
            numbers.set(Measure::TmpBytes, bytes);
        }
        let begin_ns = duration_ns.and_then(|ns| message.end_ns?.checked_sub_unsigned(ns));
        let waited = session.locks.take(text, begin_ns);
        if waited > 0 {
            numbers.set(Measure::LockTime, waited);
        }
    }

    /// Emits a duration without an action: of the pending statement, if there is one.
    fn something(&mut self, message: &Message<'_>, ns: u64, sink: &mut dyn Sink) {
        match self.begun(message, |_| true) {
            Some(begun) => {
                let mut numbers = Numbers::default();
                self.join(message, Some(ns), &begun.text, b"", &mut numbers, sink);
                let event = Event {
                    offset: begun.offset,
                    bytes: begun.bytes + message.bytes,
                    text: &begun.text,
                    parameters: &begun.parameters,
                    numbers,
                    ..self.event(message, Some(ns))
                };
                sink.event(&event);
            }
            None => sink.event(&Event {
                user: self.event(message, None).user,
                database: self.event(message, None).database,
                duration_ns: Some(ns),
                ..command(message, b"duration")
            }),
        }
    }

    /// Takes the pending statement, if `is` accepts it.
    fn begun(&mut self, message: &Message<'_>, is: impl Fn(&Held) -> bool) -> Option<Held> {
        let session = self.sessions.get_mut(&message.session?)?;
        let at = session.held.iter().position(|held| held.what == Part::Begun && is(held))?;
        let held = session.held.remove(at);
        self.held_bytes -= held.text.len();
        Some(held)
    }

    fn error(&mut self, message: &Message<'_>, sink: &mut dyn Sink) {
        let severity: &[u8] = if message.word == Word::Error { b"ERROR" } else { b"FATAL" };
        let error = or(message.sqlstate, severity);
        let statement = message.statement;
        let begun = self.begun(message, |held| statement.is_empty() || held.text == statement);
        let text = begun.as_ref().map_or(statement, |held| &held.text);
        let mut numbers = Numbers::default();
        self.join(message, None, text, b"", &mut numbers, sink);
        if text.is_empty() {
            let event = Event { error, ..command(message, severity) };
            sink.event(&event);
            return;
        }
        let (offset, bytes) = begun.as_ref().map_or((message.offset, message.bytes), |held| {
            (held.offset, held.bytes + message.bytes)
        });
        let given = parameters(message.detail);
        let event = Event {
            offset,
            bytes,
            text,
            error,
            numbers,
            parameters: begun.as_ref().map_or(given, |held| &held.parameters),
            ..self.event(message, None)
        };
        sink.event(&event);
    }

    fn plan(&mut self, message: &Message<'_>, ns: u64, plan: &[u8], sink: &mut dyn Sink) {
        let mut numbers = Numbers::default();
        let mut buffer = std::mem::take(&mut self.buffer);
        match plan::read(plan, &mut numbers, &mut buffer) {
            None => {
                message
                    .not_understood("a plan in a format that cannot be parsed (XML, YAML?)", sink);
            }
            Some(text) => self.planned(message, ns, text, numbers, sink),
        }
        self.buffer = buffer;
    }

    fn planned(
        &mut self,
        message: &Message<'_>,
        ns: u64,
        text: &[u8],
        numbers: Numbers,
        sink: &mut dyn Sink,
    ) {
        let session = message.session.and_then(|key| self.sessions.get_mut(&key));
        if let Some(session) = session
            && !session.executed.is_empty()
            && session.executed == text
            && session.held.is_empty()
        {
            // The plan of the statement just emitted.
            session.executed.clear();
            return;
        }
        // One pending plan at most: an earlier one belongs to another statement, or is nested in this
        // one.
        self.tell_but(message, sink, |held| match held.what {
            Part::Plan => false,
            Part::NestedPlan | Part::Begun | Part::Bind => true,
        });
        if let Some(session) = message.session.and_then(|key| self.sessions.get_mut(&key)) {
            let held_bytes = &mut self.held_bytes;
            session.held.retain(|held| {
                let is_kept = held.what != Part::NestedPlan;
                *held_bytes -= if is_kept { 0 } else { held.text.len() };
                is_kept
            });
        }
        let part = if message.is_nested { Part::NestedPlan } else { Part::Plan };
        self.hold(message, part, text, Some(ns), numbers, sink);
    }

    /// Adds a pending message; emits it at once if the message has no session key.
    fn hold(
        &mut self,
        message: &Message<'_>,
        what: Part,
        text: &[u8],
        duration_ns: Option<u64>,
        numbers: Numbers,
        sink: &mut dyn Sink,
    ) {
        let event = self.event(message, None);
        let held = Held {
            what,
            offset: message.offset,
            bytes: message.bytes,
            end_ns: message.end_ns,
            duration_ns,
            numbers,
            text: text.into(),
            parameters: parameters(message.detail).into(),
            user: event.user.into(),
            database: event.database.into(),
            host: message.host.into(),
            pid: message.pid,
        };
        let held_bytes = text.len();
        match self.session(message) {
            Some(session) => {
                session.held.push(held);
                self.held_bytes += held_bytes;
            }
            None => held.tell(sink),
        }
    }

    /// Emits the session's pending messages except those that `is_kept` accepts.
    fn tell_but(
        &mut self,
        message: &Message<'_>,
        sink: &mut dyn Sink,
        is_kept: impl Fn(&Held) -> bool,
    ) {
        let Some(session) = message.session.and_then(|key| self.sessions.get_mut(&key)) else {
            return;
        };
        let held_bytes = &mut self.held_bytes;
        session.held.retain(|held| {
            let is_kept = is_kept(held);
            if !is_kept {
                held.tell(sink);
                *held_bytes -= held.text.len();
            }
            is_kept
        });
    }

    fn session(&mut self, message: &Message<'_>) -> Option<&mut Session> {
        Some(self.sessions.entry(message.session?).or_default())
    }

    /// An event with user, database, host and timestamps from the message and its session.
    #[inline]
    fn event<'a>(&'a self, message: &Message<'a>, duration_ns: Option<u64>) -> Event<'a> {
        let mut event = Event { duration_ns, ..command(message, b"") };
        event.kind = Kind::Statement;
        if message.user.is_empty()
            && let Some(session) = message.session.and_then(|key| self.sessions.get(&key))
        {
            event.user = &session.user;
            event.database = or(message.database, &session.database);
        }
        event
    }
}

impl Held {
    /// Emits the message as an event of its own.
    fn tell(&self, sink: &mut dyn Sink) {
        sink.event(&Event {
            offset: self.offset,
            bytes: self.bytes,
            kind: if self.what == Part::Bind { Kind::Prepare } else { Kind::Statement },
            end_ns: self.end_ns,
            duration_ns: self.duration_ns,
            text: &self.text,
            user: &self.user,
            host: &self.host,
            database: &self.database,
            session: self.pid,
            parameters: &self.parameters,
            numbers: self.numbers.clone(),
            ..Event::default()
        });
    }
}

/// An event of the kind `Command`.
#[inline]
fn command<'a>(message: &Message<'a>, text: &'a [u8]) -> Event<'a> {
    Event {
        offset: message.offset,
        bytes: message.bytes,
        kind: Kind::Command,
        end_ns: message.end_ns,
        text,
        user: message.user,
        host: message.host,
        database: message.database,
        session: message.pid,
        ..Event::default()
    }
}

fn or<'a>(first: &'a [u8], second: &'a [u8]) -> &'a [u8] {
    if first.is_empty() { second } else { first }
}

/// Threshold and sampling of statements, from a changed setting.
fn setting(name: &[u8], value: &[u8], facts: &mut Facts) {
    match name {
        b"log_min_duration_statement" => {
            let digits = value.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let scale = match &value[digits..] {
                b"" | b"ms" => 1_000_000,
                b"s" => 1_000_000_000,
                b"min" => 60_000_000_000,
                _ => return,
            };
            let threshold = number(&value[..digits]).map(|count| count.saturating_mul(scale));
            facts.threshold_ns = threshold.filter(|ns| *ns > 0);
        }
        b"log_transaction_sample_rate" | b"log_statement_sample_rate" => {
            let rate: Option<f64> = std::str::from_utf8(value).ok().and_then(|v| v.parse().ok());
            let rate = rate.filter(|rate| *rate > 0.0 && *rate < 1.0);
            facts.sampled_one_of = rate.map(|rate| (1.0 / rate).round() as u32);
        }
        _ => {}
    }
}
