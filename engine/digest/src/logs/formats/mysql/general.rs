//! The general query log of MySQL 5.x to 9.x, Percona Server and MariaDB: commands of clients, without
//! durations.
//!
//! `2025-11-22T04:42:15.123456Z<TAB>   10 Query<TAB>select 1` (MySQL 5.7.13 and later) or
//! `251122  4:42:15<TAB>   10 Query<TAB>select 1`, without the time while it is the same second (before, and
//! MariaDB). MySQL 5.7.2 to 5.7.12 write no tab before the number; MySQL 5.0 and before pad the command to 11
//! columns instead of a tab after it. Statements continue on further lines as they were sent. Sources:
//! MySQL Reference Manual, "The General Query Log"; MySQL 4.1's and 5.0's `log.cc`; logs of MariaDB 10.11
//! and 11.8 and MySQL 9.
//!
//! Only its `Connect` names a connection's user, so parts cannot be read independently. The timestamp is
//! when the server received the statement; events have it as their end, as the log has no other.
//!
//! The event of a login is emitted when its connection sends another command or the log ends: a line
//! about its refusal may follow, with lines of other connections between them. Events of a slow log in
//! the same file are reported as not understood.

#[cfg(test)]
mod tests;

use super::server_opening::{opened, reopened, without_openings};
use super::slow;
use crate::event::{Event, Kind};
use crate::logs::format::{Context, Format, FormatKind, Settings};
use crate::logs::formats::mysql::general_entry::{Entry, find, find_behind};
use crate::sink::{Part, Sink};
use crate::sql::language::Language;
use dyno_core::Result;
use memchr::memmem;
use std::collections::HashMap;

/// The entry of [`FORMATS`](crate::logs::formats::FORMATS).
pub const MYSQL_GENERAL: FormatKind = FormatKind {
    name: "mysql-general",
    about: "general query log of MySQL and MariaDB",
    is_seen_live: true,
    detect,
    open,
};

/// Maximum number of connections whose user is stored; events of further ones have no user.
const SESSIONS: usize = 1 << 20;

fn detect(head: &[u8]) -> bool {
    // A slow log has such a line only within a statement, after a header.
    let header = memmem::find(head, b"# Query_time: ").unwrap_or(head.len());
    find(head, 0).is_some_and(|entry| entry.at < header)
}

fn open(settings: &Settings, _head: &[u8]) -> Result<Box<dyn Format>> {
    Ok(Box::new(MysqlGeneral { utc_offset_s: settings.utc_offset_s }))
}

struct MysqlGeneral {
    utc_offset_s: i32,
}

impl Format for MysqlGeneral {
    fn language(&self) -> Language {
        Language::Mysql
    }

    fn read(&self, part: Part<'_>, context: &mut Context, sink: &mut dyn Sink) -> usize {
        let log = part.bytes;
        let mut sessions = Sessions::take_from(context);
        let mut next = find(log, 0);
        let lead = next.map_or(log.len(), |entry| entry.at);
        if next.is_some() || part.is_last {
            let rest = opened(&log[..lead], context);
            if !rest.trim_ascii().is_empty() {
                sink.not_understood(part.offset, rest.len() as u64, "no event begins here");
            }
        }
        let mut done = if next.is_none() && !part.is_last { 0 } else { lead };
        while let Some(entry) = next {
            next = find_behind(log, entry.argument);
            let end = match next {
                Some(next) => next.at,
                None if part.is_last => log.len(),
                None => break,
            };
            self.event(&log[..end], entry, part.offset, context, &mut sessions, sink);
            done = end;
        }
        if part.is_last {
            sessions.finish(sink);
        }
        context.state = Some(Box::new(sessions));
        done
    }
}

impl MysqlGeneral {
    /// Emits the event of `entry`, which is the last one in `log`.
    fn event(
        &self,
        log: &[u8],
        entry: Entry,
        offset: u64,
        context: &mut Context,
        sessions: &mut Sessions,
        sink: &mut dyn Sink,
    ) {
        if let Some(time) = entry.time {
            context.time_ns = Some(time.utc(self.utc_offset_s));
        }
        let (argument, version) = without_openings(&log[entry.argument..]);
        let slow = slow_events(argument).unwrap_or(argument.len());
        let (rest, before) = without_openings(&argument[..slow]);
        let text = rest.trim_ascii();
        let event = Event {
            offset: offset + entry.at as u64,
            bytes: (entry.argument - entry.at + rest.len()) as u64,
            kind: entry.kind,
            end_ns: context.time_ns,
            session: Some(entry.session),
            ..Event::default()
        };
        sessions.take(event, entry.command, text, sink);
        if slow < argument.len() {
            let at = offset + (entry.argument + slow) as u64;
            sink.not_understood(at, (argument.len() - slow) as u64, "events of a slow log");
        }
        if let Some(version) = version.or(before) {
            reopened(version, context);
        }
    }
}

