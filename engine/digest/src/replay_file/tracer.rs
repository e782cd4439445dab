//! Turns events into records of the replay file: sessions, begins, classes, origins, omissions.

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

/// Classes told apart; statements of further ones belong to none.
const CLASSES_MAX: usize = 20_000;
/// Databases and users told apart.
const ORIGINS_MAX: usize = 10_000;
/// Sessions, as a trace allows.
const SESSIONS_MAX: u32 = 1 << 24;
/// A class's statement is cut here, and its name.
const STATEMENT_BYTES: usize = 500;
const NAME_BYTES: usize = 50;
const SECOND_NS: i64 = 1_000_000_000;
/// Statements of a second that wait for the rest of it take so much at most.
const HELD_BYTES: usize = 32 << 20;

/// Reasons why something is left out.
pub(super) const NO_SESSION: &str = "no session";
const NO_TIME: &str = "no time";
const NO_VALUES: &str = "parameters without values";
const CUT: &str = "text is cut";
const PREPARED: &str = "prepared only";
const COMMANDS: &str = "commands";
const USE: &str = "use";
const LOCAL_DATA: &str = "data that the client sent";
const TOO_MANY: &str = "beyond what a trace holds";

/// Makes a trace of events, which come in the order of their log.
pub struct Tracer<W> {
    writer: Writer<W>,
    language: Language,
    fingerprinter: Fingerprinter,
    filled: Vec<u8>,
    /// Connections that are there, by the log's number.
    open: HashMap<u64, Open>,
    /// First begin and last end of each session.
    spans: Vec<(i64, i64)>,
    classes: HashMap<u128, u32>,
    origins: HashMap<Origin, u32>,
    effects: BTreeMap<&'static str, u64>,
    left_out: BTreeMap<&'static str, u64>,
    meta: Meta,
    /// Whether all times so far are whole seconds, or milliseconds.
    is_whole: [bool; 2],
    last_ns: Option<i64>,
    /// Statements of one second of a clock that ticks in seconds, longer ones among them, and which second.
    held: Vec<Held>,
    held_ns: Option<i64>,
    held_bytes: usize,
    failure: Option<io::Error>,
}

/// A statement that waits for the rest of a second, or the end of a connection among them.
enum Held {
    Statement(Statement, Box<[u8]>),
    Close(u64),
}

/// The second that a clock of seconds has told: when a statement ended, or (MariaDB) when it began.
fn second(end_ns: i64, duration_ns: u64) -> Option<i64> {
    let times = [Some(end_ns), end_ns.checked_sub_unsigned(duration_ns)];
    times.into_iter().flatten().find(|ns| ns % SECOND_NS == 0)
}

/// What is known of a statement besides its text.
struct Statement {
    /// The log's number of its connection.
    number: u64,
    end_ns: i64,
    duration_ns: u64,
    effect: Effect,
    class: u32,
    origin: u32,
}

/// A connection.
struct Open {
    session: u32,
    origin: u32,
    last_ns: i64,
}

impl<W: io::Write> Tracer<W> {
    /// Begins a trace.
    ///
    /// # Errors
    /// What `out` says.
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

    /// Takes the next event. What `out` says against it, [`Tracer::finish`] tells.
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

    /// The begin and end of connections are kept; the database is told with each statement.
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
        // One that began in an earlier second and ends among those of this one: its own is over.
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

    /// Writes what a whole second holds. A clock that ticks in seconds says the same of all of it: they
    /// are taken to have ended, or begun, at even distances within it, in the order of the log.
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

    /// Writes a statement that ended so much later than its log says.
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

    /// The session of a connection; a new one where it is another's.
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

    /// Writes what is left; what the whole trace is.
    ///
    /// # Errors
    /// What `out` said first.
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

/// How its statements are taken apart.
fn lexed(language: Language) -> language::Language {
    match language {
        Language::Mysql => language::Language::Mysql,
        Language::Postgres => language::Language::Postgres,
    }
}

/// Why a statement cannot be sent again whatever its text says.
fn refused(text: &[u8]) -> Option<&'static str> {
    let lower = text.trim_ascii_start().to_ascii_lowercase();
    let mut words = lower.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
    let (first, second) = (words.next()?, words.next());
    let has = |word: &[u8]| lower.split(|b| !b.is_ascii_alphanumeric()).any(|each| each == word);
    match (first, second) {
        // The database is told with each statement.
        (b"use", _) => Some(USE),
        (b"load", Some(b"data" | b"xml")) if has(b"local") => Some(LOCAL_DATA),
        (b"copy", _) if has(b"stdin") => Some(LOCAL_DATA),
        _ => None,
    }
}

/// A name that results and claims can carry: `select_orders_480afcbd`.
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

/// The most spans that overlap; one that begins when another ends does not.
fn at_once(spans: &[(i64, i64)]) -> u32 {
    let mut moments: Vec<(i64, bool)> = spans
        .iter()
        .flat_map(|&(begin, end)| {
            // A span of no length is there all the same.
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
