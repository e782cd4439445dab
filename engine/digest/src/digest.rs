//! The whole: logs in, a document out.

use crate::censoring;
use crate::classes::{Classes, DETAILED};
use crate::collector::{Collected, Collector, Taking, Tally};
use crate::document::{Censored, Document, Input};
use crate::format::{Context, Format, FormatKind, Part, Settings};
use crate::formats::FORMATS;
use crate::grouping::Grouper;
use crate::lines;
use crate::parts::{EVENT, PART, Parts};
use crate::source::Source;
use crate::summary::{self, Asked};
use dyno_core::Result;
use dyno_core::error::{Error, Kind};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What to do.
#[derive(Debug, Clone)]
pub struct Request {
    /// Paths; `-` is standard input.
    pub logs: Vec<String>,
    /// Name of the format; none: each log's own, found out from its first bytes.
    pub format: Option<String>,
    /// What the user says about the logs.
    pub settings: Settings,
    /// How many threads read.
    pub threads: usize,
    /// How events are taken.
    pub taking: Taking,
    /// How the document is made.
    pub asked: Asked,
    /// The only log grows: a document is made at every meeting that wants one.
    pub follows: bool,
}

/// Who looks on.
pub trait Watcher {
    /// Called at meetings: bytes of files read, and of how many, if that is known.
    fn progress(&mut self, bytes: u64, bytes_total: Option<u64>);

    /// Whether a document of what was read so far is wanted now: of logs that are followed.
    fn wants_document(&mut self) -> bool {
        false
    }

    /// The document.
    fn document(&mut self, document: Document);
}

/// Reads all logs and gives the document to `watcher`. When `stop` is set, the document is of what was
/// read so far.
///
/// # Errors
/// A log that cannot be read, or whose format is not known.
pub fn digest(
    request: &Request,
    stop: &'static AtomicBool,
    watcher: &mut dyn Watcher,
) -> Result<()> {
    let sources = open(request, stop)?;
    let mut run = Run {
        request,
        classes: Classes::new(request.taking.order_by, DETAILED),
        threads: (0..request.threads.max(1)).map(|_| Collected::default()).collect(),
        inputs: Vec::new(),
        censored: Vec::new(),
        read_before: 0,
        total: sources.iter().map(|source| source.size).sum(),
        stop,
    };
    for (path, source) in request.logs.iter().zip(sources) {
        run.log(path, source, watcher)?;
    }
    let document = run.document();
    watcher.document(document);
    Ok(())
}

/// Opens all logs first: a name that is wrong is an error before hours of reading.
fn open(request: &Request, stop: &'static AtomicBool) -> Result<Vec<Source>> {
    if request.logs.is_empty() {
        return Err(Error::new(Kind::Plan, "no log is given").hint("`-` is standard input"));
    }
    if request.follows && request.logs.len() > 1 {
        return Err(Error::new(Kind::Plan, "--follow takes one log"));
    }
    if request.logs.iter().filter(|path| *path == "-").count() > 1 {
        return Err(Error::new(Kind::Plan, "standard input can be read once only"));
    }
    request.logs.iter().map(|path| Source::open(path, request.follows, stop)).collect()
}

/// The formats by name, or of a log.
fn format_of<'a>(request: &Request, path: &str, head: &[u8]) -> Result<&'a FormatKind> {
    let names = || FORMATS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ");
    match &request.format {
        Some(name) => FORMATS.iter().find(|kind| kind.name == *name).ok_or_else(|| {
            Error::new(Kind::Plan, format!("--format: there is no format {name}"))
                .hint(format!("formats are {}", names()))
        }),
        None => FORMATS.iter().find(|kind| (kind.detect)(head)).ok_or_else(|| {
            Error::new(Kind::Plan, format!("{path}: its format is not known")).hint(format!(
                "it begins like none of {}; if it is one of these and begins with something else, \
                 say which: --format NAME",
                names()
            ))
        }),
    }
}

/// A digest that is being made.
struct Run<'a> {
    request: &'a Request,
    classes: Classes,
    threads: Vec<Collected>,
    inputs: Vec<Input>,
    censored: Vec<Censored>,
    /// Bytes of the files before this one.
    read_before: u64,
    total: Option<u64>,
    stop: &'static AtomicBool,
}

