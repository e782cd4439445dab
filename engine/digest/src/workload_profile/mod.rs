//! Workload profile: a statistical model of a log's load, from which a similar load can be generated. It
//! contains statements with places for their values, the distributions of the values, and the units of
//! statements that a session sends together.
//!
//! The profile contains no literals except those of hints. It contains the least and the greatest number,
//! date and time; the widths of ranges; the lengths of lists and texts; the kinds of characters by
//! position; and the frequencies of hot values, without the values.
//!
//! Events must come in the log's order.

mod correlated_params;
pub mod from_logs;
mod sessions;
mod template;
mod values;

use crate::event::{Event, Kind};
use crate::sql::fingerprint::Fingerprinter;
use crate::sql::language::Language;
use correlated_params::Ties;
pub use correlated_params::{Counter, Tie};
use schemars::JsonSchema;
use serde::Serialize;
use sessions::Sessions;
use sessions::transaction_words::{Word, words};
pub use sessions::unit::{Step, Unit};
use std::collections::HashMap;
pub use template::{List, Range};
use template::{Template, Templates};
pub use values::distribution::Spread;
pub use values::{Summary, Text};

/// Maximum number of statements in a profile; executions of others are only counted.
const STATEMENTS_MAX: usize = 2000;
/// Maximum number of sessions whose first and last statement are stored.
const LIVES_MAX: usize = 1_000_000;

/// Profile of a workload.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Shape {
    /// The statements, in the order of their first execution.
    pub statements: Vec<Statement>,
    /// Statements that sessions send together, the most frequent unit first.
    pub units: Vec<Unit>,
    /// Parameters with equal values within a unit, except constants.
    pub ties: Vec<Tie>,
    /// Parameters that count the repetitions of a statement within a transaction.
    pub counters: Vec<Counter>,
    /// Number of transactions that were too long for the profile.
    pub units_dropped: u64,
    /// Sampling of transactions, if too many differ: one in this many was counted (1: all). Counts are
    /// scaled to all.
    pub one_in: u64,
    /// Number of executions without a statement in the profile: too many different statements.
    pub statements_dropped: u64,
    /// Number of executions whose session is unknown; each is a unit of its own.
    pub statements_unplaced: u64,
    /// Number of connections that sent statements.
    pub sessions: u64,
    /// Largest number of concurrent sessions, each from its first to its last statement; null: sessions
    /// are unknown, or there are more than a million.
    pub sessions_at_once: Option<u64>,
    /// Time from the first to the last event, seconds.
    pub duration_s: f64,
    /// Variance-to-mean ratio of the number of units per second, by their ends: 1 for Poisson arrivals; null:
    /// too little data.
    pub dispersion: Option<f64>,
}

/// A statement of one database, as a template.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Statement {
    /// ID of the class.
    pub id: String,
    /// Text with `:p1`, `:p2`, ... for values and one element of each list, in the most frequent form of
    /// the class.
    pub template: String,
    /// Share of the class's events that have exactly this form, 0 to 1.
    pub template_share: f64,
    /// Default database; empty: unknown.
    pub database: String,
    /// Number of executions.
    pub count: u64,
    /// Number of executions in no unit: in transactions that are too long or cut by the log's ends, or in
    /// incomplete pairs.
    pub in_no_unit: u64,
    /// Distributions of the values, by parameter number.
    pub parameters: Vec<Summary>,
    /// Lists of variable length, of which the template has one element.
    pub lists: Vec<List>,
    /// Pairs of parameters that are the ends of a range.
    pub ranges: Vec<Range>,
    /// Whether values within hints, which stay in `template`, differ between executions.
    pub hints_differ: bool,
}

