//! The traits and types that a log format implements.
//!
//! A log is read in parts, each beginning at an event, several at a time on several threads. What a
//! part must know of what lies before it (in MySQL's slow log the last `# Time:` and `USE`) is its
//! `Context`: looked for backwards at the part's begin, carried along from one part to the next when
//! they are read in turn.

use crate::facts::Facts;
#[cfg(test)]
use crate::sink::Kept;
use crate::sink::{Part, Sink};
use crate::sql::language::Language;
use dyno_core::Result;
use std::any::Any;

/// Makes a reader of a log by its first bytes.
pub type Open = fn(settings: &Settings, head: &[u8]) -> Result<Box<dyn Format>>;

/// A log format: an entry of [`FORMATS`](crate::logs::formats::FORMATS).
pub struct FormatKind {
    /// Its name: `mysql-slow`.
    pub name: &'static str,
    /// What it is, for the list.
    pub about: &'static str,
    /// Whether logs of real servers were read, and not samples after the documentation alone.
    pub is_seen_live: bool,
    /// Whether these bytes, the first 64 KiB or less of a log, are in this format. Formats are asked
    /// in the order of the list.
    pub detect: fn(head: &[u8]) -> bool,
    /// Makes a reader of one log, whose first bytes (64 KiB or less) are `head`.
    ///
    /// # Errors
    /// A setting that the format does not take, or one that `head` shows to be needed.
    pub open: Open,
}

/// What users may say about a log that does not say it itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// PostgreSQL's `log_line_prefix`; none: found out from the log.
    pub line_prefix: Option<String>,
    /// What the server's local times are ahead of UTC, seconds. Where a log says itself, it is right.
    pub utc_offset_s: i32,
    /// Ports of servers in network captures; empty: the usual ones.
    pub ports: Vec<u16>,
}

/// A reader of one log. Shared by threads: what changes while reading stands in the [`Context`].
pub trait Format: Send + Sync {
    /// Whose statements its events hold.
    fn language(&self) -> Language;

    /// Whether parts can be read apart from each other. Otherwise (binary logs, captures) they come in
    /// turn with one context.
    fn is_divisible(&self) -> bool {
        false
    }

    /// Where the first event at or after `from` begins; `log.len()`: none does. `log` is a stretch of
    /// the log that begins at an event and may end anywhere. Of divisible formats only.
    fn boundary(&self, log: &[u8], from: usize) -> usize {
        let _ = from;
        log.len()
    }

    /// What reading at `at`, a boundary, must know of what lies before: found by looking backwards
    /// through all of `log`, which is a stretch of the log that begins at an event. What is not found
    /// there (no time, an empty database) is taken from the stretch before it, so a look backwards
    /// needs no limit, and `state` is not for divisible formats.
    fn context(&self, log: &[u8], at: usize) -> Context {
        let _ = (log, at);
        Context::default()
    }

    /// Reads the events of a part, in their order; returns how many bytes it has done with. If the
    /// part is not the last one, an event is whole only once the next one's begin is seen: what lies
    /// behind is given again at the begin of the next part, with more behind it.
    fn read(&self, part: Part<'_>, context: &mut Context, sink: &mut dyn Sink) -> usize;

    /// Servers, versions and thresholds as the log has told them so far.
    fn facts(&self, context: &Context) -> Facts {
        context.facts.clone()
    }
}

/// What is known from before a part.
#[derive(Default)]
pub struct Context {
    /// The last time told, nanoseconds since 1970 (UTC).
    pub time_ns: Option<i64>,
    /// The last default database told.
    pub database: Vec<u8>,
    /// What the log says of its server.
    pub facts: Facts,
    /// What else a format must keep: sessions of a capture, tables of a binary log.
    pub state: Option<Box<dyn Any + Send>>,
}

/// Reads a whole log cut into parts at each of `cuts` (moved to boundaries), for tests: however it is
/// cut, the events must be the same.
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

/// Reads a log that comes in pieces of `piece` bytes, as from a pipe, for tests.
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
