//! What is known from before a part: the last time and the last default database, looked for backwards.

use super::{MysqlSlow, border};
use crate::event::Event;
use crate::format::{Context, Format, Part, Sink};
use aho_corasick::packed::Searcher;
use memchr::memmem::Finder;
use std::sync::LazyLock;

/// What one step backwards looks at, bytes.
const STEP: usize = 1 << 16;

/// No name of a database, since each stands within a line: stands where none was told.
const UNTOLD: &[u8] = b"\n";

/// What an event at `at`, a border, must know.
pub(super) fn context(format: &MysqlSlow, log: &[u8], at: usize) -> Context {
    let (mut time_ns, mut database) = (None, None);
    let (mut end, mut low) = (at, at);
    while low > 0 && (time_ns.is_none() || database.is_none()) {
        low = low.saturating_sub(STEP);
        let begin = match border::find(&log[..at], low) {
            // Before the first event there may be a server's opening lines.
            _ if low == 0 => 0,
            Some(border) if border.at < end => border.at,
            _ => continue,
        };
        let events = &log[begin..end];
        if may_tell(events, time_ns.is_none(), database.is_none()) {
            let mut context = Context { database: UNTOLD.to_vec(), ..Context::default() };
            format.read(
                Part { bytes: events, offset: 0, is_last: true },
                &mut context,
                &mut Silent,
            );
            time_ns = time_ns.or(context.time_ns);
            database = database.or((context.database != UNTOLD).then_some(context.database));
        }
        end = begin;
    }
    Context { time_ns, database: database.unwrap_or_default(), ..Context::default() }
}

/// What tells a time, and, from the second on, a default database, or that there is none any more. What stands
/// before a field's name and behind its colon is not asked when it is read either.
const TELLING: [&str; 4] = ["# Time: ", "\nuse ", "Schema:", ". started with:"];

/// Finds any of these in one pass, as far as the processor has instructions for it.
struct Telling {
    each: Vec<Finder<'static>>,
    any: Option<Searcher>,
}

impl Telling {
    fn new(texts: &'static [&'static str]) -> Self {
        Self { each: texts.iter().map(Finder::new).collect(), any: Searcher::new(texts) }
    }

    fn is_in(&self, events: &[u8]) -> bool {
        match &self.any {
            Some(any) => any.find(events).is_some(),
            None => self.each.iter().any(|text| text.find(events).is_some()),
        }
    }
}

static ALL: LazyLock<Telling> = LazyLock::new(|| Telling::new(&TELLING));
static TIME: LazyLock<Telling> = LazyLock::new(|| Telling::new(&TELLING[..1]));
static DATABASE: LazyLock<Telling> = LazyLock::new(|| Telling::new(&TELLING[1..]));

/// Whether these events may tell a time or a default database, of those that are asked for.
fn may_tell(events: &[u8], time: bool, database: bool) -> bool {
    match (time, database) {
        (true, true) => ALL.is_in(events),
        (true, false) => TIME.is_in(events),
        (false, true) => DATABASE.is_in(events),
        (false, false) => false,
    }
}

/// Takes nothing.
struct Silent;

impl Sink for Silent {
    fn event(&mut self, _event: &Event<'_>) {}

    fn not_understood(&mut self, _offset: u64, _bytes: u64, _why: &'static str) {}
}
