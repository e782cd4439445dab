//! Infers `log_line_prefix` from the log: tries known prefixes and models of the first lines, and takes
//! the one that parses most lines.

use super::{Prefix, epoch, has_word, number, session};
use crate::logs::formats::postgres::lines::{self, content};
use crate::logs::formats::postgres::timestamp::Clock;
use crate::logs::formats::postgres::words;
use dyno_core::Result;
use dyno_core::error::{Error, Kind};

/// The default of PostgreSQL, that of Debian, and those that log readers and hosters recommend.
const KNOWN: &[&str] = &[
    "%m [%p] ",
    "%m [%p] %q%u@%d ",
    "%t [%p]: [%l-1] user=%u,db=%d,app=%a,client=%h ",
    "%t [%p]: user=%u,db=%d,app=%a,client=%h ",
    "%m [%p]: user=%u,db=%d,app=%a,client=%h ",
    "%t [%p]: [%l-1] user=%u,db=%d,client=%h ",
    "%t [%p]: [%l-1] user=%u,db=%d ",
    "%t [%p]: user=%u,db=%d ",
    "%t [%p]: db=%d,user=%u,app=%a,client=%h ",
    "%m [%p]: [%l-1] db=%d,user=%u ",
    "%t:%r:%u@%d:[%p]:",
    "%m:%r:%u@%d:[%p]:%l:%e:%s:%v:%x:%c:%q%a:",
    "%t-%c-",
    "%t [%p-%l] %q%u@%d ",
    "%m [%p-%l] %q%u@%d ",
    "%m [%p] %u@%d ",
    "%m [%p] %q%u@%d/%a ",
    "%m [%p] %q[user=%u,db=%d,app=%a] ",
    "%m [%p] %q%u@%d %h ",
    "%m %u@%d [%p] ",
    "%m %p %u@%d ",
    "%m %p %q%u@%d from %h ",
    "%t %u@%d [%p] ",
    "< %m > ",
    "< %m >",
    "<%m>",
    "%m ",
    "%t ",
    "",
];

/// Number of lines examined at the log's start.
const LINES: usize = 400;
/// Number of these from which models are built.
const MODELS: usize = 24;

/// The best prefix that parses at least half of the first lines.
pub(in crate::logs::formats::postgres) fn infer(head: &[u8]) -> Option<Prefix> {
    let lines: Vec<&[u8]> = lines::lines(head, head.len() < 64 << 10)
        .map(|(_, line)| content(line))
        .filter(|line| !line.is_empty() && line[0] != b'\t')
        .take(LINES)
        .collect();
    // No prefix can parse other lines.
    let readable: Vec<&[u8]> = lines.iter().copied().filter(|line| has_word(line)).collect();
    if readable.is_empty() || readable.len() * 2 < lines.len() {
        return None;
    }
    let mut candidates: Vec<String> = KNOWN.iter().map(|text| (*text).to_owned()).collect();
    for made in made(&readable) {
        if !candidates.contains(&made) {
            candidates.push(made);
        }
    }
    let mut best: Option<(Score, Prefix)> = None;
    for text in &candidates {
        let Ok(prefix) = Prefix::parse(text) else { continue };
        let least = best.as_ref().map_or(0, |(score, _)| score.0).max(lines.len().div_ceil(2));
        let Some(score) = score(&prefix, &readable, least) else { continue };
        if best.as_ref().is_none_or(|(other, _)| score > *other) {
            best = Some((score, prefix));
        }
    }
    Some(best?.1)
}

/// Lines parsed, sum of weights, number of escapes.
type Score = (usize, usize, usize);

