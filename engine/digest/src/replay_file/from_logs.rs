//! Reads logs and writes a replay file.

use super::tracer::{NO_SESSION, Tracer};
use crate::event::Event;
use crate::request::{Request, Watcher};
use crate::sequential::{EventConsumer, Logs, read_sequentially};
use crate::sql::language;
use dyno_core::Result;
use dyno_core::error::{Error, Kind as ErrorKind};
use dyno_core::trace::{Language, Meta};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Writes the statements of logs to the replay file `out`, readable only by its owner because it holds
/// the literals of the statements. `out` appears when it is complete.
///
/// # Errors
/// A log that cannot be read, logs of MongoDB or of several languages, a log without sessions or
/// without a statement, a file that cannot be written.
pub fn trace(
    request: &Request,
    out: &Path,
    stop: &'static AtomicBool,
    watcher: &mut dyn Watcher,
) -> Result<(Meta, Logs)> {
    let partial = PathBuf::from(format!("{}.partial", out.display()));
    let written = write(request, &partial, stop, watcher);
    let done = written.and_then(|found| {
        std::fs::rename(&partial, out).map_err(|error| cannot_write(out, &error))?;
        Ok(found)
    });
    if done.is_err() {
        // Ignore a failure here: the caller reports the first error.
        let _ = std::fs::remove_file(&partial);
    }
    done
}

fn write(
    request: &Request,
    path: &Path,
    stop: &'static AtomicBool,
    watcher: &mut dyn Watcher,
) -> Result<(Meta, Logs)> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path);
    let file = file.map_err(|error| cannot_write(path, &error))?;
    let mut tracing = Tracing { file: Some(file), tracer: None };
    let logs = read_sequentially(request, stop, &mut tracing, watcher)?;
    if stop.load(Ordering::Relaxed) {
        return Err(Error::new(ErrorKind::System, "interrupted: half a log makes no trace"));
    }
    let nothing = || {
        Error::new(ErrorKind::Plan, "there is no statement in these logs that can be sent again")
            .hint("look at their digest: is everything filtered out?")
    };
    let tracer = tracing.tracer.ok_or_else(nothing)?;
    let meta = tracer.finish().map_err(|error| cannot_write(path, &error))?;
    if meta.events == 0 {
        let has = |reason| meta.left_out.contains_key(reason);
        return Err(if has(NO_SESSION) {
            Error::new(ErrorKind::Plan, "the log does not say which session sent a statement")
                .hint("a replay needs that: PostgreSQL's log_line_prefix with %p or %c has it")
        } else {
            nothing()
        });
    }
    Ok((meta, logs))
}

fn cannot_write(path: &Path, error: &io::Error) -> Error {
    Error::new(ErrorKind::System, format!("{}: cannot write the trace: {error}", path.display()))
        .hint("give --trace a file in a directory that you may write to, with room for the log")
}

struct Tracing {
    file: Option<File>,
    tracer: Option<Tracer<BufWriter<File>>>,
}

impl EventConsumer for Tracing {
    fn log(&mut self, language: language::Language) -> Result<()> {
        let language = match language {
            language::Language::Mysql => Language::Mysql,
            language::Language::Postgres => Language::Postgres,
            language::Language::Mongo => {
                let what = "what MongoDB's logs hold cannot be replayed";
                return Err(Error::new(ErrorKind::Plan, what)
                    .hint("logs of MySQL, MariaDB and PostgreSQL can"));
            }
        };
        if self.tracer.as_ref().is_some_and(|tracer| tracer.language() != language) {
            let what = "logs of several languages make no trace";
            return Err(Error::new(ErrorKind::Plan, what).hint("give those of one system"));
        }
        if let Some(file) = self.file.take() {
            let tracer = Tracer::new(BufWriter::with_capacity(1 << 20, file), language);
            self.tracer = Some(tracer.map_err(|error| {
                Error::new(ErrorKind::System, format!("cannot write the trace: {error}"))
            })?);
        }
        Ok(())
    }

    fn event(&mut self, event: &Event<'_>) {
        if let Some(tracer) = &mut self.tracer {
            tracer.event(event);
        }
    }
}
