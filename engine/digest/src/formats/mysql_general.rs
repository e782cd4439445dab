//! The general query log of MySQL 5.x to 9.x, Percona Server and MariaDB: what clients send, without times.
//!
//! `2025-11-22T04:42:15.123456Z<TAB>   10 Query<TAB>select 1` (MySQL 5.7.2 and later) or
//! `251122  4:42:15<TAB>   10 Query<TAB>select 1`, the time left out while it is the same second (before, and
//! MariaDB). Statements go on over lines as they were sent. Sources: MySQL Reference Manual, "The General
//! Query Log"; logs of MariaDB 10.11 and 11.8 and MySQL 9.
//!
//! Who is behind a connection stands where it connects: parts cannot be read apart. A time is when the
//! server received the statement, which stands for its end here: there is no other.
//!
//! A login is told when its connection goes on, or the log ends: a line that it was refused may follow,
//! with others' between them. Where the slow log was written to the same place, its events are counted as
//! not understood.

use super::mysql_opening::{opened, reopened, without_openings};
use super::mysql_slow;
use super::mysql_time::{Stamp, stamp};
use crate::event::{Event, Kind, Language};
use crate::format::{Context, Format, FormatKind, Part, Settings, Sink};
use dyno_core::Result;
use memchr::{memchr, memchr_iter, memmem};
use std::collections::HashMap;

/// The entry of [`FORMATS`](super::FORMATS).
pub const MYSQL_GENERAL: FormatKind = FormatKind {
    name: "mysql-general",
    about: "general query log of MySQL and MariaDB",
    is_seen_live: true,
    detect,
    open,
};

/// Names of commands as servers write them, and what they are. Source: `COM_` commands in MySQL's
/// "Command Phase" and what servers print for them.
const COMMANDS: &[(&[u8], Kind)] = &[
    (b"Query", Kind::Statement),
    (b"Execute", Kind::Statement),
    (b"Bulk_execute", Kind::Statement),
    (b"Prepare", Kind::Prepare),
    (b"Connect", Kind::Command),
    (b"Quit", Kind::Command),
    (b"Init DB", Kind::Command),
    (b"Field List", Kind::Command),
    (b"Close stmt", Kind::Command),
    (b"Reset stmt", Kind::Command),
    (b"Long Data", Kind::Command),
    (b"Fetch", Kind::Command),
    (b"Statistics", Kind::Command),
    (b"Ping", Kind::Command),
    (b"Change user", Kind::Command),
    (b"Reset Connection", Kind::Command),
    (b"Reset connection", Kind::Command),
    (b"Refresh", Kind::Command),
    (b"Shutdown", Kind::Command),
    (b"Processlist", Kind::Command),
    (b"Kill", Kind::Command),
    (b"Debug", Kind::Command),
    (b"Sleep", Kind::Command),
    (b"Create DB", Kind::Command),
    (b"Drop DB", Kind::Command),
    (b"Set option", Kind::Command),
    (b"Daemon", Kind::Command),
    (b"Delayed insert", Kind::Command),
    (b"Binlog Dump", Kind::Command),
    (b"Binlog Dump GTID", Kind::Command),
    (b"Table Dump", Kind::Command),
    (b"Connect Out", Kind::Command),
    (b"Register Slave", Kind::Command),
    (b"Register Replica", Kind::Command),
    (b"Clone", Kind::Command),
    (b"Subscribe Group Replication Stream", Kind::Command),
    (b"Unimpl command", Kind::Command),
    (b"Error", Kind::Command),
];

/// The longest line's head: a time, a number, a command.
const LONGEST: usize = 128;

/// Connections whose owner is kept at most; of further ones nothing is known.
const SESSIONS: usize = 1 << 20;

fn detect(head: &[u8]) -> bool {
    // In a slow log such a line stands inside of a statement, behind a header.
    let header = memmem::find(head, b"# Query_time: ").unwrap_or(head.len());
    find(head, 0).is_some_and(|entry| entry.at < header)
}