/// The score of a prefix; `None` if it parses fewer than `least` of the lines.
fn score(prefix: &Prefix, lines: &[&[u8]], least: usize) -> Option<Score> {
    let mut clock = Clock::default();
    let (mut read, mut sum, mut weights) = (0, 0, (usize::MAX, 0));
    for (index, line) in lines.iter().enumerate() {
        if read + (lines.len() - index) < least {
            return None;
        }
        if let Some(line) = prefix.read(line, &mut clock) {
            let weight = line.said.weight();
            (read, sum) = (read + 1, sum + weight);
            weights = (weights.0.min(weight), weights.1.max(weight));
        }
    }
    // Fields after %q count only if some lines have them.
    let is_seen = !prefix.text.contains("%q") || weights.1 > weights.0;
    let fields = if is_seen { prefix.fields() } else { 0 };
    (read >= least).then_some((read, sum, fields))
}

/// The same for a log that the user declares to be one of lines.
///
/// # Errors
/// No prefix matches.
pub(in crate::logs::formats::postgres) fn prefix(head: &[u8]) -> Result<Prefix> {
    if head.is_empty() {
        return Prefix::parse(KNOWN[0]);
    }
    infer(head).ok_or_else(|| {
        Error::new(Kind::Plan, "PostgreSQL's log_line_prefix is not found out from the log's begin")
            .hint(
                "most lines there begin as none of the usual prefixes does; ask the server: \
                 psql -Atc 'SHOW log_line_prefix', and give it with --line-prefix",
            )
    })
}

/// Models of the prefixes of the first lines.
fn made(lines: &[&[u8]]) -> Vec<String> {
    let models = lines.iter().filter_map(|line| Some(&line[..prefix_length(line)?])).take(MODELS);
    let mut made: Vec<String> = Vec::new();
    for text in models.filter_map(model) {
        if !made.contains(&text) {
            made.push(text);
        }
    }
    // With %q, lines of processes without a session have a shorter prefix.
    let mut both = Vec::new();
    for short in &made {
        for long in &made {
            if let Some(rest) = long.strip_prefix(short.as_str()).filter(|rest| !rest.is_empty()) {
                both.push(format!("{short}%q{rest}"));
            }
        }
    }
    made.extend(both);
    made
}

/// Length of the prefix before the first word of PostgreSQL's.
fn prefix_length(line: &[u8]) -> Option<usize> {
    let head = &line[..line.len().min(512)];
    let colon = memchr::memmem::find_iter(head, b":  ").find_map(|colon| {
        // The longest word that ends here.
        (colon.saturating_sub(40)..colon).find(|&begin| {
            let is_begin = begin == 0 || !head[begin - 1].is_ascii_alphanumeric();
            is_begin
                && words::word(&line[begin..])
                    .is_some_and(|(_, length)| begin + length == colon + 3)
        })
    })?;
    Some(colon)
}

/// A prefix that matches the start of a line; `None` if it is not UTF-8.
fn model(text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(text).ok()?;
    let mut model = Model { text, out: String::new(), seen: Vec::new() };
    let mut at = 0;
    while at < text.len() {
        at += model.step(at)?;
    }
    Some(model.out)
}

struct Model<'a> {
    text: &'a str,
    out: String,
    /// Escapes already used.
    seen: Vec<&'static str>,
}

