//! `dyno-engine`: runs one job and exits. A job reads its plan from standard input and writes events to
//! standard output and files to the trial's directory.

mod bench_record;
mod confined;
mod digest;
mod fingerprints;
mod list;
mod null_server;
mod output;
mod run;
mod signals;
mod tablespace;

use dyno_core::shown::shown;
use dyno_drivers::DRIVERS;
use std::ffi::OsStr;
use std::path::Path;

const HELP: &str = "\
dyno-engine: the load engine of dbdyno

Usage: dyno-engine COMMAND

Commands:
  run            Carry out the plan on standard input (job: run or load); events, one JSON object
                 a line, go to standard output
  null-server    Speak a database's protocol and answer at once, to measure the generator itself
  relay          Pass TCP connections on under the conditions of a network: delay, bandwidth,
                 partition (relay --help)
  list           Show drivers and workloads (--json: for programs)
  digest LOG...  Read a server's logs; the profile is the last event (digest --help)
  tablespace FILE|DIR...
                 What InnoDB's data files hold, an object of JSON a line (tablespace --help)
  fingerprints mysql|postgres
                 IDs of the statements on standard input, which end with a zero byte, as servers
                 keep them beside their counts: a JSON object a line
  bench-record   Measure what recording one operation costs, beside the price of the clock
  sysbench ARGS  Do what sysbench does with ARGS: its tests, scripts and reports; the same as calling
                 this program by the name sysbench, through a link
  record FILE sysbench ARGS
                 The same; what a run does goes into FILE too, second by second

Options:
  --version      Print the version
  --help         Print this help

Signals of a trial: SIGINT and SIGTERM end it now; SIGUSR1 says that enough has been measured: the
measured phase ends with the interval, in good order (ignored before it).

Exit codes: 0 done, 2 the plan or the machine must change (the last event says how),
3 interrupted, everything measured so far is written. Those of sysbench are its own.
";

/// Exit code: the job is done.
pub const DONE: i32 = 0;
/// Exit code: the user must change something.
pub const REFUSED: i32 = 2;
/// Exit code: a signal or a closed standard output ended the job early.
pub const INTERRUPTED: i32 = 3;

fn main() {
    let all: Vec<String> =
        std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let args = all.get(1..).unwrap_or_default();
    if is_sysbench(&all) {
        std::process::exit(dyno_sysbench::main(&all, DRIVERS, None));
    }
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let code = match words.as_slice() {
        ["run"] => run::main(),
        ["null-server", ..] => null_server::main(&args[1..]),
        ["relay", ..] => dyno_relay::main(&args[1..]),
        ["list"] => list::main(false),
        ["list", "--json"] => list::main(true),
        ["digest", ..] => digest::main(&args[1..]),
        ["tablespace", ..] => tablespace::main(&args[1..]),
        ["fingerprints", language] => fingerprints::main(language),
        ["bench-record"] => bench_record::main(),
        ["sysbench", ..] => dyno_sysbench::main(args, DRIVERS, None),
        ["record", file, "sysbench", ..] => {
            dyno_sysbench::main(&args[2..], DRIVERS, Some(Path::new(file)))
        }
        ["--version" | "-V"] => print(concat!("dyno-engine ", env!("CARGO_PKG_VERSION"), "\n")),
        ["--help" | "-h" | "help"] => print(HELP),
        [] => refuse("no command given"),
        _ => refuse(&format!("unknown command or option: {}", words.join(" "))),
    };
    std::process::exit(code);
}

/// Whether this program was called by the name `sysbench`.
fn is_sysbench(all: &[String]) -> bool {
    all.first().is_some_and(|path| Path::new(path).file_name() == Some(OsStr::new("sysbench")))
}

fn print(text: &str) -> i32 {
    output::text(text)
}

fn refuse(what: &str) -> i32 {
    eprintln!("dyno-engine: {}\n\n{HELP}", shown(what));
    REFUSED
}
