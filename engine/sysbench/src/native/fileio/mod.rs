//! `fileio`: each event is one request to a set of files: a block read, a block written, or one
//! file made durable.
//!
//! | module | what |
//! |---|---|
//! | `plan` | values of the options, and the lines that print them |
//! | `files` | the files: created, opened, removed |
//! | `requests` | the order of requests |
//! | `work` | a thread's requests |
//!
//! The I/O functions are those of the file driver, [`dyno_drivers::files`].
//!
//! Sources: the help text of sysbench 1.0.20, its test suite, and its observed system calls.
//! docs/reference/sysbench.md lists the differences.

mod files;
mod plan;
mod requests;
#[cfg(test)]
mod tests;
mod work;

use super::events::Events;
use super::{Crew, Native, Run, declared, number, text};
use crate::options::{Declared, Kind, Options, Value};
use crate::report;
use files::Files;
use plan::Plan;
use requests::Requests;
use std::path::Path;
use std::sync::Arc;
use work::{Requesting, Shared};

/// The test.
pub struct Fileio;

impl Native for Fileio {
    fn name(&self) -> &'static str {
        "fileio"
    }

    fn about(&self) -> &'static str {
        "File I/O test"
    }

    fn options(&self) -> Vec<Declared> {
        let switch = |name, help, default| declared(name, help, Kind::Bool, Value::Bool(default));
        vec![
            number("file-num", "number of files to create", 128),
            number("file-block-size", "block size to use in all IO operations", 16_384),
            declared(
                "file-total-size",
                "total size of files to create",
                Kind::Size,
                Value::Int(2 << 30),
            ),
            Declared {
                name: "file-test-mode".into(),
                help: "test mode {seqwr, seqrewr, seqrd, rndrd, rndwr, rndrw}".into(),
                kind: Kind::Text,
                default: None,
            },
            text("file-io-mode", "file operations mode {sync,async,mmap}", "sync"),
            number(
                "file-async-backlog",
                "number of asynchronous operatons to queue per thread",
                128,
            ),
            declared(
                "file-extra-flags",
                "list of additional flags to use to open files {sync,dsync,direct}",
                Kind::List,
                Value::List(Vec::new()),
            ),
            number(
                "file-fsync-freq",
                "do fsync() after this number of requests (0 - don't use fsync())",
                100,
            ),
            switch("file-fsync-all", "do fsync() after each write operation", false),
            switch("file-fsync-end", "do fsync() at the end of test", true),
            text(
                "file-fsync-mode",
                "which method to use for synchronization {fsync, fdatasync}",
                "fsync",
            ),
            number(
                "file-merged-requests",
                "merge at most this number of IO requests if possible (0 - don't merge)",
                0,
            ),
            declared(
                "file-rw-ratio",
                "reads/writes ratio for combined test",
                Kind::Double,
                Value::Double(1.5),
            ),
        ]
    }

    fn run(&self, options: &Options, crew: Crew) -> Result<Run, String> {
        run_in(Path::new(""), options, crew)
    }

    fn command(&self, command: &str, options: &Options) -> Option<Result<(), String>> {
        command_in(Path::new(""), command, options)
    }
}

/// In a directory that need not be the current one.
fn run_in(directory: &Path, options: &Options, crew: Crew) -> Result<Run, String> {
    let plan = Plan::of(directory, options)?.with_mode(options)?;
    plan.warn_of_idle(options);
    let heading = plan.heading();
    // In addition to the descriptors of sessions; on failure, opening reports the error.
    let descriptors = u64::from(crew.sessions) + plan.files;
    let _ = dyno_generator::machine::allow_descriptors(crew.sessions.into(), descriptors);
    let files = Files::open(&plan)?;
    let shared =
        Arc::new(Shared { requests: Requests::new(&plan), locks: plan.locks(), plan, files });
    Ok(Run {
        heading,
        kind: report::Kind::Fileio,
        limits_events: false,
        make: Arc::new(move |thread| {
            let work = Requesting::new(Arc::clone(&shared), crew.seed, thread as u32);
            Ok(Box::new(Events::new(work, None)))
        }),
    })
}

fn command_in(directory: &Path, command: &str, options: &Options) -> Option<Result<(), String>> {
    let plan = || Plan::of(directory, options);
    match command {
        "prepare" => Some(plan().and_then(|plan| files::prepare(&plan))),
        "cleanup" => Some(plan().and_then(|plan| files::cleanup(&plan))),
        _ => None,
    }
}