/// Where the first event of a slow log begins after an entry's first line, if any.
fn slow_events(argument: &[u8]) -> Option<usize> {
    memmem::find(argument, b"\n# ")?;
    slow::event_from(argument, 1)
}

/// User, host and default database of a connection.
#[derive(Debug, Default, Clone)]
struct Who {
    user: Vec<u8>,
    host: Vec<u8>,
    database: Vec<u8>,
}

/// Connections by their ids.
#[derive(Debug, Default)]
struct Sessions {
    known: HashMap<u64, Who>,
    /// Logins whose refusal may still follow.
    logins: HashMap<u64, Login>,
}

/// A `Connect` or `Change user` whose event is not emitted yet.
#[derive(Debug)]
struct Login {
    /// The event without its texts.
    event: Event<'static>,
    command: &'static [u8],
    who: Who,
}

impl Login {
    fn tell(&self, error: &[u8], sink: &mut dyn Sink) {
        let Who { user, host, database } = &self.who;
        let event = Event { text: self.command, user, host, database, error, ..self.event.clone() };
        sink.event(&event);
    }
}

impl Sessions {
    fn take_from(context: &mut Context) -> Self {
        let state = context.state.take();
        state.and_then(|state| state.downcast().ok()).map(|state| *state).unwrap_or_default()
    }

    /// Processes an entry; `event` lacks its texts.
    fn take(&mut self, event: Event<'static>, command: &[u8], text: &[u8], sink: &mut dyn Sink) {
        let number = event.session.unwrap_or_default();
        let login = self.logins.remove(&number);
        let error = if command == b"Connect" { refused(text) } else { b"" };
        if let Some(login) = login {
            login.tell(error, sink);
            if !error.is_empty() {
                return;
            }
        }
        self.learn(number, command, text);
        let unknown = Who::default();
        let who = self.known.get(&number).unwrap_or(&unknown);
        if error.is_empty()
            && self.logins.len() < SESSIONS
            && let Some(command) = LOGINS.into_iter().find(|login| *login == command)
        {
            self.logins.insert(number, Login { event, command, who: who.clone() });
            return;
        }
        let Who { user, host, database } = who;
        let text = if event.kind == Kind::Command { command } else { text };
        sink.event(&Event { text, user, host, database, error, ..event });
        if command == b"Quit" {
            self.known.remove(&number);
        }
    }

    /// Emits the logins without a later command.
    fn finish(&mut self, sink: &mut dyn Sink) {
        let mut logins: Vec<Login> = self.logins.drain().map(|(_, login)| login).collect();
        logins.sort_by_key(|login| login.event.offset);
        logins.iter().for_each(|login| login.tell(b"", sink));
    }

    /// Updates a connection from `Connect`, `Change user`, `Init DB` and `use`.
    fn learn(&mut self, number: u64, command: &[u8], text: &[u8]) {
        if self.known.len() >= SESSIONS && !self.known.contains_key(&number) {
            return;
        }
        match command {
            b"Connect" | b"Change user" => {
                if let Some(who) = who(text) {
                    self.known.insert(number, who);
                }
            }
            b"Init DB" => self.known.entry(number).or_default().database = text.to_vec(),
            b"Query" => {
                if let Some(name) = used(text) {
                    self.known.entry(number).or_default().database = name.to_vec();
                }
            }
            _ => {}
        }
    }
}

/// Commands that log a user in.
const LOGINS: [&[u8]; 2] = [b"Connect", b"Change user"];

/// The error number if a `Connect` reports a refused login; otherwise empty. The message is in the
/// server's language, with the account in quotes.
fn refused(text: &[u8]) -> &'static [u8] {
    let is_refusal = text.starts_with(b"Access denied ")
        || who(text).is_none() && memmem::find(text, b"'@'").is_some();
    match is_refusal {
        false => b"",
        true if text.ends_with(b")") => b"1045",
        true if text.ends_with(b"Account is locked.") => b"3118",
        true => b"1698",
    }
}

/// `root@localhost on shop using TCP/IP`, `root@localhost as anonymous on shop`; not `Access denied ...`.
fn who(text: &[u8]) -> Option<Who> {
    let on = memmem::rfind(text, b" on ")?;
    let account = &text[..on];
    let account = memmem::find(account, b" as ").map_or(account, |end| &account[..end]);
    let at = account.iter().rposition(|byte| *byte == b'@')?;
    let rest = &text[on + 4..];
    let database = memmem::rfind(rest, b"using ").map_or(rest, |end| &rest[..end]).trim_ascii();
    Some(Who {
        user: account[..at].to_vec(),
        host: account[at + 1..].to_vec(),
        database: database.to_vec(),
    })
}

/// The database of a `use` statement.
fn used(text: &[u8]) -> Option<&[u8]> {
    let (verb, rest) = text.split_at_checked(4)?;
    if !verb.eq_ignore_ascii_case(b"use ") {
        return None;
    }
    let name = rest.trim_ascii();
    match name.strip_prefix(b"`") {
        Some(quoted) => quoted.strip_suffix(b"`"),
        None => Some(name),
    }
}
