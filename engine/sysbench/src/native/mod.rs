//! Tests without a script: each session is an OS thread that does the same work again and again.
//! They run on the load threads of scripts ([`drive`](crate::drive), a thread a session), so that
//! start, rate, end, warm-up and reports are the same.
//!
//! | test | an event |
//! |---|---|
//! | [`fileio`] | reads or writes a block of a file, or makes a file durable |
//! | [`cpu`] | finds the primes up to a limit by trial division |
//! | [`memory`] | reads or writes a block of memory |
//! | [`threads`] | takes and gives back locks many times, yielding the CPU while it holds them |
//! | [`mutex`] | takes many locks in turn for a moment each, with work between |
//!
//! Sources: the help texts of sysbench 1.0.20, what it prints, and what its manual says of the
//! work. Mended against it: values that make no sense are refused where it crashes or never ends
//! (`--thread-locks=0`, `--mutex-locks=0`, `--mutex-num=0`, negative numbers).

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

/// All of them, in the order of the general help.
pub static NATIVE: &[&dyn Native] =
    &[&fileio::Fileio, &cpu::Cpu, &memory::Memory, &threads::Threads, &mutex::Mutex];

/// A test without a script.
pub trait Native: Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;

    /// What it is, as the general help says it.
    fn about(&self) -> &'static str;

    /// Its options, in the order of its help.
    fn options(&self) -> Vec<Declared>;

    /// The command `run`; `options` are its own and the general ones.
    ///
    /// # Errors
    /// What is wrong with an option, or cannot be had; to be told as a fatal error.
    fn run(&self, options: &Options, crew: Crew) -> Result<Run, String>;

    /// Any other command (`prepare`, `cleanup`), done at once; `None`: it has no such command, of
    /// which [`no_command`] tells the user.
    fn command(&self, _command: &str, _options: &Options) -> Option<Result<(), String>> {
        None
    }
}

/// Who does the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crew {
    /// Threads, each with one session.
    pub sessions: u32,
    /// What random numbers are drawn from.
    pub seed: u64,
}

/// A run, ready to be driven.
pub struct Run {
    /// What is printed before "Initializing worker threads...": whole lines, or nothing.
    pub heading: String,
    /// How it is reported.
    pub kind: report::Kind,
    /// Whether the test knows by itself how many events there are, so that `--events` is not looked
    /// at: [`Pace`](crate::pace::Pace) gets no limit.
    pub limits_events: bool,
    /// For [`Drive::make`](crate::drive::Drive::make), with a thread a session.
    pub make: Arc<MakeScripts>,
}

/// What is said of a command that a test does not have.
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

/// What the system says went wrong, as messages end.
fn cause(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    error
        .raw_os_error()
        .map_or_else(|| format!("({text})"), |number| format!("errno = {number} ({text})"))
}

/// What is said of an option's value.
fn invalid(name: &str, value: impl std::fmt::Display) -> String {
    format!("Invalid value for {name}: {value}")
}

/// Most locks that a test makes: some gigabytes.
const LOCKS_MAX: u64 = 1 << 24;

/// A number of locks, which somebody must be able to hold.
fn locks(options: &Options, name: &str) -> Result<u64, String> {
    let count = at_least(options, name, 1)?;
    if count > LOCKS_MAX { Err(invalid(name, count)) } else { Ok(count) }
}

/// A number that must be at least `min`.
fn at_least(options: &Options, name: &str, min: u32) -> Result<u64, String> {
    let value = options.int(name);
    match u64::try_from(value) {
        Ok(number) if number >= u64::from(min) => Ok(number),
        _ => Err(invalid(name, value)),
    }
}
