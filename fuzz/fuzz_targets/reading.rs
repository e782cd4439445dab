//! Parses arbitrary bytes as a log. The events must not depend on how the log is split into pieces, and
//! must lie within it.

use dyno_digest::event::Event;
use dyno_digest::logs::format::{Context, Format, FormatKind, Settings};
use dyno_digest::logs::formats::FORMATS;
use dyno_digest::sink::{Part, Sink};
use std::cell::RefCell;

/// Bytes of the log that format detection, the slowest step, receives.
const HEAD: usize = 256;

/// What a format guarantees about the byte ranges of its events.
#[derive(Clone, Copy, PartialEq, Eq)]
#[allow(dead_code)] // Each target uses one.
pub enum Places {
    /// In order and disjoint, also from the ranges not understood.
    Apart,
    /// Disjoint, but an event may be reported late.
    Late,
    /// In order and disjoint; lines within an event may be not understood.
    InOrder,
    /// An event may be reported late and consist of several ranges; the total is at most the log's length.
    Joined,
    /// Within the log, without further guarantees.
    Within,
}

/// How to parse the log, derived from the first bytes of the input.
pub struct Way<'a> {
    /// A byte for the target's own choices.
    pub choice: u8,
    /// Whether format detection runs too, which may take long.
    pub detects: bool,
    cuts: [usize; 2],
    /// The log.
    pub log: &'a [u8],
}

impl<'a> Way<'a> {
    /// Parses the input: flags, two cuts (the second coarser), the target's choice, a byte each; then the
    /// log. `None` if it is shorter than four bytes.
    pub fn of(data: &'a [u8]) -> Option<Self> {
        let (&[flags, near, far, choice], log) = data.split_first_chunk::<4>()?;
        let near = usize::from(near) % (log.len() + 1);
        let cuts = [near, (near + usize::from(far) * (log.len() / 200 + 1)) % (log.len() + 1)];
        Some(Self { choice, detects: flags & 15 == 0, cuts, log })
    }

    /// The same choices for another log.
    #[allow(dead_code)]
    pub fn through<'b>(&self, log: &'b [u8]) -> Way<'b> {
        let cuts = self.cuts.map(|cut| cut.min(log.len()));
        Way { choice: self.choice, detects: self.detects, cuts, log }
    }

    /// The ends of the log's three pieces.
    pub fn ends(&self) -> [usize; 3] {
        let [one, two] = self.cuts;
        [one.min(two), one.max(two), self.log.len()]
    }
}

/// The result of a parse; its buffers are reused.
#[derive(Default)]
struct Taken {
    /// The serialized content of all events.
    said: Vec<u8>,
    /// Begin and end of each event, as byte offsets.
    events: Vec<(u64, u64)>,
    /// Begin and end of each range not understood, as byte offsets.
    not_understood: Vec<(u64, u64)>,
}

impl Taken {
    fn clear(&mut self) {
        self.said.clear();
        self.events.clear();
        self.not_understood.clear();
    }

    /// Sorts the ranges not understood and merges adjacent ones, since their division depends on that of the
    /// log.
    fn join(&mut self) {
        self.not_understood.sort_unstable();
        self.not_understood.dedup_by(|next, last| {
            let are_neighbours = next.0 == last.1;
            if are_neighbours {
                last.1 = next.1;
            }
            are_neighbours
        });
    }

    fn number(&mut self, number: u64) {
        self.said.extend_from_slice(&number.to_le_bytes());
    }

    fn text(&mut self, text: &[u8]) {
        self.number(text.len() as u64);
        self.said.extend_from_slice(text);
    }
}

impl Sink for Taken {
    fn event(&mut self, event: &Event<'_>) {
        self.events.push((event.offset, event.offset + event.bytes));
        self.number(event.offset);
        self.number(event.bytes);
        self.number(event.kind as u64 + 4 * u64::from(event.weight));
        self.number(event.end_ns.map_or(u64::MAX, |ns| ns as u64));
        self.number(event.duration_ns.unwrap_or(u64::MAX));
        self.number(event.session.unwrap_or(u64::MAX));
        for text in
            [event.text, event.user, event.host, event.database, event.error, event.parameters]
        {
            self.text(text);
        }
        for (measure, value) in event.numbers.iter() {
            self.number(measure as u64);
            self.number(value);
        }
    }

