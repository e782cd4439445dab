//! Converts events to records of the replay file: sessions, start times, classes, origins, omissions.

use super::effect;
use super::parameters;
use crate::event::{Event, Kind};
use crate::sql::distill::distill;
use crate::sql::fingerprint::Fingerprinter;
use crate::sql::language;
use crate::sql::token::cut::is_cut;
use dyno_core::trace::{self, Class, Effect, Language, Meta, Origin, Writer};
use std::collections::{BTreeMap, HashMap};
use std::io;

/// Maximum number of statement classes; statements of further classes belong to none.
const CLASSES_MAX: usize = 20_000;
/// Maximum number of pairs of database and user.
const ORIGINS_MAX: usize = 10_000;
/// Maximum number of sessions in a replay file.
const SESSIONS_MAX: u32 = 1 << 24;
/// Maximum lengths of a class's statement and of its name, bytes.
const STATEMENT_BYTES: usize = 500;
const NAME_BYTES: usize = 50;
const SECOND_NS: i64 = 1_000_000_000;
/// Maximum size of the buffered statements of one second, bytes.
const HELD_BYTES: usize = 32 << 20;

/// Reasons for omissions.
pub(super) const NO_SESSION: &str = "no session";
const NO_TIME: &str = "no time";
const NO_VALUES: &str = "parameters without values";
const CUT: &str = "text is cut";
const PREPARED: &str = "prepared only";
const COMMANDS: &str = "commands";
const USE: &str = "use";
const LOCAL_DATA: &str = "data that the client sent";
const TOO_MANY: &str = "beyond what a trace holds";

/// Writes a replay file from events in the order of their log.
pub struct Tracer<W> {
    writer: Writer<W>,
    language: Language,
    fingerprinter: Fingerprinter,
    filled: Vec<u8>,
    /// Open connections by the log's connection ID.
    open: HashMap<u64, Open>,
    /// First start and last end of each session, nanoseconds since 1970.
    spans: Vec<(i64, i64)>,
    classes: HashMap<u128, u32>,
    origins: HashMap<Origin, u32>,
    effects: BTreeMap<&'static str, u64>,
    left_out: BTreeMap<&'static str, u64>,
    meta: Meta,
    /// Whether all times so far are whole seconds, and whole milliseconds.
    is_whole: [bool; 2],
    last_ns: Option<i64>,
    /// Buffered statements of one second of a clock with whole seconds, with longer ones among them.
    held: Vec<Held>,
    held_ns: Option<i64>,
    held_bytes: usize,
    failure: Option<io::Error>,
}

/// A buffered statement, or the end of a connection among them.
enum Held {
    Statement(Statement, Box<[u8]>),
    Close(u64),
}

/// The second in a log with whole seconds: the end of a statement, or (MariaDB) its start. `None`:
/// neither is a whole second.
fn second(end_ns: i64, duration_ns: u64) -> Option<i64> {
    let times = [Some(end_ns), end_ns.checked_sub_unsigned(duration_ns)];
    times.into_iter().flatten().find(|ns| ns % SECOND_NS == 0)
}

/// Properties of a statement besides its text.
struct Statement {
    /// Connection ID in the log.
    number: u64,
    end_ns: i64,
    duration_ns: u64,
    effect: Effect,
    class: u32,
    origin: u32,
}

/// An open connection.
struct Open {
    session: u32,
    origin: u32,
    last_ns: i64,
}

impl<W: io::Write> Tracer<W> {
    /// Starts a replay file.
    ///
    /// # Errors
    /// A write to `out` that fails.
    pub fn new(out: W, language: Language) -> io::Result<Self> {
        Ok(Self {
            writer: Writer::new(out, language)?,
            language,
            fingerprinter: Fingerprinter::new(lexed(language)),
            filled: Vec::new(),
            open: HashMap::new(),
            spans: Vec::new(),
            classes: HashMap::new(),
            origins: HashMap::new(),
            effects: BTreeMap::new(),
            left_out: BTreeMap::new(),
            meta: Meta::default(),
            is_whole: [true; 2],
            last_ns: None,
            held: Vec::new(),
            held_ns: None,
            held_bytes: 0,
            failure: None,
        })
    }