/// Builds a [`Shape`] event by event.
pub struct Shaper {
    fingerprinter: Fingerprinter,
    template: Template,
    language: Language,
    /// Indices in `statements` by class and database: tables of the same name have different values in
    /// different databases.
    known: HashMap<u128, HashMap<Vec<u8>, u32>>,
    statements: Vec<Gathered>,
    sessions: Sessions,
    ties: Ties,
    statements_dropped: u64,
    statements_unplaced: u64,
    first_ns: Option<i64>,
    last_ns: Option<i64>,
    by_second: HashMap<i64, u64>,
    /// Number of statements so far; it orders statements, because timestamps may be in full seconds.
    sent: u64,
    /// Numbers of the first and the last statement of each session.
    lives: HashMap<u64, (u64, u64)>,
    /// Numbers of the first and the last statement of ended sessions.
    ended: Vec<(u64, u64)>,
}

struct Gathered {
    key: u128,
    database: String,
    count: u64,
    templates: Templates,
}

impl Shaper {
    /// Creates a builder for events of one language.
    pub fn new(language: Language) -> Self {
        Self {
            fingerprinter: Fingerprinter::new(language),
            template: Template::new(language),
            language,
            known: HashMap::new(),
            statements: vec![],
            sessions: Sessions::default(),
            ties: Ties::default(),
            statements_dropped: 0,
            statements_unplaced: 0,
            first_ns: None,
            last_ns: None,
            by_second: HashMap::new(),
            sent: 0,
            lives: HashMap::new(),
            ended: vec![],
        }
    }

    /// Adds the next event.
    pub fn event(&mut self, event: &Event<'_>) {
        match event.kind {
            Kind::Statement if !event.text.is_empty() => self.sent(event),
            Kind::Command => event.session.into_iter().for_each(|session| self.end(session)),
            _ => {}
        }
    }

    /// Ends a connection and its transaction; its number may be reused.
    fn end(&mut self, session: u64) {
        self.ended.extend(self.lives.remove(&session));
        self.ties.end(session);
        self.sessions.end(session);
    }

    /// Adds a query string, which usually contains one statement.
    fn sent(&mut self, event: &Event<'_>) {
        if let Some(ns) = event.end_ns {
            self.first_ns = Some(self.first_ns.map_or(ns, |first| first.min(ns)));
            self.last_ns = Some(self.last_ns.map_or(ns, |last| last.max(ns)));
        }
        event.session.into_iter().for_each(|session| self.lives_on(session));
        let (mut is_unit, mut is_work) = (false, false);
        for word in words(event.text, self.language) {
            is_unit |= match (word, event.session) {
                (Some(word), Some(session)) => self.word(session, word),
                (Some(_), None) => false,
                // Several statements in one string are one execution of its class.
                (None, _) if std::mem::replace(&mut is_work, true) => false,
                (None, session) => self.work(session, event),
            };
        }
        if let (true, Some(ns)) = (is_unit, event.end_ns) {
            *self.by_second.entry(ns.div_euclid(1_000_000_000)).or_default() += 1;
        }
    }

    fn lives_on(&mut self, session: u64) {
        self.sent += 1;
        if self.ended.len() + self.lives.len() < LIVES_MAX {
            self.lives.entry(session).or_insert((self.sent, self.sent)).1 = self.sent;
        }
    }

    /// Adds a transaction control statement; returns whether a unit ended.
    fn word(&mut self, session: u64, word: Word) -> bool {
        if word != Word::Other {
            self.ties.end(session);
        }
        self.sessions.word(session, word)
    }

    /// Adds another statement; returns whether it is a unit of its own.
    fn work(&mut self, session: Option<u64>, event: &Event<'_>) -> bool {
        self.statements_unplaced += u64::from(session.is_none());
        let Some(number) = self.statement(event) else {
            self.statements_dropped += 1;
            return false;
        };
        let is_alone = match session {
            Some(session) => {
                let is_alone = self.sessions.statement(session, number);
                self.ties.statement(session, number, is_alone, self.template.seen());
                is_alone
            }
            None => {
                self.sessions.unplaced(number);
                self.ties.unplaced();
                true
            }
        };
        let templates = &mut self.statements[number as usize].templates;
        templates.add(&self.template, &self.ties);
        is_alone
    }

    fn statement(&mut self, event: &Event<'_>) -> Option<u32> {
        let number = self.number(event)?;
        let gathered = &mut self.statements[number as usize];
        gathered.count += 1;
        self.template.take(event.text, event.parameters);
        Some(number)
    }

