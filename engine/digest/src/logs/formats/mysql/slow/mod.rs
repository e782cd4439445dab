//! The slow query log of MySQL 5.x to 9.x, Percona Server and MariaDB.
//!
//! The end of an event: MySQL 5.7.2 and later writes it in `# Time: ` to the microsecond. Before,
//! `# Time: ` and `SET timestamp` are the second in which the event ended. From MySQL 8.0.14 on
//! `SET timestamp` is the second in which it began (MySQL worklog 12393). In MariaDB both are the second
//! in which it began (observed in 10.11 and 11.8), so computed ends are up to a second early.
//!
//! Events state the default database themselves (MariaDB, Percona Server), or a `use` precedes the first
//! event whose default database differs from that of the event before it.

mod border;
mod context_before;
mod context_scan;
mod fields;
mod header;
mod statement;
#[cfg(test)]
mod tests;
mod unusual_border;
mod user;
mod usual_border;

use super::server_opening::{opened, reopened, without_openings};
use super::timestamp::Stamp;
use crate::event::{Event, Kind};
use crate::logs::format::{Context, Format, FormatKind, Settings};
use crate::sink::{Part, Sink};
use crate::sql::language::Language;
use dyno_core::Result;
use user::User;

/// The entry of [`FORMATS`](crate::logs::formats::FORMATS).
pub const MYSQL_SLOW: FormatKind = FormatKind {
    name: "mysql-slow",
    about: "slow query log of MySQL, MariaDB and Percona Server",
    is_seen_live: true,
    detect,
    open,
};

fn detect(head: &[u8]) -> bool {
    border::find(head, 0).is_some() || without_openings(head).1.is_some()
}

fn open(settings: &Settings, _head: &[u8]) -> Result<Box<dyn Format>> {
    Ok(Box::new(MysqlSlow { utc_offset_s: settings.utc_offset_s }))
}

/// Where the first event at or after `from` begins, if any.
pub(in crate::logs::formats) fn event_from(text: &[u8], from: usize) -> Option<usize> {
    border::find(text, from).map(|border| border.at)
}

/// A reader of one log.
struct MysqlSlow {
    utc_offset_s: i32,
}

impl Format for MysqlSlow {
    fn language(&self) -> Language {
        Language::Mysql
    }

    fn is_divisible(&self) -> bool {
        true
    }

    fn boundary(&self, log: &[u8], from: usize) -> usize {
        border::find(log, from).map_or(log.len(), |border| border.at)
    }

    fn context(&self, log: &[u8], at: usize) -> Context {
        context_before::context(self, log, at)
    }

    fn read(&self, part: Part<'_>, context: &mut Context, sink: &mut dyn Sink) -> usize {
        let log = part.bytes;
        let Some(mut begin) = border::find(log, 0) else {
            if part.is_last {
                self.lead(log, part.offset, context, sink);
                return log.len();
            }
            return 0;
        };
        self.lead(&log[..begin.at], part.offset, context, sink);
        while let Some(end) = border::find(log, begin.next) {
            let chunk = &log[begin.at..end.at];
            self.event(chunk, begin.user, part.offset + begin.at as u64, context, sink);
            begin = end;
        }
        if !part.is_last {
            return begin.at;
        }
        self.event(&log[begin.at..], begin.user, part.offset + begin.at as u64, context, sink);
        log.len()
    }
}

impl MysqlSlow {
    /// Reads the bytes before the first event: a server's opening lines, or the rest of an event that
    /// begins in another file.
    fn lead(&self, lead: &[u8], offset: u64, context: &mut Context, sink: &mut dyn Sink) {
        let rest = opened(lead, context);
        if !rest.trim_ascii().is_empty() {
            sink.not_understood(offset, rest.len() as u64, "no event begins here");
        }
    }

    /// Reads one event: `chunk` lasts from its border to the next one; `user` comes from the border.
    fn event<'a>(
        &self,
        chunk: &'a [u8],
        user: Option<User<'a>>,
        offset: u64,
        context: &mut Context,
        sink: &mut dyn Sink,
    ) {
        let mut event = Event { offset, ..Event::default() };
        let header = header::header(chunk, user, &mut event);
        let body = &chunk[header.length..];
        let preamble = statement::preamble(body);
        if let Some(time) = header.time {
            context.time_ns = Some(time.utc(self.utc_offset_s));
        }
        if let Some(database) = header.schema.or(preamble.database)
            && context.database != database
        {
            context.database.clear();
            context.database.extend_from_slice(database);
        }
        event.end_ns = end_ns(&header, &preamble, event.duration_ns).or(context.time_ns);
        if event.weight > 1 {
            context.facts.sampled_one_of = Some(event.weight);
        }
        let rest = &body[preamble.length..];
        let behind = header.length + preamble.length;
        let database = std::mem::take(&mut context.database);
        event.database = &database;
        let (rest, version) = without_openings(rest);
        match statement::statement(rest) {
            Some(_) if header.has_no_time => {
                let length = (behind + rest.len()) as u64;
                sink.not_understood(offset, length, "an event without its measures");
            }
            Some((text, length)) if !text.is_empty() => {
                if let Some((at, length)) = header.strange {
                    let at = offset + at as u64;
                    sink.not_understood(at, length as u64, "an unknown header line");
                }
                event.bytes = (behind + length) as u64;
                (event.kind, event.text) = match statement::command(text) {
                    Some(command) => (Kind::Command, command),
                    None => (Kind::Statement, text),
                };
                sink.event(&event);
                if length < rest.len() {
                    let at = offset + event.bytes;
                    sink.not_understood(at, (rest.len() - length) as u64, "no part of the event");
                }
            }
            _ => {
                let length = (behind + rest.len()) as u64;
                sink.not_understood(offset, length, "the event is cut off");
            }
        }
        context.database = database;
        if let Some(version) = version {
            reopened(version, context);
        }
    }
}

/// The end of an event according to its own lines, nanoseconds since 1970 (UTC).
fn end_ns(
    header: &header::Header<'_>,
    preamble: &statement::Preamble<'_>,
    duration_ns: Option<u64>,
) -> Option<i64> {
    let duration_ns = duration_ns.and_then(|ns| i64::try_from(ns).ok());
    match (header.end_ns, header.time, preamble.timestamp_ns) {
        (Some(end_ns), ..) => Some(end_ns),
        (_, Some(Stamp::Utc(end_ns)), _) => Some(end_ns),
        (_, _, Some(begin_ns)) if header.is_mariadb => begin_ns.checked_add(duration_ns?),
        // Percona Server 5.6 and before: `# Time: ` adds the fraction of the same second.
        (_, Some(Stamp::Local(time_ns)), Some(end_ns)) if end_ns % 1_000_000_000 == 0 => {
            Some(end_ns + time_ns.rem_euclid(1_000_000_000))
        }
        (_, _, end_ns) => end_ns,
    }
}
