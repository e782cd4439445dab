//! The content of a message of PostgreSQL's log, independent of the log's form.
//! (PostgreSQL's manual, "Error Reporting and Logging"; auto_explain.)

use super::prefix::number;
use super::words::{PHRASES, Phrases, Word};
use crate::sink::Sink;

/// A message with its further parts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message<'a> {
    /// Offset in the log.
    pub(super) offset: u64,
    /// Length in the log, bytes.
    pub(super) bytes: u64,
    /// Ranges (offset, bytes) of its lines if other lines are between them. Empty: one range.
    pub(super) places: &'a [(u64, u64)],
    /// Its severity.
    pub(super) word: Word,
    /// Timestamp, nanoseconds since 1970 (UTC).
    pub(super) end_ns: Option<i64>,
    pub(super) user: &'a [u8],
    pub(super) database: &'a [u8],
    pub(super) host: &'a [u8],
    pub(super) sqlstate: &'a [u8],
    /// Process id.
    pub(super) pid: Option<u64>,
    /// Key of the session. `None`: the log does not identify sessions.
    pub(super) session: Option<u64>,
    pub(super) text: &'a [u8],
    pub(super) detail: &'a [u8],
    pub(super) statement: &'a [u8],
    /// Whether it has a context, as messages from within a function have.
    pub(super) is_nested: bool,
}

impl Message<'_> {
    /// Reports the whole message as not understood.
    pub(super) fn not_understood(&self, why: &'static str, sink: &mut dyn Sink) {
        let whole = [(self.offset, self.bytes)];
        let places = if self.places.is_empty() { &whole } else { self.places };
        for &(offset, bytes) in places {
            sink.not_understood(offset, bytes, why);
        }
    }
}

/// SQLSTATE and text of `00000: text`, the form with `log_error_verbosity = verbose`.
pub(super) fn verbose(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (state, rest) = text.split_at_checked(5)?;
    let is_state = state.iter().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    Some((state, rest.strip_prefix(b": ").filter(|_| is_state)?))
}

/// The meaning of a message.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum What<'a> {
    /// A statement or a step of it has ended, after so many nanoseconds.
    Done(u64, Did<'a>),
    /// A statement begins (`log_statement`): its text.
    Begun(&'a [u8]),
    /// A temporary file was removed: its size, bytes.
    TemporaryFile(u64),
    /// A lock was acquired after so many nanoseconds.
    Locked(u64),
    /// A session has waited for a lock for so many nanoseconds, and still waits.
    Waiting(u64),
    /// A session begins: user and database.
    Connected(&'a [u8], &'a [u8]),
    /// A session has ended.
    Disconnected,
    /// The server starts: name and version.
    Server(&'a [u8]),
    /// A setting was changed: name and value.
    Setting(&'a [u8], &'a [u8]),
    /// No meaning for statements.
    Nothing,
    /// A duration of an unknown action.
    Unknown,
}

/// The action of a duration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Did<'a> {
    /// The message does not name it (`log_duration`).
    Something,
    Statement(&'a [u8]),
    Parse(&'a [u8]),
    Bind(&'a [u8]),
    Execute(&'a [u8]),
    /// A function called by its number (fastpath).
    Call(&'a [u8]),
    /// A plan of auto_explain: the text after `plan:`.
    Plan(&'a [u8]),
}

impl<'a> What<'a> {
    /// The meaning of a message of the severity `LOG`.
    #[inline]
    pub(super) fn of(text: &'a [u8]) -> Self {
        if let Some(rest) = text.strip_prefix(b"duration: ") {
            return done(&PHRASES[0], rest);
        }
        if let Some(rest) = text.strip_prefix(b"statement: ") {
            return What::Begun(rest);
        }
        if let Some(what) = english_only(text) {
            return what;
        }
        let known = PHRASES.iter().find_map(|phrases| translated(phrases, text));
        known.unwrap_or(if has_duration_shape(text) { What::Unknown } else { What::Nothing })
    }
}

fn translated<'a>(phrases: &Phrases, text: &'a [u8]) -> Option<What<'a>> {
    if let Some(rest) = text.strip_prefix(phrases.duration.as_bytes()) {
        return Some(done(phrases, rest));
    }
    if let Some(rest) = text.strip_prefix(phrases.statement.as_bytes()) {
        return Some(What::Begun(rest));
    }
    begun(phrases, text).map(What::Begun)
}

/// The statement of `execute S_1: ...`.
fn begun<'a>(phrases: &Phrases, text: &'a [u8]) -> Option<&'a [u8]> {
    named(phrases.fetch, text).or_else(|| named(phrases.execute, text))
}

/// The text after `words NAME: `.
fn named<'a>(words: &str, text: &'a [u8]) -> Option<&'a [u8]> {
    let rest = text.strip_prefix(words.as_bytes())?;
    let colon = memchr::memmem::find(rest, b": ")?;
    Some(&rest[colon + 2..])
}

/// Reads the text after `duration: `.
#[inline]
fn done<'a>(phrases: &Phrases, text: &'a [u8]) -> What<'a> {
    let Some((length, ns)) = milliseconds(text) else { return What::Unknown };
    let Some(rest) = text[length..].strip_prefix(phrases.unit.as_bytes()) else {
        return What::Unknown;
    };
    // Two spaces in English; some translations have a comma.
    let rest = rest.strip_prefix(b"s").unwrap_or(rest);
    let rest = rest.strip_prefix(b",").unwrap_or(rest).trim_ascii_start();
    if rest.is_empty() {
        return What::Done(ns, Did::Something);
    }
    let did = if let Some(text) = rest.strip_prefix(phrases.statement.as_bytes()) {
        Did::Statement(text)
    } else if let Some(text) = begun(phrases, rest) {
        Did::Execute(text)
    } else if let Some(text) = named(phrases.bind, rest) {
        Did::Bind(text)
    } else if let Some(text) = named(phrases.parse, rest) {
        Did::Parse(text)
    } else if let Some(text) = rest.strip_prefix(b"plan:") {
        Did::Plan(text.trim_ascii_start())
    } else if rest.starts_with(b"fastpath ") {
        Did::Call(rest)
    } else {
        return What::Unknown;
    };
    What::Done(ns, did)
}

