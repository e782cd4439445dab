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
    /// The only log grows: a document is made at every merge that wants one.
    pub follows: bool,
}

/// Who looks on.
pub trait Watcher {
    /// Called once, when all logs are open: before their first byte is read, and before there is a second
    /// thread.
    fn opened(&mut self) {}

    /// Called at merges: bytes of files read, and of how many, if that is known.
    fn progress(&mut self, bytes: u64, bytes_total: Option<u64>);

    /// Whether a document of what was read so far is wanted now: of logs that are followed.
    fn wants_document(&mut self) -> bool {
        false
    }

    /// The document.
    fn document(&mut self, document: Document);
}

/// Opens all logs first: a name that is wrong is an error before hours of reading.
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
    /// The format that is asked for, or that of a log; `damage`: why there is no more of it than its head.
    pub(crate) fn format_of<'a>(
        &self,
        path: &str,
        head: &[u8],
        damage: Option<&str>,
    ) -> Result<&'a FormatKind> {
        format_of(self.format.as_deref(), &self.settings, path, head, damage)
    }
}
