//! Tests without a script: each session is an OS thread that repeats the same work. They run on the
//! load threads of scripts ([`drive`](crate::drive), one thread per session), so that start, rate,
//! end, warm-up and reports are the same.
//!
//! | test | an event |
//! |---|---|
//! | [`fileio`] | reads or writes a block of a file, or makes a file durable |
//! | [`cpu`] | finds the primes up to a limit by trial division |
//! | [`memory`] | reads or writes a block of memory |
//! | [`threads`] | locks and unlocks many times, yielding the CPU while it holds the lock |
//! | [`mutex`] | takes many locks in turn, each briefly, with work in between |
//!
//! Sources: the help texts and output of sysbench 1.0.20, and its manual on the work. One difference:
//! senseless values are refused where sysbench crashes or never ends (`--thread-locks=0`,
//! `--mutex-locks=0`, `--mutex-num=0`, negative numbers).

pub mod cpu;
mod events;
pub mod fileio;
mod lock;
pub mod memory;
pub mod mutex;
#[cfg(test)]
mod tests;
pub mod threads;

use crate::options::{Declared, Kind, Options, Value};
use crate::report;
use crate::session::MakeScripts;
use std::sync::Arc;

/// All native tests, in the order of the general help.
pub static NATIVE: &[&dyn Native] =
    &[&fileio::Fileio, &cpu::Cpu, &memory::Memory, &threads::Threads, &mutex::Mutex];

/// A test without a script.
pub trait Native: Sync {
    /// The name on the command line.
    fn name(&self) -> &'static str;

    /// The description in the general help.
    fn about(&self) -> &'static str;

    /// The options, in the order of the test's help.
    fn options(&self) -> Vec<Declared>;

    /// Prepares the command `run`; `options` are the test's own and the general ones.
    ///
    /// # Errors
    /// An invalid option or an unavailable resource; to be reported as a fatal error.
    fn run(&self, options: &Options, crew: Crew) -> Result<Run, String>;

    /// Executes any other command (`prepare`, `cleanup`) at once; `None`: the test has no such command,
    /// and [`no_command`] returns the message.
    fn command(&self, _command: &str, _options: &Options) -> Option<Result<(), String>> {
        None
    }
}

/// The sessions of a native test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crew {
    /// The number of threads, each with one session.
    pub sessions: u32,
    /// The seed of random numbers.
    pub seed: u64,
}

/// A run, ready to be driven.
pub struct Run {
    /// Text to print before "Initializing worker threads...": whole lines, or empty.
    pub heading: String,
    /// The kind of test, which determines the reports.
    pub kind: report::Kind,
    /// Whether the test itself determines the number of events, so that `--events` is ignored:
    /// [`Pace`](crate::pace::Pace) gets no limit.
    pub limits_events: bool,
    /// For [`Drive::make`](crate::drive::Drive::make), with one thread per session.
    pub make: Arc<MakeScripts>,
}

/// The message for a command that a test does not have.
pub fn no_command(test: &str, command: &str) -> String {
    format!("'{test}' test does not implement the '{command}' command.")
}

fn declared(name: &str, help: &str, kind: Kind, default: Value) -> Declared {
    Declared { name: name.to_owned(), help: help.to_owned(), kind, default: Some(default) }
}

fn number(name: &str, help: &str, default: i64) -> Declared {
    declared(name, help, Kind::Int, Value::Int(default))
}

fn text(name: &str, help: &str, default: &str) -> Declared {
    declared(name, help, Kind::Text, Value::Text(default.to_owned()))
}

/// The system's description of an error, as messages end.
fn cause(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    error
        .raw_os_error()
        .map_or_else(|| format!("({text})"), |number| format!("errno = {number} ({text})"))
}

/// The message for an invalid option value.
fn invalid(name: &str, value: impl std::fmt::Display) -> String {
    format!("Invalid value for {name}: {value}")
}

/// The maximum number of locks of a test: some gigabytes.
const LOCKS_MAX: u64 = 1 << 24;

/// Parses a number of locks, from 1 to [`LOCKS_MAX`].
fn locks(options: &Options, name: &str) -> Result<u64, String> {
    let count = at_least(options, name, 1)?;
    if count > LOCKS_MAX { Err(invalid(name, count)) } else { Ok(count) }
}

/// Parses a number that must be at least `min`.
fn at_least(options: &Options, name: &str, min: u32) -> Result<u64, String> {
    let value = options.int(name);
    match u64::try_from(value) {
        Ok(number) if number >= u64::from(min) => Ok(number),
        _ => Err(invalid(name, value)),
    }
}