    /// Adds the next event. [`Tracer::finish`] returns the first write error.
    pub fn event(&mut self, event: &Event<'_>) {
        if self.failure.is_some() {
            return;
        }
        let result = match event.kind {
            Kind::Statement => self.statement(event),
            Kind::Prepare => {
                self.leave_out(PREPARED);
                Ok(())
            }
            Kind::Command => self.command(event),
        };
        self.failure = result.err();
    }

    pub(super) fn language(&self) -> Language {
        self.language
    }

    fn leave_out(&mut self, why: &'static str) {
        *self.left_out.entry(why).or_default() += 1;
    }

    /// Commands end connections; `Init DB` is no omission, because each record names its database.
    fn command(&mut self, event: &Event<'_>) -> io::Result<()> {
        match event.text {
            b"Quit" | b"Connect" | b"Change user" => match event.session {
                Some(number) if self.held.is_empty() => self.close(number),
                Some(number) => {
                    self.held.push(Held::Close(number));
                    Ok(())
                }
                None => Ok(()),
            },
            b"Init DB" => Ok(()),
            _ => {
                self.leave_out(COMMANDS);
                Ok(())
            }
        }
    }

    fn close(&mut self, number: u64) -> io::Result<()> {
        match self.open.remove(&number) {
            Some(open) => self.writer.end(open.session),
            None => Ok(()),
        }
    }

    fn statement(&mut self, event: &Event<'_>) -> io::Result<()> {
        let Some(number) = event.session else {
            self.leave_out(NO_SESSION);
            return Ok(());
        };
        if let Some(end_ns) = event.end_ns {
            self.last_ns = Some(end_ns);
            self.is_whole[0] &= second(end_ns, event.duration_ns.unwrap_or(0)).is_some();
            self.is_whole[1] &= end_ns % 1_000_000 == 0;
        }
        let Some(end_ns) = self.last_ns else {
            self.leave_out(NO_TIME);
            return Ok(());
        };
        let of = lexed(self.language);
        let mut filled = std::mem::take(&mut self.filled);
        let why = if event.text.is_empty() {
            Some(COMMANDS)
        } else if is_cut(event.text, of) {
            Some(CUT)
        } else if !parameters::fill(event.text, event.parameters, of, &mut filled) {
            Some(NO_VALUES)
        } else {
            refused(event.text)
        };
        let written = match why {
            Some(why) => {
                self.leave_out(why);
                Ok(())
            }
            None => self.take(number, end_ns, effect::effect(event.text, of), event, &filled),
        };
        self.filled = filled;
        written
    }

    fn take(
        &mut self,
        number: u64,
        end_ns: i64,
        effect: Effect,
        event: &Event<'_>,
        text: &[u8],
    ) -> io::Result<()> {
        let duration_ns = event.duration_ns.unwrap_or(0);
        let class = self.class(event, duration_ns);
        let Some(origin) = self.origin(event) else {
            self.leave_out(TOO_MANY);
            return Ok(());
        };
        let statement = Statement { number, end_ns, duration_ns, effect, class, origin };
        let of_second = second(end_ns, duration_ns);
        // A long statement began in an earlier second, which is over, and ends in the buffered one or later.
        let is_long = of_second < self.held_ns && self.held_ns <= Some(end_ns);
        if of_second.is_none()
            || of_second != self.held_ns && !is_long
            || self.held_bytes > HELD_BYTES
        {
            self.release()?;
        }
        if of_second.is_none() {
            return self.write(statement, 0, text);
        }
        self.held_ns = self.held_ns.max(of_second);
        self.held_bytes += text.len() + size_of::<Held>();
        self.held.push(Held::Statement(statement, text.into()));
        Ok(())
    }

