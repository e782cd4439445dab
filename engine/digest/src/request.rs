//! The request (logs, format, filters, output) and the observer of its progress.

use crate::aggregate::collector::Taking;
use crate::aggregate::summary::Asked;
use crate::document::Document;
use crate::logs::detection::format_of;
use crate::logs::format::{FormatKind, Settings};
use crate::logs::source::{self, Source};
use dyno_core::Result;
use dyno_core::error::{Error, Kind};
use std::fs::File;
use std::sync::atomic::AtomicBool;

/// What to digest, and how.
#[derive(Debug, Clone)]
pub struct Request {
    /// Paths; `-` is standard input.
    pub logs: Vec<String>,
    /// Name of the format; `None`: detected from the first bytes of each log.
    pub format: Option<String>,
    /// The user's settings for the logs.
    pub settings: Settings,
    /// Number of threads that read.
    pub threads: usize,
    /// How events are filtered, ranked and sampled.
    pub taking: Taking,
    /// Options of the document.
    pub asked: Asked,
    /// Follows the only log as it grows, and builds a document at each merge if the watcher wants
    /// one.
    pub follows: bool,
}

/// Observes the progress of a request.
pub trait Watcher {
    /// Called once when all logs are open, before their first byte is read and before a second
    /// thread starts.
    fn opened(&mut self) {}

    /// Called at merges with the bytes of files read and their total, if known.
    fn progress(&mut self, bytes: u64, bytes_total: Option<u64>);

    /// Whether a document of what was read so far is wanted now; for followed logs.
    fn wants_document(&mut self) -> bool {
        false
    }

    /// Receives the document.
    fn document(&mut self, document: Document);
}

/// Opens all logs first, so that a wrong name is an error before hours of reading.
pub(crate) fn open(
    request: &Request,
    stop: &'static AtomicBool,
    watcher: &mut dyn Watcher,
) -> Result<Vec<Source>> {
    if request.logs.is_empty() {
        return Err(Error::new(Kind::Plan, "no log is given").hint("`-` is standard input"));
    }
    if request.follows && request.logs.len() > 1 {
        return Err(Error::new(Kind::Plan, "--follow takes one log"));
    }
    if request.logs.iter().filter(|path| *path == "-").count() > 1 {
        return Err(Error::new(Kind::Plan, "standard input can be read once only"));
    }
    let files: Vec<File> =
        request.logs.iter().map(|path| source::open(path)).collect::<Result<_>>()?;
    watcher.opened();
    let logs = request.logs.iter().zip(files);
    logs.map(|(path, file)| Source::new(path, file, request.follows, stop)).collect()
}

impl Request {
    /// The format given in the request, or else that of the log; `damage`: why only the head of the
    /// log is readable.
    pub(crate) fn format_of<'a>(
        &self,
        path: &str,
        head: &[u8],
        damage: Option<&str>,
    ) -> Result<&'a FormatKind> {
        format_of(self.format.as_deref(), &self.settings, path, head, damage)
    }
}
