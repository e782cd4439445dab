//! Logs read on one thread, their events in the log's order: for what depends on that order.

use crate::aggregate::censoring::censored;
use crate::aggregate::tally::Tally;
use crate::document::{Censored, Input};
use crate::event::Event;
use crate::facts::Facts;
use crate::logs::chunks::{EVENT, PART, Parts};
use crate::logs::format::{Context, Format};
use crate::logs::line_numbers;
use crate::request::{Request, Watcher, open};
use crate::sink::{Part, Sink};
use crate::sql::language::Language;
use dyno_core::Result;
use schemars::JsonSchema;
use serde::Serialize;
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

/// What is said of logs beside what was made of their events.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Logs {
    /// The logs, in the order given.
    pub inputs: Vec<Input>,
    /// Why some statements are missing by the log's own settings, if so.
    pub censored: Vec<Censored>,
}

/// Reads all logs.
///
/// # Errors
/// A log that cannot be read, or whose format is not known; what `takes` refuses.
pub fn in_turn(
    request: &Request,
    stop: &'static AtomicBool,
    takes: &mut dyn Takes,
    watcher: &mut dyn Watcher,
) -> Result<Logs> {
    each_log(request, stop, watcher, &mut |log| log.read(takes))
}

/// Reads one log after the other by `read`, which reads each to its end.
///
/// # Errors
/// A log that cannot be read; what `read` refuses.
pub(crate) fn each_log(
    request: &Request,
    stop: &'static AtomicBool,
    watcher: &mut dyn Watcher,
    read: &mut dyn FnMut(&mut Log<'_>) -> Result<()>,
) -> Result<Logs> {
    let sources = open(request, stop, watcher)?;
    let total = sources.iter().map(|source| source.size).sum();
    let (mut logs, mut read_before) = (Logs::default(), 0);
    for (path, source) in request.logs.iter().zip(sources) {
        let parts = Parts::new(source, path, stop);
        let (input, tally) = (Input { path: path.clone(), ..Input::default() }, Tally::default());
        let mut log =
            Log { request, parts, input, tally, stop, watcher: &mut *watcher, read_before, total };
        log.parts.head()?;
        read(&mut log)?;
        read_before += log.parts.source().progress.read.load(Ordering::Relaxed);
        let Log { mut parts, mut input, tally, .. } = log;
        close(&mut input, &mut parts, &tally);
        if let Some(file) = parts.source().plain_file() {
            line_numbers::number(file, &input.format, &mut input.not_understood);
        }
        let number = logs.inputs.len() as u32;
        logs.censored.extend(censored(number, &input.format, &parts.facts, &tally.durations));
        logs.inputs.push(input);
    }
    Ok(logs)
}

/// Takes what a part of a log says of its servers.
pub(crate) fn tell(parts: &mut Parts<'_>, number: u64, facts: Facts) {
    parts.facts.servers.merge(number, &facts.servers);
    parts.tell(number, facts);
}

/// Writes down what is known of a log that was read so far.
pub(crate) fn close(input: &mut Input, parts: &mut Parts<'_>, tally: &Tally) {
    let mut all = Tally { told: tally.told.clone(), ..Tally::default() };
    for piece in &parts.not_understood {
        all.not_understood(piece.offset, piece.bytes, &piece.why);
    }
    if let Some(why) = parts.source().damage {
        all.not_understood(parts.bytes(), 0, why);
    }
    input.servers = parts.facts.servers.names().map(str::to_owned).collect();
    input.server = input.servers.first().or(parts.facts.server.as_ref()).cloned();
    input.bytes = parts.bytes();
    input.events = tally.events;
    input.filtered = tally.filtered;
    input.bytes_not_understood = tally.bytes_not_understood + all.bytes_not_understood;
    input.pieces_not_understood = tally.pieces_not_understood + all.pieces_not_understood;
    input.not_understood = all.told;
}

/// A log that is being read.
pub(crate) struct Log<'a> {
    pub(crate) request: &'a Request,
    pub(crate) parts: Parts<'a>,
    pub(crate) input: Input,
    pub(crate) tally: Tally,
    stop: &'a AtomicBool,
    watcher: &'a mut dyn Watcher,
    /// Bytes of the files before this one.
    read_before: u64,
    total: Option<u64>,
}

/// Parts that are read before it is said how far reading is.
const AT_ONCE: u32 = 16;

impl Log<'_> {
    /// Reads it to its end.
    pub(crate) fn read(&mut self, takes: &mut dyn Takes) -> Result<()> {
        self.parts.head()?;
        let damage = self.parts.source().damage;
        let head = self.parts.head()?;
        if head.is_empty() {
            "empty".clone_into(&mut self.input.format);
            return Ok(());
        }
        let (request, path) = (self.request, &self.input.path);
        let head = self.parts.telling(|head| request.format_of(path, head, None).is_ok())?;
        let kind = request.format_of(path, head, damage)?;
        let format = (kind.open)(&self.request.settings, head)?;
        kind.name.clone_into(&mut self.input.format);
        takes.log(format.language())?;
        let mut turn = Turn::default();
        while self.goes_on() {
            let (request, tally) = (self.request, &mut self.tally);
            turn.read(&*format, &mut self.parts, &mut Filtered { request, tally, takes })?;
        }
        Ok(())
    }

    /// Says how far reading is; whether there is more.
    pub(crate) fn goes_on(&mut self) -> bool {
        self.parts.allow(AT_ONCE);
        let read = self.parts.source().progress.read.load(Ordering::Relaxed);
        self.watcher.progress(self.read_before + read, self.total);
        !self.parts.has_ended() && !self.stop.load(Ordering::Relaxed)
    }
}

struct Filtered<'a> {
    request: &'a Request,
    tally: &'a mut Tally,
    takes: &'a mut dyn Takes,
}

impl Sink for Filtered<'_> {
    fn event(&mut self, event: &Event<'_>) {
        if self.tally.passes(&self.request.taking.filter, event) {
            self.takes.event(event);
        }
    }

    fn not_understood(&mut self, offset: u64, bytes: u64, why: &'static str) {
        self.tally.not_understood(offset, bytes, why);
    }
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
            tell(parts, 0, format.facts(&self.context));
            let is_waiting = done == 0 && !is_stuck && !is_last;
            parts.done(bytes, done);
            if is_waiting {
                break;
            }
        }
        Ok(())
    }
}