    /// Index of the statement for its class and database; `None` if the profile is full.
    fn number(&mut self, event: &Event<'_>) -> Option<u32> {
        let key = self.fingerprinter.key(event.text);
        let known = self.known.get(&key).and_then(|known| known.get(event.database));
        if known.is_some() || self.statements.len() >= STATEMENTS_MAX {
            return known.copied();
        }
        let number = self.statements.len() as u32;
        self.known.entry(key).or_default().insert(event.database.to_vec(), number);
        self.statements.push(Gathered {
            key,
            database: String::from_utf8_lossy(event.database).into_owned(),
            count: 0,
            templates: Templates::default(),
        });
        Some(number)
    }

    /// The profile of all events.
    pub fn finish(mut self) -> Shape {
        let sent = self.sessions.finish();
        let statements = (0..).zip(self.statements).map(|(number, gathered)| {
            let best = gathered.templates.best();
            Statement {
                id: crate::aggregate::class_id::id(gathered.key),
                template: best.text,
                template_share: best.share,
                database: gathered.database,
                count: gathered.count,
                in_no_unit: sent.left.get(&number).copied().unwrap_or(0),
                parameters: best.parameters,
                lists: best.lists,
                ranges: best.ranges,
                hints_differ: best.hints_differ,
            }
        });
        let statements: Vec<Statement> = statements.collect();
        let counters = self.ties.counters();
        let mut ties = self.ties.finish();
        let varies = |tie: &Tie| {
            let parameters = &statements[tie.statement as usize].parameters;
            parameters.get(usize::from(tie.place) - 1).is_some_and(|place| place.distinct > 2)
        };
        ties.retain(varies);
        let span = self.first_ns.zip(self.last_ns);
        self.ended.extend(self.lives.into_values());
        let sessions_at_once = at_once(self.ended);
        Shape {
            statements,
            units: sent.units,
            ties,
            counters,
            units_dropped: sent.dropped,
            one_in: sent.one_in,
            statements_dropped: self.statements_dropped,
            statements_unplaced: self.statements_unplaced,
            sessions: sent.sessions,
            sessions_at_once,
            duration_s: span.map_or(0.0, |(first, last)| (last - first) as f64 / 1e9),
            dispersion: span.and_then(|span| dispersion(&self.by_second, span)),
        }
    }
}

/// The largest number of overlapping lives; `None`: no sessions, or too many.
fn at_once(lives: Vec<(u64, u64)>) -> Option<u64> {
    if lives.is_empty() || lives.len() >= LIVES_MAX {
        return None;
    }
    // `false` sorts first, so a session with one statement begins before it ends.
    let mut changes: Vec<(u64, bool)> =
        lives.into_iter().flat_map(|(first, last)| [(first, false), (last, true)]).collect();
    changes.sort_unstable();
    let (mut now, mut most) = (0u64, 0);
    for (_, is_end) in changes {
        now = if is_end { now - 1 } else { now + 1 };
        most = most.max(now);
    }
    Some(most)
}

/// Variance-to-mean ratio of the units per second, over the full seconds between the first and the last
/// event; `None` for less than 10 s.
fn dispersion(by_second: &HashMap<i64, u64>, (first_ns, last_ns): (i64, i64)) -> Option<f64> {
    let second = |ns: i64| ns.div_euclid(1_000_000_000);
    let seconds = second(first_ns) + 1..second(last_ns);
    let n = (seconds.end - seconds.start) as f64;
    if n < 10.0 {
        return None;
    }
    let counts = by_second.iter().filter(|(second, _)| seconds.contains(second));
    let (sum, squares) = counts.fold((0.0, 0.0), |(sum, squares), (_, &count)| {
        (sum + count as f64, squares + (count as f64).powi(2))
    });
    let mean = sum / n;
    (mean > 0.0).then(|| (squares - n * mean * mean) / (n - 1.0) / mean)
}

#[cfg(test)]
mod charsets;
#[cfg(test)]
mod tests;