    fn not_understood(&mut self, offset: u64, bytes: u64, why: &'static str) {
        assert!(!why.is_empty());
        // Concerns only a timestamp, whose line is still an event.
        if why.starts_with("a time in a zone") {
            return;
        }
        self.not_understood.push((offset, offset + bytes));
    }
}

/// The format of this name.
pub fn format(name: &str) -> &'static FormatKind {
    FORMATS.iter().find(|kind| kind.name == name).expect("a format of this name")
}

/// Parses a log as a whole, as a stream and, if the format is divisible, in parts, and compares the results.
pub fn read(kind: &FormatKind, places: Places, settings: &Settings, way: &Way<'_>) {
    thread_local!(static TAKEN: RefCell<[Taken; 2]> = RefCell::default());
    let head = &way.log[..way.log.len().min(HEAD)];
    if way.detects {
        let _ = (kind.detect)(head);
    }
    let Ok(format) = (kind.open)(settings, head) else { return };
    TAKEN.with_borrow_mut(|[whole, cut]| {
        whole.clear();
        in_pieces(&*format, way.log, &[way.log.len()], whole);
        whole.join();
        check(whole, places, way.log.len() as u64);
        cut.clear();
        in_pieces(&*format, way.log, &way.ends(), cut);
        same(whole, cut, "as a stream", way);
        if format.is_divisible() {
            cut.clear();
            in_parts(&*format, way, cut);
            same(whole, cut, "in parts", way);
        }
    });
}

fn same(whole: &Taken, cut: &mut Taken, how: &str, way: &Way<'_>) {
    cut.join();
    let log = || way.log.escape_ascii();
    assert_eq!(whole.events, cut.events, "events {how} at {:?} of {}", way.ends(), log());
    assert_eq!(
        whole.not_understood,
        cut.not_understood,
        "what is not understood {how} at {:?} of {}",
        way.ends(),
        log()
    );
    let (one, two) = (whole.said.escape_ascii(), cut.said.escape_ascii());
    assert!(whole.said == cut.said, "{how} at {:?} of {}\n{one}\n{two}", way.ends(), log());
}

fn check(taken: &Taken, places: Places, length: u64) {
    let all = || taken.events.iter().chain(&taken.not_understood);
    assert!(all().all(|place| place.1 <= length), "behind the log's end");
    if places == Places::Within {
        return;
    }
    let are_apart = |places: &[(u64, u64)]| places.windows(2).all(|pair| pair[0].1 <= pair[1].0);
    assert!(are_apart(&taken.not_understood), "not understood: {:?}", taken.not_understood);
    if places == Places::Joined {
        let bytes: u64 = all().map(|place| place.1 - place.0).sum();
        assert!(bytes <= length, "{bytes} bytes of {length}: {:?}", all().collect::<Vec<_>>());
        return;
    }
    let may_be_late = places == Places::Late;
    assert!(may_be_late || are_apart(&taken.events), "events: {:?}", taken.events);
    if may_be_late || places == Places::Apart {
        let mut all: Vec<_> = all().copied().collect();
        all.sort_unstable();
        assert!(are_apart(&all), "{all:?}");
    }
}

/// Parses the log as a stream, whose available bytes grow to each of `ends`.
fn in_pieces(format: &dyn Format, log: &[u8], ends: &[usize], taken: &mut Taken) {
    let (mut context, mut at) = (Context::default(), 0);
    for &end in ends {
        let is_last = end == log.len();
        let part = Part { bytes: &log[at..end], offset: at as u64, is_last };
        let done = format.read(part, &mut context, taken);
        assert!(done <= end - at, "more than was given");
        at += done;
        if is_last {
            assert_eq!(at, end, "the last bytes are given once");
            return;
        }
    }
}

/// Parses the log in independent parts, as threads do.
fn in_parts(format: &dyn Format, way: &Way<'_>, taken: &mut Taken) {
    let mut begin = 0;
    for end in way.ends().map(|at| format.boundary(way.log, at)) {
        if begin < end {
            let mut context = format.context(way.log, begin);
            let part = Part { bytes: &way.log[begin..end], offset: begin as u64, is_last: true };
            format.read(part, &mut context, taken);
            begin = end;
        }
    }
}