    /// Writes the buffered statements of a second. The log has the same time for all of them: their ends,
    /// or starts, are set at even distances within the second, in the log's order.
    fn release(&mut self) -> io::Result<()> {
        let held = std::mem::take(&mut self.held);
        let of_second = self.held_ns.take();
        self.held_bytes = 0;
        let is_of_it = |one: &Statement| second(one.end_ns, one.duration_ns) == of_second;
        let is_spread =
            |held: &&Held| matches!(held, Held::Statement(statement, _) if is_of_it(statement));
        let step_ns = SECOND_NS / held.iter().filter(is_spread).count().max(1) as i64;
        let mut later_ns = 0;
        for held in held {
            match held {
                Held::Close(number) => self.close(number)?,
                Held::Statement(statement, text) if is_of_it(&statement) => {
                    self.write(statement, later_ns, &text)?;
                    later_ns += step_ns;
                }
                Held::Statement(statement, text) => self.write(statement, 0, &text)?,
            }
        }
        Ok(())
    }

    /// Writes a statement with its end moved by `later_ns`, nanoseconds.
    fn write(&mut self, statement: Statement, later_ns: i64, text: &[u8]) -> io::Result<()> {
        let Statement { number, end_ns, duration_ns, effect, class, origin } = statement;
        let end_ns = end_ns.saturating_add(later_ns);
        let begin_ns = end_ns.saturating_sub_unsigned(duration_ns);
        let Some(session) = self.session(number, origin, begin_ns)? else {
            self.leave_out(TOO_MANY);
            return Ok(());
        };
        let open = self.open.get_mut(&number).expect("it was found or made");
        let begin_ns = begin_ns.max(open.last_ns);
        (open.last_ns, open.origin) = (begin_ns, origin);
        let span = &mut self.spans[session as usize];
        span.1 = span.1.max(end_ns).max(begin_ns);
        *self.effects.entry(effect.name()).or_default() += 1;
        self.meta.events += 1;
        let event = trace::Event { begin_ns, duration_ns, effect, class, origin, text };
        self.writer.event(session, &event)
    }

    /// The session of a connection, a new one if its user (PostgreSQL: or database) changed. `None`:
    /// there are too many sessions.
    fn session(&mut self, number: u64, origin: u32, begin_ns: i64) -> io::Result<Option<u32>> {
        if let Some(open) = self.open.get(&number) {
            let (before, now) =
                (&self.meta.origins[open.origin as usize], &self.meta.origins[origin as usize]);
            let is_other =
                !before.user.is_empty() && !now.user.is_empty() && before.user != now.user
                    || self.language == Language::Postgres && before.database != now.database;
            if !is_other {
                return Ok(Some(open.session));
            }
            self.close(number)?;
        }
        let session = self.spans.len() as u32;
        if session >= SESSIONS_MAX {
            return Ok(None);
        }
        self.spans.push((begin_ns, begin_ns));
        self.open.insert(number, Open { session, origin, last_ns: begin_ns });
        Ok(Some(session))
    }

    fn class(&mut self, event: &Event<'_>, duration_ns: u64) -> u32 {
        let key = self.fingerprinter.key(event.text);
        let number = match self.classes.get(&key) {
            Some(&number) => number,
            None if self.classes.len() >= CLASSES_MAX => return u32::MAX,
            None => {
                let number = self.classes.len() as u32;
                self.classes.insert(key, number);
                self.meta.classes.push(Class {
                    name: name(&distill(event.text, lexed(self.language)).to_string(), key),
                    statement: cut(self.fingerprinter.fingerprint(event.text), STATEMENT_BYTES),
                    events: 0,
                    time_ns: 0,
                });
                number
            }
        };
        let class = &mut self.meta.classes[number as usize];
        class.events += 1;
        class.time_ns = class.time_ns.saturating_add(duration_ns);
        number
    }

