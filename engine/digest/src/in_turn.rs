//! Logs read on one thread, their events in the log's order: for what depends on that order.

use crate::digest::{Request, format_of, open};
use crate::event::{Event, Language};
use crate::format::{Context, Format, Part, Sink};
use crate::parts::{EVENT, PART, Parts};
use dyno_core::Result;
use std::sync::atomic::{AtomicBool, Ordering};

/// Takes the events of one log after the other.
pub trait Takes {
    /// A log begins.
    ///
    /// # Errors
    /// One that does not fit the others.
    fn log(&mut self, language: Language) -> Result<()>;

    /// An event that passed the filters.
    fn event(&mut self, event: &Event<'_>);
}

/// Reads all logs. Bytes that are not understood are not told: the digest of the same logs does.
///
/// # Errors
/// A log that cannot be read, or whose format is not known; what `takes` refuses.
pub fn in_turn(request: &Request, stop: &'static AtomicBool, takes: &mut dyn Takes) -> Result<()> {
    let sources = open(request, stop)?;
    for (path, source) in request.logs.iter().zip(sources) {
        read_log(request, path, &mut Parts::new(source, path, stop), stop, takes)?;
    }
    Ok(())
}

/// Reads one log to its end.
///
/// # Errors
/// As [`in_turn`].
pub(crate) fn read_log(
    request: &Request,
    path: &str,
    parts: &mut Parts<'_>,
    stop: &AtomicBool,
    takes: &mut dyn Takes,
) -> Result<()> {
    let head = parts.head()?;
    if head.is_empty() {
        return Ok(());
    }
    let format = (format_of(request, path, head)?.open)(&request.settings, head)?;
    takes.log(format.language())?;
    let mut turn = Turn::default();
    while !parts.has_ended() && !stop.load(Ordering::Relaxed) {
        parts.allow(u32::MAX);
        turn.read(&*format, parts, &mut Filtered { request, takes })?;
    }
    Ok(())
}

struct Filtered<'a> {
    request: &'a Request,
    takes: &'a mut dyn Takes,
}

impl Sink for Filtered<'_> {
    fn event(&mut self, event: &Event<'_>) {
        if self.request.taking.filter.passes(event) {
            self.takes.event(event);
        }
    }

    fn not_understood(&mut self, _: u64, _: u64, _: &'static str) {}
}

/// Where reading in turn is.
pub struct Turn {
    context: Context,
    /// How much is read at a time: more once an event is longer.
    size: usize,
}

impl Default for Turn {
    fn default() -> Self {
        Self { context: Context::default(), size: PART }
    }
}

impl Turn {
    /// Reads until the log has no more to give now.
    ///
    /// # Errors
    /// A log that cannot be read.
    pub fn read(
        &mut self,
        format: &dyn Format,
        parts: &mut Parts<'_>,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        while let Some((bytes, offset, is_last)) = parts.more(self.size)? {
            let part = Part { bytes: &bytes, offset, is_last };
            let mut done = format.read(part, &mut self.context, sink).min(bytes.len());
            // What was left of a larger read may be more than is asked for now.
            let is_stuck = done == 0 && bytes.len() >= self.size;
            if is_stuck && bytes.len() >= EVENT {
                sink.not_understood(offset, bytes.len() as u64, "an event longer than 64 MiB");
                done = bytes.len();
            }
            self.size = if is_stuck { (bytes.len() * 2).min(EVENT) } else { PART };
            parts.tell(0, format.facts(&self.context));
            let is_waiting = done == 0 && !is_stuck && !is_last;
            parts.done(bytes, done);
            if is_waiting {
                break;
            }
        }
        Ok(())
    }
}
