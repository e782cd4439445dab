//! Reads logs on one thread, in the order of their events.

use crate::aggregate::censoring::censored;
use crate::aggregate::tally::Tally;
use crate::document::{Censored, Input};
use crate::event::Event;
use crate::facts::Facts;
use crate::logs::chunks::{CHUNK, Chunks, EVENT};
use crate::logs::format::{Context, Format};
use crate::logs::line_numbers;
use crate::request::{Request, Watcher, open};
use crate::sink::{Part, Sink};
use crate::sql::language::Language;
use dyno_core::Result;
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};

/// Receives the events of one log after the other.
pub trait EventConsumer {
    /// Begins a log.
    ///
    /// # Errors
    /// A log that the consumer rejects, for example because its language differs.
    fn log(&mut self, language: Language) -> Result<()>;

    /// Receives an event that passed the filters.
    fn event(&mut self, event: &Event<'_>);
}

/// The logs of a document, with the statements that they lack.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Logs {
    /// The logs, in the order of the command line.
    pub inputs: Vec<Input>,
    /// Reasons why the logs do not contain all statements (threshold, sampling).
    pub censored: Vec<Censored>,
}

/// Reads all logs.
///
/// # Errors
/// An unreadable log, an unknown format, errors of `consumer`.
pub fn read_sequentially(
    request: &Request,
    stop: &'static AtomicBool,
    consumer: &mut dyn EventConsumer,
    watcher: &mut dyn Watcher,
) -> Result<Logs> {
    each_log(request, stop, watcher, &mut |log| log.read(consumer))
}

/// Calls `read` for one log after the other; it must read each to its end.
///
/// # Errors
/// An unreadable log, errors of `read`.
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
        let chunks = Chunks::new(source, path, stop);
        let (input, tally) = (Input { path: path.clone(), ..Input::default() }, Tally::default());
        let mut log =
            Log { request, chunks, input, tally, stop, watcher: &mut *watcher, read_before, total };
        log.chunks.head()?;
        read(&mut log)?;
        read_before += log.chunks.source().progress.read.load(Ordering::Relaxed);
        let Log { mut chunks, mut input, tally, .. } = log;
        close(&mut input, &mut chunks, &tally);
        if let Some(file) = chunks.source().plain_file() {
            line_numbers::number(file, &input.format, &mut input.not_understood);
        }
        let number = logs.inputs.len() as u32;
        logs.censored.extend(censored(number, &input.format, &chunks.facts, &tally.durations));
        logs.inputs.push(input);
    }
    Ok(logs)
}

/// Passes the facts of a part of a log to `chunks`, with the names of its servers.
pub(crate) fn tell(chunks: &mut Chunks<'_>, number: u64, facts: Facts) {
    chunks.facts.servers.merge(number, &facts.servers);
    chunks.tell(number, facts);
}

/// Updates `input` with the statistics of a log that was read so far.
pub(crate) fn close(input: &mut Input, chunks: &mut Chunks<'_>, tally: &Tally) {
    let mut all = Tally { told: tally.told.clone(), ..Tally::default() };
    for piece in &chunks.not_understood {
        all.not_understood(piece.offset, piece.bytes, &piece.why);
    }
    if let Some(why) = chunks.source().damage {
        all.not_understood(chunks.bytes(), 0, why);
    }
    input.servers = chunks.facts.servers.names().map(str::to_owned).collect();
    input.server = input.servers.first().or(chunks.facts.server.as_ref()).cloned();
    input.bytes = chunks.bytes();
    input.events = tally.events;
    input.filtered = tally.filtered;
    input.bytes_not_understood = tally.bytes_not_understood + all.bytes_not_understood;
    input.pieces_not_understood = tally.pieces_not_understood + all.pieces_not_understood;
    input.not_understood = all.told;
}

/// A log that is being read.
pub(crate) struct Log<'a> {
    pub(crate) request: &'a Request,
    pub(crate) chunks: Chunks<'a>,
    pub(crate) input: Input,
    pub(crate) tally: Tally,
    stop: &'a AtomicBool,
    watcher: &'a mut dyn Watcher,
    /// Bytes of the previous files.
    read_before: u64,
    total: Option<u64>,
}

/// Number of chunks between two progress reports.
const AT_ONCE: u32 = 16;

impl Log<'_> {
    /// Reads the log to its end.
    pub(crate) fn read(&mut self, consumer: &mut dyn EventConsumer) -> Result<()> {
        self.chunks.head()?;
        let damage = self.chunks.source().damage;
        let head = self.chunks.head()?;
        if head.is_empty() {
            "empty".clone_into(&mut self.input.format);
            return Ok(());
        }
        let (request, path) = (self.request, &self.input.path);
        let head = self.chunks.telling(|head| request.format_of(path, head, None).is_ok())?;
        let kind = request.format_of(path, head, damage)?;
        let format = (kind.open)(&self.request.settings, head)?;
        kind.name.clone_into(&mut self.input.format);
        consumer.log(format.language())?;
        let mut reader = SequentialReader::default();
        while self.goes_on() {
            let (request, tally) = (self.request, &mut self.tally);
            reader.read(&*format, &mut self.chunks, &mut Filtered { request, tally, consumer })?;
        }
        Ok(())
    }

    /// Reports progress; returns whether reading continues.
    pub(crate) fn goes_on(&mut self) -> bool {
        self.chunks.allow(AT_ONCE);
        let read = self.chunks.source().progress.read.load(Ordering::Relaxed);
        self.watcher.progress(self.read_before + read, self.total);
        !self.chunks.has_ended() && !self.stop.load(Ordering::Relaxed)
    }
}

struct Filtered<'a> {
    request: &'a Request,
    tally: &'a mut Tally,
    consumer: &'a mut dyn EventConsumer,
}

impl Sink for Filtered<'_> {
    fn event(&mut self, event: &Event<'_>) {
        if self.tally.passes(&self.request.taking.filter, event) {
            self.consumer.event(event);
        }
    }

    fn not_understood(&mut self, offset: u64, bytes: u64, why: &'static str) {
        self.tally.not_understood(offset, bytes, why);
    }
}

/// Reads a log chunk by chunk, with the state of its parser.
pub struct SequentialReader {
    context: Context,
    /// Size of a read, bytes; it grows for an event that is longer.
    size: usize,
}

impl Default for SequentialReader {
    fn default() -> Self {
        Self { context: Context::default(), size: CHUNK }
    }
}

impl SequentialReader {
    /// Reads until the log has no more data at present.
    ///
    /// # Errors
    /// An unreadable log.
    pub fn read(
        &mut self,
        format: &dyn Format,
        chunks: &mut Chunks<'_>,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        while let Some((bytes, offset, is_last)) = chunks.more(self.size)? {
            let part = Part { bytes: &bytes, offset, is_last };
            let mut done = format.read(part, &mut self.context, sink).min(bytes.len());
            // The rest of a larger read may be more than the current size.
            let is_stuck = done == 0 && bytes.len() >= self.size;
            if is_stuck && bytes.len() >= EVENT {
                sink.not_understood(offset, bytes.len() as u64, "an event longer than 64 MiB");
                done = bytes.len();
            }
            self.size = if is_stuck { (bytes.len() * 2).min(EVENT) } else { CHUNK };
            tell(chunks, 0, format.facts(&self.context));
            let is_waiting = done == 0 && !is_stuck && !is_last;
            chunks.done(bytes, done);
            if is_waiting {
                break;
            }
        }
        Ok(())
    }
}
