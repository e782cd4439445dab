//! `dyno-engine`: runs one job and ends. The plan comes in on standard input, events go out on
//! standard output; nothing else is read or written but the trial's directory.

mod bench_record;
mod list;
mod null_server;
mod output;
mod run;
mod signals;

const HELP: &str = "\
dyno-engine: the load engine of dbdyno

Usage: dyno-engine COMMAND

Commands:
  run            Carry out the plan on standard input (job: run or load); events, one JSON object
                 a line, go to standard output
  null-server    Speak a database's protocol and answer at once, to measure the generator itself
  list           Show drivers and workloads (--json: for programs)
  bench-record   Measure what recording one operation costs, beside the price of the clock

Options:
  --version      Print the version
  --help         Print this help

Signals of a trial: SIGINT and SIGTERM end it now; SIGUSR1 says that enough has been measured: the
measured phase ends with the interval, in good order (ignored before it).

Exit codes: 0 done, 2 the plan or the machine must change (the last event says how),
3 interrupted, everything measured so far is written.
";

/// The job is done.
pub const DONE: i32 = 0;
/// The user must change something.
pub const REFUSED: i32 = 2;
/// A signal, or the reader of the events, ended it early.
pub const INTERRUPTED: i32 = 3;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let code = match words.as_slice() {
        ["run"] => run::main(),
        ["null-server", ..] => null_server::main(&args[1..]),
        ["list"] => list::main(false),
        ["list", "--json"] => list::main(true),
        ["bench-record"] => bench_record::main(),
        ["--version" | "-V"] => print(concat!("dyno-engine ", env!("CARGO_PKG_VERSION"), "\n")),
        ["--help" | "-h" | "help"] => print(HELP),
        [] => refuse("no command given"),
        _ => refuse(&format!("unknown command or option: {}", words.join(" "))),
    };
    std::process::exit(code);
}

fn print(text: &str) -> i32 {
    output::text(text)
}

fn refuse(what: &str) -> i32 {
    eprintln!("dyno-engine: {what}\n\n{HELP}");
    REFUSED
}
