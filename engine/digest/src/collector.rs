//! What one thread adds up between two meetings: a sink of events that touches nothing shared.

use crate::censoring::Durations;
use crate::classes::{Classes, Standing};
use crate::concurrency::Running;
use crate::details::{Details, Seen, Title, offer};
use crate::document::{NotUnderstood, Sample};
use crate::event::{Event, Measure};
use crate::filter::Filter;
use crate::format::Sink;
use crate::grouping::Grouper;
use crate::held::Held;
use crate::sums::{NO_DETAILS, Sums, weight};
use crate::table::Table;
use crate::timeline::Gaps;

/// Of pieces that are no event the first so many are told.
pub const TOLD: usize = 20;

/// What classes are ordered by, and which are the most costly while reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderBy {
    /// Sum of durations.
    QueryTime,
    /// Events that they stand for.
    Count,
    /// The slowest event.
    Max,
    /// Bytes of statements.
    StatementBytes,
    /// Sum of a measure.
    Measure(Measure),
}

impl OrderBy {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::QueryTime => "query_time",
            Self::Count => "count",
            Self::Max => "max",
            Self::StatementBytes => "statement_bytes",
            Self::Measure(measure) => measure.name(),
        }
    }

    /// What an event adds.
    #[inline]
    pub fn cost(self, event: &Event<'_>) -> u64 {
        let value = match self {
            Self::Max => return event.duration_ns.unwrap_or(0),
            Self::QueryTime => event.duration_ns.unwrap_or(0),
            Self::Count => 1,
            Self::StatementBytes => event.text.len() as u64,
            Self::Measure(measure) => event.numbers.get(measure).unwrap_or(0),
        };
        value.saturating_mul(u64::from(weight(event)))
    }

    /// Two costs as one.
    #[inline]
    pub fn join(self, left: u64, right: u64) -> u64 {
        if self == Self::Max { left.max(right) } else { left.saturating_add(right) }
    }
}

/// Counts of one log.
#[derive(Debug, Default)]
pub struct Tally {
    /// Events read.
    pub events: u64,
    /// Events left out.
    pub filtered: u64,
    /// Bytes that were no event.
    pub bytes_not_understood: u64,
    /// How many pieces.
    pub pieces_not_understood: u64,
    /// The first pieces, by position.
    pub told: Vec<NotUnderstood>,
    /// All durations, before filters.
    pub durations: Durations,
}

impl Tally {
    /// Counts an event; whether it passes the filter.
    #[inline]
    pub fn passes(&mut self, filter: &Filter, event: &Event<'_>) -> bool {
        self.events += 1;
        if let Some(duration_ns) = event.duration_ns {
            self.durations.add(duration_ns);
        }
        self.durations.weight_max = self.durations.weight_max.max(event.weight);
        let passes = filter.passes(event);
        self.filtered += u64::from(!passes);
        passes
    }

    /// Adds a piece that is no event.
    pub fn not_understood(&mut self, offset: u64, bytes: u64, why: &str) {
        self.bytes_not_understood += bytes;
        self.pieces_not_understood += 1;
        if self.told.len() == TOLD && self.told.last().is_some_and(|last| last.offset <= offset) {
            return;
        }
        let at = self.told.partition_point(|told| told.offset <= offset);
        self.told.insert(at, NotUnderstood { offset, line: None, bytes, why: why.to_owned() });
        self.told.truncate(TOLD);
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: Tally) {
        self.events += other.events;
        self.filtered += other.filtered;
        self.bytes_not_understood += other.bytes_not_understood;
        self.pieces_not_understood += other.pieces_not_understood;
        self.told.extend(other.told);
        self.told.sort_by_key(|told| told.offset);
        self.told.truncate(TOLD);
        self.durations.merge(&other.durations);
    }
}

/// A class without details that one event made costly: what it would be called.
#[derive(Debug)]
pub struct Aside {
    /// The class.
    pub key: u128,
    /// Its name.
    pub title: Box<Title>,
    /// The event.
    pub sample: Option<Box<Sample>>,
}

/// What a thread has added up. On lines of memory that no other thread changes: processors fetch them in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Collected {
    /// Every class.
    pub sums: Table<Sums>,
    /// Of the classes that have them, until they are gathered.
    pub details: Held,
    /// Of all others together.
    pub others: Details,
    /// Costly events of classes without details.
    pub asides: Vec<Aside>,
    /// Ends.
    pub gaps: Gaps,
    /// Begins and ends.
    pub running: Running,
    /// Counts of the log.
    pub tally: Tally,
}

/// How events are taken.
#[derive(Debug, Clone)]
pub struct Taking {
    /// Which are left out.
    pub filter: Filter,
    /// What makes a class costly.
    pub order_by: OrderBy,
    /// Whether samples have their text.
    pub keeps_text: bool,
}

/// A sink for one thread.
pub struct Collector<'a> {
    /// Position of the log.
    pub input: u32,
    /// How events are taken.
    pub taking: &'a Taking,
    /// What all threads had at the last meeting.
    pub classes: &'a Classes,
    /// Finds the class of an event.
    pub grouper: &'a mut Grouper,
    /// What this thread has added up since.
    pub collected: &'a mut Collected,
}

impl Sink for Collector<'_> {
    fn event(&mut self, event: &Event<'_>) {
        let all = &mut *self.collected;
        if !all.tally.passes(&self.taking.filter, event) {
            return;
        }
        let key = self.grouper.key(event);
        let position = match all.sums.find(key) {
            Some(position) => position,
            None => self.begin(key, event),
        };
        let all = &mut *self.collected;
        let sums = all.sums.at_mut(position);
        let cost = self.taking.order_by.cost(event);
        sums.add(event);
        sums.cost = self.taking.order_by.join(sums.cost, cost);
        let seen = Seen::new(self.input, event, self.taking.keeps_text);
        if sums.details != NO_DETAILS {
            all.details.add(sums.details, &seen, &event.numbers);
        } else {
            if cost >= self.classes.costly() {
                let title = self.grouper.title(self.input, event);
                let mut sample = None;
                offer(&mut sample, &seen);
                all.asides.push(Aside { key, title, sample });
            }
            all.others.add(&seen, event.numbers.iter());
        }
        if let Some(end_ns) = event.end_ns {
            all.gaps.add(end_ns);
            if let Some(duration_ns) = event.duration_ns {
                all.running.add(end_ns, duration_ns);
            }
        }
    }

    fn not_understood(&mut self, offset: u64, bytes: u64, why: &'static str) {
        self.collected.tally.not_understood(offset, bytes, why);
    }
}

impl Collector<'_> {
    /// A class that this thread has not met since the last meeting.
    #[cold]
    fn begin(&mut self, key: u128, event: &Event<'_>) -> usize {
        let held = &mut self.collected.details;
        let details = match self.classes.standing(key) {
            Standing::Sums => NO_DETAILS,
            Standing::Details(place) => held.at(Some(place)),
            Standing::Nameless(place) => {
                let at = held.at(place);
                let title = self.grouper.title(self.input, event);
                held.call(at, &title);
                at
            }
        };
        self.collected.sums.insert(Sums::new(key, details))
    }
}