fn open(settings: &Settings, _head: &[u8]) -> Result<Box<dyn Format>> {
    Ok(Box::new(MysqlGeneral { utc_offset_s: settings.utc_offset_s }))
}

struct MysqlGeneral {
    utc_offset_s: i32,
}

/// The head of a line that begins an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry<'a> {
    at: usize,
    time: Option<Stamp>,
    session: u64,
    command: &'a [u8],
    kind: Kind,
    /// Where the argument begins.
    argument: usize,
}

/// The first entry at or after `from`, a line's begin.
fn find(log: &[u8], from: usize) -> Option<Entry<'_>> {
    entry(log, from).or_else(|| {
        memchr_iter(b'\n', log.get(from..)?).find_map(|newline| entry(log, from + newline + 1))
    })
}

/// The entry of the line at `at`: a time or white space, a tab, a right-aligned number, a space, a
/// command, a tab.
fn entry(log: &[u8], at: usize) -> Option<Entry<'_>> {
    let head = log.get(at..)?;
    let head = &head[..head.len().min(LONGEST)];
    if !matches!(head.first()?, b'\t' | b'0'..=b'9') {
        return None;
    }
    let (time, rest) = match stamp(head) {
        Some((time, length)) => (Some(time), head[length..].strip_prefix(b"\t")?),
        None => (None, head.strip_prefix(b"\t")?),
    };
    let rest = rest.strip_prefix(b"\t").filter(|_| time.is_none()).unwrap_or(rest);
    let rest = rest.trim_ascii_start();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let session = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
    let rest = rest[digits..].strip_prefix(b" ")?;
    let tab = memchr(b'\t', rest)?;
    let command = &rest[..tab];
    let kind = COMMANDS.iter().find(|(name, _)| *name == command)?.1;
    let argument = at + head.len() - rest.len() + tab + 1;
    Some(Entry { at, time, session, command, kind, argument })
}

/// Whether `text` begins with an entry.
pub(super) fn is_entry(text: &[u8]) -> bool {
    entry(text, 0).is_some()
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

/// The first entry on a line behind `from`.
fn find_behind(log: &[u8], from: usize) -> Option<Entry<'_>> {
    let newline = memchr(b'\n', &log[from..])?;
    find(log, from + newline + 1)
}