impl Run<'_> {
    /// Reads one log.
    fn log(&mut self, path: &str, source: Source, watcher: &mut dyn Watcher) -> Result<()> {
        let mut parts = Parts::new(source, path, self.stop);
        let number = self.inputs.len() as u32;
        let mut input = Input { path: path.to_owned(), ..Input::default() };
        let head = parts.head()?;
        if head.is_empty() {
            // An empty log is a log of no events, in whatever format.
            "empty".clone_into(&mut input.format);
            self.inputs.push(input);
            return Ok(());
        }
        let kind = format_of(self.request, path, head)?;
        let format = (kind.open)(&self.request.settings, head)?;
        kind.name.clone_into(&mut input.format);
        self.inputs.push(input);
        let (language, by) = (format.language(), self.request.asked.group_by);
        let mut groupers: Vec<Grouper> =
            self.threads.iter().map(|_| Grouper::new(by, language)).collect();
        let mut in_turn = InTurn { context: Context::default(), size: PART };
        let mut tally = Tally::default();
        loop {
            parts.allow(self.classes.parts());
            let before = parts.bytes();
            if format.is_divisible() {
                self.read_parts(&*format, number, &mut groupers, &mut parts)?;
            } else {
                self.read_in_turn(&*format, number, &mut groupers[0], &mut parts, &mut in_turn)?;
            }
            self.classes.meet(&mut self.threads);
            for collected in &mut self.threads {
                tally.merge(std::mem::take(&mut collected.tally));
            }
            let read = parts.source().progress.read.load(Ordering::Relaxed);
            watcher.progress(self.read_before + read, self.total);
            if parts.has_ended() || self.stop.load(Ordering::Relaxed) && !self.request.follows {
                break;
            }
            if self.request.follows {
                if watcher.wants_document() {
                    self.close(number, &mut parts, &tally, false);
                    watcher.document(self.document());
                    self.censored.clear();
                }
                if parts.bytes() == before {
                    std::thread::sleep(Duration::from_millis(100));
                }
            }
        }
        self.read_before += parts.source().progress.read.load(Ordering::Relaxed);
        self.close(number, &mut parts, &tally, true);
        Ok(())
    }

    /// Writes down what is known of a log.
    fn close(&mut self, number: u32, parts: &mut Parts<'_>, tally: &Tally, is_end: bool) {
        let mut all = Tally { told: tally.told.clone(), ..Tally::default() };
        let input = &mut self.inputs[number as usize];
        for piece in &parts.not_understood {
            all.not_understood(piece.offset, piece.bytes, &piece.why);
        }
        if let Some(why) = parts.source().damage {
            all.not_understood(parts.bytes(), 0, why);
        }
        input.server.clone_from(&parts.facts.server);
        input.bytes = parts.bytes();
        input.events = tally.events;
        input.filtered = tally.filtered;
        input.bytes_not_understood = tally.bytes_not_understood + all.bytes_not_understood;
        input.pieces_not_understood = tally.pieces_not_understood + all.pieces_not_understood;
        input.not_understood = all.told;
        if is_end && parts.source().is_plain_file && !self.request.follows {
            lines::number(&input.path, &mut input.not_understood);
        }
        self.censored.extend(censoring::censored(number, &parts.facts, &tally.durations));
    }

    /// Reads parts on all threads until the next meeting.
    fn read_parts(
        &mut self,
        format: &dyn Format,
        input: u32,
        groupers: &mut [Grouper],
        parts: &mut Parts<'_>,
    ) -> Result<()> {
        let (taking, classes) = (&self.request.taking, &self.classes);
        let shared = Mutex::new(parts);
        let lock = || shared.lock().unwrap_or_else(PoisonError::into_inner);
        let read = |collected: &mut Collected, grouper: &mut Grouper| -> Result<()> {
            loop {
                let next = lock().next(format)?;
                let Some(mut piece) = next else { return Ok(()) };
                let part = Part { bytes: &piece.bytes, offset: piece.offset, is_last: true };
                let mut sink = Collector { input, taking, classes, grouper, collected };
                format.read(part, &mut piece.context, &mut sink);
                let facts = format.facts(&piece.context);
                let mut parts = lock();
                parts.tell(piece.number, facts);
                parts.give_back(piece.bytes);
            }
        };
        let (first, others) = self.threads.split_at_mut(1);
        let (first_grouper, other_groupers) = groupers.split_at_mut(1);
        std::thread::scope(|scope| {
            let running: Vec<_> = others
                .iter_mut()
                .zip(other_groupers)
                .map(|(collected, grouper)| scope.spawn(|| read(collected, grouper)))
                .collect();
            let mine = read(&mut first[0], &mut first_grouper[0]);
            let theirs = running.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            theirs.fold(mine, Result::and)
        })
    }

    /// Reads bytes in turn on one thread until the next meeting.
    fn read_in_turn(
        &mut self,
        format: &dyn Format,
        input: u32,
        grouper: &mut Grouper,
        parts: &mut Parts<'_>,
        in_turn: &mut InTurn,
    ) -> Result<()> {
        let (taking, classes) = (&self.request.taking, &self.classes);
        let collected = &mut self.threads[0];
        while let Some((bytes, offset, is_last)) = parts.more(in_turn.size)? {
            let mut sink = Collector { input, taking, classes, grouper, collected };
            let part = Part { bytes: &bytes, offset, is_last };
            let mut done = format.read(part, &mut in_turn.context, &mut sink).min(bytes.len());
            let is_stuck = done == 0 && bytes.len() == in_turn.size;
            if is_stuck && in_turn.size >= EVENT {
                let why = "an event longer than 64 MiB";
                sink.collected.tally.not_understood(offset, bytes.len() as u64, why);
                done = bytes.len();
            }
            in_turn.size = if is_stuck { (in_turn.size * 2).min(EVENT) } else { PART };
            parts.tell(0, format.facts(&in_turn.context));
            let is_waiting = done == 0 && !is_stuck && !is_last;
            parts.done(bytes, done);
            if is_waiting {
                break;
            }
        }
        Ok(())
    }

    fn document(&mut self) -> Document {
        self.classes.gather(&mut self.threads);
        summary::document(
            &self.classes,
            self.request.asked,
            self.inputs.clone(),
            self.censored.clone(),
        )
    }
}

/// Where reading in turn is.
struct InTurn {
    context: Context,
    /// How much is read at a time: more once an event is longer.
    size: usize,
}