    fn origin(&mut self, event: &Event<'_>) -> Option<u32> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let origin = Origin { database: text(event.database), user: text(event.user) };
        if let Some(&number) = self.origins.get(&origin) {
            return Some(number);
        }
        let number = self.origins.len();
        (number < ORIGINS_MAX).then(|| {
            self.meta.origins.push(origin.clone());
            self.origins.insert(origin, number as u32);
            number as u32
        })
    }

    /// Writes buffered statements and the file's metadata; returns the metadata.
    ///
    /// # Errors
    /// The first write to `out` that failed.
    pub fn finish(mut self) -> io::Result<Meta> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        self.release()?;
        let begin_ns = self.spans.iter().map(|span| span.0).min().unwrap_or(0);
        let end_ns = self.spans.iter().map(|span| span.1).max().unwrap_or(0);
        let owned = |counts: BTreeMap<&'static str, u64>| {
            counts.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
        };
        self.meta.begin_ns = begin_ns;
        self.meta.length_ns = end_ns.abs_diff(begin_ns);
        self.meta.sessions = self.spans.len() as u32;
        self.meta.sessions_at_once = at_once(&self.spans);
        self.meta.effects = owned(self.effects);
        self.meta.left_out = owned(self.left_out);
        self.meta.clock_ns = match self.is_whole {
            [true, _] => 1_000_000_000,
            [_, true] => 1_000_000,
            _ => 1_000,
        };
        self.writer.finish(&self.meta)?;
        Ok(self.meta)
    }
}

/// The SQL dialect for the lexer.
fn lexed(language: Language) -> language::Language {
    match language {
        Language::Mysql => language::Language::Mysql,
        Language::Postgres => language::Language::Postgres,
    }
}

/// Why this kind of statement is omitted, if it is.
fn refused(text: &[u8]) -> Option<&'static str> {
    let lower = text.trim_ascii_start().to_ascii_lowercase();
    let mut words = lower.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
    let (first, second) = (words.next()?, words.next());
    let has = |word: &[u8]| lower.split(|b| !b.is_ascii_alphanumeric()).any(|each| each == word);
    match (first, second) {
        // Each record names its database.
        (b"use", _) => Some(USE),
        (b"load", Some(b"data" | b"xml")) if has(b"local") => Some(LOCAL_DATA),
        (b"copy", _) if has(b"stdin") => Some(LOCAL_DATA),
        _ => None,
    }
}

/// The name of a class in results and claims: `select_orders_480afcbd`.
fn name(distilled: &str, key: u128) -> String {
    let mut name = String::with_capacity(NAME_BYTES + 9);
    for char in distilled.chars() {
        let plain = if char.is_ascii_alphanumeric() { char.to_ascii_lowercase() } else { '_' };
        if name.len() >= NAME_BYTES {
            break;
        }
        if plain != '_' || !name.ends_with('_') && !name.is_empty() {
            name.push(plain);
        }
    }
    format!("{}_{}", name.trim_end_matches('_'), &crate::aggregate::class_id::id(key)[..8])
}

fn cut(mut text: String, most: usize) -> String {
    if text.len() > most {
        let end = (0..=most).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        text.truncate(end);
        text.push('…');
    }
    text
}

/// The maximum number of overlapping spans; spans that only touch do not overlap.
fn at_once(spans: &[(i64, i64)]) -> u32 {
    let mut moments: Vec<(i64, bool)> = spans
        .iter()
        .flat_map(|&(begin, end)| {
            // A span of length 0 counts.
            let begin = begin.min(i64::MAX - 1);
            [(begin, true), (end.max(begin + 1), false)]
        })
        .collect();
    moments.sort_unstable();
    let (mut now, mut most) = (0_u32, 0);
    for (_, is_begin) in moments {
        if is_begin {
            now += 1;
            most = most.max(now);
        } else {
            now -= 1;
        }
    }
    most
}

#[cfg(test)]
mod tests;
