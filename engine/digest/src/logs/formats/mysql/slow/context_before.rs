//! Finds the context of a chunk: searches backwards for the last timestamp and the last default database.

use super::border;
use super::context_scan::may_tell;
use crate::event::Event;
use crate::logs::format::{Context, Format};
use crate::sink::{Part, Sink};

/// Bytes examined in one step backwards.
const STEP: usize = 1 << 16;

/// A marker for "no database found": no name, since names are within a line.
const UNTOLD: &[u8] = b"\n";

/// The context of an event at `at`, a border.
pub(super) fn context(format: &dyn Format, log: &[u8], at: usize) -> Context {
    let (mut time_ns, mut database) = (None, None);
    let (mut end, mut low) = (at, at);
    while low > 0 && (time_ns.is_none() || database.is_none()) {
        low = low.saturating_sub(STEP);
        let begin = match border::find(&log[..at], low) {
            // A server's opening lines may precede the first event.
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

/// Ignores all events.
struct Silent;

impl Sink for Silent {
    fn event(&mut self, _event: &Event<'_>) {}

    fn not_understood(&mut self, _offset: u64, _bytes: u64, _why: &'static str) {}
}