/// `12.345` milliseconds: length and nanoseconds.
#[inline]
fn milliseconds(text: &[u8]) -> Option<(usize, u64)> {
    let whole = text.iter().take(15).take_while(|byte| byte.is_ascii_digit()).count();
    let ms = number(&text[..whole])?;
    let fraction = text.get(whole..whole + 4).filter(|rest| rest[0] == b'.')?;
    let us = number(&fraction[1..])?;
    Some((whole + 4, ms.saturating_mul(1_000_000).saturating_add(us * 1000)))
}

/// Whether it begins with a few words, in any language, and a number of milliseconds.
fn has_duration_shape(text: &[u8]) -> bool {
    let head = &text[..text.len().min(64)];
    let Some(at) = head.iter().position(u8::is_ascii_digit) else { return false };
    let Some((length, _)) = milliseconds(&text[at..]) else { return false };
    at > 0 && !text[..at].contains(&b'(') && text.get(at + length) == Some(&b' ')
}

/// Messages that are recognised in English only: they add no statement.
fn english_only(text: &[u8]) -> Option<What<'_>> {
    match text.first()? {
        b't' => {
            text.strip_prefix(b"temporary file: ")?;
            let at = memchr::memmem::rfind(text, b", size ")?;
            Some(What::TemporaryFile(number(&text[at + 7..])?))
        }
        b'p' => process(text).or_else(|| setting(text)),
        b'c' | b'r' => {
            let rest = text.strip_prefix(b"replication ").unwrap_or(text);
            let rest = rest.strip_prefix(b"connection authorized: ")?;
            let value = |key: &[u8]| {
                let at = memchr::memmem::find(rest, key)? + key.len();
                let end = memchr::memchr(b' ', &rest[at..]).map_or(rest.len(), |end| at + end);
                Some(&rest[at..end])
            };
            let database = value(b"database=").unwrap_or_default();
            Some(What::Connected(value(b"user=").unwrap_or_default(), database))
        }
        b'd' => text.starts_with(b"disconnection: ").then_some(What::Disconnected),
        b's' => {
            let rest = text.strip_prefix(b"starting ")?;
            let end = memchr::memchr2_iter(b' ', b',', rest).nth(1).unwrap_or(rest.len());
            rest.starts_with(b"PostgreSQL ").then_some(What::Server(&rest[..end]))
        }
        _ => None,
    }
}

/// `process 1 still waiting for ...`, `process 1 acquired ...`.
fn process(text: &[u8]) -> Option<What<'_>> {
    let rest = text.strip_prefix(b"process ")?;
    let at = memchr::memmem::rfind(rest, b" after ")?;
    let (_, ns) = milliseconds(&rest[at + 7..])?;
    if memchr::memmem::find(rest, b" acquired ").is_some() {
        return Some(What::Locked(ns));
    }
    memchr::memmem::find(rest, b" still waiting for ").map(|_| What::Waiting(ns))
}

/// `parameter "NAME" changed to "VALUE"`.
fn setting(text: &[u8]) -> Option<What<'_>> {
    let rest = text.strip_prefix(b"parameter \"")?;
    let at = memchr::memmem::find(rest, b"\" changed to \"")?;
    Some(What::Setting(&rest[..at], rest[at + 14..].strip_suffix(b"\"")?))
}

