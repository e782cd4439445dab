//! The traits and types that a log format implements.
//!
//! Several threads read a log in parts, each beginning at an event. A part's `Context` is the state from
//! before it (in MySQL's slow log the last `# Time:` and `USE`): found by a backward search from the
//! part's start, or passed from one part to the next if parts are read sequentially.

use crate::facts::Facts;
#[cfg(test)]
use crate::sink::Kept;
use crate::sink::{Part, Sink};
use crate::sql::language::Language;
use dyno_core::Result;
use std::any::Any;

/// Makes a reader of a log from its first bytes.
pub type Open = fn(settings: &Settings, head: &[u8]) -> Result<Box<dyn Format>>;

/// A log format: an entry of [`FORMATS`](crate::logs::formats::FORMATS).
pub struct FormatKind {
    /// Its name: `mysql-slow`.
    pub name: &'static str,
    /// One-line description, for the list of formats.
    pub about: &'static str,
    /// Whether it was tested on logs of real servers, not only on samples after the documentation.
    pub is_seen_live: bool,
    /// Whether these bytes, the first 64 KiB or less of a log, are in this format. Detection asks formats
    /// in the order of the list.
    pub detect: fn(head: &[u8]) -> bool,
    /// Makes a reader of one log, whose first bytes (64 KiB or less) are `head`.
    ///
    /// # Errors
    /// A setting that the format does not support, or a missing one that `head` shows to be needed.
    pub open: Open,
}

/// Options of the user for facts that a log does not state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// PostgreSQL's `log_line_prefix`. `None`: inferred from the log.
    pub line_prefix: Option<String>,
    /// Seconds by which the server's local time is ahead of UTC. An offset in the log takes precedence.
    pub utc_offset_s: i32,
    /// Ports of servers in network captures. Empty: the default ports.
    pub ports: Vec<u16>,
}

/// A reader of one log. Threads share it: mutable state is in the [`Context`].
pub trait Format: Send + Sync {
    /// The language of the statements in its events.
    fn language(&self) -> Language;

    /// Whether parts can be read independently. Otherwise (binary logs, captures) parts are read
    /// sequentially with one context.
    fn is_divisible(&self) -> bool {
        false
    }

    /// Where the first event at or after `from` begins; `log.len()` if none does. `log` is a stretch of
    /// the log that begins at an event and may end anywhere. Called for divisible formats only.
    fn boundary(&self, log: &[u8], from: usize) -> usize {
        let _ = from;
        log.len()
    }

    /// The context of a read from `at`, a boundary, found by a backward search through all of `log`, a
    /// stretch of the log that begins at an event. The caller takes a missing time or an empty database
    /// from the stretch before, so the search needs no limit. Divisible formats do not use `state`.
    fn context(&self, log: &[u8], at: usize) -> Context {
        let _ = (log, at);
        Context::default()
    }

    /// Reads the events of a part in order; returns the number of bytes read. Unless the part is the
    /// last, an event is complete only once the start of the next one is seen: the bytes after the
    /// returned count come again at the start of the next part, followed by more.
    fn read(&self, part: Part<'_>, context: &mut Context, sink: &mut dyn Sink) -> usize;

    /// Servers, versions and thresholds that the log has stated so far.
    fn facts(&self, context: &Context) -> Facts {
        context.facts.clone()
    }
}

/// Parser state from before a part.
#[derive(Default)]
pub struct Context {
    /// The last timestamp, nanoseconds since 1970 (UTC).
    pub time_ns: Option<i64>,
    /// The last default database.
    pub database: Vec<u8>,
    /// Facts that the log states about its server.
    pub facts: Facts,
    /// Further state of a format: sessions of a capture, tables of a binary log.
    pub state: Option<Box<dyn Any + Send>>,
}

/// Reads a whole log cut into parts at each of `cuts` (moved to boundaries), for tests: the cuts must not
/// change the events.
#[cfg(test)]
pub(crate) fn read_in_parts(format: &dyn Format, log: &[u8], cuts: &[usize]) -> Kept {
    let mut borders: Vec<usize> =
        cuts.iter().map(|&at| format.boundary(log, at.min(log.len()))).collect();
    borders.push(0);
    borders.push(log.len());
    borders.sort_unstable();
    borders.dedup();
    let mut kept = Kept::default();
    for pair in borders.windows(2) {
        let mut context = format.context(log, pair[0]);
        let part = Part { bytes: &log[pair[0]..pair[1]], offset: pair[0] as u64, is_last: true };
        format.read(part, &mut context, &mut kept);
    }
    kept
}

/// Reads a log that arrives in pieces of `piece` bytes, as from a pipe, for tests.
#[cfg(test)]
pub(crate) fn read_as_stream(format: &dyn Format, log: &[u8], piece: usize) -> Kept {
    let (mut kept, mut context) = (Kept::default(), Context::default());
    let (mut begin, mut end) = (0, 0);
    while end < log.len() || begin < end {
        end = (end + piece.max(1)).min(log.len());
        let is_last = end == log.len();
        let part = Part { bytes: &log[begin..end], offset: begin as u64, is_last };
        begin += format.read(part, &mut context, &mut kept);
        if is_last {
            break;
        }
    }
    kept
}