impl Model<'_> {
    /// Appends the escape or character at `at` to the model; returns its length, bytes.
    fn step(&mut self, at: usize) -> Option<usize> {
        let rest = &self.text[at..];
        let bytes = rest.as_bytes();
        let is_begin = at == 0 || !self.text.as_bytes()[at - 1].is_ascii_alphanumeric();
        if is_begin && let Some(length) = self.value(bytes) {
            return Some(length);
        }
        let letter = rest.chars().next()?;
        self.out.push(letter);
        if letter == '%' {
            self.out.push('%');
        }
        Some(letter.len_utf8())
    }

    fn value(&mut self, bytes: &[u8]) -> Option<usize> {
        if let Some((length, _)) = Clock::default().read(bytes) {
            let has_fraction = bytes[19] == b'.';
            self.put(if has_fraction { "%m" } else { self.first(&["%t", "%s"])? });
            return Some(length);
        }
        if let Some((length, _)) = epoch(bytes).filter(|(length, _)| is_epoch(bytes, *length)) {
            self.put(self.first(&["%n"])?);
            return Some(length);
        }
        if let Some((length, ..)) = session(bytes).filter(|(length, ..)| *length > 9) {
            self.put("%c");
            return Some(length);
        }
        if let Some(length) = key(bytes) {
            self.out.push_str(std::str::from_utf8(&bytes[..length]).ok()?);
            return Some(length + self.named(bytes, length)?);
        }
        let word = |extra: &[u8]| {
            let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || extra.contains(byte);
            bytes.iter().take_while(|byte| is_word(byte)).count()
        };
        let host = word(b".:_-");
        if bytes.starts_with(b"[local]") || is_address(&bytes[..host]) {
            let length = if bytes[0] == b'[' { 7 } else { host };
            return Some(length + self.port(&bytes[length..]));
        }
        let name = word(b"_-.");
        if bytes.get(name) == Some(&b'@') && name > 0 || bytes.starts_with(b"[unknown]@") {
            let user = if name == 0 { 9 } else { name };
            let tail = &bytes[user + 1..];
            let database = tail.iter().take_while(|b| !b" ,/:]|>".contains(b)).count();
            self.put("%u");
            self.out.push('@');
            self.put("%d");
            return Some(user + 1 + database);
        }
        let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let is_state = |state: &&[u8]| {
            state.iter().all(|b| b.is_ascii_digit() || b.is_ascii_uppercase()) && word(b"") == 5
        };
        if bytes.get(..5).filter(is_state).is_some() && self.seen.contains(&"%p") {
            self.put("%e");
            return Some(5);
        }
        if digits == 0 {
            return None;
        }
        if bytes.get(digits) == Some(&b'/') {
            self.put("%v");
            let is_id = |byte: &&u8| byte.is_ascii_digit() || **byte == b'/';
            return Some(bytes.iter().take_while(is_id).count());
        }
        // `%l-1` is common.
        if self.out.ends_with("%l-") && bytes[..digits] == *b"1" {
            return None;
        }
        number(&bytes[..digits])?;
        self.put(self.first(&["%p", "%l", "%x"])?);
        Some(digits)
    }

    /// The value after `key=`.
    fn named(&mut self, bytes: &[u8], key: usize) -> Option<usize> {
        let value = &bytes[key..];
        let length = value.iter().take_while(|b| !b" ,;]|>)".contains(b)).count();
        let name = bytes[..key - 1].to_ascii_lowercase();
        match name.as_slice() {
            b"user" | b"usr" | b"u" => self.put("%u"),
            b"db" | b"database" | b"d" | b"dbname" => self.put("%d"),
            b"app" | b"application" | b"a" | b"application_name" => self.put("%a"),
            b"pid" | b"p" => self.put("%p"),
            b"sqlstate" | b"e" | b"state" => self.put("%e"),
            b"session" | b"sess" | b"s" => self.put("%c"),
            _ => {
                let host = value[..length].iter().position(|b| *b == b'(').unwrap_or(length);
                return Some(host + self.port(&value[host..]));
            }
        }
        Some(length)
    }

    /// Appends the escape of a host, after which `(5544)` may follow.
    fn port(&mut self, rest: &[u8]) -> usize {
        let length = memchr::memchr(b')', rest).filter(|_| rest.starts_with(b"("));
        self.put(if length.is_some() { "%r" } else { "%h" });
        length.map_or(0, |length| length + 1)
    }

    fn put(&mut self, escape: &'static str) {
        self.out.push_str(escape);
        self.seen.push(escape);
    }

    fn first(&self, escapes: &[&'static str]) -> Option<&'static str> {
        escapes.iter().copied().find(|escape| !self.seen.contains(escape))
    }
}

/// Whether the number of so many bytes is one of seconds since 1970 with milliseconds, and not a part
/// of a longer word.
fn is_epoch(bytes: &[u8], length: usize) -> bool {
    const SINCE_2001: usize = "1000000000.000".len();
    length == SINCE_2001
        && !bytes.get(length).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'.')
}