/// The parameters in a message's detail: `$1 = '7', $2 = NULL`.
pub(super) fn parameters(detail: &[u8]) -> &[u8] {
    if detail.is_empty() {
        return b"";
    }
    // PostgreSQL 16 and later capitalise the word.
    let english = detail.strip_prefix(b"Parameters: ");
    let all = PHRASES.iter().map(|phrases| phrases.parameters.as_bytes());
    english.or_else(|| all.into_iter().find_map(|words| detail.strip_prefix(words))).unwrap_or(b"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_say_of_what() {
        let of = |text: &'static str| What::of(text.as_bytes());
        let done = |did| What::Done(12_345_000, did);
        assert_eq!(of("duration: 12.345 ms"), done(Did::Something));
        assert_eq!(
            of("duration: 12.345 ms  statement: SELECT 1"),
            done(Did::Statement(b"SELECT 1"))
        );
        assert_eq!(of("duration: 12.345 ms  execute <unnamed>: x"), done(Did::Execute(b"x")));
        assert_eq!(of("duration: 12.345 ms  execute fetch from a/b: x"), done(Did::Execute(b"x")));
        assert_eq!(of("duration: 12.345 ms  parse S_1: x: y"), done(Did::Parse(b"x: y")));
        assert_eq!(of("duration: 12.345 ms  bind S_1/P: x"), done(Did::Bind(b"x")));
        assert_eq!(of("duration: 12.345 ms  plan:\nQuery"), done(Did::Plan(b"Query")));
        assert_eq!(of("duration: long"), What::Unknown);
        assert_eq!(of("duration: 12.345 ms  riddle: x"), What::Unknown);
    }

    #[test]
    fn other_languages_say_it_too() {
        let of = |text: &'static str| What::of(text.as_bytes());
        let done = |did| What::Done(12_345_000, did);
        assert_eq!(of("Dauer: 12.345 ms  Anweisung: x"), done(Did::Statement(b"x")));
        assert_eq!(of("Dauer: 12.345 ms  Ausführen S_1: x"), done(Did::Execute(b"x")));
        assert_eq!(of("durée : 12.345 ms, instruction : x"), done(Did::Statement(b"x")));
        assert_eq!(of("durée : 12.345 ms, analyse S : x"), done(Did::Parse(b"x")));
        assert_eq!(of("durée : 12.345 ms  exécute S: x"), done(Did::Execute(b"x")));
        assert_eq!(of("продолжительность: 12.345 мс, оператор: x"), done(Did::Statement(b"x")));
        assert_eq!(of("期間: 12.345 ミリ秒  文: x"), done(Did::Statement(b"x")));
        assert_eq!(of("执行时间: 12.345 ms 语句: x"), done(Did::Statement(b"x")));
        assert_eq!(of("varaktighet: 12.345 ms  sats: x"), done(Did::Statement(b"x")));
        assert_eq!(of("Anweisung: x"), What::Begun(b"x"));
        assert_eq!(of("kesto: 12.345 ms  lause: x"), What::Unknown);
    }

    #[test]
    fn the_rest_is_told_apart() {
        let of = |text: &'static str| What::of(text.as_bytes());
        assert_eq!(of("statement: x"), What::Begun(b"x"));
        assert_eq!(of("execute S_1: x"), What::Begun(b"x"));
        assert_eq!(
            of("temporary file: path \"base/x\", size 140000"),
            What::TemporaryFile(140_000)
        );
        let waiting = "process 5 still waiting for ShareLock on transaction 7 after 100.101 ms";
        assert_eq!(of(waiting), What::Waiting(100_101_000));
        let locked = "process 5 acquired ShareLock on tuple (0,1) after 255.942 ms at character 22";
        assert_eq!(of(locked), What::Locked(255_942_000));
        let connected = "connection authorized: user=me database=shop application_name=psql";
        assert_eq!(of(connected), What::Connected(b"me", b"shop"));
        assert_eq!(of("disconnection: session time: 0:00:00.052 user=me"), What::Disconnected);
        let server = "starting PostgreSQL 15.18 (Debian 15.18-0) on x86_64";
        assert_eq!(of(server), What::Server(b"PostgreSQL 15.18"));
        let setting = "parameter \"log_min_duration_statement\" changed to \"100\"";
        assert_eq!(of(setting), What::Setting(b"log_min_duration_statement", b"100"));
        let checkpoint =
            "checkpoint complete: wrote 86 buffers (0.5%); write=0.001 s, total=0.002 s";
        assert_eq!(of(checkpoint), What::Nothing);
        assert_eq!(of(""), What::Nothing);
    }

    #[test]
    fn parameters_stand_in_the_detail() {
        assert_eq!(parameters(b"parameters: $1 = '80'"), b"$1 = '80'");
        assert_eq!(parameters(b"Parameters: $1 = '80'"), b"$1 = '80'");
        assert_eq!(parameters(b"prepare: prepare p as x"), b"");
    }
}