impl MysqlGeneral {
    /// Reads the event of an entry, the last one in `log`.
    fn event(
        &self,
        log: &[u8],
        entry: Entry<'_>,
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

/// Where the first event of a slow log begins on a line behind an entry's own, if one does.
fn slow_events(argument: &[u8]) -> Option<usize> {
    memmem::find(argument, b"\n# ")?;
    mysql_slow::event_from(argument, 1)
}

/// Who is behind a connection.
#[derive(Debug, Default, Clone)]
struct Who {
    user: Vec<u8>,
    host: Vec<u8>,
    database: Vec<u8>,
}

/// Connections by their numbers.
#[derive(Debug, Default)]
struct Sessions {
    known: HashMap<u64, Who>,
    /// Logins that may still be refused.
    logins: HashMap<u64, Login>,
}

/// A `Connect` or `Change user` that is not told yet.
#[derive(Debug)]
struct Login {
    /// Without its texts.
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

    /// Takes an entry: `event` lacks its texts.
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

    /// Tells all logins that nothing followed.
    fn finish(&mut self, sink: &mut dyn Sink) {
        let mut logins: Vec<Login> = self.logins.drain().map(|(_, login)| login).collect();
        logins.sort_by_key(|login| login.event.offset);
        logins.iter().for_each(|login| login.tell(b"", sink));
    }

    /// Learns from `Connect`, `Change user`, `Init DB` and `use`.
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

/// Commands by which users log in.
const LOGINS: [&[u8]; 2] = [b"Connect", b"Change user"];

/// The error's number, if a `Connect` says that a login was refused: in the server's language, with its
/// account in quotes. Empty: it does not.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Kept, read_as_stream};

    const MARIADB: &str = "\
/usr/sbin/mariadbd, Version: 10.11.19-MariaDB-0+deb12u1-log (Debian 12). started with:
Tcp port: 24039  Unix socket: /tmp/sock
Time\t\t    Id Command\tArgument
261122  5:40:15\t     3 Connect\troot@localhost on  using Socket
\t\t     3 Query\tcreate database shop
\t\t     3 Init DB\tshop
\t\t     4 Connect\tapp@10.0.0.7 on mysql using TCP/IP
\t\t     3 Query\tselect '
# Time: 2025-11-22T04:42:15.123456Z
\t 5 is no entry
'
\t\t     4 Query\tselect 1
\t\t     3 Prepare\tselect ?
261122  5:40:17\t     3 Execute\tselect 5
\t\t     3 Quit\t
\t\t     6 Connect\tnobody@localhost on  using Socket
\t\t     6 Connect\tAccess denied for user 'nobody'@'localhost' (using password: NO)
/usr/sbin/mariadbd, Version: 10.11.19-MariaDB-0+deb12u1-log (Debian 12). started with:
Tcp port: 24039  Unix socket: /tmp/sock
Time\t\t    Id Command\tArgument
\t\t     4 Query\tUSE `shop`
\t\t     4 Query\tselect 2
";

    const MYSQL: &str = "\
2026-11-22T05:40:24.339152Z\t    9 Connect\troot@localhost on shop using SSL/TLS
2026-11-22T05:40:24.344076Z\t    9 Query\tselect 1
2026-11-22T05:40:24.353207Z\t    9 Close stmt\t
2026-11-22T05:40:24.353207Z\t    9 Quit\t
";

    fn read(log: &str, piece: usize) -> Kept {
        let format = open(&Settings::default(), b"").unwrap();
        read_as_stream(&*format, log.as_bytes(), piece)
    }

    #[test]
    fn statements_belong_to_the_user_and_database_of_their_connection() {
        let kept = read(MARIADB, usize::MAX >> 1);
        assert_eq!(kept.not_understood, []);
        let statements: Vec<_> = kept
            .events
            .iter()
            .filter(|event| event.event.kind != Kind::Command)
            .map(|event| (&*event.user, &*event.host, &*event.database, &*event.text))
            .collect();
        let lines = "select '\n# Time: 2025-11-22T04:42:15.123456Z\n\t 5 is no entry\n'";
        assert_eq!(
            statements,
            [
                ("root", "localhost", "", "create database shop"),
                ("root", "localhost", "shop", lines),
                ("app", "10.0.0.7", "mysql", "select 1"),
                ("root", "localhost", "shop", "select ?"),
                ("root", "localhost", "shop", "select 5"),
                ("app", "10.0.0.7", "shop", "USE `shop`"),
                ("app", "10.0.0.7", "shop", "select 2"),
            ]
        );
        let times: Vec<_> = kept.events.iter().map(|event| event.event.end_ns.unwrap()).collect();
        assert_eq!((times[0], times[1]), (1_795_326_015_000_000_000, times[0]), "told once");
        assert_eq!(times.last(), Some(&1_795_326_017_000_000_000));
    }

    #[test]
    fn commands_are_no_statements_and_have_no_duration() {
        let kept = read(MYSQL, usize::MAX >> 1);
        let texts: Vec<_> = kept.events.iter().map(|event| &*event.text).collect();
        assert_eq!(texts, ["Connect", "select 1", "Close stmt", "Quit"]);
        assert_eq!(kept.events[1].event.end_ns, Some(1_795_326_024_344_076_000));
        assert_eq!(
            (kept.events[1].event.duration_ns, kept.events[1].event.session),
            (None, Some(9))
        );
    }

    #[test]
    fn a_refused_login_is_one_event_with_its_error() {
        let log = "\
2025-11-22T04:42:16.223456Z\t    9 Connect\tbob@10.0.0.9 on  using TCP/IP
2025-11-22T04:42:16.323456Z\t   10 Connect\teve@10.0.0.9 on shop using TCP/IP
2025-11-22T04:42:16.423456Z\t    9 Connect\tAccess denied for user 'bob'@'10.0.0.9' (using password: YES)
2025-11-22T04:42:16.523456Z\t   10 Query\tselect 1
2025-11-22T04:42:16.623456Z\t   11 Connect\tBenutzer 'x'@'y' hat keine Zugriffsberechtigung (verwendetes Passwort: JA)
2025-11-22T04:42:16.723456Z\t   12 Connect\tmal@10.0.0.9 on  using TCP/IP
";
        let kept = read(log, usize::MAX >> 1);
        let told: Vec<_> =
            kept.events.iter().map(|event| (&*event.text, &*event.user, &*event.error)).collect();
        assert_eq!(
            told,
            [
                ("Connect", "bob", "1045"),
                ("Connect", "eve", ""),
                ("select 1", "eve", ""),
                ("Connect", "", "1045"),
                ("Connect", "mal", ""),
            ]
        );
        assert_eq!(kept.events[0].event.offset, 0);
        for piece in [1, 50, 200] {
            assert_eq!(read(log, piece).events, kept.events);
        }
    }

    #[test]
    fn events_of_a_slow_log_among_entries_are_counted() {
        let slow = "# Time: 2025-11-22T04:42:15.000000Z\n# User@Host: a[a] @ h []  Id:     5\n\
                    # Query_time: 0.1  Lock_time: 0.0 Rows_sent: 0  Rows_examined: 0\n\
                    SET timestamp=1763786534;\nselect * from t;\n";
        let entry = "2025-11-22T04:42:15.123456Z\t    8 Query\tselect 99 from g\n";
        let log = format!("{entry}{slow}{slow}{entry}{slow}");
        let kept = read(&log, usize::MAX >> 1);
        assert_eq!(kept.events.len(), 2);
        assert!(kept.events.iter().all(|event| event.text == "select 99 from g"));
        let (why, entry, slow) = ("events of a slow log", entry.len() as u64, slow.len() as u64);
        let pieces = [(entry, 2 * slow, why), (2 * entry + 2 * slow, slow, why)];
        assert_eq!(kept.not_understood, pieces);
        assert_eq!(read(&log, 10).not_understood, pieces);
    }

    #[test]
    fn logs_in_pieces_are_the_same_events() {
        for log in [MARIADB, MYSQL] {
            let log = format!("'; rest of a statement\n{log}");
            let whole = read(&log, usize::MAX >> 1);
            assert_eq!(whole.not_understood.len(), 1);
            for piece in [1, 2, 3, 7, 64, 500] {
                let pieces = read(&log, piece);
                assert_eq!(pieces.events, whole.events, "{piece}");
                assert_eq!(pieces.not_understood, whole.not_understood, "{piece}");
            }
        }
    }

    #[test]
    fn general_logs_are_told_from_slow_ones() {
        assert!(detect(MARIADB.as_bytes()) && detect(MYSQL.as_bytes()));
        let slow = format!("# Query_time: 1  Lock_time: 0\nselect '\n{MYSQL}");
        assert!(!detect(slow.as_bytes()));
        assert!(!detect(b"") && !detect(b"5 Query\tselect 1\n"));
    }

    proptest::proptest! {
        #[test]
        fn rubbish_is_read_without_harm(
            picks in proptest::collection::vec(0usize..1000, 0..30),
            piece in 20usize..2000,
        ) {
            let mut pieces: Vec<&[u8]> = [MARIADB, MYSQL]
                .iter()
                .flat_map(|log| log.split_inclusive('\n'))
                .map(str::as_bytes)
                .collect();
            pieces.extend([&b"\0"[..], b"\t", b"\n", b"\r\n", b"1", b"261122  5:40:1", b"\xff"]);
            let log: Vec<u8> =
                picks.iter().flat_map(|pick| pieces[pick % pieces.len()]).copied().collect();
            let format = open(&Settings::default(), b"").unwrap();
            let whole = read_as_stream(&*format, &log, log.len());
            let parts = read_as_stream(&*format, &log, piece);
            proptest::prop_assert_eq!(whole.events, parts.events);
            proptest::prop_assert_eq!(whole.not_understood, parts.not_understood);
        }
    }
}