/// The length of a known key with its `=`, such as `user=`.
fn key(bytes: &[u8]) -> Option<usize> {
    const KEYS: &[&str] = &[
        "user",
        "usr",
        "u",
        "db",
        "database",
        "d",
        "dbname",
        "app",
        "application",
        "a",
        "application_name",
        "client",
        "host",
        "remote",
        "h",
        "r",
        "ip",
        "addr",
        "pid",
        "p",
        "sqlstate",
        "e",
        "state",
        "session",
        "sess",
        "s",
    ];
    let length = bytes.iter().take_while(|b| b.is_ascii_alphabetic() || **b == b'_').count();
    let is_key = |key: &&str| key.as_bytes().eq_ignore_ascii_case(&bytes[..length]);
    (bytes.get(length) == Some(&b'=') && KEYS.iter().any(is_key)).then_some(length + 1)
}

fn is_address(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(|text| text.parse::<std::net::IpAddr>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(lines: &[&str]) -> Option<String> {
        infer(lines.join("\n").as_bytes()).map(|prefix| prefix.text)
    }

    #[test]
    fn usual_prefixes_are_found_out() {
        let time = "2026-11-22 06:40:01";
        let lines = [
            format!("{time}.389 CET [1] LOG:  database system is ready to accept connections"),
            format!("{time}.389 CET [12] me@shop LOG:  duration: 1.2 ms  statement: SELECT 1"),
            format!("{time}.389 CET [12] me@shop ERROR:  no"),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        assert_eq!(found(&lines).as_deref(), Some("%m [%p] %q%u@%d "));
        assert_eq!(found(&lines[..1]).as_deref(), Some("%m [%p] "));
        let rds = format!("{time} UTC:10.0.0.7(5544):me@shop:[12]:LOG:  statement: x");
        assert_eq!(found(&[&rds]).as_deref(), Some("%t:%r:%u@%d:[%p]:"));
        assert_eq!(found(&["LOG:  x", "ERROR:  y"]).as_deref(), Some(""));
        let german =
            format!("{time} CET [7]: [2-1] user=me,db=shop,app=psql,client=::1 FEHLER:  x");
        let expected = "%t [%p]: [%l-1] user=%u,db=%d,app=%a,client=%h ";
        assert_eq!(found(&[&german]).as_deref(), Some(expected));
    }

    #[test]
    fn seconds_since_1970_are_times() {
        let line = "1763786520.120 [4711] LOG:  duration: 10.000 ms  statement: select 1";
        assert_eq!(found(&[line]).as_deref(), Some("%n [%p] "));
        let session = "1763786520.120 4711 6b028031.29e5 me@shop LOG:  x";
        assert_eq!(found(&[session]).as_deref(), Some("%n %p %c %u@%d "));
    }

    #[test]
    fn unusual_ones_are_made_from_lines() {
        let time = "2026-11-22 06:40:01.389 CET";
        let lines = [
            format!("{time} | 77 | LOG:  checkpoint starting: time"),
            format!("{time} | 12 | usr=me;db=shop;ip=10.0.0.7(55) 6b028031.29e5 00000: LOG:  a"),
            format!("{time} | 13 | usr=;db=;ip=[local] 6b028031.29e6 42P01: ERROR:  b"),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let expected = "%m | %p | %qusr=%u;db=%d;ip=%r %c %e: ";
        assert_eq!(found(&lines).as_deref(), Some(expected));
    }

    #[test]
    fn what_is_no_such_log_has_none() {
        assert_eq!(found(&[]), None);
        assert_eq!(found(&["hello", "LOG x", "# Time: 2026-11-22T06:40:01Z"]), None);
        assert!(infer(&[0xff; 5000]).is_none());
        assert!(prefix(b"hello\n").is_err());
        assert_eq!(prefix(b"").expect("the default").text, "%m [%p] ");
    }
}
