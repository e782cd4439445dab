//! Details of the most costly classes: all measures, users and hosts, times, duration histogram.

use crate::aggregate::stats::name_counts::Names;
use crate::aggregate::stats::quantile_sketch::Sketch;
use crate::aggregate::stats::timeline::Times;
use crate::document::Sample;
use crate::event::weight;
use crate::event::{Event, MEASURES, Measure};

/// The most bytes of a sample's text that are stored.
pub const SAMPLE_BYTES: usize = 64 << 10;
/// Upper bounds of the query time histogram except the last, nanoseconds.
const BOUNDS_NS: [u64; 8] =
    [1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000];

/// Values of one measure.
#[derive(Debug, Clone)]
pub struct Spread {
    /// Number of values.
    pub count: u64,
    /// Number of values, weighted.
    pub weighted: u64,
    /// Sum of values, weighted.
    pub sum: u64,
    /// The smallest value.
    pub min: u64,
    /// The largest value.
    pub max: u64,
    /// Sum of squares, weighted.
    pub squares: u128,
    /// Distribution of the values.
    pub sketch: Sketch,
}

impl Default for Spread {
    fn default() -> Self {
        Self {
            count: 0,
            weighted: 0,
            sum: 0,
            min: u64::MAX,
            max: 0,
            squares: 0,
            sketch: Sketch::default(),
        }
    }
}

impl Spread {
    #[inline]
    fn add(&mut self, value: u64, weight: u32) {
        self.count += 1;
        self.weighted += u64::from(weight);
        self.sum = self.sum.saturating_add(value.saturating_mul(u64::from(weight)));
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        let square = u128::from(value) * u128::from(value);
        // 128-bit products are slow, and nearly all weights are 1.
        let squares = if weight == 1 { square } else { square.saturating_mul(weight.into()) };
        self.squares = self.squares.saturating_add(squares);
        self.sketch.add(value, weight);
    }

    /// Merges another set of values.
    pub fn merge(&mut self, other: &Spread) {
        self.count += other.count;
        self.weighted += other.weighted;
        self.sum = self.sum.saturating_add(other.sum);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.squares = self.squares.saturating_add(other.squares);
        self.sketch.merge(&other.sketch);
    }
}

/// The name of a class and the position of the event that names it: the first of several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Title {
    /// Index of the log and offset of the event in it.
    pub at: (u32, u64),
    /// The fingerprint, or the value by which events are grouped.
    pub fingerprint: String,
    /// pt-query-digest's ID, if pt-query-digest forms the same class.
    pub pt_id: Option<String>,
    /// Verbs and tables.
    pub distill: String,
    /// Tables.
    pub tables: Vec<String>,
}

/// The fields of an event that details use, except measures.
#[derive(Debug, Clone, Copy, Default)]
pub struct Seen<'a> {
    /// Index of the log and offset of the event in it.
    pub at: (u32, u64),
    /// This and the following fields are as in [`Event`].
    pub end_ns: Option<i64>,
    /// Duration.
    pub duration_ns: Option<u64>,
    /// Number of events that it represents.
    pub weight: u32,
    /// The user.
    pub user: &'a [u8],
    /// The client's host.
    pub host: &'a [u8],
    /// The default database.
    pub database: &'a [u8],
    /// The error.
    pub error: &'a [u8],
    /// Summary of the execution plan.
    pub plan: &'a [u8],
    /// The statement, if samples include its text.
    pub text: Option<&'a [u8]>,
}

impl<'a> Seen<'a> {
    /// Copies the fields of an event of log `input`; `keeps_text`: samples include the text.
    #[inline]
    pub fn new(input: u32, event: &Event<'a>, keeps_text: bool) -> Self {
        Self {
            at: (input, event.offset),
            end_ns: event.end_ns,
            duration_ns: event.duration_ns,
            weight: weight(event),
            user: event.user,
            host: event.host,
            database: event.database,
            error: event.error,
            plan: event.plan,
            text: keeps_text.then_some(event.text),
        }
    }
}

/// Details of some events.
#[derive(Debug, Clone, Default)]
pub struct Details {
    /// Name of the class; `None` until the first event.
    pub title: Option<Box<Title>>,
    /// Durations.
    pub time: Spread,
    /// The other measures that have values.
    pub measures: Vec<(Measure, Spread)>,
    /// By measure: its index in `measures`, plus 1; 0 if absent.
    pub place: [u8; MEASURES],
    /// Durations by powers of ten.
    pub histogram: [u64; 9],
    /// Events over time.
    pub times: Times,
    /// Users, hosts, default databases, errors and plans, in a separate allocation because they
    /// change seldom.
    pub names: Box<[Names; 5]>,
    /// The slowest event.
    pub sample: Option<Box<Sample>>,
}

impl Details {
    /// Adds an event.
    #[inline]
    pub fn add(&mut self, seen: &Seen<'_>, numbers: impl Iterator<Item = (Measure, u64)>) {
        let weight = seen.weight;
        if let Some(time_ns) = seen.duration_ns {
            self.time.add(time_ns, weight);
            let above = BOUNDS_NS.iter().map(|&bound| usize::from(time_ns >= bound)).sum::<usize>();
            self.histogram[above] += 1;
        }
        for (measure, value) in numbers {
            self.spread(measure).add(value, weight);
        }
        if let Some(end_ns) = seen.end_ns {
            self.times.add(end_ns, seen.duration_ns.unwrap_or(0), weight);
        }
        let texts = [seen.user, seen.host, seen.database, seen.error, seen.plan];
        for (names, text) in self.names.iter_mut().zip(texts) {
            names.add(text, 1);
        }
        // Nearly all events are faster than the sample, which is the slowest so far.
        if self.sample.is_none() || seen.duration_ns.is_none_or(|ns| ns >= self.time.max) {
            offer(&mut self.sample, seen);
        }
    }

    #[inline]
    fn spread(&mut self, measure: Measure) -> &mut Spread {
        let place = &mut self.place[measure as usize];
        if *place == 0 {
            self.measures.push((measure, Spread::default()));
            // MEASURES is at most 32.
            *place = self.measures.len() as u8;
        }
        &mut self.measures[usize::from(*place) - 1].1
    }

    /// Merges other details.
    pub fn merge(&mut self, other: &Details) {
        self.time.merge(&other.time);
        for (measure, spread) in &other.measures {
            self.spread(*measure).merge(spread);
        }
        for (mine, theirs) in self.histogram.iter_mut().zip(other.histogram) {
            *mine += theirs;
        }
        self.times.merge(&other.times);
        for (mine, theirs) in self.names.iter_mut().zip(other.names.iter()) {
            mine.merge(theirs);
        }
        self.call(other.title.as_deref());
        self.show(other.sample.as_deref());
    }

    /// Merges other details and consumes them.
    pub fn take_in(&mut self, other: Details) {
        let is_new = self.time.count == 0
            && self.measures.is_empty()
            && self.times.is_empty()
            && self.names.iter().all(Names::is_empty);
        if !is_new {
            return self.merge(&other);
        }
        let mine = std::mem::replace(self, other);
        self.call(mine.title.as_deref());
        self.show(mine.sample.as_deref());
    }

    /// Takes a title if its event is earlier.
    pub fn call(&mut self, title: Option<&Title>) {
        if let Some(title) = title
            && self.title.as_ref().is_none_or(|mine| title.at < mine.at)
        {
            self.title = Some(Box::new(title.clone()));
        }
    }

    /// Takes a sample if its event is slower.
    pub fn show(&mut self, sample: Option<&Sample>) {
        if let Some(theirs) = sample
            && self.sample.as_ref().is_none_or(|mine| {
                let rank = |s: &Sample| (s.query_time_s.unwrap_or(-1.0), s.input, s.offset);
                let ((time, input, offset), (their_time, their_input, their_offset)) =
                    (rank(mine), rank(theirs));
                is_slower(their_time, (their_input, their_offset), time, (input, offset))
            })
        {
            self.sample = Some(Box::new(theirs.clone()));
        }
    }
}

/// Whether the first event is preferred as the sample: the slower, or the earlier of equals.
fn is_slower(time: f64, at: (u32, u64), than: f64, than_at: (u32, u64)) -> bool {
    time > than || (time == than && at < than_at)
}

/// Stores an event as the sample if it is slower.
#[inline]
pub fn offer(sample: &mut Option<Box<Sample>>, seen: &Seen<'_>) {
    let time_s = seen.duration_ns.map(seconds);
    let than = sample.as_ref().map(|s| (s.query_time_s.unwrap_or(-1.0), (s.input, s.offset)));
    if than.is_none_or(|(than, at)| is_slower(time_s.unwrap_or(-1.0), seen.at, than, at)) {
        keep(sample, seen, time_s);
    }
}

#[cold]
fn keep(sample: &mut Option<Box<Sample>>, seen: &Seen<'_>, query_time_s: Option<f64>) {
    let kept = seen.text.map(|text| &text[..text.len().min(SAMPLE_BYTES)]);
    *sample = Some(Box::new(Sample {
        input: seen.at.0,
        offset: seen.at.1,
        end_unix_s: seen.end_ns.map(|ns| ns as f64 / 1e9),
        query_time_s,
        text: kept.map(|kept| String::from_utf8_lossy(kept).into_owned()),
        is_cut: kept.map(<[u8]>::len) < seen.text.map(<[u8]>::len),
    }));
}

/// Converts nanoseconds to seconds.
pub fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
